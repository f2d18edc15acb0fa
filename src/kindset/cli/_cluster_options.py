"""The options of `kindset cluster` that no other command has, and whether they fit its data."""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from kindset.exceptions import InputError
from kindset.workbench import ARRAYS, METHODS, get_method

_BY_ANSWERS = [name for name, method in METHODS.items() if method.takes == "answers"]
_BY_NUMBERS = [name for name in METHODS if name not in _BY_ANSWERS]
_TABLES, _IMAGES = "Tables", "Folders of images"
_SURVEYS = f"Surveys ({', '.join(_BY_ANSWERS)})"


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Let a TOML file stand for options; those on the command line come first."""
    if path is None:
        return None
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
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
        help="Table (CSV, Parquet), array (.npy, .npz) or folder of images.", show_default=False
    ),
]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="For ordered answers: bos, god, or ordinal (the better of both, by question). "
        f"For numbers and images: {', '.join(_BY_NUMBERS)}.",
    ),
]
Number = Annotated[
    str,
    typer.Option(
        "-k",
        help="Number of clusters; a range such as 2:8, or 4:16:2, to choose from; auto (for "
        "unmasking) to have it found.",
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
Used = Annotated[
    str | None,
    typer.Option("--columns", help="Columns to use, comma-separated.", rich_help_panel=_TABLES),
]
Excluded = Annotated[
    str | None,
    typer.Option(
        "--exclude", help="Columns to leave out, comma-separated.", rich_help_panel=_TABLES
    ),
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
    Path | None,
    typer.Option(
        "--levels", help="TOML file with the order of text answers.", rich_help_panel=_SURVEYS
    ),
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
        "--criterion", help="What chooses the number: icl, bic or aic.", rich_help_panel=_SURVEYS
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
    "surveys": ("levels", "weight_column", "criterion", "starts"),
    "tables": ("columns", "exclude", "id_column", "missing"),
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
        raise InputError(
            f"--method {method} clusters tables of answers, CSV or Parquet, not {data}."
        )
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
