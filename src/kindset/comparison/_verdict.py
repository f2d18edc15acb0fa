"""The verdict: which run to trust, how sure that is, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset.comparison._html import verdict_html
from kindset.comparison._indices import STRATEGIES
from kindset.comparison._noise import coverage_of
from kindset.comparison._reproducibility import reproducibility_of
from kindset.comparison._verdict_words import advice_of, headline_of, sentence_of, why_of
from kindset.comparison._weighing import Evidence
from kindset.evaluation import StructureTest, families_of, ranks_of
from kindset.runs import Run

Level = Literal["no structure", "undecided", "fair", "good"]

LEVELS: tuple[Level, ...] = get_args(Level)
"""How far the first place can be trusted, the least first."""

# Measured on pools of runs with known labels; docs/benchmarks/verdict-log.md has the tables.
_FAIR, _GOOD = 0.4, 0.6
# Clouds without groups reach this; no pool with labels that were found (AMI of 0.6) was below it.
_NOTHING = 0.12
# With a larger p-value, clouds without groups show as much as the data.
_ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class Verdict:
    """Which run to trust, how sure that is, and why; `Comparison.verdict` holds it.

    Attributes
    ----------
    table : DataFrame
        A row for each run, the best first. `place` is shared by runs that tie. `score` decides. It
        is made of `neighbours`, the excess neighbour information, and of the agreement with other
        runs that score well. `shortlist` marks the runs that are not clearly behind the leader.
        `agreement` is the mean adjusted Rand index with the other runs, and near-copies share a
        `family`. `reproducibility` is the agreement with runs that differ only in their seed, or of
        refits on resampled data. `blend` and the columns of the indices are what other rules say.
    spaces : DataFrame
        A row for each space, the most telling first: its `weight`, and what the `leader`, the
        `runner_up` and the `best` run score in it. A cut of a cloud without groups scores 0.
    evidence : Evidence
        What the verdict rests on.
    """

    table: pd.DataFrame
    spaces: pd.DataFrame
    evidence: Evidence

    heading: ClassVar[str] = "score"

    def __repr__(self) -> str:
        return f"Verdict({self.level!r}, leader {self.leader!r}, strength {self.strength:.2f})"

    def _repr_html_(self) -> str:
        return verdict_html(self.sentence, self.advice, self.table)

    @property
    def strength(self) -> float:
        """How clear the best groups are: 0 for a cloud without groups, about 1 if separate."""
        return float(self.evidence.neighbours.strength)

    @property
    def test(self) -> StructureTest | None:
        """The comparison with clouds without groups; None if it cannot change the level."""
        needless = self.evidence.is_clear or self.evidence.is_small or self.n_parts > 1
        return None if needless or not self.evidence.is_cut.any() else self.evidence.structure

    @property
    def level(self) -> Level:
        """How far to trust the first place."""
        if not self.evidence.is_cut.any():
            return "no structure"
        if self.evidence.is_clear or self.n_parts > 1:
            return self._trust
        if self.evidence.is_small:
            return "undecided"
        if self.strength < _NOTHING or self.evidence.structure.p_value > _ALPHA:
            return "no structure"
        return self._trust

    @property
    def _trust(self) -> Level:
        """How far to trust the first place if there is structure."""
        if self.strength >= _GOOD:
            return "good"
        has_parts = self.n_parts > 1 and self.evidence.has_parts
        return "fair" if self.strength >= _FAIR or has_parts else "undecided"

    @property
    def n_parts(self) -> int:
        """Number of parts of the data that do not touch; 1 if the groups are clear anyhow."""
        return 1 if self.evidence.is_clear else int(self.evidence.parts.max()) + 1

    @property
    def scores(self) -> "pd.Series[float]":
        """The score of every run by its name, larger for the better."""
        return self.table["score"]

    @property
    def shown(self) -> "pd.Series[float]":
        """The score of every run, as people read it."""
        return self.scores

    def order(self) -> list[str]:
        """Return the names of the runs, the best first."""
        return [str(name) for name in self.table.index]

    @property
    def leader(self) -> str:
        """The name of the first run."""
        return self.order()[0]

    @property
    def shortlist(self) -> list[str]:
        """The names of the runs on the shortlist, the leader first."""
        return [str(name) for name in self.table.index[self.table["shortlist"]]]

    @property
    def runner_up(self) -> str | None:
        """The best run that is no near-copy of the leader; None if there is none."""
        return runner_up_of(self.table)

    @cached_property
    def headline(self) -> str:
        """The verdict in a few words."""
        return headline_of(self)

    @cached_property
    def sentence(self) -> str:
        """The verdict in words."""
        return sentence_of(self)

    @cached_property
    def advice(self) -> str:
        """What to do next."""
        return advice_of(self)

    @cached_property
    def why(self) -> str:
        """Why the leader leads: which spaces decided, by how much, and what chance gives."""
        return why_of(self)


def runner_up_of(table: pd.DataFrame) -> str | None:
    """Return the first run of a verdict's table that is no near-copy of the leader."""
    others = table.index[table["family"] != table["family"].iloc[0]]
    return str(others[0]) if len(others) else None


