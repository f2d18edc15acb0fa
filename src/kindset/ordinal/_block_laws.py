"""The law of the answers in a block of a latent block model, by name.

A law turns the counts of the answers in all blocks of one column cluster into parameters and
log-probabilities. To add one, write a class with the methods of `BlockLaw` and an entry in
`BLOCK_LAWS`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._distributions import law
from kindset.ordinal._univariate import best_parameters, log_pmf

_SMALLEST = 1e-10


class BlockLaw(Protocol):
    """The answers' distribution in the blocks of one column cluster."""

    def maximize(self, counts: FloatArray) -> FloatArray:
        """Return the best parameters (row cluster, parameter) for counts (row cluster, answer)."""

    def log_pmf(self, parameters: FloatArray, m: int) -> FloatArray:
        """Return log-probabilities (row cluster, answer); all finite."""

    def n_parameters(self, n_row_clusters: int, m: int) -> int:
        """Return the number of free continuous parameters of these blocks."""


@dataclass(frozen=True)
class PositionAndPrecision:
    """BOS or GOD: a position, counted from 0, and a precision for each block."""

    name: str

    def maximize(self, counts: FloatArray) -> FloatArray:
        """Return the exact maximum for each block; an empty block gets the middle, imprecise."""
        m = counts.shape[1]
        out = np.empty((len(counts), 2))
        for k, column in enumerate(counts):
            out[k] = m // 2, 0.5
            if m > 1:
                known = law(self.name, m)
                start = (m // 2, float(known.grid[0]))
                out[k] = start
                if column.sum() > 0:
                    out[k] = best_parameters(
                        known.coefficients, known.grid, known.log_pmf_grid, column, start
                    )[:2]
        return out

    def log_pmf(self, parameters: FloatArray, m: int) -> FloatArray:
        """Return the log-probabilities."""
        if m == 1:
            return np.zeros((len(parameters), 1))
        tensor = law(self.name, m).coefficients
        return np.array([log_pmf(tensor[int(mode)], float(pi)) for mode, pi in parameters])

    def n_parameters(self, n_row_clusters: int, m: int) -> int:
        """Return the number of precisions; positions are discrete and not counted."""
        return n_row_clusters if m > 1 else 0


@dataclass(frozen=True)
class FreeProbabilities:
    """Any probabilities."""

    def maximize(self, counts: FloatArray) -> FloatArray:
        """Return the shares, none of them zero; an empty block is uniform."""
        total = counts.sum(axis=1, keepdims=True)
        even = np.full_like(counts, 1 / counts.shape[1])
        shares = np.divide(counts, total, out=even, where=total > 0)
        shares = np.maximum(shares, _SMALLEST)
        return shares / shares.sum(axis=1, keepdims=True)

    def log_pmf(self, parameters: FloatArray, m: int) -> FloatArray:
        """Return the log-probabilities."""
        return np.log(parameters)

    def n_parameters(self, n_row_clusters: int, m: int) -> int:
        """Return the number of free probabilities."""
        return n_row_clusters * (m - 1)


BLOCK_LAWS: dict[str, BlockLaw] = {
    "bos": PositionAndPrecision("bos"),
    "god": PositionAndPrecision("god"),
    "categorical": FreeProbabilities(),
}
