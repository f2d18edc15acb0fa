"""How a comparison shows itself in a notebook."""

from collections.abc import Sequence
from html import escape

import pandas as pd

_MOST_RUNS = 20


def comparison_html(sentence: str, advice: str, summary: pd.DataFrame, notes: Sequence[str]) -> str:
    """Return a comparison as a small piece of HTML: what it says, a table, the notes."""
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return verdict_html(sentence, advice, summary) + (f"<ul>{listed}</ul>" if notes else "")


def verdict_html(sentence: str, advice: str, table: pd.DataFrame) -> str:
    """Return what a judge says, and the table of the runs."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in ["run", *table.columns])
    rows = "".join(
        f"<tr><th>{escape(str(row[0]))}</th>{_cells(list(table.columns), row[1:])}</tr>"
        for row in table.head(_MOST_RUNS).itertuples()
    )
    left_out = len(table) - _MOST_RUNS
    more = f"<p>{left_out} more runs follow.</p>" if left_out > 0 else ""
    return (
        f"<p><b>{escape(sentence)}</b> {escape(advice)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"
    )


def _cells(columns: Sequence[object], values: Sequence[float]) -> str:
    return "".join(
        f"<td>{_number(str(name), value)}</td>" for name, value in zip(columns, values, strict=True)
    )


def _number(column: str, value: float) -> str:
    if column == "coverage":
        return f"{value:.0%}"
    if column == "shortlist":
        return "yes" if value else ""
    if value != value:
        return "–"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"
