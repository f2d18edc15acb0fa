"""The coefficient tensors that define the ordinal distributions.

Every distribution here is a mixture over the number d of correct comparisons among D = m - 1,

    P(x | mu, pi) = sum_d Binom(d; D, pi) * R[mu, d, x],

where each ``R[mu, d, :]`` is a probability vector. The tensor R *is* the distribution: sampling,
probabilities and estimation are the same code for all of them. In the code categories and mu run
from 0 to m - 1.
"""

from collections.abc import Callable
from functools import cache, wraps
from math import comb

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.exceptions import InputError

FloatArray = NDArray[np.float64]

MAX_CATEGORIES = 150
"""The tensor holds m³ numbers: 27 MB at this bound."""


def _shared_tensor(build: Callable[[int], FloatArray]) -> Callable[[int], FloatArray]:
    """Check m, build the tensor once for each m, and hand it out read-only."""

    @cache
    def tensor(m: int) -> FloatArray:
        R = build(m)
        R.flags.writeable = False
        return R

    @wraps(build)
    def checked(m: int) -> FloatArray:
        if isinstance(m, bool) or m != int(m) or not 1 <= m <= MAX_CATEGORIES:
            raise InputError(
                f"the number of categories must be a whole number from 1 to {MAX_CATEGORIES}, "
                f"got {m!r}"
            )
        return tensor(int(m))

    return checked


@_shared_tensor
def bos_coefficients(m: int) -> FloatArray:
    """Coefficients of the BOS distribution (binary ordinal search) on m categories.

    Parameters
    ----------
    m : int
        Number of categories, at least 1.

    Returns
    -------
    R : ndarray of shape (m, m, m)
        ``R[mu, d, x]`` is the probability of category x when d of the m - 1 comparisons are
        right and the search is for mu (both counted from 0). Read-only; made once for each m.

    Notes
    -----
    On an interval of n categories the law is a polynomial of degree n - 1 in pi. It follows from
    the laws of the shorter intervals on the left of a breakpoint, and, by reflection, on its
    right. Three running sums over the interval length bring the cost to O(m⁴), and normalised
    Bernstein coefficients keep every number in [0, 1], so that nothing overflows or cancels.

    Examples
    --------
    >>> from kindset.ordinal import bos_coefficients
    >>> bos_coefficients(3)[0]
    array([[0.33333333, 0.33333333, 0.33333333],
           [0.63888889, 0.25      , 0.11111111],
           [1.        , 0.        , 0.        ]])
    """
    return np.ascontiguousarray(_search_law(m).transpose(1, 2, 0))


@njit(cache=True, nogil=True)
def _search_law(m: int) -> FloatArray:
    """Bernstein coefficients [x, mu, d] of the law of a noisy binary search."""
    # Sums over the intervals of length y < n that start at 0, as polynomials of degree n - 2:
    near = np.zeros((m, m, m))  # of F_y(x, mu) where the interval holds mu
    wide = np.zeros((m, m, m))  # of y F_y(x, mu) where the interval holds mu
    past = np.zeros((m, m + 1, m))  # of y F_y(x, y - 1) where mu lies beyond the interval
    left = np.empty((m, m, m))
    law = np.zeros((m, m, m))
    law[0, 0, 0] = near[0, 0, 0] = wide[0, 0, 0] = past[0, 1, 0] = 1.0
    for n in range(2, m + 1):
        pi = np.arange(n) / (n - 1)  # the coefficients of the polynomial pi
        for x in range(n):
            for mu in range(n):
                for d in range(n):
                    # A right comparison picks the left part only if it holds mu; a blind one
                    # picks it in proportion to its length.
                    right = pi[d] * near[x, mu, d - 1] if d > 0 else 0.0
                    blind = (1 - pi[d]) * (wide[x, mu, d] + past[x, mu, d]) if d < n - 1 else 0.0
                    left[x, mu, d] = right + blind / n
        for x in range(n):
            for mu in range(n):
                for d in range(n):
                    stop = (pi[d] if x == mu else 0.0) + (1 - pi[d]) / n
                    law[x, mu, d] = (left[x, mu, d] + left[n - 1 - x, n - 1 - mu, d] + stop) / n
        for x in range(n):
            for mu in range(n):
                _elevate(near[x, mu], pi)
                _elevate(wide[x, mu], pi)
                _elevate(past[x, mu], pi)
                for d in range(n):
                    near[x, mu, d] += law[x, mu, d]
                    wide[x, mu, d] += n * law[x, mu, d]
            for d in range(n):
                past[x, n, d] = past[x, n - 1, d] + n * law[x, n - 1, d]
    return law


