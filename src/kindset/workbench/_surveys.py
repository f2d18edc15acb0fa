"""Clustering of ordered answers: from a table to a run with segments that an analyst can read."""

import time
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from kindset._plotting import plain
from kindset.evaluation import AssignmentDisplay
from kindset.ordinal import (
    ComponentSelection,
    OrdinalMixture,
    SegmentProfileDisplay,
    SelectionDisplay,
    answer_positions,
    profile_segments,
    select_components,
)
from kindset.runs import Run, RunDetails
from kindset.workbench._dataset import Dataset
from kindset.workbench._notes import collected_notes
from kindset.workbench._outcome import Execution, Outcome, measures_of
from kindset.workbench._profile_tables import profile_sheets, profile_table
from kindset.workbench._settings import RULE, Setting
from kindset.workbench._survey_details import survey_details
from kindset.workbench._survey_words import cautions, summarise_survey
from kindset.workbench._types import name_few

_MAX_PANELS = 24
"""Questions in the profile figure: more make it too long to look at."""


@dataclass(frozen=True)
class SurveyFit:
    """A fitted mixture, how its number of components was chosen, if it was, and what was said."""

    data: Dataset
    setting: Setting
    model: OrdinalMixture
    selection: ComponentSelection | None
    seconds: float
    notes: tuple[str, ...]

    @property
    def answers(self) -> pd.DataFrame:
        """The table of answers."""
        return self.data.answers.table

    @cached_property
    def left_out(self) -> list[str]:
        """Questions that the figure of the profiles has no room for."""
        if self.answers.shape[1] <= _MAX_PANELS:
            return []
        profiles = profile_segments(self.model, self.answers, sample_weight=self.data.weights)
        shown = set(profiles.most_distinct(_MAX_PANELS))
        return [str(name) for j, name in enumerate(self.answers.columns) if j not in shown]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the work early."""
        return self.model.interrupted_ or bool(self.selection and self.selection.interrupted)


def cluster_survey(
    data: Dataset, setting: Setting, execution: Execution, work: Path | None
) -> Outcome:
    """Fit one mixture, or choose among several numbers of components."""
    begin = time.perf_counter()
    with collected_notes() as warned:
        model, selection = _fit(data, setting, execution)
    seconds = time.perf_counter() - begin
    notes = (*data.notes, *data.answers.notes, *warned)
    fit = SurveyFit(data, setting, model, selection, seconds, notes)
    metrics = {
        "log_likelihood": model.log_likelihood_,
        **model.criteria(fit.answers, data.weights),
        **measures_of(data, model.labels_),
    }
    profiles = profile_table(
        fit.answers,
        model.predict_proba(fit.answers),
        weights=data.weights,
        questions=data.codebook.questions,
        numeric=[name for name, told in data.answers.types.items() if told.kind == "numeric"],
    )
    tables = {"segments": memberships(model, fit.answers, data.ids), "profiles": profiles}
    if selection is not None:
        tables["selection"] = selection.path.reset_index()
    run = _as_run(fit, metrics, execution)
    workbooks = {"profiles": partial(profile_sheets, profiles, _segment_table(run))}
    return Outcome(run, summarise_survey(fit, metrics), tables, _figures(fit), workbooks)


def _segment_table(run: Run) -> pd.DataFrame:
    """Return the sizes of the segments, for a spreadsheet."""
    survey = run.about.survey
    assert survey is not None
    columns = ("headline", "n_rows", "share", "certainty")
    rows = [[getattr(segment, name) for name in columns] for segment in survey.segments]
    table = pd.DataFrame(rows, columns=["description", "rows", "share", "certainty"])
    table.insert(0, "segment", range(1, len(table) + 1))
    return table


def _fit(
    data: Dataset, setting: Setting, execution: Execution
) -> tuple[OrdinalMixture, ComponentSelection | None]:
    parameters = setting.described.parameters(
        setting, n_jobs=execution.n_jobs, verbose=execution.verbose
    )
    answers = data.answers.table
    parameters["distribution"] = _laws(answers, parameters["distribution"])
    if isinstance(setting.k, int):
        model = OrdinalMixture(setting.k, **parameters)
        return model.fit(answers, sample_weight=data.weights), None
    if setting.chosen_by == RULE and "n_init" not in setting.parameters:
        del parameters["n_init"]  # the rule also starts from smaller mixtures, and needs fewer
    selection = select_components(
        answers,
        range(1, 7) if setting.k is None else setting.k,
        criterion=setting.chosen_by,
        sample_weight=data.weights,
        **parameters,
    )
    return selection.model, selection


def _laws(answers: pd.DataFrame, law: Any) -> Any:
    """Return the law of every column; the method's own is for ordered answers only."""
    others: dict[Any, str] = {}
    for name, column in answers.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            if not column.cat.ordered:
                others[name] = "categorical"
        elif pd.api.types.is_float_dtype(column) and (column.dropna() % 1 != 0).any():
            others[name] = "gaussian"
    if not others or not isinstance(law, str) or law == "auto":
        return law
    return {name: others.get(name, law) for name in answers.columns}


