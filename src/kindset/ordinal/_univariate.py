"""Maximum likelihood for one question in one component, given the weighted count of each answer.

Compiled functions that call each other stand together in this file: Numba's cache notices that a
function's own file has changed, not that one it calls in another file has.
"""

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.ordinal._coefficients import FloatArray

_UNDERFLOW = 1e-280
_MAX_NEWTON_STEPS = 60
_LAST_STEP = 1e-6


@njit(cache=True, nogil=True)
def binomial_weights(n: int, p: float) -> FloatArray:
    """Return the binomial probabilities of 0 to n successes."""
    # The recurrence starts at the end that cannot underflow: it is at least 2^-n.
    out = np.empty(n + 1)
    if p <= 0.5:
        odds = p / (1 - p)
        out[0] = (1 - p) ** n
        for d in range(n):
            out[d + 1] = out[d] * odds * (n - d) / (d + 1)
    else:
        odds = (1 - p) / p
        out[n] = p**n
        for d in range(n, 0, -1):
            out[d - 1] = out[d] * odds * d / (n - d + 1)
    return out


@njit(cache=True, nogil=True)
def log_pmf(R: FloatArray, pi: float) -> FloatArray:
    """Return the log-probabilities of all categories; `R` is the tensor's slice at mu.

    They are finite for 0 < pi < 1 even where the probabilities underflow.
    """
    m = R.shape[0]
    probability = np.zeros(m)
    weight = binomial_weights(m - 1, pi)
    for d in range(m):
        for x in range(m):
            probability[x] += weight[d] * R[d, x]
    out = np.empty(m)
    for x in range(m):
        if probability[x] > _UNDERFLOW:
            out[x] = np.log(probability[x])
        else:
            out[x] = _log_sum(R[:, x], pi)
    return out


@njit(cache=True, nogil=True)
def _log_sum(coefficients: FloatArray, pi: float) -> float:
    """Return log of sum_d Binom(d) coefficients[d], without leaving the log scale."""
    n = len(coefficients) - 1
    log_ways = 0.0
    total = -np.inf
    for d in range(n + 1):
        if coefficients[d] > 0:
            term = np.log(coefficients[d]) + log_ways
            if d > 0:
                term += d * np.log(pi)
            if d < n:
                term += (n - d) * np.log1p(-pi)
            high, low = max(total, term), min(total, term)
            total = high + np.log1p(np.exp(low - high))
        log_ways += np.log(n - d) - np.log(d + 1) if d < n else 0.0
    return total


@njit(cache=True, nogil=True)
def log_likelihood_derivatives(
    R: FloatArray, counts: FloatArray, pi: float
) -> tuple[float, float, float]:
    """Return sum_x counts[x] log P(x | pi) and its first two derivatives in pi, 0 < pi < 1."""
    n = len(counts) - 1
    weight = binomial_weights(n, pi)
    variance = pi * (1 - pi)
    value = score = curvature = 0.0
    for x in range(n + 1):
        if counts[x] <= 0:
            continue
        # Moments of the number of right comparisons, given the answer x.
        total = first = second = 0.0
        for d in range(n + 1):
            term = weight[d] * R[d, x]
            total += term
            first += d * term
            second += d * d * term
        if total <= _UNDERFLOW:  # an answer that this precision all but rules out
            return -np.inf, -np.inf, 0.0
        mean = first / total
        excess = mean - n * pi
        value += counts[x] * np.log(total)
        score += counts[x] * excess
        curvature += counts[x] * (
            second / total - mean * mean - n * variance - excess * (1 - 2 * pi)
        )
    return value, score / variance, curvature / (variance * variance)


@njit(cache=True, nogil=True)
def _best_precision(
    R: FloatArray, counts: FloatArray, low: float, high: float, start: float
) -> tuple[float, float]:
    """Maximise over pi in [low, high] by Newton steps kept inside a shrinking bracket."""
    pi = start
    best_pi, best_value = start, -np.inf
    for _ in range(_MAX_NEWTON_STEPS):
        value, score, curvature = log_likelihood_derivatives(R, counts, pi)
        if value > best_value:
            best_pi, best_value = pi, value
        if score > 0:
            low = pi
        else:
            high = pi
        step = -score / curvature if curvature < 0 else np.inf
        if abs(step) < _LAST_STEP * min(pi, 1 - pi) and low <= pi + step <= high:
            # The error after a Newton step is of the order of its square: no need to look.
            return pi + step, value + 0.5 * score * step
        if high - low < 1e-14:
            break
        pi = pi + step if low < pi + step < high else 0.5 * (low + high)
    return best_pi, best_value


@njit(cache=True, nogil=True)
def _concave_bound(f: FloatArray, t: FloatArray, i: int) -> float:
    """Bound a concave function on ``[t[i], t[i + 1]]``, given its values at all nodes.

    It lies below the lines through the two nodes before and through the two nodes behind.
    """
    rise = (f[i] - f[i - 1]) / (t[i] - t[i - 1]) if i > 0 else np.inf
    fall = (f[i + 2] - f[i + 1]) / (t[i + 2] - t[i + 1]) if i + 2 < len(t) else -np.inf
    width = t[i + 1] - t[i]
    if rise <= 0:
        return f[i]
    if fall >= 0:
        return f[i + 1]
    if fall == -np.inf:
        return f[i] + rise * width
    if rise == np.inf:
        return f[i + 1] - fall * width
    return f[i] + rise * (f[i + 1] - f[i] - fall * width) / (rise - fall)


