"""Who decides which run leads: a judge gives every run a score, and the runs an order."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from kindset.comparison._consensus import Consensus
from kindset.comparison._verdict import Verdict
from kindset.evaluation import AdaptiveEvaluation
from kindset.exceptions import InputError
from kindset.runs import Run


class Judge(Protocol):
    """Scores runs and puts them in order.

    To add one, write a class with these members and let `choose_judge` return it. Its results must
    not depend on the order in which the runs come, so names decide ties.
    """

    heading: ClassVar[str]
    """What a column of `shown` is called."""

    @property
    def scores(self) -> "pd.Series[float]":
        """The score of every run by its name, larger for the better."""

    @property
    def shown(self) -> "pd.Series[float]":
        """The numbers behind the scores, as people usually read them."""

    @property
    def sentence(self) -> str:
        """Which run leads, and how sure that is."""

    def order(self) -> list[str]:
        """Return the names of the runs, the best first."""


class Likelihood:
    """Judges mixture models of one survey by their ICL, the smallest first.

    Parameters
    ----------
    criteria : mapping of str to float
        The ICL of each run by its name.
    """

    heading: ClassVar[str] = "ICL"

    def __init__(self, criteria: Mapping[str, float]) -> None:
        self._criteria = criteria

    @property
    def scores(self) -> "pd.Series[float]":
        """Minus the ICL of every run."""
        return -self.shown

    @property
    def shown(self) -> "pd.Series[float]":
        """The ICL of every run."""
        return pd.Series(self._criteria, name=self.heading, dtype=np.float64).rename_axis("run")

    @property
    def sentence(self) -> str:
        """Which model describes the answers best, and by how much."""
        first, second = self.order()[:2]
        return (
            f"“{first}” describes the answers best of {len(self._criteria)} models: its ICL is "
            f"{self._criteria[first]:,.0f}, that of the next, “{second}”, is "
            f"{self._criteria[second]:,.0f}. Smaller is better."
        )

    def order(self) -> list[str]:
        """Return the names of the runs, the smallest ICL first."""
        return sorted(self._criteria, key=lambda name: (self._criteria[name], name))


JUDGES = ("auto", "verdict", "ace", "likelihood")
"""Who may decide; "auto" takes the likelihood for models of one survey, else the verdict."""


def check_judge(judge: str, runs: Sequence[Run]) -> None:
    """Refuse a judge that is unknown, or that cannot judge these runs."""
    if judge not in JUDGES:
        raise InputError(
            f"judge={judge!r} is unknown; choose from {', '.join(JUDGES)}.", parameter="judge"
        )
    if judge == "likelihood" and not survey_criteria(runs):
        raise InputError(
            "the likelihoods of these runs cannot be compared: they are not all models of the "
            "same survey answers.",
            parameter="judge",
        )


def choose_judge(
    name: str,
    runs: Sequence[Run],
    verdict: Verdict,
    evaluations: Mapping[str, AdaptiveEvaluation],
) -> Judge:
    """Return who decides between these runs.

    Mixtures of the same answers have a likelihood. It says more about them than any other signal.
    """
    criteria = survey_criteria(runs) if name in ("auto", "likelihood") else {}
    if criteria:
        return Likelihood(criteria)
    return Consensus(evaluations) if name == "ace" else verdict


def survey_criteria(runs: Sequence[Run]) -> dict[str, float]:
    """Return the ICL of every run; nothing unless all are models of the same survey answers."""
    values = {run.name: _icl(run) for run in runs}
    is_survey = all(_value(run.details, "kind") == "survey" for run in runs)
    # Likelihoods of other columns of the same table cannot be compared.
    is_same = all(run.data == runs[0].data for run in runs)
    if len(runs) < 2 or not is_survey or not is_same or None in values.values():
        return {}
    return {name: value for name, value in values.items() if value is not None}


def _icl(run: Run) -> float | None:
    value = _value(run.metrics, "icl")
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if np.isfinite(number) else None


def _value(facts: Any, key: str) -> Any:
    """Return a value of what a file may have damaged."""
    return facts.get(key) if isinstance(facts, dict) else None
