"""The estimator: a mixture of ordinal distributions, one independent law for each question."""

import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kindset._interrupt import check_interrupt, held_interrupts
from kindset._progress import progress_bar
from kindset._shown import counted
from kindset._validation import (
    Choice,
    Constraint,
    Number,
    Seed,
    Whole,
    Workers,
    all_or_nothing,
    check_parameters,
    check_value,
)
from kindset.exceptions import InputError
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._distributions import DISTRIBUTIONS
from kindset.ordinal._em import Fit, Parameters, Problem, run_em
from kindset.ordinal._encoding import (
    Table,
    decode,
    encode,
    infer_levels,
    read_table,
    set_answers,
)
from kindset.ordinal._expectation import JointTables, most_probable, posterior
from kindset.ordinal._information import standard_errors
from kindset.ordinal._rows import CodeArray, IntArray, Rows
from kindset.ordinal._starts import STARTS, run_start

_SUBSAMPLE_PER_COMPONENT = 1_000
_SUBSAMPLE_ABOVE = 30_000


class OrdinalMixture(ClusterMixin, DensityMixin, BaseEstimator):
    """Clustering of ordered answers by a mixture of BOS or GOD distributions.

    Every component (segment) gives each question a position, the answer it leans to, and a
    precision, how firmly. Answers may be missing, questions may have different numbers of
    categories, and rows may carry weights.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    distribution : {"bos", "god", "auto"} or list of them, default="bos"
        The distribution of the answers, for all questions or for each. "auto" takes, question by
        question, whichever has the higher likelihood.
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
    prior_count : float, default=0
        Answers added to each question in each component, spread evenly over the categories: a
        little smoothing for small samples.
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
    precisions_ : ndarray of shape (n_components, n_features)
        Precisions, from 0 (BOS) or 1/2 (GOD) to 1.
    peaks_ : ndarray of shape (n_components, n_features)
        The most probable category, from 1. It equals `modes_` but for imprecise GOD questions.
    distributions_ : list of str
        Distribution of each question.
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
        Standard errors `weights` and `precisions`, computed on first access.
    n_features_in_ : int
        Number of questions.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the training data had names that are all strings.

    See Also
    --------
    select_components : Choose the number of components.

    Notes
    -----
    EM with exact M-steps: given the memberships, the weighted counts of the answers are
    sufficient, and the best position and precision of each question are found by a bracketed
    Newton search for every position, so the likelihood never decreases. Tables of more than
    30,000 distinct rows run their starts on 5,000 to 20,000 of them, drawn by weight (1,000 for
    each component), and finish the best one on all.

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
        "prior_count": Number(least=0),
        "random_state": Seed(),
        "n_jobs": Workers(),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        distribution: str | Sequence[str] = "bos",
        n_categories: int | Sequence[int | None] | None = None,
        categories: Sequence[Any] | Mapping[Any, Any] | None = None,
        init: str = "mixed",
        n_init: int = 20,
        max_iter: int = 500,
        tol: float = 1e-6,
        prior_count: float = 0.0,
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
            check_parameters(self)
            X = self._validate(X, reset=True)
            candidates = self._candidates(X.shape[1])
            levels = infer_levels(X, self.n_categories, self.categories)
            codes = encode(X, levels)
            weights = row_weights(sample_weight, len(codes))
            if weights.sum() <= 0:
                raise InputError(
                    "sample_weight must be positive for at least one row.",
                    parameter="sample_weight",
                )
            # A question that nobody answered says nothing, like one with a single category.
            rows = Rows.merge(codes, weights, np.array([max(len(known), 1) for known in levels]))
            self._warn_if_not_identifiable(rows)
            with held_interrupts():
                fit = self._best_fit(Problem(rows, self.n_components, candidates, self.prior_count))
            self.categories_ = levels
            self.n_categories_ = np.array([len(known) for known in levels])
            self._store(fit, codes, weights)
            self._training = rows
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the most probable component of each row."""
        return self._most_probable(self._encode(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the membership probabilities, of shape (n_samples, n_components).

        A row without any answer has the components' weights.
        """
        return self._posterior(self._encode(X))[0]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-probability of each row's answers."""
        return self._posterior(self._encode(X))[1]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-probability of the rows."""
        log_density = self.score_samples(X)
        return float(np.average(log_density, weights=row_weights(sample_weight, len(log_density))))

    def criteria(self, X: Any, sample_weight: Any = None) -> dict[str, float]:
        """Return AIC, BIC and ICL in one pass, as a dict; lower is better.

        They count K - 1 weights and K precisions for each question with more than one category.
        The positions are discrete and are not counted. ICL is the BIC plus twice the uncertainty
        of the memberships, so it prefers components that are clearly apart.
        """
        membership, log_density = self._posterior(self._encode(X))
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
        n_questions = int((self.n_categories_ > 1).sum())
        return len(self.weights_) - 1 + len(self.weights_) * n_questions

    @property
    def standard_errors_(self) -> Bunch:
        """Standard errors `weights` and `precisions`; NaN at an end of a parameter's range."""
        check_is_fitted(self)
        if not hasattr(self, "_standard_errors"):
            weights, precisions = standard_errors(self._training, self._parameters)
            self._standard_errors = Bunch(weights=weights, precisions=precisions)
        return self._standard_errors

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
        m = int(self._n_levels[feature])
        flat = self._parameters.question(feature).log_pmf(np.array([0, m + 1]), np.array([m]))
        return np.exp(flat[:m].T)

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
        for j in range(self.n_features_in_):
            cumulative = self.pmf(j).cumsum(axis=1)
            draw = rng.random_sample(n_samples) * cumulative[labels, -1]
            codes[:, j] = (draw[:, None] >= cumulative[labels]).sum(axis=1)
        return decode(codes, self.categories_, self._names()), labels

    def impute(self, X: Any, strategy: str = "mode") -> Table:
        """Fill in missing answers from what the row's other answers say.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        strategy : {"mode", "median"}, default="mode"
            Take the most probable answer or the median answer.

        Returns
        -------
        X : ndarray or DataFrame of shape (n_samples, n_features)
            A copy without missing answers, but for questions that nobody answered in training.
        """
        check_value("strategy", strategy, Choice("mode", "median"))
        table = self._validate(X, reset=False)
        codes = encode(table, self.categories_)
        membership, _ = self._posterior(codes)
        filled = table.copy()
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

    def _best_fit(self, problem: Problem) -> Fit:
        """Run all starts and return the best; on a long table, on a part of it first."""
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)
        rows = problem.rows
        if len(rows) <= _SUBSAMPLE_ABOVE:
            return self._best_start(problem, seeds)
        size = int(np.clip(_SUBSAMPLE_PER_COMPONENT * self.n_components, 5_000, 20_000))
        best = self._best_start(replace(problem, rows=rows.draw(size, rng)), seeds)
        fit = Fit(best.parameters, interrupted=best.interrupted)
        if not best.interrupted:
            try:
                fit = run_em(
                    problem,
                    best.parameters,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    n_jobs=self.n_jobs,
                )
            except KeyboardInterrupt:
                fit.interrupted = True
            if fit.interrupted:
                warnings.warn(
                    "Interrupted while the best start was finished on all rows: what it had "
                    "reached is kept.",
                    stacklevel=3,
                )
        fit.history = fit.history or [problem.expect(fit.parameters)[0]]
        return fit

    def _best_start(self, problem: Problem, seeds: IntArray) -> Fit:
        best: Fit | None = None
        reached: list[float] = []
        title = counted(self.n_components, "component")
        with progress_bar(title, self.n_init, enabled=bool(self.verbose)) as advance:
            fits = self._starts_from(problem, seeds)
            try:
                for fit in fits:
                    if best is None or fit.objective > best.objective:
                        best = fit
                    if fit.interrupted:
                        raise KeyboardInterrupt
                    reached.append(fit.objective)
                    check_interrupt()
                    advance(f"best log-likelihood {best.objective:.2f}")
            except KeyboardInterrupt:
                if best is None:
                    raise
                best.interrupted = True
                with warnings.catch_warnings(action="ignore"):  # joblib's, of unused results
                    fits.close()
                warnings.warn(
                    f"Interrupted after {len(reached)} of {self.n_init} starts: the best so far is "
                    "kept.",
                    stacklevel=4,
                )
        assert best is not None
        self.start_objectives_ = np.array(reached)
        return best

    def _starts_from(self, problem: Problem, seeds: IntArray) -> Generator[Fit, None, None]:
        def run(seed: int) -> Fit:
            return run_start(problem, self.init, seed, max_iter=self.max_iter, tol=self.tol)

        # Threads: the kernels run without the interpreter's lock, and nothing is copied.
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        yield from parallel(delayed(run)(seed) for seed in seeds)

    def _store(self, fit: Fit, codes: CodeArray, weights: FloatArray) -> None:
        """Set the fitted attributes, the largest cluster first."""
        self._set_parameters(fit.parameters)
        labels = self._most_probable(codes)
        sizes = np.bincount(labels, weights=weights, minlength=self.n_components)
        order = np.lexsort((*self.modes_.T[::-1], -self.weights_, -sizes))
        self._set_parameters(fit.parameters.reorder(order))
        self.labels_ = np.argsort(order)[labels]
        self.history_ = [float(value) for value in fit.history]
        self.log_likelihood_ = self.history_[-1]
        self.n_iter_ = len(fit.history) - 1
        self.converged_ = fit.converged
        self.interrupted_ = fit.interrupted
        if self.prior_count:
            self.log_likelihood_ = float(self._posterior(codes)[1] @ weights)
        if not (fit.converged or fit.interrupted):
            warnings.warn(
                f"The best start did not converge in {self.max_iter} iterations: increase "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.__dict__.pop("_standard_errors", None)

    def _set_parameters(self, parameters: Parameters) -> None:
        self.weights_ = parameters.weights
        self.modes_ = parameters.modes + 1
        self.precisions_ = parameters.precisions
        self.distributions_ = list(parameters.distributions)
        self.peaks_ = np.stack(
            [self.pmf(j).argmax(axis=1) + 1 for j in range(self.n_features_in_)], axis=1
        )

    @property
    def _parameters(self) -> Parameters:
        return Parameters(
            self.weights_, self.modes_ - 1, self.precisions_, tuple(self.distributions_)
        )

    @property
    def _n_levels(self) -> IntArray:
        """Number of categories; one for a question that nobody answered, which says nothing."""
        return np.maximum(self.n_categories_, 1)

    @property
    def _starts(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self._n_levels + 1)])

    def _encode(self, X: Any) -> CodeArray:
        check_is_fitted(self)
        return encode(self._validate(X, reset=False), self.categories_)

    def _rows_and_tables(self, codes: CodeArray) -> tuple[Rows, JointTables]:
        rows = Rows.build(codes, np.ones(len(codes)), self._n_levels)
        flat = self._parameters.log_pmf(rows.layout.starts, self._n_levels)
        return rows, JointTables.build(rows.layout, flat, self.weights_)

    def _most_probable(self, codes: CodeArray) -> IntArray:
        return most_probable(*self._rows_and_tables(codes))

    def _posterior(self, codes: CodeArray) -> tuple[FloatArray, FloatArray]:
        return posterior(*self._rows_and_tables(codes))

    def _names(self) -> NDArray[Any] | None:
        return getattr(self, "feature_names_in_", None)

    def _validate(self, X: Any, *, reset: bool) -> Table:
        if not reset:
            check_is_fitted(self)
        table = read_table(X)
        named = table if isinstance(table, pd.DataFrame) else X
        validate_data(self, named, reset=reset, skip_check_array=True)
        return table

    def _candidates(self, n_features: int) -> tuple[tuple[str, ...], ...]:
        """Return the names of the distributions that each question may have."""
        names = self.distribution
        listed: list[Any] = (
            list(names) if isinstance(names, (list, tuple)) else [names] * n_features
        )
        if len(listed) != n_features:
            raise InputError(
                f"distribution names {len(listed)} distributions for {n_features} columns.",
                parameter="distribution",
            )
        for name in listed:
            check_value("distribution", name, Choice(*DISTRIBUTIONS, "auto"))
        return tuple(tuple(DISTRIBUTIONS) if name == "auto" else (name,) for name in listed)

    def _warn_if_not_identifiable(self, rows: Rows) -> None:
        n_levels = rows.layout.n_levels
        n_parameters = self.n_components - 1 + self.n_components * int((n_levels > 1).sum())
        if self.n_components > 1 and np.log(n_parameters + 1) > np.log(n_levels).sum():
            warnings.warn(
                f"{n_parameters} parameters for tables of {np.prod(n_levels)} cells: "
                "different mixtures describe these questions equally well; use fewer components.",
                stacklevel=3,
            )
        if len(rows) < self.n_components:
            warnings.warn(
                f"There are {len(rows)} distinct rows for {self.n_components} components: some "
                "components will be equal or empty.",
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        return tags


def row_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Check the weights of rows; without any, all are 1."""
    return _check_sample_weight(
        sample_weight, np.empty((n_samples, 0)), dtype=np.float64, ensure_non_negative=True
    )
