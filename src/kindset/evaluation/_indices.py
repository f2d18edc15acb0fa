"""The internal indices as functions of a space and one partition.

Each returns the index in its natural direction; `INDICES` knows which way is better.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from kindset._arrays import check_space
from kindset.evaluation._labels import Noise, Partitions
from kindset.evaluation._registry import get_index
from kindset.evaluation._score_matrix import ScoreTask, score_spaces
from kindset.evaluation._spaces import check_metric
from kindset.exceptions import InputError


def _score_one(name: str, X: ArrayLike, labels: ArrayLike, metric: str, noise: Noise) -> float:
    """Score one partition in one space, or say why there is no score."""
    index = get_index(name, check_metric(metric))
    space = check_space(X, name="X")
    partition = Partitions.stack([labels], n_samples=len(space), noise=noise, names=["labels"])
    n_clusters = int(partition.n_clusters[0])
    if n_clusters < 2:
        raise InputError(f"labels give {n_clusters} cluster(s); {index.title} needs at least two.")
    (result,) = score_spaces([space], partition, ScoreTask(index, check_metric(metric)))
    value = float(result.scores[0])
    if not np.isfinite(value):
        raise InputError(f"{index.title} is not defined where {index.undefined_when}.")
    return value if index.larger_is_better else -value


def silhouette(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    average: Literal["samples", "clusters"] = "samples",
    noise: Noise = "error",
) -> float:
    r"""Mean of how much nearer points are to their own cluster than to the next one.

    .. math:: s(i) = \frac{b(i) - a(i)}{\max\{a(i), b(i)\}}

    with the mean distance :math:`a(i)` to the own cluster's other points and the smallest mean
    distance :math:`b(i)` to another cluster. Range [-1, 1], larger is better. Cost O(N² d).

    A singleton's value is 0, and so is that of a point whose a and b are both 0 (duplicates).
    One cluster is an error. With the cosine metric a point at the origin has distance 1 to all
    others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    metric : {"euclidean", "cosine"}, default="euclidean"
    average : {"samples", "clusters"}, default="samples"
        Mean over points, or over clusters of the mean over their points.
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import silhouette
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(silhouette(X, labels), 4)
    0.5035
    """
    if average not in ("samples", "clusters"):
        raise InputError(f"average={average!r} is unknown; choose 'samples' or 'clusters'.")
    name = "silhouette" if average == "samples" else "silhouette_clusters"
    return _score_one(name, X, labels, metric, noise)


def calinski_harabasz(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    noise: Noise = "error",
) -> float:
    r"""Dispersion between clusters over dispersion within, per degree of freedom.

    .. math:: \frac{B / (K - 1)}{W / (N - K)}

    with the sums of squares :math:`B` of the centroids about the mean (weighted by cluster size)
    and :math:`W` of the points about their centroids. Range [0, ∞), larger is better. Cost O(N d).

    1 where every cluster is a single place (as in scikit-learn); singletons add nothing to W; one
    cluster, or as many clusters as points, is an error.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import calinski_harabasz
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(calinski_harabasz(X, labels), 4)
    487.3309
    """
    return _score_one("calinski_harabasz", X, labels, "euclidean", noise)


def davies_bouldin(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    noise: Noise = "error",
) -> float:
    r"""Mean over clusters of the likeness to the cluster most like it.

    .. math:: \frac1K \sum_k \max_{l \ne k} \frac{\delta_k + \delta_l}{\Delta_{kl}}

    with the mean distance :math:`\delta_k` of a cluster's points to its centroid and the distance
    :math:`\Delta_{kl}` of centroids. Range [0, ∞), smaller is better. Cost O(N d + K² d).

    A singleton has :math:`\delta = 0`; pairs of clusters with the same centroid are passed over, as
    in scikit-learn; one cluster is an error.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import davies_bouldin
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(davies_bouldin(X, labels), 4)
    0.7514
    """
    return _score_one("davies_bouldin", X, labels, "euclidean", noise)


def dunn(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    noise: Noise = "error",
) -> float:
    r"""Smallest distance between clusters over the largest diameter.

    .. math:: \frac{\min_{k \ne l} \min_{i \in C_k, j \in C_l} d(i, j)}
              {\max_k \max_{i, j \in C_k} d(i, j)}

    Range [0, ∞), larger is better. Two points decide it, so it is easily upset. Cost O(N² d).

    A singleton has diameter 0; duplicates in different clusters give 0; one cluster, or only
    clusters of one place, is an error.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    metric : {"euclidean", "cosine"}, default="euclidean"
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import dunn
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(dunn(X, labels), 4)
    0.0585
    """
    return _score_one("dunn", X, labels, metric, noise)


def c_index(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    noise: Noise = "error",
) -> float:
    r"""Where the distances within clusters lie between the least and the most they could be.

    .. math:: \frac{S_W - S_{\min}}{S_{\max} - S_{\min}}

    with the sum :math:`S_W` of the :math:`N_W` distances within clusters and the sums of the
    :math:`N_W` smallest and largest of all distances. Range [0, 1], smaller is better. Cost
    O(N² d) in constant memory: the sums come from a histogram refined where they end, exact to
    about 1e-9 of the range.

    Singletons have no distance within; all clusters singletons, or all distances equal, is an
    error, and so is one cluster.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    metric : {"euclidean", "cosine"}, default="euclidean"
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import c_index
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(c_index(X, labels), 4)
    0.0468
    """
    return _score_one("c_index", X, labels, metric, noise)


def s_dbw(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    noise: Noise = "error",
) -> float:
    r"""Scatter within clusters plus density between them.

    .. math:: \frac1K \sum_k \frac{\lVert v_k \rVert}{\lVert v \rVert} + \frac{2}{K (K - 1)}
              \sum_{k < l} \frac{\gamma_{kl}(h_{kl})}{\max\{\gamma_{kl}(c_k), \gamma_{kl}(c_l)\}}

    with the variances per feature :math:`v_k` of a cluster and :math:`v` of the data, and the
    number :math:`\gamma_{kl}(x)` of points of both clusters within
    :math:`\sigma = \sqrt{\sum_k \lVert v_k \rVert} / K` of :math:`x`, taken at the centroids
    and halfway between them. Range [0, ∞), smaller is better. Cost O(N K d).

    Singletons have variance 0; 0/0 of densities counts as 0, and a warning says so when most pairs
    are like that, as in high dimension; one cluster is an error.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import s_dbw
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(s_dbw(X, labels), 4)
    0.3471
    """
    return _score_one("s_dbw", X, labels, "euclidean", noise)


def cubic_clustering_criterion(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    noise: Noise = "error",
) -> float:
    r"""R² of the clusters against that expected in a uniform box (CCC).

    .. math:: \ln\left[\frac{1 - E(R^2)}{1 - R^2}\right]
              \frac{\sqrt{n p^* / 2}}{(0.001 + E(R^2))^{1.2}}

    (Sarle, 1983) with the box's edges the standard deviations along the principal axes. Range
    (-∞, ∞), larger is better, above 2 or 3 is taken for clusters. Cost O(N d² + d³).

    Singletons and duplicates are allowed; one cluster, or clusters that explain all of the
    variance, is an error.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import cubic_clustering_criterion
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(cubic_clustering_criterion(X, labels), 4)
    3.0385
    """
    return _score_one("cubic_clustering_criterion", X, labels, "euclidean", noise)


def cd_bw(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    noise: Noise = "error",
) -> float:
    r"""Cohesion of clusters times their separation, seen through representatives (CDbw).

    .. math:: \mathrm{Cohesion} \cdot \mathrm{Compactness} \cdot \mathrm{Separation}

    (Halkidi and Vazirgiannis, 2008). Up to ten representatives of each cluster are its points
    farthest from the centroid and from each other. Compactness is the density around them while
    they shrink to the centroid, cohesion discounts its changes, and separation is the distance
    between clusters discounted by the density between them. Range [0, ∞), larger is better. Cost
    O(N d · 80 + N d · 10 K). Unlike the other indices it depends on the unit of X: it falls when X
    is multiplied by a number above one.

    A singleton has deviation 0 and represents itself. Ties between points equally far away go to
    the first, so the value can depend on the order of rows where such ties exist. One cluster, or
    only clusters of one place, is an error.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        At least two clusters.
    noise : {"error", "drop", "singletons"}, default="error"
        Points labelled -1: refuse them with a message, leave them out, or make each a cluster.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.evaluation import cd_bw
    >>> X, labels = load_iris(return_X_y=True)
    >>> round(cd_bw(X, labels), 4)
    0.3869
    """
    return _score_one("cd_bw", X, labels, "euclidean", noise)
