"""One trait instead of segments: answers that vary along a single scale.

Everybody has a value z of a trait, normal in the population. The log-odds of the answers to a
question are linear in z (Bock's nominal response model), the mean of a number too. Where this
describes the answers better than any mixture, segments would only cut the scale into levels.
"""

from dataclasses import dataclass

import numpy as np

from kindset._compiling import njit
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._expectation import JointTables, expected_counts
from kindset.ordinal._law import N_STATISTICS
from kindset.ordinal._laws import LAWS, Group, group_columns
from kindset.ordinal._rows import Rows

_NODES = 15
_RIDGE = 1e-9
_PRIOR = 0.01
_STEPS = 3


@dataclass(frozen=True)
class TraitFit:
    """How well a single trait describes the answers.

    Attributes
    ----------
    log_likelihood : float
    n_parameters : int
    bic : float
    """

    log_likelihood: float
    n_parameters: int
    bic: float


def fit_trait(
    rows: Rows, names: tuple[str, ...], *, max_iter: int = 300, tol: float = 0.02
) -> TraitFit:
    """Fit the one-trait model by EM on a grid of trait values.

    Parameters
    ----------
    rows : Rows
    names : tuple of str
        The law of each column; what counts is whether it is of categories, of measurements or of
        counts.
    max_iter : int, default=300
    tol : float, default=0.02
        Gain in log-likelihood at which to stop.

    Returns
    -------
    fit : TraitFit
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    groups = group_columns(_plain(names), rows.layout.n_levels)
    loadings = _loadings(rows, names)
    values = [_start(rows, group, loadings[group.features]) for group in groups]
    reached = -np.inf
    for _ in range(max_iter):
        terms = np.zeros((rows.n_statistics, _NODES))
        for group, coefficients in zip(groups, values, strict=True):
            terms[group.places] = _log_terms(group, coefficients, nodes)
        terms[int(rows.layout.starts[-1]) :: N_STATISTICS] -= rows.numbers.log_scales[:, None]
        tables = JointTables.build(rows.layout, terms, weights)
        log_likelihood, _, counts = expected_counts(rows, tables)
        gained, reached = log_likelihood - reached, log_likelihood
        if gained < tol:
            break
        values = [
            _improve(group, coefficients, counts[group.places], nodes)
            for group, coefficients in zip(groups, values, strict=True)
        ]
    n_parameters = sum(len(group.features) * _n_parameters(group) for group in groups)
    bic = -2 * reached + n_parameters * float(np.log(rows.weights.sum()))
    return TraitFit(reached, n_parameters, bic)


def _plain(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return "categorical" for all laws of categories, the law itself for numbers."""
    return tuple(name if LAWS[name].takes == "numbers" else "categorical" for name in names)


def _n_parameters(group: Group) -> int:
    if group.law.takes == "categories":
        return 2 * (group.m - 1)
    return 3 if group.law.name == "gaussian" else 2


def _start(rows: Rows, group: Group, loading: FloatArray) -> FloatArray:
    """Return intercepts and slopes, [column, 2, category or one], and a log deviation.

    The slopes start along the direction in which the answers differ most.
    """
    weights = rows.weights / rows.weights.sum()
    if group.law.takes == "numbers":
        at = group.places[:, 0] - rows.layout.starts[-1]
        statistics = weights @ rows.numbers.statistics
        mean = statistics[at + 1] / np.maximum(statistics[at], 1e-300)
        intercept = np.log(np.maximum(mean, 0.1)) if group.law.name == "poisson" else mean
        return np.stack([intercept, 0.3 * np.sign(loading), np.zeros(len(at))], axis=1)
    shares = np.stack(
        [
            np.bincount(rows.codes[:, j], weights=weights, minlength=group.m + 1)[: group.m]
            for j in group.features
        ]
    )
    intercepts = np.log(shares + 1e-3)
    slopes = 1.5 * loading[:, None] * np.linspace(-1, 1, group.m)
    return np.stack([intercepts, slopes], axis=1)


def _loadings(rows: Rows, names: tuple[str, ...]) -> FloatArray:
    """Return the direction of the codes with the largest variance, its largest entry 1."""
    known = rows.codes < rows.layout.n_levels
    x = np.where(known, rows.codes / np.maximum(rows.layout.n_levels - 1, 1), np.nan)
    first = N_STATISTICS * np.arange(len(rows.numbers)) + 1
    numeric = [j for j, name in enumerate(names) if LAWS[name].takes == "numbers"]
    if len(first):
        x[:, numeric] = np.where(known[:, numeric], rows.numbers.statistics[:, first] / 4, np.nan)
    weights = rows.weights[:, None] * ~np.isnan(x)
    total = np.maximum(weights.sum(axis=0), 1e-300)
    filled = np.where(np.isnan(x), 0.0, x - np.nansum(weights * x, axis=0) / total)
    _, axes = np.linalg.eigh(filled.T @ (rows.weights[:, None] * filled))
    direction = axes[:, -1]
    largest = np.abs(direction).max()
    out: FloatArray = np.where(direction == 0, 1e-3, direction / (largest or 1.0))
    return out


