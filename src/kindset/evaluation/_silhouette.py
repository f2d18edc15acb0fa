"""Silhouette values of all points under all partitions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class Silhouettes:
    """Mean silhouette over points, or over clusters of the mean over their points."""

    space: Space
    partitions: Partitions
    by_cluster: bool

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return silhouette_values(self.space, self.partitions)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """Part of each point in the score; they sum to one over the points covered."""
        codes, shares = self.partitions.codes, np.zeros(self.partitions.codes.shape)
        for m, code in enumerate(codes):
            sizes = self.partitions.sizes[self.partitions.clusters(m)]
            whole = len(sizes) * sizes if self.by_cluster else np.full(len(sizes), sizes.sum())
            shares[m] = np.where(code >= 0, 1.0 / whole[code], 0.0)
        return shares

    @cached_property
    def _influence(self) -> NDArray[np.float64]:
        """Derivative of the scores by the weights of the points."""
        own = np.empty_like(self._values)
        for m, code in enumerate(self.partitions.codes):
            means = (self._values[m] * self._shares[m]).sum()
            if self.by_cluster:
                k = int(self.partitions.n_clusters[m])
                parts = np.bincount(code + 1, self._values[m] * self._shares[m] * k, k + 1)[1:]
                means = parts[code]
            own[m] = self._shares[m] * (self._values[m] - means)
        return own + silhouette_influence(self.space, self.partitions, self._shares)

    def score(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Scores on all points, to first order moved by weights."""
        scores = (self._values * self._shares).sum(axis=1)[None, :]
        if weights is None:
            return np.asarray(scores)
        return np.asarray(scores + (weights - 1.0) @ self._influence.T)


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
