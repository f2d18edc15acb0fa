"""The estimator: a mixture of ordinal distributions, one independent law for each question."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kindset._interrupt import held_interrupts
from kindset._validation import (
    Choice,
    Constraint,
    Number,
    Optional,
    Seed,
    Whole,
    Workers,
    all_or_nothing,
    check_parameters,
    check_value,
)
from kindset.exceptions import InputError
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._em import Fit, Parameters, Problem
from kindset.ordinal._encoding import (
    Kind,
    Table,
    decode,
    encode,
    guess_kinds,
    infer_levels,
    per_column,
    read_numbers,
    read_table,
    set_answers,
)
from kindset.ordinal._expectation import (
    JointTables,
    expected_counts,
    most_probable,
    posterior,
)
from kindset.ordinal._information import standard_errors
from kindset.ordinal._laws import DEFAULT_LAW, LAWS, ORDERED_LAWS
from kindset.ordinal._rows import (
    NO_NUMBERS,
    CodeArray,
    IntArray,
    Numbers,
    Rows,
    number_statistics,
)
from kindset.ordinal._search import Search
from kindset.ordinal._starts import STARTS


class OrdinalMixture(ClusterMixin, DensityMixin, BaseEstimator):
    """Clustering of survey answers by a mixture in which every column has its own law.

    In a component (segment) the answers to different questions are independent, and each question
    has the distribution that its law allows. Answers may be missing, questions may have different
    numbers of categories, nominal and numeric columns may stand beside ordered ones, and rows may
    carry weights.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    distribution : str, list or dict, default="tilted"
        The law of the columns: one name for all, a list with one for each, or a dict by column
        name (the others then have the default).

        - "tilted": p(x) proportional to b(x) exp(θ s + φ s²), with scores s from -1 to 1; position
          θ and spread φ move with the component, the base b is shared by all.
        - "adjacent": the same without φ, the adjacent-category logit model.
        - "categorical": free probabilities, the latent class model; for nominal columns too.
        - "bos", "god": a position and a precision for each component.
        - "gaussian": mean and variance of a numeric column.
        - "poisson": the rate of a column of counts.
        - "auto": the law with the lowest BIC, column by column. Text and categoricals without an
          order are "categorical". Numbers that are not whole, negative, or of more than 20 values
          are "gaussian".
    n_categories : int or list of int, default=None
        Declares that column j holds the codes 1 to ``n_categories[j]``. Without it the levels are
        those of an ordered categorical, or the sorted whole numbers seen.
    categories : list of lists or dict, default=None
        The levels of the columns in order, for text or for levels that training data may not
        show; a dict maps column names to levels. An entry None leaves the column to the rules
        above.
    init : {"mixed", "random", "rows", "kmeans", "soft"}, default="mixed"
        Where EM starts: random parameters, random rows, a k-means partition, random memberships,
        or all of these, which finds the best optima most reliably. Each start makes four tries
        of ten iterations and goes on with the best.
    n_init : int, default=20
        Number of starts; the one with the highest likelihood is kept.
    max_iter : int, default=500
        Largest number of EM iterations of a start.
    tol : float, default=1e-6
        A start ends when an iteration gains less than this in log-likelihood per row.
    prior_count : float, default=None
        Answers added to each question in each component, spread evenly over the categories: a
        little smoothing for small samples. None means none for "bos" and "god", and 0.01 for the
        other laws, so that no answer is impossible.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        Whether to show a progress bar over the starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Share of each component, largest cluster first.
    modes_ : ndarray of shape (n_components, n_features)
        Positions as category numbers from 1; ``categories_[j][modes_[k, j] - 1]`` is the level.
        The most probable category for laws without a position; 0 for numbers.
    precisions_ : ndarray of shape (n_components, n_features)
        Precisions, from 0 (BOS) or 1/2 (GOD) to 1; NaN for laws that have none.
    peaks_ : ndarray of shape (n_components, n_features)
        The most probable category, from 1. It equals `modes_` but for imprecise GOD questions.
    distributions_ : list of str
        Law of each column.
    parameters_ : list of dict
        The parameters of each column's law by name.
    centers_, scales_ : ndarray of shape (n_features,)
        How numeric columns were standardised; 0 and 1 for the others.
    categories_ : list of ndarray
        Levels of each question in order.
    n_categories_ : ndarray of shape (n_features,)
        Number of levels of each question.
    labels_ : ndarray of shape (n_samples,)
        Most probable component of each training row.
    log_likelihood_ : float
        Log-likelihood of the training data.
    n_iter_ : int
        EM iterations of the best start.
    converged_ : bool
        Whether the best start converged.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early; the best start so far was then kept.
    start_objectives_ : ndarray of shape (n_finished_starts,)
        What each start reached, in the order of the starts: a best value that only one start
        reached calls for more starts. On a long table, on the part that the starts ran on.
    history_ : list of float
        Log-likelihood after each iteration of the best start (with the prior's term if
        ``prior_count > 0``). It never decreases.
    standard_errors_ : Bunch
        Standard errors `weights`, `precisions`, and `answers`: for each column those of the
        probabilities in every component, or of the mean of a numeric column. Computed on first
        access.
    n_features_in_ : int
        Number of questions.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the training data had names that are all strings.

    See Also
    --------
    select_components : Choose the number of components.

    Notes
    -----
    EM: given the memberships, the weighted counts of the answers are sufficient. The M-step is
    exact, or a Newton step that is shortened until it does not lower the objective, so the
    objective never decreases. Laws with smooth parameters go on in long steps (SQUAREM). Tables of
    more than 30,000 distinct rows run their starts on 5,000 to 20,000 of them, drawn by weight
    (1,000 for each component), and finish the best few on all.

    References
    ----------
    C. Biernacki and J. Jacques, "Model-based clustering of multivariate ordinal data relying on a
    stochastic binary search algorithm", Statistics and Computing 26 (2016).

    T. Michel, T. Rudkiewicz and A. Ramlaoui, "Clustering multivariate ordinal data" (2024).

    Examples
    --------
    >>> from kindset import OrdinalMixture
    >>> from kindset.datasets import load_anes96
    >>> survey = load_anes96()
    >>> model = OrdinalMixture(3, distribution="god", random_state=0).fit(survey.data)
    >>> model.weights_.round(2)
    array([0.37, 0.34, 0.3 ])
    >>> j = model.feature_names_in_.tolist().index("selfLR")
    >>> [str(model.categories_[j][mode - 1]) for mode in model.modes_[:, j]]
    ['Moderate', 'Conservative', 'Slightly liberal']
    """

    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": Whole(1),
        "init": Choice("mixed", *STARTS),
        "n_init": Whole(1),
        "max_iter": Whole(1),
        "tol": Number(least=0),
        "prior_count": Optional(Number(least=0)),
        "random_state": Seed(),
        "n_jobs": Workers(),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        distribution: str | Sequence[str] | Mapping[Any, str] = DEFAULT_LAW,
        n_categories: int | Sequence[int | None] | None = None,
        categories: Sequence[Any] | Mapping[Any, Any] | None = None,
        init: str = "mixed",
        n_init: int = 20,
        max_iter: int = 500,
        tol: float = 1e-6,
        prior_count: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.distribution = distribution
        self.n_categories = n_categories
        self.categories = categories
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.prior_count = prior_count
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Answers: whole numbers, ordered categoricals, or text with `categories`. NaN, None and
            NA are missing answers. An `Enum` of polars is an ordered categorical.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: a row of weight 2 counts as two rows, also in the criteria and
            the standard errors. Divide survey weights by their mean first.

        Returns
        -------
        self : OrdinalMixture
        """
        with all_or_nothing(self):
            self._fit(X, sample_weight)
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the most probable component of each row."""
        rows = self._read(X)
        return most_probable(rows, self._tables(rows))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the membership probabilities, of shape (n_samples, n_components).

        A row without any answer has the components' weights.
        """
        return self._posterior(self._read(X))[0]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-probability of each row's answers."""
        return self._posterior(self._read(X))[1]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-probability of the rows."""
        log_density = self.score_samples(X)
        return float(np.average(log_density, weights=row_weights(sample_weight, len(log_density))))

    def criteria(self, X: Any, sample_weight: Any = None) -> dict[str, float]:
        """Return AIC, BIC and ICL in one pass, as a dict; lower is better.

        They count K - 1 weights and the free parameters of each column's law. The positions of
        "bos" and "god" are discrete and are not counted. ICL is the BIC plus twice the
        uncertainty of the memberships, so it prefers components that are clearly apart.
        """
        membership, log_density = self._posterior(self._read(X))
        weights = row_weights(sample_weight, len(log_density))
        deviance = -2 * float(log_density @ weights)
        bic = deviance + np.log(weights.sum()) * self.n_parameters_
        unclear = -2 * float(np.log(membership.max(axis=1)) @ weights)
        aic = deviance + 2 * self.n_parameters_
        return {"aic": float(aic), "bic": float(bic), "icl": float(bic + unclear)}

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Return Akaike's criterion; lower is better."""
        return self.criteria(X, sample_weight)["aic"]

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Return the Bayesian information criterion; lower is better."""
        return self.criteria(X, sample_weight)["bic"]

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Return the integrated completed likelihood criterion; lower is better."""
        return self.criteria(X, sample_weight)["icl"]

    @property
    def n_parameters_(self) -> int:
        """Number of free continuous parameters."""
        check_is_fitted(self)
        return self._parameters.n_parameters(self._n_levels)

    @property
    def standard_errors_(self) -> Bunch:
        """Standard errors; NaN at an end of a parameter's range."""
        check_is_fitted(self)
        if not hasattr(self, "_standard_errors"):
            errors = standard_errors(self._training, self._parameters)
            answers = [
                error * self.scales_[j] if j in self._numeric else error
                for j, error in enumerate(errors.answers)
            ]
            self._standard_errors = Bunch(
                weights=errors.weights, precisions=errors.precisions, answers=answers
            )
        return self._standard_errors

    @property
    def parameters_(self) -> list[dict[str, FloatArray]]:
        """The parameters of each column's law by name, for all components.

        Positions and precisions of "bos" and "god"; probabilities of the other laws of categories,
        with the shared `base`, the `tilts` and the `spreads` of "adjacent" and "tilted"; `means`
        and `deviations`, or `rates`, of numbers.
        """
        check_is_fitted(self)
        return [
            LAWS[name].parameters(values, int(m), float(center), float(scale))
            for name, values, m, center, scale in zip(
                self.distributions_, self._parameters.columns, self._n_levels, self.centers_,
                self.scales_, strict=True,
            )
        ]  # fmt: skip

    def pmf(self, feature: int) -> FloatArray:
        """Return the probabilities of one question's answers in each component.

        Parameters
        ----------
        feature : int
            Number of the question, from 0.

        Returns
        -------
        pmf : ndarray of shape (n_components, n_categories)
        """
        check_is_fitted(self)
        if feature not in range(self.n_features_in_):
            raise InputError(
                f"feature must be a question's number from 0 to {self.n_features_in_ - 1}, "
                f"got {feature!r}.",
                parameter="feature",
            )
        law = LAWS[self.distributions_[feature]]
        if law.takes == "numbers":
            raise InputError(
                f"feature {feature} holds numbers, which have no list of answers: see parameters_.",
                parameter="feature",
            )
        m = int(self._n_levels[feature])
        return np.exp(law.log_terms(self._parameters.columns[feature][None], m)[0].T)

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> tuple[Table, IntArray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Seed; by default the estimator's own.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            Answers as levels; a data frame if the model was fitted to one, with text levels as
            ordered categoricals.
        labels : ndarray of shape (n_samples,)
            The component that each row came from.
        """
        check_is_fitted(self)
        check_value("n_samples", n_samples, Whole(1))
        rng = check_random_state(self.random_state if random_state is None else random_state)
        labels = np.sort(rng.choice(len(self.weights_), size=n_samples, p=self.weights_))
        codes = np.empty((n_samples, self.n_features_in_), dtype=np.uint8)
        numbers: dict[int, FloatArray] = {}
        for j, name in enumerate(self.distributions_):
            if LAWS[name].takes == "numbers":
                drawn = LAWS[name].draw(self._parameters.columns[j], labels, rng)
                numbers[j] = self.centers_[j] + self.scales_[j] * drawn
                continue
            cumulative = self.pmf(j).cumsum(axis=1)
            draw = rng.random_sample(n_samples) * cumulative[labels, -1]
            codes[:, j] = (draw[:, None] >= cumulative[labels]).sum(axis=1)
        return decode(codes, self.categories_, self._names(), numbers), labels

    def impute(self, X: Any, strategy: str = "mode") -> Table:
        """Fill in missing answers from what the row's other answers say.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        strategy : {"mode", "median"}, default="mode"
            Take the most probable answer or the median answer. Numbers are filled with their
            expected value.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            A copy without missing answers, but for questions that nobody answered in training.
        """
        check_value("strategy", strategy, Choice("mode", "median"))
        table = self._validate(X, reset=False)
        rows = self._rows(table)
        codes = rows.codes
        membership, _ = self._posterior(rows)
        filled = table.copy()
        for j in self._numeric:
            gaps = codes[:, j] == 1
            if gaps.any():
                means = LAWS[self.distributions_[j]].mean(self._parameters.columns[j])
                expected = membership[gaps] @ means
                set_answers(filled, gaps, j, self.centers_[j] + self.scales_[j] * expected)
        for j in np.flatnonzero(self.n_categories_ > 0).tolist():
            gaps = codes[:, j] == self.n_categories_[j]
            if gaps.any():
                expected = membership[gaps] @ self.pmf(j)
                if strategy == "mode":
                    best = expected.argmax(axis=1)
                else:
                    best = (expected.cumsum(axis=1) < 0.5).sum(axis=1)
                set_answers(filled, gaps, j, self.categories_[j][best])
        return filled

    def _fit(self, X: Any, sample_weight: Any) -> None:
        check_parameters(self)
        rows, weights, candidates = self._prepare(X, sample_weight)
        self._fit_rows(rows, weights, candidates)

    def _prepare(
        self, X: Any, sample_weight: Any
    ) -> tuple[Rows, FloatArray, tuple[tuple[str, ...], ...]]:
        """Read a table: its rows in their order, their weights, the laws each column may have."""
        table = self._validate(X, reset=True)
        candidates = self._candidates(table)
        kinds = [_kind(names) for names in candidates]
        self.categories_ = infer_levels(table, self.n_categories, self.categories, kinds)
        self.n_categories_ = np.array([len(known) for known in self.categories_])
        self.distributions_ = [names[0] for names in candidates]
        weights = row_weights(sample_weight, len(table))
        if weights.sum() <= 0:
            raise InputError(
                "sample_weight must be positive for at least one row.",
                parameter="sample_weight",
            )
        self._set_scales(table, weights)
        return self._rows(table), weights, candidates

    def _fit_rows(
        self,
        all_rows: Rows,
        weights: FloatArray,
        candidates: tuple[tuple[str, ...], ...],
        smaller: Parameters | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        """Fit; also from the components of a smaller mixture of the same columns, if given."""
        # A question that nobody answered says nothing, like one with a single category.
        rows = Rows.merge(all_rows.codes, weights, self._n_levels, all_rows.numbers)
        problem = Problem(rows, self.n_components, candidates, self.prior_count)
        if not quiet:
            self._warn_if_not_identifiable(problem)
        search = Search(
            self.init, self.n_init, self.max_iter, self.tol, self.n_jobs, bool(self.verbose)
        )
        with held_interrupts():
            fit, self.start_objectives_ = search.run(
                problem, check_random_state(self.random_state), smaller
            )
        names = tuple((name,) for name in fit.parameters.distributions)
        self._training = replace(problem, candidates=names)
        choice = any(len(options) > 1 for options in candidates)
        self._store(fit, all_rows, weights, plain=not (choice or problem.has_prior))
        if not (fit.converged or fit.interrupted or quiet):
            warnings.warn(
                f"The best start did not converge in {self.max_iter} iterations: increase "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _climb_from(self, smaller: "OrdinalMixture", X: Any, sample_weight: Any) -> None:
        """Fit again, also from a mixture with one component less that has a higher likelihood."""
        rows, weights, candidates = self._prepare(X, sample_weight)
        self._fit_rows(rows, weights, candidates, smaller._parameters)

    def _set_scales(self, table: Table, weights: FloatArray) -> None:
        """Standardise the columns of numbers, but not counts."""
        self.centers_, self.scales_ = np.zeros(table.shape[1]), np.ones(table.shape[1])
        for j in self._numeric:
            if self.distributions_[j] != "poisson":
                values = read_numbers(table, [j])[:, 0]
                self.centers_[j], self.scales_[j] = _center_and_scale(values, weights)

    def _store(self, fit: Fit, rows: Rows, weights: FloatArray, *, plain: bool) -> None:
        """Set the fitted attributes, the largest cluster first.

        `plain` tells that the objective is the log-likelihood and nothing else.
        """
        self._set_parameters(fit.parameters)
        labels = most_probable(rows, self._tables(rows))
        sizes = np.bincount(labels, weights=weights, minlength=self.n_components)
        order = np.lexsort((*self.modes_.T[::-1], -self.weights_, -sizes))
        self._set_parameters(fit.parameters.reorder(order))
        self.labels_ = np.argsort(order)[labels]
        self.history_ = [float(value) for value in fit.history]
        self.log_likelihood_ = self.history_[-1]
        self.n_iter_ = len(fit.history) - 1
        self.converged_ = fit.converged
        self.interrupted_ = fit.interrupted
        if not plain:
            training = self._training.rows
            tables = self._tables(training)
            self.log_likelihood_ = expected_counts(training, tables, n_jobs=self.n_jobs)[0]
        self.__dict__.pop("_standard_errors", None)

    def _set_parameters(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.weights_ = parameters.weights
        self.modes_ = parameters.modes + 1
        self.precisions_ = parameters.precisions
        self.distributions_ = list(parameters.distributions)
        flat = parameters.log_terms(self._n_levels, np.zeros(len(self._numeric)))
        self.peaks_ = np.stack(
            [
                flat[start : start + m].argmax(axis=0) + 1
                for start, m in zip(self._starts, self._n_levels, strict=False)
            ],
            axis=1,
        )
        self.modes_[:, self._numeric] = self.peaks_[:, self._numeric] = 0

    @property
    def _numeric(self) -> list[int]:
        """The columns that hold numbers."""
        return [j for j, name in enumerate(self.distributions_) if LAWS[name].takes == "numbers"]

    @property
    def _n_levels(self) -> IntArray:
        """Number of categories; one for a question that nobody answered, which says nothing."""
        return np.maximum(self.n_categories_, 1)

    @property
    def _starts(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self._n_levels + 1)])

    def _encode(self, X: Any) -> CodeArray:
        """Return the codes of categories; numbers have the code 0, or 1 where missing."""
        check_is_fitted(self)
        return encode(self._validate(X, reset=False), self.categories_, self._numeric)

    def _read(self, X: Any) -> Rows:
        """Return new rows as the E-step runs over them, in their order."""
        check_is_fitted(self)
        return self._rows(self._validate(X, reset=False))

    def _rows(self, table: Table) -> Rows:
        codes = encode(table, self.categories_, self._numeric)
        return Rows.build(codes, np.ones(len(codes)), self._n_levels, self._numbers(table))

    def _numbers(self, table: Table) -> Numbers:
        if not self._numeric:
            return NO_NUMBERS
        values = self._read_numbers(table)
        standard = (values - self.centers_[self._numeric]) / self.scales_[self._numeric]
        return number_statistics(standard, self.scales_[self._numeric])

    def _read_numbers(self, X: Any) -> FloatArray:
        """Return the numeric columns in their own units, NaN where missing."""
        counts = [j for j in self._numeric if self.distributions_[j] == "poisson"]
        return read_numbers(read_table(X), self._numeric, counts=counts)

    def _posterior(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        return posterior(rows, self._tables(rows))

    def _tables(self, rows: Rows) -> JointTables:
        flat = self._parameters.log_terms(self._n_levels, rows.numbers.log_scales)
        return JointTables.build(rows.layout, flat, self.weights_)

    def _names(self) -> NDArray[Any] | None:
        return getattr(self, "feature_names_in_", None)

    def _validate(self, X: Any, *, reset: bool) -> Table:
        if not reset:
            check_is_fitted(self)
        table = read_table(X)
        named = table if isinstance(table, pd.DataFrame) else X
        validate_data(self, named, reset=reset, skip_check_array=True)
        return table

    def _candidates(self, table: Table) -> tuple[tuple[str, ...], ...]:
        """Return the names of the laws that each column may have."""
        given, n_features = self.distribution, table.shape[1]
        if isinstance(given, Mapping):
            listed = [name or DEFAULT_LAW for name in per_column(table, given, "distribution")]
        elif isinstance(given, (list, tuple)):
            listed = list(given)
        else:
            listed = [given] * n_features
        if len(listed) != n_features:
            raise InputError(
                f"distribution names {len(listed)} distributions for {n_features} columns.",
                parameter="distribution",
            )
        for name in listed:
            check_value("distribution", name, Choice(*LAWS, "auto"))
        if "auto" not in listed:
            return tuple((name,) for name in listed)
        kinds = guess_kinds(table, self.n_categories, self.categories)
        return tuple(
            _ADMISSIBLE[kind] if name == "auto" else (name,)
            for name, kind in zip(listed, kinds, strict=True)
        )

    def _warn_if_not_identifiable(self, problem: Problem) -> None:
        rows, n_levels = problem.rows, problem.rows.layout.n_levels
        n_parameters = problem.neutral().n_parameters(n_levels)
        cells = np.log(n_levels).sum()
        if self.n_components > 1 and not len(rows.numbers) and np.log(n_parameters + 1) > cells:
            warnings.warn(
                f"{n_parameters} parameters for tables of {np.prod(n_levels)} cells: "
                "different mixtures describe these questions equally well; use fewer components.",
                stacklevel=4,
            )
        if len(rows) < self.n_components:
            warnings.warn(
                f"There are {len(rows)} distinct rows for {self.n_components} components: some "
                "components will be equal or empty.",
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        return tags


_ADMISSIBLE: dict[Kind, tuple[str, ...]] = {
    "ordered": ORDERED_LAWS,
    "nominal": ("categorical",),
    "numbers": ("gaussian",),
}
"""The laws that "auto" considers."""


def _kind(names: tuple[str, ...]) -> Kind:
    """Say what a column must hold for the laws it may have."""
    if LAWS[names[0]].takes == "numbers":
        return "numbers"
    return "ordered" if any(LAWS[name].ordered for name in names) else "nominal"


def _center_and_scale(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the weighted mean and standard deviation of what is not missing."""
    known = ~np.isnan(values) & (weights > 0)
    if not known.any():
        return 0.0, 1.0
    center = float(np.average(values[known], weights=weights[known]))
    variance = float(np.average((values[known] - center) ** 2, weights=weights[known]))
    return center, float(np.sqrt(variance)) or 1.0


def row_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Check the weights of rows; without any, all are 1."""
    return _check_sample_weight(
        sample_weight, np.empty((n_samples, 0)), dtype=np.float64, ensure_non_negative=True
    )
