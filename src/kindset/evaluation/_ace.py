"""Adaptive clustering evaluation of a finished score matrix."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from kindset.evaluation._correlation import rank_correlation, significant_edges
from kindset.evaluation._grouping import Compat, correlation_groups, score_subgroups
from kindset.evaluation._links import link_weights

_OUTLIER_ALPHA = 0.05
# Mean scores this close, relatively, are a tie.
_TIE = 1e-12


@dataclass(frozen=True)
class AceSettings:
    """Choices of the method; see `AdaptiveEvaluation` for what they mean."""

    alpha: float = 0.1
    grouping: Literal["hdbscan", "dbscan"] = "hdbscan"
    eps: float = 0.1
    link: Literal["pagerank", "hits"] = "pagerank"
    include_outliers: bool = False
    compat: Compat = None


@dataclass(frozen=True)
class AceResult:
    """What the method found; every array is over the rows of the matrix it was given."""

    scores: NDArray[np.float64]
    groups: NDArray[np.intp]
    subgroups: NDArray[np.intp]
    selected: NDArray[np.intp]
    weights: NDArray[np.float64]
    correlation: NDArray[np.float64]
    edges: NDArray[np.float64]


@dataclass(frozen=True)
class _Candidate:
    """A subgroup (or an outlier space) with its weights and the scores they give."""

    members: NDArray[np.intp]
    weights: NDArray[np.float64]
    scores: NDArray[np.float64]

    @property
    def mean(self) -> float:
        return float(self.scores.mean())


def varying_rows(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows that tell partitions apart at all."""
    return np.asarray(scores.max(axis=1) > scores.min(axis=1))


def _best(candidates: list[_Candidate], compat: Compat) -> _Candidate:
    """Largest mean score; of those that tie, the larger group.

    Candidates that tie in both decide together, each with the same say, so that the order in which
    spaces come does not matter. The authors' program takes the first.
    """
    top = max(candidate.mean for candidate in candidates)
    tied = [c for c in candidates if c.mean >= top - _TIE * abs(top)]
    most = max(len(c.members) for c in tied)
    largest = [c for c in tied if len(c.members) == most]
    if compat is not None or len(largest) == 1:
        return largest[0]
    return _Candidate(
        np.concatenate([c.members for c in largest]),
        np.concatenate([c.weights for c in largest]) / len(largest),
        np.mean([c.scores for c in largest], axis=0),
    )


def _single(scores: NDArray[np.float64], row: int) -> _Candidate:
    return _Candidate(np.array([row]), np.ones(1), scores[row])


def _select(
    scores: NDArray[np.float64],
    subgroups: NDArray[np.intp],
    edges: NDArray[np.float64],
    settings: AceSettings,
) -> _Candidate:
    """Weigh the spaces of each subgroup and take the subgroup with the highest scores."""
    groups = []
    for subgroup in range(subgroups.max(initial=-1) + 1):
        members = np.flatnonzero(subgroups == subgroup)
        inside = edges[np.ix_(members, members)]
        weights = link_weights(inside, settings.link, settings.compat)
        # Not a product of matrices, which may round equal columns differently.
        weighted = (weights[:, None] * scores[members]).sum(axis=0)
        groups.append(_Candidate(members, weights, weighted))
    outliers = [_single(scores, int(row)) for row in np.flatnonzero(subgroups < 0)]
    if not groups:
        return _best(outliers, settings.compat)
    chosen = _best(groups, settings.compat)
    if settings.include_outliers and outliers:
        rival = _best(outliers, settings.compat)
        if rival.mean > chosen.mean and _clearly_larger(rival.scores, chosen.scores):
            return rival
    return chosen


def _clearly_larger(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Paired one-sided t-test; a constant positive difference counts as clear."""
    difference = a - b
    spread = difference.std(ddof=1) if len(difference) > 1 else 0.0
    if spread == 0:
        return len(difference) > 1 and bool(difference.mean() > 0)
    return bool(stats.ttest_rel(a, b, alternative="greater").pvalue < _OUTLIER_ALPHA)


def evaluate(scores: NDArray[np.float64], settings: AceSettings) -> AceResult:
    """Apply the method to a matrix (spaces × partitions) whose rows all vary."""
    correlation = rank_correlation(scores, settings.compat)
    groups = correlation_groups(
        correlation, method=settings.grouping, eps=settings.eps, compat=settings.compat
    )
    edges = significant_edges(correlation, scores.shape[1], settings.alpha)
    subgroups = score_subgroups(scores, groups, settings.compat)
    chosen = _select(scores, subgroups, edges, settings)
    weights = np.zeros(len(scores))
    weights[chosen.members] = chosen.weights
    return AceResult(chosen.scores, groups, subgroups, chosen.members, weights, correlation, edges)
