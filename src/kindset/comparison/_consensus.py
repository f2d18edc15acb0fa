"""One ranking from several indices: the mean of the ranks."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset.evaluation import AdaptiveEvaluation, rank_intervals, ranks_of


class Consensus:
    """Judges runs by the mean of their ranks by each index.

    Parameters
    ----------
    evaluations : mapping of str to AdaptiveEvaluation
        One for each index, fitted on the same runs.
    """

    heading: ClassVar[str] = "mean rank"

    def __init__(self, evaluations: Mapping[str, AdaptiveEvaluation]) -> None:
        self._evaluations = evaluations
        self._names = next(iter(evaluations.values())).partition_names_

    @property
    def scores(self) -> "pd.Series[float]":
        """How many runs rank behind each, on average over the indices."""
        return (len(self._names) - self.shown).rename("score")

    @property
    def shown(self) -> "pd.Series[float]":
        """The mean rank of every run."""
        return self.table["mean_rank"].reindex(self._names).rename(self.heading)

    @property
    def sentence(self) -> str:
        """Which run comes first, and by what."""
        n = len(self._evaluations)
        by = "its ACE score" if n == 1 else f"the mean of its ACE ranks by {n} indices"
        first = self.order()[0]
        places = self.table["place"]
        tied = int((places == places.iloc[0]).sum()) - 1
        shared = f" It shares the place with {tied} more." if tied else ""
        return f"“{first}” comes first of {len(self._names)} runs by {by}.{shared}"

    def order(self) -> list[str]:
        """Return the names of the runs, the best place first."""
        return [str(name) for name in self.table.index]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rank of every run by every index, the best mean rank first.

        The columns are the indices; their mean; the place that it gives, shared by those that tie;
        and the lowest and the highest place: with one index or one space left out, and
        over bootstrap samples. Ties are in the order of the first index, then of names.
        """
        evaluations = list(self._evaluations.values())
        ranks = np.stack([ranks_of(evaluation.scores_) for evaluation in evaluations])
        left_out = [_places(np.stack([e.left_out_ranks_ for e in evaluations]))]
        if len(ranks) > 1:
            others = [np.delete(ranks, i, axis=0) for i in range(len(ranks))]
            left_out.append(_places(np.stack(others, axis=1)))
        place = _places(ranks)
        bounds = rank_intervals(place, self._resampled_places(ranks), np.concatenate(left_out))
        table = pd.DataFrame(dict(zip(self._evaluations, ranks, strict=True)))
        table["mean_rank"], table["place"] = ranks.mean(axis=0), place
        table["place_low"], table["place_high"] = bounds.T
        table.index = pd.Index(self._names, name="run")
        first = next(iter(self._evaluations))
        return table.sort_index().sort_values(["place", first], kind="stable")

    def _resampled_places(self, ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the places in each bootstrap sample."""
        drawn = [evaluation.bootstrap_ranks_ for evaluation in self._evaluations.values()]
        n = max(map(len, drawn))
        filled = [
            own if len(own) else np.tile(plain, (n, 1))
            for own, plain in zip(drawn, ranks, strict=True)
        ]
        return _places(np.stack(filled))


def _places(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the places by the mean over the first axis; those that tie share theirs."""
    return ranks_of(-ranks.mean(axis=0))
