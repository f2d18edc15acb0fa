"""All pairwise distances of a space, tile by tile, so that the N×N matrix never exists.

A tile is a block of a matrix product that fits into the processor's cache. It is turned into
distances in place and handed to kernels that reduce it for all partitions at once.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from kindset._compiling import njit
from kindset.evaluation._spaces import Space

# A tile of this many rows and columns is half a megabyte: about the second-level cache of a core.
TILE = 256
# What one worker may hold beside its space, whatever scikit-learn's working memory allows.
_MAX_MEGABYTES = 64
# Below this share of the squared norms, a dot product has lost too many digits to give a distance.
_CANCELLATION = 1e-4


# Sums may be taken in any order, which lets the compiler use vector instructions.
@njit(cache=True, nogil=True, fastmath={"reassoc"})
def square_distance(a, b):  # type: ignore[no-untyped-def]
    """Squared Euclidean distance of two points, from their differences."""
    total = 0.0
    for k in range(a.shape[0]):
        difference = a[k] - b[k]
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def _finish_euclidean(tile, columns, rows, column_norms, row_norms):  # type: ignore[no-untyped-def]
    """Turn dot products into Euclidean distances, exactly where digits would be lost."""
    for c in range(tile.shape[0]):
        line = tile[c]
        norm = column_norms[c]
        n_close = 0
        for r in range(line.shape[0]):
            scale = norm + row_norms[r]
            square = scale - 2.0 * line[r]
            n_close += square <= _CANCELLATION * scale
            line[r] = square
        if n_close > 0:
            for r in range(line.shape[0]):
                if line[r] <= _CANCELLATION * (norm + row_norms[r]):
                    line[r] = square_distance(columns[c], rows[r])
        for r in range(line.shape[0]):
            line[r] = np.sqrt(line[r])


@njit(cache=True, nogil=True)
def _finish_cosine(tile, columns, rows, column_norms, row_norms):  # type: ignore[no-untyped-def]
    """Turn dot products of unit vectors into cosine distances."""
    for c in range(tile.shape[0]):
        line = tile[c]
        n_close = 0
        for r in range(line.shape[0]):
            distance = 1.0 - line[r]
            n_close += distance <= _CANCELLATION
            line[r] = distance
        if n_close > 0:
            for r in range(line.shape[0]):
                if line[r] <= _CANCELLATION:
                    line[r] = 0.5 * square_distance(columns[c], rows[r])


_FINISH: dict[str, Callable[..., None]] = {
    "euclidean": _finish_euclidean,
    "cosine": _finish_cosine,
}


def distance_tile(
    space: Space, columns: slice, rows: slice | NDArray[np.intp]
) -> NDArray[np.float64]:
    """Distances between two sets of points, shape (n_columns, n_rows)."""
    a, b = space.X[columns], space.X[rows]
    tile = a @ b.T
    norms = space.square_norms
    _FINISH[space.metric](tile, a, b, norms[columns], norms[rows])
    if space.metric == "cosine":
        # A zero vector has no direction: it is one away from all others, but not from itself.
        start, stop, _ = columns.indices(len(space.X))
        points = np.arange(len(space.X))[rows]
        here = np.flatnonzero((points >= start) & (points < stop))
        tile[points[here] - start, here] = 0.0
    return tile


def memory_budget() -> float:
    """Bytes that one worker may use for what it accumulates."""
    return float(min(get_config()["working_memory"], _MAX_MEGABYTES) * 2**20)


def row_blocks(n_rows: int, n_accumulators: int = 0) -> Iterator[slice]:
    """Split rows so that what a kernel keeps for each row stays within the memory budget."""
    size = max(1, min(TILE, int(memory_budget() // (8 * max(n_accumulators, 1)))))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def tiles_of_rows(
    space: Space, rows: slice | NDArray[np.intp]
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield ``(columns, tile)`` until the given rows have met every point."""
    n = len(space.X)
    for start in range(0, n, TILE):
        columns = slice(start, min(start + TILE, n))
        yield columns, distance_tile(space, columns, rows)


def half_tiles(space: Space) -> Iterator[tuple[slice, slice, NDArray[np.float64]]]:
    """Yield ``(columns, rows, tile)`` that together hold every pair of points once.

    Only the tiles on the diagonal, where ``columns == rows``, hold their pairs twice.
    """
    n = len(space.X)
    for start in range(0, n, TILE):
        rows = slice(start, min(start + TILE, n))
        yield rows, rows, distance_tile(space, rows, rows)
        for begin in range(rows.stop, n, TILE):
            columns = slice(begin, min(begin + TILE, n))
            yield columns, rows, distance_tile(space, columns, rows)
