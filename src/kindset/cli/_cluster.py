"""`kindset cluster`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from kindset.cli import _cluster_options as own
from kindset.cli._options import (
    Debug,
    Force,
    IdColumn,
    Jobs,
    Json,
    Missing,
    Seed,
    read_names,
    read_parameters,
    read_range,
    read_seeds,
    read_size,
)
from kindset.cli._ranking import show_consensus, show_notes
from kindset.cli._terminal import echo, logged_lines
from kindset.comparison import compare_runs
from kindset.exceptions import InputError
from kindset.runs import Run, load_runs
from kindset.workbench import (
    AUTO,
    Dataset,
    Execution,
    Job,
    Setting,
    check_single_output,
    grid,
    is_sweep,
    make_single,
    read_data,
    sweep,
)


def cluster(
    context: typer.Context,
    data: own.Data,
    *,
    method: own.MethodName,
    k: own.Number,
    config: own.Config = None,
    out: own.Out = None,
    param: own.Parameters = None,
    embedding: own.Embedding = None,
    seed: Seed = 0,
    seeds: own.Seeds = None,
    jobs: Jobs = 1,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
    columns: own.Used = None,
    exclude: own.Excluded = None,
    id_column: IdColumn = None,
    label_column: own.LabelColumn = None,
    missing: Missing = None,
    scale: own.Scale = "none",
    levels: own.Levels = None,
    weight_column: own.WeightColumn = None,
    criterion: own.Criterion = "icl",
    starts: own.Starts = None,
    size: own.Size = None,
    crop: own.Crop = False,
    colours: own.Colours = "auto",
    transforms: own.Transforms = None,
) -> None:
    """Find groups in a table of answers, rows of numbers, or images.

    Writes a folder with the group of every sample, a summary in words, and the run itself with its
    model, for `kindset predict`, `kindset compare` and `kindset report`. Several numbers or seeds
    give a folder of runs and a ranking of them; started again, it goes on where it was interrupted.
    For surveys a criterion chooses among several numbers.
    """
    own.check_options(context, data, method)
    folder = _folder_for(data, method, out)
    parameters = read_parameters(param or [], transforms)
    if starts is not None:
        parameters["n_init"] = starts
    settings = grid(
        method,
        None if k == AUTO else read_range(k),
        seeds=read_seeds(seeds, seed),
        embeddings=embedding,
        scale=scale,
        criterion=criterion,
        parameters={name: [value] for name, value in parameters.items()},
    )
    for setting in settings:
        setting.check_choice()
    single = len(settings) == 1 and not is_sweep(folder)
    if single:
        check_single_output(folder, force=force)
    dataset = read_data(
        data, columns=read_names(columns), exclude=read_names(exclude), ids=id_column,
        labels=label_column, weights=weight_column, levels=levels,
        missing=read_names(missing) or (), size=read_size(size), crop=crop, colours=colours,
        verbose=not as_json,
    )  # fmt: skip
    for setting in settings:
        setting.check(dataset)
    execution = Execution(jobs, not as_json, ["kindset", *sys.argv[1:]])
    with logged_lines():
        if single:
            _cluster_once(Job(dataset, settings[0], execution), folder, force, as_json)
        else:
            _cluster_many(dataset, settings, execution, folder, force, as_json)


def _folder_for(data: Path, method: str, out: Path | None) -> Path:
    """Return the output folder, unless the data lie in it."""
    folder = out or Path(f"{data.resolve().stem}-{method}")
    if data.resolve().is_relative_to(folder.resolve()) and folder.resolve() != Path.cwd():
        raise InputError(f"{data} lies in the output folder {folder}; choose another --out.")
    return folder


def _cluster_once(job: Job, folder: Path, force: bool, as_json: bool) -> None:
    outcome = make_single(job, folder, force=force)
    run = outcome.run
    if as_json:
        echo(json.dumps({**facts([run]), "out": str(folder)}))
    else:
        echo(f"\n{outcome.summary}\n\nWritten to {folder}/")
    if outcome.interrupted:
        raise typer.Exit(130)


def _cluster_many(
    data: Dataset,
    settings: Sequence[Setting],
    execution: Execution,
    folder: Path,
    force: bool,
    as_json: bool,
) -> None:
    runs = sweep(
        data,
        settings,
        folder,
        force=force,
        n_jobs=execution.n_jobs,
        verbose=execution.verbose,
        command=execution.command,
    )
    written = folder / settings[0].folder if len(settings) == 1 else folder
    if as_json:
        echo(json.dumps({**facts(runs), "out": str(written)}))
    elif len(runs) == 1:
        echo(f"\n{(written / 'summary.txt').read_text(encoding='utf-8')}\nWritten to {written}/")
    else:
        _rank(load_runs([folder]), data, execution.n_jobs)
        echo(f"Written to {folder}/; look closer: kindset report {folder}")


def _rank(runs: Sequence[Run], data: Dataset, n_jobs: int) -> None:
    try:
        comparison = compare_runs(runs, truth=data.labels, n_jobs=n_jobs)
    except InputError as error:  # the runs themselves are sound
        echo(f"The runs cannot be ranked: {error}", err=True)
        return
    echo("")
    show_consensus(comparison)
    show_notes(comparison)


def facts(runs: Sequence[Run]) -> dict[str, Any]:
    """Return what came out, for machines: of one survey run its segments, else a list of runs."""
    if len(runs) == 1 and runs[0].about.kind == "survey":
        return _survey_facts(runs[0])
    return {"runs": [_run_facts(run) for run in runs]}


def _run_facts(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "method": run.method,
        "parameters": run.parameters,
        "seed": run.seed,
        "n_clusters": run.n_clusters,
        "sizes": [int((run.labels == label).sum()) for label in range(run.n_clusters)],
        "coverage": run.coverage,
        "seconds": sum(run.timings.values()),
        **run.metrics,
    }


def _survey_facts(run: Run) -> dict[str, Any]:
    survey = run.about.survey
    assert survey is not None
    n_segments = len(survey.segments)
    return {
        "method": run.method,
        "seed": run.seed,
        "n_rows": len(run),
        "questions": [question.name for question in survey.questions],
        "n_segments": n_segments,
        "found_structure": None if survey.selection is None else n_segments > 1,
        "selection": None if survey.selection is None else survey.selection.to_dict(),
        "weights": [float(weight) for weight in run.model.weights_],
        "sizes": [segment.n_rows for segment in survey.segments],
        **run.metrics,
        "converged": run.model.converged_,
        "interrupted": run.about.interrupted,
    }
