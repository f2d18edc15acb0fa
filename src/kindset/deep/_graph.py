"""The graph of nearest neighbours, and the small clusters that it begins with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn import get_config

Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Directed edges from each point to its nearest neighbours, the nearest first.

    Attributes
    ----------
    neighbors : ndarray of shape (n_samples, n_neighbors)
    weights : ndarray of shape (n_samples, n_neighbors)
        The squared distance d², put into exp(−d²/s) where s is the mean of all squared distances.
    """

    neighbors: NDArray[np.int64]
    weights: NDArray[np.float64]

    def reversed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return where the edges into each point begin, whence they come, and their weights."""
        n_samples, n_neighbors = self.neighbors.shape
        into = self.neighbors.ravel()
        order = np.argsort(into, kind="stable")
        first = np.zeros(n_samples + 1, dtype=np.int64)
        np.cumsum(np.bincount(into, minlength=n_samples), out=first[1:])
        return first, order // n_neighbors, self.weights.ravel()[order]


def neighbor_graph(points: Floats, n_neighbors: int) -> Graph:
    """Link each point to its nearest neighbours, or to all others if there are fewer.

    Neighbours at the same distance come in the order of their rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.deep._graph import neighbor_graph
    >>> neighbor_graph(np.array([[0.0], [1.0], [3.0]]), 1).neighbors.ravel()
    array([1, 0, 1])
    """
    n_neighbors = min(n_neighbors, len(points) - 1)
    neighbors = _nearest(points, n_neighbors)
    squares = np.empty(neighbors.shape)
    for start, stop in _blocks(len(points), n_neighbors * points.shape[1]):
        difference = points[start:stop, None].astype(np.float64) - points[neighbors[start:stop]]
        np.einsum("ijk,ijk->ij", difference, difference, out=squares[start:stop])
    # The products of floats choose the neighbours; their order is by exact differences.
    order = np.lexsort((neighbors, squares), axis=1)
    neighbors = np.take_along_axis(neighbors, order, axis=1)
    squares = np.take_along_axis(squares, order, axis=1)
    width = squares.mean()
    return Graph(neighbors, np.exp(-squares / width) if width > 0 else np.ones_like(squares))


def _nearest(points: Floats, n_neighbors: int) -> NDArray[np.int64]:
    """Return the nearest neighbours of each point, in any order, from blocks of products."""
    # About their mean, so that little is lost when products of close points are subtracted.
    centred = torch.from_numpy((points - points.mean(axis=0)).astype(np.float32))
    squares = centred.square().sum(dim=1)
    found = torch.empty(len(points), n_neighbors, dtype=torch.int64)
    for start, stop in _blocks(len(points), len(points)):
        distances = torch.addmm(squares, centred[start:stop], centred.T, alpha=-2)
        rows = torch.arange(start, stop)
        distances[rows - start, rows] = torch.inf
        found[start:stop] = distances.topk(n_neighbors, largest=False, sorted=False).indices
    return found.numpy()


def _blocks(n_rows: int, row_size: int) -> list[tuple[int, int]]:
    """Split rows so that a block of numbers takes a sixteenth of the working memory."""
    step = max(1, int(get_config()["working_memory"] * 2**16 / (8 * row_size)))
    return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def linked_clusters(nearest: NDArray[np.int64]) -> Labels:
    """Return the clusters that links from each point to its nearest one connect."""
    rows = np.arange(len(nearest))
    links = csr_array((np.ones(len(rows)), (rows, nearest)), shape=(len(rows), len(rows)))
    return connected_components(links, directed=True, connection="weak")[1].astype(np.int64)


def cluster_means(points: Floats, labels: Labels) -> NDArray[np.float64]:
    """Return the mean of each cluster."""
    sizes = np.bincount(labels)
    members = csr_array((1 / sizes[labels], (labels, np.arange(len(labels)))))
    return np.asarray(members @ points.astype(np.float64))


def first_clusters(points: Floats, graph: Graph, n_clusters: int) -> Labels:
    """Return the small clusters that merging begins with.

    They are the points linked by nearest neighbours. If these are too many for a table of pairs in
    working memory, clusters are linked to their nearest means until they are not. If they are
    fewer than `n_clusters`, each point is a cluster.
    """
    labels = linked_clusters(graph.neighbors[:, 0])
    if labels.max() + 1 < n_clusters:
        return np.arange(len(points), dtype=np.int64)
    most = max(n_clusters, int((get_config()["working_memory"] * 2**17) ** 0.5))
    while labels.max() + 1 > most:
        means = cluster_means(points, labels)
        linked = linked_clusters(_nearest(means, 1).ravel())
        if linked.max() + 1 < n_clusters:
            break
        labels = linked[labels]
    return labels
