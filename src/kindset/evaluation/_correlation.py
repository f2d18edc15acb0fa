"""Rank correlation between the rows of a score matrix, with tests."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from kindset.evaluation._grouping import Compat


def rank_correlation(scores: NDArray[np.float64], compat: Compat = None) -> NDArray[np.float64]:
    """Spearman correlation between all pairs of rows; 0 where a row is constant.

    With ``compat="paper"`` the last digits are those of pandas: they decide how ties between
    distances fall, and with them the authors' groups.
    """
    if compat is not None:
        return np.asarray(pd.DataFrame(scores.T).corr(method="spearman").fillna(0.0))
    ranks = stats.rankdata(scores, axis=1)
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    units = centred / np.where(lengths > 0, lengths, 1.0)[:, None]
    correlation = np.clip(units @ units.T, -1.0, 1.0)
    correlation = 0.5 * (correlation + correlation.T)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def positive_pvalues(correlation: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """One-sided p-values of r > 0 from n observations, by Student's t; 1 if there are too few."""
    if n < 3:
        return np.ones_like(correlation)
    with np.errstate(divide="ignore"):
        t = correlation * np.sqrt((n - 2) / ((1.0 + correlation) * (1.0 - correlation)))
    return np.asarray(stats.t.sf(t, n - 2))


def holm_rejects(pvalues: NDArray[np.float64], alpha: float) -> NDArray[np.bool_]:
    """Which hypotheses Holm's procedure rejects at level `alpha`.

    Examples
    --------
    >>> holm_rejects(np.array([0.01, 0.04, 0.03]), 0.05)
    array([ True, False, False])
    """
    order = np.argsort(pvalues, kind="stable")
    passed = pvalues[order] <= alpha / np.arange(len(pvalues), 0, -1)
    rejects = np.zeros(len(pvalues), dtype=bool)
    rejects[order[np.logical_and.accumulate(passed)]] = True
    return rejects


def significant_edges(
    correlation: NDArray[np.float64], n: int, alpha: float
) -> NDArray[np.float64]:
    """Keep positive correlations that are significant over all pairs; 0 elsewhere."""
    i, j = np.triu_indices(len(correlation), k=1)
    edges = np.zeros_like(correlation)
    if len(i) == 0:
        return edges
    keep = holm_rejects(positive_pvalues(correlation[i, j], n), alpha) & (correlation[i, j] > 0)
    edges[i[keep], j[keep]] = correlation[i[keep], j[keep]]
    return edges + edges.T
