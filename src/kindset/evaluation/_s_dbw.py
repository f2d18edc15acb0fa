"""The S_Dbw index: scatter within clusters plus density between them."""

import warnings

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._distances import square_distance
from kindset.evaluation._labels import Partitions
from kindset.evaluation._members import Members, each_partition
from kindset.evaluation._spaces import Space
from kindset.evaluation._warnings import EvidenceWarning


@njit(cache=True, nogil=True)
def count_within(points, begin, end, place, square_radius, strict):  # type: ignore[no-untyped-def]
    """Count the points ``begin..end`` whose squared distance to `place` is at most the radius."""
    count = 0
    for i in range(begin, end):
        square = square_distance(points[i], place)
        if square < square_radius or (square == square_radius and not strict):
            count += 1
    return count


@njit(cache=True, nogil=True)
def _density_ratios(points, starts, centers, square_radius):  # type: ignore[no-untyped-def]
    """Sum over pairs of clusters of the density ratio, and the pairs with no density at all."""
    n_clusters = centers.shape[0]
    at_center = np.zeros((n_clusters, n_clusters))
    for i in range(n_clusters):
        for j in range(n_clusters):
            at_center[i, j] = count_within(
                points, starts[j], starts[j + 1], centers[i], square_radius, False
            )
    total, n_empty = 0.0, 0
    for i in range(n_clusters):
        for j in range(i + 1, n_clusters):
            first = at_center[i, i] + at_center[i, j]
            second = at_center[j, i] + at_center[j, j]
            largest = max(first, second)
            if largest == 0:
                n_empty += 1
                continue
            middle = 0.5 * (centers[i] + centers[j])
            between = count_within(points, starts[i], starts[i + 1], middle, square_radius, False)
            between += count_within(points, starts[j], starts[j + 1], middle, square_radius, False)
            total += between / largest
    return total, n_empty


def _scatter(members: Members) -> tuple[float, float]:
    """Mean norm of the clusters' variances over that of the data, and the radius σ."""
    k = len(members.sizes)
    deviations = members.points - np.repeat(members.centers, members.sizes, axis=0)
    variances = np.add.reduceat(deviations**2, members.starts[:-1], axis=0)
    norms = np.linalg.norm(variances / members.sizes[:, None], axis=1)
    whole = float(np.linalg.norm(members.points.var(axis=0)))
    if whole == 0:
        return float("nan"), 0.0
    return float(norms.mean()) / whole, float(np.sqrt(norms.sum())) / k


def s_dbw_scores(space: Space, partitions: Partitions) -> NDArray[np.float64]:
    """S_Dbw of every partition; smaller is better, undefined if every point is a cluster."""
    scores = np.full(partitions.n_partitions, np.nan)
    empty = []
    for m, members in enumerate(each_partition(space, partitions)):
        k = len(members.sizes)
        scatter, radius = _scatter(members)
        if not 2 <= k < len(members.points) or np.isnan(scatter):
            continue
        total, n_empty = _density_ratios(
            members.points, members.starts, members.centers, radius * radius
        )
        n_pairs = k * (k - 1) / 2
        scores[m] = scatter + total / n_pairs
        if n_empty > n_pairs / 2:
            empty.append(partitions.names[m])
    if empty:
        warnings.warn(
            f"s_dbw finds no point near the centroids of most clusters of {', '.join(empty)}, as "
            "happens in high dimension; there it measures only scatter.",
            EvidenceWarning,
            stacklevel=2,
        )
    return scores
