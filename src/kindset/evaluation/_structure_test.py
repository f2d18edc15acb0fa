"""A test whether partitions show more than clouds without groups would."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from threadpoolctl import threadpool_limits

from kindset.evaluation._label_pairs import information_bias, label_entropy, label_information
from kindset.evaluation._labels import Partitions
from kindset.evaluation._neighbour_information import relative_excess
from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._null_clouds import NullCurve, null_curve, spectrum
from kindset.evaluation._small_k_means import assign, k_means_centres
from kindset.evaluation._spaces import Space, check_spaces
from kindset.exceptions import InputError

# Points of the space and of each cloud. A sample of both keeps them comparable.
_MAX_POINTS = 1_000
# Numbers of clusters that k-means cuts each cloud into.
_MAX_CUTS = 8
# Wider spaces and clouds are reduced to so many principal coordinates.
_MAX_WIDTH = 50
_CURVE_DRAWS = 5
_N_NEIGHBORS = 10


@dataclass(frozen=True)
class StructureTest:
    """What `structure_test` found.

    Attributes
    ----------
    p_value : float
        Largest p-value over the kinds of clouds.
    p_values : dict of str to float
        For each kind of cloud, the share of clouds as strong as the data, the data counted too.
    strength : float
        Best relative excess neighbour information of the partitions in the space.
    null_strengths : dict of str to ndarray of shape (n_draws,)
        The same for k-means partitions of each cloud.
    intrinsic_dimension : float
        Estimated number of directions in which points have neighbours.
    """

    p_value: float
    p_values: dict[str, float]
    strength: float
    null_strengths: dict[str, NDArray[np.float64]]
    intrinsic_dimension: float


def _principal(X: NDArray[np.float64], max_width: int) -> NDArray[np.float64]:
    """Coordinates along the first principal axes of a centred space."""
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    return np.ascontiguousarray((left * values)[:, :max_width])


def _intrinsic_dimension(X: NDArray[np.float64], neighbours: NDArray[np.int32]) -> float:
    """Estimate the dimension from how fast the distances of the neighbours grow."""
    n_neighbors = neighbours.shape[1]
    squares = np.stack([((X - X[near]) ** 2).sum(axis=1) for near in neighbours.T], axis=1)
    squares = squares[squares[:, 0] > 0]
    if n_neighbors < 3 or len(squares) == 0:
        return float(X.shape[1])
    logs = 0.5 * np.log(squares[:, -1:] / squares[:, :-1])
    growth = float(logs.sum()) / ((n_neighbors - 2) * len(logs))
    return min(1.0 / growth, float(X.shape[1])) if growth > 0 else float(X.shape[1])


def _narrow(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.ascontiguousarray(X) if X.shape[1] <= _MAX_WIDTH else _principal(X, _MAX_WIDTH)


def _shuffled(X: NDArray[np.float64], rng: np.random.RandomState) -> NDArray[np.float64]:
    """Permute each column by itself."""
    return np.stack([rng.permutation(column) for column in X.T], axis=1)


@dataclass(frozen=True)
class _Margin:
    """A density of one mode: shares of the points up to each knot."""

    knots: NDArray[np.float64]
    steps: NDArray[np.float64]

    def draw(self, n: int, rng: np.random.RandomState) -> NDArray[np.float64]:
        """Draw values from the density."""
        return np.interp(rng.random_sample(n) * self.steps[-1], self.steps, self.knots)


def _unimodal_margin(values: NDArray[np.float64]) -> _Margin | None:
    """Fit the density with one mode that comes nearest to `values`; None if too few differ."""
    size = max(len(values) // 40, 5)
    ordered = np.sort(values)
    knots = np.unique(np.append(ordered[:-1:size], ordered[-1]))
    if len(knots) < 3:
        return None
    widths = np.diff(knots)
    heights = np.histogram(values, knots)[0] / widths
    fits = [_rise_and_fall(heights, widths, mode) for mode in range(len(heights))]
    losses = [float((widths * (fit - heights) ** 2).sum()) for fit in fits]
    shares = fits[int(np.argmin(losses))] * widths
    return _Margin(knots, np.concatenate([[0.0], np.cumsum(shares)]))


def _rise_and_fall(
    heights: NDArray[np.float64], widths: NDArray[np.float64], mode: int
) -> NDArray[np.float64]:
    """Fit a density that rises up to a place and falls behind it."""
    left = isotonic_regression(heights[: mode + 1], weights=widths[: mode + 1]).x
    if mode + 1 == len(heights):
        return np.asarray(left)
    right = isotonic_regression(heights[mode + 1 :], weights=widths[mode + 1 :], increasing=False).x
    return np.concatenate([left, right])


def _unimodal_cloud(
    principal: NDArray[np.float64], margins: Sequence[_Margin | None], rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Draw each principal coordinate by itself; permute one whose margin could not be fitted."""
    n = len(principal)
    columns = [
        rng.permutation(column) if margin is None else margin.draw(n, rng)
        for column, margin in zip(principal.T, margins, strict=True)
    ]
    return np.stack(columns, axis=1)


