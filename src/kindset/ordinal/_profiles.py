"""What each segment answers: shares of the answers, in numbers and in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from textwrap import TextWrapper
from typing import Any

import numpy as np

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._encoding import Levels
from kindset.ordinal._expectation import count_answers
from kindset.ordinal._laws import LAWS
from kindset.ordinal._mixture import OrdinalMixture, row_weights
from kindset.ordinal._rows import CodeArray, IntArray


@dataclass(frozen=True)
class QuestionProfile:
    """The answers to one question in each segment.

    Attributes
    ----------
    name : str
        Column name.
    text : str
        The question's words; the column name if none were given.
    levels : ndarray of shape (n_categories,)
        The answers in order.
    shares : ndarray of shape (n_components, n_categories)
        Observed share of each answer among those who gave one, rows weighted by membership.
    overall : ndarray of shape (n_categories,)
        The same for all rows together.
    pmf : ndarray of shape (n_components, n_categories)
        The fitted probabilities.
    answered : ndarray of shape (n_components,)
        Share of the segment that answered at all.
    """

    name: str
    text: str
    levels: Levels
    shares: FloatArray
    overall: FloatArray
    pmf: FloatArray
    answered: FloatArray

    @property
    def typical(self) -> IntArray:
        """The most frequent answer of each segment, as a position from 0."""
        return self.shares.argmax(axis=1)

    @property
    def distinctness(self) -> FloatArray:
        """How far each segment is from all rows: the share that would have to answer otherwise."""
        return np.abs(self.shares - self.overall).sum(axis=1) / 2

    @property
    def telling(self) -> IntArray:
        """The answer that sets each segment apart, as a position from 0.

        The most frequent one, unless all rows give it clearly more often (by five points); then
        the one with the largest excess.
        """
        excess = self.shares - self.overall
        segments = np.arange(len(self.shares))
        more_often = excess[segments, self.typical] > -0.05
        return np.where(more_often, self.typical, excess.argmax(axis=1))

    def interval(self, coverage: float = 0.5) -> tuple[IntArray, IntArray]:
        """Return the positions between which the middle `coverage` of the answers lies."""
        cumulative = self.shares.cumsum(axis=1)
        tail = (1 - coverage) / 2
        low = (cumulative <= tail + 1e-12).sum(axis=1)
        high = (cumulative < 1 - tail - 1e-12).sum(axis=1)
        last = max(self.shares.shape[1] - 1, 0)
        return np.minimum(low, last), np.minimum(high, last)


@dataclass(frozen=True)
class SegmentProfiles:
    """All questions' profiles, with the sizes of the segments.

    Attributes
    ----------
    sizes : ndarray of shape (n_components,)
        Weight of the rows assigned to each segment; without weights, their number.
    certainty : ndarray of shape (n_components,)
        Mean membership probability of those rows.
    questions : list of QuestionProfile
    n_rows : ndarray of shape (n_components,)
        Number of those rows.
    weighted : bool
        Whether rows have weights, so that every share is a weighted one.
    """

    sizes: FloatArray
    certainty: FloatArray
    questions: list[QuestionProfile]
    n_rows: IntArray
    weighted: bool = False

    def ranked(self, k: int) -> list[QuestionProfile]:
        """Return the questions, those first on which segment k differs most from all rows."""
        return sorted(self.questions, key=lambda question: -question.distinctness[k])

    def headline(self, k: int) -> str:
        """Name segment k by the two answers that set it apart most."""
        named = [q for q in self.ranked(k) if len(q.levels) and q.answered[k] > 0]
        return "; ".join(f"{q.levels[q.telling[k]]} ({q.name})" for q in named[:2]) or "no answers"

    def size_in_words(self, k: int) -> str:
        """Return the share of segment k and the number of its rows."""
        share, n = self.sizes[k] / self.sizes.sum(), self.n_rows[k]
        if self.weighted:
            return f"weighted share {share:.0%} ({n:,} row{'s' if n != 1 else ''})"
        return f"{share:.0%} of the rows ({n:,})"

    def most_distinct(self, n: int | None) -> list[int]:
        """Return the numbers of the n questions on which segments differ most, in table order."""
        spread = [
            float(self.sizes @ question.distinctness) if len(question.levels) else -1.0
            for question in self.questions
        ]
        return sorted(np.argsort(-np.array(spread), kind="stable")[:n].tolist())


def profile_segments(
    model: OrdinalMixture,
    X: Any,
    *,
    questions: Mapping[str, str] | None = None,
    sample_weight: Any = None,
) -> SegmentProfiles:
    """Count what each segment of a fitted mixture answers.

    Parameters
    ----------
    model : OrdinalMixture
        A fitted mixture.
    X : array-like or DataFrame of shape (n_samples, n_features)
        The answers to count, usually the training data.
    questions : mapping from column names to text, default=None
        The questions' words.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    profiles : SegmentProfiles
    """
    membership = model.predict_proba(X)
    codes, all_levels = _codes_and_levels(model, X)
    weights = row_weights(sample_weight, len(membership))
    weighted = membership * weights[:, None]
    starts = np.concatenate([[0], np.cumsum([max(len(known), 1) + 1 for known in all_levels])])
    all_counts = count_answers(codes, starts, weighted)
    names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(codes.shape[1])])
    profiles = []
    for j, (name, levels) in enumerate(zip(names, all_levels, strict=True)):
        counts = all_counts[starts[j] :][: len(levels)].T
        answered, shares = counts.sum(axis=1), _share(counts)
        profiles.append(
            QuestionProfile(
                name=str(name),
                text=(questions or {}).get(str(name), str(name)),
                levels=levels,
                shares=shares,
                overall=_share(counts.sum(axis=0)),
                pmf=shares if j in model._numeric else model.pmf(j)[:, : len(levels)],
                answered=answered / np.maximum(weighted.sum(axis=0), 1e-300),
            )
        )
    labels = membership.argmax(axis=1)
    assigned = weights[:, None] * (labels[:, None] == np.arange(membership.shape[1]))
    sizes = assigned.sum(axis=0)
    certain = (assigned * membership).sum(axis=0)
    return SegmentProfiles(
        sizes,
        certain / np.maximum(sizes, 1e-300),
        profiles,
        n_rows=np.bincount(labels, minlength=len(sizes)),
        weighted=sample_weight is not None,
    )


def _codes_and_levels(model: OrdinalMixture, X: Any) -> tuple[CodeArray, list[Levels]]:
    """Return codes and levels of all columns; numbers are cut at the quintiles of the model."""
    codes, levels = model._encode(X), list(model.categories_)
    if not model._numeric:
        return codes, levels
    for j, values in zip(model._numeric, model._read_numbers(X).T, strict=True):
        edges = _edges(values)
        levels[j] = _interval_names(edges)
        known = ~np.isnan(values)
        codes[known, j] = np.searchsorted(edges, values[known], side="left")
        codes[~known, j] = len(levels[j])
    return codes, levels


def _edges(values: FloatArray) -> FloatArray:
    """Return where numbers are cut into at most five parts of about the same size."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return np.empty(0)
    edges = np.unique(np.quantile(known, [0.2, 0.4, 0.6, 0.8], method="lower"))
    return edges[edges < known.max()]


