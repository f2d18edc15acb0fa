"""Tables of log-probabilities that an M-step improves: one question, all components at once.

The probability of answer x in component k is proportional to ``exp(beta[x] + F[x] @ c[k])``. The
columns of F are orthonormal functions of the answer's score and orthogonal to the constant; beta
is shared by all components and orthogonal to both. So nothing is counted twice, and the table of
log-probabilities is the whole state: adding to it anything of that form stays in the family.

Compiled functions that call each other stand together in this file: Numba's cache notices that a
function's own file has changed, not that one it calls in another file has.
"""

from functools import cache

import numpy as np

from kindset._compiling import njit
from kindset.ordinal._coefficients import FloatArray

_RIDGE = 1e-10
_HALVINGS = 30


@cache
def score_basis(m: int, degree: int) -> FloatArray:
    """Return orthonormal polynomials of equally spaced scores, degrees 1 to `degree`, [x, degree].

    Examples
    --------
    >>> from kindset.ordinal._loglinear import score_basis
    >>> score_basis(4, 1)[:, 0].round(3)
    array([-0.671, -0.224,  0.224,  0.671])
    """
    scores = np.linspace(-1, 1, m)
    basis, _ = np.linalg.qr(np.vander(scores, degree + 1, increasing=True))
    basis = basis[:, 1:] * np.sign(basis[-1, 1:])
    basis.flags.writeable = False
    return np.ascontiguousarray(basis)


@njit(cache=True, nogil=True)
def improve_tables(
    counts: FloatArray, logs: FloatArray, basis: FloatArray, n_steps: int
) -> FloatArray:
    """Take Newton steps for some questions in place, none that lowers the objective.

    Parameters
    ----------
    counts : ndarray of shape (n_questions, m, n_components)
        Positive weight of every answer.
    logs : ndarray of the same shape
        Log-probabilities, changed in place.
    basis : ndarray of shape (m, degree)
    n_steps : int
        The largest number of steps for a question.

    Returns
    -------
    values : ndarray of shape (n_questions,)
        The sum of counts times log-probabilities that was reached.
    """
    values = np.empty(len(counts))
    for g in range(len(counts)):
        values[g] = (counts[g] * logs[g]).sum()
        for _ in range(n_steps):
            direction = _newton_direction(counts[g], logs[g], basis)
            step, gained = 1.0, False
            for _ in range(_HALVINGS):
                trial = logs[g] + step * direction
                _normalise(trial)
                value = (counts[g] * trial).sum()
                if value >= values[g]:
                    gained = True
                    break
                step /= 2
            if not gained:
                break
            little = value - values[g] <= 1e-12 * abs(value)
            values[g] = value
            logs[g] = trial
            if little:
                break
    return values


@njit(cache=True, nogil=True)
def _normalise(logs: FloatArray) -> None:
    """Make the probabilities of every component sum to one."""
    m, n_components = logs.shape
    for k in range(n_components):
        largest = logs[0, k]
        for x in range(1, m):
            largest = max(largest, logs[x, k])
        total = 0.0
        for x in range(m):
            total += np.exp(logs[x, k] - largest)
        shift = largest + np.log(total)
        for x in range(m):
            logs[x, k] -= shift


@njit(cache=True, nogil=True)
def _newton_direction(counts: FloatArray, logs: FloatArray, basis: FloatArray) -> FloatArray:
    """Return the Newton step of the log-odds, [x, component].

    Every component's own parameters are eliminated (a block of `degree` rows each), the shared
    ones are solved for, and the own ones follow.
    """
    m, n_components = logs.shape
    degree = basis.shape[1]
    shared = np.zeros((m, m))
    gradient = np.zeros(m)
    crossed = np.empty((n_components, m, degree))  # shared with own parameters
    pulled = np.empty((n_components, degree))  # own gradients
    inverses = np.empty((n_components, degree, degree))
    p, residual = np.empty(m), np.empty(m)
    for k in range(n_components):
        size = 0.0
        for x in range(m):
            size += counts[x, k]
            p[x] = np.exp(logs[x, k])
        for x in range(m):
            residual[x] = counts[x, k] - size * p[x]
        _own_block(size, p, basis, crossed[k], inverses[k])
        for a in range(degree):
            pulled[k, a] = (basis[:, a] * residual).sum()
        _eliminate(size, p, crossed[k], inverses[k], shared)
        gradient += residual - crossed[k] @ (inverses[k] @ pulled[k])
    delta = _solve_shared(shared, gradient, basis)
    out = np.empty((m, n_components))
    for k in range(n_components):
        own = inverses[k] @ (pulled[k] - crossed[k].T @ delta)
        out[:, k] = delta + basis @ own
    return out


