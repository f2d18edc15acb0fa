"""Exact nearest neighbours of the points of a space, block by block.

Products of matrices give distances with a rounding error that we can bound. They only decide which
points could be neighbours. The distances of those points are then taken from differences, so that
copies of a point have equal distances and the lower index comes first.
"""

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._distances import memory_budget, square_distance

# Rows and columns of a block of products: two megabytes.
_ROWS = 256
_COLUMNS = 1024
# Columns that are compared with the bound at once, by vector instructions.
_CHUNK = 64


@njit(cache=True, nogil=True)
def _insert(found, squares, point, square):  # type: ignore[no-untyped-def]
    """Put a point behind all that are as near, and drop the last."""
    place = found.shape[0] - 1
    while place > 0 and squares[place - 1] > square:
        squares[place] = squares[place - 1]
        found[place] = found[place - 1]
        place -= 1
    squares[place] = square
    found[place] = point


@njit(cache=True, nogil=True)
def _screen(products, X, norms, first_row, first_column, margins, found, squares):  # type: ignore[no-untyped-def]
    """Update the neighbours of some rows with one block of columns, in the order of the index."""
    n_columns = products.shape[1]
    column_norms = norms[first_column : first_column + n_columns]
    last = found.shape[1] - 1
    for r in range(products.shape[0]):
        point = first_row + r
        allowance = margins[r] - norms[point]
        bound = squares[r, last] + allowance
        for start in range(0, n_columns, _CHUNK):
            # Slices that are counted from 0, because the compiler vectorises only such loops.
            line = products[r, start : start + _CHUNK]
            others = column_norms[start : start + _CHUNK]
            n_near = 0
            for c in range(line.shape[0]):
                n_near += others[c] - 2.0 * line[c] <= bound
            if n_near == 0:
                continue
            for c in range(line.shape[0]):
                other = first_column + start + c
                if other != point and others[c] - 2.0 * line[c] <= bound:
                    square = square_distance(X[point], X[other])
                    if square < squares[r, last]:
                        _insert(found[r], squares[r], other, square)
                        bound = squares[r, last] + allowance


def nearest_neighbours(
    X: NDArray[np.float64], n_neighbors: int, n_queries: int | None = None
) -> NDArray[np.int32]:
    """Nearest neighbours of the first points among all points, the nearest first.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Points around the origin. Far from it, more distances must be taken twice.
    n_neighbors : int
        At most ``n_samples - 1``. A point is no neighbour of itself, but its copies are.
    n_queries : int, optional
        How many points, from the first, to find the neighbours of. All by default.

    Returns
    -------
    neighbours : ndarray of shape (n_queries, n_neighbors), int32
        Of points that are equally far, the one with the lower index comes first.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_neighbours(np.array([[0.0], [1.0], [1.0], [3.0]]), 2)
    array([[1, 2],
           [2, 0],
           [1, 0],
           [1, 2]], dtype=int32)
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    n, d = X.shape
    n_queries = n if n_queries is None else min(n_queries, n)
    norms = np.einsum("ij,ij->i", X, X)
    # Bound of the rounding error of |a|² + |b|² - 2ab, and of the sum of squared differences.
    margins = 8.0 * (d + 8) * np.finfo(np.float64).eps * (norms[:n_queries] + norms.max())
    neighbours = np.zeros((n_queries, n_neighbors), dtype=np.int32)
    n_rows = int(np.clip(memory_budget() // (8 * _COLUMNS), 1, _ROWS))
    products = np.empty(n_rows * _COLUMNS)
    for first in range(0, n_queries, n_rows):
        rows = slice(first, min(first + n_rows, n_queries))
        squares = np.full((rows.stop - first, n_neighbors), np.inf)
        for begin in range(0, n, _COLUMNS):
            columns = slice(begin, min(begin + _COLUMNS, n))
            shape = (rows.stop - first, columns.stop - begin)
            block = products[: shape[0] * shape[1]].reshape(shape)
            np.dot(X[rows], X[columns].T, out=block)
            _screen(block, X, norms, first, begin, margins[rows], neighbours[rows], squares)
    return neighbours
