"""The options of `kindset cluster` that no other command has, and whether they fit its data."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kindset._reading import read_toml
from kindset.exceptions import InputError
from kindset.workbench import ARRAYS, METHODS, TABLES, get_method

_BY_ANSWERS = [name for name, method in METHODS.items() if method.takes == "answers"]
_BY_NUMBERS = [name for name in METHODS if name not in _BY_ANSWERS]
_TABLES, _IMAGES = "Tables", "Folders of images"
_SURVEYS = f"Surveys ({', '.join(_BY_ANSWERS)})"


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Let a TOML file stand for options; those on the command line come first."""
    if path is None:
        return None
    try:
        document = read_toml(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from error
    known = {
        name: parameter.name
        for parameter in context.command.params
        if parameter.param_type_name == "option" and parameter.name
        for name in (parameter.opts[0].lstrip("-"), parameter.name)
    }
    defaults: dict[str, Any] = {}
    for key, value in document.items():
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


Data = Annotated[
    Path,
    typer.Argument(
        help=f"Table ({TABLES}), array (.npy, .npz) or folder of images.", show_default=False
    ),
]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="For answers: survey (start here: law and number are chosen), tilted, adjacent, lca "
        "(latent classes), bos, god, or ordinal (the best law, by question). "
        f"For numbers and images: {', '.join(_BY_NUMBERS)}.",
    ),
]
Number = Annotated[
    str,
    typer.Option(
        "-k",
        help="Number of clusters; a range such as 2:8, or 4:16:2, to choose from; auto (for "
        "survey and unmasking) to have it found.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file of options.", callback=_read_config, is_eager=True),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Output folder.", show_default="DATA-METHOD")
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", help="A parameter of the estimator: name=value. Repeatable."),
]
Embedding = Annotated[
    str | None,
    typer.Option("--embedding", help="Cluster in fewer dimensions: pca:20, autoencoder:10."),
]
Seeds = Annotated[
    str | None, typer.Option("--seeds", help="One run for each of these seeds: 0,1,2.")
]
Resamples = Annotated[
    int,
    typer.Option(
        "--resamples",
        min=0,
        help="Refit on so many parts of the samples, at least 2, to see whether the groups come "
        "out again; 0 for none.",
    ),
]
Used = Annotated[
    str | None,
    typer.Option("--columns", help="Columns to use: age,q1:q8 (a range).", rich_help_panel=_TABLES),
]
Excluded = Annotated[
    str | None,
    typer.Option("--exclude", help="Columns to leave out: name,q9:q12.", rich_help_panel=_TABLES),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        help="Column with known labels, to compare with only; for images: folder.",
        rich_help_panel=_TABLES,
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        "--scale", help="standard: give all columns the same spread.", rich_help_panel=_TABLES
    ),
]
Levels = Annotated[
    str | None,
    typer.Option(
        "--levels",
        help="Order of text answers: a TOML file, or one list such as no,maybe,yes.",
        rich_help_panel=_SURVEYS,
    ),
]
Types = Annotated[
    str | None,
    typer.Option(
        "--types",
        help="What columns hold: ordinal, nominal or numeric, as in age=numeric.",
        rich_help_panel=_SURVEYS,
    ),
]
NoTrim = Annotated[
    bool, typer.Option("--no-trim", help="Blanks around text count.", rich_help_panel=_SURVEYS)
]
NoIgnoreCase = Annotated[
    bool,
    typer.Option("--no-ignore-case", help="The case of text counts.", rich_help_panel=_SURVEYS),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        "--weight-column", help="Column with the rows' weights.", rich_help_panel=_SURVEYS
    ),
]
Criterion = Annotated[
    str,
    typer.Option(
        "--criterion",
        help="What chooses the number: icl, bic, aic or rule.",
        rich_help_panel=_SURVEYS,
    ),
]
Starts = Annotated[
    int | None,
    typer.Option(
        "--starts", min=1, help="Number of starts.", rich_help_panel=_SURVEYS, show_default="20"
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size", help="Bring images to this size: 64, or 48x64.", rich_help_panel=_IMAGES
    ),
]
Crop = Annotated[
    bool, typer.Option("--crop", help="Crop instead of squeezing.", rich_help_panel=_IMAGES)
]
Colours = Annotated[
    str, typer.Option("--colours", help="auto, grey or colour.", rich_help_panel=_IMAGES)
]
Transforms = Annotated[
    str | None,
    typer.Option(
        "--transforms",
        help="For dti-kmeans and dti-gmm: auto, or a list such as affine,tps.",
        rich_help_panel=_IMAGES,
    ),
]


_BELONGS = {
    "surveys": (
        "levels",
        "types",
        "weight_column",
        "criterion",
        "starts",
        "no_trim",
        "no_ignore_case",
    ),
    "tables": (
        "columns",
        "exclude",
        "id_column",
        "missing",
        "decimal",
        "header_rows",
        "sheet",
    ),
    "rows of numbers": ("scale",),
    "folders of images": ("size", "crop", "colours"),
    "methods that cluster rows": ("embedding",),
    "dti-kmeans and dti-gmm": ("transforms",),
    "tables and folders": ("label_column",),
}
"""What each option is for; those of all methods and data are not listed."""


def check_options(context: typer.Context, data: Path, method: str) -> None:
    """Refuse an unknown method, and an option that would be ignored."""
    takes = get_method(method).takes
    folder, array = data.is_dir(), data.suffix.lower() in ARRAYS
    table = not folder and not array
    if takes == "answers" and not table:
        raise InputError(f"--method {method} clusters tables of answers ({TABLES}), not {data}.")
    fits = {
        "surveys": takes == "answers",
        "tables": table,
        "rows of numbers": not folder and takes == "rows",
        "folders of images": folder,
        "methods that cluster rows": takes == "rows",
        "dti-kmeans and dti-gmm": method.startswith("dti-"),
        "tables and folders": not array,
    }
    for kind, names in _BELONGS.items():
        for name in names:
            source = context.get_parameter_source(name)
            if not fits[kind] and source is not None and source.name != "DEFAULT":
                option = f"--{name.replace('_', '-')}"
                raise InputError(f"{option} is for {kind}, not for {method} of {data}.")
