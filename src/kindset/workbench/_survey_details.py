"""What a report shows of survey segments."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset.ordinal import ComponentSelection, OrdinalMixture, SegmentProfiles, answer_words
from kindset.runs import (
    QuestionDetails,
    SegmentDetails,
    SelectionDetails,
    SelectionStep,
    SurveyDetails,
    TypicalRespondent,
    UncertainRespondent,
)

_N_TYPICAL, _N_UNCERTAIN = 5, 8


def survey_details(
    model: OrdinalMixture,
    profiles: SegmentProfiles,
    answers: pd.DataFrame,
    ids: "pd.Series[Any]",
    selection: ComponentSelection | None,
    weights: str | None = None,
) -> SurveyDetails:
    """Return segments, questions, and the most typical and most uncertain respondents.

    `weights` is the name of the column that the profiles are weighted by.
    """
    people = _People(model, answers, ids)
    return SurveyDetails(
        segments=_segments(profiles),
        questions=_questions(profiles),
        typical=[people.typical(k) for k in range(len(profiles.sizes))],
        uncertain=people.uncertain(),
        selection=None if selection is None else _path(selection),
        weights=weights,
    )


def _segments(profiles: SegmentProfiles) -> list[SegmentDetails]:
    shares = _shares(profiles.sizes / profiles.sizes.sum())
    return [
        SegmentDetails(
            headline=profiles.headline(k),
            size=float(profiles.sizes[k]),
            n_rows=int(profiles.n_rows[k]),
            share=shares[k],
            certainty=certainty,
        )
        for k, certainty in enumerate(_shares(profiles.certainty))
    ]


def _questions(profiles: SegmentProfiles) -> list[QuestionDetails]:
    return [
        QuestionDetails(
            name=question.name,
            text=question.text,
            levels=[str(level) for level in question.levels],
            overall=_shares(question.overall),
            shares=_shares(question.shares),
            answered=_shares(question.answered),
            distinctness=question.distinctness.tolist(),
        )
        for question in profiles.questions
    ]


def _shares(values: NDArray[np.float64]) -> Any:
    """Return shares as plain numbers; rounding can bring a sum of weights beyond 1."""
    return np.clip(values, 0.0, 1.0).tolist()


class _People:
    """Respondents to show, with their answers in words."""

    def __init__(self, model: OrdinalMixture, answers: pd.DataFrame, ids: "pd.Series[Any]") -> None:
        self._model = model
        self._probability = np.clip(model.predict_proba(answers), 0.0, 1.0)
        # Among those assigned alike, the typical ones also give the likeliest answers.
        self._likelihood = model.score_samples(answers)
        # A missing answer costs no likelihood, but shows nothing.
        self._gaps = answers.isna().sum(axis=1).to_numpy()
        self._answers = answers
        self._ids = ids

    def typical(self, k: int) -> list[TypicalRespondent]:
        """Return those of a segment who answer most as it is expected to."""
        members = np.flatnonzero(self._probability.argmax(axis=1) == k)
        certain = -self._probability[members, k].round(2)
        order = np.lexsort((-self._likelihood[members], certain, self._gaps[members]))
        return [
            TypicalRespondent(self._id(row), self._words(row), float(self._probability[row, k]))
            for row in members[order][:_N_TYPICAL]
        ]

    def uncertain(self) -> list[UncertainRespondent]:
        """Return those whose segment is least certain."""
        if self._probability.shape[1] < 2:
            return []
        order = np.argsort(self._probability.max(axis=1), kind="stable")
        return [
            UncertainRespondent(self._id(row), self._words(row), self._probability[row].tolist())
            for row in order[:_N_UNCERTAIN]
        ]

    def _id(self, row: int) -> str:
        return str(self._ids.iloc[row])

    def _words(self, row: int) -> list[str | None]:
        (words,) = answer_words(self._model, self._answers.iloc[[row]])
        return words


def _path(selection: ComponentSelection) -> SelectionDetails:
    columns = selection.path.drop(columns=["converged", "n_parameters"])
    steps = [
        SelectionStep(int(n), {str(name): float(value) for name, value in row.items()})
        for n, row in zip(columns.index, columns.to_dict("records"), strict=True)
    ]
    return SelectionDetails(
        selection.criterion,
        steps,
        selection.sentences,
        selection.law or None,
        list(selection.defensible) if selection.sentences else [],
    )