def _strength(found: Sequence[tuple[float, float]], is_cut: NDArray[np.bool_]) -> float:
    """Best relative excess, from pairs of excess and entropy."""
    table = np.array(found)
    return max(float(relative_excess(table[:, 0], table[:, 1], is_cut).max()), 0.0)


def _excess(
    neighbours: NDArray[np.int32],
    codes: NDArray[np.int32],
    n_clusters: int,
    null: Callable[[float], float],
) -> tuple[float, float]:
    """Excess information and entropy of one partition."""
    found, _ = label_information(neighbours, codes, n_clusters)
    n_labels = n_clusters + bool((codes < 0).any())
    bias = information_bias(n_labels, len(codes), neighbours.shape[1])
    entropy = label_entropy(codes)
    return max(0.0, found - bias) - null(entropy), entropy


def _cloud_strength(
    cloud: NDArray[np.float64], counts: Sequence[int], n_neighbors: int, curves: Sequence[NullCurve]
) -> float:
    """Strength of k-means partitions of a cloud."""
    cloud = _narrow(cloud - cloud.mean(axis=0))
    neighbours = nearest_neighbours(cloud, n_neighbors)
    found = []
    for count in counts:
        labels = np.zeros(len(cloud), dtype=np.int32)
        assign(cloud, k_means_centres(cloud, count), labels)
        found.append(_excess(neighbours, labels, count, _mean_curve(curves)))
    return _strength(found, np.ones(len(found), dtype=bool))


def _mean_curve(curves: Sequence[NullCurve]) -> Callable[[float], float]:
    def null(entropy: float) -> float:
        return math.fsum(float(curve.at(np.array(entropy))) for curve in curves) / len(curves)

    return null


def _spread(values: NDArray[np.int64], n: int) -> list[int]:
    """Take at most `n` of the distinct values, evenly over their ranks."""
    distinct = np.unique(values)
    chosen = np.unique(np.linspace(0, len(distinct) - 1, min(n, len(distinct))).round())
    return [int(distinct[int(place)]) for place in chosen]


