"""Excess neighbour information (ENI): what a point's cluster tells about its neighbours.

A good partition keeps neighbours together in every space, more than a cut of a structureless cloud
of the same shape would. The excess is measured in each space, and the spaces are weighted by how
well they show partitions that were made elsewhere.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from kindset._progress import progress_bar
from kindset.evaluation._label_pairs import information_bias, label_entropy, label_information
from kindset.evaluation._labels import Partitions
from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._null_clouds import null_curve, spectrum
from kindset.evaluation._spaces import Space, check_spaces, first_copies
from kindset.exceptions import InputError

# The raw data counts as much as this many spaces that show the partitions equally well.
_RAW_WEIGHT = 4.0
# Below this, the best excess of a space is no unit to measure the others by.
_MIN_EXCESS = 1e-6
# Scores that differ by less are almost the same; chosen on the development pools.
_NEAR = 0.05


@dataclass(frozen=True)
class NeighbourInformation:
    """What `neighbour_information` found. Rows are distinct spaces, columns are partitions.

    Attributes
    ----------
    spaces : ndarray of shape (n_distinct,), int
        For each row, the index of the first of its equal spaces. The raw data has the index
        after the last space, unless it equals one of the spaces.
    homes : ndarray of shape (n_partitions,), int
        The row of the space in which each partition was made; -1 if not known.
    information : ndarray of shape (n_distinct, n_partitions)
        Mutual information of neighbours' labels in nats, without its sampling bias.
    null_information : ndarray of shape (n_distinct, n_partitions)
        What a partition of the same entropy has in a structureless cloud, mean of the draws.
    null_std_error : ndarray of shape (n_distinct, n_partitions)
        Standard error of that mean; NaN with a single draw.
    excess : ndarray of shape (n_distinct, n_partitions)
        `information` minus `null_information`.
    q : ndarray of shape (n_distinct, n_partitions)
        The excess relative to the entropy and to the best excess of the space.
    weights : ndarray of shape (n_distinct,)
        Weights of the spaces. Their sum is 1.
    scores : ndarray of shape (n_partitions,)
        Weighted mean of `q`; larger is better.
    strength : float
        Weighted mean of the best `q` of each space, at least 0. How clear the best groups are.
    entropies : ndarray of shape (n_partitions,)
        Entropy of the labels in nats, with noise as one label.
    n_clusters : ndarray of shape (n_partitions,), int
        Clusters without noise.
    coverage : ndarray of shape (n_partitions,)
        Share of points that are not noise.
    """

    spaces: NDArray[np.intp]
    homes: NDArray[np.intp]
    information: NDArray[np.float64]
    null_information: NDArray[np.float64]
    null_std_error: NDArray[np.float64]
    excess: NDArray[np.float64]
    q: NDArray[np.float64]
    weights: NDArray[np.float64]
    scores: NDArray[np.float64]
    strength: float
    entropies: NDArray[np.float64]
    n_clusters: NDArray[np.int64]
    coverage: NDArray[np.float64]

    def shortlist(
        self, scores: NDArray[np.float64] | None = None, n_errors: float = 2.0
    ) -> NDArray[np.bool_]:
        """Mark the partitions that the spaces do not clearly place behind the leader.

        A partition is listed if its mean deficit is at most `n_errors` standard errors, which
        come from the disagreement of the spaces, or if its score is within 0.05 of the best. This
        is no confidence set. If further signals
        changed the scores, give the new `scores`: each shifts a partition alike in all spaces.
        """
        total = self.scores if scores is None else scores
        return shortlist(self.q + (total - self.scores), self.weights, total, n_errors)


def shortlist(
    q: NDArray[np.float64],
    weights: NDArray[np.float64],
    scores: NDArray[np.float64],
    n_errors: float = 2.0,
) -> NDArray[np.bool_]:
    """Mark the partitions that are not clearly behind the one with the best of `scores`.

    Spaces that agree make the errors tiny, so partitions that score almost the same are listed too.
    Whatever scores better than a listed partition is listed as well.

    Parameters
    ----------
    q : ndarray of shape (n_spaces, n_partitions)
    weights : ndarray of shape (n_spaces,)
    scores : ndarray of shape (n_partitions,)
    n_errors : float, default=2.0

    Returns
    -------
    listed : ndarray of shape (n_partitions,), bool
    """
    deficits = q - q[:, [int(scores.argmax())]]
    means = _sum_rows(weights[:, None] * deficits)
    squares = _sum_rows(weights[:, None] ** 2 * (deficits - means) ** 2)
    spread = max(1.0 - math.fsum(weights**2), 0.05)
    near = scores >= scores.max() - _NEAR
    listed = near | (means + n_errors * np.sqrt(squares / spread) >= 0.0)
    return np.asarray(scores >= scores[listed].min())


def _sum_rows(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over rows, to the same last digit in any order of the rows."""
    return np.array([math.fsum(column) for column in table.T])


