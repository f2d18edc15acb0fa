"""Expectation-maximisation for mixtures of ordinal distributions, from one start."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from kindset._interrupt import check_interrupt
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._distributions import DISTRIBUTIONS, MAX_PRECISION, Law, law
from kindset.ordinal._expectation import (
    JointTables,
    count_answers,
    expected_counts,
    posterior,
)
from kindset.ordinal._rows import IntArray, Rows
from kindset.ordinal._univariate import fill_log_pmf, maximize_questions


@dataclass(frozen=True)
class Parameters:
    """A mixture: one weight for each component, one position and precision for each question.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
    modes, precisions : ndarray of shape (n_components, n_features)
        Positions count from 0.
    distributions : tuple of str
        The name of each question's distribution.
    """

    weights: FloatArray
    modes: IntArray
    precisions: FloatArray
    distributions: tuple[str, ...]

    def log_pmf(self, starts: IntArray, n_levels: IntArray) -> FloatArray:
        """Return log-probabilities [flat position, component]; those of "missing" are 0."""
        out = np.zeros((starts[-1], len(self.weights)))
        for _, rule, features in _by_law(self.distributions, n_levels.tobytes()):
            fill_log_pmf(rule.coefficients, features, starts, self.modes, self.precisions, out)
        return out

    def question(self, j: int) -> "Parameters":
        """Return the mixture of one question's answers alone."""
        return Parameters(
            self.weights, self.modes[:, [j]], self.precisions[:, [j]], (self.distributions[j],)
        )

    def reorder(self, order: IntArray) -> "Parameters":
        """Return the same mixture with its components in another order."""
        return replace(
            self,
            weights=self.weights[order],
            modes=self.modes[order],
            precisions=self.precisions[order],
        )


