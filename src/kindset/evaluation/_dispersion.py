"""Indices that need only centroids and distances to them, linear in the number of points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kindset._compiling import njit
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


def _weighted_centers(
    space: Space,
    codes: NDArray[np.int32],
    centers: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Masses (B, K) and centroids (B, K, d) of one partition under each row of weights.

    A cluster that a sample misses stays where it is.
    """
    masses = np.empty((len(weights), len(centers)))
    moved = np.empty((len(weights), *centers.shape))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(centers)))
    for k, members in enumerate(np.split(order, ends[:-1])):
        part = weights[:, members]
        masses[:, k] = part.sum(axis=1)
        shift = part @ (space.X[members] - centers[k])
        moved[:, k] = centers[k] + shift / np.maximum(masses[:, k], 1e-300)[:, None]
    return masses, moved


@dataclass(frozen=True)
class Dispersion:
    """Sums of squares within clusters and in total, for any weights of the points."""

    space: Space
    partitions: Partitions
    centers: NDArray[np.float64]
    within: NDArray[np.float64]

    @classmethod
    def measure(cls, space: Space, partitions: Partitions) -> "Dispersion":
        """Take the centroids and the squares of the points to their own."""
        centers = centroids(space, partitions)
        return cls(space, partitions, centers, squares_to_own(space, partitions, centers))

    @property
    def n_clusters(self) -> NDArray[np.int64]:
        """Number of clusters of each partition."""
        return self.partitions.n_clusters

    def sums(
        self, weights: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Weighted within and total sums of squares, and the number of points.

        Squares are about the centroids and the mean of the weighted points.
        """
        if weights is None:
            total = np.array([[self.space.square_norms.sum()]])
            return self.within.sum(axis=1)[None, :], total, np.array([[len(self.space.X)]])
        n = weights.sum(axis=1, keepdims=True)
        mean = weights @ self.space.X / n
        spread = weights @ self.space.square_norms - n[:, 0] * (mean**2).sum(axis=1)
        within = weights @ self.within.T
        for m, codes in enumerate(self.partitions.codes):
            centers = self.centers[self.partitions.clusters(m)]
            masses, moved = _weighted_centers(self.space, codes, centers, weights)
            within[:, m] -= (masses * ((moved - centers) ** 2).sum(axis=2)).sum(axis=1)
        return np.maximum(within, 0.0), spread[:, None], n


@dataclass(frozen=True)
class CalinskiHarabasz:
    """Between against within dispersion, each by its degrees of freedom."""

    dispersion: Dispersion

    def score(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
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
    """Distances to the own centroid per point, and the centroids."""

    space: Space
    partitions: Partitions
    centers: NDArray[np.float64]
    distances: NDArray[np.float64]

    def score(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """As scikit-learn, 0 where all centroids coincide or every cluster is a single place.

        Undefined where every point is a cluster of its own, which would be the best score of all.
        Under weights the centroids move, but the distances of points to them are taken as before.
        """
        rows = np.ones((1, len(self.space.X))) if weights is None else weights
        scores = np.empty((len(rows), self.partitions.n_partitions))
        for m, codes in enumerate(self.partitions.codes):
            centers = self.centers[self.partitions.clusters(m)]
            if weights is None:
                masses, moved = self.partitions.sizes[self.partitions.clusters(m)], centers[None]
            else:
                masses, moved = _weighted_centers(self.space, codes, centers, weights)
            totals = cluster_totals(rows, self.distances[m], codes, len(centers))
            spread = np.where(masses > 0, totals / np.maximum(masses, 1e-300), 0.0)
            for row, places in enumerate(moved):
                scores[row, m] = _mean_worst_ratio(spread[row], cdist(places, places))
        return np.where(self.partitions.n_clusters < len(self.space.X), scores, np.nan)


def _mean_worst_ratio(spread: NDArray[np.float64], between: NDArray[np.float64]) -> float:
    """Mean over clusters of the largest ratio of spreads to the distance between centroids."""
    between[between <= 1e-15 * max(between.max(), 1e-300)] = np.inf
    return float(((spread[:, None] + spread[None, :]) / between).max(axis=1).mean())


def davies_bouldin_contributions(space: Space, partitions: Partitions) -> DaviesBouldin:
    """Measure what the Davies-Bouldin index is made of."""
    centers = centroids(space, partitions)
    distances = np.sqrt(squares_to_own(space, partitions, centers))
    return DaviesBouldin(space, partitions, centers, distances)


def _scales(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the deviations along the principal axes, descending, 0 for null directions."""
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

    def score(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Undefined where the clusters explain everything or nothing can be expected."""
        within, total, n = self.dispersion.sums(weights)
        rows = [None] if weights is None else list(weights)
        boxes = np.array([self._boxes(row) for row in rows])
        expected, p_star = boxes[:, :, 0], boxes[:, :, 1]
        unexplained = divide(within, np.broadcast_to(total, within.shape))
        with np.errstate(invalid="ignore", divide="ignore"):
            gain = np.log((1.0 - expected) / unexplained)
            values = gain * np.sqrt(n * p_star / 2.0) / (0.001 + expected) ** 1.2
        return np.where(np.isfinite(values), values, np.nan)

    def _boxes(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the expected R² and p* for each partition's number of clusters."""
        X = self.dispersion.space.X
        if weights is not None:
            mean = weights @ X / weights.sum()
            X = np.sqrt(weights)[:, None] * (X - mean)
        scales = _scales(X)
        counts = self.dispersion.n_clusters
        if scales[0] == 0:
            return np.full((len(counts), 2), np.nan)
        n = len(X) if weights is None else int(weights.sum())
        found = {int(k): _expected_r2(scales, n, int(k)) for k in set(counts)}
        return np.array([found[int(k)] for k in counts], dtype=np.float64)


def cubic_clustering_contributions(
    space: Space, partitions: Partitions
) -> CubicClusteringCriterion:
    """Measure what the cubic clustering criterion is made of."""
    return CubicClusteringCriterion(Dispersion.measure(space, partitions))
