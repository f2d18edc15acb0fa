"""What a report shows of survey segments."""

from typing import Any

import numpy as np
import pandas as pd

from kindset.ordinal import ComponentSelection, OrdinalMixture, SegmentProfiles, answer_words

_N_TYPICAL, _N_UNCERTAIN = 5, 8


def survey_details(
    model: OrdinalMixture,
    profiles: SegmentProfiles,
    answers: pd.DataFrame,
    ids: "pd.Series[Any]",
    selection: ComponentSelection | None,
) -> dict[str, Any]:
    """Return segments, questions, and the most typical and most uncertain respondents."""
    total = float(profiles.sizes.sum())
    segments = [
        {
            "headline": profiles.headline(k),
            "size": float(size),
            "n_rows": int(profiles.n_rows[k]),
            "share": float(size) / total,
            "certainty": float(sure),
        }
        for k, (size, sure) in enumerate(zip(profiles.sizes, profiles.certainty, strict=True))
    ]
    questions = [
        {
            "name": question.name,
            "text": question.text,
            "levels": [str(level) for level in question.levels],
            "overall": question.overall.tolist(),
            "shares": question.shares.tolist(),
            "answered": question.answered.tolist(),
            "distinctness": question.distinctness.tolist(),
        }
        for question in profiles.questions
    ]
    people = _People(model, answers, ids)
    return {
        "segments": segments,
        "questions": questions,
        "typical": [people.typical(k) for k in range(len(segments))],
        "uncertain": people.uncertain(),
        "selection": None if selection is None else _path(selection),
    }


class _People:
    """Respondents to show, with their answers in words."""

    def __init__(self, model: OrdinalMixture, answers: pd.DataFrame, ids: "pd.Series[Any]") -> None:
        self._model = model
        self._probability = model.predict_proba(answers)
        # Among those assigned alike, the typical ones also give the likeliest answers.
        self._likelihood = model.score_samples(answers)
        self._answers = answers
        self._ids = ids

    def typical(self, k: int) -> list[dict[str, Any]]:
        """Return those of a segment who answer most as it is expected to."""
        members = np.flatnonzero(self._probability.argmax(axis=1) == k)
        order = np.lexsort((-self._likelihood[members], -self._probability[members, k].round(2)))
        return [
            {**self._person(row), "probability": float(self._probability[row, k])}
            for row in members[order][:_N_TYPICAL]
        ]

    def uncertain(self) -> list[dict[str, Any]]:
        """Return those whose segment is least certain."""
        if self._probability.shape[1] < 2:
            return []
        order = np.argsort(self._probability.max(axis=1), kind="stable")
        return [
            {**self._person(row), "probabilities": self._probability[row].tolist()}
            for row in order[:_N_UNCERTAIN]
        ]

    def _person(self, row: int) -> dict[str, Any]:
        (words,) = answer_words(self._model, self._answers.iloc[[row]])
        return {"id": str(self._ids.iloc[row]), "answers": words}


def _path(selection: ComponentSelection) -> dict[str, Any]:
    columns = selection.path[["log_likelihood", "aic", "bic", "icl"]].reset_index()
    return {"criterion": selection.criterion, "path": columns.to_dict("records")}
