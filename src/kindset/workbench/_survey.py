"""Clustering of a survey table: from the table to a folder that an analyst can read."""

import sys
import time
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kindset._files import write_text
from kindset.evaluation import (
    AssignmentDisplay,
    adjusted_rand,
    clustering_accuracy,
    normalized_mutual_info,
)
from kindset.exceptions import InputError
from kindset.ordinal import (
    ComponentSelection,
    OrdinalMixture,
    SegmentProfileDisplay,
    SelectionDisplay,
    answer_positions,
    describe_segments,
    profile_segments,
    select_components,
)
from kindset.runs import Run, RunDetails, fingerprint
from kindset.workbench._clustering import overhear
from kindset.workbench._figures import save_figure
from kindset.workbench._survey_details import survey_details
from kindset.workbench._tables import (
    Codebook,
    Reading,
    check_answers,
    keep_columns,
    read_table,
    take_column,
    take_ids,
    take_weights,
)

METHODS = {
    "bos": ("bos", "BOS (binary ordinal search)"),
    "god": ("god", "GOD (globally ordered data)"),
    "ordinal": ("auto", "BOS or GOD, question by question"),
}
"""Name on the command line: the estimator's `distribution`, and a title."""

_MAX_PANELS = 24
"""Questions in the profile figure: more make it too long to look at."""


@dataclass
class Survey:
    """A table of answers, what is known about it, and what was said while it was read."""

    answers: pd.DataFrame
    ids: "pd.Series[Any]"
    questions: dict[str, str] = field(default_factory=dict)
    weights: "pd.Series[Any] | None" = None
    truth: "pd.Series[Any] | None" = None
    name: str = "survey"
    about: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class Columns:
    """What a user says about the columns: which are questions, which are something else."""

    used: list[str] | None = None
    excluded: list[str] | None = None
    ids: str | None = None
    weights: str | None = None
    truth: str | None = None
    missing: list[str] | None = None


def read_survey(path: Path, columns: Columns, codebook: Codebook) -> Survey:
    """Read a table and sort its columns into questions, ids, weights and known labels."""
    text_columns = [columns.ids] if columns.ids else []
    table = read_table(path, Reading(codebook.text_levels, text_columns, columns.missing or []))
    codebook.check(table)
    ids = take_ids(table, columns.ids)
    weights = take_weights(table, columns.weights)
    truth = take_column(table, columns.truth, "--label-column")
    if truth is not None and truth.isna().any():
        raise InputError(
            f"column {columns.truth!r} has no label in row {truth.isna().argmax() + 1}."
        )
    answers = codebook.apply(keep_columns(table, columns.used, columns.excluded))
    with overhear() as notes:
        check_answers(answers)
    return Survey(answers, ids, codebook.questions, weights, truth, name=path.stem, notes=notes)


@dataclass
class SurveyOptions:
    """How to fit."""

    method: str
    n_components: list[int]
    criterion: str = "icl"
    n_init: int = 20
    seed: int = 0
    n_jobs: int = 1
    progress: bool = True


@dataclass
class SurveyResult:
    """A fitted mixture, how its number of components was chosen, if it was, and what was said."""

    survey: Survey
    options: SurveyOptions
    model: OrdinalMixture
    selection: ComponentSelection | None
    seconds: float
    warned: list[str]

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Likelihood and criteria, and the agreement with known labels, if there are any."""
        survey, model = self.survey, self.model
        found = {
            "log_likelihood": model.log_likelihood_,
            **model.criteria(survey.answers, survey.weights),
        }
        if survey.truth is not None:
            found["ARI"] = adjusted_rand(survey.truth, model.labels_)
            found["NMI"] = normalized_mutual_info(survey.truth, model.labels_)
            found["ACC"] = clustering_accuracy(survey.truth, model.labels_)
        return found

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the work early."""
        return self.model.interrupted_ or bool(self.selection and self.selection.interrupted)


def fit_survey(survey: Survey, options: SurveyOptions) -> SurveyResult:
    """Fit one mixture, or choose among several numbers of components."""
    parameters: dict[str, Any] = {
        "distribution": METHODS[options.method][0],
        "n_init": options.n_init,
        "random_state": options.seed,
        "n_jobs": options.n_jobs,
        "verbose": int(options.progress),
    }
    n_rows = len(survey.answers)
    if max(options.n_components) > n_rows:
        raise InputError(f"-k {max(options.n_components)}: there are only {n_rows} rows.")
    begin = time.perf_counter()
    with overhear() as warned:
        model, selection = _fit(survey, options, parameters)
    seconds = time.perf_counter() - begin
    return SurveyResult(survey, options, model, selection, seconds, warned)