def memberships(
    model: OrdinalMixture, answers: pd.DataFrame, ids: "pd.Series[Any]"
) -> pd.DataFrame:
    """Return one row for each row of the table: id, segment from 1, probabilities."""
    probability = model.predict_proba(answers)
    columns = {f"p{k + 1}": probability[:, k] for k in range(probability.shape[1])}
    return pd.DataFrame(
        {str(ids.name): ids.to_numpy(), "segment": model.predict(answers) + 1, **columns}
    )


def _as_run(fit: SurveyFit, metrics: dict[str, float], execution: Execution) -> Run:
    data, setting, model = fit.data, fit.setting, fit.model
    profiles = profile_segments(
        model, fit.answers, questions=data.codebook.questions, sample_weight=data.weights
    )
    n_segments = len(model.weights_)
    weighted_by = None if data.weights is None else str(data.weights.name)
    return Run(
        labels=model.labels_,
        space=answer_positions(model, fit.answers),
        name=f"{setting.method} K={n_segments} s{setting.seed}",
        method=setting.method,
        parameters={"n_components": n_segments, **setting.as_parameters()},
        seed=setting.seed,
        data=data.answers_fingerprint,
        source=data.source,
        timings={"fit": fit.seconds},
        metrics=metrics,
        command=execution.command,
        details=RunDetails(
            kind="survey",
            data=data.name,
            title=setting.described.title,
            description=data.about,
            source=data.identity,
            id_column=str(data.ids.name),
            columns=data.columns,
            interrupted=fit.interrupted,
            notes=cautions(fit),
            survey=survey_details(
                model, profiles, fit.answers, data.ids, fit.selection, weighted_by
            ),
        ).to_dict(),
        model=model,
    )


def _figures(fit: SurveyFit) -> dict[str, Any]:
    figures: dict[str, Any] = {"profiles": partial(_draw_profiles, fit)}
    if fit.selection is not None:
        figures["selection"] = partial(_draw_selection, fit.selection)
    if fit.data.labels is not None:
        figures["assignment"] = partial(_draw_assignment, fit.data.labels, fit.model)
    return figures


def _draw_profiles(fit: SurveyFit) -> Any:
    figure = SegmentProfileDisplay.from_estimator(
        fit.model,
        fit.answers,
        questions=fit.data.codebook.questions,
        sample_weight=fit.data.weights,
        max_questions=_MAX_PANELS,
    ).figure_
    left_out = fit.left_out
    if left_out:
        figure.suptitle(
            plain(fill(f"Not shown: {name_few(left_out, 30)} (see profiles.csv)", 150)), fontsize=8
        )
    return figure


def _draw_selection(selection: ComponentSelection) -> Any:
    return SelectionDisplay(selection).plot().figure_


def _draw_assignment(labels: "pd.Series[Any]", model: OrdinalMixture) -> Any:
    display = AssignmentDisplay.from_predictions(labels, model.labels_ + 1)
    return display.plot().figure_
