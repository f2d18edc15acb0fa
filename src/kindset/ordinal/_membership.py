"""Which outside variables predict membership: multinomial regression, corrected for wrong rows."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax, ndtr, softmax
from sklearn.exceptions import ConvergenceWarning

from kindset._notebook import html_table
from kindset._validation import Whole, check_value
from kindset.exceptions import InputError
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._three_step import Assignment, WaldTest, sandwich

_MAX_ITER = 200
_LAST_STEP = 1e-9
_INTERCEPT = "intercept"


@dataclass(frozen=True)
class MembershipRegression:
    """How outside variables change the odds of being in a segment.

    Attributes
    ----------
    terms : list of str
        The intercept, the numeric variables, and "variable: level" for every level of a nominal
        variable but its first.
    reference : int
        The segment that all others are compared with, counted from 1.
    coefficients : ndarray of shape (n_segments, n_terms)
        Change of the log-odds against the reference segment; 0 for the reference itself, NaN for
        a segment without weight.
    standard_errors : ndarray of shape (n_segments, n_terms)
    tests : DataFrame
        For each variable whether it has any effect: `statistic`, `df`, `p_value`.
    correction : {"ml", "bch"} or None
    assignment : {"modal", "proportional"}
    log_likelihood : float
        What was maximised; for "bch" a sum with partly negative weights.
    n_rows : int
        Number of rows with all variables and a weight.
    converged : bool

    See Also
    --------
    membership_regression : Compute it.
    """

    terms: list[str]
    reference: int
    coefficients: FloatArray
    standard_errors: FloatArray
    tests: pd.DataFrame
    correction: str | None
    assignment: str
    log_likelihood: float
    n_rows: int
    converged: bool

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each segment and term: coefficient, odds ratio, error, p-value."""
        numbers = range(1, len(self.coefficients) + 1)
        index = pd.MultiIndex.from_product([numbers, self.terms], names=["segment", "term"])
        coefficient, error = self.coefficients.ravel(), self.standard_errors.ravel()
        z = np.divide(coefficient, error, out=np.zeros_like(error), where=error > 0)
        with np.errstate(over="ignore"):
            odds = np.exp(coefficient)
        frame = pd.DataFrame(
            {
                "coefficient": coefficient,
                "odds_ratio": odds,
                "standard_error": error,
                "z": z,
                "p_value": 2 * ndtr(-np.abs(z)),
            },
            index=index,
        )
        return frame.drop(index=self.reference, level="segment")

    def __str__(self) -> str:
        found = [str(name) for name, p in self.tests["p_value"].items() if p < 0.05]
        if not found:
            return "No variable clearly predicts membership."
        verb = "predicts" if len(found) == 1 else "predict"
        return f"{', '.join(found)} {verb} membership (reference: segment {self.reference})."

    def _repr_html_(self) -> str:
        return html_table(str(self), self.tests)