def relative_excess(
    excess: NDArray[np.float64], entropies: NDArray[np.float64], is_cut: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Relate the excess of the partitions in one space to their entropy.

    Parameters
    ----------
    excess, entropies : ndarray of shape (n_partitions,)
    is_cut : ndarray of shape (n_partitions,), bool
        Partitions into at least two clusters. The others get the lowest value, at most 0.

    Returns
    -------
    q : ndarray of shape (n_partitions,)
    """
    q = np.zeros(len(excess))
    if is_cut.any():
        best = max(float(excess[is_cut].max()), _MIN_EXCESS)
        q[is_cut] = 2.0 * excess[is_cut] / (best + entropies[is_cut])
        q[~is_cut] = min(float(q[is_cut].min()), 0.0)
    return q


def space_weights(
    q: NDArray[np.float64], homes: NDArray[np.intp], raw_row: int | None = None
) -> NDArray[np.float64]:
    """Weigh spaces by the best partition that was made in another space, squared.

    Parameters
    ----------
    q : ndarray of shape (n_spaces, n_partitions)
    homes : ndarray of shape (n_partitions,)
        The row of the space in which each partition was made; -1 if not known.
    raw_row : int, optional
        The row of the raw data, which counts four times.

    Returns
    -------
    weights : ndarray of shape (n_spaces,)
        They sum to 1. If no space shows any partition of another, the raw data decide; without
        them, all spaces weigh the same.
    """
    weights = np.zeros(len(q))
    for row, values in enumerate(q):
        foreign = homes != row
        weights[row] = max(float(values[foreign if foreign.any() else slice(None)].max()), 0.0) ** 2
    if raw_row is not None:
        weights[raw_row] *= _RAW_WEIGHT
    total = math.fsum(weights)
    if total > 0:
        return weights / total
    if raw_row is not None:
        return np.eye(len(q))[raw_row]
    return np.full(len(q), 1.0 / len(q))


def _check_owners(
    owners: Sequence[int] | None, n_partitions: int, n_spaces: int
) -> NDArray[np.intp]:
    if owners is None:
        return np.full(n_partitions, -1, dtype=np.intp)
    array = np.asarray(owners)
    if array.shape != (n_partitions,) or array.dtype.kind not in "iu":
        raise InputError(
            f"owners has shape {array.shape} and type {array.dtype}; give the index of one space "
            f"for each of the {n_partitions} partitions, -1 where none is known."
        )
    wrong = array[(array < -1) | (array >= n_spaces)]
    if len(wrong):
        raise InputError(
            f"owners names space {int(wrong[0])}; the spaces have the indices 0 to {n_spaces - 1}."
        )
    return array.astype(np.intp)


@dataclass(frozen=True)
class _Measured:
    """What one space shows before it is compared with a structureless cloud."""

    information: NDArray[np.float64]
    widths: tuple[float, ...]


def _measure(X: NDArray[np.floating], partitions: Partitions, n_neighbors: int) -> _Measured:
    points = Space.prepare(X).X
    neighbours = nearest_neighbours(points, n_neighbors)
    information = np.zeros(partitions.n_partitions)
    n_clusters = partitions.n_clusters
    for p, codes in enumerate(partitions.codes):
        if n_clusters[p] >= 2:
            found, _ = label_information(neighbours, codes, int(n_clusters[p]))
            n_labels = int(n_clusters[p]) + bool((codes < 0).any())
            bias = information_bias(n_labels, len(codes), n_neighbors)
            information[p] = max(0.0, found - bias)
    return _Measured(information, spectrum(points))


def neighbour_information(
    spaces: Sequence[ArrayLike],
    partitions: Sequence[ArrayLike],
    *,
    owners: Sequence[int] | None = None,
    raw: ArrayLike | None = None,
    n_neighbors: int = 10,
    n_draws: int = 5,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> NeighbourInformation:
    r"""Score partitions by their excess neighbour information (ENI).

    In each space, count the labels :math:`(a, b)` of all points and their nearest neighbours. Their
    mutual information :math:`I`, without its bias :math:`(K-1)^2/2Nk`, is compared with the
    information :math:`I_0(H)` that k-means reaches at the same entropy :math:`H` in Gaussian clouds
    with the same principal variances:

    .. math:: q = \frac{2 (I - I_0(H))}{\max_p (I - I_0(H)) + H}

    A space weighs as much as the square of the best :math:`q` of a partition made elsewhere.

    Parameters
    ----------
    spaces : sequence of array-like of shape (n_samples, n_features_m)
        They may differ in width. Equal spaces count once.
    partitions : sequence of array-like of shape (n_samples,)
        Points labelled -1 are noise: pairs with them carry no information.
    owners : sequence of int, optional
        For each partition, the index of the space in which it was made; -1 if not known.
    raw : array-like of shape (n_samples, n_features), optional
        The data that the spaces were made from. It counts as one more space, four times.
    n_neighbors : int, default=10
        At most ``n_samples - 1`` are used.
    n_draws : int, default=5
        Gaussian clouds to average over in each space. Spaces of equal spectrum share them.
    n_jobs : int, optional
        Threads, through joblib. The result does not depend on it.
    random_state : int, default=0
        The clouds are drawn with this seed and those after it.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    result : NeighbourInformation

    Notes
    -----
    Neighbours in the data are exact. In a cloud of more than 2,000 points they are looked up for
    enough points to keep the sampling bias of the information below 0.02 nats, among all points.
    k-means starts there on 100 points per cluster, at least 2,000, and takes five steps on all.
    `null_std_error` contains the sampling error.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.evaluation import neighbour_information
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([0, 1, 2], 50)
    >>> X = rng.normal(size=(150, 2)) + 8 * np.eye(3, 2)[groups]
    >>> result = neighbour_information([X], [groups, groups == 1, rng.permutation(groups)])
    >>> [int(p) for p in (-result.scores).argsort()]
    [0, 1, 2]
    """
    checked = check_spaces(spaces)
    n = len(checked[0])
    if raw is not None:
        checked = [*checked, check_spaces([raw], ["raw"])[0]]
        if len(checked[-1]) != n:
            raise InputError(f"raw has {len(checked[-1])} points where {n} are expected.")
    if n_neighbors < 1 or n_draws < 1:
        raise InputError(
            f"n_neighbors={n_neighbors} and n_draws={n_draws} must both be at least 1."
        )
    stacked = Partitions.stack(partitions, n_samples=n, noise="drop")
    given_owners = _check_owners(owners, stacked.n_partitions, len(spaces))
    distinct, row_of = np.unique(first_copies(checked), return_inverse=True)
    homes = np.where(given_owners >= 0, row_of[given_owners], -1).astype(np.intp)
    entropies = np.array([label_entropy(codes) for codes in stacked.codes])

    measured, curves = _measure_spaces(
        [checked[s] for s in distinct],
        stacked,
        entropies,
        min(n_neighbors, n - 1),
        [random_state + draw for draw in range(n_draws)],
        n_jobs=n_jobs,
        verbose=verbose,
    )
    information = np.stack([space.information for space in measured])
    null = np.stack([curve.mean(axis=0) for curve in curves])
    spread = np.stack([_std_error(curve) for curve in curves])
    is_cut = stacked.n_clusters >= 2
    excess = information - null
    q = np.stack([relative_excess(row, entropies, is_cut) for row in excess])
    weights = space_weights(q, homes, None if raw is None else int(row_of[-1]))
    return NeighbourInformation(
        spaces=distinct,
        homes=homes,
        information=information,
        null_information=null,
        null_std_error=spread,
        excess=excess,
        q=q,
        weights=weights,
        scores=_sum_rows(weights[:, None] * q),
        strength=max(0.0, math.fsum(weights * q.max(axis=1))),
        entropies=entropies,
        n_clusters=stacked.n_clusters,
        coverage=stacked.n_points / n,
    )


def _std_error(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(draws) < 2:
        return np.full(draws.shape[1], np.nan)
    return np.asarray(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))


def _measure_spaces(
    spaces: Sequence[NDArray[np.floating]],
    partitions: Partitions,
    entropies: NDArray[np.float64],
    n_neighbors: int,
    seeds: Sequence[int],
    *,
    n_jobs: int | None,
    verbose: bool,
) -> tuple[list[_Measured], list[NDArray[np.float64]]]:
    """Measure each space, and the null information of each partition in each draw."""
    n = partitions.codes.shape[1]
    # One thread per space, as in the score matrix.
    with threadpool_limits(limits=1, user_api="blas"):

        def run(jobs: Iterable, title: str, total: int) -> list:  # type: ignore[type-arg]
            done = []
            with progress_bar(title, total, enabled=verbose) as advance:
                parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
                for result in parallel(jobs):
                    done.append(result)
                    advance("")
            return done

        jobs = (delayed(_measure)(X, partitions, n_neighbors) for X in spaces)
        measured = run(jobs, "Neighbours in spaces", len(spaces))
        shapes = list(dict.fromkeys(space.widths for space in measured))
        clouds = [(widths, seed) for widths in shapes for seed in seeds]
        null_jobs = (
            delayed(null_curve)(widths, n, n_neighbors, float(entropies.max()), seed)
            for widths, seed in clouds
        )
        curves = dict(zip(clouds, run(null_jobs, "Structureless clouds", len(clouds)), strict=True))
    by_space = [
        np.stack([curves[space.widths, seed].at(entropies) for seed in seeds]) for space in measured
    ]
    return measured, by_space
