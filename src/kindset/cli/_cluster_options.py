"""The options of `kindset cluster` that no other command has, and whether they fit its data."""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from kindset.cli._options import AUTO
from kindset.exceptions import InputError
from kindset.ordinal import CRITERIA
from kindset.workbench import _survey
from kindset.workbench._methods import METHODS

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
        f"For numbers and images: {', '.join(METHODS)}.",
    ),
]
Number = Annotated[
    str,
    typer.Option(
        "-k",
        help="Number of clusters; a range such as 2:8 to choose from; auto (for unmasking) to "
        "have it found.",
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
    int, typer.Option("--starts", min=1, help="Number of starts.", rich_help_panel=_SURVEYS)
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
    "methods other than those for surveys": ("seeds", "param", "embedding"),
    "dti-kmeans and dti-gmm": ("transforms",),
    "tables and folders": ("label_column",),
}
"""What each option is for; those of all methods and data are not listed."""


def check_options(context: typer.Context, data: Path, method: str) -> None:
    """Refuse a method, a number or a criterion that is unknown, and what would be ignored."""
    known = (*_survey.METHODS, *METHODS)
    if method not in known:
        raise InputError(f"--method must be one of {', '.join(known)}, not {method!r}.")
    _check_fit(context, data, method)
    if context.params["k"] == AUTO:
        _check_finds_number(method)
    criterion = context.params["criterion"]
    if criterion not in CRITERIA:
        raise InputError(f"--criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}.")


def _check_fit(context: typer.Context, data: Path, method: str) -> None:
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