def membership_regression(
    posteriors: Any,
    covariates: Any,
    *,
    correction: str | None = "ml",
    assignment: str = "modal",
    reference: int = 1,
    sample_weight: Any = None,
) -> MembershipRegression:
    """Regress membership on outside variables, corrected for wrong assignments.

    Parameters
    ----------
    posteriors : array-like of shape (n_samples, n_segments)
        Membership probabilities, from any mixture.
    covariates : DataFrame, Series or array-like of shape (n_samples, n_covariates)
        Numbers enter as they are; text, truth values and categoricals by an indicator of each
        level but the first. Rows with a missing value are left out.
    correction : {"ml", "bch"} or None, default="ml"
        How to correct for wrong assignments; see `outside_profile`.
    assignment : {"modal", "proportional"}, default="modal"
        Whether a row is assigned to its most probable segment, or to all in proportion.
    reference : int, default=1
        The segment to compare with, counted from 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, such as survey weights.

    Returns
    -------
    regression : MembershipRegression

    Notes
    -----
    "ml" maximises Σ ω w_s log Σ_c P(c | z) P(s | c) over the coefficients of the multinomial
    logit P(c | z), with w_s the assignment and P(s | c) its errors. "bch" maximises the weighted
    likelihood Σ ω w*_c log P(c | z), which stays concave. Standard errors are robust
    ("sandwich") and take the first step as known.

    References
    ----------
    J. K. Vermunt, "Latent class modeling with covariates: two improved three-step approaches",
    Political Analysis 18 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kindset.ordinal import membership_regression
    >>> rng = np.random.default_rng(0)
    >>> age = pd.Series(rng.uniform(20, 80, 20_000), name="age")
    >>> old = rng.random(20_000) < 1 / (1 + np.exp(5 - 0.1 * age))
    >>> sure = np.where(rng.random(20_000) < 0.8, old, ~old)  # one in five looks wrong
    >>> posteriors = np.where(sure[:, None], [0.2, 0.8], [0.8, 0.2])
    >>> regression = membership_regression(posteriors, age)
    >>> print(regression)
    age predicts membership (reference: segment 1).
    >>> regression.to_frame()["coefficient"].round(2)
    segment  term
    2        intercept   -5.04
             age          0.10
    Name: coefficient, dtype: float64
    """
    check_value("reference", reference, Whole(1))
    step = Assignment.build(posteriors, assignment, sample_weight, correction)
    if reference - 1 not in step.live:
        raise InputError(f"reference must be a segment with weight, got {reference}.")
    design = _Design.build(covariates, step)
    order = _reference_first(step, reference)
    problem = _Problem.build(step, design, order, correction)
    coefficients, value, converged = problem.solve()
    if not converged:
        warnings.warn(
            "The regression did not converge: a variable may tell a segment with certainty.",
            ConvergenceWarning,
            stacklevel=2,
        )
    covariance = design.original_covariance(problem.covariance(coefficients))
    coefficients = design.original(coefficients)
    n_free, n_terms = coefficients.shape
    errors = np.sqrt(np.maximum(np.diag(covariance), 0)).reshape(n_free, n_terms)
    back = np.argsort(order)
    none = np.zeros((1, n_terms))
    return MembershipRegression(
        design.terms, int(reference),
        step.spread(np.vstack([none, coefficients])[back]),
        step.spread(np.vstack([none, errors])[back]),
        _tests(design, coefficients, covariance), correction, assignment, value,
        len(design.matrix), converged,
    )  # fmt: skip


