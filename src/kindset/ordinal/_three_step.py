"""The second of three steps: assign rows to segments, and know how often that is wrong.

Step one fits a mixture. Step two assigns its rows to segments. Step three relates the segments to
variables outside the mixture, and corrects for the errors of step two (`_outside`, `_membership`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from kindset._validation import Choice, Optional, check_value
from kindset.exceptions import InputError
from kindset.ordinal._classification import (
    assign,
    checked_weights,
    classification_table,
    posteriors_of,
)
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._rows import IntArray

CORRECTIONS = ("bch", "ml")

_NO_WEIGHT = 1e-12
_SINGULAR = 1e8
_ZERO_VARIANCE = 1e-10


@dataclass(frozen=True)
class Assignment:
    """Rows assigned to the segments that have any weight.

    Attributes
    ----------
    live : ndarray of shape (n_live,)
        Numbers of the segments with weight; all else here is about these alone.
    n_segments : int
        Number of segments, with the empty ones.
    assigned : ndarray of shape (n_samples, n_live)
        What part of each row is assigned to each segment.
    weights : ndarray of shape (n_samples,)
    sizes : ndarray of shape (n_live,)
        Expected shares.
    errors : ndarray of shape (n_live, n_live)
        Probability that a member of a segment (row) is assigned to a segment (column).
    """

    live: IntArray
    n_segments: int
    assigned: FloatArray
    weights: FloatArray
    sizes: FloatArray
    errors: FloatArray

    @classmethod
    def build(
        cls, posteriors: Any, assignment: str, sample_weight: Any, correction: str | None
    ) -> "Assignment":
        """Assign rows by their membership probabilities; without correction, as if certain."""
        check_value("correction", correction, Optional(Choice(*CORRECTIONS)))
        probabilities = posteriors_of(posteriors)
        weights = checked_weights(sample_weight, len(probabilities))
        sizes = weights @ probabilities / weights.sum()
        live = np.flatnonzero(sizes > _NO_WEIGHT)
        assigned = assign(probabilities, assignment)
        table = classification_table(probabilities, assigned, weights)[np.ix_(live, live)]
        errors = (table / table.sum(axis=0)).T
        if correction is None:
            errors = np.eye(len(live))
        elif not np.linalg.cond(errors) < _SINGULAR:
            unused = live[table.sum(axis=1) <= _NO_WEIGHT * weights.sum()]
            reason = (
                f"no row is assigned to segment {unused[0] + 1}; try assignment='proportional'"
                if len(unused)
                else "segments overlap too much"
            )
            raise InputError(f"the classification errors cannot be corrected: {reason}.")
        return cls(live, probabilities.shape[1], assigned[:, live], weights, sizes[live], errors)

    def corrected(self) -> FloatArray:
        """Return the weight of each row in each segment: assigned times the inverse errors.

        These weights (of Bolck, Croon and Hagenaars) are partly negative, and sum to the row's
        own.
        """
        corrected: FloatArray = self.weights[:, None] * (self.assigned @ np.linalg.inv(self.errors))
        return corrected

    def spread(self, values: FloatArray) -> FloatArray:
        """Return values of the live segments as values of all segments, NaN for the others."""
        out = np.full((self.n_segments, *values.shape[1:]), np.nan)
        out[self.live] = values
        return out

    def spread_covariance(self, covariance: FloatArray, width: int) -> FloatArray:
        """Do the same for the covariance of `width` values of each segment."""
        place = (self.live[:, None] * width + np.arange(width)).ravel()
        out = np.full((self.n_segments * width, self.n_segments * width), np.nan)
        out[np.ix_(place, place)] = covariance
        return out


@dataclass(frozen=True)
class WaldTest:
    """A test whether some differences or coefficients are all zero.

    Attributes
    ----------
    statistic : float
    df : int
        Degrees of freedom; 0 where nothing can differ.
    p_value : float
    """

    statistic: float
    df: int
    p_value: float

    @classmethod
    def of(cls, estimates: FloatArray, covariance: FloatArray) -> "WaldTest":
        """Test whether all estimates are zero, in the directions in which they vary."""
        if estimates.size == 0:
            return cls(0.0, 0, 1.0)
        # Shares of very different sizes have errors of very different sizes.
        scale = np.sqrt(np.maximum(np.diag(covariance), 0))
        scale[scale == 0] = 1.0
        values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
        along = vectors.T @ (estimates / scale)
        varies = values > _ZERO_VARIANCE * max(values.max(), 0)
        if (np.abs(along[~varies]) > 1e-6 * max(1.0, np.abs(along).max())).any():
            return cls(float("inf"), int(varies.sum()) or 1, 0.0)  # a difference without error
        statistic = float((along[varies] ** 2 / values[varies]).sum())
        df = int(varies.sum())
        return cls(statistic, df, float(chi2.sf(statistic, df)) if df else 1.0)


def sandwich(hessian: FloatArray, meat: FloatArray) -> FloatArray:
    """Return the robust covariance of estimates: H⁺ M H⁺, with M the sum of s sᵀ over rows."""
    bread = np.linalg.pinv(hessian, rcond=1e-10, hermitian=True)
    covariance: FloatArray = bread @ meat @ bread
    return covariance
