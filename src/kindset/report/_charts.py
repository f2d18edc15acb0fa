"""Plain charts: lines over steps, and points in the plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from kindset.report._svg import Scale, dots, drawing, joined, path, tag, tick_label

N_COLOURS = 12
"""Colours c0 to c11 of the style sheet; more groups use them again."""

_WIDTH, _HEIGHT = 440.0, 250.0
_LEFT, _RIGHT, _TOP, _FLOOR = 74.0, 8.0, 10.0, 208.0


@dataclass(frozen=True)
class Line:
    """A line of a chart, with the place to mark on it, if any."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    marked: int | None = None
    quiet: bool = False


@dataclass(frozen=True)
class Axis:
    """What an axis says, what it must show at least, and whether it counts."""

    title: str
    values: Sequence[float] = ()
    whole: bool = False


def line_chart(lines: Sequence[Line], x: Axis, y: Axis, label: str) -> Markup:
    """Draw lines in colours c0, c1, …; the legend stands below in HTML if there are several."""
    across = Scale(
        [*x.values, *(v for line in lines for v in line.x)], _LEFT + 8, _WIDTH - _RIGHT - 8
    )
    up = Scale(_with_room([*y.values, *(v for line in lines for v in line.y)]), _FLOOR, _TOP)
    drawn = [_line(line, i, across, up) for i, line in enumerate(lines)]
    picture = drawing(_WIDTH, _HEIGHT, label, _frame(across, up, x, y), *drawn)
    return joined([picture, legend([line.name for line in lines]) if len(lines) > 1 else ""])


def _with_room(values: Sequence[float]) -> list[float]:
    """Widen a range a little, so that nothing lies on the frame."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    room = 0.04 * (high - low)
    return [low - room, high + room]


def _line(line: Line, number: int, across: Scale, up: Scale) -> Markup:
    colour = f"c{number % N_COLOURS}"
    points = [(across(x), up(y)) for x, y in zip(line.x, line.y, strict=True)]
    parts = [tag("path", d=path(points), class_=f"line {colour}{' quiet' * line.quiet}")]
    if len(points) <= 16:
        parts.append(tag("path", d=dots(points), class_=f"knots {colour}"))
    if line.marked is not None:
        x, y = points[line.marked]
        parts.append(tag("circle", cx=x, cy=y, r=7, class_=f"marked {colour}"))
    return tag("g", tag("title", line.name), *parts)


def legend(names: Sequence[str]) -> Markup:
    """Return the names with their colours."""
    entries = [
        tag("li", tag("span", class_=f"swatch c{i % N_COLOURS}", aria_hidden="true"), name)
        for i, name in enumerate(names)
    ]
    return tag("ul", *entries, class_="legend")


def _frame(across: Scale, up: Scale, x: Axis, y: Axis) -> Markup:
    parts = []
    for value in up.ticks(4, whole=y.whole):
        level = up(value)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=level, y2=level, class_="grid"))
        text = tick_label(value)
        parts.append(tag("text", text, x=_LEFT - 7, y=level + 4, class_="end"))
    for value in across.ticks(8, whole=x.whole):
        text = tick_label(value)
        parts.append(tag("text", text, x=across(value), y=_FLOOR + 18, class_="middle"))
    middle = (across.start + across.stop) / 2
    parts.append(tag("text", x.title, x=middle, y=_HEIGHT - 5, class_="middle"))
    half = (up.start + up.stop) / 2
    turned = f"translate(11 {half:.0f}) rotate(-90)"
    parts.append(tag("text", y.title, transform=turned, class_="middle"))
    return joined(parts)


def point_cloud(points: NDArray[np.float64], codes: NDArray[Any], label: str) -> Markup:
    """Draw points in the colours of their groups; -1 is grey."""
    side = 220.0
    low, high = points.min(axis=0), points.max(axis=0)
    reach = max(float((high - low).max()), 1e-300)
    places = (points - (low + high) / 2) / reach * (side - 16) + side / 2
    places[:, 1] = side - places[:, 1]
    clouds = [
        tag("path", d=dots(places[codes == code].tolist()), class_=f"cloud {colour_of(int(code))}")
        for code in np.unique(codes)
    ]
    return drawing(side, side, label, *clouds, class_="square")


def colour_of(group: int) -> str:
    """Return the class that colours a group."""
    return f"c{group % N_COLOURS}" if group >= 0 else "none"


def known_chart(
    names: Sequence[str], scores: Sequence[float], known: Sequence[float], titles: tuple[str, str]
) -> Markup:
    """Draw what was measured against known labels over the score that knew none.

    The first run is ringed.
    """
    across = Scale(scores, _LEFT + 8, _WIDTH - _RIGHT - 8)
    up = Scale(_with_room(known), _FLOOR, _TOP)
    marks = [
        tag(
            "circle", tag("title", f"{name}: {score:.3g}, {value:.2f}"),
            cx=across(score), cy=up(value), r=5, class_=f"mark c0{' first' * (i == 0)}",
        )
        for i, (name, score, value) in enumerate(zip(names, scores, known, strict=True))
    ]  # fmt: skip
    label = f"{titles[1]} over {titles[0]} of {len(names)} runs"
    frame = _frame(across, up, *map(Axis, titles))
    return drawing(_WIDTH, _HEIGHT, label, frame, *reversed(marks))
