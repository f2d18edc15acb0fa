"""The CDbw index: cohesion and separation of clusters through representative points."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._distances import square_distance
from kindset.evaluation._labels import Partitions
from kindset.evaluation._members import Members, each_partition
from kindset.evaluation._s_dbw import count_within
from kindset.evaluation._spaces import Space

_N_REPRESENTATIVES = 10
_SHRINKAGE = np.arange(1, 9) / 10.0
# Distances this close count as equal, so that rounding does not decide who represents a cluster.
_TIE = 1e-9


@njit(cache=True, nogil=True)
def _first_largest(values):  # type: ignore[no-untyped-def]
    limit = values.max() * (1.0 - _TIE)
    for i in range(values.shape[0]):
        if values[i] >= limit:
            return i
    return 0


@njit(cache=True, nogil=True)
def _distances_to(points, place):  # type: ignore[no-untyped-def]
    out = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        out[i] = np.sqrt(square_distance(points[i], place))
    return out


@njit(cache=True, nogil=True)
def _representatives(points, center):  # type: ignore[no-untyped-def]
    """Farthest point from the centroid, then always the point farthest from those chosen."""
    n_wanted = min(_N_REPRESENTATIVES, points.shape[0])
    chosen = np.empty((n_wanted, points.shape[1]))
    free = np.ones(points.shape[0])
    nearest = _distances_to(points, center)
    for r in range(n_wanted):
        # Chosen points drop out even when all that is left are their duplicates.
        best = _first_largest(np.where(free > 0, nearest, -1.0))
        if free[best] == 0:
            best = int(np.argmax(free))
        chosen[r] = points[best]
        free[best] = 0.0
        distances = _distances_to(points, points[best])
        nearest = distances if r == 0 else np.minimum(nearest, distances)
    return chosen


@njit(cache=True, nogil=True)
def _first_nearest(table):  # type: ignore[no-untyped-def]
    """For each row the first column that holds its smallest value."""
    out = np.empty(table.shape[0], dtype=np.int64)
    for i in range(table.shape[0]):
        limit = table[i].min() * (1.0 + _TIE)
        for j in range(table.shape[1]):
            if table[i, j] <= limit:
                out[i] = j
                break
    return out


@njit(cache=True, nogil=True)
def _between(points, starts, first, second, pair, spread):  # type: ignore[no-untyped-def]
    """Density between two clusters and their distance, over mutually nearest representatives."""
    i, j = pair
    table = np.empty((first.shape[0], second.shape[0]))
    for a in range(first.shape[0]):
        table[a] = _distances_to(second, first[a])
    there, back = _first_nearest(table), _first_nearest(table.T)
    n_members = starts[i + 1] - starts[i] + starts[j + 1] - starts[j]
    density, distance, n_pairs = 0.0, 0.0, 0
    for a in range(first.shape[0]):
        b = there[a]
        if back[b] != a:
            continue
        n_pairs += 1
        distance += table[a, b]
        if spread > 0:
            middle = 0.5 * (first[a] + second[b])
            square = spread * spread
            count = count_within(points, starts[i], starts[i + 1], middle, square, True)
            count += count_within(points, starts[j], starts[j + 1], middle, square, True)
            density += table[a, b] / (2.0 * spread) * count / n_members
    return density / max(n_pairs, 1), distance / max(n_pairs, 1)


@njit(cache=True, nogil=True)
def _density_inside(points, begin, end, shrunk, radius):  # type: ignore[no-untyped-def]
    """Mean share of the cluster's points near its shrunk representatives."""
    total = 0.0
    for r in range(shrunk.shape[0]):
        total += count_within(points, begin, end, shrunk[r], radius * radius, True)
    return total / (shrunk.shape[0] * (end - begin))


def _separation(
    members: Members, representatives: list[NDArray[np.float64]], deviations: NDArray[np.float64]
) -> float:
    k = len(representatives)
    density = np.full((k, k), -np.inf)
    distance = np.full((k, k), np.inf)
    for i in range(k):
        for j in range(i + 1, k):
            spread = 0.5 * (deviations[i] + deviations[j])
            found = _between(
                members.points,
                members.starts,
                representatives[i],
                representatives[j],
                (i, j),
                spread,
            )
            density[i, j] = density[j, i] = found[0]
            distance[i, j] = distance[j, i] = found[1]
    return float(distance.min(axis=1).mean() / (1.0 + density.max(axis=1).mean()))


def _cd_bw(members: Members, unit: float) -> float:
    """CDbw has a unit of its own: densities are divided by deviations, as they were measured."""
    starts, sizes = members.starts, members.sizes
    clusters = [members.points[a:b] for a, b in pairwise(starts)]
    deviations = np.array(
        [np.sqrt(c.var(axis=0, ddof=1).sum()) if len(c) > 1 else 0.0 for c in clusters]
    )
    if len(sizes) < 2 or deviations.sum() == 0:
        return float("nan")
    representatives = [
        _representatives(c, m) for c, m in zip(clusters, members.centers, strict=True)
    ]
    intra = np.zeros(len(_SHRINKAGE))
    for f, share in enumerate(_SHRINKAGE):
        for i, chosen in enumerate(representatives):
            shrunk = chosen + share * (members.centers[i] - chosen)
            intra[f] += _density_inside(
                members.points, starts[i], starts[i + 1], shrunk, deviations[i]
            )
    intra /= deviations.sum() * unit
    compactness = intra.mean()
    cohesion = compactness / (1.0 + np.abs(np.diff(intra)).sum() / (len(intra) - 1))
    separation = _separation(members, representatives, deviations) * unit
    return float(cohesion * (compactness * separation))


def cd_bw_scores(space: Space, partitions: Partitions) -> NDArray[np.float64]:
    """CDbw of every partition; larger is better."""
    return np.array([_cd_bw(members, space.unit) for members in each_partition(space, partitions)])
