"""Laws whose values are the log-probabilities themselves: free, or log-linear in scores."""

from typing import ClassVar

import numpy as np

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._law import Law, log_linear_scores, unit_shares
from kindset.ordinal._loglinear import improve_tables, score_basis

_LEAST = 1e-12
"""No probability is zero, so that a new answer is never impossible."""

_FIRST_STEPS = 4
"""Newton steps from the margins; after that one for each iteration of EM is enough."""

_PEAK = 4.0


class Categorical(Law):
    """Free probabilities in every component: the latent class model."""

    name: ClassVar[str] = "categorical"
    title: ClassVar[str] = "latent classes (free probabilities)"
    ordered: ClassVar[bool] = False

    def n_parameters(self, m: int, n_components: int) -> int:
        """Return m - 1 probabilities for each component."""
        return n_components * (m - 1)

    def width(self, m: int) -> int:
        """Return one log-probability for each category."""
        return m

    def at(self, m: int, places: FloatArray, firmness: FloatArray) -> FloatArray:
        """Give the places the probability `firmness` and spread the rest evenly."""
        here = np.arange(m)[:, None] == places[:, None, :]
        share = 0.9 * firmness[:, None, :]
        return np.log(share * here + (1 - share) / m)

    def move(self, values: FloatArray, k: int, m: int, place: float) -> FloatArray:
        """Multiply the probabilities by those of a peak, which stays in the family."""
        moved = values.copy()
        moved[:, k] += self.at(m, np.full((1, 1), place), np.full((1, 1), 0.75))[0, :, 0]
        return unit_shares(moved[None])[0]

    def improve(self, statistics: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take the shares of the answers."""
        total = statistics.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(np.maximum(statistics / total, _LEAST))
        logs = np.where(total > 0, logs, values)
        return logs, (statistics * logs).sum(axis=(1, 2))

    def log_terms(self, values: FloatArray, m: int) -> FloatArray:
        """Return the values."""
        return values

    def tidy(self, values: FloatArray) -> FloatArray:
        """Make probabilities sum to one."""
        return unit_shares(np.maximum(values, np.log(_LEAST)))

    def scores(self, values: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Differentiate in the log-odds of each component."""
        K = values.shape[1]
        design = np.zeros((K, m - 1, m, K))
        for k in range(K):
            design[k, :, 1:, k] = np.eye(m - 1)
        return log_linear_scores(design.reshape(-1, m, K), np.exp(values))

    def parameters(
        self, values: FloatArray, m: int, center: float = 0.0, scale: float = 1.0
    ) -> dict[str, FloatArray]:
        """Return the probabilities, [component, category]."""
        return {"probabilities": np.exp(values.T)}

    def valid(self, values: FloatArray, m: int) -> bool:
        """Tell whether the values are logs of probabilities."""
        return bool(
            np.isfinite(values).all() and np.allclose(np.exp(values).sum(axis=0), 1, atol=1e-6)
        )


class LogLinear(Categorical):
    """p(x | k) proportional to b[x] exp(polynomial of the answer's score, without a constant).

    The base b is shared by all components; the polynomial's coefficients are the component's own.
    """

    ordered = True
    least_prior = 1e-4
    degree: ClassVar[int]

    def n_parameters(self, m: int, n_components: int) -> int:
        """Return m - 1 for the base and the first component, `degree` for each further one."""
        return (m - 1) + min(self.degree, m - 1) * (n_components - 1)

    def at(self, m: int, places: FloatArray, firmness: FloatArray) -> FloatArray:
        """Put a peak, or for degree one a slope, towards the places."""
        scores = np.linspace(-1, 1, m) if m > 1 else np.zeros(1)
        middle = scores[np.minimum(places, m - 1).astype(np.int64)][:, None, :]
        strength = 2 * _PEAK * firmness[:, None, :]
        logs = strength * middle * scores[:, None]
        if self.degree > 1:
            logs = logs - strength / 2 * scores[:, None] ** 2
        return unit_shares(logs)

    def improve(self, statistics: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take one Newton step, or the shares where they are in the family anyway."""
        return self._improve(statistics, values, 1)

    def estimate(self, statistics: FloatArray) -> FloatArray:
        """Start from the shares of all components together."""
        all_together = statistics.sum(axis=2, keepdims=True)
        logs = np.log(np.maximum(all_together, 1e-300))
        start = unit_shares(np.repeat(logs, statistics.shape[2], axis=2))
        return self._improve(statistics, start, _FIRST_STEPS)[0]

    def _improve(
        self, statistics: FloatArray, values: FloatArray, n_steps: int
    ) -> tuple[FloatArray, FloatArray]:
        m = statistics.shape[1]
        if m <= self.degree + 1:
            return super().improve(statistics, values)
        logs = np.ascontiguousarray(values).copy()
        counts = np.ascontiguousarray(statistics)
        reached = improve_tables(counts, logs, score_basis(m, self.degree), n_steps)
        return logs, reached

    def tidy(self, values: FloatArray) -> FloatArray:
        """Make probabilities sum to one; anything else could leave the family."""
        return unit_shares(values)

    def scores(self, values: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Differentiate in the shared base and in each component's coefficients."""
        if m <= self.degree + 1:
            return super().scores(values, m)
        K = values.shape[1]
        basis = score_basis(m, self.degree)
        both = np.column_stack([np.ones(m), basis])
        base = np.linalg.qr(np.column_stack([both, np.eye(m)]))[0][:, self.degree + 1 : m].T
        own = np.zeros((K, self.degree, m, K))
        for k in range(K):
            own[k, :, :, k] = basis.T
        shared = np.broadcast_to(base[:, :, None], (*base.shape, K))
        return log_linear_scores(np.concatenate([shared, own.reshape(-1, m, K)]), np.exp(values))

    def parameters(
        self, values: FloatArray, m: int, center: float = 0.0, scale: float = 1.0
    ) -> dict[str, FloatArray]:
        """Return the base, the coefficients of the scores, and the probabilities.

        The base is the geometric mean of the components' probabilities without its own polynomial.
        """
        scores = np.linspace(-1, 1, m)
        degree = min(self.degree, m - 1)
        powers = np.vander(scores, degree + 1, increasing=True)
        coefficients, *_ = np.linalg.lstsq(powers, values, rcond=None)
        base = np.exp((values - powers @ coefficients).mean(axis=1))
        names = ("tilts", "spreads")[:degree]
        return {
            "base": base / base.sum(),
            **{name: coefficients[a + 1] for a, name in enumerate(names)},
            "probabilities": np.exp(values.T),
        }


class Adjacent(LogLinear):
    """The adjacent-category logit model: a component tilts the base to one side."""

    name = "adjacent"
    title = "adjacent categories (position moves with the segment)"
    degree = 1


class Tilted(LogLinear):
    """Position and spread move with the component."""

    name = "tilted"
    title = "tilted (position and spread move with the segment)"
    degree = 2
