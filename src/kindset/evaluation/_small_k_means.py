"""A k-means without overhead, for the many small clouds that a null distribution needs."""

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit

# Points that are assigned at once.
_BLOCK = 512


@njit(cache=True, nogil=True)
def _farther_centres(X, norms, centres, n_given, uniforms):  # type: ignore[no-untyped-def]
    """Choose centres after the first `n_given` among the points, far from those there are.

    Of several candidates, each drawn with a chance that grows with its squared distance to the
    nearest centre, the one is taken that brings all points nearest to a centre.
    """
    n, n_trials = X.shape[0], uniforms.shape[1]
    squares = np.full(n, np.inf)
    for g in range(n_given):
        squares = _nearer(X, norms, centres[g], squares)
    for k in range(n_given, centres.shape[0]):
        cumulated = np.cumsum(squares) if k > 0 else np.arange(1.0, n + 1.0)
        best = np.inf
        best_squares = squares
        for trial in range(n_trials if k > 0 else 1):
            place = np.searchsorted(cumulated, uniforms[k, trial] * cumulated[-1])
            candidate = min(place, n - 1)
            nearer = _nearer(X, norms, X[candidate], squares)
            potential = nearer.sum()
            if potential < best:
                best, best_squares = potential, nearer
                centres[k] = X[candidate]
        squares = best_squares


@njit(cache=True, nogil=True)
def _nearer(X, norms, centre, squares):  # type: ignore[no-untyped-def]
    """Squared distances to the nearest centre when there is one more."""
    square_norm = np.dot(centre, centre)
    products = np.dot(X, centre)
    nearer = np.empty_like(squares)
    for i in range(squares.shape[0]):
        square = max(norms[i] + square_norm - 2.0 * products[i], 0.0)
        nearer[i] = min(squares[i], square)
    return nearer


@njit(cache=True, nogil=True)
def assign(X, centres, labels):  # type: ignore[no-untyped-def]
    """Write the nearest centre of each point to `labels`, and say whether any has changed."""
    half_norms = np.empty(centres.shape[0])
    for k in range(centres.shape[0]):
        half_norms[k] = 0.5 * np.dot(centres[k], centres[k])
    changed = False
    for start in range(0, X.shape[0], _BLOCK):
        products = np.dot(X[start : start + _BLOCK], centres.T)
        for r in range(products.shape[0]):
            nearest = 0
            lowest = np.inf
            for k in range(products.shape[1]):
                height = half_norms[k] - products[r, k]
                if height < lowest:
                    lowest = height
                    nearest = k
            changed |= labels[start + r] != nearest
            labels[start + r] = nearest
    return changed


@njit(cache=True, nogil=True)
def _move(X, labels, centres):  # type: ignore[no-untyped-def]
    """Move centres to the means of their points; one without points stays. Squared shift."""
    sums = np.zeros_like(centres)
    sizes = np.zeros(centres.shape[0])
    for i in range(X.shape[0]):
        sizes[labels[i]] += 1.0
        for c in range(X.shape[1]):
            sums[labels[i], c] += X[i, c]
    shift = 0.0
    for k in range(centres.shape[0]):
        if sizes[k] > 0:
            for c in range(X.shape[1]):
                mean = sums[k, c] / sizes[k]
                shift += (mean - centres[k, c]) ** 2
                centres[k, c] = mean
    return shift


@njit(cache=True, nogil=True)
def _lloyd(X, norms, centres, n_given, uniforms, max_iter, tolerance):  # type: ignore[no-untyped-def]
    _farther_centres(X, norms, centres, n_given, uniforms)
    labels = np.full(X.shape[0], -1, dtype=np.int32)
    for _ in range(max_iter):
        if not assign(X, centres, labels) or _move(X, labels, centres) <= tolerance:
            break


def k_means_centres(
    X: NDArray[np.float64],
    n_clusters: int,
    *,
    given: NDArray[np.float64] | None = None,
    max_iter: int = 50,
    tol: float = 1e-4,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Centres of one run of k-means.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_clusters : int
    given : ndarray of shape (n_given, n_features), optional
        Centres to begin with; the others are chosen among the points far from them.
    max_iter : int, default=50
    tol : float, default=1e-4
        Stop when the centres move less, relative to the mean variance of the columns.
    seed : int, default=0

    Returns
    -------
    centres : ndarray of shape (n_clusters, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> np.sort(k_means_centres(np.array([[0.0], [2.0], [10.0], [12.0]]), 2), axis=0)
    array([[ 1.],
           [11.]])
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    centres = np.empty((n_clusters, X.shape[1]))
    n_given = 0 if given is None else len(given)
    if given is not None:
        centres[:n_given] = given
    n_trials = 2 + int(np.log(n_clusters))
    uniforms = np.random.RandomState(seed).random_sample((n_clusters, n_trials))
    norms = np.einsum("ij,ij->i", X, X)
    tolerance = tol * float(X.var(axis=0).mean())
    _lloyd(X, norms, centres, n_given, uniforms, max_iter, tolerance)
    return centres
