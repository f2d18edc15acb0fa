"""From runs to a comparison."""

from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from kindset._arrays import check_space
from kindset.comparison._comparison import Comparison
from kindset.comparison._evaluating import Scoring, evaluate
from kindset.comparison._indices import choose_sample, usual_indices
from kindset.comparison._judges import check_judge
from kindset.comparison._known import check_truth
from kindset.comparison._noise import DEFAULT_NOISE, coverage_of, note_low_coverage
from kindset.comparison._spaces import RAW, distinct_spaces, note_repeats, space_names
from kindset.comparison._weighing import Weighing
from kindset.evaluation import check_metric, check_noise
from kindset.exceptions import InputError
from kindset.runs import Run, assumed_same, check_same_data, distinct_names


def compare_runs(
    runs: Sequence[Run],
    indices: Sequence[str] | None = None,
    *,
    truth: ArrayLike | None = None,
    raw: ArrayLike | None = None,
    judge: str = "auto",
    metric: str = "euclidean",
    noise: str = DEFAULT_NOISE,
    n_bootstrap: int = 0,
    sample_size: int | None = None,
    same_rows: bool = False,
    n_jobs: int | None = None,
    random_state: int | None = 0,
    verbose: bool = False,
) -> Comparison:
    """Say which of several runs on the same samples to trust.

    Parameters
    ----------
    runs : sequence of Run
        At least two. At least one needs a space, unless `raw` is given.
    indices : sequence of str, optional
        Names of indices to show beside the verdict; by default the silhouette, Calinski and
        Harabasz's, and Davies and Bouldin's, as far as they have the metric.
    truth : array-like of shape (n_samples,), optional
        Known labels, whole numbers or text. They are reported beside the ranking and do not change
        it.
    raw : array-like of shape (n_samples, n_features), optional
        The input data, to judge in as well. It counts as much as four spaces.
    judge : {"auto", "verdict", "ace", "likelihood"}, default="auto"
        What decides. "verdict" asks how far neighbours share groups in all spaces. "ace" ranks by
        the indices as published, and takes the mean rank of several. "likelihood" takes the
        smallest ICL of models of one survey. "auto" takes the likelihood where there is one, else
        the verdict.
    metric : {"euclidean", "cosine"}, default="euclidean"
    noise : {"penalise", "drop", "singletons", "error"}, default=DEFAULT_NOISE
        What the indices do with samples labelled -1; see `AdaptiveEvaluation`.
    n_bootstrap : int, default=0
        Bootstrap samples of the points, for the ranges of the ranks.
    sample_size : int, optional
        Estimate the silhouette from this many points. By default from 4,000 if there are more than
        20,000 samples, and a note says so; from all otherwise.
    same_rows : bool, default=False
        State that row i is the same sample in all runs, whatever their records say.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int or None, default=0
        Draws the bootstrap samples and the samples of points.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    comparison : Comparison
        Its `notes` carry the cautions.

    Raises
    ------
    InputError
        If the runs are not of the same samples, or cannot be scored.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.comparison import compare_runs
    >>> from kindset.runs import Run
    >>> space = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> runs = [Run([0, 0, 0, 1, 1, 1], space, name="two"),
    ...         Run([0, 1, 1, 0, 0, 2], space, name="three")]
    >>> compare_runs(runs).leader().name
    'two'
    """
    rule = check_noise(noise)
    runs = _told_apart(runs)
    if len(runs) < 2:
        raise InputError("a comparison needs at least two runs.")
    check_same_data(runs, same_rows=same_rows)
    check_judge(judge, runs)
    known = check_truth(truth, len(runs[0]))
    if raw is not None:
        raw = check_space(raw, name=RAW, n_samples=len(runs[0]))
    spaces, owner = distinct_spaces(runs, raw)
    if max(owner) < 0:
        raw = None  # it is the only space already
    indices = list(indices or usual_indices(check_metric(metric)))
    size, sampled = choose_sample(indices, len(runs[0]), sample_size, n_bootstrap)
    scoring = Scoring(metric, rule, n_bootstrap, size, n_jobs, random_state, verbose)
    partitions = [run.labels for run in runs]
    indices, unscored = _with_scores(indices, runs, judge)
    evaluations, cautions = evaluate(
        indices,
        scoring,
        spaces,
        partitions,
        raw=raw,
        names=[run.name for run in runs],
        space_names=space_names(runs, owner, len(spaces)),
    )
    weighing = Weighing(raw, check_metric(metric), n_jobs, random_state, verbose)
    notes = [
        *([] if same_rows else assumed_same(runs)),
        *weighing.notes(len(runs[0])),
        *sampled,
        *unscored,
        *note_low_coverage(coverage_of(runs), rule),
        *note_repeats(runs, owner),
        *cautions,
    ]
    evidence = weighing.weigh(spaces, owner, partitions)
    return Comparison(runs, spaces, owner, evaluations, evidence, known, rule, notes, judge)


def _with_scores(
    indices: list[str], runs: Sequence[Run], judge: str
) -> tuple[list[str], list[str]]:
    """Return the indices that have a score for some run, and a note if none has."""
    if any(run.n_clusters >= 2 for run in runs):
        return indices, []
    note = "No run has two groups, so no index has a score for any of them."
    if judge == "ace":
        raise InputError(note, parameter="judge")
    return [], [note]


def _told_apart(runs: Sequence[Run]) -> list[Run]:
    """Give runs of the same name names that tell them apart."""
    runs = list(runs)
    return [
        run if run.name == name else replace(run, name=name)
        for run, name in zip(runs, distinct_names(runs), strict=True)
    ]
