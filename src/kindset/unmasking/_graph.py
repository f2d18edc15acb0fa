"""Clusters of cells as communities of a graph whose edges are the scores of neighbouring cells."""

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.sparse import block_array, csr_array, dia_array
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans

from kindset._compiling import njit
from kindset._interrupt import check_interrupt
from kindset.unmasking._cells import Cells, means
from kindset.unmasking._merging import Hierarchy, candidate_pairs
from kindset.unmasking._pairs import FloatArray, Halves, IntArray, Unmasking, split

_LEAST = 1e-3
_OVERLAP = 3.0  # weight of shared samples, in all, to that of the scores
_STARTS = 5
_FINER = (2, 4, 6, 8, 1)  # how many times as many clusters starts have; coarse ones last
_MOST_STARTED = 200  # clusters of the finest start, unless four times those wanted are more
_MOST_FOUND = 48  # clusters, where their number is free


def cluster_graph(
    X: NDArray[Any],
    divisions: list[Cells],
    unmasking: Unmasking,
    *,
    cut: str,
    n_clusters: int | None,
    n_candidates: int | None,
    max_size: int | None,
    rng: np.random.RandomState,
) -> tuple[Hierarchy, IntArray]:
    """Join the cells of one or several divisions of the same samples as communities.

    Cells of one division are joined by edges with their scores, cells of two by the samples that
    they share.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    divisions : list of Cells
    unmasking : Unmasking
        How pairs are scored.
    cut : str
        A name in `CUTS`.
    n_clusters : int or None
        Number of communities; None lets the cut decide.
    n_candidates : int or None
        Edges go to that many nearest centroids.
    max_size : int or None
        Largest number of samples of a group that take part in its scores.
    rng : RandomState
        Draws the halves and the starts of the cut.

    Returns
    -------
    hierarchy : Hierarchy
        The merges of the cells of the first division.
    labels : ndarray of shape (n_cells,)
        The community of each cell, division after division.
    """
    graphs = []
    for number, cells in enumerate(divisions):
        halves = [split(rows, rng, max_size) for rows in cells.members()]
        edges = candidate_pairs(means(X, cells.labels, len(cells)), n_candidates)
        title = f"Cells {number + 1}/{len(divisions)}"
        scores = unmasking.scores(X, halves, edges, title)
        graphs.append(build_graph(len(cells), edges, scores))
    labels = np.zeros(sum(map(len, divisions)), dtype=np.int64)
    if len(labels) > len(divisions):
        labels = CUTS[cut](join_graphs(graphs, divisions), n_clusters, rng, unmasking.n_jobs)
    tree = graph_tree(graphs[0], labels[: len(divisions[0])])
    groups, pairs = _merged_groups(tree, divisions[0].members(), max_size, rng)
    curves = unmasking.curves(X, groups, pairs, "Merges")
    return Hierarchy(tree, 1 - (tree[:, 2] - (tree[:, 2] > 1)), curves), labels


def join_graphs(graphs: list[csr_array], divisions: list[Cells]) -> csr_array:
    """Join the graphs of several divisions by the samples that their cells share."""
    if len(graphs) == 1:
        return graphs[0]
    shares = []
    for cells in divisions:
        n, sizes = len(cells.labels), np.bincount(cells.labels, minlength=len(cells))
        values = 1 / np.sqrt(sizes[cells.labels])
        shares.append(csr_array((values, (np.arange(n), cells.labels)), shape=(n, len(cells))))
    inside = block_array([[g if i == j else None for j in range(len(graphs))]
                          for i, g in enumerate(graphs)], format="csr")  # fmt: skip
    between = block_array([[None if a is b else a.T @ b for b in shares] for a in shares],
                          format="csr")  # fmt: skip
    return csr_array(inside + between * (_OVERLAP * inside.sum() / between.sum()))


def _merged_groups(
    tree: FloatArray, members: list[IntArray], max_size: int | None, rng: np.random.RandomState
) -> tuple[list[Halves], IntArray]:
    """Return the halves of all nodes of a tree, and which two each merge joined."""
    nodes = list(members)
    pairs = tree[:, :2].astype(np.int64)
    for i, j in pairs:
        nodes.append(np.concatenate([nodes[i], nodes[j]]))
    return [split(rows, rng, max_size) for rows in nodes], pairs


