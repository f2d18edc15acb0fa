"""`kindset cluster`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer

from kindset._files import output_folder
from kindset.cli import _cluster_options as own
from kindset.cli._compare import show_consensus
from kindset.cli._options import (
    AUTO,
    Debug,
    Force,
    IdColumn,
    Jobs,
    Json,
    Missing,
    Seed,
    read_names,
    read_range,
)
from kindset.exceptions import InputError
from kindset.report import compare_runs
from kindset.runs import Run, load_runs
from kindset.workbench import _survey
from kindset.workbench._clustering import Clusterer, overhear, summarise, write_samples
from kindset.workbench._methods import Setting, read_parameters, read_seeds
from kindset.workbench._samples import SampleOptions, read_samples
from kindset.workbench._sweep import Sweep, check_single_output, is_sweep
from kindset.workbench._tables import Codebook
from kindset.workbench._working import WorkingFolder


@dataclass(frozen=True)
class Output:
    """Where the result goes, whether it replaces another, and who reads what is printed."""

    folder: Path
    force: bool
    as_json: bool

    def is_for_one(self, settings: Sequence[Setting]) -> bool:
        """Whether the folder is that of a single run; one more run goes among those of a sweep."""
        return len(settings) == 1 and not is_sweep(self.folder)

    def check(self) -> None:
        """Refuse, before any work, a folder that must not be replaced."""
        check_single_output(self.folder, force=self.force)


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
    starts: own.Starts = 20,
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
    output = Output(_folder_for(data, method, out), force, as_json)
    used, excluded, marks = read_names(columns), read_names(exclude), read_names(missing)
    if method in _survey.METHODS:
        told = _survey.Columns(used, excluded, id_column, weight_column, label_column, marks)
        how = _survey.SurveyOptions(
            method, read_range(k), criterion, starts, seed, jobs, progress=not as_json
        )
        output.check()
        _cluster_survey(_survey.read_survey(data, told, Codebook.read(levels)), how, output)
        return
    parameters = read_parameters(param or [], transforms)
    numbers = [None] if k == AUTO else read_range(k)
    settings = [
        Setting(method, number, one, embedding, parameters, scale)
        for number in numbers
        for one in read_seeds(seeds, seed)
    ]
    if output.is_for_one(settings):
        output.check()
    about = SampleOptions(
        used, excluded, id_column, label_column, marks or (),
        scale=scale, size=size, crop=crop, mode=colours, progress=not as_json,
    )  # fmt: skip
    with overhear() as notes:
        samples = read_samples(data, about)
    clusterer = Clusterer(samples, n_jobs=jobs, progress=not as_json, notes=tuple(notes))
    _cluster_samples(clusterer, settings, output)


def _folder_for(data: Path, method: str, out: Path | None) -> Path:
    """Return the output folder, unless the data lie in it."""
    folder = out or Path(f"{data.resolve().stem}-{method}")
    if data.resolve().is_relative_to(folder.resolve()) and folder.resolve() != Path.cwd():
        raise InputError(f"{data} lies in the output folder {folder}; choose another --out.")
    return folder


def _cluster_survey(survey: _survey.Survey, options: _survey.SurveyOptions, output: Output) -> None:
    result = _survey.fit_survey(survey, options)
    with output_folder(output.folder, force=output.force) as stage:
        _survey.write_survey(result, stage)
    if output.as_json:
        typer.echo(json.dumps({**_survey.facts(result), "out": str(output.folder)}))
    else:
        typer.echo(f"\n{_survey.summarise(result)}\n\nWritten to {output.folder}/")
    if result.interrupted:
        raise typer.Exit(130)


def _cluster_samples(clusterer: Clusterer, settings: Sequence[Setting], output: Output) -> None:
    folder, force = output.folder, output.force
    for setting in settings:
        clusterer.check(setting)
    jobs = [clusterer.job(setting) for setting in settings]
    written = folder
    if output.is_for_one(settings):
        runs = [_cluster_once(clusterer, settings[0], jobs[0].work_for(folder), folder, force)]
    else:
        single = len(jobs) == 1
        written = folder / jobs[0].folder if single else folder
        say = partial(typer.echo, err=True)
        sweep = Sweep(folder, clusterer.samples.data.sha256, say, force=force, single=single)
        sweep.open()
        runs = sweep.finish(jobs)
    if output.as_json:
        typer.echo(json.dumps({"runs": [_facts(run) for run in runs], "out": str(written)}))
    elif len(runs) == 1:
        typer.echo(f"\n{summarise(runs[0], clusterer.samples)}\n\nWritten to {written}/")
    else:
        _rank(load_runs([folder]), clusterer)
        typer.echo(f"Written to {folder}/; look closer: kindset report {folder}")
    if any(run.details["interrupted"] for run in runs):
        raise typer.Exit(130)


def _cluster_once(
    clusterer: Clusterer, setting: Setting, work: WorkingFolder, folder: Path, force: bool
) -> Run:
    if work.begun:
        typer.echo("Going on where an earlier start was killed.", err=True)
    run = clusterer.run(setting, work)
    with output_folder(folder, force=force) as stage:
        write_samples(run, clusterer.samples, stage)
    if not run.details["interrupted"]:
        work.clear()
    elif work.begun:
        typer.echo("Started again with --force, it goes on from here.", err=True)
    return run


def _rank(runs: Sequence[Run], clusterer: Clusterer) -> None:
    truth = clusterer.samples.truth
    codes = None if truth is None else np.unique(truth, return_inverse=True)[1]
    try:
        comparison = compare_runs(runs, truth=codes, n_jobs=clusterer.n_jobs)
    except InputError as error:  # the runs themselves are sound
        typer.echo(f"The runs cannot be ranked: {error}", err=True)
        return
    typer.echo("")
    show_consensus(comparison)


def _facts(run: Run) -> dict[str, Any]:
    sizes = [int((run.labels == label).sum()) for label in range(run.n_clusters)]
    return {
        "name": run.name,
        "method": run.method,
        "parameters": run.parameters,
        "seed": run.seed,
        "n_clusters": run.n_clusters,
        "sizes": sizes,
        "seconds": sum(run.timings.values()),
        **run.metrics,
    }
