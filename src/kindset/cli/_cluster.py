"""`kindset cluster`."""

import json
import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from kindset._files import check_output_folder, output_folder
from kindset.cli import _survey
from kindset.cli._clustering import Clusterer, overhear, summarise, write_samples
from kindset.cli._compare import show_comparison
from kindset.cli._methods import METHODS, Setting, read_parameters, read_seeds
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
from kindset.cli._samples import SampleOptions, read_samples
from kindset.cli._sweep import finish, open_sweep
from kindset.cli._tables import Codebook
from kindset.cli._working import WorkingFolder
from kindset.exceptions import InputError
from kindset.ordinal import CRITERIA
from kindset.report import compare_runs
from kindset.runs import Run

_TABLES, _SURVEYS, _IMAGES = "Tables", "Surveys (bos, god, ordinal)", "Folders of images"


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Let a TOML file stand for options; those on the command line come first."""
    if path is None:
        return None
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a valid TOML file: {error}.") from error
    known = {
        name: parameter.name
        for parameter in context.command.params
        if parameter.param_type_name == "option" and parameter.name
        for name in (parameter.opts[0].lstrip("-"), parameter.name)
    }
    defaults: dict[str, Any] = {}
    for key, value in told.items():
        if key not in known:
            raise InputError(f"{path}: there is no option --{key}.")
        if key == "param" and isinstance(value, dict):
            value = [f"{name}={json.dumps(item, default=str)}" for name, item in value.items()]
        elif key == "param" and isinstance(value, list):
            value = [str(item) for item in value]
        elif isinstance(value, list):
            value = ",".join(map(str, value))
        defaults[known[key]] = value if isinstance(value, (bool, list)) else str(value)
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


_BELONGS = {
    "surveys": ("levels", "weight_column", "criterion", "starts"),
    "tables": ("columns", "exclude", "id_column", "missing"),
    "rows of numbers": ("scale",),
    "folders of images": ("size", "crop", "colours"),
    "methods other than those for surveys": ("seeds", "param", "embedding"),
    "dti-kmeans and dti-gmm": ("transforms",),
    "tables and folders": ("label_column",),
}
"""What each option is for; those of all methods and data are not listed."""


def _check_options(context: typer.Context, data: Path, method: str) -> None:
    """Refuse an option that would be ignored."""
    survey = method in _survey.METHODS
    folder, array = data.is_dir(), data.suffix.lower() in (".npy", ".npz")
    table = not folder and not array
    fits = {
        "surveys": survey,
        "tables": table,
        "rows of numbers": not folder and not survey,
        "folders of images": folder,
        "methods other than those for surveys": not survey,
        "dti-kmeans and dti-gmm": method.startswith("dti"),
        "tables and folders": not array,
    }
    if survey and not table:
        raise InputError(
            f"--method {method} clusters tables of answers, CSV or Parquet, not {data}."
        )
    for kind, names in _BELONGS.items():
        for name in names:
            source = context.get_parameter_source(name)
            if not fits[kind] and source is not None and source.name != "DEFAULT":
                option = f"--{name.replace('_', '-')}"
                raise InputError(f"{option} is for {kind}, not for {method} of {data}.")


def _check_finds_number(method: str) -> None:
    """Refuse to have the number of clusters found by a method that cannot."""
    if method in _survey.METHODS:
        raise InputError(f"-k {AUTO}: {method} chooses among the numbers you give, such as -k 2:8.")
    if not METHODS[method].finds_number:
        able = ", ".join(name for name, one in METHODS.items() if one.finds_number)
        raise InputError(
            f"-k {AUTO}: {method} must be told the number of clusters; give one, or a range such "
            f"as -k 2:8 to have them ranked ({able} finds the number itself)."
        )


def cluster(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            help="Table (CSV, Parquet), array (.npy, .npz) or folder of images.", show_default=False
        ),
    ],
    *,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="For ordered answers: bos, god, or ordinal (the better of both, by question). "
            f"For numbers and images: {', '.join(METHODS)}.",
        ),
    ],
    k: Annotated[
        str,
        typer.Option(
            "-k",
            help="Number of clusters; a range such as 2:8 to choose from; auto (for unmasking) to "
            "have it found.",
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", help="TOML file of options.", callback=_read_config, is_eager=True
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output folder.", show_default="DATA-METHOD")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", help="A parameter of the estimator: name=value. Repeatable."),
    ] = None,
    embedding: Annotated[
        str | None,
        typer.Option("--embedding", help="Cluster in fewer dimensions: pca:20, autoencoder:10."),
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="One run for each of these seeds: 0,1,2.")
    ] = None,
    jobs: Jobs = 1,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="Columns to use, comma-separated.", rich_help_panel=_TABLES),
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            "--exclude", help="Columns to leave out, comma-separated.", rich_help_panel=_TABLES
        ),
    ] = None,
    id_column: IdColumn = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column",
            help="Column with known labels, to compare with only; for images: folder.",
            rich_help_panel=_TABLES,
        ),
    ] = None,
    missing: Missing = None,
    scale: Annotated[
        str,
        typer.Option(
            "--scale", help="standard: give all columns the same spread.", rich_help_panel=_TABLES
        ),
    ] = "none",
    levels: Annotated[
        Path | None,
        typer.Option(
            "--levels",
            help="TOML file with the order of text answers.",
            rich_help_panel=_SURVEYS,
        ),
    ] = None,
    weight_column: Annotated[
        str | None,
        typer.Option(
            "--weight-column", help="Column with the rows' weights.", rich_help_panel=_SURVEYS
        ),
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion",
            help="What chooses the number: icl, bic or aic.",
            rich_help_panel=_SURVEYS,
        ),
    ] = "icl",
    starts: Annotated[
        int, typer.Option("--starts", min=1, help="Number of starts.", rich_help_panel=_SURVEYS)
    ] = 20,
    size: Annotated[
        str | None,
        typer.Option(
            "--size", help="Bring images to this size: 64, or 48x64.", rich_help_panel=_IMAGES
        ),
    ] = None,
    crop: Annotated[
        bool,
        typer.Option("--crop", help="Crop instead of squeezing.", rich_help_panel=_IMAGES),
    ] = False,
    colours: Annotated[
        str,
        typer.Option("--colours", help="auto, grey or colour.", rich_help_panel=_IMAGES),
    ] = "auto",
    transforms: Annotated[
        str | None,
        typer.Option(
            "--transforms",
            help="For dti-kmeans and dti-gmm: auto, or a list such as affine,tps.",
            rich_help_panel=_IMAGES,
        ),
    ] = None,
) -> None:
    """Find groups in a table of answers, rows of numbers, or images.

    Writes a folder with the group of every sample, a summary in words, and the run itself with its
    model, for `kindset predict`, `kindset compare` and `kindset report`. Several numbers or seeds
    give a folder of runs and a ranking of them; started again, it goes on where it was interrupted.
    For surveys a criterion chooses among several numbers.
    """
    if method not in (*_survey.METHODS, *METHODS):
        known = ", ".join([*_survey.METHODS, *METHODS])
        raise InputError(f"--method must be one of {known}, not {method!r}.")
    _check_options(context, data, method)
    if k == AUTO:
        _check_finds_number(method)
    folder = out or Path(f"{data.resolve().stem}-{method}")
    if data.resolve().is_relative_to(folder.resolve()) and folder.resolve() != Path.cwd():
        raise InputError(f"{data} lies in the output folder {folder}; choose another --out.")
    if method in _survey.METHODS:
        if criterion not in CRITERIA:
            raise InputError(
                f"--criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}."
            )
        how = _survey.SurveyOptions(
            method, read_range(k), criterion, starts, seed, jobs, progress=not as_json
        )
        told = _survey.Columns(
            used=read_names(columns),
            excluded=read_names(exclude),
            ids=id_column,
            weights=weight_column,
            truth=label_column,
            missing=read_names(missing),
        )
        check_output_folder(folder, force=force)
        survey = _survey.read_survey(data, told, Codebook.read(levels))
        _cluster_survey(survey, how, folder, force=force, as_json=as_json)
        return
    parameters = read_parameters(param or [])
    if transforms is not None:
        parameters["transforms"] = "auto" if transforms == "auto" else read_names(transforms)
    settings = [
        Setting(method, number, one, embedding, parameters)
        for number in ([None] if k == AUTO else read_range(k))
        for one in read_seeds(seeds, seed)
    ]
    about = SampleOptions(
        columns=read_names(columns),
        excluded=read_names(exclude),
        ids=id_column,
        truth=label_column,
        missing=read_names(missing) or (),
        scale=scale,
        size=size,
        crop=crop,
        mode=colours,
        progress=not as_json,
    )
    if len(settings) == 1:
        check_output_folder(folder, force=force)
    with overhear() as notes:
        samples = read_samples(data, about)
    clusterer = Clusterer(samples, n_jobs=jobs, progress=not as_json, notes=tuple(notes))
    _cluster_samples(clusterer, settings, folder, force=force, as_json=as_json)


def _cluster_survey(
    survey: _survey.Survey,
    options: _survey.SurveyOptions,
    folder: Path,
    *,
    force: bool,
    as_json: bool,
) -> None:
    result = _survey.fit_survey(survey, options)
    with output_folder(folder, force=force) as stage:
        _survey.write_survey(result, stage)
    if as_json:
        typer.echo(json.dumps({**_survey.facts(result), "out": str(folder)}))
    else:
        typer.echo(f"\n{_survey.summarise(result)}\n\nWritten to {folder}/")
    if result.interrupted:
        raise typer.Exit(130)


def _cluster_samples(
    clusterer: Clusterer,
    settings: Sequence[Setting],
    folder: Path,
    *,
    force: bool,
    as_json: bool,
) -> None:
    for setting in settings:
        clusterer.check(setting)
    jobs = [clusterer.job(setting) for setting in settings]
    if len(settings) == 1:
        runs = [_cluster_once(clusterer, settings[0], jobs[0].work_for(folder), folder, force)]
    else:
        open_sweep(folder, clusterer.samples.data.sha256, force=force)
        runs = finish(folder, jobs, say=partial(typer.echo, err=True), force=force)
    if as_json:
        typer.echo(json.dumps({"runs": [_facts(run) for run in runs], "out": str(folder)}))
    elif len(runs) == 1:
        typer.echo(f"\n{summarise(runs[0], clusterer.samples)}\n\nWritten to {folder}/")
    else:
        _rank(runs, clusterer)
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
        comparison = compare_runs(runs, ["silhouette"], truth=codes, n_jobs=clusterer.n_jobs)
    except InputError as error:  # the runs themselves are sound
        typer.echo(f"The runs cannot be ranked: {error}", err=True)
        return
    typer.echo("")
    show_comparison(comparison)


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