def reach_verdict(
    runs: Sequence[Run],
    evidence: Evidence,
    rankings: Mapping[str, pd.DataFrame],
    space_names: Sequence[str],
) -> Verdict:
    """Judge runs by the evidence about them.

    Parameters
    ----------
    runs : sequence of Run
    evidence : Evidence
        About the labels of the runs, in their order.
    rankings : mapping of str to DataFrame
        What each index says, by run.
    space_names : sequence of str
        Names of the spaces, the raw data last if they are there.

    Returns
    -------
    verdict : Verdict
    """
    table = _table(runs, evidence, rankings)
    shown = {"leader": str(table.index[0]), "runner_up": runner_up_of(table)}
    column = {run.name: p for p, run in enumerate(runs)}
    chosen = {role: column[name] for role, name in shown.items() if name is not None}
    return Verdict(table, _spaces(evidence, chosen, space_names), evidence)


def _table(
    runs: Sequence[Run], evidence: Evidence, rankings: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    names = pd.Index([run.name for run in runs], name="run")
    scores = np.round(evidence.scores, 12)
    table = pd.DataFrame(
        {
            "place": ranks_of(scores),
            "score": scores,
            "shortlist": evidence.shortlist,
            "clusters": [run.n_clusters for run in runs],
            "coverage": coverage_of(runs).to_numpy(),
            "neighbours": evidence.neighbours.scores,
            "agreement": evidence.agreement.mean,
            "family": families_of(evidence.alike),
        },
        index=names,
    )
    table["reproducibility"] = reproducibility_of(runs)
    if "silhouette" in rankings:
        silhouette = rankings["silhouette"]["pooled"].reindex(names).to_numpy()
        table["blend"] = _blend(evidence, silhouette)
    for index, ranking in rankings.items():
        for strategy in STRATEGIES:
            if strategy in ranking:
                table[f"{index}_{strategy}"] = ranking[strategy]
    table = table.sort_index().sort_values("place", kind="stable")
    table["family"] = pd.factorize(table["family"])[0] + 1
    return table


def _blend(evidence: Evidence, silhouette: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean rank by neighbours (half), silhouette and agreement (a quarter each), 1 for the best."""
    signals = (evidence.neighbours.scores, silhouette, evidence.agreement.mean)
    ranks = [ranks_of(np.round(signal, 12)) for signal in signals]
    return np.asarray(0.5 * ranks[0] + 0.25 * ranks[1] + 0.25 * ranks[2])


def _spaces(
    evidence: Evidence, chosen: Mapping[str, int], space_names: Sequence[str]
) -> pd.DataFrame:
    found = evidence.neighbours
    names = pd.Index([space_names[s] for s in found.spaces], name="space")
    columns = {role: found.q[:, run] for role, run in chosen.items()}
    best = found.q.max(axis=1)
    table = pd.DataFrame({"weight": found.weights, **columns, "best": best}, index=names)
    return table.sort_index().sort_values("weight", ascending=False, kind="stable")