@dataclass(frozen=True)
class _Design:
    """The variables as numbers in standard units, with an intercept before them.

    Attributes
    ----------
    used : ndarray of bool
        Rows with all values and a weight.
    matrix : ndarray of shape (n_used, n_terms)
    terms : list of str
    variables : list of str
        The variable that each term belongs to.
    center, scale : ndarray of shape (n_terms,)
    """

    used: Any
    matrix: FloatArray
    terms: list[str]
    variables: list[str]
    center: FloatArray
    scale: FloatArray

    @classmethod
    def build(cls, covariates: Any, step: Assignment) -> "_Design":
        table = _as_frame(covariates, len(step.assigned))
        used = table.notna().all(axis=1).to_numpy() & (step.weights > 0)
        if not used.any():
            raise InputError("no row with a weight has a value of every covariate.")
        names, terms, columns = [_INTERCEPT], [_INTERCEPT], [np.ones(int(used.sum()))]
        for name in table.columns:
            for term, column in _columns(table[name][used], str(name)):
                names.append(str(name))
                terms.append(term)
                columns.append(column)
        matrix = np.column_stack(columns)
        center, scale = matrix.mean(axis=0), matrix.std(axis=0)
        center[0], scale[0] = 0.0, 1.0
        matrix = (matrix - center) / np.where(scale > 0, scale, 1.0)
        _refuse_collinear(matrix, terms)
        return cls(used, matrix, terms, names, center, scale)

    def original(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients in the variables' own units."""
        return coefficients @ self._back().T

    def original_covariance(self, covariance: FloatArray) -> FloatArray:
        back = np.kron(np.eye(len(covariance) // len(self.terms)), self._back())
        return back @ covariance @ back.T

    def _back(self) -> FloatArray:
        back = np.diag(1 / self.scale)
        back[0, 1:] = -self.center[1:] / self.scale[1:]
        return back


@dataclass(frozen=True)
class _Problem:
    """The likelihood of the coefficients, the reference segment first.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_terms)
    shares : ndarray of shape (n_rows, n_kinds)
        Weight of each row in each term of the likelihood.
    errors : ndarray of shape (n_kinds, n_segments) or None
        Probability to be assigned so, given the segment. None: the shares are the segments' own.
    """

    matrix: FloatArray
    shares: FloatArray
    errors: FloatArray | None

    @classmethod
    def build(
        cls, step: Assignment, design: _Design, order: Any, correction: str | None
    ) -> "_Problem":
        if correction == "ml":
            shares = (step.assigned * step.weights[:, None])[design.used]
            return cls(design.matrix, shares, step.errors[order].T)
        return cls(design.matrix, step.corrected()[design.used][:, order], None)

    @property
    def n_free(self) -> int:
        """Number of segments besides the reference."""
        kinds = self.shares.shape[1] if self.errors is None else self.errors.shape[1]
        return kinds - 1

    def value(self, coefficients: FloatArray) -> float:
        log_p = log_softmax(self._scores(coefficients), axis=1)
        if self.errors is None:
            return float((self.shares * log_p).sum())
        with np.errstate(divide="ignore"):
            return float((self.shares * np.log(np.exp(log_p) @ self.errors.T)).sum())

    def derivatives(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the scores of the rows, minus the second derivatives, and a bound on them.

        The last is what they would be if membership were known; it is never too small, so a
        step with it climbs.
        """
        p = softmax(self._scores(coefficients), axis=1)
        total = self.shares.sum(axis=1)
        complete = self._information(p, total)
        if self.errors is None:
            return self.shares[:, 1:] - total[:, None] * p[:, 1:], complete, complete
        score = np.zeros((len(p), self.n_free))
        missing = np.zeros_like(complete)
        for kind, error in enumerate(self.errors):
            posterior = p * error
            posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
            score += self.shares[:, [kind]] * (posterior - p)[:, 1:]
            missing += self._information(posterior, self.shares[:, kind])
        return score, complete - missing, complete

    def solve(self) -> tuple[FloatArray, float, bool]:
        """Climb by Newton steps, each halved until the likelihood does not fall."""
        coefficients = np.zeros((self.n_free, self.matrix.shape[1]))
        value = self.value(coefficients)
        if coefficients.size == 0:
            return coefficients, value, True
        for _ in range(_MAX_ITER):
            score, observed, complete = self.derivatives(coefficients)
            gradient = (score.T @ self.matrix).ravel()
            step = _newton(observed, complete, gradient).reshape(coefficients.shape)
            for _ in range(40):
                after = self.value(coefficients + step)
                if after >= value - 1e-12 * abs(value):
                    break
                step = step / 2
            coefficients, value = coefficients + step, after
            if np.abs(step).max() < _LAST_STEP:
                return coefficients, value, True
        return coefficients, value, False

    def covariance(self, coefficients: FloatArray) -> FloatArray:
        """Return the robust covariance of the coefficients."""
        score, observed, _ = self.derivatives(coefficients)
        rows = (score[:, :, None] * self.matrix[:, None, :]).reshape(len(score), -1)
        return sandwich(observed, rows.T @ rows)

    def _scores(self, coefficients: FloatArray) -> FloatArray:
        return np.column_stack([np.zeros(len(self.matrix)), self.matrix @ coefficients.T])

    def _information(self, p: FloatArray, weights: FloatArray) -> FloatArray:
        """Return Σ weight (diag p - p pᵀ) ⊗ z zᵀ over the segments but the reference."""
        n_free, n_terms = self.n_free, self.matrix.shape[1]
        out = np.empty((n_free, n_terms, n_free, n_terms))
        for a in range(n_free):
            for b in range(a, n_free):
                factor = weights * p[:, a + 1] * ((a == b) - p[:, b + 1])
                out[a, :, b] = out[b, :, a] = (self.matrix * factor[:, None]).T @ self.matrix
        return out.reshape(n_free * n_terms, n_free * n_terms)


def _newton(observed: FloatArray, complete: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the Newton step where the likelihood is concave, else a step that climbs slowly."""
    for information in (observed, complete):
        try:
            return cho_solve(cho_factor(information), gradient)
        except np.linalg.LinAlgError:
            continue
    step: FloatArray = np.linalg.pinv(complete, hermitian=True) @ gradient
    return step


def _reference_first(step: Assignment, reference: int) -> Any:
    place = int(np.flatnonzero(step.live == reference - 1)[0])
    others = [k for k in range(len(step.live)) if k != place]
    return np.array([place, *others])


def _tests(design: _Design, coefficients: FloatArray, covariance: FloatArray) -> pd.DataFrame:
    """Test for each variable whether all its coefficients are zero."""
    rows = {}
    for name in dict.fromkeys(design.variables[1:]):
        own = np.array([variable == name for variable in design.variables])
        place = np.flatnonzero(np.tile(own, len(coefficients)))
        test = WaldTest.of(coefficients.ravel()[place], covariance[np.ix_(place, place)])
        rows[name] = {"statistic": test.statistic, "df": test.df, "p_value": test.p_value}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["statistic", "df", "p_value"])
    return frame.rename_axis("variable")


def _as_frame(covariates: Any, n_samples: int) -> pd.DataFrame:
    if isinstance(covariates, pd.Series):
        name = "covariate" if covariates.name is None else covariates.name
        covariates = covariates.to_frame(name)
    elif not isinstance(covariates, pd.DataFrame):
        array = np.asarray(covariates)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise InputError(f"covariates have shape {array.shape}: give a table.")
        names = [f"covariate {j + 1}" for j in range(array.shape[1])]
        covariates = pd.DataFrame(array, columns=names).infer_objects()
    if len(covariates) != n_samples:
        raise InputError(f"covariates have {len(covariates)} rows for {n_samples} rows.")
    if covariates.shape[1] == 0 or not covariates.columns.is_unique:
        raise InputError("covariates need at least one column, each with its own name.")
    return covariates


def _columns(values: "pd.Series[Any]", name: str) -> list[tuple[str, FloatArray]]:
    """Return the terms of one variable: itself, or an indicator of each level but the first."""
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if numeric:
        column = values.to_numpy(dtype=np.float64)
        if np.isinf(column).any():
            raise InputError(f"covariate {name!r} holds an infinite number.")
        if np.ptp(column) == 0:
            raise InputError(f"covariate {name!r} has only one value: leave it out.")
        return [(name, column)]
    try:
        levels = values.astype("category").cat.remove_unused_categories()
    except TypeError:
        raise InputError(f"covariate {name!r} mixes numbers and text.") from None
    if len(levels.cat.categories) < 2:
        raise InputError(f"covariate {name!r} has only one value: leave it out.")
    codes = levels.cat.codes.to_numpy()
    return [
        (f"{name}: {level}", (codes == code).astype(np.float64))
        for code, level in enumerate(levels.cat.categories)
        if code > 0
    ]


def _refuse_collinear(matrix: FloatArray, terms: list[str]) -> None:
    """Refuse a term that the terms before it determine."""
    diagonal = np.abs(np.diag(np.linalg.qr(matrix, mode="r")))
    dependent = np.flatnonzero(diagonal < 1e-8 * diagonal.max())
    if len(dependent) or len(diagonal) < len(terms):
        term = terms[dependent[0]] if len(dependent) else terms[-1]
        raise InputError(f"covariate {term!r} follows from the others: leave it out.")
