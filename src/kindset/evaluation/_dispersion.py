"""Indices that need only centroids and distances to them, linear in the number of points."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kindset.evaluation._contributions import cluster_totals, divide
from kindset.evaluation._distances import square_distance
from kindset.evaluation._labels import Partitions
from kindset.evaluation._spaces import Space


@njit(cache=True, nogil=True)
def _centroids(X, codes, sizes, offsets, out):  # type: ignore[no-untyped-def]
    for m in range(codes.shape[0]):
        for i in range(X.shape[0]):
            target = out[offsets[m] + codes[m, i]]
            for d in range(X.shape[1]):
                target[d] += X[i, d]
    for k in range(out.shape[0]):
        for d in range(X.shape[1]):
            out[k, d] /= sizes[k]


@njit(cache=True, nogil=True)
def _squares_to_own(X, codes, offsets, centroids, out):  # type: ignore[no-untyped-def]
    for m in range(codes.shape[0]):
        for i in range(X.shape[0]):
            out[m, i] = square_distance(X[i], centroids[offsets[m] + codes[m, i]])


def centroids(space: Space, partitions: Partitions) -> NDArray[np.float64]:
    """Centroids of all clusters of all partitions, one after the other."""
    out = np.zeros((len(partitions.sizes), space.X.shape[1]))
    _centroids(space.X, partitions.codes, partitions.sizes, partitions.offsets, out)
    return out


def squares_to_own(
    space: Space, partitions: Partitions, centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distance of each point to its own centroid, shape (n_partitions, n_samples)."""
    out = np.empty(partitions.codes.shape)
    _squares_to_own(space.X, partitions.codes, partitions.offsets, centers, out)
    return out


@dataclass(frozen=True)
class Dispersion:
    """Within-cluster and total sums of squares as sums over points."""

    within: NDArray[np.float64]
    total: NDArray[np.float64]
    n_clusters: NDArray[np.int64]

    @classmethod
    def measure(cls, space: Space, partitions: Partitions) -> "Dispersion":
        """Take the squares to the own centroid and to the common one, which is the origin."""
        within = squares_to_own(space, partitions, centroids(space, partitions))
        return cls(within, space.square_norms, partitions.n_clusters)

    def sums(
        self, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Weighted within and total sums of squares, and the number of points."""
        return (
            weights @ self.within.T,
            (weights @ self.total)[:, None],
            weights.sum(axis=1, keepdims=True),
        )


@dataclass(frozen=True)
class CalinskiHarabasz:
    """Between against within dispersion, each by its degrees of freedom."""

    dispersion: Dispersion

    def score(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """As scikit-learn, 1 where every cluster is a single place."""
        within, total, n = self.dispersion.sums(weights)
        k = self.dispersion.n_clusters
        ratio = divide((total - within) * (n - k), within * (k - 1.0))
        return np.where(k >= n, np.nan, np.where(within == 0, 1.0, ratio))


def calinski_harabasz_contributions(space: Space, partitions: Partitions) -> CalinskiHarabasz:
    """Measure what the Calinski-Harabasz index is made of."""
    return CalinskiHarabasz(Dispersion.measure(space, partitions))


@dataclass(frozen=True)
class DaviesBouldin:
    """Distances to the own centroid per point, and between centroids."""

    distances: NDArray[np.float64]
    centers: NDArray[np.float64]
    partitions: Partitions

    def score(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """As scikit-learn, 0 where all centroids coincide or every cluster is a single place."""
        columns = []
        for m, codes in enumerate(self.partitions.codes):
            centers = self.centers[self.partitions.clusters(m)]
            totals = cluster_totals(weights, self.distances[m], codes, len(centers))
            masses = cluster_totals(weights, np.ones(len(codes)), codes, len(centers))
            spread = np.where(masses > 0, totals / np.where(masses > 0, masses, 1.0), 0.0)
            between = cdist(centers, centers)
            between[between <= 1e-15 * max(between.max(), 1e-300)] = np.inf
            worst = ((spread[:, :, None] + spread[:, None, :]) / between).max(axis=2)
            columns.append(worst.mean(axis=1))
        return np.column_stack(columns)


def davies_bouldin_contributions(space: Space, partitions: Partitions) -> DaviesBouldin:
    """Measure what the Davies-Bouldin index is made of."""
    centers = centroids(space, partitions)
    return DaviesBouldin(np.sqrt(squares_to_own(space, partitions, centers)), centers, partitions)


def _scales(space: Space) -> NDArray[np.float64]:
    """Return the deviations along the principal axes, descending, 0 for null directions."""
    X = space.X
    n, p = X.shape
    gram = X.T @ X if p <= n else X @ X.T
    eigenvalues = np.sort(np.linalg.eigvalsh(gram / (n - 1)))[::-1]
    floor = eigenvalues[0] * max(n, p) * np.finfo(np.float64).eps
    eigenvalues = np.where(eigenvalues > floor, eigenvalues, 0.0)
    return np.asarray(np.sqrt(np.pad(eigenvalues, (0, p - len(eigenvalues)))))


def _expected_r2(scales: NDArray[np.float64], n: int, k: int) -> tuple[float, int]:
    """Return the R² expected of K clusters in a uniform box with these edges, and p*."""
    positive = scales[scales > 0][: max(1, min(len(scales), k - 1))]
    q = np.arange(1, len(positive) + 1)
    edges = np.exp((np.cumsum(np.log(positive)) - np.log(k)) / q)
    p_star = int(q[positive >= edges].max())
    u = scales / edges[p_star - 1]
    head = (1.0 / (n + u[:p_star])).sum()
    tail = (u[p_star:] ** 2 / (n + u[p_star:])).sum()
    expected = 1.0 - (head + tail) / (u**2).sum() * (n - k) ** 2 / n * (1.0 + 4.0 / n)
    return float(expected), p_star


@dataclass(frozen=True)
class CubicClusteringCriterion:
    """R² of the partition against what a uniform box would give."""

    dispersion: Dispersion
    expected: NDArray[np.float64]
    p_star: NDArray[np.float64]

    def score(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Undefined where the clusters explain everything or nothing can be expected."""
        within, total, n = self.dispersion.sums(weights)
        unexplained = divide(within, np.broadcast_to(total, within.shape))
        with np.errstate(invalid="ignore", divide="ignore"):
            gain = np.log((1.0 - self.expected) / unexplained)
            values = gain * np.sqrt(n * self.p_star / 2.0) / (0.001 + self.expected) ** 1.2
        return np.where(np.isfinite(values), values, np.nan)


def cubic_clustering_contributions(
    space: Space, partitions: Partitions
) -> CubicClusteringCriterion:
    """Measure what the cubic clustering criterion is made of."""
    scales = _scales(space)
    n = len(space.X)
    if scales[0] == 0:
        nothing = np.full(partitions.n_partitions, np.nan)
        return CubicClusteringCriterion(Dispersion.measure(space, partitions), nothing, nothing)
    boxes = [_expected_r2(scales, n, int(k)) for k in partitions.n_clusters]
    expected, p_star = np.array(boxes, dtype=np.float64).T
    return CubicClusteringCriterion(Dispersion.measure(space, partitions), expected, p_star)
