"""What each segment answers: shares of the answers, in numbers and in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import TextWrapper
from typing import Any

import numpy as np

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._encoding import Levels
from kindset.ordinal._mixture import OrdinalMixture, _weights
from kindset.ordinal._rows import IntArray


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

    def interval(self, coverage: float = 0.5) -> tuple[IntArray, IntArray]:
        """Return the positions between which the fitted middle `coverage` of the answers lies."""
        cumulative = self.pmf.cumsum(axis=1)
        tail = (1 - coverage) / 2
        low = (cumulative < tail).sum(axis=1)
        high = (cumulative < 1 - tail - 1e-12).sum(axis=1)
        return low, np.minimum(high, self.pmf.shape[1] - 1)


@dataclass(frozen=True)
class SegmentProfiles:
    """All questions' profiles, with the sizes of the segments.

    Attributes
    ----------
    sizes : ndarray of shape (n_components,)
        Weight of the rows assigned to each segment.
    certainty : ndarray of shape (n_components,)
        Mean membership probability of those rows.
    questions : list of QuestionProfile
    """

    sizes: FloatArray
    certainty: FloatArray
    questions: list[QuestionProfile]


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
    codes = model._encode(X)
    weights = _weights(sample_weight, membership[:, 0])
    weighted = membership * weights[:, None]
    names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(codes.shape[1])])
    profiles = []
    for j, (name, levels) in enumerate(zip(names, model.categories_, strict=True)):
        counts = np.zeros((len(levels) + 1, membership.shape[1]))
        np.add.at(counts, codes[:, j], weighted)
        counts = counts[:-1].T
        answered = counts.sum(axis=1)
        profiles.append(
            QuestionProfile(
                name=str(name),
                text=(questions or {}).get(str(name), str(name)),
                levels=levels,
                shares=_share(counts),
                overall=_share(counts.sum(axis=0)),
                pmf=model.pmf(j)[:, : len(levels)],
                answered=answered / np.maximum(weighted.sum(axis=0), 1e-300),
            )
        )
    labels = membership.argmax(axis=1)
    assigned = weights[:, None] * (labels[:, None] == np.arange(membership.shape[1]))
    sizes = assigned.sum(axis=0)
    certain = (assigned * membership).sum(axis=0)
    return SegmentProfiles(sizes, certain / np.maximum(sizes, 1e-300), profiles)


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
        From 0 (first category) to 1 (last); the space in which the segments can be evaluated.
    """
    codes = model._encode(X)
    membership = model.predict_proba(X)
    out = np.empty(codes.shape)
    for j, levels in enumerate(model.categories_):
        place = np.linspace(0, 1, len(levels)) if len(levels) > 1 else np.full(len(levels), 0.5)
        expected = membership @ (model.pmf(j)[:, : len(levels)] @ place)
        missing = codes[:, j] == len(levels)
        out[:, j] = np.where(missing, expected, np.append(place, 0.0)[codes[:, j]])
    return out


def describe_segments(
    model: OrdinalMixture,
    X: Any,
    *,
    questions: Mapping[str, str] | None = None,
    sample_weight: Any = None,
    max_questions: int | None = 8,
) -> str:
    """Describe the segments in plain words, what sets each apart first.

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
    total = profiles.sizes.sum()
    parts = []
    for k, (size, sure) in enumerate(zip(profiles.sizes, profiles.certainty, strict=True)):
        head = f"Segment {k + 1}: {size / total:.0%} of the rows ({size:,.0f})"
        head += f", assigned with {sure:.0%} certainty on average" if size else ", empty"
        ranked = sorted(profiles.questions, key=lambda q: -q.distinctness[k])
        lines = [head, *(_sentence(question, k) for question in ranked[:max_questions])]
        if len(ranked) > len(lines) - 1:
            lines.append(f"  - ... and {len(ranked) - len(lines) + 1} more questions")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


_WRAP = TextWrapper(width=98, initial_indent="  - ", subsequent_indent="    ")


def _sentence(question: QuestionProfile, k: int) -> str:
    if len(question.levels) == 0 or question.answered[k] == 0:
        return _WRAP.fill(f"{question.text} (no answers)")
    typical = question.typical[k]
    asked = question.text if question.text.endswith("?") else f"{question.text}:"
    low, high = (bound[k] for bound in question.interval())
    level, share = question.levels[typical], question.shares[k, typical]
    spread = (
        ""
        if low == high
        else f"; the middle half from {question.levels[low]} to {question.levels[high]}"
    )
    return _WRAP.fill(
        f"{asked} {level} ({share:.0%}, all rows {question.overall[typical]:.0%}){spread}"
    )


def _share(counts: FloatArray) -> FloatArray:
    return counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
