"""How well people can be assigned: sizes with intervals, certainty, and expected errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr, expit, logit, ndtri
from sklearn.exceptions import NotFittedError

from kindset._notebook import html_table
from kindset._validation import Choice, Number, check_value
from kindset.exceptions import InputError
from kindset.ordinal._coefficients import FloatArray

ASSIGNMENTS = ("modal", "proportional")


@dataclass(frozen=True)
class ClassificationQuality:
    """How large the segments are and how surely people belong to them.

    Attributes
    ----------
    sizes : ndarray of shape (n_segments,)
        Expected share of each segment: the mean membership probability.
    lower, upper : ndarray of shape (n_segments,)
        Ends of the interval of each share.
    confidence : float
        Coverage of the intervals.
    interval : {"information", "weights only"}
        Where the standard errors come from: the information matrix of the whole mixture, or
        of the shares alone, with the answers' distributions taken as known.
    assigned : ndarray of shape (n_segments,)
        Share of the rows that are assigned to each segment by their most probable one.
    certainty : ndarray of shape (n_segments,)
        Mean membership probability of the rows assigned to each segment; NaN without any.
    table : ndarray of shape (n_segments, n_segments)
        Weight of the rows assigned to a segment (row) that are expected to come from a segment
        (column).
    entropy_r2 : float
        Share of the uncertainty about membership that the answers remove: 1 if all are certain,
        0 if the answers say nothing.
    error : float
        Expected share of the rows that are assigned to a wrong segment.

    See Also
    --------
    classification_quality : Compute it.
    """

    sizes: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    interval: str
    assigned: FloatArray
    certainty: FloatArray
    table: FloatArray
    entropy_r2: float
    error: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each segment, counted from 1."""
        return pd.DataFrame(
            {
                "size": self.sizes,
                "lower": self.lower,
                "upper": self.upper,
                "assigned": self.assigned,
                "certainty": self.certainty,
            },
            index=_segments(len(self.sizes)),
        )

    def table_frame(self) -> pd.DataFrame:
        """Return the classification table, assigned segments as rows, expected ones as columns."""
        numbers = _segments(len(self.sizes))
        return pd.DataFrame(
            self.table,
            index=numbers.rename("assigned to"),
            columns=numbers.rename("expected from"),
        )

    def __str__(self) -> str:
        return (
            f"{1 - self.error:.0%} of the rows are expected to be in the right segment "
            f"(entropy R² {self.entropy_r2:.2f})."
        )

    def _repr_html_(self) -> str:
        return html_table(str(self), self.to_frame())


def classification_quality(
    source: Any, X: Any = None, *, sample_weight: Any = None, confidence: float = 0.95
) -> ClassificationQuality:
    """Tell how large segments are and how surely people belong to them.

    Parameters
    ----------
    source : fitted mixture, or array-like of shape (n_samples, n_segments)
        A mixture with `predict_proba`, or membership probabilities of any mixture.
    X : array-like or DataFrame of shape (n_samples, n_features), optional
        The training data; needed with a mixture, not with probabilities.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    confidence : float, default=0.95
        Coverage of the intervals of the segments' shares.

    Returns
    -------
    quality : ClassificationQuality

    Notes
    -----
    The intervals are symmetric on the logit scale, so they stay between 0 and 1. With a mixture
    that has `standard_errors_`, the standard errors come from its information matrix. With
    probabilities alone, the information about the shares is used, with a robust variance that
    respects the weights; it takes the distributions of the answers as known, so the intervals
    are too short where segments overlap.

    The entropy R² is 1 - H(segment | answers) / H(segment), with H(segment) the entropy of the
    shares. Some programs divide by the logarithm of the number of segments instead, which gives
    a slightly larger number unless all segments have the same size.

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> from kindset.ordinal import OrdinalMixture, classification_quality
    >>> survey = load_anes96()
    >>> model = OrdinalMixture(3, distribution="god", random_state=0).fit(survey.data)
    >>> quality = classification_quality(model, survey.data)
    >>> print(quality)
    85% of the rows are expected to be in the right segment (entropy R² 0.65).
    >>> quality.to_frame().round(2)
             size  lower  upper  assigned  certainty
    segment
    1        0.37   0.32   0.41      0.36       0.85
    2        0.34   0.30   0.38      0.34       0.89
    3        0.30   0.26   0.34      0.30       0.81
    """
    check_value("confidence", confidence, Number(above=0, below=1))
    posteriors = posteriors_of(source, X)
    weights = checked_weights(sample_weight, len(posteriors))
    assigned = assign(posteriors, "modal")
    table = classification_table(posteriors, assigned, weights)
    total = weights.sum()
    sizes = table.sum(axis=0) / total
    by_assignment = table.sum(axis=1)
    certain = np.divide(
        np.diag(table), by_assignment, out=np.full(len(table), np.nan), where=by_assignment > 0
    )
    errors, interval = _standard_errors(source, posteriors, weights, sizes)
    lower, upper = _logit_interval(sizes, errors, confidence)
    return ClassificationQuality(
        sizes, lower, upper, float(confidence), interval, by_assignment / total, certain, table,
        entropy_r2(posteriors, weights), float(max(1 - np.trace(table) / total, 0.0)),
    )  # fmt: skip


