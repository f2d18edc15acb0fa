"""Mixtures of one table for every law and number of components."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._em import Parameters, Problem
from kindset.ordinal._expectation import most_probable, posterior
from kindset.ordinal._laws import LAWS
from kindset.ordinal._mixture import OrdinalMixture
from kindset.ordinal._rows import IntArray, Rows, number_statistics
from kindset.ordinal._search import rival_problems
from kindset.ordinal._starts import quick_fit

_REFIT_TOL = 1e-5
"""Gain per row at which a refit stops: who belongs where is settled long before."""

_PREPARED = (
    "categories_", "n_categories_", "distributions_", "centers_", "scales_", "n_features_in_",
    "feature_names_in_",
)  # fmt: skip


@dataclass(frozen=True)
class Survey:
    """A table that is read once and then fitted many times.

    Attributes
    ----------
    template : OrdinalMixture
        With the parameters that all mixtures share, and the levels of the columns.
    rows : Rows
        All rows in their order.
    weights : ndarray of shape (n_rows,)
    laws : dict of str to tuple of tuple of str
        For the name of each rival law the law of every column.
    """

    template: OrdinalMixture
    rows: Rows
    weights: FloatArray
    laws: dict[str, tuple[tuple[str, ...], ...]]

    @classmethod
    def read(cls, X: Any, sample_weight: Any, parameters: dict[str, Any]) -> "Survey":
        """Read a table; `distribution` "auto" makes rivals of all laws that a column may have."""
        template = OrdinalMixture(1, **parameters)
        rows, weights, candidates = template._prepare(X, sample_weight)
        rivals = rival_problems(Problem(rows, 1, candidates))
        laws = {_law_name(rival.candidates, candidates): rival.candidates for rival in rivals}
        return cls(template, rows, weights, laws)

    def fit(
        self, law: str, n_components: int, seed: int, smaller: OrdinalMixture | None = None
    ) -> OrdinalMixture:
        """Return a fitted mixture; with `smaller`, also started from its components."""
        parameters = {
            **self.template.get_params(),
            "n_components": n_components,
            "random_state": seed,
            "distribution": _as_parameter(self.laws[law]),
            "n_jobs": 1,
            "verbose": 0,
        }
        model = OrdinalMixture(**parameters)
        for name in _PREPARED:
            if hasattr(self.template, name):
                setattr(model, name, getattr(self.template, name))
        model.distributions_ = [names[0] for names in self.laws[law]]
        before = None if smaller is None else smaller._parameters
        # The path tells what did not converge, and more than fits is tried on purpose.
        model._fit_rows(self.rows, self.weights, self.laws[law], before, quiet=True)
        return model

    def refit(self, law: str, n_components: int, seed: int, weights: FloatArray) -> Parameters:
        """Return the parameters of a mixture that is fitted anew to other weights of the rows."""
        rows = Rows.merge(self.rows.codes, weights, self.rows.layout.n_levels, self.rows.numbers)
        template = self.template
        problem = Problem(rows, n_components, self.laws[law], template.prior_count)
        tol = max(template.tol, _REFIT_TOL)
        return quick_fit(problem, seed, max_iter=template.max_iter, tol=tol).parameters

    def labels(self, parameters: Parameters) -> IntArray:
        """Return the most probable component of every row."""
        return most_probable(self.rows, self._problem(parameters).tables(parameters)[0])

    def log_density(self, parameters: Parameters) -> FloatArray:
        """Return the log-probability of every row."""
        return posterior(self.rows, self._problem(parameters).tables(parameters)[0])[1]

    def with_rows(self, rows: Rows) -> "Survey":
        """Return the same survey with other answers."""
        return replace(self, rows=rows)

    def _problem(self, parameters: Parameters) -> Problem:
        names = tuple((name,) for name in parameters.distributions)
        return Problem(self.rows, len(parameters.weights), names)

    def parallel(self, tasks: Sequence[Any]) -> list[Any]:
        """Run calls side by side; the order of results is that of the tasks."""
        runner = Parallel(n_jobs=self.template.n_jobs, prefer="threads")
        return list(runner(delayed(function)(*args) for function, args in tasks))


def _law_name(names: tuple[tuple[str, ...], ...], options: tuple[tuple[str, ...], ...]) -> str:
    """Name the law in question: that of the columns with a choice, else that of categories."""
    for (name, *_), choice in zip(names, options, strict=True):
        if len(choice) > 1:
            return name
    ordered = [name for name, *_ in names if LAWS[name].ordered and LAWS[name].takes != "numbers"]
    distinct = list(dict.fromkeys(ordered or [name for name, *_ in names]))
    return distinct[0] if len(distinct) == 1 else "mixed"


def _as_parameter(names: tuple[tuple[str, ...], ...]) -> Any:
    """Return the laws as the parameter `distribution` takes them."""
    listed = ["auto" if len(options) > 1 else options[0] for options in names]
    return listed[0] if len(set(listed)) == 1 else listed


def draw_rows(survey: Survey, parameters: Parameters, rng: np.random.RandomState) -> Rows:
    """Draw as many rows from a mixture, with the gaps of the survey."""
    rows = survey.rows
    labels = rng.choice(len(parameters.weights), size=len(rows), p=parameters.weights)
    codes = rows.codes.copy()
    statistics = rows.numbers.statistics.copy()
    n_numbers = 0
    for j, name in enumerate(parameters.distributions):
        law, m = LAWS[name], int(rows.layout.n_levels[j])
        if law.takes == "numbers":
            drawn = law.draw(parameters.columns[j], labels, rng)
            known = statistics[:, 4 * n_numbers] > 0
            fresh = number_statistics(np.where(known, drawn, np.nan)[:, None], np.ones(1))
            statistics[:, 4 * n_numbers : 4 * n_numbers + 4] = fresh.statistics
            n_numbers += 1
        elif m > 1:
            pmf = np.exp(law.log_terms(parameters.columns[j][None], m)[0].T)
            cumulative = pmf.cumsum(axis=1)
            level = rng.random_sample(len(rows)) * cumulative[labels, -1]
            answer = (level[:, None] >= cumulative[labels]).sum(axis=1)
            codes[:, j] = np.where(codes[:, j] == m, m, answer)
    numbers = replace(rows.numbers, statistics=statistics)
    return Rows.build(codes, rows.weights, rows.layout.n_levels, numbers)