@dataclass
class Fit:
    """What one run of EM led to; `history` holds the objective after each E-step."""

    parameters: Parameters
    history: list[float] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The log-likelihood reached (with the prior's term, if there is a prior)."""
        return self.history[-1] if self.history else -np.inf


@dataclass(frozen=True)
class Problem:
    """Rows to describe by a mixture, and the distributions each question may have.

    Attributes
    ----------
    rows : Rows
    n_components : int
    candidates : tuple of tuple of str
        For each question the names of the distributions to choose from.
    prior_count : float
        Answers added to each question in each component, spread evenly over its categories.
    """

    rows: Rows
    n_components: int
    candidates: tuple[tuple[str, ...], ...]
    prior_count: float = 0.0

    def tables(self, parameters: Parameters) -> tuple[JointTables, FloatArray]:
        """Return the joint tables and the flat log-probabilities behind them."""
        layout = self.rows.layout
        flat = parameters.log_pmf(layout.starts, layout.n_levels)
        return JointTables.build(layout, flat, parameters.weights), flat

    def expect(
        self, parameters: Parameters, n_jobs: int | None = None
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the objective, the expected sizes and the expected counts."""
        tables, flat = self.tables(parameters)
        log_likelihood, sizes, counts = expected_counts(self.rows, tables, n_jobs=n_jobs)
        if self.prior_count:
            log_likelihood += float((self._prior()[:, None] * flat).sum())
        return log_likelihood, sizes, counts

    def maximize(self, sizes: FloatArray, counts: FloatArray, current: Parameters) -> Parameters:
        """Return the parameters that maximise the expected likelihood; never worse ones."""
        if self.prior_count:
            counts = counts + self._prior()[:, None]
        trials = [self._maximize_with(name, counts, current) for name in self._families]
        _, modes, precisions = trials[0]
        if len(trials) == 1:
            return replace(current, weights=sizes / sizes.sum(), modes=modes, precisions=precisions)
        best = np.argmax([values for values, _, _ in trials], axis=0)
        question = np.arange(len(best))
        return Parameters(
            sizes / sizes.sum(),
            np.stack([modes for _, modes, _ in trials])[best, :, question].T,
            np.stack([precisions for _, _, precisions in trials])[best, :, question].T,
            tuple(self._families[i] for i in best),
        )

    def _maximize_with(
        self, name: str, counts: FloatArray, current: Parameters
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Fit one distribution to all questions that may have it; the others have value -inf."""
        layout = self.rows.layout
        values = np.array([0.0 if name in names else -np.inf for names in self.candidates])
        modes, precisions = current.modes.copy(), current.precisions.copy()
        if len(self._families) > 1:  # the current ones may be of a distribution with a wider range
            np.maximum(precisions, DISTRIBUTIONS[name].min_precision, out=precisions)
        for one, rule, features in _by_law(self.candidates, layout.n_levels.tobytes()):
            if one == name:
                maximize_questions(
                    rule.coefficients, rule.grid, rule.log_pmf_grid,
                    features, layout.starts, counts, modes, precisions, values,
                )  # fmt: skip
        return values, modes, precisions

    @cached_property
    def _families(self) -> list[str]:
        return list(dict.fromkeys(name for names in self.candidates for name in names))

    def from_membership(self, membership: FloatArray) -> Parameters:
        """Return the best parameters for given memberships of shape (n_rows, n_components)."""
        weighted = membership * self.rows.weights[:, None]
        counts = count_answers(self.rows.codes, self.rows.layout.starts, weighted)
        return self.maximize(weighted.sum(axis=0), counts, self.neutral())

    def neutral(self) -> Parameters:
        """Return equal components in the middle of their range, a start for `maximize`."""
        shape = (self.n_components, len(self.candidates))
        distributions = tuple(names[0] for names in self.candidates)
        low = np.array([DISTRIBUTIONS[name].min_precision for name in distributions])
        return Parameters(
            np.full(self.n_components, 1 / self.n_components),
            np.broadcast_to(self.rows.layout.n_levels // 2, shape).copy(),
            np.broadcast_to((low + 1) / 2, shape).copy(),
            distributions,
        )

    def _prior(self) -> FloatArray:
        layout = self.rows.layout
        share = np.zeros(layout.starts[-1])
        for start, m in zip(layout.starts, layout.n_levels, strict=False):
            share[start : start + m] = self.prior_count / m
        return share


def run_em(
    problem: Problem,
    parameters: Parameters,
    *,
    max_iter: int,
    tol: float,
    n_jobs: int | None = None,
) -> Fit:
    """Climb from `parameters` until an iteration gains less than `tol` per row.

    An interrupt (Ctrl-C) ends the climb early; what was reached is kept.
    """
    fit = Fit(parameters)
    extend_em(problem, fit, max_iter=max_iter, tol=tol, n_jobs=n_jobs)
    return fit


def extend_em(
    problem: Problem, fit: Fit, *, max_iter: int, tol: float, n_jobs: int | None = None
) -> None:
    """Let a climb go on, up to `max_iter` iterations in all."""
    if fit.converged or len(fit.history) > max_iter:
        return
    try:
        _climb(problem, fit, max_iter, tol * problem.rows.weights.sum(), n_jobs)
    except KeyboardInterrupt:
        fit.interrupted = True
        if not fit.history:
            raise


def _climb(problem: Problem, fit: Fit, max_iter: int, enough: float, n_jobs: int | None) -> None:
    """Iterate, keeping `fit` up to date, until an iteration gains no more than `enough`."""
    parameters = fit.parameters
    if fit.history:  # where an earlier climb stopped
        fit.history.pop()
    may_reseed = problem.n_components
    while True:
        objective, sizes, counts = problem.expect(parameters, n_jobs)
        fit.converged = bool(objective - fit.objective <= enough)
        fit.parameters = parameters
        fit.history.append(objective)
        if fit.converged or len(fit.history) > max_iter:
            return
        check_interrupt()
        parameters = problem.maximize(sizes, counts, parameters)
        if may_reseed and parameters.weights.min() < _EMPTY:
            may_reseed -= 1
            parameters = _reseed(problem, parameters)


_EMPTY = 1e-12


def _reseed(problem: Problem, parameters: Parameters) -> Parameters:
    """Move the smallest component to the row that the mixture explains worst, if that helps."""
    rows = problem.rows
    before, _, _ = problem.expect(parameters)
    _, log_density = posterior(rows, problem.tables(parameters)[0])
    worst = int(np.argmin(log_density))
    k = int(np.argmin(parameters.weights))
    modes, precisions = parameters.modes.copy(), parameters.precisions.copy()
    answered = rows.codes[worst] < rows.layout.n_levels
    modes[k, answered] = rows.codes[worst, answered]
    precisions[k] = (precisions[k] + MAX_PRECISION) / 2
    weights = parameters.weights.copy()
    weights[k] = rows.weights[worst] / rows.weights.sum()
    moved = replace(parameters, weights=weights / weights.sum(), modes=modes, precisions=precisions)
    after, _, _ = problem.expect(moved)
    return moved if after >= before else parameters


@lru_cache(maxsize=256)
def _by_law(
    names: Sequence[str] | Sequence[Sequence[str]], n_levels: bytes
) -> list[tuple[str, Law, IntArray]]:
    """Group the questions that share a distribution and a number of categories above one."""
    groups: dict[tuple[str, int], list[int]] = {}
    for j, m in enumerate(np.frombuffer(n_levels, dtype=np.int64).tolist()):
        name = names[j]
        for one in [name] if isinstance(name, str) else name:
            if m > 1:
                groups.setdefault((one, m), []).append(j)
    return [(name, law(name, m), np.array(features)) for (name, m), features in groups.items()]
