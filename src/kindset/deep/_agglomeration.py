"""From points to a number of clusters by merging, with an eye on clusters that are too small."""

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from kindset.deep._graph import (
    Floats,
    Graph,
    Labels,
    cluster_means,
    first_clusters,
    neighbor_graph,
)
from kindset.deep._merging import Merges, merge_clusters


def agglomerate(
    points: Floats,
    n_clusters: int,
    *,
    n_neighbors: int = 20,
    n_local: int = 5,
    min_cluster_fraction: float = 0.25,
) -> Labels:
    """Cluster points by merging what nearest neighbours link.

    Outliers that nobody is near to can stay clusters of their own to the end, while true clusters
    merge. With `min_cluster_fraction` the merging goes back to the last moment with enough clusters
    of at least that share of the mean size, and what is left over joins the nearest mean.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
    n_clusters : int
    n_neighbors, n_local : int, default=20 and 5
        Neighbours of a point, and partners that a cluster looks at.
    min_cluster_fraction : float, default=0.25
        0 is the published rule: merge until `n_clusters` are left.

    Returns
    -------
    labels : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.deep._agglomeration import agglomerate
    >>> agglomerate(np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), 2, n_neighbors=2)
    array([0, 0, 0, 1, 1, 1])
    """
    graph = neighbor_graph(points, n_neighbors)
    return merge_down(
        points, graph, first_clusters(points, graph, n_clusters), n_clusters,
        n_local=n_local, min_cluster_fraction=min_cluster_fraction, n_final=n_clusters,
    )  # fmt: skip


def merge_down(
    points: Floats,
    graph: Graph,
    labels: Labels,
    n_clusters: int,
    *,
    n_local: int,
    min_cluster_fraction: float,
    n_final: int,
) -> Labels:
    """Merge given clusters to so many, and none of them too small; see `agglomerate`.

    `n_final` is the number wanted in the end, of which this may be a step on the way.
    """
    n_merges = int(labels.max()) + 1 - n_clusters
    merges = merge_clusters(points, graph, labels, n_merges, n_clusters=n_final, n_local=n_local)
    least = min_cluster_fraction * len(points) / n_clusters
    return _settle(points, merges.after(_last_moment(merges, n_clusters, least)), n_clusters)


def _last_moment(merges: Merges, n_clusters: int, least: float) -> int:
    """Return the last number of merges with enough clusters that are large enough, if any."""
    sizes = np.bincount(merges.labels)
    n_large = int((sizes >= least).sum())
    moment = len(merges.kept)
    last = 0 if n_large >= n_clusters else moment
    for step, (a, b) in enumerate(zip(merges.kept, merges.joined, strict=True), start=1):
        merged = sizes[a] + sizes[b]
        n_large += int(merged >= least) - int(sizes[a] >= least) - int(sizes[b] >= least)
        sizes[a], sizes[b] = merged, 0
        if n_large >= n_clusters:
            last = step
    return last


def _settle(points: Floats, labels: Labels, n_clusters: int) -> Labels:
    """Keep the largest clusters; the points of others go to the nearest mean of these."""
    sizes = np.bincount(labels)
    if len(sizes) == n_clusters:
        return labels
    large = np.sort(np.argsort(-sizes, kind="stable")[:n_clusters])
    number = np.full(len(sizes), -1)
    number[large] = np.arange(n_clusters)
    settled = number[labels]
    loose = settled < 0
    means = cluster_means(points, labels)[large]
    settled[loose] = pairwise_distances_argmin(points[loose].astype(np.float64), means)
    return settled.astype(np.int64)