def posteriors_of(source: Any, X: Any = None) -> FloatArray:
    """Return membership probabilities: those given, or those of a mixture for its rows."""
    if hasattr(source, "predict_proba"):
        if X is None:
            raise InputError("X is needed to compute the membership probabilities.", parameter="X")
        return np.asarray(source.predict_proba(X), dtype=np.float64)
    try:
        array = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the membership probabilities must be numbers.") from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"the membership probabilities have shape {array.shape}, but need one row for each "
            "person and one column for each segment."
        )
    wrong = ~(np.isfinite(array).all(axis=1) & (array >= 0).all(axis=1))
    wrong |= np.abs(array.sum(axis=1) - 1) > 1e-6
    if wrong.any():
        raise InputError(
            f"row {int(np.argmax(wrong))} of the membership probabilities is not a set of "
            "numbers from 0 that sum to 1."
        )
    return array


def checked_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights of rows, of which at least one is positive; without any, all are 1."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise InputError(
            f"sample_weight has shape {weights.shape}, but there are {n_samples} rows.",
            parameter="sample_weight",
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise InputError(
            "sample_weight must hold numbers from 0 that are not all zero.",
            parameter="sample_weight",
        )
    return weights


def assign(posteriors: FloatArray, assignment: str) -> FloatArray:
    """Return what part of each row is assigned to each segment."""
    check_value("assignment", assignment, Choice(*ASSIGNMENTS))
    if assignment == "proportional":
        return posteriors
    one_hot: FloatArray = np.eye(posteriors.shape[1])[posteriors.argmax(axis=1)]
    return one_hot


def classification_table(
    posteriors: FloatArray, assigned: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the weight [assigned segment, expected segment]."""
    table: FloatArray = (assigned * weights[:, None]).T @ posteriors
    return table


def entropy_r2(posteriors: FloatArray, weights: FloatArray) -> float:
    """Return the share of the uncertainty about membership that the answers remove."""
    before = float(entr(weights @ posteriors / weights.sum()).sum())
    after = float(weights @ entr(posteriors).sum(axis=1) / weights.sum())
    return 1.0 if before < 1e-12 else max(1 - after / before, 0.0)


def _standard_errors(
    source: Any, posteriors: FloatArray, weights: FloatArray, sizes: FloatArray
) -> tuple[FloatArray, str]:
    """Return the standard errors of the shares, and where they come from."""
    alone = _share_errors(posteriors, weights, sizes)
    try:
        from_model = np.asarray(source.standard_errors_["weights"], dtype=np.float64)
    except (AttributeError, KeyError, NotFittedError):
        return alone, "weights only"
    return np.where(np.isnan(from_model), alone, from_model), "information"


def _share_errors(posteriors: FloatArray, weights: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return robust standard errors of the shares, all else known.

    With s the score of a row in the shares of all live segments but the last, the variance is
    A⁻¹ (Σ ω² s sᵀ) A⁻¹ with A = Σ ω s sᵀ.
    """
    errors = np.zeros(len(sizes))
    live = np.flatnonzero(sizes > 0)
    if len(live) < 2:
        return errors
    ratio = posteriors[:, live] / sizes[live]
    score = ratio[:, :-1] - ratio[:, -1:]
    bread = np.linalg.pinv((score * weights[:, None]).T @ score)
    covariance = bread @ ((score * weights[:, None] ** 2).T @ score) @ bread
    errors[live[:-1]] = np.sqrt(np.maximum(np.diag(covariance), 0))
    errors[live[-1]] = np.sqrt(max(covariance.sum(), 0))
    return errors


def _logit_interval(
    sizes: FloatArray, errors: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals that are symmetric on the logit scale."""
    inside: NDArray[np.bool_] = (sizes > 0) & (sizes < 1)
    lower, upper = sizes.copy(), sizes.copy()
    share = sizes[inside]
    reach = ndtri((1 + confidence) / 2) * errors[inside] / (share * (1 - share))
    lower[inside] = expit(logit(share) - reach)
    upper[inside] = expit(logit(share) + reach)
    return lower, upper


def _segments(number: int) -> "pd.Index[Any]":
    return pd.RangeIndex(1, number + 1, name="segment")
