"""The merge tree of a run as a drawing."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from kindset.report._charts import colour_of
from kindset.report._merging import MergingSummary
from kindset.report._svg import Scale, drawing, tag, tick_label

_MOST_LEAVES = 120
_WIDTH, _LEFT, _TOP, _FLOOR = 860.0, 60.0, 14.0, 272.0


@dataclass
class _Node:
    """A node of the tree: where it stands, how many cells it holds, and of which group."""

    x: float
    y: float
    cells: int
    group: int


def merge_tree(merging: MergingSummary) -> Markup:
    """Draw the tree from the first merges at the bottom to the last ones at the top.

    Each group has a colour. Merges beyond the groups are grey, at equal steps in their order. Of a
    large tree only the last merges are drawn; what was joined before is a leaf. A join is never
    drawn below one that it contains, even if it scored less.
    """
    hidden = min(max(0, merging.n_cells - _MOST_LEAVES), len(merging.merges))
    n_beyond = len(merging.merges) - merging.n_made
    step = min(10.0, 80 / max(n_beyond, 1))
    up = _heights(merging, _TOP + step * n_beyond)
    nodes = _leaves(merging, hidden)
    joins = []
    for i in range(hidden, len(merging.merges)):
        a, b = (nodes[int(node)] for node in merging.merges[i, :2])
        height, beyond = float(merging.merges[i, 2]), i - merging.n_made
        y = min(up(height), a.y, b.y) if beyond < 0 else up.stop - step * (beyond + 1)
        parent = _Node((a.x + b.x) / 2, y, a.cells + b.cells, a.group if beyond < 0 else -1)
        nodes[merging.n_cells + i] = parent
        line = f"M{a.x:.1f} {a.y:.1f}V{y:.1f}H{b.x:.1f}V{b.y:.1f}"
        title = tag("title", f"{parent.cells} cells joined at {height:.3g}")
        joins.append(tag("path", title, d=line, class_=f"join {colour_of(parent.group)}"))
    label = f"Merge tree: {merging.n_cells} cells joined to {merging.n_groups} groups"
    return drawing(_WIDTH, _FLOOR + 10, label, *_grid(up), *joins, class_="wide")


def _heights(merging: MergingSummary, top: float) -> Scale:
    """Return the scale of the merges that lead to the groups, with some room below the first."""
    heights = merging.merges[: merging.n_made, 2] if merging.n_made else np.zeros(1)
    low = float(heights.min())
    return Scale([low - 0.1 * float(np.ptp(heights)) if low > 0 else low, *heights], _FLOOR, top)


def _grid(up: Scale) -> list[Markup]:
    return [
        part
        for value in up.ticks(4)
        for part in (
            tag("line", x1=_LEFT - 6, x2=_WIDTH, y1=up(value), y2=up(value), class_="grid"),
            tag("text", tick_label(value), x=_LEFT - 14, y=up(value) + 4, class_="end"),
        )
    ]


def _leaves(merging: MergingSummary, hidden: int) -> dict[int, _Node]:
    """Place the leaves from left to right, group by group."""
    order = _leaf_order(merging, hidden)
    step = (_WIDTH - _LEFT) / max(len(order), 1)
    return {
        leaf: _Node(_LEFT + (i + 0.5) * step, _FLOOR, cells, group)
        for i, (leaf, cells, group) in enumerate(order)
    }


def _leaf_order(merging: MergingSummary, hidden: int) -> list[tuple[int, int, int]]:
    """Return the leaves in an order without crossings: node, cells in it, and its group."""
    n = merging.n_cells
    children = {n + i: (int(a), int(b)) for i, (a, b) in enumerate(merging.merges[:, :2])}
    cells = dict.fromkeys(range(n), 1)
    for node, (a, b) in children.items():
        cells[node] = cells[a] + cells[b]
    inner = {child for pair in children.values() for child in pair}
    stack = sorted(set(cells) - inner, key=lambda node: (cells[node], -node))
    order = []
    group, end = -1, n + max(merging.n_made, hidden)
    ancestors = set(range(end, n + len(children)))
    tops = {child for node in ancestors for child in children[node] if child < end}
    tops |= {node for node in stack if node < end}
    while stack:
        node = stack.pop()
        group += node in tops
        if node >= n + hidden:
            stack.extend(reversed(children[node]))
        else:
            order.append((node, cells[node], group))
    return order