def _fit(
    survey: Survey, options: SurveyOptions, parameters: dict[str, Any]
) -> tuple[OrdinalMixture, ComponentSelection | None]:
    if len(options.n_components) == 1:
        model = OrdinalMixture(options.n_components[0], **parameters)
        return model.fit(survey.answers, sample_weight=survey.weights), None
    selection = select_components(
        survey.answers,
        options.n_components,
        criterion=options.criterion,
        sample_weight=survey.weights,
        **parameters,
    )
    return selection.model, selection


def summarise(result: SurveyResult) -> str:
    """Write the summary that goes to the screen and into the folder."""
    survey, model, selection = result.survey, result.model, result.selection
    n_rows, n_questions = survey.answers.shape
    gaps = _gaps(survey.answers)
    lines = [
        f"{n_rows:,} rows, {n_questions} questions" + (f", {gaps}" if gaps else ""),
        "Questions: " + ", ".join(_scale(model, j) for j in range(n_questions)),
        f"Method: {METHODS[result.options.method][1]}, seed {result.options.seed}",
        _starts_sentence(model.start_objectives_),
    ]
    if result.interrupted:
        lines.append("Interrupted: this is the best that was found until then.")
    if selection is not None:
        lines.append(_selection_sentence(selection))
    metrics = result.metrics
    lines.append(
        f"Log-likelihood {metrics['log_likelihood']:.2f}, BIC {metrics['bic']:.1f}, "
        f"ICL {metrics['icl']:.1f}"
    )
    if survey.weights is not None:
        lines.append(
            f"Rows weighted by {survey.weights.name}, scaled to a mean of 1: likelihood, criteria "
            "and all shares below are weighted, numbers of rows are not"
        )
    if survey.truth is not None:
        known = ", ".join(f"{name} {metrics[name]:.2f}" for name in ("ARI", "NMI", "ACC"))
        lines.append(f"Against the known labels ({survey.truth.name}): {known}")
    lines += ["", describe(result)]
    return "\n".join(lines)


def cautions(result: SurveyResult) -> list[str]:
    """Return what the summary and the warnings say against the result, as sentences."""
    selection = result.selection
    told = [_gaps(result.survey.answers), _starts_caution(result.model.start_objectives_)]
    if selection is not None and (_at_the_edge(selection) or not selection.found_structure):
        told.append(_selection_sentence(selection))
    sentences = [f"{sentence.removesuffix('.')}." for sentence in told if sentence]
    return [*result.survey.notes, *sentences, *result.warned]


def _gaps(answers: pd.DataFrame) -> str:
    """Say how many answers are missing; nothing if none is."""
    gaps = int(answers.isna().sum().sum())
    word = "answers" if gaps > 1 else "answer"
    return f"{gaps:,} {word} missing ({gaps / answers.size:.1%})" if gaps else ""


def describe(result: SurveyResult) -> str:
    """Describe the segments in words."""
    survey = result.survey
    return describe_segments(
        result.model, survey.answers, questions=survey.questions, sample_weight=survey.weights
    )


def _selection_sentence(selection: ComponentSelection) -> str:
    name = selection.criterion.upper()
    tried = f"tried {', '.join(map(str, selection.path.index))}"
    if not selection.found_structure:
        return (
            f"No cluster structure found: a single segment has the lowest {name} ({tried}). "
            "Give one number with -k to see segments all the same."
        )
    edge = "; the largest tried, so try more" if _at_the_edge(selection) else ""
    return f"Number of segments: {selection.n_components}, by the lowest {name} ({tried}{edge})"


def _at_the_edge(selection: ComponentSelection) -> bool:
    """Whether segments were found, as many as were tried."""
    largest = selection.n_components == selection.path.index.max()
    return bool(selection.found_structure and largest)


def _starts_sentence(reached: Any) -> str:
    """Say how often the best likelihood was found."""
    caution = _starts_caution(reached)
    return f"{caution} (--starts)" if caution else _close_starts(reached)[1]


def _starts_caution(reached: Any) -> str:
    """Say that the best likelihood was found but once: more starts may find more."""
    if len(reached) == 1:
        return "One start only: other starts may find a better mixture"
    close, sentence = _close_starts(reached)
    return "" if close > 1 else f"{sentence}: more starts may find a better mixture"


