"""The estimator that ranks partitions by adaptive clustering evaluation."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from kindset._arrays import check_space
from kindset._notebook import html_table
from kindset._validation import (
    Choice,
    Constraint,
    Flag,
    Number,
    Optional,
    Seed,
    Whole,
    Workers,
    all_or_nothing,
    check_parameters,
)
from kindset.evaluation._ace import AceSettings, evaluate, varying_rows
from kindset.evaluation._bootstrap import (
    bootstrap_ranks,
    draw_weights,
    leave_one_out_ranks,
    rank_intervals,
    ranks_of,
    win_shares,
)
from kindset.evaluation._correlation import holm_rejects, rank_correlation
from kindset.evaluation._dip import dip_test, principal_projection
from kindset.evaluation._labels import Noise, Partitions, check_noise
from kindset.evaluation._registry import Index, get_index
from kindset.evaluation._score_matrix import (
    ScoreTask,
    draw_points,
    fill_missing,
    score_spaces,
)
from kindset.evaluation._spaces import (
    Arrays,
    check_metric,
    check_spaces,
    first_copies,
    in_same_order,
    split_names,
)
from kindset.evaluation._warnings import EvidenceWarning
from kindset.exceptions import InputError

_FEW_PARTITIONS = 20


class AdaptiveEvaluation(BaseEstimator):
    """Rank partitions that were made in different spaces, without known labels (ACE).

    An index computed in each run's own space cannot be compared between runs. Here every partition
    is scored in every space; spaces that are not multimodal are dropped; those that rank the
    partitions alike are grouped; and the group with the highest scores decides, its spaces weighted
    by how central they are in it.

    Parameters
    ----------
    index : str, default="silhouette"
        A name from `kindset.evaluation.INDICES`.
    metric : {"euclidean", "cosine"}, default="euclidean"
    alpha : float, default=0.1
        Level of Holm's procedure for correlations between spaces.
    dip_alpha : float, default=0.05
        Level of Holm's procedure for the dip tests of the spaces. If none passes, all are kept.
    grouping : {"hdbscan", "dbscan"}, default="hdbscan"
    eps : float, default=0.1
        Radius for ``grouping="dbscan"``, as a distance 1 - rank correlation.
    link : {"pagerank", "hits"}, default="pagerank"
    include_outliers : bool, default=False
        Let a space outside all groups replace the best group if its scores are clearly higher.
    compat : {None, "paper"}, default=None
        "paper" follows the authors' program where it differs: a density tree that depends on the
        order of the spaces, and a PageRank that stops early.
    noise : {"error", "drop", "singletons", "penalise"}, default="error"
        What to do with points labelled -1: refuse them, leave them out, make each a cluster of its
        own, or leave them out and lower the score for it (see `score_matrix`).
    sample_size : int, optional
        Estimate the silhouette from this many points, each compared with all.
    n_bootstrap : int, default=0
        Bootstrap samples of the points for `rank_intervals_` and `win_shares_`.
    n_jobs : int, optional
        Threads, through joblib. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the bootstrap samples and the sample of points.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    scores_ : ndarray of shape (n_partitions,)
        Score of each partition, larger is better.
    ranking_ : ndarray of int
        Partitions from best to worst; those that tie by name.
    best_ : int
        The partition that comes first.
    score_matrix_ : ndarray of shape (n_spaces, n_partitions)
        Oriented so that larger is better.
    missing_ : ndarray of bool
        Where that matrix holds a stand-in for a score that does not exist.
    std_errors_ : ndarray of shape (n_spaces, n_partitions)
        Standard errors of the scores, only with `sample_size`.
    paired_ : ndarray of shape (n_partitions,)
        Score of each partition in its own space; absent if there are not as many spaces.
    pooled_ : ndarray of shape (n_partitions,)
        Mean score over the kept spaces.
    rank_average_ : ndarray of shape (n_partitions,)
        Mean over the kept spaces of the rank within each, larger is better.
    raw_ : ndarray of shape (n_partitions,)
        Score in the input data, if it was given.
    kept_ : ndarray of bool
        Spaces that took part: multimodal, not all scores equal, and no copy of another one.
    status_ : ndarray of str
        "selected", "grouped", "outlier", "unimodal", "constant" or "copy", for each space.
    groups_, subgroups_ : ndarray of int
        Group by correlation and subgroup by size of scores; -1 for outliers, -2 if not kept.
    selected_ : ndarray of int
        The spaces that decided.
    weights_ : ndarray of shape (n_spaces,)
        Their weights; 0 for the others.
    correlation_, edges_ : ndarray of shape (n_spaces, n_spaces)
        Rank correlation of all spaces, and what is significant of it among the kept ones.
    dip_pvalues_ : ndarray of shape (n_spaces,)
        Present if the dip was tested or given.
    rank_intervals_ : ndarray of shape (n_partitions, 2)
        Range of ranks (lowest, highest) over bootstrap samples and with one space left out.
    left_out_ranks_ : ndarray of shape (n_spaces, n_partitions)
        The ranks with each space left out; nothing changes where it had no part.
    bootstrap_ranks_ : ndarray of shape (n_bootstrap, n_partitions)
        The ranks in each bootstrap sample.
    win_shares_ : ndarray of shape (n_partitions,)
        Share of those resamples in which the partition comes first.
    space_names_, partition_names_ : list of str

    See Also
    --------
    score_matrix : Only the scores.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.decomposition import PCA
    >>> from kindset.evaluation import AdaptiveEvaluation
    >>> X, _ = make_blobs(300, n_features=6, centers=4, random_state=0)
    >>> spaces = [PCA(d, random_state=0).fit_transform(X) for d in (2, 3, 4, 5, 6)]
    >>> partitions = [
    ...     KMeans(k, n_init=1, random_state=0).fit_predict(Z)
    ...     for k, Z in zip((2, 3, 4, 6, 8), spaces)
    ... ]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     evaluation = AdaptiveEvaluation().fit(
    ...         spaces, partitions, names=["k2", "k3", "k4", "k6", "k8"]
    ...     )
    >>> evaluation.best_
    2
    >>> evaluation.to_frame()[["ace", "rank"]].round(2)
                ace  rank
    partition
    k4         0.79   1.0
    k2         0.66   2.0
    k3         0.63   3.0
    k6         0.49   4.0
    k8         0.28   5.0
    """

    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        "alpha": Number(above=0, below=1),
        "dip_alpha": Number(above=0, below=1),
        "grouping": Choice("hdbscan", "dbscan"),
        "eps": Number(above=0),
        "link": Choice("pagerank", "hits"),
        "include_outliers": Flag(),
        "compat": Optional(Choice("paper")),
        "sample_size": Optional(Whole(2)),
        "n_bootstrap": Whole(0),
        "n_jobs": Workers(),
        "random_state": Seed(),
    }

    def __init__(
        self,
        *,
        index: str = "silhouette",
        metric: str = "euclidean",
        alpha: float = 0.1,
        dip_alpha: float = 0.05,
        grouping: Literal["hdbscan", "dbscan"] = "hdbscan",
        eps: float = 0.1,
        link: Literal["pagerank", "hits"] = "pagerank",
        include_outliers: bool = False,
        compat: Literal["paper"] | None = None,
        noise: Noise = "error",
        sample_size: int | None = None,
        n_bootstrap: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.index = index
        self.metric = metric
        self.alpha = alpha
        self.dip_alpha = dip_alpha
        self.grouping = grouping
        self.eps = eps
        self.link = link
        self.include_outliers = include_outliers
        self.compat = compat
        self.noise = noise
        self.sample_size = sample_size
        self.n_bootstrap = n_bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        spaces: Arrays,
        partitions: Arrays,
        raw: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        space_names: Sequence[str] | None = None,
    ) -> "AdaptiveEvaluation":
        """Score all partitions in all spaces and rank them.

        Parameters
        ----------
        spaces : sequence or mapping of array-like of shape (n_samples, n_features_m)
            A space that several runs share may be given for each of them; it counts once (with
            ``compat="paper"`` as often as it is given). The keys of a mapping are names.
        partitions : sequence or mapping of array-like of shape (n_samples,)
            The keys of a mapping are names. Spaces of the same names are put in the same order.
        raw : array-like of shape (n_samples, n_features), optional
            The input data, to compare with.
        names : sequence of str, optional
            Names of the runs; of the partitions, if the spaces are not as many.
        space_names : sequence of str, optional
            Names of the spaces, if they differ from those of the runs.

        Returns
        -------
        self : AdaptiveEvaluation
        """
        with all_or_nothing(self):
            index = self._check_parameters()
            spaces, partitions = in_same_order(spaces, partitions)
            spaces, keys = _take_names(spaces, space_names, "space_names")
            partitions, names = _take_names(partitions, names, "names")
            self._set_names(len(spaces), len(partitions), names, keys)
            scores, pvalues, resampled, copied = self._measure(index, spaces, partitions, raw)
            self._rank(scores, pvalues, resampled, copied=copied)
        return self

    def _measure(
        self,
        index: Index,
        spaces: Sequence[ArrayLike],
        partitions: Sequence[ArrayLike],
        raw: ArrayLike | None,
    ) -> tuple[
        NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.bool_]
    ]:
        """Return scores, p-values of the spaces, resampled scores, and which spaces are copies."""
        checked = check_spaces(spaces, self.space_names_)
        first = first_copies(checked) if self.compat is None else np.arange(len(checked))
        distinct, home = np.unique(first, return_inverse=True)
        n = len(checked[0])
        stacked = Partitions.stack(
            partitions, n_samples=n, noise=self.noise, names=self.partition_names_
        )
        task = self._task(index, n)
        if raw is not None:
            raw_space = check_space(raw, name="raw", n_samples=n)
            self._score_raw(raw_space, stacked, replace(task, weights=None))
        originals = [checked[i] for i in distinct]
        scored = score_spaces(originals, stacked, task, n_jobs=self.n_jobs, verbose=self.verbose)
        results = [scored[i] for i in home]
        scores = np.stack([result.scores for result in results])
        if task.points is not None:
            self.std_errors_ = np.stack(
                [result.errors for result in results if result.errors is not None]
            )
        pvalues = _dip_pvalues(originals, self.n_jobs)[home]
        resampled = None
        if task.weights is not None:
            resampled = np.stack([r.resampled for r in results if r.resampled is not None], axis=1)
        return scores, pvalues, resampled, first != np.arange(len(checked))

    def fit_scores(
        self,
        score_matrix: ArrayLike,
        dip_pvalues: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> "AdaptiveEvaluation":
        """Rank partitions from a matrix of scores that is already there.

        Parameters
        ----------
        score_matrix : array-like of shape (n_spaces, n_partitions)
            Larger is better; NaN or infinite where there is no score.
        dip_pvalues : array-like of shape (n_spaces,), optional
            p-values of a test for multimodality of each space; without them all spaces are kept.
        names : sequence of str, optional

        Returns
        -------
        self : AdaptiveEvaluation
        """
        with all_or_nothing(self):
            self._check_parameters(only_scores=True)
            scores = _numbers(score_matrix, "score_matrix")
            if scores.ndim != 2 or scores.size == 0:
                raise InputError(
                    f"score_matrix has shape {scores.shape}; it must be (n_spaces, n_partitions)."
                )
            self._set_names(scores.shape[0], scores.shape[1], names)
            pvalues = None
            if dip_pvalues is not None:
                pvalues = _numbers(dip_pvalues, "dip_pvalues")
                if pvalues.shape != (len(scores),) or not ((pvalues >= 0) & (pvalues <= 1)).all():
                    raise InputError(
                        f"dip_pvalues must be {len(scores)} numbers from 0 to 1, one for each "
                        "space."
                    )
            self._rank(scores, pvalues, None, copied=np.zeros(len(scores), dtype=bool))
        return self

    def to_frame(self) -> pd.DataFrame:
        """Return the ranking as a table, best partition first.

        Returns
        -------
        frame : DataFrame
            Scores of all strategies, the rank, its interval and the share of wins.
        """
        check_is_fitted(self, "scores_")
        columns: dict[str, NDArray[np.float64]] = {
            "rank": ranks_of(self.scores_),
            "rank_low": self.rank_intervals_[:, 0],
            "rank_high": self.rank_intervals_[:, 1],
            "win_share": self.win_shares_,
            "ace": self.scores_,
        }
        for name in ("pooled", "paired", "raw", "rank_average"):
            if hasattr(self, f"{name}_"):
                columns[name] = getattr(self, f"{name}_")
        frame = pd.DataFrame(columns, index=pd.Index(self.partition_names_, name="partition"))
        return frame.iloc[self.ranking_]

    def _repr_html_inner(self) -> Any:
        """Show the ranking in a notebook; without one, what scikit-learn shows."""
        if not hasattr(self, "scores_"):
            return super()._repr_html_inner()
        best = self.partition_names_[self.best_]
        return html_table(f"{best} comes first ({self.index}).", self.to_frame(), chosen=best)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def _check_parameters(self, *, only_scores: bool = False) -> Index:
        """Check the parameters, each by itself and then together; return the index."""
        index = get_index(self.index, check_metric(self.metric))
        check_noise(self.noise)
        check_parameters(self)
        if self.n_bootstrap and not only_scores:
            self._check_bootstrap(index)
        return index

    def _check_bootstrap(self, index: Index) -> None:
        if index.contributions is None:
            raise InputError(
                f"index={index.name!r} is not a sum over points, so it cannot be bootstrapped; set "
                "n_bootstrap=0 (spaces are left out one at a time all the same).",
                parameter="n_bootstrap",
            )
        if self.sample_size is not None:
            raise InputError(
                "n_bootstrap needs all points; set sample_size=None or n_bootstrap=0.",
                parameter="n_bootstrap",
            )

    def _set_names(
        self,
        n_spaces: int,
        n_partitions: int,
        names: Sequence[str] | None,
        space_names: Sequence[str] | None = None,
    ) -> None:
        if space_names is None and n_spaces == n_partitions:
            space_names = names
        self.partition_names_ = _names(names, n_partitions, "partition")
        self.space_names_ = _names(space_names, n_spaces, "space")

    def _task(self, index: Index, n: int) -> ScoreTask:
        """Say what to compute in each space; all randomness is drawn here, before any work."""
        rng = check_random_state(self.random_state)
        points = weights = None
        if self.sample_size is not None:
            points = draw_points(index, self.sample_size, n, rng)
        if self.n_bootstrap:
            weights = draw_weights(self.n_bootstrap, n, rng)
        return ScoreTask(
            index, check_metric(self.metric), weights, points, penalise=self.noise == "penalise"
        )

    def _score_raw(
        self, raw: NDArray[np.floating], partitions: Partitions, task: ScoreTask
    ) -> None:
        (result,) = score_spaces([raw], partitions, task)
        filled, _ = fill_missing(result.scores[None, :], self.partition_names_, "in raw")
        self.raw_ = filled[0]

    def _rank(
        self,
        scores: NDArray[np.float64],
        pvalues: NDArray[np.float64] | None,
        resampled: NDArray[np.float64] | None,
        *,
        copied: NDArray[np.bool_],
    ) -> None:
        """From scores to the ranking, the other strategies and the uncertainty."""
        self.score_matrix_, self.missing_ = fill_missing(scores, self.partition_names_)
        self.status_ = np.full(len(scores), "grouped", dtype="<U8")
        self.status_[~varying_rows(self.score_matrix_)] = "constant"
        self.status_[~self._multimodal(pvalues, ~copied)] = "unimodal"
        self.status_[copied] = "copy"
        self.kept_ = self.status_ == "grouped"
        self._evaluate_kept()
        self._compare_strategies()
        self._resample(resampled)
        self._warn_if_thin()

    def _multimodal(
        self, pvalues: NDArray[np.float64] | None, tested: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Spaces that pass the dip test; all if none of those tested does."""
        everything = np.ones(len(tested), dtype=bool)
        if pvalues is None:
            return everything
        self.dip_pvalues_ = pvalues
        passed = np.zeros(len(tested), dtype=bool)
        passed[tested] = holm_rejects(pvalues[tested], self.dip_alpha)
        if passed.any():
            return passed
        if tested.sum() > 1:
            self._warn(
                f"The dip test found none of the {tested.sum()} spaces multimodal (smallest p = "
                f"{pvalues.min():.2g}, before the correction for their number), so all of them are "
                "kept."
            )
        return everything

    def _settings(self) -> AceSettings:
        return AceSettings(
            alpha=self.alpha,
            grouping=self.grouping,
            eps=self.eps,
            link=self.link,
            include_outliers=self.include_outliers,
            compat=self.compat,
        )

    def _scores_of(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores that a matrix of kept spaces leads to; the mean if no row tells them apart."""
        varying = varying_rows(matrix)
        if not varying.any():
            return np.asarray(matrix.mean(axis=0))
        return evaluate(matrix[varying], self._settings()).scores

    def _evaluate_kept(self) -> None:
        n = len(self.score_matrix_)
        self.groups_ = np.full(n, -2)
        self.subgroups_ = np.full(n, -2)
        self.weights_ = np.zeros(n)
        self.edges_ = np.zeros((n, n))
        self.correlation_ = rank_correlation(self.score_matrix_)
        self.selected_ = np.empty(0, dtype=np.intp)
        rows = np.flatnonzero(self.kept_)
        if len(rows):
            found = evaluate(self.score_matrix_[rows], self._settings())
            self.scores_ = found.scores
            self.groups_[rows] = found.groups
            self.subgroups_[rows] = found.subgroups
            self.weights_[rows] = found.weights
            self.edges_[np.ix_(rows, rows)] = found.edges
            self.selected_ = rows[found.selected]
        else:
            self.scores_ = self.score_matrix_.mean(axis=0)
            self._warn("No kept space tells the partitions apart, so all of them come out equal.")
        # Names decide ties, so that the order in which partitions came does not.
        ranks = ranks_of(self.scores_)
        names = self.partition_names_
        self.ranking_ = np.array(sorted(range(len(names)), key=lambda i: (ranks[i], names[i])))
        self.best_ = int(self.ranking_[0])
        self.status_[self.groups_ == -1] = "outlier"
        self.status_[self.selected_] = "selected"

    def _compare_strategies(self) -> None:
        n_spaces, n_partitions = self.score_matrix_.shape
        kept = self.score_matrix_[self.kept_ if self.kept_.any() else slice(None)]
        self.pooled_ = kept.mean(axis=0)
        self.rank_average_ = (n_partitions + 1 - ranks_of(kept)).mean(axis=0)
        if n_spaces == n_partitions:
            self.paired_ = self.score_matrix_.diagonal().copy()

    def _resample(self, resampled: NDArray[np.float64] | None) -> None:
        kept = np.flatnonzero(self.kept_)
        n_partitions = self.score_matrix_.shape[1]
        bootstrapped = np.empty((0, n_partitions))
        if resampled is not None and len(kept):
            bootstrapped = bootstrap_ranks(resampled[:, kept], self._scores_of)
        left_out = leave_one_out_ranks(self.score_matrix_[kept], self._scores_of)
        ranks = ranks_of(self.scores_)
        self.bootstrap_ranks_ = bootstrapped
        self.left_out_ranks_ = np.tile(ranks, (len(self.score_matrix_), 1))
        if len(left_out):
            self.left_out_ranks_[kept] = left_out
        self.rank_intervals_ = rank_intervals(ranks, bootstrapped, left_out)
        self.win_shares_ = win_shares(np.vstack([ranks[None, :], bootstrapped, left_out]))

    def _warn_if_thin(self) -> None:
        n_partitions = self.score_matrix_.shape[1]
        if n_partitions < _FEW_PARTITIONS and (self.status_ != "copy").sum() > 1:
            self._warn(
                f"There are only {n_partitions} partitions; below {_FEW_PARTITIONS} the choice of "
                "spaces is fragile, so look at the average ranks and the rank intervals as well."
            )
        if len(self.selected_) == 1 and len(self.kept_) > 1:
            name = self.space_names_[int(self.selected_[0])]
            self._warn(
                f"A single space, {name}, decided; compare with the pooled and the average ranks."
            )
        best_by_rank = int(np.argmax(self.rank_average_))
        if self.rank_average_[self.best_] < self.rank_average_[best_by_rank]:
            self._warn(
                f"The strategies disagree: {self.partition_names_[self.best_]} comes first, but "
                f"{self.partition_names_[best_by_rank]} has the best average rank."
            )

    def _warn(self, message: str) -> None:
        warnings.warn(message, EvidenceWarning, stacklevel=5)


def _dip_pvalues(spaces: Sequence[NDArray[np.floating]], n_jobs: int | None) -> NDArray[np.float64]:
    """Test each space for more than one mode along its first principal component."""
    with threadpool_limits(limits=1, user_api="blas"):
        jobs = (delayed(_dip_pvalue)(space) for space in spaces)
        return np.array(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))


def _dip_pvalue(space: NDArray[np.floating]) -> float:
    return dip_test(principal_projection(space))[1]


def _take_names(
    arrays: Arrays, names: Sequence[str] | None, parameter: str
) -> tuple[Sequence[ArrayLike], Sequence[str] | None]:
    """Return arrays in order, and their names: those given, else the keys of a mapping."""
    listed, keys = split_names(arrays)
    if keys is not None and names is not None:
        raise InputError(
            f"{parameter} must be left out where the arrays come in a mapping with names.",
            parameter=parameter,
        )
    return listed, names if keys is None else keys


def _names(given: Sequence[str] | None, n: int, what: str) -> list[str]:
    if given is None:
        return [f"{what} {i}" for i in range(n)]
    if len(given) != n:
        raise InputError(f"There are {len(given)} names for {n} {what}s.")
    names = [str(name) for name in given]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"Two {what}s are called {twice[0]!r}; give names that tell them apart.")
    return names


def _numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is not a rectangular array of numbers.") from None
