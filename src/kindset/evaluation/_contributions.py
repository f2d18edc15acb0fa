"""Scores that are made of one contribution per point, and so can be resampled cheaply.

A bootstrap sample is a vector of weights over the points. Instead of computing an index anew on
the sample, its contributions are weighted; what they were computed from (distances to other
points, centroids) stays as it is in the full data.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kindset.evaluation._labels import Partitions


class Contributions(Protocol):
    """What an index must offer to be bootstrapped over points."""

    def score(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores (n_samples_of_weights, n_partitions) for rows of point weights."""


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


@dataclass(frozen=True)
class PointMeans:
    """An index that is the mean of a value per point, over all points or cluster by cluster."""

    values: NDArray[np.float64]
    partitions: Partitions
    by_cluster: bool

    def score(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted means; a cluster that a sample misses does not count in it."""
        codes = self.partitions.codes
        if not self.by_cluster:
            covered = (codes >= 0).astype(np.float64)
            return divide(weights @ self.values.T, weights @ covered.T)
        columns = []
        for values, code, k in zip(self.values, codes, self.partitions.n_clusters, strict=True):
            totals = cluster_totals(weights, values, code, k)
            masses = cluster_totals(weights, np.ones_like(values), code, k)
            seen = masses > 0
            means = np.where(seen, totals / np.where(seen, masses, 1.0), 0.0)
            columns.append(divide(means.sum(axis=1), seen.sum(axis=1)))
        return np.column_stack(columns)
