"""Clustering people and questions at once: a latent block model for ordered answers."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, BiclusterMixin, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kindset._notebook import html_table
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
from kindset.ordinal._block_laws import BLOCK_LAWS
from kindset.ordinal._block_starts import run_start
from kindset.ordinal._blocks import (
    BlockData,
    BlockFit,
    BlockModel,
    complete_log_likelihood,
    memberships_of,
    score_rows,
)
from kindset.ordinal._classification import checked_weights
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._distributions import DISTRIBUTIONS
from kindset.ordinal._encoding import Table, encode, infer_levels, read_table
from kindset.ordinal._rows import CodeArray, IntArray


class OrdinalCoclustering(BiclusterMixin, ClusterMixin, BaseEstimator):
    """Co-clustering of people and questions by a latent block model.

    Every person belongs to a row cluster and every question to a column cluster. All answers of
    a row cluster to the questions of a column cluster, a block, follow one law. Questions with
    different numbers of categories are never in the same column cluster. Answers may be missing.

    Parameters
    ----------
    n_row_clusters : int, default=2
        Number of clusters of rows.
    n_column_clusters : int or dict, default=2
        Number of clusters of columns, for each group of columns with the same number of
        categories; a dict maps numbers of categories to numbers of clusters. A group with fewer
        columns has as many clusters as columns.
    distribution : {"bos", "god", "categorical"}, default="bos"
        The law of the answers in a block; "categorical" has free probabilities.
    n_categories : int or list of int, default=None
        Declares that column j holds the codes 1 to ``n_categories[j]``. Without it the levels are
        those of an ordered categorical, or the whole numbers seen.
    categories : list of lists or dict, default=None
        The levels of the columns in order.
    n_init : int, default=20
        Number of starts; the one with the highest bound is kept. Three of four start from
        k-means of the rows and of the columns' profiles, the others from random partitions.
    max_iter : int, default=500
        Largest number of iterations of a start.
    tol : float, default=1e-6
        A start ends when an iteration gains less than this per row.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.

    Attributes
    ----------
    labels_, row_labels_ : ndarray of shape (n_samples,)
        Cluster of each row, the largest first.
    column_labels_ : ndarray of shape (n_features,)
        Cluster of each column. Groups of columns with the same number of categories come one
        after the other, the largest group first, and in each the largest cluster first.
    row_weights_ : ndarray of shape (n_row_clusters,)
        Share of each row cluster.
    column_weights_ : ndarray of shape (n_column_clusters,)
        Share of each column cluster in its group.
    column_memberships_ : ndarray of shape (n_features, n_column_clusters)
        Probability that a column belongs to a cluster.
    column_levels_ : ndarray of shape (n_column_clusters,)
        Number of categories of the columns in a cluster.
    probabilities_ : list of ndarray
        For each column cluster an array (row cluster, category).
    categories_ : list of ndarray
        Levels of each column in order.
    n_categories_ : ndarray of shape (n_features,)
    bound_ : float
        Lower bound on the log-likelihood, which was maximised.
    icl_ : float
        Integrated completed likelihood criterion; lower is better.
    start_bounds_ : ndarray of shape (n_init,)
        What each start reached.
    history_ : list of float
        The bound after each iteration of the best start. It never decreases.
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    select_coclusters : Choose both numbers.

    Notes
    -----
    The likelihood of a latent block model cannot be computed, so a bound on it is maximised
    (variational EM). Each start first draws labels for a few iterations (stochastic EM), which
    leaves partitions that the climb could not.

    ``icl_`` is -2 log p(x, z, w) + (K - 1) log n + Σ (L_d - 1) log J_d + ν log N, with n rows, J_d
    columns in group d, N answers and ν block parameters. Positions are discrete and not counted.

    References
    ----------
    J. Jacques and C. Biernacki, "Model-based co-clustering for ordinal data", Computational
    Statistics and Data Analysis 123 (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.ordinal import OrdinalCoclustering, bos_pmf
    >>> rng = np.random.default_rng(0)
    >>> modes = np.repeat([[1, 4], [4, 2]], [60, 40], axis=0)[:, np.repeat([0, 1], [6, 4])]
    >>> X = [[rng.choice(5, p=bos_pmf(5, mode, 0.6)) + 1 for mode in row] for row in modes]
    >>> model = OrdinalCoclustering(2, 2, random_state=0).fit(X)
    >>> model.column_labels_
    array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    >>> np.bincount(model.labels_)
    array([60, 40])
    >>> model.blocks()["mode"].unstack()
    column_cluster  1  2
    row_cluster
    1               1  4
    2               4  2
    """

    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        "n_row_clusters": Whole(1),
        "distribution": Choice(*BLOCK_LAWS),
        "n_init": Whole(1),
        "max_iter": Whole(1),
        "tol": Number(least=0),
        "random_state": Seed(),
        "n_jobs": Workers(),
    }

    def __init__(
        self,
        n_row_clusters: int = 2,
        n_column_clusters: int | Mapping[int, int] = 2,
        *,
        distribution: str = "bos",
        n_categories: int | Sequence[int | None] | None = None,
        categories: Sequence[Any] | Mapping[Any, Any] | None = None,
        n_init: int = 20,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_row_clusters = n_row_clusters
        self.n_column_clusters = n_column_clusters
        self.distribution = distribution
        self.n_categories = n_categories
        self.categories = categories
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of rows and columns.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Answers, as for `OrdinalMixture`. NaN, None and NA are missing answers.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: a row of weight 2 counts as two rows.

        Returns
        -------
        self : OrdinalCoclustering
        """
        with all_or_nothing(self):
            check_parameters(self)
            table = self._validate(X, reset=True)
            self.categories_ = infer_levels(table, self.n_categories, self.categories)
            self.n_categories_ = np.array([len(known) for known in self.categories_])
            codes = encode(table, self.categories_)
            clusters = _cluster_levels(self.n_categories_, self.n_column_clusters)
            data = self._data(codes, clusters, checked_weights(sample_weight, len(codes)))
            self._store(self._best_fit(data), data)
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the most probable cluster of each row."""
        return self._scores(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the rows' membership probabilities, of shape (n_samples, n_row_clusters)."""
        return memberships_of(self._scores(X))[0]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-probability of each row's answers, given the columns' clusters."""
        return memberships_of(self._scores(X))[1]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-probability of the rows."""
        return float(self.score_samples(X).mean())

    @property
    def rows_(self) -> NDArray[np.bool_]:
        """Which rows are in each block, blocks of a row cluster one after the other."""
        check_is_fitted(self)
        inside = self.row_labels_ == np.arange(len(self.row_weights_))[:, None]
        return np.repeat(inside, len(self.column_levels_), axis=0)

    @property
    def columns_(self) -> NDArray[np.bool_]:
        """Which columns are in each block, in the same order."""
        check_is_fitted(self)
        inside = self.column_labels_ == np.arange(len(self.column_levels_))[:, None]
        return np.tile(inside, (len(self.row_weights_), 1))

    def blocks(self) -> pd.DataFrame:
        """Return one row for each block: its size, most probable answer and how probable it is.

        `mode` counts categories from 1. BOS and GOD add `position` and `precision`.
        """
        check_is_fitted(self)
        n_rows = np.bincount(self.row_labels_, minlength=len(self.row_weights_))
        n_columns = np.bincount(self.column_labels_, minlength=len(self.column_levels_))
        lines = {}
        for k in range(len(n_rows)):
            for g, probabilities in enumerate(self.probabilities_):
                line: dict[str, Any] = {
                    "n_rows": n_rows[k],
                    "n_columns": n_columns[g],
                    "n_categories": self.column_levels_[g],
                    "mode": int(probabilities[k].argmax()) + 1,
                    "probability": probabilities[k].max(),
                }
                if self.distribution in DISTRIBUTIONS:
                    position, line["precision"] = self._model.parameters[g][k]
                    line["position"] = int(position) + 1
                lines[k + 1, g + 1] = line
        names = ["row_cluster", "column_cluster"]
        index = pd.MultiIndex.from_tuples(lines, names=names)
        return pd.DataFrame(list(lines.values()), index=index)

    def _best_fit(self, data: BlockData) -> BlockFit:
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)

        def run(i: int, seed: int) -> BlockFit:
            return run_start(data, seed, kmeans=i % 4 < 3, max_iter=self.max_iter, tol=self.tol)

        fits = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(run)(i, int(seed)) for i, seed in enumerate(seeds)
        )
        self.start_bounds_ = np.array([fit.objective for fit in fits])
        return fits[int(self.start_bounds_.argmax())]

    def _store(self, fit: BlockFit, data: BlockData) -> None:
        """Set the fitted attributes, the largest clusters first."""
        labels = score_rows(data, fit.model).argmax(axis=1)
        sizes = np.bincount(labels, data.weights, self.n_row_clusters)
        rows = np.lexsort((-fit.model.row_weights, -sizes))
        columns = _column_order(fit.model, data.cluster_levels)
        data = replace(data, cluster_levels=data.cluster_levels[columns])
        self._set_model(fit.model.reorder(rows, columns), data.cluster_levels)
        self.labels_ = score_rows(data, self._model).argmax(axis=1)
        self.row_labels_ = self.labels_
        self.history_ = [float(value) for value in fit.history]
        self.bound_ = self.history_[-1]
        self.n_iter_ = len(fit.history) - 1
        self.converged_ = fit.converged
        self.icl_ = _icl(data, self._model, self.labels_)
        if not fit.converged:
            warnings.warn(
                f"The best start did not converge in {self.max_iter} iterations: increase "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _set_model(self, model: BlockModel, cluster_levels: IntArray) -> None:
        """Set what describes the blocks."""
        self._model = model
        self.column_levels_ = cluster_levels
        self.row_weights_ = model.row_weights
        self.column_weights_ = model.column_weights
        self.column_memberships_ = model.memberships
        self.column_labels_ = model.memberships.argmax(axis=1)
        law = BLOCK_LAWS[self.distribution]
        self.probabilities_ = [np.exp(p) for p in model.log_pmf(law, cluster_levels)]

    def _data(self, codes: CodeArray, cluster_levels: IntArray, weights: FloatArray) -> BlockData:
        # A question that nobody answered says nothing, like one with a single category.
        n_levels = np.maximum(self.n_categories_, 1)
        return BlockData(
            codes, weights, n_levels, np.concatenate([[0], np.cumsum(n_levels + 1)]),
            cluster_levels, self.n_row_clusters, BLOCK_LAWS[self.distribution],
        )  # fmt: skip

    def _scores(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        codes = encode(self._validate(X, reset=False), self.categories_)
        return score_rows(self._data(codes, self.column_levels_, np.ones(len(codes))), self._model)

    def _validate(self, X: Any, *, reset: bool) -> Table:
        table = read_table(X)
        named = table if isinstance(table, pd.DataFrame) else X
        validate_data(self, named, reset=reset, skip_check_array=True)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.string = True
        return tags


def _cluster_levels(n_categories: IntArray, wanted: int | Mapping[int, int]) -> IntArray:
    """Return the number of categories of each column cluster."""
    levels, n_columns = np.unique(np.maximum(n_categories, 1), return_counts=True)
    if isinstance(wanted, Mapping):
        unknown = [m for m in wanted if m not in levels]
        missing = [int(m) for m in levels if m not in wanted and m > 1]
        if unknown or missing:
            wrong = f"no column has {unknown[0]!r}" if unknown else f"{missing[0]} is missing"
            raise InputError(
                "n_column_clusters must name the columns' numbers of categories: " + wrong + ".",
                parameter="n_column_clusters",
            )
    clusters = []
    for m, available in zip(levels.tolist(), n_columns.tolist(), strict=True):
        number = wanted.get(m, 1) if isinstance(wanted, Mapping) else wanted
        check_value("n_column_clusters", number, Whole(1))
        # Columns with a single category say nothing: one cluster holds them.
        clusters += [m] * (min(int(number), available) if m > 1 else 1)
    return np.array(clusters, dtype=np.int64)


def _column_order(model: BlockModel, cluster_levels: IntArray) -> IntArray:
    """Order the column clusters: largest group first, in it the largest cluster first."""
    sizes = np.bincount(model.memberships.argmax(axis=1), minlength=len(cluster_levels))
    group = np.array([sizes[cluster_levels == m].sum() for m in cluster_levels])
    return np.lexsort((-model.column_weights, -sizes, cluster_levels, -group))


def _icl(data: BlockData, model: BlockModel, labels: IntArray) -> float:
    value = -2 * complete_log_likelihood(data, model, labels)
    value += (data.n_row_clusters - 1) * np.log(data.weights.sum())
    for group in data.groups:
        value += (len(group.clusters) - 1) * np.log(len(group.columns))
    n_answers = float(data.weights @ (data.codes < data.n_levels).sum(axis=1))
    n_parameters = sum(
        data.law.n_parameters(data.n_row_clusters, m) for m in data.cluster_levels.tolist()
    )
    return float(value + n_parameters * np.log(max(n_answers, 1.0)))


@dataclass(frozen=True)
class CoclusterSelection:
    """The outcome of `select_coclusters`.

    Attributes
    ----------
    path : DataFrame
        One row for each pair of numbers: `bound`, `icl`, `smallest_row_cluster` (its share),
        `smallest_column_cluster`, `converged`.
    models : dict of (int, int) to OrdinalCoclustering
        The fitted models.
    """

    path: pd.DataFrame
    models: dict[tuple[int, int], OrdinalCoclustering]

    @property
    def n_clusters(self) -> tuple[int, int]:
        """The numbers of row and column clusters with the lowest ICL."""
        return min(self.models, key=lambda pair: self.models[pair].icl_)

    @property
    def model(self) -> OrdinalCoclustering:
        """The model with the lowest ICL."""
        return self.models[self.n_clusters]

    def __str__(self) -> str:
        rows, columns = self.n_clusters
        if (rows, columns) == (1, 1):
            return "No block structure found: a single block has the lowest ICL."
        return (
            f"{rows} row cluster{'s' * (rows > 1)} and {columns} column "
            f"cluster{'s' * (columns > 1)} have the lowest ICL."
        )

    def _repr_html_(self) -> str:
        return html_table(str(self), self.path)


def select_coclusters(
    X: Any,
    n_row_clusters: Iterable[int] = range(1, 6),
    n_column_clusters: Iterable[int] = range(1, 6),
    *,
    sample_weight: Any = None,
    **parameters: Any,
) -> CoclusterSelection:
    """Choose the numbers of row and column clusters by ICL.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Answers, as for `OrdinalCoclustering.fit`.
    n_row_clusters, n_column_clusters : iterable of int, default=range(1, 6)
        The numbers to try, in all combinations.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    **parameters
        Any other parameters of `OrdinalCoclustering`.

    Returns
    -------
    selection : CoclusterSelection

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.ordinal import bos_pmf, select_coclusters
    >>> rng = np.random.default_rng(0)
    >>> modes = np.repeat([[1, 4], [4, 2]], [60, 40], axis=0)[:, np.repeat([0, 1], [6, 4])]
    >>> X = [[rng.choice(5, p=bos_pmf(5, mode, 0.6)) + 1 for mode in row] for row in modes]
    >>> print(select_coclusters(X, range(1, 4), range(1, 4), n_init=6, random_state=0))
    2 row clusters and 2 column clusters have the lowest ICL.
    """
    wanted = [_numbers("n_row_clusters", n_row_clusters)]
    wanted.append(_numbers("n_column_clusters", n_column_clusters))
    models, lines = {}, {}
    for rows in wanted[0]:
        for columns in wanted[1]:
            model = OrdinalCoclustering(rows, columns, **parameters)
            models[rows, columns] = model.fit(X, sample_weight=sample_weight)
            lines[rows, columns] = {
                "bound": model.bound_,
                "icl": model.icl_,
                "smallest_row_cluster": float(model.row_weights_.min()),
                "smallest_column_cluster": float(model.column_weights_.min()),
                "converged": model.converged_,
            }
    names = ["n_row_clusters", "n_column_clusters"]
    index = pd.MultiIndex.from_tuples(list(lines), names=names)
    return CoclusterSelection(pd.DataFrame(list(lines.values()), index=index), models)


def _numbers(name: str, values: Iterable[int]) -> list[int]:
    numbers: list[Any] = list(values) if isinstance(values, Iterable) else []
    if not numbers or not all(map(Whole(1).allows, numbers)):
        raise InputError(
            f"{name} must be a range or list of whole numbers from 1, got {values!r}.",
            parameter=name,
        )
    return sorted({int(number) for number in numbers})