@njit(cache=True, nogil=True)
def best_parameters(
    R: FloatArray,
    grid: FloatArray,
    log_pmf_grid: FloatArray,
    counts: FloatArray,
    current: tuple[int, float],
) -> tuple[int, float, float]:
    """Return the position, precision and log-likelihood that maximise the likelihood of `counts`.

    The likelihood is first evaluated on a grid of precisions for every position; only positions
    whose bound reaches the best value so far are refined. The bound takes the likelihood to be
    concave in the precision, which holds in every case we could check but has no proof: were it
    to fail, the result would still be at least as good as `current` and as every grid point.
    """
    if len(counts) == 2:
        return _best_of_two(R, grid, counts)
    m = len(counts)
    mu, pi = current
    value = (counts * log_pmf(R[mu], pi)).sum()
    node = np.empty(m, dtype=np.int64)
    at_node, bound = np.empty(m), np.empty(m)
    for position in range(m):
        node[position], at_node[position], bound[position] = _profile(
            grid, log_pmf_grid[:, position], counts
        )
    while True:
        position = int(np.argmax(at_node))
        i, on_grid = node[position], at_node[position]
        if on_grid == -np.inf:
            return mu, pi, value
        at_node[position] = -np.inf
        if bound[position] <= value:
            continue
        better_pi, better = grid[i], on_grid
        if not _peaks_at_end(R[position], counts, grid, i):
            low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
            start = pi if position == mu and low < pi < high else 0.5 * (low + high)
            inner_pi, inner = _best_precision(R[position], counts, low, high, start)
            if inner > better:
                better_pi, better = inner_pi, inner
        if better > value:
            mu, pi, value = position, better_pi, better


@njit(cache=True, nogil=True)
def _best_of_two(R: FloatArray, grid: FloatArray, counts: FloatArray) -> tuple[int, float, float]:
    """Solve the case of two categories: the likelihood of a proportion, linear in pi."""
    mu = int(counts[1] > counts[0])
    blind, exact = R[mu, 0, mu], R[mu, 1, mu]
    share = counts[mu] / (counts[0] + counts[1])
    pi = min(max((share - blind) / (exact - blind), grid[0]), grid[-1])
    return mu, pi, (counts * log_pmf(R[mu], pi)).sum()


@njit(cache=True, nogil=True)
def _profile(
    grid: FloatArray, log_pmf_grid: FloatArray, counts: FloatArray
) -> tuple[int, float, float]:
    """Return the best grid node of a position, the value there, and a bound on the maximum."""
    values = np.empty(len(grid))
    for i in range(len(grid)):
        total = 0.0
        for x in range(len(counts)):
            total += counts[x] * log_pmf_grid[i, x]
        values[i] = total
    i = int(np.argmax(values))
    bound = values[i]
    for left in range(max(i - 1, 0), min(i + 1, len(grid) - 1)):
        bound = max(bound, _concave_bound(values, grid, left))
    return i, values[i], bound


@njit(cache=True, nogil=True)
def _peaks_at_end(R: FloatArray, counts: FloatArray, grid: FloatArray, i: int) -> bool:
    """Tell whether node i is an end of the grid from which the likelihood falls inwards."""
    if i == 0:
        return log_likelihood_derivatives(R, counts, max(grid[0], 1e-9))[1] <= 0
    if i == len(grid) - 1:
        return log_likelihood_derivatives(R, counts, grid[i])[1] >= 0
    return False


@njit(cache=True, nogil=True)
def fill_log_pmf(
    R: FloatArray,
    features: NDArray[np.int64],
    starts: NDArray[np.int64],
    modes: NDArray[np.int64],
    precisions: FloatArray,
    out: FloatArray,
) -> None:
    m = R.shape[0]
    for j in features:
        for k in range(out.shape[1]):
            column = log_pmf(R[modes[k, j]], precisions[k, j])
            for x in range(m):
                out[starts[j] + x, k] = column[x]


@njit(cache=True, nogil=True)
def maximize_questions(
    R: FloatArray,
    grid: FloatArray,
    log_pmf_grid: FloatArray,
    features: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: FloatArray,
    modes: NDArray[np.int64],
    precisions: FloatArray,
    values: FloatArray,
) -> None:
    """Improve the parameters of some questions in place, and set their log-likelihoods."""
    column = np.empty(R.shape[0])
    for j in features:
        values[j] = 0.0
        for k in range(counts.shape[1]):
            for x in range(len(column)):
                column[x] = counts[starts[j] + x, k]
            if column.sum() > 0:
                current = (modes[k, j], precisions[k, j])
                modes[k, j], precisions[k, j], value = best_parameters(
                    R, grid, log_pmf_grid, column, current
                )
                values[j] += value
