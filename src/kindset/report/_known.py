"""Whether a ranking that saw no labels is borne out by the labels that are known."""

from collections.abc import Sequence

import pandas as pd

from kindset.comparison import correlation

_FEWEST = 3
"""Runs below which an order says nothing."""


def doubts(
    names: Sequence[str], values: Sequence[float], measure: str, ranking: str = "the ranking"
) -> list[str]:
    """Say where the known labels speak against a ranking.

    Parameters
    ----------
    names : sequence of str
        The runs, the one that ranks highest first.
    values : sequence of float
        How far each agrees with the known labels.
    measure : str
        What that agreement is called.
    ranking : str, default="the ranking"
        What the order of the runs is called.
    """
    if len(names) < _FEWEST:
        return []
    return [*_contrary(values, measure, ranking), *_best_is_low(names, values, measure, ranking)]


def _contrary(values: Sequence[float], measure: str, ranking: str) -> list[str]:
    found = correlation(pd.Series(range(len(values), 0, -1)), pd.Series(values))
    # Written to two digits, so less than that is none.
    if not found < -0.005:
        return []
    return [
        f"The known labels speak against {ranking}: the higher a run stands in it, the less it "
        f"tends to agree with them (rank correlation with {measure} −{-found:.2f})."
    ]


def _best_is_low(
    names: Sequence[str], values: Sequence[float], measure: str, ranking: str
) -> list[str]:
    best = max(range(len(values)), key=values.__getitem__)
    if best < len(names) / 2:
        return []
    return [
        f"“{names[best]}” agrees most with the known labels ({measure} {values[best]:.2f}), but is "
        f"only number {best + 1} of {len(names)} in {ranking}."
    ]