def _close_starts(reached: Any) -> tuple[int, str]:
    close = int((reached >= reached.max() - 0.5).sum())
    return close, f"{close} of {len(reached)} starts came within 0.5 of the best log-likelihood"


def _scale(model: OrdinalMixture, j: int) -> str:
    """Name a question with its number of answers, and its distribution if that was chosen."""
    name, levels = model.feature_names_in_[j], model.n_categories_[j]
    chosen = f", {model.distributions_[j].upper()}" if len(set(model.distributions_)) > 1 else ""
    return f"{name} ({levels}{chosen})"


def memberships(
    model: OrdinalMixture, answers: pd.DataFrame, ids: "pd.Series[Any]"
) -> pd.DataFrame:
    """Return one row for each row of the table: id, segment from 1, probabilities."""
    probability = model.predict_proba(answers)
    columns = {f"p{k + 1}": probability[:, k] for k in range(probability.shape[1])}
    return pd.DataFrame(
        {str(ids.name): ids.to_numpy(), "segment": model.predict(answers) + 1, **columns}
    )


def write_survey(result: SurveyResult, folder: Path) -> Run:
    """Fill a folder with labels, model, figures and summary; return the run in it."""
    survey, model = result.survey, result.model
    table = memberships(model, survey.answers, survey.ids)
    table.to_csv(folder / "segments.csv", index=False, float_format="%.6f")
    write_text(folder / "summary.txt", summarise(result) + "\n")
    if result.selection is not None:
        result.selection.path.to_csv(folder / "selection.csv")
    run = as_run(result)
    run.write(folder)
    try:
        _draw(result, folder)
    except KeyboardInterrupt:
        warnings.warn("Interrupted while drawing: some figures are missing.", stacklevel=2)
    return run


def _draw(result: SurveyResult, folder: Path) -> None:
    survey, model = result.survey, result.model
    profile = SegmentProfileDisplay.from_estimator(
        model,
        survey.answers,
        questions=survey.questions,
        sample_weight=survey.weights,
        max_questions=_MAX_PANELS,
    )
    save_figure(profile.figure_, folder / "profiles")
    if result.selection is not None:
        save_figure(SelectionDisplay(result.selection).plot().figure_, folder / "selection")
    if survey.truth is not None:
        display = AssignmentDisplay.from_predictions(survey.truth, model.labels_ + 1)
        save_figure(display.plot().figure_, folder / "assignment")


def as_run(result: SurveyResult) -> Run:
    """Return the result as a run that can be saved and compared."""
    survey, model, options = result.survey, result.model, result.options
    return Run(
        labels=model.labels_,
        space=answer_positions(model, survey.answers),
        name=f"{options.method} K={len(model.weights_)} s{options.seed}",
        method=options.method,
        parameters={
            "n_components": len(model.weights_),
            "tried": options.n_components,
            "criterion": None if result.selection is None else options.criterion,
            "n_init": options.n_init,
        },
        seed=options.seed,
        data=fingerprint(survey.answers),
        timings={"fit": result.seconds},
        metrics=result.metrics,
        command=["kindset", *sys.argv[1:]],
        details=_details(result),
        model=model,
    )


def _details(result: SurveyResult) -> dict[str, Any]:
    survey, model = result.survey, result.model
    profiles = profile_segments(
        model, survey.answers, questions=survey.questions, sample_weight=survey.weights
    )
    weights = None if survey.weights is None else str(survey.weights.name)
    details = RunDetails(
        kind="survey",
        data=survey.name,
        id_column=str(survey.ids.name),
        description=survey.about,
        title=METHODS[result.options.method][1],
        interrupted=result.interrupted,
        notes=cautions(result),
        survey=survey_details(
            model, profiles, survey.answers, survey.ids, result.selection, weights
        ),
    )
    return details.to_dict()


def facts(result: SurveyResult) -> dict[str, Any]:
    """Return what came out, for machines."""
    model, selection = result.model, result.selection
    return {
        "method": result.options.method,
        "seed": result.options.seed,
        "n_rows": len(result.survey.answers),
        "questions": list(result.survey.answers.columns),
        "n_segments": len(model.weights_),
        "found_structure": None if selection is None else selection.found_structure,
        "weights": [float(weight) for weight in model.weights_],
        "sizes": np.bincount(model.labels_, minlength=len(model.weights_)).tolist(),
        **result.metrics,
        "converged": model.converged_,
        "interrupted": result.interrupted,
    }
