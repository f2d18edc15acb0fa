"""Standard errors of a fitted mixture, from the observed information."""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._distributions import DISTRIBUTIONS, law
from kindset.ordinal._em import Parameters
from kindset.ordinal._expectation import JointTables, posterior
from kindset.ordinal._rows import IntArray, Rows

_CHUNK = 4096
_EDGE = 1e-6


def standard_errors(rows: Rows, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
    """Return the standard errors of the weights and of the precisions.

    The positions are taken as known. A precision at an end of its range, or of a component
    without members, has no standard error: NaN.
    """
    layout = rows.layout
    live = np.flatnonzero(parameters.weights > 0)
    interior = _interior(parameters, layout.n_levels)
    interior[parameters.weights <= 0] = False
    which = np.argwhere(interior)  # (component, question) of each precision that has an error
    information = _observed_information(rows, parameters, live, which)
    covariance = _inverse(information)
    n_free = len(live) - 1
    variance = np.diag(covariance)
    weight_errors = np.full(len(parameters.weights), np.nan)
    weight_errors[live[:-1]] = _root(variance[:n_free])
    # The last weight is one minus the others.
    weight_errors[live[-1]] = _root(covariance[:n_free, :n_free].sum())
    precision_errors = np.full(parameters.precisions.shape, np.nan)
    precision_errors[which[:, 0], which[:, 1]] = _root(variance[n_free:])
    return weight_errors, precision_errors


def _interior(parameters: Parameters, n_levels: IntArray) -> NDArray[np.bool_]:
    low = np.array([DISTRIBUTIONS[name].min_precision for name in parameters.distributions])
    inside = (parameters.precisions > low + _EDGE) & (parameters.precisions < 1 - _EDGE)
    return inside & (n_levels > 1)


def _observed_information(
    rows: Rows, parameters: Parameters, live: IntArray, which: IntArray
) -> FloatArray:
    """Return minus the second derivatives of the log-likelihood.

    The parameters are the live weights but the last, then the precisions named by `which`. With
    r the memberships and s the score of a row, each row adds s sᵀ minus the expected second
    derivative of its joint density with the component over that density.
    """
    first, second = _derivatives(parameters, rows.layout.starts, rows.layout.n_levels)
    flat = parameters.log_pmf(rows.layout.starts, rows.layout.n_levels)
    tables = JointTables.build(rows.layout, flat, parameters.weights)
    membership, _ = posterior(rows, tables)
    n_free, component, question = len(live) - 1, which[:, 0], which[:, 1]
    same = component[:, None] == component
    information = np.zeros((n_free + len(which), n_free + len(which)))
    for begin in range(0, len(rows), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        weight = rows.weights[part, None]
        position = rows.layout.starts[question] + rows.codes[part][:, question]
        r = membership[part]
        slope, bend = first[position, component], second[position, component]
        by_weight = r[:, live] / parameters.weights[live]
        score = np.hstack([by_weight[:, :-1] - by_weight[:, -1:], r[:, component] * slope])
        information += score.T @ (weight * score)
        joint = weight * r[:, component] * slope
        inner = np.where(same, slope.T @ joint, 0.0)
        inner[np.diag_indices(len(which))] += (weight * r[:, component] * bend).sum(axis=0)
        information[n_free:, n_free:] -= inner
        total = joint.sum(axis=0)
        for a in range(n_free):
            mixed = np.where(component == live[a], total / parameters.weights[live[a]], 0.0)
            mixed -= np.where(component == live[-1], total / parameters.weights[live[-1]], 0.0)
            information[a, n_free:] -= mixed
            information[n_free:, a] -= mixed
    return information


def _derivatives(
    parameters: Parameters, starts: IntArray, n_levels: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return two derivatives of log P in the precision, [flat position, component]."""
    first = np.zeros((starts[-1], len(parameters.weights)))
    second = np.zeros_like(first)
    for j in np.flatnonzero(n_levels > 1):
        m = int(n_levels[j])
        R = law(parameters.distributions[j], m).coefficients
        d = np.arange(m)[:, None]
        for k, (mode, pi) in enumerate(
            zip(parameters.modes[:, j], parameters.precisions[:, j], strict=True)
        ):
            if not 0 < pi < 1:
                continue
            with np.errstate(divide="ignore"):
                logs = np.log(R[mode]) + _log_binomial(m - 1, pi)[:, None]
            joint = softmax(logs, axis=0)  # a far answer's probabilities may underflow
            mean = (d * joint).sum(axis=0)
            variance = ((d - mean) ** 2 * joint).sum(axis=0)
            v, excess = pi * (1 - pi), mean - (m - 1) * pi
            place = slice(starts[j], starts[j] + m)
            first[place, k] = excess / v
            second[place, k] = (variance - (m - 1) * v - excess * (1 - 2 * pi)) / v**2
    return first, second


def _log_binomial(n: int, p: float) -> FloatArray:
    d = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
    return ways + d * np.log(p) + (n - d) * np.log1p(-p)


def _inverse(information: FloatArray) -> FloatArray:
    try:
        covariance: FloatArray = np.linalg.inv(information).astype(np.float64)
    except np.linalg.LinAlgError:
        covariance = np.full_like(information, -1.0)
    if not (np.diag(covariance) > 0).all():
        warnings.warn(
            "The observed information is not positive definite (too few rows for so many "
            "parameters, or two equal components): some standard errors are NaN.",
            stacklevel=4,
        )
    return covariance


def _root(variance: FloatArray) -> FloatArray:
    return np.sqrt(np.where(variance >= 0, variance, np.nan))