def _interval_names(edges: FloatArray) -> Levels:
    if len(edges) == 0:
        return np.array(["all"], dtype=object)
    words = [f"{edge:.4g}" for edge in edges]
    between = [f"{low} to {high}" for low, high in pairwise(words)]
    return np.array([f"up to {words[0]}", *between, f"above {words[-1]}"], dtype=object)


def answer_positions(model: OrdinalMixture, X: Any) -> FloatArray:
    """Place every answer on its scale, a missing one where the mixture expects it.

    Parameters
    ----------
    model : OrdinalMixture
        A fitted mixture.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Answers.

    Returns
    -------
    positions : ndarray of shape (n_samples, n_features)
        From 0 (first category, smallest number) to 1 (last); the space in which the segments can
        be evaluated.
    """
    codes = model._encode(X)
    membership = model.predict_proba(X)
    out = np.empty(codes.shape)
    numbers = model._read_numbers(X) if model._numeric else np.empty((len(codes), 0))
    for j, values in zip(model._numeric, numbers.T, strict=True):
        means = LAWS[model.distributions_[j]].mean(model._parameters.columns[j])
        expected = membership @ (model.centers_[j] + model.scales_[j] * means)
        filled = np.where(np.isnan(values), expected, values)
        spread = np.ptp(filled)
        out[:, j] = (filled - filled.min()) / spread if spread > 0 else 0.5
    for j, levels in enumerate(model.categories_):
        if j in model._numeric:
            continue
        place = np.linspace(0, 1, len(levels)) if len(levels) > 1 else np.full(len(levels), 0.5)
        expected = membership @ (model.pmf(j)[:, : len(levels)] @ place)
        missing = codes[:, j] == len(levels)
        out[:, j] = np.where(missing, expected, np.append(place, 0.0)[codes[:, j]])
    return out


