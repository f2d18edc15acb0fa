"""Ranking of runs: from folders and files to tables, with or without known labels."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr

from kindset.evaluation import (
    INDICES,
    AdaptiveEvaluation,
    adjusted_rand,
    clustering_accuracy,
    normalized_mutual_info,
)
from kindset.evaluation._bootstrap import rank_intervals, ranks_of
from kindset.evaluation._labels import Noise, encode_labels
from kindset.evaluation._registry import get_index
from kindset.evaluation._spaces import check_metric
from kindset.exceptions import InputError
from kindset.runs import Run, SharedSpaces, check_same_data

_USUAL = ("silhouette", "calinski_harabasz", "davies_bouldin")
# Those of the main text of the ACE paper. None is right everywhere, so that several decide.

STRATEGIES = ("ace", "rank_average", "pooled", "paired")
Measure = Callable[[ArrayLike, ArrayLike], float]
TRUTHS: dict[str, Measure] = {
    "nmi": normalized_mutual_info,
    "acc": clustering_accuracy,
    "ari": adjusted_rand,
}


@dataclass
class Comparison:
    """Rankings of the same runs by one or several indices.

    Attributes
    ----------
    runs : list of Run
    spaces : list of ndarray
        The distinct spaces; a space that several runs share counts once.
    owner : list of int
        For each run the number of its space, -1 if it has none.
    evaluations : dict of str to AdaptiveEvaluation
        One for each index.
    truth : ndarray or None
        Known labels.
    noise : str
        What was done with the label -1.
    """

    runs: list[Run]
    spaces: list[NDArray[Any]]
    owner: list[int]
    evaluations: dict[str, AdaptiveEvaluation]
    truth: NDArray[np.int64] | None = None
    noise: Noise = "error"

    def ranking(self, index: str) -> pd.DataFrame:
        """Return the ranking by one index, best run first."""
        evaluation = self.evaluations[index]
        table = evaluation.to_frame()
        table.insert(1, "clusters", [self.runs[i].n_clusters for i in evaluation.ranking_])
        if max(self.owner) >= 0:
            own = evaluation.score_matrix_[self.owner, np.arange(len(self.runs))]
            own = np.where(np.array(self.owner) >= 0, own, np.nan)
            table["paired"] = own[evaluation.ranking_]
        if evaluation.missing_.any():
            concerned: NDArray[np.bool_] = np.logical_or.reduce(evaluation.missing_, axis=0)
            table["no_score"] = concerned[evaluation.ranking_]
        left_out = np.array([np.count_nonzero(run.labels == -1) for run in self.runs])
        if left_out.any():
            table["noise"] = left_out[evaluation.ranking_]
        if self.truth is not None:
            for name, measure in TRUTHS.items():
                values = [self._agreement(measure, run) for run in self.runs]
                table[name] = np.array(values)[evaluation.ranking_]
        return table.rename_axis("run")

    def _agreement(self, measure: Measure, run: Run) -> float:
        """Compare with the truth what the index was computed on."""
        assert self.truth is not None
        codes, _ = encode_labels(run.labels, noise=self.noise)
        covered = codes >= 0
        return measure(self.truth[covered], codes[covered])

    def consensus(self) -> pd.DataFrame:
        """Return the rank of every run by every index, the best mean rank first.

        Returns
        -------
        consensus : DataFrame
            A column for each index; their mean; the place that it gives, shared by those that tie;
            and the lowest and the highest plausible place: with one index or one space left out,
            and over bootstrap samples. Ties are in the order of the first index, then of names.
        """
        evaluations = list(self.evaluations.values())
        ranks = np.stack([ranks_of(evaluation.scores_) for evaluation in evaluations])
        left_out = [_places(np.stack([e.left_out_ranks_ for e in evaluations]))]
        if len(ranks) > 1:
            others = [np.delete(ranks, i, axis=0) for i in range(len(ranks))]
            left_out.append(_places(np.stack(others, axis=1)))
        place = _places(ranks)
        bounds = rank_intervals(place, self._resampled_places(ranks), np.concatenate(left_out))
        table = pd.DataFrame(dict(zip(self.evaluations, ranks, strict=True)))
        table["mean_rank"], table["place"] = ranks.mean(axis=0), place
        table["place_low"], table["place_high"] = bounds.T
        table.index = pd.Index([run.name for run in self.runs], name="run")
        first = next(iter(self.evaluations))
        return table.sort_index().sort_values(["place", first], kind="stable")

    def _resampled_places(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the places in each bootstrap sample."""
        drawn = [evaluation.bootstrap_ranks_ for evaluation in self.evaluations.values()]
        n = max(map(len, drawn))
        filled = [
            own if len(own) else np.tile(plain, (n, 1))
            for own, plain in zip(drawn, ranks, strict=True)
        ]
        return _places(np.stack(filled))

    def agreement(self) -> pd.DataFrame | None:
        """Return the rank correlation of every strategy with the truth, by index.

        The consensus comes first if there are several indices.
        """
        if self.truth is None or len(self.runs) < 3:
            return None
        rows = {}
        if len(self.evaluations) > 1:
            known = self.ranking(next(iter(self.evaluations)))
            standing = -self.consensus()["mean_rank"].reindex(known.index)
            rows["all", "mean_rank"] = {name: correlation(standing, known[name]) for name in TRUTHS}
        for index in self.evaluations:
            table = self.ranking(index)
            for strategy in STRATEGIES:
                if strategy in table:
                    rows[index, strategy] = {
                        name: correlation(table[strategy], table[name]) for name in TRUTHS
                    }
        return pd.DataFrame.from_dict(rows, orient="index")


