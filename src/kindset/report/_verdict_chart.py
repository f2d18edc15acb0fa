"""The picture of a verdict: what the leading run scores in each space, beside its rival."""

import pandas as pd
from markupsafe import Markup

from kindset.comparison import Verdict
from kindset.report._svg import Scale, drawing, joined, shorten_apart, tag, tick_label

_MOST_SPACES = 10
_LETTERS = 26
_LEFT, _SHARE, _WIDTH = 205.0, 46.0, 620.0
_TOP, _ROW, _BELOW = 12.0, 24.0, 42.0


def verdict_chart(verdict: Verdict, decides: bool = True) -> Markup:
    """Draw the spaces that weigh most: a bar from chance to the leader, and a dot for the rival.

    `decides` says whether the verdict decided which run leads.
    """
    spaces = verdict.spaces[verdict.spaces["weight"] > 0].head(_MOST_SPACES)
    values = spaces.drop(columns="weight").to_numpy()
    across = Scale([0.0, *values.ravel(), 1.0], _LEFT + _SHARE + 14, _WIDTH - 12)
    floor = _TOP + _ROW * len(spaces)
    names = shorten_apart([str(name) for name in spaces.index], _LETTERS)
    rows = [
        _row(name, row, across, _TOP + _ROW * (i + 0.5))
        for i, (name, (_, row)) in enumerate(zip(names, spaces.iterrows(), strict=True))
    ]
    label = f"Scores of the leader and of its rival in {len(spaces)} spaces"
    picture = drawing(_WIDTH, floor + _BELOW, label, _axis(across, floor), *rows, class_="wide why")
    return joined([picture, _legend(verdict, decides)])


def _row(name: str, row: "pd.Series[float]", across: Scale, y: float) -> Markup:
    leader = float(row["leader"])
    marks = [
        tag("line", x1=across(0), x2=across(leader), y1=y, y2=y, class_="reach c0"),
        tag("circle", cx=across(leader), cy=y, r=6, class_="mark c0"),
    ]
    words = f"{name}: {row['weight']:.0%} of the weight, leader {leader:.2f}"
    if "runner_up" in row:
        rival = float(row["runner_up"])
        marks.insert(1, tag("circle", cx=across(rival), cy=y, r=6, class_="hollow c1"))
        words += f", rival {rival:.2f}"
    return tag(
        "g",
        tag("title", words),
        tag("text", name, x=_LEFT, y=y + 4, class_="end"),
        tag("text", f"{row['weight']:.0%}", x=_LEFT + _SHARE, y=y + 4, class_="end strong"),
        *marks,
    )


def _axis(across: Scale, floor: float) -> Markup:
    parts = []
    for value in across.ticks(6):
        x = across(value)
        strong = abs(value) < 1e-9
        parts.append(
            tag("line", x1=x, x2=x, y1=_TOP, y2=floor, class_="chance" if strong else "grid")
        )
        parts.append(tag("text", tick_label(value), x=x, y=floor + 16, class_="middle"))
    parts.append(tag("text", "a cloud without groups", x=across(0), y=floor + 34, class_="middle"))
    parts.append(tag("text", "clear groups", x=across(1), y=floor + 34, class_="end"))
    return joined(parts)


def _legend(verdict: Verdict, decides: bool) -> Markup:
    entries = [("dot c0", f"{verdict.leader} ({'leads' if decides else 'first by the verdict'})")]
    if verdict.runner_up is not None:
        entries.append(("ring c1", f"{verdict.runner_up} (the best run that is no near-copy)"))
    listed = [
        tag("li", tag("span", class_=f"swatch {sign}", aria_hidden="true"), words)
        for sign, words in entries
    ]
    return tag("ul", *listed, class_="legend")
