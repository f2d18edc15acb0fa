"""Expectation-maximisation for mixtures whose columns each have a law, from one start."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kindset._interrupt import check_interrupt
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._expectation import (
    JointTables,
    count_answers,
    expected_counts,
    posterior,
)
from kindset.ordinal._law import N_STATISTICS
from kindset.ordinal._laws import LAWS, Group, group_columns
from kindset.ordinal._rows import IntArray, Rows


@dataclass(frozen=True)
class Parameters:
    """A mixture: one weight for each component, and for each column the values of its law.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
    columns : tuple of ndarray of shape (n_values, n_components)
        What the values are is the law's own matter.
    distributions : tuple of str
        The name of each column's law.
    """

    weights: FloatArray
    columns: tuple[FloatArray, ...]
    distributions: tuple[str, ...]
    # Columns that share a law, together: made once, and not by every iteration anew.
    stacks: dict[bytes, FloatArray] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    @classmethod
    def from_positions(
        cls,
        weights: FloatArray,
        modes: IntArray,
        precisions: FloatArray,
        distributions: Sequence[str],
    ) -> "Parameters":
        """Return a mixture of laws with positions (from 0) and precisions, [component, column]."""
        columns = np.stack([modes, precisions]).transpose(2, 0, 1).astype(np.float64)
        return cls(weights, tuple(columns), tuple(distributions))

    def log_terms(self, n_levels: IntArray, log_scales: FloatArray) -> FloatArray:
        """Return log-probabilities [flat position, component]; those of "missing" are 0."""
        n_flat = int((n_levels + 1).sum())
        out = np.zeros((n_flat + N_STATISTICS * len(log_scales), len(self.weights)))
        for group in group_columns(self.distributions, n_levels):
            out[group.places] = group.law.log_terms(self.stacked(group.features), group.m)
        out[n_flat::N_STATISTICS] -= log_scales[:, None]
        return out

    def stacked(self, features: IntArray) -> FloatArray:
        """Return the values of columns that share a law, of shape (G, n_values, K)."""
        key = features.tobytes()
        if key not in self.stacks:
            self.stacks[key] = np.stack([self.columns[j] for j in features])
        return self.stacks[key]

    def with_groups(self, groups: list[tuple[Group, FloatArray]]) -> "Parameters":
        """Return a mixture in which groups of columns have other values."""
        columns = list(self.columns)
        for group, stack in groups:
            for j, values in zip(group.features, stack, strict=True):
                columns[j] = values
        out = replace(self, columns=tuple(columns))
        out.stacks.update((group.features.tobytes(), stack) for group, stack in groups)
        return out

    @property
    def modes(self) -> IntArray:
        """Positions from 0, the most probable category where a law has none, 0 for numbers."""
        out = np.zeros((len(self.weights), len(self.columns)), dtype=np.int64)
        for j, (name, values) in enumerate(zip(self.distributions, self.columns, strict=True)):
            if not LAWS[name].smooth:
                out[:, j] = values[0]
            elif LAWS[name].takes == "categories":
                out[:, j] = values.argmax(axis=0)
        return out

    @property
    def precisions(self) -> FloatArray:
        """Precisions; NaN for laws that have none."""
        columns = [
            np.full(len(self.weights), np.nan) if LAWS[name].smooth else values[1]
            for name, values in zip(self.distributions, self.columns, strict=True)
        ]
        return np.stack(columns, axis=1)

    def reorder(self, order: IntArray) -> "Parameters":
        """Return the same mixture with its components in another order."""
        columns = tuple(values[:, order] for values in self.columns)
        return replace(self, weights=self.weights[order], columns=columns)

    def n_parameters(self, n_levels: IntArray) -> int:
        """Return the number of free parameters, weights included."""
        K = len(self.weights)
        groups = group_columns(self.distributions, n_levels)
        own = sum(len(group.features) * group.law.n_parameters(group.m, K) for group in groups)
        return K - 1 + own


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
    """Rows to describe by a mixture, and the laws each column may have.

    Attributes
    ----------
    rows : Rows
    n_components : int
    candidates : tuple of tuple of str
        For each column the names of the laws to choose from. Where there is a choice, the
        objective is the log-likelihood less half of BIC's penalty.
    prior_count : float or None
        Answers added to each column in each component, spread evenly over its categories. None
        leaves it to the laws.
    """

    rows: Rows
    n_components: int
    candidates: tuple[tuple[str, ...], ...]
    prior_count: float | None = None

    def tables(self, parameters: Parameters) -> tuple[JointTables, FloatArray]:
        """Return the joint tables and the flat log-probabilities behind them."""
        layout = self.rows.layout
        flat = parameters.log_terms(layout.n_levels, self.rows.numbers.log_scales)
        return JointTables.build(layout, flat, parameters.weights), flat

    def expect(
        self, parameters: Parameters, n_jobs: int | None = None
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the objective, the expected sizes and the expected statistics."""
        tables, flat = self.tables(parameters)
        objective, sizes, counts = expected_counts(self.rows, tables, n_jobs=n_jobs)
        if self.has_prior:
            objective += float((self.prior[:, None] * flat).sum())
        if self._has_choice:
            objective -= self.penalty(parameters)
        return objective, sizes, counts

    def penalty(self, parameters: Parameters) -> float:
        """Return half of BIC's penalty: what parameters cost where laws compete."""
        return self._price * parameters.n_parameters(self.rows.layout.n_levels)

    def maximize(self, sizes: FloatArray, counts: FloatArray, current: Parameters) -> Parameters:
        """Return parameters that raise the expected objective; never worse ones."""
        counts = self._with_prior(counts)
        weights = sizes / sizes.sum()
        if self._has_choice:
            return self._choose_laws(weights, counts, current)
        better = [
            (group, group.law.improve(counts[group.places], current.stacked(group.features))[0])
            for group in self._groups
        ]
        return replace(current, weights=weights).with_groups(better)

    def _choose_laws(
        self, weights: FloatArray, counts: FloatArray, current: Parameters | None
    ) -> Parameters:
        """Give each column the law with the best expected objective."""
        neutral = self.neutral() if current is None else current
        columns, names = list(neutral.columns), list(neutral.distributions)
        best = np.full(len(columns), -np.inf)
        for group in self._groups:
            price = self._price * group.law.n_parameters(group.m, self.n_components)
            for group_part, known in _by_current_law(group, current):
                statistics = counts[group_part.places]
                start = (
                    neutral.stacked(group_part.features)
                    if known
                    else group.law.estimate(statistics)
                )
                better, reached = group.law.improve(statistics, start)
                for j, values, value in zip(group_part.features, better, reached, strict=True):
                    if value - price > best[j]:
                        best[j], columns[j], names[j] = value - price, values, group.law.name
        return Parameters(weights, tuple(columns), tuple(names))

    def from_membership(self, membership: FloatArray) -> Parameters:
        """Return good parameters for given memberships of shape (n_rows, n_components)."""
        weighted = membership * self.rows.weights[:, None]
        counts = count_answers(self.rows.codes, self.rows.layout.starts, weighted)
        sums = self.rows.numbers.statistics.T @ weighted if len(self.rows.numbers) else None
        counts = counts if sums is None else np.vstack([counts, sums])
        counts = self._with_prior(counts)
        weights = weighted.sum(axis=0) / weighted.sum()
        if self._has_choice:
            return self._choose_laws(weights, counts, None)
        estimates = [(group, group.law.estimate(counts[group.places])) for group in self._groups]
        return replace(self.neutral(), weights=weights).with_groups(estimates)

    def neutral(self) -> Parameters:
        """Return equal components in the middle of their range."""
        K, n_levels = self.n_components, self.rows.layout.n_levels
        names = tuple(names[0] for names in self.candidates)
        half = np.full((1, K), 0.5)
        columns = tuple(
            LAWS[name].at(int(m), np.full((1, K), float(m // 2)), half)[0]
            for name, m in zip(names, n_levels, strict=True)
        )
        return Parameters(np.full(K, 1 / K), columns, names)

    def _with_prior(self, counts: FloatArray) -> FloatArray:
        return counts + self.prior[:, None] if self.has_prior else counts

    @cached_property
    def prior(self) -> FloatArray:
        """The statistics that are added to each component."""
        rows = self.rows
        n_flat = int(rows.layout.starts[-1])
        share = np.zeros(rows.n_statistics)
        for group in self._groups:
            count = [self._prior_of(j) for j in group.features]
            if group.law.takes == "categories":
                share[group.places] = np.array(count)[:, None] / group.m
        if len(rows.numbers):
            total = rows.weights @ rows.numbers.statistics
            answered = np.repeat(total[::N_STATISTICS], N_STATISTICS)
            numeric = [j for j, names in enumerate(self.candidates)
                       if LAWS[names[0]].takes == "numbers"]  # fmt: skip
            counts = np.repeat([self._prior_of(j) for j in numeric], N_STATISTICS)
            share[n_flat:] = counts * total / np.maximum(answered, 1e-300)
        return share

    def _prior_of(self, j: int) -> float:
        return max(LAWS[name].prior(self.prior_count) for name in self.candidates[j])

    @cached_property
    def has_prior(self) -> bool:
        """Whether anything is added to the answers."""
        return bool(self.prior.any())

    @cached_property
    def _groups(self) -> list[Group]:
        return group_columns(self.candidates, self.rows.layout.n_levels)

    @cached_property
    def _has_choice(self) -> bool:
        return any(len(names) > 1 for names in self.candidates)

    @cached_property
    def _price(self) -> float:
        """What a parameter costs where laws compete: half of BIC's penalty."""
        return float(np.log(max(self.rows.weights.sum(), 1.0)) / 2)


def _by_current_law(group: Group, current: Parameters | None) -> list[tuple[Group, bool]]:
    """Split columns into those that have the law already and the others."""
    has = np.array(
        [current is not None and current.distributions[j] == group.law.name for j in group.features]
    )
    return [
        (replace(group, features=group.features[part], places=group.places[part]), known)
        for part, known in ((has, True), (~has, False))
        if part.any()
    ]


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
    weights = parameters.weights.copy()
    weights[k] = rows.weights[worst] / rows.weights.sum()
    moved = replace(
        parameters,
        weights=weights / weights.sum(),
        columns=_moved(problem, parameters, worst, k),
    )
    after, _, _ = problem.expect(moved)
    return moved if after >= before else parameters


def _moved(problem: Problem, parameters: Parameters, row: int, k: int) -> tuple[FloatArray, ...]:
    """Let component k lean to a row's answers; missing ones stay as they were."""
    places, answered = row_places(problem.rows, parameters.distributions, np.array([row]))
    columns = list(parameters.columns)
    for j in np.flatnonzero(answered[0]):
        m = int(problem.rows.layout.n_levels[j])
        columns[j] = LAWS[parameters.distributions[j]].move(columns[j], k, m, places[0, j])
    return tuple(columns)


def row_places(
    rows: Rows, names: Sequence[str], which: IntArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the answers of some rows, categories from 0 or numbers, and whether they are there."""
    places = rows.codes[which].astype(np.float64)
    answered = rows.codes[which] < rows.layout.n_levels
    numeric = [j for j, name in enumerate(names) if LAWS[name].takes == "numbers"]
    for i, j in enumerate(numeric):
        places[:, j] = rows.numbers.statistics[which, N_STATISTICS * i + 1]
    return places, answered
