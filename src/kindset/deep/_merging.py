"""Clusters merge pair by pair, by the affinity that the graph of neighbours gives them.

With L the one-hot labels and W the weights, T = ((W'L) * (WL))' L has an entry for each pair of
clusters, and the affinity of a and b is T[a, b] / |a|² + T[b, a] / |b|². The table T is kept up to
date: when b joins a, the columns add, and the rows add but for products of edges of a with edges of
b, which are found from these edges. So every merge is that of the definition, without computing the
table anew.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.deep._graph import Floats, Graph, Labels, cluster_means

_LOCAL_ABOVE = 100
"""Clusters above which a pair is judged by how far it is ahead of others as well."""

_ISOLATED_ABOVE = 20
"""Times the number of clusters, above which those without any affinity join the nearest mean."""


class Merges(NamedTuple):
    """What became of some first clusters.

    Attributes
    ----------
    kept, joined : ndarray of shape (n_merges,)
        In each merge, the cluster that stays and the one that becomes part of it.
    labels : ndarray of shape (n_samples,)
        The first clusters.
    """

    kept: NDArray[np.int64]
    joined: NDArray[np.int64]
    labels: Labels

    def after(self, n_merges: int) -> Labels:
        """Return the clusters after so many merges, numbered from 0."""
        target = np.arange(self.labels.max() + 1)
        # Backwards: what a cluster joins may itself have joined another one later.
        for kept, joined in zip(
            self.kept[:n_merges][::-1], self.joined[:n_merges][::-1], strict=True
        ):
            target[joined] = target[kept]
        return np.unique(target[self.labels], return_inverse=True)[1].astype(np.int64)


def merge_clusters(
    points: Floats,
    graph: Graph,
    labels: Labels,
    n_merges: int,
    *,
    n_clusters: int,
    n_local: int = 5,
) -> Merges:
    """Merge clusters so many times.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
    graph : Graph
        Of these points.
    labels : ndarray of shape (n_samples,)
        The clusters to begin with, numbered from 0 without a gap.
    n_merges : int
        Fewer than there are clusters.
    n_clusters : int
        The number wanted in the end. While there are more than 20 times as many, clusters without
        any affinity join the one with the nearest mean.
    n_local : int, default=5
        How many partners a cluster looks at: among more than 100 clusters, it counts how far the
        best one is ahead of the others.

    Returns
    -------
    merges : Merges
    """
    n_first = int(labels.max()) + 1
    first, sources, weights = graph.reversed()
    edges = (graph.neighbors, graph.weights, first, sources, weights)
    table = np.zeros((n_first, n_first))
    _fill_table(table, labels, *edges)
    sizes = np.bincount(labels).astype(np.int64)
    sums = cluster_means(points, labels) * sizes[:, None]
    isolated_above = _ISOLATED_ABOVE * n_clusters
    kept, joined = _merge(
        table, labels.copy(), sizes, sums, *edges, n_merges, n_local, isolated_above, _LOCAL_ABOVE
    )
    return Merges(kept, joined, labels)


@njit(cache=True, nogil=True)
def _fill_table(
    table: Any, labels: Any, neighbors: Any, weights: Any, first: Any, sources: Any, reverse: Any
) -> None:
    """Sum, for each pair of clusters, the products of edges out of and into the second's points."""
    out_of, into = np.zeros(len(table)), np.zeros(len(table))
    for point in range(len(labels)):
        for j in range(neighbors.shape[1]):
            out_of[labels[neighbors[point, j]]] += weights[point, j]
        for e in range(first[point], first[point + 1]):
            into[labels[sources[e]]] += reverse[e]
        for j in range(neighbors.shape[1]):
            a = labels[neighbors[point, j]]
            table[a, labels[point]] += out_of[a] * into[a]
            out_of[a] = 0.0
        for e in range(first[point], first[point + 1]):
            into[labels[sources[e]]] = 0.0


@njit(cache=True, nogil=True)
def _affinity(table: Any, sizes: Any, a: int, b: int) -> float:
    return table[a, b] / (sizes[a] * sizes[a]) + table[b, a] / (sizes[b] * sizes[b])


@njit(cache=True, nogil=True)
def _judge(table: Any, sizes: Any, a: int, n_local: int, top: Any) -> Any:
    """Return the best partner of a cluster, and by how much it should merge with it.

    `top` is room for the highest affinities. With `n_local` of 1 only the best one counts.
    """
    partner = -1
    top[:] = 0.0
    for b in range(len(sizes)):
        if b == a or sizes[b] == 0:
            continue
        value = _affinity(table, sizes, a, b)
        if value <= top[n_local - 1]:
            continue
        if value > top[0]:
            partner = b
        place = n_local - 1
        while place > 0 and top[place - 1] < value:
            top[place] = top[place - 1]
            place -= 1
        top[place] = value
    score = top[0]
    for k in range(1, n_local):
        score += (top[0] - top[k]) / (n_local - 1)
    return partner, score


@njit(cache=True, nogil=True)
def _nearest_mean(sums: Any, sizes: Any, a: int) -> int:
    best, nearest = np.inf, -1
    for b in range(len(sizes)):
        if b == a or sizes[b] == 0:
            continue
        distance = 0.0
        for k in range(sums.shape[1]):
            distance += (sums[a, k] / sizes[a] - sums[b, k] / sizes[b]) ** 2
        if distance < best:
            best, nearest = distance, b
    return nearest


