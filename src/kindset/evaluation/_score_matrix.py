"""Every partition scored in every space."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from kindset._progress import progress_bar
from kindset._validation import Whole, check_value
from kindset.evaluation._labels import Noise, Partitions
from kindset.evaluation._registry import Index, get_index
from kindset.evaluation._spaces import (
    Arrays,
    Metric,
    Space,
    check_metric,
    check_spaces,
    split_names,
)
from kindset.evaluation._warnings import EvidenceWarning
from kindset.exceptions import InputError

# Rows of bootstrap weights that are turned into floats at a time.
_WEIGHT_BLOCK = 64


@dataclass(frozen=True)
class ScoreTask:
    """What to compute in each space.

    Attributes
    ----------
    index : Index
    metric : {"euclidean", "cosine"}
    weights : ndarray of shape (n_bootstrap, n_samples), uint16, optional
        How often each point stands in each bootstrap sample.
    points : ndarray of int, optional
        The sample of points to estimate the index from.
    penalise : bool, default=False
        Whether partitions that leave out points lose score for it.
    """

    index: Index
    metric: Metric
    weights: NDArray[np.uint16] | None = None
    points: NDArray[np.intp] | None = None
    penalise: bool = False


@dataclass(frozen=True)
class SpaceScores:
    """Scores of all partitions in one space, larger is better, NaN where there is none."""

    scores: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None
    resampled: NDArray[np.float64] | None = None


def _kernel(
    X: NDArray[np.floating], partitions: Partitions, task: ScoreTask
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows of values (the first on all points, the others resampled), and standard errors."""
    index = task.index
    space = Space.prepare(X, task.metric)
    none = np.zeros(partitions.n_partitions)
    if task.points is not None and index.sampled is not None:
        values, errors = index.sampled(space, partitions, task.points)
        return values[None, :], errors
    if index.contributions is None:
        assert index.scores is not None
        return index.scores(space, partitions)[None, :], none
    contributions = index.contributions(space, partitions)
    rows = [contributions.score()]
    if task.weights is not None:
        rows += [
            contributions.score(task.weights[start : start + _WEIGHT_BLOCK].astype(np.float64))
            for start in range(0, len(task.weights), _WEIGHT_BLOCK)
        ]
    return np.vstack(rows), none


