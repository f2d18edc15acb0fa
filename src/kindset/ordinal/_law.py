"""What the mixture asks of a law: the distribution of one column in every component."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kindset.ordinal._coefficients import FloatArray

N_STATISTICS = 4
"""A number x counts through 1, x, x² and log x!: all that the laws of numbers need."""


class Law(ABC):
    """The distribution of a column's answers in each component.

    The mixture only knows `statistics` and `values`. The statistics of an answer are the indicator
    of its category, or 1, x, x² and log x! of a number; summed with the memberships as weights,
    they are all that the M-step sees. The values are the law's own numbers, w for each component,
    in a form that may be extrapolated if the law is `smooth`. The log-probability of an answer is
    the sum of its statistics times `log_terms`.

    To add a law, write a class with the methods below and add it to `LAWS` in `_laws`. Every method
    works on G columns at once that have the same number m of categories (1 for numbers); arrays
    have the shape (G, number of statistics or values, K). Everything else (missing answers,
    weights, long tables, saving, drawing, filling gaps, standard errors, the number of
    components) then works for it. A law of numbers also has `mean`, `mean_errors` and `draw`.

    Attributes
    ----------
    name : str
        What users call it.
    title : str
        The law in words.
    takes : {"categories", "numbers"}
        What its columns hold.
    ordered : bool
        Whether it needs an order of the categories.
    smooth : bool
        Whether its values are real numbers in which the likelihood is smooth.
    usual_prior, least_prior : float
        Answers that are added to each component unless the user says otherwise, and at least.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    takes: ClassVar[Literal["categories", "numbers"]] = "categories"
    ordered: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    usual_prior: ClassVar[float] = 0.01
    least_prior: ClassVar[float] = 0.0

    @abstractmethod
    def n_parameters(self, m: int, n_components: int) -> int:
        """Return the number of free parameters of one column."""

    @abstractmethod
    def width(self, m: int) -> int:
        """Return the number of values of one column in each component."""

    @abstractmethod
    def at(self, m: int, places: FloatArray, firmness: FloatArray) -> FloatArray:
        """Return values of components that lean to given answers, of shape (G, w, K).

        `places` holds categories from 0 or numbers, `firmness` is from 0 (hardly) to 1 (firmly);
        both have the shape (G, K).
        """

    @abstractmethod
    def improve(self, statistics: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return better values for given statistics, never worse ones, and what they reach.

        The second array, of shape (G,), holds the sums of statistics times log-terms.
        """

    @abstractmethod
    def log_terms(self, values: FloatArray, m: int) -> FloatArray:
        """Return the log-probabilities of the statistics, of shape (G, n_statistics, K)."""

    @abstractmethod
    def scores(self, values: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Return two derivatives of one column's log-terms in its P free parameters.

        Parameters
        ----------
        values : ndarray of shape (w, K)
        m : int

        Returns
        -------
        first : ndarray of shape (P, n_statistics, K)
        second : ndarray of shape (P, P, n_statistics, K)
            Axes of length one are repeated: the same second derivative for all categories.
        """

    @abstractmethod
    def parameters(
        self, values: FloatArray, m: int, center: float = 0.0, scale: float = 1.0
    ) -> dict[str, FloatArray]:
        """Return one column's parameters by name, as users read them; `values` is (w, K).

        Numbers were standardised by `center` and `scale`.
        """

    @abstractmethod
    def valid(self, values: FloatArray, m: int) -> bool:
        """Tell whether one column's values, of shape (w, K), can be a fit."""

    def estimate(self, statistics: FloatArray) -> FloatArray:
        """Return good values for given statistics, from nothing."""
        G, n_statistics, K = statistics.shape
        m = n_statistics if self.takes == "categories" else 1
        middle = np.full((G, K), float(m // 2))
        return self.improve(statistics, self.at(m, middle, np.full((G, K), 0.5)))[0]

    def move(self, values: FloatArray, k: int, m: int, place: float) -> FloatArray:
        """Return one column's values, (w, K), with component k leaning to an answer."""
        moved = values.copy()
        moved[:, k] = self.at(m, np.full((1, 1), place), np.full((1, 1), 0.75))[0, :, 0]
        return moved

    def tidy(self, values: FloatArray) -> FloatArray:
        """Bring extrapolated values back into their range."""
        return values

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of numbers in each component, (K,); `values` is (w, K)."""
        raise NotImplementedError

    def mean_errors(self, values: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the standard errors of these means, given the covariance of the parameters."""
        raise NotImplementedError

    def draw(
        self, values: FloatArray, labels: NDArray[np.int64], rng: np.random.RandomState
    ) -> FloatArray:
        """Draw a number for each of the given components; `values` is (w, K)."""
        raise NotImplementedError

    def prior(self, asked: float | None) -> float:
        """Return how many answers to add to each component."""
        return self.usual_prior if asked is None else max(asked, self.least_prior)

    def __repr__(self) -> str:
        return f"<law {self.name}>"


def log_linear_scores(design: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two derivatives of log-probabilities that are linear in the parameters.

    `design` is the derivative of the log-odds, of shape (P, m, K), `p` the probabilities (m, K).
    """
    mean = np.einsum("pxk,xk->pk", design, p)
    first = design - mean[:, None, :]
    second = -np.einsum("pxk,qxk,xk->pqk", first, first, p)
    return first, second[:, :, None, :]


def unit_shares(values: Any) -> FloatArray:
    """Return logs of probabilities that sum to one over the second axis."""
    largest = values.max(axis=1, keepdims=True)
    total = np.log(np.exp(values - largest).sum(axis=1, keepdims=True))
    out: FloatArray = values - (largest + total)
    return out
