"""Density clustering of a few items, given their distances, that does not depend on their order.

This is HDBSCAN with one change. Mutual-reachability distances tie all the time, and a binary
single-linkage tree then depends on the order of the items. Here, components that are joined at the
same height are merged in one step, so the tree is a function of the distances alone.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

_MIN_CLUSTER_SIZE = 2
# Heights this close, relatively, are one height.
_TIE = 1e-9


@dataclass
class Node:
    """A component: all `items` are connected at `height` and not below."""

    items: NDArray[np.intp]
    height: float
    children: list["Node"] = field(default_factory=list)

    @property
    def density(self) -> float:
        """λ, the inverse of the height."""
        return 1.0 / self.height if self.height > 0 else float("inf")


def mutual_reachability(distances: NDArray[np.float64], min_samples: int) -> NDArray[np.float64]:
    """Raise distances to those of the `min_samples`-th neighbour, the item itself included."""
    core = np.partition(distances, min_samples - 1, axis=1)[:, min_samples - 1]
    return np.asarray(np.maximum(distances, np.maximum(core[:, None], core[None, :])))


def _levels(heights: NDArray[np.float64]) -> list[float]:
    """Distinct heights, ascending; each stands for all that are no further above it than a tie."""
    ordered = np.unique(heights)
    floor = 1e-12 * ordered[-1] if len(ordered) else 0.0
    levels: list[float] = []
    for height in ordered:
        if not levels or height > levels[-1] * (1 + _TIE) + floor:
            levels.append(0.0 if height <= floor else float(height))
    return levels


def multiway_tree(distances: NDArray[np.float64]) -> Node:
    """Single-linkage tree in which everything that joins at a height joins at once."""
    n = len(distances)
    off_diagonal = distances[~np.eye(n, dtype=bool)]
    nodes = [Node(np.array([i]), 0.0) for i in range(n)]
    owner = np.arange(n)
    slack = 1e-12 * (off_diagonal.max() if len(off_diagonal) else 0.0)
    for level in _levels(off_diagonal):
        _, labels = connected_components(distances <= level * (1 + _TIE) + slack, directed=False)
        if len(np.unique(labels)) == len(np.unique(owner)):
            continue
        merged: list[Node] = []
        for label in range(labels.max() + 1):
            items = np.flatnonzero(labels == label)
            parts = [nodes[k] for k in np.unique(owner[items])]
            merged.append(parts[0] if len(parts) == 1 else Node(items, level, parts))
        nodes, owner = merged, labels
        if len(nodes) == 1:
            break
    return nodes[0]


@dataclass
class Cluster:
    """A node of the condensed tree."""

    items: NDArray[np.intp]
    birth: float
    stability: float = 0.0
    children: list["Cluster"] = field(default_factory=list)

    def selected(self) -> tuple[float, list["Cluster"]]:
        """Most stable set of clusters at or below this one, excess of mass."""
        below = [child.selected() for child in self.children]
        mass = sum(m for m, _ in below)
        if below and mass > self.stability:
            return mass, [cluster for _, chosen in below for cluster in chosen]
        return self.stability, [self]


def condense(node: Node, birth: float = 0.0) -> Cluster:
    """Follow a component down; singles fall out of it, and two larger parts or more split it."""
    cluster = Cluster(node.items, birth)
    while True:
        density = node.density
        large = [child for child in node.children if len(child.items) >= _MIN_CLUSTER_SIZE]
        n_leaving = len(node.items) if len(large) != 1 else len(node.items) - len(large[0].items)
        if n_leaving and density > birth:
            cluster.stability += n_leaving * (density - birth)
        if len(large) != 1:
            cluster.children = [condense(child, density) for child in large]
            return cluster
        node = large[0]


def tree_labels(root: Node) -> NDArray[np.intp]:
    """Cluster of each item, -1 for noise; the root itself is never a cluster."""
    labels = np.full(len(root.items), -1)
    top = condense(root)
    chosen = [cluster for child in top.children for cluster in child.selected()[1]]
    chosen.sort(key=lambda cluster: int(cluster.items.min()))
    for label, cluster in enumerate(chosen):
        labels[cluster.items] = label
    return labels


def leaf_densities(root: Node) -> NDArray[np.float64]:
    """λ at which each item joins another for the first time."""
    densities = np.zeros(len(root.items))
    stack = [root]
    while stack:
        node = stack.pop()
        for child in node.children:
            if len(child.items) == 1:
                densities[child.items] = node.density
            else:
                stack.append(child)
    return densities