@njit(cache=True, nogil=True)
def _elevate(b: FloatArray, pi: FloatArray) -> None:
    """Write a polynomial of one degree less as one of degree ``len(pi) - 1``, in place."""
    for d in range(len(pi) - 1, 0, -1):
        b[d] = pi[d] * b[d - 1] + (1 - pi[d]) * b[d]


@_shared_tensor
def god_coefficients(m: int) -> FloatArray:
    """Coefficients of the GOD distribution (globally ordered data) on m categories.

    Parameters
    ----------
    m : int
        Number of categories, at least 1.

    Returns
    -------
    R : ndarray of shape (m, m, m)
        ``R[mu, d, x]`` is the probability of category x when d of the m - 1 comparisons with mu
        are right (both counted from 0). Read-only; made once for each m.

    Notes
    -----
    All m - 1 comparisons are made, and the answer is drawn from the categories that contradict
    the fewest of them. The number of contradictions as a function of the category is a walk with
    steps of one, and the answer is one of its minima; the walk is split there. The chance
    1 / (number of minima) is the integral of s^(number of other minima) over [0, 1], which
    Gauss-Legendre quadrature gives exactly. That makes the cost O(m⁵) with a small constant,
    where a sum over all outcomes of the comparisons takes 2^m.

    Examples
    --------
    >>> from kindset.ordinal import god_coefficients
    >>> god_coefficients(3)[0]
    array([[0.  , 0.  , 1.  ],
           [0.25, 0.5 , 0.25],
           [1.  , 0.  , 0.  ]])
    """
    n_nodes = ((m - 1) // 2 + 2) // 2
    nodes, node_weights = np.polynomial.legendre.leggauss(n_nodes)
    weighted = np.zeros((m, m, m))  # [mu, x, number of errors]
    for s, weight in zip((nodes + 1) / 2, node_weights / 2, strict=True):
        _add_walks(m, s, weight, weighted)
    flipped = weighted[::-1, ::-1]
    below = np.tri(m, dtype=bool)[:, :, None]  # x <= mu
    weighted = np.where(below, weighted, flipped)
    ways = np.array([float(comb(m - 1, d)) for d in range(m)])
    return np.ascontiguousarray((weighted[:, :, ::-1] / ways).transpose(0, 2, 1))


@njit(cache=True, nogil=True)
def _walks_from_minimum(m: int, s: float) -> FloatArray:
    """Count walks of a steps from 0 to h that stay >= 0, [a, h]; a factor s for each return."""
    up = np.zeros((m, m + 1))
    up[0, 0] = 1.0
    for a in range(1, m):
        up[a, 0] = s * up[a - 1, 1]
        for h in range(1, a + 1):
            up[a, h] = up[a - 1, h - 1] + up[a - 1, h + 1]
    return up


@njit(cache=True, nogil=True)
def _walks_onwards(m: int, s: float) -> FloatArray:
    """Count walks of b steps from h that stay >= 0 and go down e times, [b, h, e]."""
    on = np.zeros((m, m + 1, m))
    on[0, :, 0] = 1.0
    for b in range(1, m):
        for h in range(m - b + 1):
            touch = s if h == 1 else 1.0
            for e in range(b + 1):
                on[b, h, e] = on[b - 1, h + 1, e]
                if h >= 1 and e >= 1:
                    on[b, h, e] += touch * on[b - 1, h - 1, e - 1]
    return on


@njit(cache=True, nogil=True)
def _add_walks(m: int, s: float, weight: float, out: FloatArray) -> None:
    """Add one quadrature node's share of the walks with a minimum at x <= mu, by errors."""
    up, on = _walks_from_minimum(m, s), _walks_onwards(m, s)
    beyond = np.empty(m)
    for mu in range(m):
        b = m - 1 - mu
        for x in range(mu + 1):
            a = mu - x
            beyond[:] = 0.0
            for h in range(a % 2, a + 1, 2):
                errors = (a + h) // 2
                for e in range(b + 1):
                    if errors + e < m:
                        beyond[errors + e] += up[a, h] * on[b, h, e]
            for before in range(x + 1):
                factor = weight * on[x, 0, before]
                for e in range(m - before):
                    out[mu, x, before + e] += factor * beyond[e]
