"""The ordinal distributions, by name.

A new distribution is one function that returns its coefficient tensor (see `_coefficients`) and
one entry in `DISTRIBUTIONS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from kindset.exceptions import InputError
from kindset.ordinal._coefficients import FloatArray, bos_coefficients, god_coefficients
from kindset.ordinal._univariate import binomial_weights, log_pmf

MAX_PRECISION = 1 - 1e-9
"""Fitted precisions stop short of 1, so that no answer ever has probability zero."""

_GRID_SIZE = 24


@dataclass(frozen=True)
class OrdinalDistribution:
    """A family of distributions on ordered categories, with a position and a precision.

    Attributes
    ----------
    name : str
        What users call it.
    coefficients : callable
        ``coefficients(m)`` gives the tensor R of shape (m, m, m).
    min_precision : float
        Where the range of meaningful precisions starts.
    """

    name: str
    coefficients: Callable[[int], FloatArray]
    min_precision: float


DISTRIBUTIONS = {
    "bos": OrdinalDistribution("bos", bos_coefficients, min_precision=0.0),
    # Below one half every comparison is more often wrong than right: the distribution of the
    # opposite answers, with its mode anywhere but at mu.
    "god": OrdinalDistribution("god", god_coefficients, min_precision=0.5),
}


@dataclass(frozen=True)
class Law:
    """A distribution on m categories, with what its estimation needs, computed once.

    Attributes
    ----------
    coefficients : ndarray of shape (m, m, m)
        ``[mu, d, x]``.
    grid : ndarray of shape (n_grid,)
        Precisions from the smallest to the largest allowed.
    log_pmf_grid : ndarray of shape (n_grid, m, m)
        Log-probabilities ``[i, mu, x]`` at ``grid[i]``.
    """

    coefficients: FloatArray
    grid: FloatArray
    log_pmf_grid: FloatArray


@cache
def law(name: str, m: int) -> Law:
    """Return the distribution `name` on m categories."""
    distribution = DISTRIBUTIONS[name]
    R = distribution.coefficients(m)
    # Equal steps in this angle are about equal steps in information about a proportion.
    low, high = np.arcsin(np.sqrt([distribution.min_precision, MAX_PRECISION]))
    grid = np.sin(np.linspace(low, high, _GRID_SIZE)) ** 2
    grid[0], grid[-1] = distribution.min_precision, MAX_PRECISION
    table = np.array([[log_pmf(R[mu], pi) for mu in range(m)] for pi in grid])
    return Law(R, grid, table)


def bos_pmf(m: int, mu: int, pi: float) -> FloatArray:
    """Probabilities of the BOS distribution (binary ordinal search).

    A noisy binary search for `mu`: each comparison is exact with probability `pi` and blind
    otherwise. Uniform at ``pi = 0``, certain at ``pi = 1``, and always with its mode at `mu`.

    Parameters
    ----------
    m : int
        Number of categories.
    mu : int
        The mode, from 1 to m.
    pi : float
        The precision, from 0 to 1.

    Returns
    -------
    pmf : ndarray of shape (m,)
        Probabilities of the categories 1 to m.

    Examples
    --------
    >>> from kindset.ordinal import bos_pmf
    >>> bos_pmf(5, mu=2, pi=0.5).round(3)
    array([0.131, 0.539, 0.151, 0.105, 0.075])
    """
    return _pmf("bos", m, mu, pi)


def god_pmf(m: int, mu: int, pi: float) -> FloatArray:
    """Probabilities of the GOD distribution (globally ordered data).

    `mu` is compared with every category, each comparison is right with probability `pi`, and the
    answer is a category that contradicts as few of them as possible.

    Parameters
    ----------
    m : int
        Number of categories.
    mu : int
        The position, from 1 to m.
    pi : float
        The precision, from 0 to 1; the estimators use the meaningful range from 1/2.

    Returns
    -------
    pmf : ndarray of shape (m,)
        Probabilities of the categories 1 to m.

    Notes
    -----
    At ``pi = 1/2`` it is U-shaped, not uniform, and up to about ``pi = 0.6`` its most probable
    category need not be `mu`.

    Examples
    --------
    >>> from kindset.ordinal import god_pmf
    >>> god_pmf(5, mu=2, pi=0.8).round(3)
    array([0.172, 0.563, 0.13 , 0.083, 0.052])
    """
    return _pmf("god", m, mu, pi)


def _pmf(name: str, m: int, mu: int, pi: float) -> FloatArray:
    R = DISTRIBUTIONS[name].coefficients(m)
    if mu != int(mu) or not 1 <= mu <= m:
        raise InputError(f"mu must be a category from 1 to {m}, got {mu!r}")
    if not 0 <= pi <= 1:
        raise InputError(f"pi must be a probability from 0 to 1, got {pi!r}")
    pmf: FloatArray = binomial_weights(m - 1, float(pi)) @ R[int(mu) - 1]
    return pmf
