"""What a report shows of a survey run: segments, questions, respondents."""

from dataclasses import dataclass

from kindset.report._svg import shorten_apart
from kindset.runs import (
    QuestionDetails,
    Run,
    SegmentDetails,
    SelectionStep,
    SurveyDetails,
    TypicalRespondent,
    UncertainRespondent,
)

_TELLING = 4
"""Questions that describe a segment on its card."""
_SHORT = 56
"""Letters of a question in a headline."""


@dataclass(frozen=True)
class Question(QuestionDetails):
    """The answers to one question; `short` is for headlines."""

    short: str = ""

    def telling(self, segment: int) -> int:
        """Return the answer that sets a segment apart.

        The most frequent one, unless all rows give it clearly more often; then the one with the
        largest excess.
        """
        mine = self.shares[segment]
        top = max(range(len(mine)), key=mine.__getitem__)
        if mine[top] > self.overall[top] - 0.05:
            return top
        return max(range(len(mine)), key=lambda x: mine[x] - self.overall[x])


@dataclass(frozen=True)
class Trait:
    """One answer that is more frequent in a segment than elsewhere."""

    question: str
    short: str
    answer: str
    share: float
    overall: float


@dataclass(frozen=True)
class Segment(SegmentDetails):
    """One group of respondents, what sets it apart, and who answers as it does."""

    traits: list[Trait]
    typical: list[TypicalRespondent]


@dataclass(frozen=True)
class SurveySummary:
    """All of it.

    `shown` holds the questions with the most distinct answers first, `weights` the name of the
    column that the shares are weighted by.
    """

    segments: list[Segment]
    questions: list[Question]
    shown: list[int]
    uncertain: list[UncertainRespondent]
    criterion: str | None
    path: list[SelectionStep]
    weights: str | None = None

    @property
    def certainty(self) -> float:
        """Mean probability with which rows belong where they were put."""
        total = sum(segment.size for segment in self.segments)
        return sum(s.size * s.certainty for s in self.segments) / total if total else 0.0


def show_survey(run: Run, details: SurveyDetails) -> SurveySummary:
    """Return what there is to show of a survey."""
    short = shorten_apart([question.text for question in details.questions], _SHORT)
    questions = [
        Question(**vars(question), short=words)
        for question, words in zip(details.questions, short, strict=True)
    ]
    typical = details.typical or [[] for _ in details.segments]
    segments = [
        _segment(segment, k, questions, typical[k]) for k, segment in enumerate(details.segments)
    ]
    selection = details.selection
    return SurveySummary(
        segments=segments,
        questions=questions,
        shown=_most_distinct(questions, segments),
        uncertain=details.uncertain,
        criterion=None if selection is None else selection.criterion,
        path=[] if selection is None else selection.path,
        weights=details.weights,
    )


def _segment(
    details: SegmentDetails, k: int, questions: list[Question], typical: list[TypicalRespondent]
) -> Segment:
    answered = [q for q in questions if q.levels and q.answered[k] > 0]
    ranked = sorted(answered, key=lambda q: -q.distinctness[k])
    traits = [
        Trait(q.text, q.short, q.levels[x], q.shares[k][x], q.overall[x])
        for q in ranked[:_TELLING]
        for x in [q.telling(k)]
    ]
    # In the questions' words; the run's own headline has the names of the columns.
    headline = "; ".join(f"{trait.answer} ({trait.short})" for trait in traits[:2])
    return Segment(
        **{**vars(details), "headline": headline or details.headline},
        traits=traits,
        typical=typical,
    )


def _most_distinct(questions: list[Question], segments: list[Segment]) -> list[int]:
    def spread(j: int) -> float:
        return sum(
            segment.size * d for segment, d in zip(segments, questions[j].distinctness, strict=True)
        )

    return sorted(
        (j for j in range(len(questions)) if questions[j].levels), key=lambda j: -spread(j)
    )
