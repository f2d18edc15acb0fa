"""Charts of a comparison: intervals of ranks, agreement of spaces, scores, spaces in the plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from kindset.comparison import Comparison
from kindset.evaluation import AdaptiveEvaluation, choose_spaces, group_order, project
from kindset.report._charts import N_COLOURS, legend, point_cloud
from kindset.report._svg import drawing, shorten_apart, tag

STATUS = {
    "selected": "decided the ranking",
    "grouped": "kept, but another group of spaces decided",
    "outlier": "ranks the runs like no other space",
    "unimodal": "dropped: the dip test sees a single heap of points in it",
    "constant": "dropped: all runs score the same in it",
    "copy": "the same as another space",
}
"""What became of a space, in words."""

N_SHADES = 9
"""Shades s0 to s8 of the style sheet, from low to high."""

_MOST_ROWS = 60
_GRAPH = 520.0
_UPRIGHT = 14
_NUMBER = 22.0
"""Height of the numbers that stand for names where the graph is small."""
_BOLD = 8.0
"""Width of a letter in bold, at most."""
_LINE, _LEADING = 19, 13.0
"""Letters of a name in one line, and the distance of two lines."""
_MOST_POINTS = 700


def rank_interval(low: float, rank: float, high: float, n: int) -> Markup:
    """Draw the range of ranks of a run on a line from 1 to n."""
    width, height = 120.0, 18.0

    def place(value: float) -> float:
        return 6 + (value - 1) / max(n - 1, 1) * (width - 12)

    middle = height / 2
    return drawing(
        width, height, f"rank {rank:g} of {n}, range of ranks {low:g} to {high:g}",
        tag("line", x1=6, x2=width - 6, y1=middle, y2=middle, class_="grid"),
        tag("line", x1=place(low), x2=place(high) + 0.1, y1=middle, y2=middle, class_="interval"),
        tag("circle", cx=place(rank), cy=middle, r=4.5, class_="mark c0"),
        class_="inline",
    )  # fmt: skip


def agreement_graph(evaluation: AdaptiveEvaluation) -> Markup:
    """Draw the spaces on a circle, joined where they rank the runs alike.

    On a small screen the style sheet shows numbers in place of the names; `space_list` has both.
    """
    order = group_order(evaluation.groups_, evaluation.status_)
    n = len(order)
    radius = 105.0 if n <= _UPRIGHT else 135.0
    centre = np.array([_GRAPH / 2, radius + (30 if n <= _UPRIGHT else 115)])
    angles = np.empty(n)
    # Half a step off the top, so that names stand beside their dots rather than above.
    angles[order] = -np.pi / 2 + 2 * np.pi * (np.arange(n) + 0.5) / n
    places = centre + radius * np.column_stack([np.cos(angles), np.sin(angles)])
    edges = [
        tag(
            "line", x1=places[i, 0], y1=places[i, 1], x2=places[j, 0], y2=places[j, 1],
            class_="edge", stroke_opacity=f"{0.15 + 0.65 * evaluation.edges_[i, j] ** 2:.2f}",
        )
        for i, j in zip(*np.nonzero(np.triu(evaluation.edges_)), strict=True)
    ]  # fmt: skip
    upright = n <= _UPRIGHT
    names = shorten_apart(evaluation.space_names_, 2 * _LINE if upright else 16)
    nodes = [
        _node(evaluation, i, names[i], places[i], angles[i], upright=upright) for i in range(n)
    ]
    height = min(_NUMBER, 2 * np.pi * (radius + _NUMBER) / n)
    beyond = places + (places - centre) * _NUMBER / radius
    numbers = [
        tag(
            "text", number + 1, x=beyond[i, 0], y=beyond[i, 1] + 0.36 * height,
            class_="ordinal middle", style=f"font-size:{height:.1f}px",
        )
        for number, i in enumerate(order)
    ]  # fmt: skip
    label = (
        f"{n} spaces, {len(edges)} significant agreements, "
        f"{len(evaluation.selected_)} spaces decided"
    )
    return drawing(_GRAPH, 2 * centre[1], label, *edges, *nodes, *numbers, class_="graph")


def space_list(evaluation: AdaptiveEvaluation) -> Markup:
    """Return the names of the spaces in the order of the graph's numbers."""
    order = group_order(evaluation.groups_, evaluation.status_)
    names = [tag("li", evaluation.space_names_[i]) for i in order]
    return tag("ol", *names, class_="spaces soft")


