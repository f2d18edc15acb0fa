"""What came out of a comparison."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset.comparison._consensus import Consensus
from kindset.comparison._correlation import correlation
from kindset.comparison._html import comparison_html
from kindset.comparison._indices import STRATEGIES
from kindset.comparison._judges import Judge, Likelihood, choose_judge
from kindset.comparison._known import known_table
from kindset.comparison._noise import DEFAULT_NOISE, coverage_of
from kindset.comparison._spaces import RAW, space_names
from kindset.comparison._verdict import Verdict, reach_verdict
from kindset.comparison._verdict_words import second_opinion
from kindset.comparison._weighing import Evidence
from kindset.comparison._writing import document_of, write_comparison
from kindset.evaluation import COVERED, KNOWN_MEASURES, AdaptiveEvaluation, Noise
from kindset.runs import Run


@dataclass(eq=False)
class Comparison:
    """Which of several runs to trust; `compare_runs` makes it.

    Attributes
    ----------
    runs : list of Run
        In the order in which they were given.
    spaces : list of ndarray
        The distinct spaces; a space that several runs share counts once.
    owner : list of int
        For each run the number of its space, -1 if it has none.
    evaluations : dict of str to AdaptiveEvaluation
        One for each index.
    truth : ndarray or None
        Known labels.
    noise : str
        What the indices did with the label -1.
    notes : list of str
        What a reader must know before trusting the ranking, one sentence or two each.
    evidence : Evidence
        What the verdict rests on.
    judged_by : {"auto", "verdict", "ace", "likelihood"}
        Who was asked to decide.
    """

    runs: list[Run]
    spaces: list[NDArray[Any]]
    owner: list[int]
    evaluations: dict[str, AdaptiveEvaluation]
    evidence: Evidence
    truth: NDArray[np.int64] | None = None
    noise: Noise = DEFAULT_NOISE
    notes: list[str] = field(default_factory=list)
    judged_by: str = "auto"

    def __repr__(self) -> str:
        spaces = f"{len(self.spaces)} space{'s' if len(self.spaces) > 1 else ''}"
        return f"Comparison({len(self.runs)} runs, {spaces}, leader {self.leader().name!r})"

    def _repr_html_(self) -> str:
        advice = self.verdict.advice if self.by_verdict else ""
        return comparison_html(self.sentence, advice, self.summary(), self.notes)

    @cached_property
    def judge(self) -> Judge:
        """What decides the order of the runs."""
        return choose_judge(self.judged_by, self.runs, self.verdict, self.evaluations)

    @cached_property
    def verdict(self) -> Verdict:
        """Which run to trust by how neighbours share groups, how sure that is, and why."""
        rankings = {index: self.ranking(index) for index in self.evaluations}
        return reach_verdict(self.runs, self.evidence, rankings, self.space_names)

    @property
    def space_names(self) -> list[str]:
        """The names of the spaces, that of the raw data last if they are there."""
        return [*space_names(self.runs, self.owner, len(self.spaces)), RAW]

    @property
    def by_verdict(self) -> bool:
        """Whether the verdict decides."""
        return self.judge is self.verdict

    @property
    def by_likelihood(self) -> bool:
        """Whether the smallest ICL decides: the runs are models of the same survey."""
        return isinstance(self.judge, Likelihood)

    @property
    def headline(self) -> str:
        """Which run leads, in a few words."""
        if self.by_verdict:
            return self.verdict.headline
        by = "describes the answers best" if self.by_likelihood else "has the best mean rank"
        return f"“{self.leader().name}” {by}"

    @property
    def sentence(self) -> str:
        """Which run leads and how sure that is; if the verdict did not decide, what it says."""
        if self.by_verdict:
            return self.verdict.sentence
        return f"{self.judge.sentence} {second_opinion(self.verdict, self.leader().name)}"

    def order(self) -> list[Run]:
        """Return the runs, the best first."""
        by_name = {run.name: run for run in self.runs}
        return [by_name[name] for name in self.judge.order()]

    def leader(self) -> Run:
        """Return the run that comes first."""
        return self.order()[0]

    @cached_property
    def coverage(self) -> "pd.Series[float]":
        """The share of the samples that each run gives a label, by the name of the run."""
        return coverage_of(self.runs)

    @cached_property
    def known(self) -> pd.DataFrame:
        """The agreement of each run with the known labels; no rows without such labels.

        The columns nmi, acc and ari count all samples, and each without a label is a cluster of its
        own. Those that end in ``_covered`` count only the samples with a label.
        """
        return known_table(self.runs, self.truth)

    def summary(self) -> pd.DataFrame:
        """Return a short table, the best run first.

        Returns
        -------
        summary : DataFrame
            What decided, whether the run is on the shortlist, the number of clusters, the
            coverage, and the agreement with known labels if there are any; indexed by run.
        """
        listed = {"shortlist": self.verdict.table["shortlist"]} if self.by_verdict else {}
        table = pd.DataFrame(
            {
                self.judge.heading: self.judge.shown,
                **listed,
                "clusters": pd.Series({run.name: run.n_clusters for run in self.runs}),
                "coverage": self.coverage,
                **{name: self.known[name] for name in KNOWN_MEASURES if len(self.known)},
            }
        )
        return table.loc[self.judge.order()].rename_axis("run")

    def ranking(self, index: str) -> pd.DataFrame:
        """Return the ranking by one index, best run first."""
        evaluation = self.evaluations[index]
        table = evaluation.to_frame()
        table.insert(1, "clusters", [self.runs[i].n_clusters for i in evaluation.ranking_])
        table.insert(2, "coverage", self.coverage.to_numpy()[evaluation.ranking_])
        if max(self.owner) >= 0:
            own = evaluation.score_matrix_[self.owner, np.arange(len(self.runs))]
            own = np.where(np.array(self.owner) >= 0, own, np.nan)
            table["paired"] = own[evaluation.ranking_]
        if evaluation.missing_.any():
            concerned: NDArray[np.bool_] = np.logical_or.reduce(evaluation.missing_, axis=0)
            table["no_score"] = concerned[evaluation.ranking_]
        unlabelled = np.array([np.count_nonzero(run.labels == -1) for run in self.runs])
        if unlabelled.any():
            table["noise"] = unlabelled[evaluation.ranking_]
        if self.truth is not None:
            shown = [name for name in self.known if unlabelled.any() or COVERED not in str(name)]
            table = table.join(self.known[shown])
        return table.rename_axis("run")

    def consensus(self) -> pd.DataFrame:
        """Return the rank of every run by every index, the best mean rank first.

        Returns
        -------
        consensus : DataFrame
            A column for each index; their mean; the place that it gives, shared by those that tie;
            and the lowest and the highest place: with one index or one space left out,
            and over bootstrap samples. Ties are in the order of the first index, then of names.
        """
        return self._consensus.table.copy()

    @cached_property
    def _consensus(self) -> Consensus:
        return Consensus(self.evaluations)

    def agreement(self) -> pd.DataFrame | None:
        """Return the rank correlation of every strategy with the known labels, by index.

        The verdict comes first, then the consensus if there are several indices. None without
        known labels, and for fewer than three runs.
        """
        if self.truth is None or len(self.runs) < 3:
            return None
        rows = {("verdict", "score"): self._correlations(self.verdict.scores)}
        if len(self.evaluations) > 1:
            rows["all", "mean_rank"] = self._correlations(self._consensus.scores)
        for index in self.evaluations:
            table = self.ranking(index)
            for strategy in STRATEGIES:
                if strategy in table:
                    rows[index, strategy] = self._correlations(table[strategy])
        return pd.DataFrame.from_dict(rows, orient="index")

    def to_dict(self) -> dict[str, Any]:
        """Return everything about the comparison as plain values, for JSON."""
        return document_of(self)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Fill a folder that exists with tables (CSV), figures (PNG, SVG) and `compare.json`."""
        write_comparison(self, Path(folder))

    def _correlations(self, scores: "pd.Series[float]") -> dict[str, float]:
        known = self.known.reindex(scores.index)
        return {name: correlation(scores, known[name]) for name in KNOWN_MEASURES}
