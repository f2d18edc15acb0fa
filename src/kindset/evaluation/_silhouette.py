"""Silhouette values of all points under all partitions."""

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._cluster_sums import cluster_sum_blocks
from kindset.evaluation._labels import Partitions
from kindset.evaluation._silhouette_influence import silhouette_influence
from kindset.evaluation._spaces import Space


@njit(cache=True, nogil=True)
def _values_from_sums(sums, codes, sizes, offsets, values):  # type: ignore[no-untyped-def]
    """Silhouette values from sums of distances: `codes` and `values` are (partitions, rows)."""
    for m in range(codes.shape[0]):
        for r in range(codes.shape[1]):
            own = codes[m, r]
            values[m, r] = 0.0
            if own < 0 or sizes[offsets[m] + own] <= 1:
                continue
            within = sums[offsets[m] + own, r] / (sizes[offsets[m] + own] - 1)
            nearest = np.inf
            for k in range(offsets[m + 1] - offsets[m]):
                if k != own:
                    nearest = min(nearest, sums[offsets[m] + k, r] / sizes[offsets[m] + k])
            largest = max(within, nearest)
            if 0 < largest < np.inf:
                values[m, r] = (nearest - within) / largest


def silhouette_values(
    space: Space, partitions: Partitions, points: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Silhouette value of each point (columns) under each partition (rows); 0 for singletons."""
    n_wanted = len(space.X) if points is None else len(points)
    values = np.empty((partitions.n_partitions, n_wanted))
    done = 0
    for rows, sums in cluster_sum_blocks(space, partitions, points):
        block = np.empty((partitions.n_partitions, len(rows)))
        codes = np.ascontiguousarray(partitions.codes[:, rows])
        _values_from_sums(sums, codes, partitions.sizes, partitions.offsets, block)
        values[:, done : done + len(rows)] = block
        done += len(rows)
    return values


class Silhouettes:
    """Mean silhouette over points, or over clusters of the mean over their points."""

    # No cached_property here: until Python 3.12 it holds a lock that all threads share.

    def __init__(self, space: Space, partitions: Partitions, *, by_cluster: bool) -> None:
        self._space = space
        self._partitions = partitions
        self._by_cluster = by_cluster
        self._values = silhouette_values(space, partitions)
        self._shares = self._measure_shares()
        self._influence: NDArray[np.float64] | None = None

    def score(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Scores on all points, to first order moved by weights."""
        scores = (self._values * self._shares).sum(axis=1)[None, :]
        if weights is None:
            return np.asarray(scores)
        if self._influence is None:
            through_others = silhouette_influence(self._space, self._partitions, self._shares)
            self._influence = self._own_influence() + through_others
        return np.asarray(scores + (weights - 1.0) @ self._influence.T)

    def _measure_shares(self) -> NDArray[np.float64]:
        """Part of each point in the score; they sum to one over the points covered."""
        shares = np.zeros(self._partitions.codes.shape)
        for m, code in enumerate(self._partitions.codes):
            sizes = self._partitions.sizes[self._partitions.clusters(m)]
            whole = len(sizes) * sizes if self._by_cluster else np.full(len(sizes), sizes.sum())
            shares[m] = np.where(code >= 0, 1.0 / whole[code], 0.0)
        return shares

    def _own_influence(self) -> NDArray[np.float64]:
        """Derive the scores by the weights, through the points' own values."""
        own = np.empty_like(self._values)
        for m, code in enumerate(self._partitions.codes):
            parts = self._values[m] * self._shares[m]
            means = np.full(len(code), parts.sum())
            if self._by_cluster:
                k = int(self._partitions.n_clusters[m])
                means = np.bincount(code + 1, parts * k, k + 1)[1:][code]
            own[m] = self._shares[m] * (self._values[m] - means)
        return own


def silhouette_contributions(space: Space, partitions: Partitions) -> Silhouettes:
    """Silhouette values, to be averaged over points."""
    return Silhouettes(space, partitions, by_cluster=False)


def macro_silhouette_contributions(space: Space, partitions: Partitions) -> Silhouettes:
    """Silhouette values, to be averaged within clusters first."""
    return Silhouettes(space, partitions, by_cluster=True)


def sampled_silhouette(
    space: Space, partitions: Partitions, points: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean silhouette estimated from some points, each compared with all, and its standard error.

    The error is that of a simple random sample without replacement of the points covered.
    """
    values = silhouette_values(space, partitions, points)
    covered = partitions.codes[:, points] >= 0
    n_sampled = covered.sum(axis=1)
    safe = np.maximum(n_sampled, 1)
    means = values.sum(axis=1) / safe
    deviations = np.where(covered, values - means[:, None], 0.0)
    variances = (deviations**2).sum(axis=1) / np.maximum(n_sampled - 1, 1)
    unseen = 1.0 - n_sampled / np.maximum(partitions.n_points, 1)
    errors = np.sqrt(variances / safe * unseen)
    return np.where(n_sampled > 1, means, np.nan), errors
