"""Silhouette values of all points under all partitions."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kindset.evaluation._cluster_sums import cluster_sum_blocks
from kindset.evaluation._contributions import PointMeans
from kindset.evaluation._labels import Partitions
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


def silhouette_contributions(space: Space, partitions: Partitions) -> PointMeans:
    """Silhouette values, to be averaged over points."""
    return PointMeans(silhouette_values(space, partitions), partitions, by_cluster=False)


def macro_silhouette_contributions(space: Space, partitions: Partitions) -> PointMeans:
    """Silhouette values, to be averaged within clusters first."""
    return PointMeans(silhouette_values(space, partitions), partitions, by_cluster=True)


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