def build_graph(n_cells: int, edges: IntArray, scores: FloatArray) -> csr_array:
    """Return the symmetric weights of the edges between cells.

    Scores are shares of few samples, which scatter the more the larger they are: the square root
    evens that out. Candidates are neighbours, so even those told apart without error keep a bit.
    """
    first, second = edges.T
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    weights = np.sqrt(scores + _LEAST)
    return csr_array((np.concatenate([weights, weights]), ends), shape=(n_cells, n_cells))


def modularity(graph: csr_array, labels: IntArray) -> float:
    """Return how much more weight lies inside the clusters than chance would put there.

    Chance keeps the total weight at each cell and joins the ends at random. Between 0 (one
    cluster) and 1.
    """
    between = _between(graph, labels)
    total = between.sum()
    return float(np.trace(between) / total - ((between.sum(axis=1) / total) ** 2).sum())


def modular_cut(
    graph: csr_array, n_clusters: int | None, rng: np.random.RandomState, n_jobs: int | None = None
) -> IntArray:
    """Find the partition of highest modularity with that many clusters, or with any number.

    From each of several starts, a fine spectral partition: cells move to the neighbouring
    cluster that gains most until none gains, the two clusters whose union costs least are merged
    until the number is right, and cells move again.
    """
    n = graph.shape[0]
    k = min(n_clusters or _MOST_FOUND // max(_FINER), n)
    sizes = _start_sizes(k, n)
    space = spectral_space(graph, max(sizes))
    seeds = rng.randint(np.iinfo(np.int32).max, size=(len(sizes), _STARTS))

    def run(size: int, seed: int) -> tuple[float, IntArray]:
        rows = _unit_rows(space[:, :size])
        labels = KMeans(size, n_init=1, random_state=seed).fit_predict(rows).astype(np.int64)
        check_interrupt()
        labels = _improve(graph, labels, seed)
        labels = _improve(graph, _merge_cheapest(graph, labels, n_clusters), seed)
        return modularity(graph, labels), labels

    jobs = [(s, int(seed)) for s, row in zip(sizes, seeds, strict=True) for seed in row]
    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(run)(*job) for job in jobs)
    return max(found, key=lambda one: one[0])[1]


def _start_sizes(n_clusters: int, n_cells: int) -> list[int]:
    """Return how many clusters the starts have: several times those wanted, if not too many."""
    most = min(max(4 * n_clusters, _MOST_STARTED), n_cells)
    return list(dict.fromkeys(min(n_clusters * times, most) for times in _FINER))


def spectral_cut(
    graph: csr_array, n_clusters: int | None, rng: np.random.RandomState, n_jobs: int | None = None
) -> IntArray:
    """Cut by k-means on the leading eigenvectors; their number, if free, by the widest gap."""
    n = graph.shape[0]
    k = n_clusters or _widest_gap(graph, min(_MOST_FOUND, n - 1))
    rows = _unit_rows(spectral_space(graph, min(k, n)))
    seed = rng.randint(np.iinfo(np.int32).max)
    return KMeans(min(k, n), n_init=20, random_state=seed).fit_predict(rows).astype(np.int64)


Cut = Callable[[csr_array, int | None, np.random.RandomState, int | None], IntArray]

CUTS: dict[str, Cut] = {"modularity": modular_cut, "spectral": spectral_cut}
"""Ways to cut the graph into clusters by name."""


def graph_tree(graph: csr_array, labels: IntArray) -> FloatArray:
    """Return average linkage over the edges as a merge tree that joins each cluster first.

    Heights are one minus the mean weight over all pairs of cells, those without an edge counting
    0, and one more between clusters. Needs memory for the square of the number of cells.
    """
    n = graph.shape[0]
    if n == 1:
        return np.empty((0, 4))
    apart = 1 - graph.toarray()
    apart += labels[:, None] != labels
    np.fill_diagonal(apart, 0.0)
    return linkage(squareform(apart, checks=False), method="average")


