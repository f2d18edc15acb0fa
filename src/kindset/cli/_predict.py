"""`kindset predict`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kindset._excel import check_table_file, write_table
from kindset._files import check_output_file, csv_text
from kindset._shown import counted, shown
from kindset.cli import _options as common
from kindset.cli._terminal import echo, echo_data
from kindset.workbench import assign, assigned_facts


def predict(
    model: Annotated[
        Path, typer.Argument(help="Folder that `kindset cluster` wrote, or a survey's model.json.")
    ],
    data: Annotated[
        Path,
        typer.Argument(
            help="New data of the same kind: table, array or folder of images.", show_default=False
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV or Excel file (.xlsx); by default the screen."),
    ] = None,
    id_column: common.IdColumn = None,
    missing: common.Missing = None,
    decimal: common.Decimal = "auto",
    header_rows: common.HeaderRows = None,
    sheet: common.Sheet = None,
    names: common.Names = None,
    force: common.Force = False,
    as_json: common.Json = False,
    debug: common.Debug = False,
) -> None:
    """Assign new samples to the groups of an earlier run."""
    if out is not None:
        check_output_file(out, force=force)
        check_table_file(out)
    result = assign(
        model, data, ids=id_column, missing=common.read_names(missing) or (), names=names,
        decimal=decimal, header_rows=header_rows, sheet=sheet, verbose=not as_json,
    )  # fmt: skip
    if out is not None:
        write_table(out, result, name="Memberships")
    if as_json:
        echo_data(json.dumps({**assigned_facts(result, rows=out is None), "out": out and str(out)}))
    elif out is None:
        echo_data(csv_text(result, float_format="%.6f").rstrip("\n"))
    else:
        echo(f"{counted(len(result), 'row')} written to {shown(out)}")
