"""Drawing with little: elements whose text is always escaped, and scales."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup, escape


def tag(name: str, *inside: Any, **attributes: Any) -> Markup:
    """Return an element; everything that is not markup already is escaped.

    Parameters
    ----------
    name : str
        Name of the element.
    *inside : object
        Text and elements in it.
    **attributes : object
        ``class_`` stands for ``class``, an underscore within a name for a hyphen. None leaves the
        attribute out; numbers are rounded to tenths.

    Examples
    --------
    >>> from kindset.report._svg import tag
    >>> tag("text", "a < b", x=1.26, class_="note")
    Markup('<text x="1.3" class="note">a &lt; b</text>')
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{joined(inside)}</{name}>")


def joined(parts: Iterable[Any]) -> Markup:
    """Put elements and texts one after the other."""
    return Markup("").join(parts)


def drawing(width: float, height: float, label: str, *inside: Any, class_: str = "") -> Markup:
    """Return a picture of that many units, which a screen reader calls `label`."""
    return tag(
        "svg", tag("title", label), *inside,
        viewBox=f"0 0 {_short(width)} {_short(height)}", role="img", aria_label=label,
        class_=f"chart {class_}".strip(), style=f"--width:{_short(width)}",
    )  # fmt: skip


def path(points: Iterable[tuple[float, float]]) -> str:
    """Return the data of a line through points."""
    return "M" + "L".join(f"{_short(float(x))} {_short(float(y))}" for x, y in points)


def dots(points: Iterable[tuple[float, float]]) -> str:
    """Return the data of lines of no length: with round ends they are dots."""
    return "".join(f"M{_short(float(x))} {_short(float(y))}h0" for x, y in points)


def shorten_apart(names: Sequence[str], length: int) -> list[str]:
    """Cut long names at a place that leaves them different, as near to the middle as can be.

    Where there is no such place, those that look alike get numbers.
    """
    middle = length // 2
    heads = sorted(range(1, length - 1), key=lambda head: (abs(head - middle), head))
    tries = ([_cut(name, head, length) for name in names] for head in heads)
    most = len(set(names))
    best: list[str] = []
    for labels in tries:
        if len(set(labels)) > len(set(best)):
            best = labels
        if len(set(best)) == most:
            break
    repeated = {label for label, n in Counter(best).items() if n > 1}
    return [
        f"{label[: length - len(mark)]}{mark}" if label in repeated else label
        for i, label in enumerate(best)
        for mark in [f" #{i + 1}"]
    ]


def _cut(name: str, head: int, length: int) -> str:
    """Leave out the middle of a long name, after `head` letters."""
    if len(name) <= length:
        return name
    return f"{name[:head]}…{name[len(name) - (length - 1 - head) :]}"


class Scale:
    """Maps values to places, linearly.

    Parameters
    ----------
    values : iterable of float
        What must fit; a single value gets room around it.
    start, stop : float
        Places of the smallest and the largest.
    """

    def __init__(self, values: Iterable[float], start: float, stop: float) -> None:
        found = list(values) or [0.0]
        self.low, self.high = float(min(found)), float(max(found))
        if self.high - self.low <= 1e-12 * max(1.0, abs(self.high)):
            room = 0.5 * max(1.0, abs(self.high))
            self.low, self.high = self.low - room, self.high + room
        self.start, self.stop = start, stop

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, n: int = 5, *, whole: bool = False) -> list[float]:
        """Return about n round values within the scale, fewer if they must be whole numbers."""
        rough = (self.high - self.low) / max(n, 1)
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough * 0.99)
        step = max(step, 1.0) if whole else step
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def tick_label(value: float) -> str:
    """Write a value as short as it can be read."""
    return f"{value:,.6g}".replace("-", "−")


def _short(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return f"{value:.1f}".removesuffix(".0")
    return value