def structure_test(
    space: ArrayLike,
    partitions: Sequence[ArrayLike],
    *,
    n_draws: int = 19,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> StructureTest:
    """Compare partitions in a space with k-means partitions of clouds without groups.

    There are three kinds of clouds. One permutes the columns of the space independently. One draws
    its principal coordinates independently, each from the best density with one mode. One is a
    uniform cube of its intrinsic dimension. k-means cuts each cloud into as many clusters as the
    partitions have. The p-value is small only where the data beat all kinds.

    Parameters
    ----------
    space : array-like of shape (n_samples, n_features)
        The raw data, or the space that shows the partitions best.
    partitions : sequence of array-like of shape (n_samples,)
        Noise is -1.
    n_draws : int, default=19
        Clouds of each kind. The smallest p-value is ``1 / (n_draws + 1)``.
    n_jobs : int, optional
        Threads. The result does not depend on it.
    random_state : int, default=0

    Returns
    -------
    result : StructureTest

    Notes
    -----
    At most 1,000 points and 50 principal coordinates are used, of the space and of each cloud. So
    the cost does not grow with the data: some seconds.

    The columns keep their margins when they are permuted. Groups that each column shows by itself
    therefore also appear in those clouds, and the p-value stays large. Such groups have a high
    strength in `neighbour_information`, so read both.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.evaluation import structure_test
    >>> rng = np.random.default_rng(0)
    >>> groups = np.arange(200) % 4
    >>> X = rng.normal(size=(200, 6)) + 4 * rng.normal(size=(4, 6))[groups]
    >>> structure_test(X, [groups, groups == 1]).p_value
    0.05
    """
    if n_draws < 1:
        raise InputError(f"n_draws={n_draws} is too small; give at least 1.")
    checked = check_spaces([space])[0]
    n_all = len(checked)
    stacked = Partitions.stack(partitions, n_samples=n_all, noise="drop")
    rng = np.random.RandomState(random_state)
    chosen = np.sort(rng.permutation(n_all)[:_MAX_POINTS])
    whole = Space.prepare(checked[chosen]).X
    X = _narrow(whole)
    k = min(_N_NEIGHBORS, len(X) - 1)
    neighbours = nearest_neighbours(X, k)
    dimension = _intrinsic_dimension(X, neighbours)
    sampled = Partitions.stack(
        [codes[chosen] for codes in stacked.codes], n_samples=len(X), noise="drop"
    )
    is_cut = sampled.n_clusters >= 2
    counts = [c for c in _spread(sampled.n_clusters[is_cut], _MAX_CUTS) if c <= len(X) // 3]
    with threadpool_limits(limits=1, user_api="blas"):
        curves = _curves(X, sampled, k)
        null = _mean_curve(curves)
        found = [
            _excess(neighbours, codes, int(c), null) if cut else (0.0, 0.0)
            for codes, c, cut in zip(sampled.codes, sampled.n_clusters, is_cut, strict=True)
        ]
        strength = _strength(found, is_cut)
        if not counts:
            counts = [2]
        kinds = _clouds(whole, X, dimension)
        jobs = [
            delayed(_cloud_job)(make, seed, counts, k, curves)
            for make in kinds.values()
            for seed in range(random_state, random_state + n_draws)
        ]
        values = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
    null_strengths = {
        kind: np.array(values[i * n_draws : (i + 1) * n_draws]) for i, kind in enumerate(kinds)
    }
    p_values = {
        kind: float((1 + (strengths >= strength).sum()) / (n_draws + 1))
        for kind, strengths in null_strengths.items()
    }
    return StructureTest(max(p_values.values()), p_values, strength, null_strengths, dimension)


def _curves(X: NDArray[np.float64], partitions: Partitions, n_neighbors: int) -> list[NullCurve]:
    highest = max(label_entropy(codes) for codes in partitions.codes)
    highest = max(highest, math.log(max(int(partitions.n_clusters.max()), 2)))
    widths = spectrum(X)
    return [null_curve(widths, len(X), n_neighbors, highest, seed) for seed in range(_CURVE_DRAWS)]


Cloud = Callable[[np.random.RandomState], NDArray[np.float64]]


def _cloud_job(
    make: Cloud, seed: int, counts: Sequence[int], n_neighbors: int, curves: Sequence[NullCurve]
) -> float:
    return _cloud_strength(make(np.random.RandomState(seed)), counts, n_neighbors, curves)


def _clouds(
    whole: NDArray[np.float64], narrow: NDArray[np.float64], dimension: float
) -> dict[str, Cloud]:
    """Return the kinds of clouds without groups, each as a function that draws one."""
    principal = _principal(narrow, _MAX_WIDTH)
    # Fitting a margin takes longer than drawing from it.
    margins = [_unimodal_margin(column) for column in principal.T]
    # Rounding down keeps the test careful: bands, rings and bent surfaces are like thinner clouds.
    width = max(int(dimension), 1)
    return {
        "columns": lambda rng: _shuffled(whole, rng),
        "principal": lambda rng: _unimodal_cloud(principal, margins, rng),
        "uniform": lambda rng: rng.random_sample((len(narrow), width)),
    }
