"""Small tables for notebooks: plain HTML, escaped, without anything from elsewhere."""

from html import escape
from typing import Any

import numpy as np
import pandas as pd


def html_table(title: str, frame: pd.DataFrame, *, chosen: Any = None) -> str:
    """Return a data frame as an HTML table.

    Parameters
    ----------
    title : str
        The sentence above the table.
    frame : DataFrame
    chosen : label of the index, optional
        The row to show in bold.

    Examples
    --------
    >>> import pandas as pd
    >>> print(html_table("Two runs.", pd.DataFrame({"score": [0.5]}, index=["a<b"])))
    <table>
    <caption>Two runs.</caption>
    <thead><tr><th></th><th>score</th></tr></thead>
    <tbody>
    <tr><th>a&lt;b</th><td>0.500</td></tr>
    </tbody>
    </table>
    """
    corner = "" if frame.index.name is None else str(frame.index.name)
    head = _cells("th", [corner, *frame.columns])
    body = [
        _row(label, values, bold=chosen is not None and label == chosen)
        for label, *values in frame.itertuples(name=None)
    ]
    return "\n".join(
        [
            "<table>",
            f"<caption>{escape(title)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
        ]
    )


def _row(label: Any, values: list[Any], *, bold: bool) -> str:
    style = ' style="font-weight: bold"' if bold else ""
    return f"<tr{style}>{_cells('th', [label])}{_cells('td', values)}</tr>"


def _cells(tag: str, values: list[Any]) -> str:
    return "".join(f"<{tag}>{escape(_show(value))}</{tag}>" for value in values)


def _show(value: Any) -> str:
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    if not np.isfinite(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3f}"
