"""`kindset cluster`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from kindset._shown import shown
from kindset.cli import _cluster_options as own
from kindset.cli import _options as common
from kindset.cli._ranking import show_notes, show_verdict
from kindset.cli._terminal import echo, echo_data, logged_lines
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
    facts_of,
    grid,
    is_sweep,
    make_single,
    read_data,
    read_types,
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
    seed: common.Seed = 0,
    seeds: own.Seeds = None,
    resamples: own.Resamples = 0,
    jobs: common.Jobs = 1,
    force: common.Force = False,
    as_json: common.Json = False,
    debug: common.Debug = False,
    columns: own.Used = None,
    exclude: own.Excluded = None,
    id_column: common.IdColumn = None,
    label_column: own.LabelColumn = None,
    missing: common.Missing = None,
    decimal: common.Decimal = "auto",
    header_rows: common.HeaderRows = None,
    sheet: common.Sheet = None,
    scale: own.Scale = "none",
    levels: own.Levels = None,
    types: own.Types = None,
    no_trim: own.NoTrim = False,
    no_ignore_case: own.NoIgnoreCase = False,
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
    parameters = common.read_parameters(param or [], transforms)
    if starts is not None:
        parameters["n_init"] = starts
    settings = grid(
        method,
        None if k == AUTO else common.read_range(k),
        seeds=common.read_seeds(seeds, seed),
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
        data, columns=common.read_names(columns), exclude=common.read_names(exclude), ids=id_column,
        labels=label_column, weights=weight_column, levels=common.read_levels(levels),
        types=read_types(common.read_names(types) or ()),
        missing=common.read_names(missing) or (), trim=not no_trim, ignore_case=not no_ignore_case,
        decimal=decimal, header_rows=header_rows, sheet=sheet, size=common.read_size(size),
        crop=crop, colours=colours, verbose=not as_json,
    )  # fmt: skip
    execution = Execution(jobs, not as_json, ["kindset", *sys.argv[1:]], resamples)
    for setting in settings:
        Job(dataset, setting, execution).check()
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
        echo_data(json.dumps({**facts_of([run]), "out": str(folder)}))
    else:
        echo(f"\n{outcome.summary}\n\nWritten to {shown(folder)}/")
    if job.was_stopped(run):
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
        n_resamples=execution.n_resamples,
        n_jobs=execution.n_jobs,
        verbose=execution.verbose,
        command=execution.command,
    )
    written = folder / settings[0].folder if len(settings) == 1 else folder
    if as_json:
        echo_data(json.dumps({**facts_of(runs), "out": str(written)}))
    elif len(runs) == 1:
        summary = (written / "summary.txt").read_text(encoding="utf-8")
        echo(f"\n{summary}\nWritten to {shown(written)}/")
    else:
        _rank(load_runs([folder]), data, execution.n_jobs)
        echo(f"Written to {shown(folder)}/; look closer: kindset report {shown(folder)}")


def _rank(runs: Sequence[Run], data: Dataset, n_jobs: int) -> None:
    try:
        comparison = compare_runs(runs, truth=data.labels, n_jobs=n_jobs)
    except InputError as error:  # the runs themselves are sound
        echo(f"The runs cannot be ranked: {error}", err=True)
        return
    echo("")
    show_verdict(comparison)
    show_notes(comparison)
