"""Density clustering of a few items, given their distances, that does not depend on their order.

This is HDBSCAN with one change. Mutual-reachability distances tie all the time, and a binary
single-linkage tree then depends on the order of the items. Here, components that are joined at the
same height are merged in one step, so the tree is a function of the distances alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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


def _spanning_edges(distances: NDArray[np.float64]) -> list[tuple[float, int, int]]:
    """Edges of a minimum spanning tree, lowest first: components only ever join along them."""
    n = len(distances)
    height = np.full(n, np.inf)
    source = np.zeros(n, dtype=np.intp)
    outside = np.ones(n, dtype=bool)
    edges, current = [], 0
    for _ in range(n - 1):
        outside[current] = False
        closer = outside & (distances[current] < height)
        height[closer] = distances[current, closer]
        source[closer] = current
        current = int(np.argmin(np.where(outside, height, np.inf)))
        edges.append((float(height[current]), int(source[current]), current))
    return sorted(edges)


def _levels(edges: list[tuple[float, int, int]]) -> Iterator[tuple[float, list[tuple[int, int]]]]:
    """Group edges into levels: a height and all edges no further above it than a tie."""
    floor = 1e-12 * edges[-1][0] if edges else 0.0
    start = 0
    while start < len(edges):
        lowest = edges[start][0]
        end = start
        while end < len(edges) and edges[end][0] <= lowest * (1 + _TIE) + floor:
            end += 1
        yield 0.0 if lowest <= floor else lowest, [(i, j) for _, i, j in edges[start:end]]
        start = end


def multiway_tree(distances: NDArray[np.float64]) -> Node:
    """Single-linkage tree in which everything that joins at a height joins at once."""
    n = len(distances)
    owner = np.arange(n)
    nodes = {i: Node(np.array([i]), 0.0) for i in range(n)}
    for height, pairs in _levels(_spanning_edges(distances)):
        joined: dict[int, list[Node]] = {}
        for i, j in pairs:
            first, second = sorted((int(owner[i]), int(owner[j])))
            parts = [*joined.pop(first, [nodes[first]]), *joined.pop(second, [nodes[second]])]
            joined[first] = parts
            owner[owner == second] = first
        for key, parts in joined.items():
            nodes[key] = Node(np.flatnonzero(owner == key), height, parts)
    return nodes[int(owner[0])]


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
