"""How a comparison shows itself in a notebook."""

from collections.abc import Sequence
from html import escape

import pandas as pd

_MOST_RUNS = 20


def comparison_html(summary: pd.DataFrame, leader: str, notes: Sequence[str]) -> str:
    """Return the ranking as a small piece of HTML: the leader, a table, the notes."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in ["run", *summary.columns])
    rows = "".join(
        f"<tr><th>{escape(str(row[0]))}</th>{_cells(list(summary.columns), row[1:])}</tr>"
        for row in summary.head(_MOST_RUNS).itertuples()
    )
    left_out = len(summary) - _MOST_RUNS
    more = f"<p>{left_out} more runs follow.</p>" if left_out > 0 else ""
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return (
        f"<p><b>{escape(leader)}</b> comes first among {len(summary)} runs.</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"
        + (f"<ul>{listed}</ul>" if notes else "")
    )


def _cells(columns: Sequence[object], values: Sequence[float]) -> str:
    return "".join(
        f"<td>{_number(str(name), value)}</td>" for name, value in zip(columns, values, strict=True)
    )


def _number(column: str, value: float) -> str:
    if column == "coverage":
        return f"{value:.0%}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"
