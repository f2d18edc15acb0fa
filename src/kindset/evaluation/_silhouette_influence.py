"""How much each point moves the silhouette, through its own value and through those of others.

To first order, a resampled silhouette is the silhouette plus the influences of the points that were
drawn more or less often than once. Leaving the others' values as they are would not do: a point
also stands in the mean distances of all points of its cluster and of the clusters next to it, and
the spread of the bootstrap would come out about a third too small.
"""

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._cluster_sums import cluster_sum_blocks
from kindset.evaluation._distances import tiles_of_rows
from kindset.evaluation._labels import Partitions
from kindset.evaluation._spaces import Space


@njit(cache=True, nogil=True)
def _slopes(within, nearest):  # type: ignore[no-untyped-def]
    """Return the derivatives of (b - a) / max(a, b) by a and by b."""
    if within <= nearest:
        return -1.0 / nearest, within / (nearest * nearest)
    return -nearest / (within * within), 1.0 / within


@njit(cache=True, nogil=True)
def _coefficients(sums, codes, sizes, offsets, shares, coefficients, constants):  # type: ignore[no-untyped-def]
    """For each row and cluster, how the row's silhouette moves with distances to that cluster.

    The weight of a point j changes the score by the sum over rows of
    ``coefficients[cluster of j, row] * d(row, j)``, less ``constants[cluster of j]``.
    """
    for m in range(codes.shape[0]):
        for r in range(codes.shape[1]):
            own = codes[m, r]
            if own < 0 or sizes[offsets[m] + own] <= 1:
                continue
            own += offsets[m]
            within = sums[own, r] / (sizes[own] - 1)
            nearest, neighbour = np.inf, -1
            for k in range(offsets[m], offsets[m + 1]):
                if k != own and sums[k, r] / sizes[k] < nearest:
                    nearest, neighbour = sums[k, r] / sizes[k], k
            if neighbour < 0 or max(within, nearest) == 0 or min(within, nearest) == 0:
                continue
            by_within, by_nearest = _slopes(within, nearest)
            coefficients[own, r] = shares[m, r] * by_within / (sizes[own] - 1)
            coefficients[neighbour, r] = shares[m, r] * by_nearest / sizes[neighbour]
            constants[own] += coefficients[own, r] * within
            constants[neighbour] += coefficients[neighbour, r] * nearest


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _add_influence(tile, start, codes, offsets, coefficients, influence):  # type: ignore[no-untyped-def]
    for m in range(codes.shape[0]):
        for c in range(tile.shape[0]):
            code = codes[m, start + c]
            if code >= 0:
                row, line = coefficients[offsets[m] + code], tile[c]
                total = 0.0
                for r in range(line.shape[0]):
                    total += row[r] * line[r]
                influence[m, start + c] += total


def silhouette_influence(
    space: Space, partitions: Partitions, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Derive each partition's score by each point's weight, through all other points.

    Parameters
    ----------
    space : Space
    partitions : Partitions
    shares : ndarray of shape (n_partitions, n_samples)
        Part that each point's silhouette has in the score.
    """
    codes, sizes, offsets = partitions.codes, partitions.sizes, partitions.offsets
    influence = np.zeros(codes.shape)
    constants = np.zeros(len(sizes))
    for rows, sums in cluster_sum_blocks(space, partitions):
        coefficients = np.zeros_like(sums)
        block = np.ascontiguousarray(codes[:, rows])
        parts = np.ascontiguousarray(shares[:, rows])
        _coefficients(sums, block, sizes, offsets, parts, coefficients, constants)
        for columns, tile in tiles_of_rows(space, rows):
            _add_influence(tile, columns.start, codes, offsets, coefficients, influence)
    for m, code in enumerate(codes):
        covered = code >= 0
        influence[m, covered] -= constants[partitions.clusters(m)][code[covered]]
    return influence