def _log_terms(group: Group, coefficients: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the log-probabilities at every node, (G, n_statistics, n_nodes)."""
    if group.law.takes == "categories":
        logs = coefficients[:, 0, :, None] + coefficients[:, 1, :, None] * nodes
        return LAWS["categorical"].tidy(logs)
    line = coefficients[:, [0]] + coefficients[:, [1]] * nodes
    if group.law.name == "gaussian":
        deviation = np.repeat(coefficients[:, [2]], len(nodes), axis=1)
        return group.law.log_terms(np.stack([line, deviation], axis=1), 1)
    return group.law.log_terms(line[:, None, :], 1)


def _improve(
    group: Group, coefficients: FloatArray, counts: FloatArray, nodes: FloatArray
) -> FloatArray:
    better = coefficients.copy()
    if group.law.takes == "categories":
        _improve_questions(counts + _PRIOR / group.m / len(nodes), better, nodes)
        return better
    improve = _regression if group.law.name == "gaussian" else _poisson_regression
    for g in range(len(better)):
        better[g] = improve(counts[g], better[g], nodes)
    return better


def _regression(counts: FloatArray, _: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return intercept, slope and log deviation of numbers given their sums at the nodes."""
    answered, total, squares, _log_factorial = counts
    design = np.stack([np.ones_like(nodes), nodes])
    intercept, slope = np.linalg.lstsq(design * answered @ design.T, design @ total, rcond=None)[0]
    line = intercept + slope * nodes
    residual = (squares - 2 * line * total + line**2 * answered).sum()
    variance = max(residual / max(answered.sum(), 1e-300), 1e-3)
    return np.array([intercept, slope, np.log(variance) / 2])


def _poisson_regression(counts: FloatArray, current: FloatArray, nodes: FloatArray) -> FloatArray:
    """Take one Newton step of a log-linear rate, shortened until the likelihood does not fall."""
    answered, total, _, _ = counts
    design = np.stack([np.ones_like(nodes), nodes])

    def value(line: FloatArray) -> float:
        logs = line @ design
        return float(total @ logs - answered @ np.exp(logs))

    line = current[:2]
    rate = answered * np.exp(line @ design)
    hessian = design * rate @ design.T + 1e-9 * np.eye(2)
    step = np.linalg.solve(hessian, design @ (total - rate))
    for _halving in range(30):
        if value(line + step) >= value(line):
            return np.append(line + step, 0.0)
        step = step / 2
    return current


@njit(cache=True, nogil=True)
def _improve_questions(counts: FloatArray, coefficients: FloatArray, nodes: FloatArray) -> None:
    """Take Newton steps of intercepts and slopes in place, none that lowers the likelihood."""
    for g in range(len(counts)):
        value = _question_value(counts[g], coefficients[g], nodes)
        for _ in range(_STEPS):
            step = _question_step(counts[g], coefficients[g], nodes)
            gained = False
            for _ in range(25):
                trial = coefficients[g] + step
                better = _question_value(counts[g], trial, nodes)
                if better >= value:
                    gained = better > value + 1e-10 * abs(value)
                    value = better
                    coefficients[g] = trial
                    break
                step = step / 2
            if not gained:
                break


@njit(cache=True, nogil=True)
def _question_value(counts: FloatArray, coefficients: FloatArray, nodes: FloatArray) -> float:
    m = len(counts)
    value = 0.0
    for q in range(len(nodes)):
        largest = -np.inf
        for x in range(m):
            largest = max(largest, coefficients[0, x] + coefficients[1, x] * nodes[q])
        total, size = 0.0, 0.0
        for x in range(m):
            log = coefficients[0, x] + coefficients[1, x] * nodes[q] - largest
            total += np.exp(log)
            size += counts[x, q]
            value += counts[x, q] * log
        value -= size * np.log(total)
    return value


@njit(cache=True, nogil=True)
def _question_step(counts: FloatArray, coefficients: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the Newton step [intercept or slope, category]; the first category is the base."""
    m = len(counts)
    n = m - 1
    hessian = np.zeros((2 * n, 2 * n))
    gradient = np.zeros(2 * n)
    p = np.empty(m)
    for q in range(len(nodes)):
        z = nodes[q]
        largest, size = -np.inf, 0.0
        for x in range(m):
            p[x] = coefficients[0, x] + coefficients[1, x] * z
            largest = max(largest, p[x])
            size += counts[x, q]
        total = 0.0
        for x in range(m):
            p[x] = np.exp(p[x] - largest)
            total += p[x]
        for x in range(m):
            p[x] /= total
        for x in range(n):
            residual = counts[x + 1, q] - size * p[x + 1]
            gradient[x] += residual
            gradient[n + x] += residual * z
            for y in range(n):
                spread = size * p[x + 1] * ((1.0 if x == y else 0.0) - p[y + 1])
                hessian[x, y] += spread
                hessian[x, n + y] += spread * z
                hessian[n + x, y] += spread * z
                hessian[n + x, n + y] += spread * z * z
    for x in range(2 * n):
        hessian[x, x] += _RIDGE * (1.0 + hessian[x, x])
    step = np.linalg.solve(hessian, gradient)
    out = np.zeros((2, m))
    for x in range(n):
        out[0, x + 1] = step[x]
        out[1, x + 1] = step[n + x]
    return out
