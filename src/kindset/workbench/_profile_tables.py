"""What each segment answers, as tables for people and spreadsheets."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Sums:
    """Sums over the rows that give each of the m answers: all that the figures need.

    Attributes
    ----------
    inside : ndarray of shape (m, n_segments)
        Weights of the rows, as far as they belong to each segment.
    everyone : ndarray of shape (m,)
        Weights of the rows.
    squares, products : ndarray of shape (m, n_segments)
        Squared weights, times the squared membership, and times the membership.
    squared : ndarray of shape (m,)
        Squared weights.
    n_rows : int
        Number of rows with an answer.
    """

    inside: Floats
    everyone: Floats
    squares: Floats
    products: Floats
    squared: Floats
    n_rows: int

    @classmethod
    def of(cls, codes: NDArray[np.int64], m: int, membership: Floats, weights: Floats) -> "_Sums":
        """Sum over the rows whose code is not -1."""
        held = codes >= 0
        codes, membership, weights = codes[held], membership[held], weights[held]

        def total(values: Floats) -> Floats:
            return np.asarray(np.bincount(codes, weights=values, minlength=m), dtype=np.float64)

        def totals(factor: Floats, power: int) -> Floats:
            columns = [total(factor * column**power) for column in membership.T]
            return np.stack(columns, axis=1)

        square = weights**2
        return cls(
            totals(weights, 1), total(weights), totals(square, 2), totals(square, 1),
            total(square), len(codes),
        )  # fmt: skip

    def mean(self, scores: Floats) -> tuple[Floats, float, Floats]:
        """Return the mean score in each segment and in all rows, and the error of the difference.

        The standard error is that of a difference of two weighted means over the same rows
        (linearised), with the memberships taken as known. With a score of 1 for one answer and 0
        for the others, means are shares.
        """
        size, total = self.inside.sum(axis=0), self.everyone.sum()
        size = np.where(size > 0, size, np.nan)
        inside = scores @ self.inside / size
        everyone = float(scores @ self.everyone / total)
        apart, away = scores[:, None] - inside, (scores - everyone)[:, None]
        variance = (
            self.squares * (apart / size) ** 2
            - 2 * self.products * apart * away / (size * total)
            + self.squared[:, None] * (away / total) ** 2
        ).sum(axis=0)
        few = self.n_rows / max(self.n_rows - 1, 1)
        return inside, everyone, np.sqrt(np.maximum(variance, 0) * few)


def profile_table(
    answers: pd.DataFrame,
    membership: Any,
    *,
    weights: Any = None,
    questions: Mapping[str, str] | None = None,
    numeric: Collection[str] = (),
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return shares and means of every question in every segment, and differences from all rows.

    Parameters
    ----------
    answers : DataFrame of shape (n_samples, n_questions)
        Ordered categoricals, categoricals without an order (shares only), or numbers.
    membership : array-like of shape (n_samples, n_segments)
        The probability of each segment.
    weights : array-like of shape (n_samples,), optional
        Weights of the rows.
    questions : dict of str to str, optional
        The words of the questions.
    numeric : collection of str, optional
        Columns of measurements, which have a mean only; so have columns with fractions.
    confidence : float, default=0.95
        Of the interval of the difference.

    Returns
    -------
    table : DataFrame
        One row for each segment, question and answer (``measure`` is "share"), and for each mean
        (``measure`` is "mean"): ``value`` in the segment and in ``all`` rows, their
        ``difference``, and the interval of it from ``low`` to ``high``. The mean of answers in
        words is that of their places on the scale, from 1.

    Examples
    --------
    >>> import pandas as pd
    >>> from kindset.workbench import profile_table
    >>> table = pd.DataFrame({"q": [1, 1, 2, 2]})
    >>> profiles = profile_table(table, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> profiles.query("segment == 1")[["question", "measure", "answer", "value", "all"]]
      question measure answer  value  all
    0        q   share      1    1.0  0.5
    1        q   share      2    0.0  0.5
    2        q    mean           1.0  1.5
    """
    probability = np.asarray(membership, dtype=np.float64)
    row_weights = np.ones(len(answers)) if weights is None else np.asarray(weights, dtype=float)
    reach = float(norm.ppf((1 + confidence) / 2))
    parts = []
    for name in answers.columns:
        codes, levels, scores = _coded(answers[name])
        if not len(levels):
            continue
        sums = _Sums.of(codes, len(levels), probability, row_weights)
        measured = name in numeric or levels.dtype.kind == "f"
        wanted = [] if measured else zip(levels, np.eye(len(levels)), strict=True)
        rows = [("share", str(level), *sums.mean(score)) for level, score in wanted]
        rows += [] if scores is None else [("mean", "", *sums.mean(scores))]
        text = (questions or {}).get(str(name), str(name))
        parts += [
            {
                "segment": k + 1, "question": str(name), "text": text, "measure": measure,
                "answer": answer, "value": inside[k], "all": everyone,
                "difference": inside[k] - everyone,
                "low": inside[k] - everyone - reach * error[k],
                "high": inside[k] - everyone + reach * error[k],
            }
            for measure, answer, inside, everyone, error in rows
            for k in range(len(inside))
        ]  # fmt: skip
    table = pd.DataFrame(parts, columns=_COLUMNS)
    return table.sort_values("segment", kind="stable", ignore_index=True)


_COLUMNS = ["segment", "question", "text", "measure", "answer", "value", "all", "difference",
            "low", "high"]  # fmt: skip


def _coded(column: "pd.Series[Any]") -> tuple[NDArray[np.int64], NDArray[Any], Floats | None]:
    """Return the number of each row's answer, the answers, and their scores if they have any."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = column.cat.categories.to_numpy()
        codes = column.cat.codes.to_numpy().astype(np.int64)
        if not column.cat.ordered:
            return codes, levels.astype(object), None
        numbers = levels.dtype.kind in "iuf"
        scores = levels.astype(np.float64) if numbers else np.arange(1.0, len(levels) + 1)
        return codes, levels.astype(object), scores
    codes, levels = pd.factorize(column.to_numpy(dtype=float, na_value=np.nan), sort=True)
    levels = np.asarray(levels)
    if (levels % 1 == 0).all():
        return codes, levels.astype(np.int64), levels
    return codes, levels, levels


def profile_sheets(
    profiles: pd.DataFrame, segments: pd.DataFrame
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Return the sheets of a workbook for colleagues, and how each shows fractions.

    Parameters
    ----------
    profiles : DataFrame
        From `profile_table`.
    segments : DataFrame
        One row for each segment: its number, size, and what else there is to say.

    Returns
    -------
    sheets : dict of str to DataFrame
    formats : dict of str to str
    """
    shares = _wide(profiles[profiles["measure"] == "share"], ["question", "text", "answer"])
    means = _wide(profiles[profiles["measure"] == "mean"], ["question", "text"])
    sheets = {"Segments": segments, "Shares": shares, "Means": means, "Differences": profiles}
    return sheets, {"Segments": "0.0%", "Shares": "0.0%", "Means": "0.00"}


def _wide(profiles: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Put the segments side by side."""
    first = profiles[profiles["segment"] == 1]
    table = first[[*keys, "all"]].reset_index(drop=True)
    for k, part in profiles.groupby("segment"):
        table[f"segment {k}"] = part["value"].to_numpy()
    return table
