"""The merge tree of a run as a drawing."""

from dataclasses import dataclass

from markupsafe import Markup

from kindset.report._charts import colour_of
from kindset.report._merging import MergingSummary
from kindset.report._svg import Scale, drawing, tag, tick_label

_MOST_LEAVES = 120


@dataclass
class _Node:
    """A node of the tree: where it stands, and how many cells it holds."""

    x: float
    height: float
    cells: int
    tree: int


def merge_tree(merging: MergingSummary) -> Markup:
    """Draw the tree from the first merges at the bottom to the last ones at the top.

    Of a large tree only the last merges are drawn; what was joined before is a leaf. A join is
    never drawn below one that it contains, even if it scored less.
    """
    hidden = max(0, merging.n_cells - _MOST_LEAVES)
    hidden = min(hidden, len(merging.merges))
    order = _leaf_order(merging, hidden)
    width, top, bottom = 860.0, 14.0, 272.0
    step = (width - 70) / max(len(order), 1)
    nodes = {
        leaf: _Node(60 + (i + 0.5) * step, 0.0, cells, tree)
        for i, (leaf, cells, tree) in enumerate(order)
    }
    heights = [0.0, *merging.merges[:, 2]]
    up = Scale(heights, bottom, top)
    joins = []
    for i in range(hidden, len(merging.merges)):
        a, b = (nodes[int(node)] for node in merging.merges[i, :2])
        height = max(float(merging.merges[i, 2]), a.height, b.height)
        parent = _Node((a.x + b.x) / 2, height, a.cells + b.cells, a.tree)
        nodes[merging.n_cells + i] = parent
        line = f"M{a.x:.1f} {up(a.height):.1f}V{up(height):.1f}H{b.x:.1f}V{up(b.height):.1f}"
        title = tag("title", f"{parent.cells} cells joined at {merging.merges[i, 2]:.3g}")
        joins.append(tag("path", title, d=line, class_=f"join {colour_of(a.tree)}"))
    ticks = [
        part
        for value in up.ticks(4)
        for part in (
            tag("line", x1=54, x2=width - 6, y1=up(value), y2=up(value), class_="grid"),
            tag("text", tick_label(value), x=46, y=up(value) + 4, class_="tick end"),
        )
    ]
    label = f"Merge tree: {merging.n_cells} cells joined to {merging.n_trees} groups"
    return drawing(width, bottom + 10, label, *ticks, *joins, class_="wide")


def _leaf_order(merging: MergingSummary, hidden: int) -> list[tuple[int, int, int]]:
    """Return the leaves from left to right: node, cells in it, and the tree it belongs to."""
    n = merging.n_cells
    children = {n + i: (int(a), int(b)) for i, (a, b) in enumerate(merging.merges[:, :2])}
    cells = dict.fromkeys(range(n), 1)
    for node, (a, b) in children.items():
        cells[node] = cells[a] + cells[b]
    inner = {child for pair in children.values() for child in pair}
    roots = sorted(set(cells) - inner, key=lambda node: (-cells[node], node))
    order = []
    for tree, root in enumerate(roots):
        stack = [root]
        while stack:
            node = stack.pop()
            if node >= n + hidden:
                stack.extend(reversed(children[node]))
            else:
                order.append((node, cells[node], tree))
    return order
