"""What a report tells about a survey run: segments, questions, respondents."""

from dataclasses import dataclass, replace
from typing import Any

from kindset.report._checked import listed, number, optional, record, share, text
from kindset.report._svg import shorten_apart
from kindset.runs import Run

_TELLING = 4
"""Questions that describe a segment on its card."""
_SHORT = 56
"""Letters of a question in a headline."""


@dataclass(frozen=True)
class Question:
    """The answers to one question, among all rows and in each segment; `short` is for headlines."""

    name: str
    text: str
    levels: list[str]
    overall: list[float]
    shares: list[list[float]]
    answered: list[float]
    distinctness: list[float]
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
class Respondent:
    """One row of the table; `probabilities` has one number for each segment, or only the own."""

    id: str
    probabilities: list[float]
    answers: list[str | None]


@dataclass(frozen=True)
class Segment:
    """One group of respondents; `size` is their weight, `n_rows` their number."""

    headline: str
    size: float
    n_rows: int
    share: float
    certainty: float
    traits: list[Trait]
    typical: list[Respondent]


@dataclass(frozen=True)
class Step:
    """The criteria for one number of segments."""

    n_components: int
    criteria: dict[str, float]


@dataclass(frozen=True)
class SurveySummary:
    """All of it.

    `shown` holds the questions with the most distinct answers first, `weights` the name of the
    column that the shares are weighted by.
    """

    segments: list[Segment]
    questions: list[Question]
    shown: list[int]
    uncertain: list[Respondent]
    criterion: str | None
    path: list[Step]
    weights: str | None = None

    @property
    def certainty(self) -> float:
        """Mean probability with which rows belong where they were put."""
        total = sum(segment.size for segment in self.segments)
        return sum(s.size * s.certainty for s in self.segments) / total if total else 0.0


def read_survey(run: Run) -> SurveySummary | None:
    """Return what there is to show of a survey, None if the run holds none.

    Raises
    ------
    InputError
        If the run's details are damaged.
    """
    told = run.details.get("survey")
    if told is None:
        return None
    told = record(told, "survey")
    heads = listed(told.get("segments"), "segments", record)
    questions = _with_short_words(
        listed(told.get("questions"), "questions", lambda q, what: _question(q, what, len(heads)))
    )
    typical = listed(
        told.get("typical") or [[]] * len(heads),
        "typical",
        lambda people, what: listed(
            people, what, lambda one, what: _typical(one, what, len(questions))
        ),
        length=len(heads),
    )
    uncertain = listed(
        told.get("uncertain") or [],
        "uncertain",
        lambda one, what: _uncertain(one, what, len(questions), len(heads)),
    )
    segments = [
        _segment(head, k, questions, typical[k], f"segments [{k}]") for k, head in enumerate(heads)
    ]
    criterion, path = _selection(told.get("selection"))
    shown = _most_distinct(questions, segments)
    weights = optional(told.get("weights"), "weights", text)
    return SurveySummary(segments, questions, shown, uncertain, criterion, path, weights)


def _question(value: Any, what: str, n_segments: int) -> Question:
    told = record(value, what)
    name = text(told.get("name"), f"{what} name")
    levels = listed(told.get("levels"), f"{what} levels", text)
    m = len(levels)
    return Question(
        name=name,
        text=text(told.get("text") or name, f"{what} text"),
        levels=levels,
        overall=listed(told.get("overall"), f"{what} overall", share, length=m),
        shares=listed(
            told.get("shares"),
            f"{what} shares",
            lambda row, which: listed(row, which, share, length=m),
            length=n_segments,
        ),
        answered=listed(told.get("answered"), f"{what} answered", share, length=n_segments),
        distinctness=listed(
            told.get("distinctness"), f"{what} distinctness", number, length=n_segments
        ),
    )


def _with_short_words(questions: list[Question]) -> list[Question]:
    short = shorten_apart([question.text for question in questions], _SHORT)
    return [replace(one, short=words) for one, words in zip(questions, short, strict=True)]


def _segment(
    head: Any, k: int, questions: list[Question], typical: list[Respondent], what: str
) -> Segment:
    answered = [q for q in questions if q.levels and q.answered[k] > 0]
    ranked = sorted(answered, key=lambda q: -q.distinctness[k])
    traits = [
        Trait(q.text, q.short, q.levels[x], q.shares[k][x], q.overall[x])
        for q in ranked[:_TELLING]
        for x in [q.telling(k)]
    ]
    size = number(head.get("size"), f"{what} size")
    # In the questions' words; the run's own line has the names of the columns.
    headline = "; ".join(f"{trait.answer} ({trait.short})" for trait in traits[:2])
    return Segment(
        headline=headline or text(head.get("headline", ""), f"{what} headline"),
        size=size,
        n_rows=round(number(head.get("n_rows", size), f"{what} n_rows")),
        share=share(head.get("share"), f"{what} share"),
        certainty=share(head.get("certainty"), f"{what} certainty"),
        traits=traits,
        typical=typical,
    )


def _answers(told: Any, what: str, n_questions: int) -> list[str | None]:
    def read(value: Any, which: str) -> str | None:
        return optional(value, which, text)

    return listed(told.get("answers"), f"{what} answers", read, length=n_questions)


def _typical(value: Any, what: str, n_questions: int) -> Respondent:
    told = record(value, what)
    sure = share(told.get("probability"), f"{what} probability")
    return Respondent(text(told.get("id"), what), [sure], _answers(told, what, n_questions))


def _uncertain(value: Any, what: str, n_questions: int, n_segments: int) -> Respondent:
    told = record(value, what)
    probabilities = listed(
        told.get("probabilities"), f"{what} probabilities", share, length=n_segments
    )
    return Respondent(text(told.get("id"), what), probabilities, _answers(told, what, n_questions))


def _selection(value: Any) -> tuple[str | None, list[Step]]:
    if value is None:
        return None, []
    told = record(value, "selection")
    criterion = text(told.get("criterion"), "the criterion of the selection")
    path = []
    for i, step in enumerate(listed(told.get("path"), "the path of the selection", record)):
        what = f"step {i} of the selection"
        n = number(step.get("n_components"), what)
        criteria = {
            name: number(step[name], f"{what}, {name}")
            for name in ("aic", "bic", "icl")
            if step.get(name) is not None
        }
        path.append(Step(int(n), criteria))
    return criterion, path


def _most_distinct(questions: list[Question], segments: list[Segment]) -> list[int]:
    def spread(j: int) -> float:
        return sum(
            segment.size * d for segment, d in zip(segments, questions[j].distinctness, strict=True)
        )

    return sorted(
        (j for j in range(len(questions)) if questions[j].levels), key=lambda j: -spread(j)
    )
