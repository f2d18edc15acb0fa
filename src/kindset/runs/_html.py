"""A run as a small table for notebooks."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kindset._checked import printable

if TYPE_CHECKING:
    from kindset.runs._run import Run

_MOST_GROUPS = 30
"""Groups with a row of their own."""


def run_table(run: "Run") -> str:
    """Return an HTML table of a run's groups; it needs no style sheet and no network."""
    groups, sizes = np.unique(run.labels[run.labels != -1], return_counts=True)
    survey = run.about.survey
    headlines = [] if survey is None else [segment.headline for segment in survey.segments]
    heading = f"<b>{_text(run.name)}</b>, {_text(run.about.title or run.method)}"
    facts = f"{len(groups)} cluster{'' if len(groups) == 1 else 's'} of {len(run):,} samples"
    if run.coverage < 1:
        facts += f", {_percent(run.coverage)} of the samples covered"
    columns = ["Cluster", "Size", "Share", *(["Headline"] if headlines else [])]
    rows = []
    for group, size in list(zip(groups.tolist(), sizes.tolist(), strict=True))[:_MOST_GROUPS]:
        cells = [str(group + 1), f"{size:,}", _percent(size / len(run))]
        if headlines:
            cells.append(_text(headlines[group]) if 0 <= group < len(headlines) else "")
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    if len(groups) > _MOST_GROUPS:
        rows.append(f'<td colspan="{len(columns)}">{len(groups) - _MOST_GROUPS} more</td>')
    head = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f"<div><p>{heading}<br>{facts}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _text(words: object) -> str:
    return escape(printable(str(words)))


def _percent(value: float) -> str:
    """Write a share so that little is not nothing and much is not all."""
    if 0 < value < 0.005:
        return "&lt;1%"
    return "&gt;99%" if 0.995 < value < 1 else f"{value:.0%}"