def _places(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the places by the mean over the first axis; those that tie share theirs."""
    return ranks_of(-ranks.mean(axis=0))


def is_varied(evaluation: AdaptiveEvaluation) -> bool:
    """Whether there are several spaces to leave one out of, or points were resampled."""
    return bool(evaluation.kept_.sum() > 1 or evaluation.n_bootstrap)


def compare_runs(
    runs: Sequence[Run],
    indices: Sequence[str] | None = None,
    *,
    truth: NDArray[np.int64] | None = None,
    raw: NDArray[Any] | None = None,
    **parameters: Any,
) -> Comparison:
    """Rank runs on the same data by one or several indices.

    Parameters
    ----------
    runs : sequence of Run
        At least two, at least one of them with a space.
    indices : sequence of str, optional
        Names of indices; by default the silhouette, Calinski and Harabasz's, and Davies and
        Bouldin's, as far as they have the metric.
    truth : ndarray of shape (n_samples,), default=None
        Known labels, only to report beside the ranking.
    raw : ndarray of shape (n_samples, n_features), default=None
        The input data, to score in beside.
    **parameters
        Other parameters of `AdaptiveEvaluation`. `sample_size` is for the silhouette; indices that
        need sums over points only take all of them.
    """
    if len(runs) < 2:
        raise InputError("a comparison needs at least two runs.")
    check_same_data(runs)
    if truth is not None and len(truth) != len(runs[0]):
        raise InputError(f"there are {len(truth)} known labels for {len(runs[0])} samples.")
    spaces, owner = _distinct_spaces(runs)
    if not spaces:
        raise InputError("none of the runs has a space (an embedding) to compare in.")
    partitions = [run.labels for run in runs]
    space_names = [_space_name(runs, owner, number) for number in range(len(spaces))]
    _note_repeats(runs, owner)
    indices = indices or usual_indices(check_metric(parameters.get("metric", "euclidean")))
    if parameters.get("sample_size") is not None:
        _check_sampling(indices)
    evaluations = {}
    notes: dict[str, list[warnings.WarningMessage]] = {}
    for index in indices:
        with warnings.catch_warnings(record=True) as notes[index]:
            warnings.simplefilter("always")
            evaluations[index] = _evaluation(index, parameters).fit(
                spaces, partitions, raw=raw, names=[run.name for run in runs],
                space_names=space_names,
            )  # fmt: skip
    _pass_on(notes)
    noise = parameters.get("noise", "error")
    return Comparison(list(runs), spaces, owner, evaluations, truth, noise)


def usual_indices(metric: str) -> list[str]:
    """Return the indices that rank runs if none is asked for."""
    return [name for name in _USUAL if metric in INDICES[name].metrics]


def can_sample(indices: Sequence[str]) -> bool:
    """Return whether a sample of the points spares work, and every index can do with it."""
    known = [get_index(name) for name in indices]
    spared = [index for index in known if index.needs != "statistics"]
    return bool(spared) and all(index.sampled is not None for index in spared)


def _check_sampling(indices: Sequence[str]) -> None:
    if not can_sample(indices):
        raise InputError(
            f"{', '.join(indices)} cannot be estimated from a sample of the points: leave out "
            "--sample-size (sample_size), which is for the silhouette."
        )


def _evaluation(index: str, parameters: dict[str, Any]) -> AdaptiveEvaluation:
    evaluation = AdaptiveEvaluation(index=index, **parameters)
    known = INDICES.get(index)
    if known is not None and known.needs == "statistics":
        evaluation.sample_size = None
    if evaluation.n_bootstrap > 0 and known is not None and known.contributions is None:
        warnings.warn(
            f"{known.title} is not a sum over points and cannot be bootstrapped: its ranges come "
            "from leaving out spaces only.",
            stacklevel=3,
        )
        evaluation.n_bootstrap = 0
    return evaluation


def _note_repeats(runs: Sequence[Run], owner: Sequence[int]) -> None:
    """Say which runs are the same partition of the same space: they count as several."""
    alike: dict[tuple[int, bytes], list[str]] = {}
    for run, home in zip(runs, owner, strict=True):
        codes, _ = encode_labels(run.labels, noise="drop")
        if home >= 0:
            alike.setdefault((home, codes.tobytes()), []).append(run.name)
    repeated = [" = ".join(names) for names in alike.values() if len(names) > 1]
    if repeated:
        shown = "; ".join(repeated[:4]) + (f"; {len(repeated) - 4} more" * (len(repeated) > 4))
        warnings.warn(
            f"Some runs are the same partition in the same space, and count all the same: {shown}.",
            stacklevel=3,
        )


def _pass_on(notes: dict[str, list[warnings.WarningMessage]]) -> None:
    """Repeat the warnings, each once, with the names of the indices unless it comes from all."""
    sources: dict[tuple[str, type[Warning]], dict[str, None]] = {}
    for index, own in notes.items():
        for note in own:
            titles = sources.setdefault((str(note.message), note.category), {})
            titles[INDICES[index].title] = None
    for (message, category), titles in sources.items():
        by = "" if len(titles) == len(notes) else f"{', '.join(titles)}: "
        warnings.warn(f"{by}{message}", category, stacklevel=3)


def _distinct_spaces(runs: Sequence[Run]) -> tuple[list[NDArray[Any]], list[int]]:
    """Return every space once, and which is whose: copies are no further evidence."""
    spaces: list[NDArray[Any]] = []
    number: dict[int, int] = {}
    owner = []
    share = SharedSpaces()
    for run in map(share, runs):
        if run.space is None:
            owner.append(-1)
            continue
        if id(run.space) not in number:
            number[id(run.space)] = len(spaces)
            spaces.append(run.space)
        owner.append(number[id(run.space)])
    return spaces, owner


def _space_name(runs: Sequence[Run], owner: Sequence[int], number: int) -> str:
    """Name a space by the first run that lives in it."""
    residents = [run.name for run, home in zip(runs, owner, strict=True) if home == number]
    others = f" (+{len(residents) - 1})" if len(residents) > 1 else ""
    return f"{residents[0]}{others}"


def correlation(a: "pd.Series[Any]", b: "pd.Series[Any]") -> float:
    """Return the rank correlation of two columns; NaN if there is none."""
    both = a.notna() & b.notna()
    a, b = a[both], b[both]
    if a.nunique() < 2 or b.nunique() < 2:
        return float("nan")
    return float(spearmanr(a, b).statistic)
