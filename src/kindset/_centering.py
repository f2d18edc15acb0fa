"""Data far from the origin: what to subtract before anything is squared."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

_FAR = 1000.0
_ROWS = 4096


def far_mean(X: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of samples that are far from the origin; zeros for any others.

    Far means that a column's mean is more than a thousand times the largest deviation of any
    sample from the means. Distances that come from dot products would lose their digits there. Data
    that are not far stay as they are, because the classifiers penalise the bias: centring would
    change all results a little.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    offset : ndarray of shape (n_features,)
        In the type of `X`, so that subtracting it from close samples is exact.

    Examples
    --------
    >>> far_mean(np.array([[0.0, 7.0], [2.0, 9.0]]))
    array([0., 0.])
    >>> far_mean(np.array([[1.7e9, 7.0], [1.7e9 + 2, 9.0]]))
    array([1.7e+09, 8.0e+00])
    """
    mean = X.mean(axis=0, dtype=np.float64)
    # The first mean of large numbers is only roughly right; the second pass adds what is missing.
    rest, widest = np.zeros_like(mean), 0.0
    for rows in gen_batches(len(X), _ROWS):
        deviation = X[rows] - mean
        rest += deviation.sum(axis=0)
        widest = max(widest, float(np.abs(deviation).max()))
    mean += rest / len(X)
    if np.abs(mean).max() <= _FAR * widest:
        return np.zeros_like(mean, dtype=X.dtype)
    return mean.astype(X.dtype)
