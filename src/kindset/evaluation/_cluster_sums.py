"""Distances from every point to every cluster of every partition, summed in one pass."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._distances import (
    TILE,
    half_tiles,
    memory_budget,
    row_blocks,
    tiles_of_rows,
)
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
    layout = _sort_columns(partitions.codes, partitions.offsets, TILE)
    if points is None and 8.0 * len(space.X) * len(partitions.sizes) <= memory_budget():
        yield from _sums_of_all(space, partitions, layout)
        return
    wanted = np.arange(len(space.X)) if points is None else points
    order, bounds = layout
    for block in row_blocks(len(wanted), len(partitions.sizes)):
        rows = wanted[block]
        sums = np.zeros((len(partitions.sizes), len(rows)))
        for columns, tile in tiles_of_rows(space, rows):
            strip = bounds[columns.start // TILE]
            _add_cluster_sums(tile, order[:, columns], strip, partitions.offsets, sums)
        yield rows, sums


def _sums_of_all(
    space: Space,
    partitions: Partitions,
    layout: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Like `cluster_sum_blocks` for all points, with every distance made only once.

    A tile serves its rows and, transposed, its columns; so the sums of all points are held.
    """
    order, bounds = layout
    n, offsets = len(space.X), partitions.offsets
    blocks = [np.arange(start, min(start + TILE, n)) for start in range(0, n, TILE)]
    sums = [np.zeros((len(partitions.sizes), len(block))) for block in blocks]
    for columns, rows, tile in half_tiles(space):
        c, r = columns.start // TILE, rows.start // TILE
        _add_cluster_sums(tile, order[:, columns], bounds[c], offsets, sums[r])
        if c != r:
            mirrored = np.ascontiguousarray(tile.T)
            _add_cluster_sums(mirrored, order[:, rows], bounds[r], offsets, sums[c])
    yield from zip(blocks, sums, strict=True)
