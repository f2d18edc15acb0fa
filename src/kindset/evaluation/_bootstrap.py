"""How sure a ranking is: resampled points, and one space left out at a time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Evaluate = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_COVERAGE = 0.95


def draw_weights(n_bootstrap: int, n: int, rng: np.random.RandomState) -> NDArray[np.uint16]:
    """How often each of `n` points is drawn, for every bootstrap sample."""
    weights = np.empty((n_bootstrap, n), dtype=np.uint16)
    for row in weights:
        row[:] = np.bincount(rng.randint(n, size=n), minlength=n)
    return weights


def ranks_of(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank 1 for the largest score; scores equal to twelve digits share the mean of their ranks."""
    size = np.abs(scores).max(axis=-1, keepdims=True)
    rounded = np.round(scores / np.where(size > 0, size, 1.0), 12)
    return np.asarray(stats.rankdata(-rounded, axis=-1))


def bootstrap_ranks(resampled: NDArray[np.float64], evaluate: Evaluate) -> NDArray[np.float64]:
    """Ranks of the partitions for each resampled matrix (n_bootstrap, n_spaces, n_partitions)."""
    ranks = []
    for matrix in resampled:
        worst = np.nanmin(matrix)
        ranks.append(ranks_of(evaluate(np.where(np.isfinite(matrix), matrix, worst))))
    return np.array(ranks).reshape(len(resampled), resampled.shape[2])


def leave_one_out_ranks(scores: NDArray[np.float64], evaluate: Evaluate) -> NDArray[np.float64]:
    """Ranks of the partitions without each of the spaces; none if there is only one."""
    if len(scores) < 2:
        return np.empty((0, scores.shape[1]))
    kept = (np.delete(scores, row, axis=0) for row in range(len(scores)))
    return np.array([ranks_of(evaluate(matrix)) for matrix in kept])


def rank_intervals(
    ranks: NDArray[np.float64],
    bootstrapped: NDArray[np.float64],
    left_out: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Range of ranks of each partition: the lowest and the highest.

    The interval holds the rank itself, the central 95 % of its bootstrap ranks and all of its ranks
    with one space left out.
    """
    low, high = ranks.copy(), ranks.copy()
    if len(bootstrapped):
        tail = (1 - _COVERAGE) / 2
        # Ranks are counts, so quantiles are taken among them and not between.
        low = np.minimum(low, np.quantile(bootstrapped, tail, axis=0, method="lower"))
        high = np.maximum(high, np.quantile(bootstrapped, 1 - tail, axis=0, method="higher"))
    if len(left_out):
        low = np.minimum(low, left_out.min(axis=0))
        high = np.maximum(high, left_out.max(axis=0))
    return np.column_stack([low, high])


def win_shares(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of resamples (rows) in which each partition comes first; ties share the win."""
    first = ranks == ranks.min(axis=1, keepdims=True)
    return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))
