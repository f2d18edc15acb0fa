"""`kindset predict`."""

import json
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from kindset._files import check_output_file, csv_text, shown, write_csv
from kindset.cli._options import Debug, Force, IdColumn, Json, Missing, read_names
from kindset.cli._terminal import echo, echo_data
from kindset.workbench import assign


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
        Path | None, typer.Option("--out", "-o", help="CSV file; by default the screen.")
    ] = None,
    id_column: IdColumn = None,
    missing: Missing = None,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Assign new samples to the groups of an earlier run."""
    if out is not None:
        check_output_file(out, force=force)
    marks = read_names(missing) or ()
    result = assign(model, data, ids=id_column, missing=marks, verbose=not as_json)
    if out is not None:
        write_csv(out, result, float_format="%.6f")
    if as_json:
        echo_data(json.dumps(_facts(result, out)))
    elif out is None:
        echo_data(csv_text(result, float_format="%.6f").rstrip("\n"))
    else:
        echo(f"{len(result):,} rows written to {shown(out)}")


def _facts(result: pd.DataFrame, out: Path | None) -> dict[str, Any]:
    group = "segment" if "segment" in result else "cluster"
    sizes = result[group].value_counts().sort_index()
    facts: dict[str, Any] = {
        "n_rows": len(result),
        "sizes": {str(number): int(size) for number, size in sizes.items()},
        "out": None if out is None else str(out),
    }
    if out is None:
        facts["rows"] = result.to_dict("records")
    return facts
