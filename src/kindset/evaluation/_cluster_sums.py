"""Distances from every point to every cluster of every partition, summed in one pass."""

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kindset.evaluation._distances import TILE_COLUMNS, row_blocks, tiles_of_rows
from kindset.evaluation._labels import Partitions
from kindset.evaluation._spaces import Space


@njit(cache=True, nogil=True)
def _sort_columns(codes, offsets, width):  # type: ignore[no-untyped-def]
    """Order the points of each strip of `width` columns by cluster, for every partition.

    Returns the order within the strip (partitions, points) and the bounds of the clusters in it
    (strips, clusters + partitions): partition m has ``K_m + 1`` bounds from ``offsets[m] + m``.
    Points that are left out stand before the first bound.
    """
    n_partitions, n_points = codes.shape
    n_strips = (n_points + width - 1) // width
    order = np.empty((n_partitions, n_points), dtype=np.int32)
    bounds = np.zeros((n_strips, offsets[-1] + n_partitions), dtype=np.int32)
    for strip in range(n_strips):
        begin, stop = strip * width, min((strip + 1) * width, n_points)
        for m in range(n_partitions):
            edges = bounds[strip, offsets[m] + m : offsets[m + 1] + m + 1]
            # Counting sort: the code -1 of points left out is counted into the first bound.
            for j in range(begin, stop):
                edges[codes[m, j] + 1] += 1
            for k in range(1, edges.shape[0]):
                edges[k] += edges[k - 1]
            place = edges.copy()
            for j in range(begin, stop):
                code = codes[m, j]
                if code >= 0:
                    order[m, begin + place[code]] = j - begin
                    place[code] += 1
    return order, bounds


@njit(cache=True, nogil=True)
def _add_lines(tile, members, target):  # type: ignore[no-untyped-def]
    """Add the lines `members` of a tile to `target`, four at a time: a quarter of the writes."""
    n_rows = tile.shape[1]
    c = 0
    while c + 4 <= members.shape[0]:
        first, second = tile[members[c]], tile[members[c + 1]]
        third, fourth = tile[members[c + 2]], tile[members[c + 3]]
        for r in range(n_rows):
            target[r] += (first[r] + second[r]) + (third[r] + fourth[r])
        c += 4
    while c < members.shape[0]:
        line = tile[members[c]]
        for r in range(n_rows):
            target[r] += line[r]
        c += 1


@njit(cache=True, nogil=True)
def _add_cluster_sums(tile, order, bounds, offsets, sums):  # type: ignore[no-untyped-def]
    """Add a tile (columns, rows) of one strip to `sums` (clusters of all partitions, rows)."""
    for m in range(order.shape[0]):
        for k in range(offsets[m], offsets[m + 1]):
            begin, end = bounds[k + m], bounds[k + m + 1]
            if end > begin:
                _add_lines(tile, order[m, begin:end], sums[k])


def cluster_sum_blocks(
    space: Space, partitions: Partitions, points: NDArray[np.intp] | None = None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Yield ``(rows, sums)``: distances from some points, summed over every cluster.

    Parameters
    ----------
    space : Space
    partitions : Partitions
    points : ndarray of int, optional
        The points whose sums are wanted; all by default.

    Yields
    ------
    rows : ndarray of int
        A block of the points.
    sums : ndarray of shape (n_clusters_total, n_rows)
    """
    wanted = np.arange(len(space.X)) if points is None else points
    n_clusters = len(partitions.sizes)
    offsets = partitions.offsets
    order, bounds = _sort_columns(partitions.codes, offsets, TILE_COLUMNS)
    for block in row_blocks(len(wanted), n_clusters):
        rows = wanted[block]
        sums = np.zeros((n_clusters, len(rows)))
        for columns, tile in tiles_of_rows(space, rows):
            strip = bounds[columns.start // TILE_COLUMNS]
            _add_cluster_sums(tile, order[:, columns], strip, offsets, sums)
        yield rows, sums
