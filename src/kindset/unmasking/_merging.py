"""Greedy merging by rounds, and the tree that any merging leaves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree
from sklearn.neighbors import NearestNeighbors

from kindset.unmasking._pairs import FloatArray, Halves, IntArray, Unmasking, split

_LENGTHS_AT_ONCE = 4096


@dataclass(frozen=True)
class Hierarchy:
    """The merges of all cells into one, in their order.

    Attributes
    ----------
    tree : ndarray of shape (n_cells - 1, 4)
        The merges in the form of `scipy.cluster.hierarchy.linkage`; the height is the highest
        mean accuracy so far, so it never goes down.
    scores : ndarray of shape (n_cells - 1,)
        The score of each merge.
    curves : ndarray of shape (n_cells - 1, n_iterations)
        The accuracies of each merged pair as features went.
    """

    tree: FloatArray
    scores: FloatArray
    curves: FloatArray

    def cut(self, n_clusters: int) -> IntArray:
        """Return the cluster of each cell when that many are left."""
        if len(self.tree) == 0:
            return np.zeros(1, dtype=np.int64)
        return cut_tree(self.tree, n_clusters=n_clusters)[:, 0].astype(np.int64)


def nearest_partners(edges: IntArray) -> IntArray:
    """Join every cluster with its best partner; chains are allowed."""
    return _best_edges(edges)


def matched_partners(edges: IntArray) -> IntArray:
    """Join every cluster with its best partner, but none twice in a round; the strongest first."""
    taken: set[int] = set()
    chosen = []
    for e in _best_edges(edges):
        i, j = edges[e].tolist()
        if i not in taken and j not in taken:
            taken |= {i, j}
            chosen.append(e)
    return np.array(chosen)


def mutual_partners(edges: IntArray) -> IntArray:
    """Join only pairs of which each is the best partner of the other."""
    best = _best(edges)
    return np.flatnonzero((best[edges] == np.arange(len(edges))[:, None]).all(axis=1))


MERGINGS: dict[str, Callable[[IntArray], IntArray]] = {
    "matching": matched_partners,
    "mutual": mutual_partners,
    "nearest": nearest_partners,
}
"""Which pairs, given from the strongest to the weakest, are joined in a round."""


def _best(edges: IntArray) -> IntArray:
    """Return the strongest edge of each cluster; the number of edges where there is none."""
    best = np.full(edges.max() + 1, len(edges))
    np.minimum.at(best, edges[:, 0], np.arange(len(edges)))
    np.minimum.at(best, edges[:, 1], np.arange(len(edges)))
    return best


def _best_edges(edges: IntArray) -> IntArray:
    best = np.unique(_best(edges))
    return best[best < len(edges)]


def candidate_pairs(centers: NDArray[Any], n_candidates: int | None) -> IntArray:
    """Return the pairs of groups of which one is among the nearest of the other, or all pairs."""
    n = len(centers)
    if n_candidates is None or n_candidates >= n - 1:
        return np.stack(np.triu_indices(n, k=1), axis=1)
    finder = NearestNeighbors(n_neighbors=n_candidates).fit(centers)
    ends = finder.kneighbors(return_distance=False)
    pairs = np.stack([np.repeat(np.arange(n), n_candidates), ends.ravel()], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0)


class _Forest:
    """The clusters of a moment: slots, some empty after merges."""

    def __init__(
        self, X: NDArray[Any], members: list[IntArray], max_size: int | None, rng: Any
    ) -> None:
        self.X, self.max_size, self.rng = X, max_size, rng
        self.members = list(members)
        self.halves: list[Halves] = [split(rows, rng, max_size) for rows in members]
        self.centers = np.stack([X[rows].mean(axis=0) for rows in members])
        self.nodes = np.arange(len(members))
        self.n_cells = np.ones(len(members), dtype=np.int64)
        self.alive = np.ones(len(members), dtype=bool)
        self.rows: list[tuple[float, float, float, float]] = []

    def join(self, edges: IntArray, scores: FloatArray) -> IntArray:
        """Merge clusters along edges; return those edges that joined two, and mark new clusters."""
        parent = np.arange(len(self.members))

        def root(i: int) -> int:
            while parent[i] != i:
                i = int(parent[i])
            return i

        joined = []
        for e, (i, j) in enumerate(edges.tolist()):
            a, b = sorted((root(i), root(j)))
            if a == b:
                continue
            parent[b] = a
            self._merge(a, b, 1 - scores[e])
            joined.append(e)
        changed = np.unique([root(i) for i in edges[joined].ravel().tolist()])
        for a in changed:
            self.halves[a] = split(self.members[a], self.rng, self.max_size)
        return np.array(joined)

    def _merge(self, a: int, b: int, accuracy: float) -> None:
        n, m = len(self.members[a]), len(self.members[b])
        self.centers[a] = (n * self.centers[a] + m * self.centers[b]) / (n + m)
        self.members[a] = np.concatenate([self.members[a], self.members[b]])
        self.members[b] = self.members[b][:0]
        self.n_cells[a] += self.n_cells[b]
        self.alive[b] = False
        height = max(accuracy, self.rows[-1][2] if self.rows else 0.0)
        low, high = sorted((self.nodes[a], self.nodes[b]))
        self.nodes[a] = len(self.members) + len(self.rows)
        self.rows.append((float(low), float(high), height, float(self.n_cells[a])))


def _lengths(centers: NDArray[Any], edges: IntArray) -> FloatArray:
    """Return the distances of pairs of centres, a few pairs at a time: there may be a million."""
    lengths = np.empty(len(edges))
    for start in range(0, len(edges), _LENGTHS_AT_ONCE):
        part = edges[start : start + _LENGTHS_AT_ONCE]
        difference = centers[part[:, 0]] - centers[part[:, 1]]
        lengths[start : start + len(part)] = np.linalg.norm(difference, axis=1)
    return lengths


def agglomerate(
    X: NDArray[Any],
    members: list[IntArray],
    unmasking: Unmasking,
    *,
    merging: str,
    n_candidates: int | None,
    max_size: int | None,
    rng: np.random.RandomState,
) -> Hierarchy:
    """Merge cells until one cluster is left, each time those that are hardest to tell apart.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    members : list of ndarray
        The samples of each cell.
    unmasking : Unmasking
        How pairs are scored.
    merging : str
        A name in `MERGINGS`.
    n_candidates : int or None
        Score only pairs with one of that many nearest centroids.
    max_size : int or None
        Largest number of samples of a cluster that take part in its scores.
    rng : RandomState
        Draws the halves of new clusters.
    """
    forest = _Forest(X, members, max_size, rng)
    n = len(members)
    known, known_scores = np.empty(0, dtype=np.int64), np.empty(0)
    scores: list[FloatArray] = []
    curves: list[FloatArray] = [np.empty((0, unmasking.n_iterations))]
    while (left := np.flatnonzero(forest.alive)).size > 1:
        title = f"{len(left)} clusters"
        edges = left[candidate_pairs(forest.centers[left], n_candidates)]
        keys = edges[:, 0] * n + edges[:, 1]
        place = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
        fresh = known[place] != keys if len(known) else np.ones(len(keys), dtype=bool)
        values = np.empty(len(keys))
        values[~fresh] = known_scores[place[~fresh]]
        values[fresh] = unmasking.scores(X, forest.halves, edges[fresh], title)
        apart = _lengths(forest.centers, edges)
        order = np.lexsort((apart, -values))
        chosen = order[MERGINGS[merging](edges[order])]
        drawn = unmasking.curves(X, forest.halves, edges[chosen], title)
        joined = forest.join(edges[chosen], values[chosen])
        scores.append(values[chosen][joined])
        curves.append(drawn[joined])
        # Scores stay good for pairs whose clusters have both not changed.
        changed = np.zeros(n, dtype=bool)
        changed[edges[chosen]] = True
        stay = ~changed[edges].any(axis=1)
        known, known_scores = keys[stay], values[stay]
    tree = np.array(forest.rows).reshape(-1, 4)
    return Hierarchy(tree, np.concatenate([*scores, []]), np.concatenate(curves))


def largest_fall(scores: FloatArray) -> int:
    """Return how many clusters are left before the merge at which the score falls most.

    The score of a merge is taken to be no higher than that of any merge before it, and more
    clusters than the square root of the number of cells are not considered.
    """
    n_cells = len(scores) + 1
    lowest = np.minimum.accumulate(scores)
    falls = np.concatenate([[0.0], lowest[:-1] - lowest[1:]])
    most = max(int(np.sqrt(n_cells)), 2)
    if len(falls[-(most - 1) :]) == 0 or falls[-(most - 1) :].max() <= 0:
        return 1
    return n_cells - (len(falls) - (most - 1) + int(np.argmax(falls[-(most - 1) :])))