def _node(
    evaluation: AdaptiveEvaluation,
    i: int,
    short: str,
    place: Any,
    angle: float,
    *,
    upright: bool,
) -> Markup:
    """Draw a space with its name: level if there is room, else pointing away from the centre."""
    status, name = str(evaluation.status_[i]), evaluation.space_names_[i]
    dot = tag("circle", cx=place[0], cy=place[1], r=8, class_=f"node {status}")
    left = np.cos(angle) < -1e-9
    degrees = 0.0 if upright else np.degrees(angle) + (180 if left else 0)
    lines = wrap(short, _LINE)
    text = tag(
        "text", *_lines(lines, x=-14 if left else 14), y=4.5 - _LEADING * (len(lines) - 1) / 2,
        class_="name end" if left else "name",
        transform=f"translate({place[0]:.1f} {place[1]:.1f}) rotate({degrees:.1f})",
    )  # fmt: skip
    return tag("g", tag("title", f"{name}: {STATUS.get(status, status)}"), dot, text)


def _lines(lines: Sequence[str], x: float) -> list[Markup]:
    return [
        tag("tspan", line, x=x, dy=_LEADING if number else None)
        for number, line in enumerate(lines)
    ]


def status_legend(evaluation: AdaptiveEvaluation) -> Markup:
    """Return the kinds of spaces that there are, with their signs and numbers."""
    entries = []
    for status, words in STATUS.items():
        count = int((evaluation.status_ == status).sum())
        if count:
            sign = drawing(
                20, 20, status, tag("circle", cx=10, cy=10, r=7, class_=f"node {status}"),
                class_="sign",
            )  # fmt: skip
            entries.append(tag("li", sign, f"{words} ({count})"))
    return tag("ul", *entries, class_="legend")


def score_map(evaluation: AdaptiveEvaluation) -> Markup:
    """Draw the score of every run in every space; each row runs over the shades of its own."""
    rows = group_order(evaluation.groups_, evaluation.status_)[:_MOST_ROWS]
    columns = evaluation.ranking_[:_MOST_ROWS]
    shades = _shades(evaluation.score_matrix_[np.ix_(rows, columns)])
    short = shorten_apart(evaluation.space_names_, 30)
    left, top = 14.0 + _BOLD * max(len(short[i]) for i in rows), 20.0
    across, down = float(np.clip(470 / len(columns), 12.0, 40.0)), 20.0
    cells = []
    for shade in range(N_SHADES):
        corners = zip(*np.nonzero(shades == shade), strict=True)
        outline = "".join(
            f"M{left + c * across:.1f} {top + r * down:.0f}h{across - 1:.1f}v{down - 1:.0f}"
            f"h-{across - 1:.1f}z"
            for r, c in corners
        )
        if outline:
            cells.append(tag("path", d=outline, class_=f"cell s{shade}"))
    names = [
        tag(
            "text", short[i], x=left - 8, y=top + r * down + 14,
            class_=f"end {'strong' if evaluation.status_[i] == 'selected' else ''}",
        )
        for r, i in enumerate(rows)
    ]  # fmt: skip
    every = max(1, int(np.ceil(18 / across)))
    numbers = [
        tag("text", c + 1, x=left + (c + 0.5) * across, y=top - 6, class_="middle")
        for c in range(0, len(columns), every)
    ]
    label = f"Scores of {len(columns)} runs, best first, in {len(rows)} spaces"
    size = left + len(columns) * across, top + len(rows) * down
    return drawing(*size, label, *numbers, *names, *cells, class_="wide")


def _shades(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Give each score a shade within its row: spaces differ in level, not only in order."""
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    spread = np.where(high > low, high - low, 1.0)
    shades = np.floor((scores - low) / spread * N_SHADES).astype(np.intp)
    return np.asarray(np.where(high > low, np.minimum(shades, N_SHADES - 1), N_SHADES // 2))


@dataclass(frozen=True)
class SpacePanel:
    """A space in two dimensions."""

    name: str
    status: str
    words: str
    picture: Markup


def space_panels(comparison: Comparison, index: str, labels: NDArray[np.int64]) -> list[SpacePanel]:
    """Draw some selected and some excluded spaces, coloured by one run's groups."""
    evaluation = comparison.evaluations[index]
    n = len(labels)
    points = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_POINTS])
    panels = []
    for members in choose_spaces(evaluation, 3).values():
        for i in members:
            name, status = evaluation.space_names_[i], str(evaluation.status_[i])
            flat = project(comparison.spaces[i][points], "pca", 0)
            label = f"The space {name} in two dimensions, coloured by group"
            picture = point_cloud(flat, labels[points], label)
            panels.append(SpacePanel(name, status, STATUS.get(status, status), picture))
    return panels


def group_legend(labels: NDArray[np.int64]) -> Markup:
    """Return the colours of a run's groups, if there is one for each."""
    k = int(labels.max(initial=-1)) + 1
    return legend([f"{i + 1}" for i in range(k)]) if 0 < k <= N_COLOURS else Markup("")
