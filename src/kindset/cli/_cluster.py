"""`kindset cluster`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kindset._files import check_output_folder, output_folder
from kindset.cli import _survey
from kindset.cli._options import (
    Debug,
    Force,
    IdColumn,
    Jobs,
    Json,
    Missing,
    Seed,
    Table,
    read_names,
    read_range,
)
from kindset.cli._tables import Codebook
from kindset.exceptions import InputError
from kindset.ordinal import CRITERIA


def cluster(
    data: Table,
    *,
    method: Annotated[
        str,
        typer.Option(
            "--method", "-m", help="bos, god, or ordinal (the better of both, by question)."
        ),
    ],
    k: Annotated[
        str,
        typer.Option("-k", help="Number of segments, or a range such as 2:8 to choose from."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output folder.", show_default="DATA-METHOD")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Questions to use, comma-separated.")
    ] = None,
    exclude: Annotated[
        str | None, typer.Option("--exclude", help="Columns to leave out, comma-separated.")
    ] = None,
    levels: Annotated[
        Path | None, typer.Option("--levels", help="TOML file with the order of text answers.")
    ] = None,
    id_column: IdColumn = None,
    weight_column: Annotated[
        str | None, typer.Option("--weight-column", help="Column with the rows' weights.")
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option("--label-column", help="Column with known labels, to compare with only."),
    ] = None,
    missing: Missing = None,
    criterion: Annotated[
        str, typer.Option("--criterion", help="What chooses the number: icl, bic or aic.")
    ] = "icl",
    starts: Annotated[int, typer.Option("--starts", min=1, help="Number of starts.")] = 20,
    seed: Seed = 0,
    jobs: Jobs = 1,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Find groups in a table of ordered answers.

    Writes a folder with every row's segment and probabilities (segments.csv), figures, a summary
    in words, and the run itself with its model, for `kindset predict` and `kindset compare`.
    """
    if method not in _survey.METHODS:
        raise InputError(f"--method must be one of {', '.join(_survey.METHODS)}, not {method!r}.")
    if criterion not in CRITERIA:
        raise InputError(f"--criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}.")
    options = _survey.SurveyOptions(
        method, read_range(k), criterion, starts, seed, jobs, progress=not as_json
    )
    folder = out or Path(f"{data.stem}-{method}")
    check_output_folder(folder, force=force)
    columns_told = _survey.Columns(
        used=read_names(columns),
        excluded=read_names(exclude),
        ids=id_column,
        weights=weight_column,
        truth=label_column,
        missing=read_names(missing),
    )
    survey = _survey.read_survey(data, columns_told, Codebook.read(levels))
    result = _survey.fit_survey(survey, options)
    with output_folder(folder, force=force) as stage:
        _survey.write_survey(result, stage)
    if as_json:
        typer.echo(json.dumps({**_survey.facts(result), "out": str(folder)}))
    else:
        typer.echo(f"\n{_survey.summarise(result)}\n\nWritten to {folder}/")
    if result.interrupted:
        raise typer.Exit(130)
