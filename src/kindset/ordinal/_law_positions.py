"""Laws with a position and a precision: BOS, GOD, and whatever else has a coefficient tensor."""

from typing import Any

import numpy as np
from scipy.special import gammaln, softmax

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._distributions import MAX_PRECISION, OrdinalDistribution, law
from kindset.ordinal._law import Law
from kindset.ordinal._rows import IntArray
from kindset.ordinal._univariate import fill_log_pmf, maximize_questions

_EDGE = 1e-6


class PositionLaw(Law):
    """A distribution given by its coefficient tensor.

    The two values of a component are its position, a category from 0, and its precision. The
    position is discrete and is not counted as a parameter.

    Parameters
    ----------
    distribution : OrdinalDistribution
        An entry of `DISTRIBUTIONS`.
    """

    smooth = False
    usual_prior = 0.0

    def __init__(self, distribution: OrdinalDistribution, title: str) -> None:
        self._distribution = distribution
        self.name = distribution.name  # type: ignore[misc]
        self.title = title  # type: ignore[misc]

    @property
    def min_precision(self) -> float:
        """Where the range of precisions starts."""
        return self._distribution.min_precision

    def n_parameters(self, m: int, n_components: int) -> int:
        """Return one precision for each component."""
        return n_components if m > 1 else 0

    def width(self, m: int) -> int:
        """Return two: position and precision."""
        return 2

    def at(self, m: int, places: FloatArray, firmness: FloatArray) -> FloatArray:
        """Take the places as positions."""
        low = self.min_precision
        return np.stack([places, low + (MAX_PRECISION - low) * firmness], axis=1)

    def move(self, values: FloatArray, k: int, m: int, place: float) -> FloatArray:
        """Put the position there and halve the way to the largest precision."""
        moved = values.copy()
        moved[0, k] = place
        moved[1, k] = (moved[1, k] + MAX_PRECISION) / 2
        return moved

    def improve(self, statistics: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Find the best position and precision of every column and component."""
        G, m, K = statistics.shape
        modes, precisions = _split(values)
        np.maximum(precisions, self.min_precision, out=precisions)
        reached = np.zeros(G)
        if m > 1:
            rule = law(self.name, m)
            maximize_questions(
                rule.coefficients, rule.grid, rule.log_pmf_grid, np.arange(G), np.arange(G) * m,
                statistics.reshape(G * m, K), modes, precisions, reached,
            )  # fmt: skip
        return _join(modes, precisions), reached

    def log_terms(self, values: FloatArray, m: int) -> FloatArray:
        """Return log-probabilities."""
        G, _, K = values.shape
        out = np.zeros((G * m, K))
        if m > 1:
            modes, precisions = _split(values)
            tensor = law(self.name, m).coefficients
            fill_log_pmf(tensor, np.arange(G), np.arange(G) * m, modes, precisions, out)
        return out.reshape(G, m, K)

    def scores(self, values: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Differentiate in the precisions; one at an end of its range is no free parameter."""
        K = values.shape[1]
        first, second = np.zeros((K, m, K)), np.zeros((K, K, m, K))
        tensor = law(self.name, m).coefficients
        d = np.arange(m)[:, None]
        for k, (mode, pi) in enumerate(values.T):
            if not self.min_precision + _EDGE < pi < 1 - _EDGE:
                continue
            with np.errstate(divide="ignore"):
                logs = np.log(tensor[int(mode)]) + _log_binomial(m - 1, pi)[:, None]
            joint = softmax(logs, axis=0)  # a far answer's probabilities may underflow
            mean = (d * joint).sum(axis=0)
            variance = ((d - mean) ** 2 * joint).sum(axis=0)
            v, excess = pi * (1 - pi), mean - (m - 1) * pi
            first[k, :, k] = excess / v
            second[k, k, :, k] = (variance - (m - 1) * v - excess * (1 - 2 * pi)) / v**2
        return first, second

    def parameters(
        self, values: FloatArray, m: int, center: float = 0.0, scale: float = 1.0
    ) -> dict[str, FloatArray]:
        """Return positions from 1 and precisions."""
        return {"positions": values[0] + 1, "precisions": values[1].copy()}

    def valid(self, values: FloatArray, m: int) -> bool:
        """Tell whether positions are categories and precisions in their range."""
        positions, precisions = values
        return bool(
            np.isin(positions, np.arange(m)).all()
            and ((precisions >= self.min_precision) & (precisions <= MAX_PRECISION)).all()
        )


def _split(values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return positions and precisions as the kernels want them, [component, column]."""
    return values[:, 0].T.astype(np.int64, order="C"), values[:, 1].T.copy()


def _join(modes: IntArray, precisions: FloatArray) -> FloatArray:
    return np.stack([modes.T.astype(np.float64), precisions.T], axis=1)


def _log_binomial(n: int, p: Any) -> FloatArray:
    d = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(d + 1) - gammaln(n - d + 1)
    out: FloatArray = ways + d * np.log(p) + (n - d) * np.log1p(-p)
    return out