@njit(cache=True, nogil=True)
def _eliminate(
    size: float, p: FloatArray, crossed: FloatArray, inverse: FloatArray, shared: FloatArray
) -> None:
    """Add a component's share of the shared curvature, its own parameters eliminated."""
    m, degree = crossed.shape
    for x in range(m):
        shared[x, x] += size * p[x]
        for y in range(m):
            shared[x, y] -= size * p[x] * p[y]
        for a in range(degree):
            weighted = 0.0
            for b in range(degree):
                weighted += crossed[x, b] * inverse[b, a]
            for y in range(m):
                shared[x, y] -= weighted * crossed[y, a]


@njit(cache=True, nogil=True)
def _own_block(
    size: float, p: FloatArray, basis: FloatArray, crossed: FloatArray, inverse: FloatArray
) -> None:
    """Fill in a component's covariances of the answer with F, and the inverse of F's own."""
    m, degree = basis.shape
    mean = np.zeros(degree)
    for a in range(degree):
        for x in range(m):
            mean[a] += p[x] * basis[x, a]
    for a in range(degree):
        for x in range(m):
            crossed[x, a] = size * p[x] * (basis[x, a] - mean[a])
    own = np.zeros((2, 2))
    own[0, 0] = own[1, 1] = 1.0
    for a in range(degree):
        for b in range(degree):
            own[a, b] = _RIDGE * size if a == b else 0.0
            for x in range(m):
                own[a, b] += basis[x, a] * crossed[x, b]
    if degree == 1:
        inverse[0, 0] = 1 / own[0, 0]
    else:
        determinant = own[0, 0] * own[1, 1] - own[0, 1] * own[1, 0]
        inverse[0, 0], inverse[1, 1] = own[1, 1] / determinant, own[0, 0] / determinant
        inverse[0, 1] = inverse[1, 0] = -own[0, 1] / determinant


@njit(cache=True, nogil=True)
def _solve_shared(shared: FloatArray, gradient: FloatArray, basis: FloatArray) -> FloatArray:
    """Solve for the shared step, orthogonal to the constant and to F."""
    m, degree = basis.shape
    trace = 0.0
    for x in range(m):
        trace += shared[x, x]
    if not trace > 0:  # every component has all but one answer
        return np.zeros(m)
    scale = trace / m
    for x in range(m):
        for y in range(m):
            shared[x, y] += scale / m
            for a in range(degree):
                shared[x, y] += scale * basis[x, a] * basis[y, a]
        shared[x, x] += _RIDGE * scale
    return _solve_positive(shared, gradient)


@njit(cache=True, nogil=True)
def _solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric positive definite system by Cholesky's method, in place."""
    m = len(right)
    out = right.copy()
    for i in range(m):
        for j in range(i + 1):
            total = matrix[i, j]
            for a in range(j):
                total -= matrix[i, a] * matrix[j, a]
            if i == j:
                if not total > 0:  # lost to rounding: no step is better than a wild one
                    return np.zeros(m)
                matrix[i, i] = np.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    for i in range(m):
        for a in range(i):
            out[i] -= matrix[i, a] * out[a]
        out[i] /= matrix[i, i]
    for i in range(m - 1, -1, -1):
        for a in range(i + 1, m):
            out[i] -= matrix[a, i] * out[a]
        out[i] /= matrix[i, i]
    return out