def answer_words(model: OrdinalMixture, X: Any) -> list[list[str | None]]:
    """Return every answer as its level is called, None where it is missing.

    Parameters
    ----------
    model : OrdinalMixture
        A fitted mixture.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Answers.

    Returns
    -------
    words : list of n_samples lists
        Of n_features words each, the same that `profile_segments` has as levels.
    """
    codes, all_levels = model._encode(X), model.categories_
    words = [[*map(str, levels), None] for levels in all_levels]
    numbers = {
        j: [None if np.isnan(value) else f"{value:.4g}" for value in values]
        for j, values in zip(model._numeric, model._read_numbers(X).T, strict=True)
    }
    return [
        [numbers[j][i] if j in numbers else words[j][code] for j, code in enumerate(row)]
        for i, row in enumerate(codes)
    ]


def describe_segments(
    model: OrdinalMixture,
    X: Any,
    *,
    questions: Mapping[str, str] | None = None,
    sample_weight: Any = None,
    max_questions: int | None = 8,
) -> str:
    """Describe the segments in plain words.

    The questions on which a segment differs most from all rows come first, with the answer that
    sets it apart, its share in the segment and among all rows, and where the middle half of the
    segment's answers lies. With weights, all shares are weighted ones.

    Parameters
    ----------
    model : OrdinalMixture
        A fitted mixture.
    X : array-like or DataFrame of shape (n_samples, n_features)
        The answers to count, usually the training data.
    questions : mapping from column names to text, default=None
        The questions' words.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    max_questions : int or None, default=8
        How many questions to name for each segment.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> from kindset.ordinal import OrdinalMixture, describe_segments
    >>> survey = load_anes96()
    >>> model = OrdinalMixture(2, distribution="god", random_state=0).fit(survey.data)
    >>> print(describe_segments(model, survey.data, questions=survey.questions))
    Segment 1: ...
    """
    profiles = profile_segments(model, X, questions=questions, sample_weight=sample_weight)
    parts = []
    for k, (size, sure) in enumerate(zip(profiles.sizes, profiles.certainty, strict=True)):
        ranked = profiles.ranked(k)
        certain = f", assigned with {sure:.0%} certainty on average" if size else ""
        lines = [
            f"Segment {k + 1}: {profiles.headline(k)}",
            f"  {profiles.size_in_words(k)}{certain}",
            *(_sentence(question, k) for question in ranked[:max_questions]),
        ]
        hidden = len(ranked[max_questions:]) if max_questions is not None else 0
        if hidden:
            lines.append(f"  - ... and {hidden} more question{'s' if hidden > 1 else ''}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


_WRAP = TextWrapper(width=98, initial_indent="  - ", subsequent_indent="    ")


def _sentence(question: QuestionProfile, k: int) -> str:
    if len(question.levels) == 0 or question.answered[k] == 0:
        return _WRAP.fill(f"{question.text} (no answers)")
    asked = question.text if question.text.endswith("?") else f"{question.text}:"
    typical, telling = question.typical[k], question.telling[k]
    if typical == telling:
        answer = _share_of(question, k, typical)
    else:
        answer = f"{_share_of(question, k, telling)}, seldom {_share_of(question, k, typical)}"
    low, high = (bound[k] for bound in question.interval())
    if low == high or high - low == len(question.levels) - 1:
        return _WRAP.fill(f"{asked} {answer}")
    levels = question.levels
    return _WRAP.fill(f"{asked} {answer}; the middle half from {levels[low]} to {levels[high]}")


def _share_of(question: QuestionProfile, k: int, x: int) -> str:
    share, overall = question.shares[k, x], question.overall[x]
    return f"{question.levels[x]} ({share:.0%}, all rows {overall:.0%})"


def _share(counts: FloatArray) -> FloatArray:
    return counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