def _groups_by_cover(partitions: Partitions, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Split partitions into groups that leave out the same points."""
    left_out = partitions.codes[rows] < 0
    _, group = np.unique(left_out, axis=0, return_inverse=True)
    return [rows[group.ravel() == g] for g in range(group.max() + 1)]


def score_space(X: NDArray[np.floating], partitions: Partitions, task: ScoreTask) -> SpaceScores:
    """Score all partitions in one space."""
    n_rows = 1 + (0 if task.weights is None else len(task.weights))
    values = np.full((n_rows, partitions.n_partitions), np.nan)
    errors = np.zeros(partitions.n_partitions)
    usable = np.flatnonzero(partitions.n_clusters >= 2)
    if len(usable):
        whole = task.index.takes_left_out or bool((partitions.codes[usable] >= 0).all())
        for rows in [usable] if whole else _groups_by_cover(partitions, usable):
            if whole:
                found = _kernel(X, partitions.select(rows), task)
            else:
                points = np.flatnonzero(partitions.codes[rows[0]] >= 0)
                weights = None if task.weights is None else task.weights[:, points]
                part = ScoreTask(task.index, task.metric, weights)
                found = _kernel(X[points], partitions.select(rows, points), part)
            values[:, rows], errors[rows] = found
    oriented = values if task.index.larger_is_better else -values
    oriented = np.where(np.isfinite(oriented), oriented, np.nan)
    if task.penalise:
        covered = coverage(partitions, task.weights)
        oriented, errors = shrink(oriented, covered), covered[0] * errors
    return SpaceScores(
        oriented[0],
        errors if task.points is not None else None,
        oriented[1:] if task.weights is not None else None,
    )


def coverage(
    partitions: Partitions, weights: NDArray[np.uint16] | None = None
) -> NDArray[np.float64]:
    """Return the share of points that each partition covers: of all, then of each resample.

    Returns
    -------
    covered : ndarray of shape (1 + n_bootstrap, n_partitions)
    """
    inside = (partitions.codes >= 0).astype(np.float64)
    rows = [inside.mean(axis=1)]
    rows += [] if weights is None else [inside @ row / row.sum() for row in weights]
    return np.stack(rows)


def shrink(scores: NDArray[np.float64], covered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move each score towards the lowest of its row, by the share of points that is left out.

    A partition that leaves out its hard points scores the others well. Here a point that is left
    out counts as much as a point of the worst partition.

    Examples
    --------
    >>> shrink(np.array([[0.75, 0.5, -0.25]]), np.array([[0.25, 1.0, 1.0]]))
    array([[ 0.  ,  0.5 , -0.25]])
    """
    found = np.where(np.isnan(scores), np.inf, scores)
    worst = found.min(axis=1, keepdims=True)
    worst = np.where(np.isfinite(worst), worst, 0.0)
    return np.where(covered == 1, scores, covered * scores + (1 - covered) * worst)


def score_spaces(
    spaces: Sequence[NDArray[np.floating]],
    partitions: Partitions,
    task: ScoreTask,
    *,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[SpaceScores]:
    """Score all partitions in each of the checked `spaces`."""
    # One thread per space: the product of matrices must not bring threads of its own, which would
    # compete with the others and could round differently.
    with (
        threadpool_limits(limits=1, user_api="blas"),
        progress_bar("Scoring spaces", len(spaces), enabled=verbose) as advance,
    ):
        results = []
        jobs = (delayed(score_space)(X, partitions, task) for X in spaces)
        for result in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(jobs):
            results.append(result)
            advance("")
    return results


def fill_missing(
    scores: NDArray[np.float64], names: Sequence[str], where: str = "in any space"
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Put the worst score of the matrix where there is none, and name the partitions concerned."""
    missing = ~np.isfinite(scores)
    if missing.all():
        raise InputError(
            f"No partition has a score {where}; the index needs at least two clusters, and "
            "clusters of more than one place."
        )
    if missing.any():
        concerned = [names[int(i)] for i in np.flatnonzero(missing.any(axis=0))]
        warnings.warn(
            f"No score for {', '.join(concerned)} in {int(missing.any(axis=1).sum())} of "
            f"{len(scores)} spaces (one cluster, or index not defined); counted as the worst.",
            EvidenceWarning,
            stacklevel=3,
        )
    return np.where(missing, np.nanmin(scores), scores), missing


def draw_points(
    index: Index, sample_size: int, n: int, random_state: int | np.random.RandomState | None
) -> NDArray[np.intp] | None:
    """Draw the points to estimate an index from; None if the sample would be all of them."""
    if index.sampled is None:
        raise InputError(
            f"index={index.name!r} cannot be estimated from a sample; leave sample_size=None "
            "or use index='silhouette'.",
            parameter="sample_size",
        )
    check_value("sample_size", sample_size, Whole(2))
    if sample_size >= n:
        return None
    rng = check_random_state(random_state)
    return np.sort(rng.choice(n, size=sample_size, replace=False))


@overload
def score_matrix(
    spaces: Arrays,
    partitions: Arrays,
    *,
    index: str = ...,
    metric: str = ...,
    noise: Noise = ...,
    sample_size: int | None = ...,
    return_std_error: Literal[False] = ...,
    n_jobs: int | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    verbose: bool = ...,
) -> NDArray[np.float64]: ...
@overload
def score_matrix(
    spaces: Arrays,
    partitions: Arrays,
    *,
    index: str = ...,
    metric: str = ...,
    noise: Noise = ...,
    sample_size: int | None = ...,
    return_std_error: Literal[True],
    n_jobs: int | None = ...,
    random_state: int | np.random.RandomState | None = ...,
    verbose: bool = ...,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def score_matrix(
    spaces: Arrays,
    partitions: Arrays,
    *,
    index: str = "silhouette",
    metric: str = "euclidean",
    noise: Noise = "error",
    sample_size: int | None = None,
    return_std_error: bool = False,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: bool = False,
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score every partition in every space, oriented so that larger is better.

    The distances of a space are made once, tile by tile, for all partitions, so the cost hardly
    grows with their number and no N×N matrix is ever held.

    Parameters
    ----------
    spaces : sequence or mapping of array-like of shape (n_samples, n_features_m)
        They may differ in width.
    partitions : sequence or mapping of array-like of shape (n_samples,)
        They may differ in their number of clusters, and need not be as many as the spaces.
    index : str, default="silhouette"
        A name from `INDICES`.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Cosine is for the silhouette, Dunn and the C-index.
    noise : {"error", "drop", "singletons", "penalise"}, default="error"
        What to do with points labelled -1: refuse them, leave them out, or make each a cluster of
        its own. "penalise" leaves them out, then moves the score towards the worst one in that
        space: a partition that covers a share c of the points gets c times its score plus 1 - c
        times the lowest score of all partitions there.
    sample_size : int, optional
        Estimate the silhouette from this many points, each compared with all others.
    return_std_error : bool, default=False
        Also return the standard errors of such an estimate (0 without `sample_size`).
    n_jobs : int, optional
        Threads, through joblib; each takes one space at a time. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the sample.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    scores : ndarray of shape (n_spaces, n_partitions)
        Davies-Bouldin, the C-index and S_Dbw are negated. A partition without a score has the
        worst of the matrix, and a warning names it.
    std_errors : ndarray of shape (n_spaces, n_partitions)
        Only with ``return_std_error=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.evaluation import score_matrix
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> score_matrix([X, X[::-1] ** 2], [[0, 0, 1, 1], [0, 1, 0, 1]]).round(3)
    array([[ 0.9  , -0.45 ],
           [ 0.899, -0.445]])
    """
    chosen = get_index(index, check_metric(metric))
    checked = check_spaces(*split_names(spaces))
    listed, names = split_names(partitions)
    stacked = Partitions.stack(listed, n_samples=len(checked[0]), noise=noise, names=names)
    points = None
    if sample_size is not None:
        points = draw_points(chosen, sample_size, len(checked[0]), random_state)
    task = ScoreTask(chosen, check_metric(metric), points=points, penalise=noise == "penalise")
    results = score_spaces(checked, stacked, task, n_jobs=n_jobs, verbose=verbose)
    scores, _ = fill_missing(np.stack([r.scores for r in results]), stacked.names)
    if not return_std_error:
        return scores
    none = np.zeros(scores.shape[1])
    return scores, np.stack([none if r.errors is None else r.errors for r in results])
