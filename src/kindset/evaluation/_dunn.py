"""The Dunn index of many partitions, from one pass over the pairs of points."""

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._contributions import divide
from kindset.evaluation._distances import half_tiles
from kindset.evaluation._labels import Partitions
from kindset.evaluation._spaces import Space


@njit(cache=True, nogil=True)
def _extremes(tile, column_codes, row_codes, between, within):  # type: ignore[no-untyped-def]
    """Smallest distance to another cluster and largest to the own, for each row of a tile."""
    n_columns, n_rows = tile.shape
    for m in range(row_codes.shape[0]):
        codes, nearest, farthest = row_codes[m], between[m], within[m]
        for c in range(n_columns):
            code = column_codes[m, c]
            line = tile[c]
            # Two loops: the compiler vectorises each, but not both in one.
            for r in range(n_rows):
                other = np.inf if codes[r] == code else line[r]
                nearest[r] = other if other < nearest[r] else nearest[r]
            for r in range(n_rows):
                own = line[r] if codes[r] == code else 0.0
                farthest[r] = own if own > farthest[r] else farthest[r]


def codes_of(
    codes: NDArray[np.int32], columns: slice, rows: slice
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Codes of a tile, laid out for the kernels: only contiguous rows are vectorised."""
    return np.ascontiguousarray(codes[:, columns]), np.ascontiguousarray(codes[:, rows])


def dunn_scores(space: Space, partitions: Partitions) -> NDArray[np.float64]:
    """Smallest distance between clusters over the largest diameter, for every partition.

    Both extremes of all partitions come from one pass over half of the distances.
    """
    n_partitions = partitions.n_partitions
    between = np.full(n_partitions, np.inf)
    within = np.zeros(n_partitions)
    for columns, rows, tile in half_tiles(space):
        nearest = np.full((n_partitions, tile.shape[1]), np.inf)
        farthest = np.zeros((n_partitions, tile.shape[1]))
        _extremes(tile, *codes_of(partitions.codes, columns, rows), nearest, farthest)
        between = np.minimum(between, nearest.min(axis=1))
        within = np.maximum(within, farthest.max(axis=1))
    return np.where(np.isfinite(between), divide(between, within), np.nan)
