"""Which questions go together more than the segments explain: bivariate residuals."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from kindset._compiling import njit
from kindset._notebook import html_table
from kindset._validation import Seed, Whole, Workers, check_values
from kindset.ordinal._classification import checked_weights
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._encoding import encode, read_table
from kindset.ordinal._rows import CodeArray, IntArray

_REFIT_STARTS = 4
_MAX_RAKING = 200
_CLEAR = 0.05
_SMALL_EXCESS = 0.05


@dataclass(frozen=True)
class BivariateResiduals:
    """What the segments leave unexplained between each two questions.

    Attributes
    ----------
    questions : list of str
        The questions with at least two categories.
    pairs : ndarray of shape (n_pairs, 2)
        Numbers of the two questions in `questions`.
    residuals : ndarray of shape (n_pairs,)
        Pearson's chi-squared of the two-way table against what the mixture expects, with the
        observed margins, over (m - 1)(m' - 1). About 1 if the segments explain the table.
    excess : ndarray of shape (n_pairs,)
        How much the correlation of the answers exceeds the expected one.
    p_values : ndarray of shape (n_pairs,) or None
        Share of bootstrap tables with as large a residual.
    p_adjusted : ndarray of shape (n_pairs,) or None
        The same for all pairs together: chance that the most conspicuous pair of a bootstrap
        table is as conspicuous as this pair.
    expected : ndarray of shape (n_pairs,) or None
        Mean residual of the bootstrap tables.
    n_bootstrap : int

    See Also
    --------
    bivariate_residuals : Compute them.
    """

    questions: list[str]
    pairs: IntArray
    residuals: FloatArray
    excess: FloatArray
    p_values: FloatArray | None
    p_adjusted: FloatArray | None
    expected: FloatArray | None
    n_bootstrap: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each pair, the most conspicuous first."""
        frame = pd.DataFrame(
            {
                "question": [self.questions[a] for a in self.pairs[:, 0]],
                "other": [self.questions[b] for b in self.pairs[:, 1]],
                "residual": self.residuals,
                "excess": self.excess,
            }
        )
        if self.p_values is None:
            return frame.sort_values("residual", ascending=False, ignore_index=True)
        frame["expected"] = self.expected
        frame["p_value"] = self.p_values
        frame["p_adjusted"] = self.p_adjusted
        return frame.sort_values(
            ["p_adjusted", "p_value", "residual"], ascending=[True, True, False],
            ignore_index=True,
        )  # fmt: skip

    def sentences(self, n_pairs: int = 3) -> list[str]:
        """Name the worst pairs in plain words.

        Parameters
        ----------
        n_pairs : int, default=3
            How many pairs to name at most.
        """
        frame = self.to_frame()
        if self.p_values is not None:
            frame = frame[frame["p_adjusted"] < _CLEAR]
        return [_sentence(row) for row in frame.head(n_pairs).to_dict("records")]

    def __str__(self) -> str:
        if len(self.pairs) == 0:
            return "There are no two questions to compare."
        if self.p_values is None:
            return self.sentences(1)[0] + " Without bootstrap tables there is no p-value."
        if not self.sentences(1):
            return "The segments explain how the questions go together: no pair stands out."
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        return html_table(str(self), self.to_frame().head(10))


def bivariate_residuals(
    model: Any,
    X: Any,
    *,
    sample_weight: Any = None,
    n_bootstrap: int = 100,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> BivariateResiduals:
    """Find questions that go together more than the segments explain.

    A mixture takes answers to be independent within a segment. Two questions that say the same
    thing break that, and a fit answers with more segments than there are.

    Parameters
    ----------
    model : fitted mixture
        With `predict_proba`, `pmf`, `categories_`, `sample` and `fit`, such as `OrdinalMixture`.
    X : array-like or DataFrame of shape (n_samples, n_features)
        The training data. A pair is compared on the rows that answer both questions.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    n_bootstrap : int, default=100
        Number of tables drawn from the mixture, each fitted anew, for the p-values; 0 for none.
        The smallest p-value is 1 / (n_bootstrap + 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap.
    n_jobs : int, default=None
        Number of workers. The result does not depend on it.

    Returns
    -------
    residuals : BivariateResiduals

    Notes
    -----
    The expected table is scaled to the observed margins (raking), so that only the association
    counts, not how well the law of one question fits. Laws with free probabilities or free
    margins fit them anyway.

    The residuals do not follow a chi-squared distribution, so p-values come from a parametric
    bootstrap (Oberski, van Kollenburg and Vermunt, 2013). Each table has the gaps and weights of
    the data and is fitted from a few fresh starts. The adjusted p-values scale the residuals of
    each pair by their mean and standard deviation over all tables, and compare with the largest
    of each bootstrap table.

    References
    ----------
    D. L. Oberski, G. H. van Kollenburg and J. K. Vermunt, "A Monte Carlo evaluation of three
    methods to detect local dependence in binary data latent class models", Advances in Data
    Analysis and Classification 7 (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.ordinal import OrdinalMixture, bivariate_residuals
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(1, 5, size=(300, 4))
    >>> X[:150, 3] = X[:150, 0]  # the first and the last question say the same thing
    >>> model = OrdinalMixture(1).fit(X)
    >>> residuals = bivariate_residuals(model, X, n_bootstrap=50, random_state=0)
    >>> print(residuals)
    column 0 and column 3 go together more than the segments explain (residual ..., by chance ...).
    """
    check_values(
        {"n_bootstrap": n_bootstrap, "random_state": random_state, "n_jobs": n_jobs},
        {"n_bootstrap": Whole(0), "random_state": Seed(), "n_jobs": Workers()},
    )
    table = read_table(X)
    weights = checked_weights(sample_weight, len(table))
    residuals, excess = _residuals(model, table, weights)
    features = _features(model)
    labels = getattr(model, "feature_names_in_", [f"column {j}" for j in range(table.shape[1])])
    pairs = np.column_stack(np.triu_indices(len(features), k=1))
    drawn = np.empty((0, len(pairs)))
    if n_bootstrap and len(pairs):
        seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_bootstrap)
        missing = np.asarray(pd.isna(table))
        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        drawn = np.array(
            parallel(delayed(_replicate)(model, missing, weights, int(seed)) for seed in seeds)
        )
    p_values, p_adjusted, expected = _p_values(residuals, drawn)
    return BivariateResiduals(
        [str(labels[j]) for j in features], pairs, residuals, excess, p_values, p_adjusted,
        expected, len(drawn),
    )  # fmt: skip


def _features(model: Any) -> list[int]:
    """Return the numbers of the questions with two categories or more."""
    return [
        j for j, levels in enumerate(model.categories_) if levels is not None and len(levels) > 1
    ]


def _residuals(model: Any, table: Any, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return residuals and excess correlations of all pairs of questions."""
    features = _features(model)
    part = table.iloc[:, features] if isinstance(table, pd.DataFrame) else table[:, features]
    levels = [model.categories_[j] for j in features]
    n_levels = np.array([len(known) for known in levels], dtype=np.int64)
    if len(features) < 2:
        return np.empty(0), np.empty(0)
    starts = np.concatenate([[0], np.cumsum(n_levels)])
    pmf = np.concatenate([model.pmf(j)[:, : len(model.categories_[j])] for j in features], axis=1)
    membership = np.ascontiguousarray(model.predict_proba(table), dtype=np.float64)
    return pair_residuals(
        encode(part, levels), weights, membership, n_levels, starts, np.ascontiguousarray(pmf)
    )


def _replicate(model: Any, missing: NDArray[Any], weights: FloatArray, seed: int) -> FloatArray:
    """Draw a table like the data from the mixture, fit it anew, and return its residuals."""
    rng = np.random.RandomState(seed)
    drawn, _ = model.sample(len(missing), random_state=rng)
    order = rng.permutation(len(missing))  # rows come sorted by segment
    if isinstance(drawn, pd.DataFrame):
        table: Any = drawn.iloc[order].reset_index(drop=True).mask(missing)
    else:
        table = _blank(drawn[order], missing)
    again = _refit(model, table, weights, int(rng.randint(np.iinfo(np.int32).max)))
    return _residuals(again, read_table(table), weights)[0]


def _refit(model: Any, table: Any, weights: FloatArray, seed: int) -> Any:
    """Fit a table drawn from a mixture with the same settings and a few starts."""
    known = [
        list(levels) if levels is not None and len(levels) else None for levels in model.categories_
    ]
    again = clone(model).set_params(
        categories=known, n_categories=None, n_init=_REFIT_STARTS, random_state=seed, n_jobs=None,
        verbose=0,
    )  # fmt: skip
    with warnings.catch_warnings(action="ignore"):  # the first fit has warned of all this
        return again.fit(table, sample_weight=weights)


def _blank(answers: NDArray[Any], missing: NDArray[Any]) -> NDArray[Any]:
    """Return answers with some of them missing."""
    if not missing.any():
        return answers
    numbers = answers.dtype.kind in "biuf"
    out = answers.astype(np.float64 if numbers else object)
    out[missing] = np.nan if numbers else None
    return out


def _p_values(
    residuals: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray] | tuple[None, None, None]:
    """Return p-values of each pair, of all together, and the mean residuals of the replicates."""
    if len(drawn) == 0:
        return None, None, None
    n = len(drawn) + 1
    p_values = (1 + (drawn >= residuals).sum(axis=0)) / n
    # The data are one more table of the same kind: scaled together, all are exchangeable.
    tables = np.vstack([residuals, drawn])
    scaled = (tables - tables.mean(axis=0)) / np.maximum(tables.std(axis=0), 1e-300)
    largest = scaled[1:].max(axis=1)
    p_adjusted = (1 + (largest[:, None] >= scaled[0]).sum(axis=0)) / n
    return p_values, p_adjusted, drawn.mean(axis=0)


def _sentence(row: dict[Any, Any]) -> str:
    if abs(row["excess"]) < _SMALL_EXCESS:
        related = "are related in a way that the segments do not explain"
    else:
        way = "more" if row["excess"] > 0 else "less"
        related = f"go together {way} than the segments explain"
    chance = f", by chance {row['expected']:.1f}" if "expected" in row else ""
    return (
        f"{row['question']} and {row['other']} {related} (residual {row['residual']:.1f}{chance})."
    )


@njit(cache=True, nogil=True)
def pair_residuals(
    codes: CodeArray,
    weights: FloatArray,
    membership: FloatArray,
    n_levels: IntArray,
    starts: IntArray,
    pmf: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return residuals and excess correlations of the pairs (0, 1), (0, 2), ..., (1, 2), ...

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_questions)
        Answers from 0; ``n_levels[j]`` means missing.
    weights : ndarray of shape (n_rows,)
    membership : ndarray of shape (n_rows, n_segments)
    n_levels : ndarray of shape (n_questions,)
    starts : ndarray of shape (n_questions + 1,)
        Where the categories of each question start in `pmf`.
    pmf : ndarray of shape (n_segments, n_categories in all)
    """
    n_questions = codes.shape[1]
    n_pairs = n_questions * (n_questions - 1) // 2
    offsets = np.zeros(n_pairs + 1, dtype=np.int64)
    pair = 0
    for a in range(n_questions):
        for b in range(a + 1, n_questions):
            offsets[pair + 1] = offsets[pair] + n_levels[a] * n_levels[b]
            pair += 1
    counts = np.zeros(offsets[-1])
    sizes = np.zeros((n_pairs, membership.shape[1]))
    _count_pairs(codes, weights, membership, n_levels, offsets, counts, sizes)
    residuals, excess = np.zeros(n_pairs), np.zeros(n_pairs)
    pair = 0
    for a in range(n_questions):
        first = pmf[:, starts[a] : starts[a + 1]]
        for b in range(a + 1, n_questions):
            second = pmf[:, starts[b] : starts[b + 1]]
            table = counts[offsets[pair] : offsets[pair + 1]]
            residuals[pair], excess[pair] = _compare(table, sizes[pair], first, second)
            pair += 1
    return residuals, excess


@njit(cache=True, nogil=True)
def _count_pairs(
    codes: CodeArray,
    weights: FloatArray,
    membership: FloatArray,
    n_levels: IntArray,
    offsets: IntArray,
    counts: FloatArray,
    sizes: FloatArray,
) -> None:
    """Count all two-way tables, and the expected size of each segment among their rows."""
    n_questions, n_segments = codes.shape[1], membership.shape[1]
    of_complete = np.zeros(n_segments)
    for i in range(len(codes)):
        complete = True
        for j in range(n_questions):
            complete = complete and codes[i, j] < n_levels[j]
        if complete:  # the same for all pairs: added once
            for k in range(n_segments):
                of_complete[k] += weights[i] * membership[i, k]
        pair = 0
        for a in range(n_questions):
            for b in range(a + 1, n_questions):
                if codes[i, a] < n_levels[a] and codes[i, b] < n_levels[b]:
                    cell = offsets[pair] + np.int64(codes[i, a]) * n_levels[b] + codes[i, b]
                    counts[cell] += weights[i]
                    if not complete:
                        for k in range(n_segments):
                            sizes[pair, k] += weights[i] * membership[i, k]
                pair += 1
    for pair in range(len(sizes)):
        for k in range(n_segments):
            sizes[pair, k] += of_complete[k]


@njit(cache=True, nogil=True)
def _compare(
    table: FloatArray, sizes: FloatArray, first: FloatArray, second: FloatArray
) -> tuple[float, float]:
    """Return the residual of one two-way table, and by how much its correlation is too large."""
    m, n = first.shape[1], second.shape[1]
    observed = table.reshape(m, n)
    total = observed.sum()
    if total <= 0:
        return 0.0, 0.0
    expected = np.zeros((m, n))
    for k in range(len(sizes)):
        for x in range(m):
            for y in range(n):
                expected[x, y] += sizes[k] * first[k, x] * second[k, y]
    _rake(expected, observed)
    chi2 = moment = 0.0
    x1 = x2 = y1 = y2 = 0.0
    for x in range(m):
        for y in range(n):
            away = observed[x, y] - expected[x, y]
            if expected[x, y] > 0:
                chi2 += away**2 / expected[x, y]
            moment += away * (x - (m - 1) / 2) * (y - (n - 1) / 2)
            x1 += observed[x, y] * x
            x2 += observed[x, y] * x * x
            y1 += observed[x, y] * y
            y2 += observed[x, y] * y * y
    spread = (x2 / total - (x1 / total) ** 2) * (y2 / total - (y1 / total) ** 2)
    excess = moment / total / np.sqrt(spread) if spread > 1e-12 else 0.0
    return chi2 / ((m - 1) * (n - 1)), excess


@njit(cache=True, nogil=True)
def _rake(expected: FloatArray, observed: FloatArray) -> None:
    """Scale rows and columns of the expected table until it has the observed margins."""
    m, n = expected.shape
    enough = 1e-10 * observed.sum()
    for _ in range(_MAX_RAKING):
        off = 0.0
        for x in range(m):
            have, want = expected[x].sum(), observed[x].sum()
            off = max(off, abs(have - want))
            if have > 0:
                expected[x] *= want / have
        for y in range(n):
            have, want = expected[:, y].sum(), observed[:, y].sum()
            if have > 0:
                expected[:, y] *= want / have
        if off <= enough:
            return
