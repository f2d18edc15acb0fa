"""Scores that are made of what each point contributes, and so can be resampled cheaply.

A bootstrap sample is a vector of weights over the points. Instead of computing an index anew on
the sample, the contributions of the points are weighted.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class Contributions(Protocol):
    """What an index must offer to be bootstrapped over points."""

    def score(self, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Scores (n_rows_of_weights, n_partitions); one row for the data as it is, without."""


def divide(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``a / b`` with NaN, silently, where `b` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b == 0, np.nan, a / b)


def cluster_totals(
    weights: NDArray[np.float64],
    values: NDArray[np.float64],
    codes: NDArray[np.int32],
    n_clusters: int,
) -> NDArray[np.float64]:
    """Weighted sums of `values` over each cluster, one row for each row of weights."""
    covered = np.flatnonzero(codes >= 0)
    members = sparse.csr_matrix(
        (values[covered], (codes[covered], covered)), shape=(n_clusters, len(codes))
    )
    return np.asarray((members @ weights.T).T)