def spectral_space(graph: csr_array, n_dimensions: int) -> FloatArray:
    """Return the leading eigenvectors of the normalised graph."""
    n = graph.shape[0]
    scale = 1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12))
    diagonal = dia_array((scale[None], [0]), shape=(n, n))
    normal = csr_array(diagonal @ graph @ diagonal)
    if n_dimensions >= n - 1:
        values, vectors = np.linalg.eigh(normal.toarray())
    else:
        values, vectors = eigsh(normal, n_dimensions, which="LA", v0=np.sqrt(1 / scale))
    order = np.argsort(-values)[:n_dimensions]
    return vectors[:, order]


def _widest_gap(graph: csr_array, most: int) -> int:
    n = graph.shape[0]
    if n < 4:
        return 1
    scale = 1 / np.sqrt(np.maximum(graph.sum(axis=1), 1e-12))
    space = spectral_space(graph, most)
    values = np.einsum("ij,ij->j", space, (graph @ (space * scale[:, None])) * scale[:, None])
    return int(np.argmax(values[:-1] - values[1:])) + 1


def _unit_rows(space: FloatArray) -> FloatArray:
    return space / np.maximum(np.linalg.norm(space, axis=1, keepdims=True), 1e-12)


def _between(graph: csr_array, labels: IntArray) -> FloatArray:
    """Return the weight between each two clusters, inside on the diagonal (counted twice)."""
    n = graph.shape[0]
    member = csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, int(labels.max()) + 1))
    return (member.T @ graph @ member).toarray()


def _merge_cheapest(graph: csr_array, labels: IntArray, n_clusters: int | None) -> IntArray:
    """Merge clusters by the best gain of modularity to that many, or as long as it gains."""
    _, labels = np.unique(labels, return_inverse=True)
    between = _between(graph, labels)
    total = between.sum()
    groups = np.arange(len(between))
    while len(between) > (n_clusters or 1):
        volume = between.sum(axis=1)
        gain = between / total - np.outer(volume, volume) / total**2
        np.fill_diagonal(gain, -np.inf)
        i, j = sorted(np.unravel_index(gain.argmax(), gain.shape))
        if n_clusters is None and gain[i, j] <= 0:
            break
        between[i] += between[j]
        between[:, i] += between[:, j]
        between = np.delete(np.delete(between, j, axis=0), j, axis=1)
        groups[groups == j] = i
        groups[groups > j] -= 1
    return groups[labels]


def _improve(graph: csr_array, labels: IntArray, seed: int) -> IntArray:
    order = np.random.RandomState(seed).permutation(graph.shape[0])
    degrees = np.asarray(graph.sum(axis=1), dtype=np.float64)
    return _move_cells(
        graph.indptr, graph.indices, graph.data, degrees, labels.astype(np.int64), order
    )


@njit(cache=True, nogil=True)
def _move_cells(
    indptr: NDArray[Any], ends: NDArray[Any], weights: FloatArray, degrees: FloatArray,
    labels: IntArray, order: IntArray,
) -> IntArray:  # fmt: skip
    """Move cells, in that order, to where modularity gains most, until none moves."""
    k = labels.max() + 1
    volume, count, link = np.zeros(k), np.zeros(k, dtype=np.int64), np.zeros(k)
    for i in range(len(labels)):
        volume[labels[i]] += degrees[i]
        count[labels[i]] += 1
    total = volume.sum()
    for _ in range(100):
        moved = False
        for i in order:
            own = labels[i]
            if count[own] == 1:
                continue
            link[:] = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                link[labels[ends[e]]] += weights[e]
            volume[own] -= degrees[i]
            best, most = own, link[own] - degrees[i] * volume[own] / total + 1e-12
            for other in range(k):
                gain = link[other] - degrees[i] * volume[other] / total
                if link[other] > 0 and gain > most:
                    best, most = other, gain
            volume[best] += degrees[i]
            if best != own:
                count[own] -= 1
                count[best] += 1
                labels[i] = best
                moved = True
        if not moved:
            break
    return labels