@njit(cache=True, nogil=True)
def _choose(partners: Any, scores: Any, sums: Any, sizes: Any, with_isolated: bool) -> Any:
    """Return the pair that merges next."""
    best = smallest = -1
    for a in range(len(sizes)):
        if sizes[a] == 0:
            continue
        if with_isolated and partners[a] < 0:
            return a, _nearest_mean(sums, sizes, a)
        if partners[a] >= 0 and (best < 0 or scores[a] > scores[best]):
            best = a
        if smallest < 0 or sizes[a] < sizes[smallest]:
            smallest = a
    if best >= 0:
        return best, partners[best]
    return smallest, _nearest_mean(sums, sizes, smallest)


@njit(cache=True, nogil=True)
def _weigh_edges(
    a: int, head: Any, following: Any, neighbors: Any, weights: Any, first: Any, sources: Any,
    reverse: Any, into: Any, out_of: Any,
) -> None:  # fmt: skip
    """Add the edges from a cluster into each point, and those out of each point into it."""
    point = head[a]
    while point >= 0:
        for j in range(neighbors.shape[1]):
            into[neighbors[point, j]] += weights[point, j]
        for e in range(first[point], first[point + 1]):
            out_of[sources[e]] += reverse[e]
        point = following[point]


@njit(cache=True, nogil=True)
def _add_crossings(
    table: Any, labels: Any, a: int, b: int, head: Any, following: Any, neighbors: Any, first: Any,
    sources: Any, room: Any,
) -> None:  # fmt: skip
    """Add what edges of both clusters make together, and clear the room for their weights."""
    into_a, out_a, into_b, out_b = room
    for cluster in (a, b):
        point = head[cluster]
        while point >= 0:
            n_out = neighbors.shape[1]
            for e in range(n_out + first[point + 1] - first[point]):
                other = neighbors[point, e] if e < n_out else sources[first[point] + e - n_out]
                if labels[other] != a and labels[other] != b:
                    crossing = into_a[other] * out_b[other] + into_b[other] * out_a[other]
                    table[a, labels[other]] += crossing
                into_a[other] = out_a[other] = into_b[other] = out_b[other] = 0.0
            point = following[point]


@njit(cache=True, nogil=True)
def _join(table: Any, labels: Any, sizes: Any, sums: Any, a: int, b: int, lists: Any) -> None:
    """Let b become part of a in the table, the sums and the lists of members."""
    head, tail, following = lists
    for c in range(len(sizes)):
        table[c, a] += table[c, b]
        table[a, c] += table[b, c]
    sums[a] += sums[b]
    sizes[a] += sizes[b]
    sizes[b] = 0
    point = head[b]
    while point >= 0:
        labels[point] = a
        point = following[point]
    following[tail[a]] = head[b]
    tail[a] = tail[b]


@njit(cache=True, nogil=True)
def _merge(
    table: Any, labels: Any, sizes: Any, sums: Any, neighbors: Any, weights: Any, first: Any,
    sources: Any, reverse: Any, n_merges: int, n_local: int, isolated_above: int, local_above: int,
) -> Any:  # fmt: skip
    n_samples, n_left = len(labels), len(sizes)
    head, tail = np.full(n_left, -1), np.full(n_left, -1)
    following = np.full(n_samples, -1)
    for point in range(n_samples):
        if head[labels[point]] < 0:
            head[labels[point]] = point
        else:
            following[tail[labels[point]]] = point
        tail[labels[point]] = point
    room = (
        np.zeros(n_samples), np.zeros(n_samples), np.zeros(n_samples), np.zeros(n_samples),
    )  # fmt: skip
    top = np.zeros(n_local)
    partners, scores = np.full(n_left, -1), np.zeros(n_left)
    stale = np.ones(n_left, dtype=np.bool_)
    kept, joined = np.empty(n_merges, dtype=np.int64), np.empty(n_merges, dtype=np.int64)
    for step in range(n_merges):
        if n_left == local_above:
            stale[:] = True  # from here on only the best partner counts
        n_looked = n_local if n_left > local_above else 1
        for c in range(len(sizes)):
            if stale[c] and sizes[c] > 0:
                partners[c], scores[c] = _judge(table, sizes, c, n_looked, top[:n_looked])
        stale[:] = False
        a, b = _choose(partners, scores, sums, sizes, n_left > isolated_above)
        if sizes[b] > sizes[a] or (sizes[b] == sizes[a] and b < a):
            a, b = b, a
        for c in range(len(sizes)):
            touched = table[a, c] + table[c, a] + table[b, c] + table[c, b]
            stale[c] = touched > 0 or c == a
        into_a, out_a, into_b, out_b = room
        _weigh_edges(a, head, following, neighbors, weights, first, sources, reverse, into_a, out_a)
        _weigh_edges(b, head, following, neighbors, weights, first, sources, reverse, into_b, out_b)
        _add_crossings(table, labels, a, b, head, following, neighbors, first, sources, room)
        _join(table, labels, sizes, sums, a, b, (head, tail, following))
        for c in range(len(sizes)):  # a product of edges of both may be a cluster's first affinity
            stale[c] = stale[c] or table[a, c] + table[c, a] > 0
        kept[step], joined[step] = a, b
        n_left -= 1
    return kept, joined
