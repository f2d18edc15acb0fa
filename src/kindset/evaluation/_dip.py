"""The dip statistic of unimodality and its test.

Hartigan, J. A. and Hartigan, P. M. (1985), The dip test of unimodality, Annals of Statistics 13.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from kindset._compiling import njit
from kindset.exceptions import InputError

_TABLE = "_dip_table.csv"

# Variances this close, relatively, are equal: spaces often come in single precision.
_SAME_VARIANCE = 1e-5


@njit(cache=True, nogil=True)
def _hull_pointers(x, convex):  # type: ignore[no-untyped-def]
    """Link each point to its neighbour on the hull of the points on one side of it.

    With `convex`, to the one before it on the greatest convex minorant of the points up to it;
    otherwise to the one after it on the least concave majorant of the points from it on. Every
    hull over an interval is then found by following links from one of its ends.
    """
    n = x.shape[0]
    links = np.empty(n, dtype=np.int64)
    step = 1 if convex else -1
    start = 0 if convex else n - 1
    links[start] = start
    for count in range(1, n):
        j = start + step * count
        candidate = j - step
        # Drop points that lie above the chord (below it, for the majorant): slopes must increase.
        while candidate != start:
            before = links[candidate]
            rise, run = abs(j - candidate), abs(x[j] - x[candidate])
            rise_before, run_before = abs(candidate - before), abs(x[candidate] - x[before])
            if rise * run_before > rise_before * run:
                break
            candidate = before
        links[j] = candidate
    return links


@njit(cache=True, nogil=True)
def _trace(links, begin, end, out):  # type: ignore[no-untyped-def]
    """Follow links from `begin` until `end`; returns how many points that are."""
    count = 0
    j = begin
    out[0] = j
    while j != end:
        j = links[j]
        count += 1
        out[count] = j
    return count + 1


@njit(cache=True, nogil=True)
def _line(x, a, b, at):  # type: ignore[no-untyped-def]
    """Height at x[at] of the line through points a and b of the empirical distribution."""
    if x[b] == x[a]:
        return float(b)
    return a + (b - a) * (x[at] - x[a]) / (x[b] - x[a])


@njit(cache=True, nogil=True)
def _widest_gap(x, minorant, majorant):  # type: ignore[no-untyped-def]
    """Largest distance between minorant and majorant, and the modal interval it points to.

    Both are ascending indices of contact points with the same first and last point. Heights are in
    counts; the majorant touches the distribution from above and the minorant one count below.
    """
    best, low, high = 0.0, minorant[0], majorant[-1]
    j = 1
    for i in range(1, minorant.shape[0] - 1):
        point = minorant[i]
        while majorant[j] < point:
            j += 1
        gap = _line(x, majorant[j - 1], majorant[j], point) - point
        if gap > best:
            best, low, high = gap, point, majorant[j]
    i = 1
    for j in range(1, majorant.shape[0] - 1):
        point = majorant[j]
        while minorant[i] < point:
            i += 1
        gap = point - _line(x, minorant[i - 1], minorant[i], point)
        if gap >= best:
            best, low, high = gap, minorant[i - 1], point
    return best + 1.0, low, high


@njit(cache=True, nogil=True)
def _deviation(x, hull, sign):  # type: ignore[no-untyped-def]
    """Largest distance of the distribution from a hull between the hull's contact points."""
    largest = 1.0
    for k in range(hull.shape[0] - 1):
        a, b = hull[k], hull[k + 1]
        if b - a < 2 or x[b] == x[a]:
            continue
        for j in range(a, b + 1):
            largest = max(largest, sign * (j - _line(x, a, b, j)) + 1.0)
    return largest


@njit(cache=True, nogil=True)
def _dip_of_sorted(x):  # type: ignore[no-untyped-def]
    """Dip of ascending values: shrink the modal interval until no gap beats the dip so far."""
    n = x.shape[0]
    dip = 1.0
    if n < 2 or x[0] == x[n - 1]:
        return dip / (2.0 * n)
    back, forth = _hull_pointers(x, True), _hull_pointers(x, False)
    low, high = 0, n - 1
    buffer_min, buffer_maj = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    while True:
        n_min = _trace(back, high, low, buffer_min)
        n_maj = _trace(forth, low, high, buffer_maj)
        minorant, majorant = buffer_min[:n_min][::-1], buffer_maj[:n_maj]
        gap, new_low, new_high = _widest_gap(x, minorant, majorant)
        if gap <= dip:
            break
        left = minorant[: np.searchsorted(minorant, new_low) + 1]
        right = majorant[np.searchsorted(majorant, new_high) :]
        dip = max(dip, _deviation(x, left, 1.0), _deviation(x, right, -1.0))
        if new_low == low and new_high == high:
            break
        low, high = new_low, new_high
    return dip / (2.0 * n)


def dip_statistic(x: ArrayLike) -> float:
    r"""Distance of a sample's distribution from the nearest unimodal one.

    .. math:: D(F_n) = \inf_{G\ \mathrm{unimodal}} \sup_x |F_n(x) - G(x)|

    Range [1/(2n), 1/4]; larger means further from unimodal. The sample is sorted,
    :math:`O(n \log n)`; the rest is linear. Equal values are allowed; a constant sample has the
    smallest dip, 1/(2n).

    Parameters
    ----------
    x : array-like of shape (n,)
        Finite numbers, in any order.

    Returns
    -------
    dip : float

    See Also
    --------
    dip_test : The statistic with a p-value.

    Examples
    --------
    >>> from kindset.evaluation import dip_statistic
    >>> dip_statistic([1, 2, 3, 4])
    0.125
    >>> dip_statistic([1, 1.1, 9, 9.1])
    0.246875
    """
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise InputError(
            f"x has shape {values.shape}; the dip needs a sample of shape (n,), n ≥ 1."
        )
    if not np.isfinite(values).all():
        raise InputError("x holds NaN or infinite values; the dip needs finite numbers.")
    return float(_dip_of_sorted(np.sort(values)))


