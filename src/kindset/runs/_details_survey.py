"""What a run says about the segments of a survey."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from kindset._checked import listed, number, optional, record, share, text, whole

_CRITERIA = (
    "log_likelihood", "aic", "bic", "icl", "sabic", "caic", "entropy_r2", "smallest",
    "reproducibility", "seeds", "held_out", "held_out_error",
)  # fmt: skip


@dataclass(frozen=True)
class SegmentDetails:
    """One segment of a survey.

    Attributes
    ----------
    headline : str
        Its most distinct answers in words.
    size : float
        Sum of the weights of its respondents.
    n_rows : int
        Number of its respondents.
    share : float
        Its size as a share of all respondents.
    certainty : float
        Mean probability with which its respondents belong to it.
    name : str
        What people call it; empty if nobody named it.
    """

    headline: str
    size: float
    n_rows: int
    share: float
    certainty: float
    name: str = field(default="", kw_only=True)

    @classmethod
    def from_dict(cls, value: Any, what: str = "segment") -> Self:
        """Check and read what `to_dict` of the survey wrote."""
        fields = record(value, what)
        size = number(fields.get("size"), f"{what} size")
        return cls(
            headline=text(fields.get("headline", ""), f"{what} headline"),
            size=size,
            # Runs of before surveys had weights hold no number of rows.
            n_rows=whole(fields.get("n_rows", round(size)), f"{what} n_rows"),
            share=share(fields.get("share"), f"{what} share"),
            certainty=share(fields.get("certainty"), f"{what} certainty"),
            name=text(fields.get("name", ""), f"{what} name"),
        )


@dataclass(frozen=True)
class QuestionDetails:
    """The answers to one question.

    Attributes
    ----------
    name : str
        Name of the column.
    text : str
        The question in words; the name if there are none.
    levels : list of str
        The possible answers, from the first of the scale to the last.
    overall : list of float
        Share of each answer among all respondents.
    shares : list of list of float
        The same for each segment.
    answered : list of float
        Share of the respondents of each segment who answered.
    distinctness : list of float
        How far the answers of each segment differ from those of all.
    """

    name: str
    text: str
    levels: list[str]
    overall: list[float]
    shares: list[list[float]]
    answered: list[float]
    distinctness: list[float]

    @classmethod
    def from_dict(cls, value: Any, n_segments: int, what: str = "question") -> Self:
        """Check and read what `to_dict` of the survey wrote."""
        fields = record(value, what)
        name = text(fields.get("name"), f"{what} name")
        levels = listed(fields.get("levels"), f"{what} levels", text)
        m = len(levels)
        return cls(
            name=name,
            text=text(fields.get("text") or name, f"{what} text"),
            levels=levels,
            overall=listed(fields.get("overall"), f"{what} overall", share, length=m),
            shares=listed(
                fields.get("shares"),
                f"{what} shares",
                lambda row, which: listed(row, which, share, length=m),
                length=n_segments,
            ),
            answered=listed(fields.get("answered"), f"{what} answered", share, length=n_segments),
            distinctness=listed(
                fields.get("distinctness"), f"{what} distinctness", number, length=n_segments
            ),
        )


@dataclass(frozen=True)
class TypicalRespondent:
    """A respondent who answers as their segment does, with the probability of that segment.

    `answers` has one entry for each question, None where there is no answer.
    """

    id: str
    answers: list[str | None]
    probability: float

    @classmethod
    def from_dict(cls, value: Any, n_questions: int, what: str = "respondent") -> Self:
        """Check and read what `to_dict` of the survey wrote."""
        fields = record(value, what)
        return cls(
            id=text(fields.get("id"), f"{what} id"),
            answers=_answers(fields, n_questions, what),
            probability=share(fields.get("probability"), f"{what} probability"),
        )


@dataclass(frozen=True)
class UncertainRespondent:
    """A respondent whose segment is uncertain, with the probability of every segment."""

    id: str
    answers: list[str | None]
    probabilities: list[float]

    @classmethod
    def from_dict(
        cls, value: Any, n_questions: int, n_segments: int, what: str = "respondent"
    ) -> Self:
        """Check and read what `to_dict` of the survey wrote."""
        fields = record(value, what)
        return cls(
            id=text(fields.get("id"), f"{what} id"),
            answers=_answers(fields, n_questions, what),
            probabilities=listed(
                fields.get("probabilities"), f"{what} probabilities", share, length=n_segments
            ),
        )


def _answers(fields: Mapping[str, Any], n_questions: int, what: str) -> list[str | None]:
    return listed(
        fields.get("answers"),
        f"{what} answers",
        lambda value, which: optional(value, which, text),
        length=n_questions,
    )


@dataclass(frozen=True)
class SelectionStep:
    """The fit of one number of segments: `criteria` by name, as far as they are known.

    Smaller is better for aic, bic, icl, sabic and caic. Larger is better for log_likelihood,
    entropy_r2, held_out (of rows that the fit did not see), reproducibility (agreement between
    bootstrap samples) and seeds (agreement between seeds).
    """

    n_components: int
    criteria: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        return {"n_components": self.n_components, **self.criteria}

    @classmethod
    def from_dict(cls, value: Any, what: str = "step") -> Self:
        """Check and read what `to_dict` wrote."""
        fields = record(value, what)
        return cls(
            whole(fields.get("n_components"), f"{what} n_components"),
            {
                name: number(fields[name], f"{what} {name}")
                for name in _CRITERIA
                if fields.get(name) is not None
            },
        )


@dataclass(frozen=True)
class SelectionDetails:
    """How the number of segments was chosen: by which criterion, and what was tried.

    With the criterion "rule", `sentences` say what it found, `law` is the law of the answers, and
    `defensible` holds the smallest and the largest number that can be defended.
    """

    criterion: str
    path: list[SelectionStep]
    sentences: list[str] = field(default_factory=list)
    law: str | None = None
    defensible: list[int] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        ruled = {"sentences": self.sentences, "law": self.law, "defensible": self.defensible}
        return {
            "criterion": self.criterion,
            "path": [step.to_dict() for step in self.path],
            **(ruled if self.sentences else {}),
        }

    @classmethod
    def from_dict(cls, value: Any, what: str = "selection") -> Self:
        """Check and read what `to_dict` wrote."""
        fields = record(value, what)
        return cls(
            text(fields.get("criterion"), f"{what} criterion"),
            listed(fields.get("path"), f"{what} path", SelectionStep.from_dict),
            listed(fields.get("sentences", []), f"{what} sentences", text),
            optional(fields.get("law"), f"{what} law", text),
            listed(fields.get("defensible", []), f"{what} defensible", whole),
        )


@dataclass(frozen=True)
class SurveyDetails:
    """Segments, questions and respondents of a survey.

    Attributes
    ----------
    segments : list of SegmentDetails
    questions : list of QuestionDetails
    typical : list of list of TypicalRespondent
        For each segment those who answer most as it does.
    uncertain : list of UncertainRespondent
        Those whose segment is least certain.
    selection : SelectionDetails or None
        How the number of segments was chosen; None if it was given.
    weights : str or None
        The column that respondents are weighted by.

    Examples
    --------
    >>> from kindset.runs import SegmentDetails, SurveyDetails
    >>> segment = SegmentDetails("agree (price)", 40.0, 40, 1.0, 0.9)
    >>> survey = SurveyDetails([segment], questions=[])
    >>> SurveyDetails.from_dict(survey.to_dict()) == survey
    True
    """

    segments: list[SegmentDetails]
    questions: list[QuestionDetails]
    typical: list[list[TypicalRespondent]] = field(default_factory=list)
    uncertain: list[UncertainRespondent] = field(default_factory=list)
    selection: SelectionDetails | None = None
    weights: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        selection = None if self.selection is None else self.selection.to_dict()
        return {**asdict(self), "selection": selection}

    @classmethod
    def from_dict(cls, value: Any, what: str = "survey") -> Self:
        """Check and read what `to_dict` wrote.

        Raises
        ------
        InputError
            If something is missing or wrong, naming it.
        """
        fields = record(value, what)
        segments = listed(fields.get("segments"), "segments", SegmentDetails.from_dict)
        n = len(segments)
        questions = listed(
            fields.get("questions"),
            "questions",
            lambda question, which: QuestionDetails.from_dict(question, n, which),
        )
        m = len(questions)
        people = fields.get("typical")
        return cls(
            segments=segments,
            questions=questions,
            typical=listed(
                people or [],
                "typical",
                lambda members, which: listed(
                    members, which, lambda one, w: TypicalRespondent.from_dict(one, m, w)
                ),
                length=n if people else 0,
            ),
            uncertain=listed(
                fields.get("uncertain") or [],
                "uncertain",
                lambda one, which: UncertainRespondent.from_dict(one, m, n, which),
            ),
            selection=optional(fields.get("selection"), "selection", SelectionDetails.from_dict),
            weights=optional(fields.get("weights"), "weights", text),
        )
