"""How segments differ in variables that took no part in the fit, corrected for wrong assignments.

To add a kind of variable, write a law with the methods of `_Shares` and read it in `_read`.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.exceptions import ConvergenceWarning

from kindset._notebook import html_table
from kindset._validation import Choice, Either, Number, check_value
from kindset.exceptions import InputError
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._three_step import Assignment, WaldTest, sandwich

_CHUNK = 8192
_MAX_ITER = 5000
_LAST_CHANGE = 1e-9
_SMALLEST_SHARE = 1e-300
_SMALLEST_VARIANCE = 1e-6


@dataclass(frozen=True)
class OutsideProfile:
    """A variable outside the mixture in each segment.

    Attributes
    ----------
    name : str
    kind : {"nominal", "numeric"}
    correction : {"bch", "ml"} or None
    assignment : {"modal", "proportional"}
    levels : list
        The levels of a nominal variable; ["mean"] of a numeric one.
    estimates : ndarray of shape (n_segments, n_levels)
        Share of each level in each segment, or the mean. NaN for a segment without weight.
    standard_errors : ndarray of shape (n_segments, n_levels)
    covariance : ndarray of shape (n_segments * n_levels, n_segments * n_levels)
        Of the estimates, row by row: they are correlated between segments too.
    overall : ndarray of shape (n_levels,)
        The same for all rows together.
    test : WaldTest
        Whether the segments differ at all.
    n_rows : int
        Number of rows that have a value and a weight.

    See Also
    --------
    outside_profile : Compute it.
    """

    name: str
    kind: str
    correction: str | None
    assignment: str
    levels: list[Any]
    estimates: FloatArray
    standard_errors: FloatArray
    covariance: FloatArray
    overall: FloatArray
    test: WaldTest
    n_rows: int

    @property
    def out_of_range(self) -> bool:
        """Whether a corrected share is below 0 or above 1, which BCH does not prevent."""
        wrong = (self.estimates < -1e-9) | (self.estimates > 1 + 1e-9)
        return bool(self.kind == "nominal" and wrong.any())

    def interval(self, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of the estimates, from the normal distribution."""
        check_value("confidence", confidence, Number(above=0, below=1))
        reach = ndtri((1 + confidence) / 2) * self.standard_errors
        return self.estimates - reach, self.estimates + reach

    def compare_pairs(self) -> pd.DataFrame:
        """Test each two segments against each other; Holm's p-values allow for all the tests."""
        live = np.flatnonzero(~np.isnan(self.estimates[:, 0]))
        rows = []
        for a, b in combinations(live.tolist(), 2):
            test = _equal_segments(self.estimates, self.covariance, [a, b])
            rows.append((a + 1, b + 1, test.statistic, test.df, test.p_value))
        frame = pd.DataFrame(rows, columns=["segment", "other", "statistic", "df", "p_value"])
        frame["p_holm"] = _holm(frame["p_value"].to_numpy(dtype=np.float64))
        return frame

    def to_frame(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return one row for each segment and level: estimate, error, interval, all rows."""
        lower, upper = self.interval(confidence)
        numbers = range(1, len(self.estimates) + 1)
        index = pd.MultiIndex.from_product([numbers, self.levels], names=["segment", self.name])
        return pd.DataFrame(
            {
                "estimate": self.estimates.ravel(),
                "standard_error": self.standard_errors.ravel(),
                "lower": lower.ravel(),
                "upper": upper.ravel(),
                "all_rows": np.tile(self.overall, len(self.estimates)),
            },
            index=index,
        )

    def __str__(self) -> str:
        verdict = "differs" if self.test.p_value < 0.05 else "does not clearly differ"
        test = f"Wald {self.test.statistic:.1f}, df {self.test.df}, p {_p(self.test.p_value)}"
        note = (
            " A share lies outside 0 to 1, which BCH does not prevent; correction='ml' does."
            if self.out_of_range
            else ""
        )
        return f"{self.name} {verdict} between the segments ({test}).{note}"

    def _repr_html_(self) -> str:
        numbers = pd.RangeIndex(1, len(self.estimates) + 1, name="segment")
        columns = [str(level) for level in self.levels]
        return html_table(str(self), pd.DataFrame(self.estimates, index=numbers, columns=columns))


def outside_profile(
    posteriors: Any,
    variable: Any,
    *,
    kind: str = "auto",
    correction: str | None = "bch",
    assignment: str = "modal",
    variance: str | float = "segment",
    sample_weight: Any = None,
    name: str | None = None,
) -> OutsideProfile:
    """Estimate a variable's distribution in each segment, corrected for wrong assignments.

    To count a variable among the rows assigned to each segment makes segments look more alike
    than they are, because some rows are in the wrong one. The membership probabilities say how
    many, and this corrects for it.

    Parameters
    ----------
    posteriors : array-like of shape (n_samples, n_segments)
        Membership probabilities, from any mixture.
    variable : array-like or Series of shape (n_samples,)
        The variable; rows where it is missing are left out of this step.
    kind : {"auto", "nominal", "numeric"}, default="auto"
        How to read it. "auto" takes numbers as numeric and everything else as nominal.
    correction : {"bch", "ml"} or None, default="bch"
        "bch" (Bolck, Croon and Hagenaars) weights rows by the inverse of the errors and assumes
        nothing of the variable. "ml" maximises a likelihood: more precise, and shares stay
        between 0 and 1, but a numeric variable is taken to be normal in each segment. If it is
        not, "ml" can be far off. None does not correct.
    assignment : {"modal", "proportional"}, default="modal"
        Whether a row is assigned to its most probable segment, or to all in proportion.
    variance : {"segment", "equal"} or float, default="segment"
        For "ml" with a numeric variable: one variance for each segment, one for all, or a known
        one.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, such as survey weights.
    name : str, default=None
        What to call the variable; by default a Series' own name.

    Returns
    -------
    profile : OutsideProfile

    Notes
    -----
    Standard errors are robust ("sandwich"): they hold with weights and need no further
    assumption for "bch". They take the first step as known, so they are somewhat too small if
    segments overlap strongly and rows are few. Rows are taken to be drawn independently.

    "ml" keeps the segments' sizes of the first step. Proportional assignment enters the
    likelihood as in Vermunt (2010): each row counts once for each segment, with its probability.

    References
    ----------
    J. K. Vermunt, "Latent class modeling with covariates: two improved three-step approaches",
    Political Analysis 18 (2010).

    Z. Bakk, F. B. Tekle and J. K. Vermunt, "Estimating the association between latent class
    membership and external variables using bias-adjusted three-step approaches", Sociological
    Methodology 43 (2013).

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> from kindset.ordinal import OrdinalMixture, outside_profile
    >>> survey = load_anes96()
    >>> questions = survey.data.drop(columns="educ")
    >>> model = OrdinalMixture(2, distribution="god", random_state=0).fit(questions)
    >>> college = survey.data["educ"] > "Some college"
    >>> profile = outside_profile(model.predict_proba(questions), college, name="degree")
    >>> print(profile)
    degree differs between the segments (Wald ..., df 1, p ...).
    """
    step = Assignment.build(posteriors, assignment, sample_weight, correction)
    check_value("variance", variance, Either(Choice("segment", "equal"), Number(above=0)))
    column = _read(variable, kind, name, len(step.assigned))
    used = ~column.missing & (step.weights > 0)
    if not used.any():
        raise InputError(f"{column.name} has no value in a row with a weight.")
    column = column.keep(used)
    if correction == "ml":
        law = column.law(variance)
        estimates, covariance = _maximum_likelihood(step, law, used)
    else:
        estimates, covariance = _weighted_means(step, column.indicators(), used)
    estimates, covariance = column.rescale(estimates, covariance)
    estimates = step.spread(estimates)
    covariance = step.spread_covariance(covariance, len(column.levels))
    variances = np.diag(covariance).reshape(estimates.shape)
    return OutsideProfile(
        column.name, column.kind, correction, assignment, column.levels, estimates,
        np.sqrt(np.maximum(variances, 0)), covariance, column.overall(step.weights[used]),
        _equal_segments(estimates, covariance, step.live.tolist()), int(used.sum()),
    )  # fmt: skip


def outside_profiles(
    posteriors: Any,
    variables: pd.DataFrame,
    *,
    kinds: Mapping[str, str] | None = None,
    **options: Any,
) -> dict[str, OutsideProfile]:
    """Estimate the distribution of several variables in each segment.

    Parameters
    ----------
    posteriors : array-like of shape (n_samples, n_segments)
        Membership probabilities, from any mixture.
    variables : DataFrame
        One column for each variable.
    kinds : mapping from column names to {"nominal", "numeric"}, default=None
        How to read some of them; the others are "auto".
    **options
        Of `outside_profile`.

    Returns
    -------
    profiles : dict of str to OutsideProfile
    """
    kinds = kinds or {}
    unknown = [name for name in kinds if name not in variables.columns]
    if unknown:
        raise InputError(f"kinds names {unknown[0]!r}, but there is no such variable.")
    return {
        str(name): outside_profile(
            posteriors, variables[name], kind=kinds.get(name, "auto"), name=str(name), **options
        )
        for name in variables.columns
    }


class _Law(Protocol):
    """The distribution of a variable in a segment, for maximum likelihood."""

    @property
    def n_values(self) -> int:
        """Number of rows."""

    def distinct(self) -> "tuple[_Law, Any]":
        """Return the law of the distinct values, and the number of each row's value."""

    def maximize(self, share: FloatArray) -> FloatArray:
        """Return the best parameters (segment, parameter) for weights (row, segment)."""

    def log_density(self, parameters: FloatArray, rows: slice) -> FloatArray:
        """Return log-densities (row, segment)."""

    def derivatives(self, parameters: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return first (row, segment, p) and second (row, segment, p, p) derivatives."""

    def free(self, n_segments: int) -> FloatArray:
        """Return the matrix that takes free parameters to those of all segments."""

    def estimates(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what is reported (segment, level), and its derivatives (segment, level, p)."""


@dataclass(frozen=True)
class _Shares:
    """Shares of the levels, with as many logits as levels (one of them redundant)."""

    codes: Any
    n_parameters: int

    @property
    def n_values(self) -> int:
        return len(self.codes)

    def distinct(self) -> tuple[_Law, Any]:
        return _Shares(np.arange(self.n_parameters), self.n_parameters), self.codes

    def maximize(self, share: FloatArray) -> FloatArray:
        counts = np.stack([np.bincount(self.codes, w, self.n_parameters) for w in share.T])
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), _SMALLEST_SHARE)
        return np.log(np.maximum(shares, _SMALLEST_SHARE))

    def log_density(self, parameters: FloatArray, rows: slice) -> FloatArray:
        return parameters.T[self.codes[rows]]

    def derivatives(self, parameters: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        shares = np.exp(parameters)
        first = np.eye(self.n_parameters)[self.codes[rows]][:, None] - shares
        return first, np.broadcast_to(-_multinomial(shares), (*first.shape, self.n_parameters))

    def free(self, n_segments: int) -> FloatArray:
        return np.eye(n_segments * self.n_parameters)

    def estimates(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        shares = np.exp(parameters)
        return shares, _multinomial(shares)


@dataclass(frozen=True)
class _Normal:
    """A normal variable in standard units, with mean and variance as parameters."""

    values: FloatArray
    variance: str | float
    n_parameters: int = 2

    @property
    def n_values(self) -> int:
        return len(self.values)

    def distinct(self) -> tuple[_Law, Any]:
        values, index = np.unique(self.values, return_inverse=True)
        return _Normal(values, self.variance), index

    def maximize(self, share: FloatArray) -> FloatArray:
        total = np.maximum(share.sum(axis=0), _SMALLEST_SHARE)
        mean = self.values @ share / total
        square = ((self.values[:, None] - mean) ** 2 * share).sum(axis=0)
        if self.variance == "equal":
            variance = np.full(len(mean), square.sum() / total.sum())
        elif self.variance == "segment":
            variance = square / total
        else:
            variance = np.full(len(mean), float(self.variance))
        return np.column_stack([mean, np.maximum(variance, _SMALLEST_VARIANCE)])

    def log_density(self, parameters: FloatArray, rows: slice) -> FloatArray:
        mean, variance = parameters.T
        away = self.values[rows, None] - mean
        return -0.5 * (np.log(2 * np.pi * variance) + away**2 / variance)

    def derivatives(self, parameters: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        mean, variance = parameters.T
        away = self.values[rows, None] - mean
        slope = away / variance
        first = np.stack([slope, 0.5 * (slope**2 - 1 / variance)], axis=-1)
        second = np.empty((*first.shape, 2))
        second[..., 0, 0] = -1 / variance
        second[..., 0, 1] = second[..., 1, 0] = -slope / variance
        second[..., 1, 1] = (0.5 / variance - slope**2) / variance
        return first, second

    def free(self, n_segments: int) -> FloatArray:
        means: FloatArray = np.kron(np.eye(n_segments), np.array([[1.0], [0.0]]))
        if self.variance == "segment":
            return np.eye(2 * n_segments)
        if self.variance == "equal":
            return np.column_stack([means, np.tile(np.array([0.0, 1.0]), n_segments)])
        return means

    def estimates(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        slopes = np.tile(np.array([1.0, 0.0]), (len(parameters), 1, 1))
        return parameters[:, :1], slopes


@dataclass(frozen=True)
class _Column:
    """A variable as it was given: level numbers, or numbers in standard units."""

    name: str
    kind: str
    values: Any
    levels: list[Any]
    missing: Any
    center: float = 0.0
    scale: float = 1.0

    def keep(self, rows: Any) -> "_Column":
        """Return the rows that are used, and only the levels that they have."""
        values = self.values[rows]
        if self.kind == "numeric":
            center, scale = float(values.mean()), float(values.std())
            scale = scale if scale > 1e-12 * abs(center) else 1.0
            values = (values - center) / scale
            return _Column(
                self.name, self.kind, values, self.levels, self.missing[rows], center, scale
            )
        seen, values = np.unique(values, return_inverse=True)
        levels = [self.levels[code] for code in seen]
        return _Column(self.name, self.kind, values, levels, self.missing[rows])

    def law(self, variance: str | float) -> _Law:
        if self.kind == "nominal":
            return _Shares(self.values, len(self.levels))
        if not isinstance(variance, str):
            variance = float(variance) / self.scale**2
        return _Normal(self.values, variance)

    def indicators(self) -> FloatArray:
        """Return what to average: an indicator of each level, or the number itself."""
        if self.kind == "numeric":
            return self.values[:, None]
        return np.eye(len(self.levels))[self.values]

    def overall(self, weights: FloatArray) -> FloatArray:
        mean: FloatArray = weights @ self.indicators() / weights.sum()
        return mean * self.scale + self.center

    def rescale(self, estimates: FloatArray, covariance: FloatArray) -> tuple[Any, Any]:
        return estimates * self.scale + self.center, covariance * self.scale**2


def _read(variable: Any, kind: str, name: str | None, n_samples: int) -> _Column:
    """Read a variable; `kind` decides whether its values are numbers or names."""
    check_value("kind", kind, Choice("auto", "nominal", "numeric"))
    series = pd.Series(variable)
    label = str(name or series.name or "the variable")
    if len(series) != n_samples:
        raise InputError(f"{label} has {len(series)} values for {n_samples} rows.")
    numbers = pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)
    if kind == "numeric" or (kind == "auto" and numbers):
        return _read_numbers(series, label)
    if not isinstance(series.dtype, pd.CategoricalDtype):
        try:
            series = series.astype("category")
        except TypeError:
            raise InputError(f"{label} mixes numbers and text: use one kind of value.") from None
    codes = series.cat.codes.to_numpy().astype(np.int64)
    return _Column(label, "nominal", codes, list(series.cat.categories), codes < 0)


def _read_numbers(series: "pd.Series[Any]", label: str) -> _Column:
    try:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(f"{label} holds values that are no numbers: use kind='nominal'.") from None
    if np.isinf(values).any():
        raise InputError(f"{label} holds an infinite number.")
    return _Column(label, "numeric", values, ["mean"], np.isnan(values))


def _weighted_means(
    step: Assignment, indicators: FloatArray, used: Any
) -> tuple[FloatArray, FloatArray]:
    """Return corrected means (segment, level) and their robust covariance."""
    weights = step.corrected()[used]
    total = weights.sum(axis=0)
    if (total <= 0).any():
        segment = step.live[int(np.argmin(total))] + 1
        raise InputError(f"segment {segment} has too few rows with a value to be corrected.")
    means = weights.T @ indicators / total[:, None]
    covariance = np.zeros((means.size, means.size))
    for begin in range(0, len(weights), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        away = indicators[part, None, :] - means
        influence = ((weights[part] / total)[:, :, None] * away).reshape(len(away), -1)
        covariance += influence.T @ influence
    return means, covariance


def _maximum_likelihood(step: Assignment, law: _Law, used: Any) -> tuple[FloatArray, FloatArray]:
    """Return the estimates that maximise Σ ω w_s log Σ_c π_c D_cs f_c(y), and their covariance."""
    assigned = step.assigned[used] * step.weights[used, None]
    joint = (step.sizes[:, None] * step.errors).T  # (assigned, true)
    # Equal values share their densities: the climb runs over the distinct ones.
    distinct, index = law.distinct()
    counts = [np.bincount(index, w, distinct.n_values) for w in assigned.T]
    table = np.stack(counts, axis=1).astype(np.float64)
    parameters = distinct.maximize(table)
    everything = slice(None)
    for _ in range(_MAX_ITER):
        density = distinct.log_density(parameters, everything)
        density = np.exp(density - density.max(axis=1, keepdims=True))
        share = density * ((table / (density @ joint.T)) @ joint)
        before, parameters = parameters, distinct.maximize(share)
        # Logits of vanishing shares move without end; what they stand for does not.
        moved = np.abs(law.estimates(parameters)[0] - law.estimates(before)[0]).max()
        if moved < _LAST_CHANGE:
            break
    else:
        warnings.warn(
            "Maximum likelihood did not converge: segments may overlap too much for it.",
            ConvergenceWarning,
            stacklevel=3,
        )
    hessian, meat = _curvature(step.assigned[used], step.weights[used], joint, law, parameters)
    free = law.free(len(joint))
    covariance = free @ sandwich(free.T @ hessian @ free, free.T @ meat @ free) @ free.T
    estimates, slopes = law.estimates(parameters)
    return estimates, _delta(slopes, covariance)


def _curvature(
    assigned: FloatArray,
    weights: FloatArray,
    joint: FloatArray,
    law: _Law,
    parameters: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return second derivatives of the log-likelihood, and the sum of squared scores of rows."""
    n_segments, size = parameters.shape
    hessian = np.zeros((n_segments * size, n_segments * size))
    meat = np.zeros_like(hessian)
    for begin in range(0, law.n_values, _CHUNK):
        part = slice(begin, begin + _CHUNK)
        density = law.log_density(parameters, part)
        density = np.exp(density - density.max(axis=1, keepdims=True))
        first, second = law.derivatives(parameters, part)
        inner = second + first[..., :, None] * first[..., None, :]
        score = np.zeros((len(density), n_segments * size))
        for s, prior in enumerate(joint):
            share = density * prior
            share /= share.sum(axis=1, keepdims=True)
            own = (share[:, :, None] * first).reshape(score.shape)
            weight = weights[part] * assigned[part, s]
            score += weight[:, None] * own
            hessian -= own.T @ (weight[:, None] * own)
            blocks = np.einsum("ic,icpq->cpq", weight[:, None] * share, inner)
            for c, block in enumerate(blocks):
                place = slice(c * size, (c + 1) * size)
                hessian[place, place] += block
        meat += score.T @ score
    return hessian, meat


def _delta(slopes: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the covariance of what each segment's parameters are turned into."""
    n_segments, n_out, n_in = slopes.shape
    full = np.zeros((n_segments * n_out, n_segments * n_in))
    for c, block in enumerate(slopes):
        full[c * n_out : (c + 1) * n_out, c * n_in : (c + 1) * n_in] = block
    return full @ covariance @ full.T


def _multinomial(shares: FloatArray) -> FloatArray:
    """Return diag(p) - p pᵀ for each segment."""
    return shares[:, :, None] * (np.eye(shares.shape[1]) - shares[:, None, :])


def _equal_segments(estimates: FloatArray, covariance: FloatArray, segments: list[int]) -> WaldTest:
    """Test whether some segments have the same mean, or the same shares."""
    n_levels = estimates.shape[1]
    n_free = max(n_levels - 1, 1)  # shares sum to one
    own = estimates[segments]
    if np.ptp(own, axis=0).max() <= 1e-12 * np.abs(own).max():
        return WaldTest(0.0, 0, 1.0)
    place = np.array([c * n_levels + level for c in segments for level in range(n_free)])
    contrast = np.kron(np.column_stack([np.ones(len(segments) - 1), -np.eye(len(segments) - 1)]),
                       np.eye(n_free))  # fmt: skip
    differences = contrast @ estimates.ravel()[place]
    return WaldTest.of(differences, contrast @ covariance[np.ix_(place, place)] @ contrast.T)


def _holm(p_values: FloatArray) -> FloatArray:
    """Return p-values that hold for all tests together."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def _p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"
