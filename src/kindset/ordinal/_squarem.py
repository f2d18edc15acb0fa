"""EM in long steps, for tables so long that every iteration counts.

Two EM steps tell how far and in which direction the parameters move; the squared extrapolation
(SQUAREM, Varadhan and Roland 2008) goes on in that direction. A step that lowers the objective is
taken back, so the objective never falls.
"""

import numpy as np

from kindset._interrupt import check_interrupt
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._em import Fit, Parameters, Problem, extend_em
from kindset.ordinal._laws import LAWS, group_columns

ENOUGH, ROUGHLY = 0.01, 1e4
"""Gain in log-likelihood, of all rows together, at which to stop: with a large `tol` earlier."""


def finish(
    problem: Problem, fit: Fit, *, max_iter: int, tol: float, n_jobs: int | None = None
) -> None:
    """Let a climb go on to its end, in long steps where the laws allow it."""
    if fit.converged or fit.interrupted or len(fit.history) > max_iter:
        return
    smooth = all(len(names) == 1 and LAWS[names[0]].smooth for names in problem.candidates)
    climb = accelerate if smooth else extend_em
    climb(problem, fit, max_iter=max_iter, tol=tol, n_jobs=n_jobs)


def accelerate(
    problem: Problem, fit: Fit, *, max_iter: int, tol: float, n_jobs: int | None = None
) -> None:
    """Let a climb go on in long steps until two iterations gain less than `tol` per row."""
    enough = min(tol * problem.rows.weights.sum(), max(ENOUGH, ROUGHLY * tol))
    try:
        _climb(problem, fit, max_iter, enough, n_jobs)
    except KeyboardInterrupt:
        fit.interrupted = True
        if not fit.history:
            raise


def _climb(problem: Problem, fit: Fit, max_iter: int, enough: float, n_jobs: int | None) -> None:
    fit.converged = False
    start = fit.parameters
    if fit.history:
        fit.history.pop()
    objective, sizes, counts = problem.expect(start, n_jobs)
    fit.history.append(objective)
    while len(fit.history) <= max_iter:
        check_interrupt()
        first = problem.maximize(sizes, counts, start)
        reached, sizes, counts = problem.expect(first, n_jobs)
        fit.history.append(reached)
        fit.parameters = first
        if reached - objective <= enough / 10 or len(fit.history) > max_iter:
            fit.converged = bool(reached - objective <= enough / 10)
            return
        second = problem.maximize(sizes, counts, first)
        start = _extrapolate(problem, start, first, second)
        further, sizes, counts = problem.expect(start, n_jobs)
        if not further >= reached:
            start = second
            further, sizes, counts = problem.expect(start, n_jobs)
        fit.history.append(further)
        fit.parameters = start
        fit.converged = bool(further - objective <= enough)
        if fit.converged:
            return
        objective = further


def _extrapolate(
    problem: Problem, start: Parameters, first: Parameters, second: Parameters
) -> Parameters:
    """Go on in the direction of two steps, further the straighter they were."""
    x0, x1, x2 = (_flat(parameters) for parameters in (start, first, second))
    step = x1 - x0
    bend = x2 - x1 - step
    curvature = float(np.linalg.norm(bend))
    if curvature == 0:
        return second
    length = max(float(np.linalg.norm(step)) / curvature, 1.0)
    return _restore(problem, x0 + 2 * length * step + length**2 * bend, start)


def _flat(parameters: Parameters) -> FloatArray:
    """Return all parameters in a row, weights as logarithms."""
    logs = np.log(np.maximum(parameters.weights, 1e-300))
    return np.concatenate([logs, *(values.ravel() for values in parameters.columns)])


def _restore(problem: Problem, flat: FloatArray, like: Parameters) -> Parameters:
    K = len(like.weights)
    weights = np.exp(flat[:K] - flat[:K].max())
    columns, begin = [], K
    for values in like.columns:
        columns.append(flat[begin : begin + values.size].reshape(values.shape))
        begin += values.size
    out = Parameters(weights / weights.sum(), tuple(columns), like.distributions)
    groups = group_columns(like.distributions, problem.rows.layout.n_levels)
    tidied = [(group, group.law.tidy(out.stacked(group.features))) for group in groups]
    return out.with_groups(tidied)
