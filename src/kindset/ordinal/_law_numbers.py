"""Laws of numbers: measurements and counts."""

import numpy as np
from numpy.typing import NDArray

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._law import Law

_LEAST_VARIANCE = 1e-3
"""Share of the column's variance below which a component's never falls."""

_LEAST_RATE = 1e-9


class Gaussian(Law):
    """Mean and variance of a numeric column in every component.

    Columns are standardised, so the values are the mean and the log of the standard deviation in
    units of the column's own.
    """

    name = "gaussian"
    title = "normal distribution"
    takes = "numbers"

    def n_parameters(self, m: int, n_components: int) -> int:
        """Return a mean and a variance for each component."""
        return 2 * n_components

    def width(self, m: int) -> int:
        """Return two: mean and log of the standard deviation."""
        return 2

    def at(self, m: int, places: FloatArray, firmness: FloatArray) -> FloatArray:
        """Take the places as means."""
        return np.stack([places, -firmness], axis=1)

    def improve(self, statistics: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take mean and variance, not below the floor."""
        answered, total, squares, _ = statistics.transpose(1, 0, 2)
        answered_or_one = np.where(answered > 0, answered, 1.0)
        mean = total / answered_or_one
        variance = np.maximum(squares / answered_or_one - mean**2, _LEAST_VARIANCE)
        new = np.stack([mean, np.log(variance) / 2], axis=1)
        new = np.where(answered[:, None] > 0, new, values)
        return new, (statistics * self.log_terms(new, 1)).sum(axis=(1, 2))

    def log_terms(self, values: FloatArray, m: int) -> FloatArray:
        """Return the density's logarithm as a polynomial."""
        mean, precision = values[:, 0], np.exp(-2 * values[:, 1])
        constant = -0.5 * (mean**2 * precision + np.log(2 * np.pi)) - values[:, 1]
        return np.stack([constant, mean * precision, -precision / 2, np.zeros_like(mean)], axis=1)

    def tidy(self, values: FloatArray) -> FloatArray:
        """Keep the variance above its floor."""
        deviation = np.maximum(values[:, 1], np.log(_LEAST_VARIANCE) / 2)
        return np.stack([values[:, 0], deviation], axis=1)

    def scores(self, values: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Differentiate in the mean and the log standard deviation."""
        K = values.shape[1]
        first, second = np.zeros((2 * K, 4, K)), np.zeros((2 * K, 2 * K, 4, K))
        for k, (mean, deviation) in enumerate(values.T):
            precision = np.exp(-2 * deviation)
            a, b = 2 * k, 2 * k + 1
            # Terms of (x - mean)² times the precision, less one for the log deviation.
            square = precision * np.array([mean**2, -2 * mean, 1.0, 0.0])
            first[a, :, k] = precision * np.array([-mean, 1.0, 0.0, 0.0])
            first[b, :, k] = square - [1.0, 0, 0, 0]
            second[a, a, 0, k] = -precision
            second[a, b, :, k] = second[b, a, :, k] = -2 * first[a, :, k]
            second[b, b, :, k] = -2 * square
        return first, second

    def parameters(
        self, values: FloatArray, m: int, center: float = 0.0, scale: float = 1.0
    ) -> dict[str, FloatArray]:
        """Return means and standard deviations in the column's units."""
        return {"means": center + scale * values[0], "deviations": scale * np.exp(values[1])}

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the means."""
        return values[0]

    def mean_errors(self, values: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the errors of the means themselves."""
        return np.sqrt(np.maximum(np.diag(covariance)[::2], 0.0))

    def draw(
        self, values: FloatArray, labels: NDArray[np.int64], rng: np.random.RandomState
    ) -> FloatArray:
        """Draw from the normal distributions."""
        return rng.normal(values[0, labels], np.exp(values[1, labels]))

    def valid(self, values: FloatArray, m: int) -> bool:
        """Tell whether the values are finite and the variances above the floor."""
        least = np.log(_LEAST_VARIANCE) / 2 - 1e-9
        return bool(np.isfinite(values).all() and (values[1] >= least).all())


class Poisson(Law):
    """The rate of a column of counts in every component; the value is its logarithm."""

    name = "poisson"
    title = "Poisson distribution of counts"
    takes = "numbers"

    def n_parameters(self, m: int, n_components: int) -> int:
        """Return a rate for each component."""
        return n_components

    def width(self, m: int) -> int:
        """Return one: the log of the rate."""
        return 1

    def at(self, m: int, places: FloatArray, firmness: FloatArray) -> FloatArray:
        """Take the places as rates."""
        return np.log(np.maximum(places, 0.1))[:, None, :]

    def improve(self, statistics: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take the mean."""
        answered, total = statistics[:, 0], statistics[:, 1]
        rate = np.maximum(total / np.where(answered > 0, answered, 1.0), _LEAST_RATE)
        new = np.where(answered > 0, np.log(rate), values[:, 0])[:, None, :]
        return new, (statistics * self.log_terms(new, 1)).sum(axis=(1, 2))

    def log_terms(self, values: FloatArray, m: int) -> FloatArray:
        """Return the coefficients of 1, x, x² and log x!."""
        log_rate = values[:, 0]
        zero = np.zeros_like(log_rate)
        return np.stack([-np.exp(log_rate), log_rate, zero, zero - 1], axis=1)

    def tidy(self, values: FloatArray) -> FloatArray:
        """Keep the rates positive."""
        return np.maximum(values, np.log(_LEAST_RATE))

    def scores(self, values: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Differentiate in the log rates."""
        K = values.shape[1]
        first, second = np.zeros((K, 4, K)), np.zeros((K, K, 4, K))
        for k, rate in enumerate(np.exp(values[0])):
            first[k, :, k] = [-rate, 1.0, 0.0, 0.0]
            second[k, k, 0, k] = -rate
        return first, second

    def parameters(
        self, values: FloatArray, m: int, center: float = 0.0, scale: float = 1.0
    ) -> dict[str, FloatArray]:
        """Return the rates."""
        return {"rates": np.exp(values[0])}

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the rates."""
        return np.exp(values[0])

    def mean_errors(self, values: FloatArray, covariance: FloatArray) -> FloatArray:
        """Carry the errors of the log rates over to the rates."""
        return np.exp(values[0]) * np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def draw(
        self, values: FloatArray, labels: NDArray[np.int64], rng: np.random.RandomState
    ) -> FloatArray:
        """Draw counts."""
        return rng.poisson(np.exp(values[0, labels])).astype(np.float64)

    def valid(self, values: FloatArray, m: int) -> bool:
        """Tell whether the rates are finite and positive."""
        return bool(np.isfinite(np.exp(values)).all())
