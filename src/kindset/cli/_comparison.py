"""Ranking of runs: from folders and files to tables, with or without known labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from kindset.evaluation import (
    AdaptiveEvaluation,
    adjusted_rand,
    clustering_accuracy,
    normalized_mutual_info,
)
from kindset.exceptions import InputError
from kindset.runs import Run, check_same_data, fingerprint

STRATEGIES = ("ace", "rank_average", "pooled", "paired")
TRUTHS = {"nmi": normalized_mutual_info, "acc": clustering_accuracy, "ari": adjusted_rand}


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
    """

    runs: list[Run]
    spaces: list[NDArray[Any]]
    owner: list[int]
    evaluations: dict[str, AdaptiveEvaluation]
    truth: NDArray[np.int64] | None = None

    def ranking(self, index: str) -> pd.DataFrame:
        """Return the ranking by one index, best run first."""
        evaluation = self.evaluations[index]
        table = evaluation.to_frame()
        table.insert(1, "clusters", [self.runs[i].n_clusters for i in evaluation.ranking_])
        if min(self.owner) >= 0:
            own = evaluation.score_matrix_[self.owner, np.arange(len(self.runs))]
            table["paired"] = own[evaluation.ranking_]
        if self.truth is not None:
            for name, measure in TRUTHS.items():
                values = [measure(self.truth, run.labels) for run in self.runs]
                table[name] = np.array(values)[evaluation.ranking_]
        return table.rename_axis("run")

    def consensus(self) -> pd.DataFrame:
        """Return the rank of every run by every index, best average first."""
        ranks = pd.DataFrame({name: self.ranking(name)["rank"] for name in self.evaluations})
        ranks["mean_rank"] = ranks.mean(axis=1)
        return ranks.sort_values("mean_rank", kind="stable")

    def agreement(self) -> pd.DataFrame | None:
        """Return the rank correlation of every strategy with the truth, by index."""
        if self.truth is None or len(self.runs) < 3:
            return None
        rows = {}
        for index in self.evaluations:
            table = self.ranking(index)
            for strategy in STRATEGIES:
                if strategy in table:
                    rows[index, strategy] = {
                        name: _correlation(table[strategy], table[name]) for name in TRUTHS
                    }
        return pd.DataFrame.from_dict(rows, orient="index")


def compare_runs(
    runs: Sequence[Run],
    indices: Sequence[str],
    *,
    truth: NDArray[np.int64] | None = None,
    **parameters: Any,
) -> Comparison:
    """Rank runs on the same data by one or several indices.

    Parameters
    ----------
    runs : sequence of Run
        At least two, at least one of them with a space.
    indices : sequence of str
        Names of indices.
    truth : ndarray of shape (n_samples,), default=None
        Known labels, only to report beside the ranking.
    **parameters
        Other parameters of `AdaptiveEvaluation`.
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
    evaluations = {
        index: AdaptiveEvaluation(index=index, **parameters).fit(
            spaces, partitions, names=[run.name for run in runs], space_names=space_names
        )
        for index in indices
    }
    return Comparison(list(runs), spaces, owner, evaluations, truth)


def _distinct_spaces(runs: Sequence[Run]) -> tuple[list[NDArray[Any]], list[int]]:
    """Return every space once, and which is whose: copies are no further evidence."""
    spaces: list[NDArray[Any]] = []
    seen: dict[Any, int] = {}
    owner = []
    for run in runs:
        if run.space is None:
            owner.append(-1)
            continue
        key = fingerprint(run.space)
        if key not in seen:
            seen[key] = len(spaces)
            spaces.append(run.space)
        owner.append(seen[key])
    return spaces, owner


def _space_name(runs: Sequence[Run], owner: Sequence[int], number: int) -> str:
    """Name a space by the first run that lives in it."""
    residents = [run.name for run, home in zip(runs, owner, strict=True) if home == number]
    others = f" (+{len(residents) - 1})" if len(residents) > 1 else ""
    return f"{residents[0]}{others}"


def _correlation(a: Any, b: Any) -> float:
    if a.nunique() < 2 or b.nunique() < 2:
        return float("nan")
    return float(spearmanr(a, b).statistic)