@njit(cache=True, nogil=True)
def _sorted_uniform(rng, n):  # type: ignore[no-untyped-def]
    """Draw an ordered uniform sample without sorting: sums of exponential spacings."""
    x = np.empty(n)
    total = 0.0
    for i in range(n):
        total += rng.standard_exponential()
        x[i] = total
    return x / (total + rng.standard_exponential())


@njit(cache=True, nogil=True)
def simulate_null(rng, n, n_draws):  # type: ignore[no-untyped-def]
    """Dips of `n_draws` uniform samples of size `n`."""
    out = np.empty(n_draws)
    for draw in range(n_draws):
        out[draw] = _dip_of_sorted(_sorted_uniform(rng, n))
    return out


@dataclass(frozen=True)
class _NullTable:
    """Quantiles of √n·D under the uniform distribution, for some sample sizes."""

    sizes: NDArray[np.float64]
    n_draws: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    quantiles: NDArray[np.float64]

    def pvalue(self, dip: float, n: int) -> float:
        """Interpolate in the statistic and in log n; beyond the last draw, the smallest p known."""
        place = np.interp(np.log(n), np.log(self.sizes), np.arange(len(self.sizes)))
        below, above = int(np.floor(place)), int(np.ceil(place))
        share = place - below
        quantiles = (1 - share) * self.quantiles[below] + share * self.quantiles[above]
        smallest = 1.0 / (1.0 + self.n_draws[[below, above]].min())
        # A shade to the left, so that the whole mass of a value counts as being reached.
        p = 1.0 - np.interp(np.sqrt(n) * dip - 1e-6, quantiles, self.probabilities)
        return float(max(p, smallest))


@cache
def _null_table() -> _NullTable:
    with resources.files(__package__).joinpath(_TABLE).open() as file:
        header = file.readline().split(",")
        rows = np.loadtxt(file, delimiter=",", ndmin=2)
    return _NullTable(rows[:, 0], rows[:, 1], np.array([float(p) for p in header[2:]]), rows[:, 2:])


def dip_test(
    x: ArrayLike,
    *,
    n_boot: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[float, float]:
    """Test a sample for more than one mode.

    The null distribution is that of the dip of a uniform sample, the least favourable unimodal one.

    Parameters
    ----------
    x : array-like of shape (n,)
        Finite numbers, in any order. With fewer than four, nothing can be said: p = 1.
    n_boot : int, optional
        Draw this many uniform samples instead of interpolating the table that comes with the
        package; the p-value is then ``(1 + hits) / (1 + n_boot)``.
    random_state : int, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    dip : float
    pvalue : float
        Never 0: the table rests on at least 20,000 draws, so it ends at 5e-5 or less.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.evaluation import dip_test
    >>> rng = np.random.default_rng(0)
    >>> one, two = rng.normal(size=500), np.r_[rng.normal(size=250), rng.normal(6, 1, 250)]
    >>> dip_test(one)[1] > 0.5, dip_test(two)[1] < 0.001
    (True, True)
    """
    values = np.asarray(x, dtype=np.float64)
    dip = dip_statistic(values)
    n = len(values)
    if n < 4:
        return dip, 1.0
    if n_boot is None:
        return dip, _null_table().pvalue(dip, n)
    if n_boot < 1:
        raise InputError(f"n_boot={n_boot} draws no sample; give at least 1.")
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    draws = simulate_null(np.random.default_rng(seed), n, n_boot)
    return dip, float((1 + (draws >= dip).sum()) / (1 + n_boot))


def principal_projection(X: NDArray[np.floating]) -> NDArray[np.float64]:
    """Project points on their first principal component.

    Columns are centred and scaled to unit variance; if one is constant, none is scaled. Columns
    that are not correlated, such as principal components, have no first component after scaling:
    then it is that of the columns as they are, and if those are alike too, the first column.
    """
    centred = np.asarray(X, dtype=np.float64) - X.mean(axis=0, dtype=np.float64)
    centred /= np.abs(centred).max() or 1.0
    deviations = centred.std(axis=0)
    if (deviations > 1e-12 * np.abs(X).max(axis=0) / (np.abs(X).max() or 1.0)).all():
        found = _leading_projection(centred / deviations)
        if found is not None:
            return found
    found = _leading_projection(centred)
    return centred[:, 0] if found is None else found


def _leading_projection(centred: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Project on the axis of largest variance; None if several axes share it."""
    n, d = centred.shape
    values, axes = np.linalg.eigh(centred.T @ centred if d <= n else centred @ centred.T)
    if len(values) > 1 and values[-1] - values[-2] <= _SAME_VARIANCE * values[-1]:
        return None
    if d <= n:
        return np.asarray(centred @ axes[:, -1])
    return np.asarray(axes[:, -1] * np.sqrt(max(values[-1], 0.0)))
