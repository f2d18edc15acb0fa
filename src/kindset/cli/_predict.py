"""`kindset predict`."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from kindset._files import write_text
from kindset.cli._options import Debug, Force, IdColumn, Json, Missing, Table, read_names
from kindset.cli._survey import memberships
from kindset.cli._tables import Reading, read_table, take_ids
from kindset.exceptions import InputError
from kindset.ordinal import load_mixture
from kindset.runs import Run


def predict(
    model: Annotated[
        Path, typer.Argument(help="Folder that `kindset cluster` wrote, or a model.json.")
    ],
    data: Table,
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
    """Assign new rows to the segments of an earlier run."""
    if out is not None and out.exists() and not force:
        raise InputError(f"{out} exists already; choose another --out, or replace it: --force.")
    mixture = Run.load(model).model if model.is_dir() else load_mixture(model)
    if mixture is None:
        raise InputError(f"the run {model} holds no model to predict with.")
    words = {
        str(name): [str(level) for level in levels]
        for name, levels in zip(
            getattr(mixture, "feature_names_in_", []), mixture.categories_, strict=False
        )
        if levels.dtype == object
    }
    reading = Reading(words, [id_column] if id_column else [], read_names(missing) or [])
    table = read_table(data, reading)
    ids = take_ids(table, id_column)
    names = list(getattr(mixture, "feature_names_in_", table.columns))
    for name in names:
        if name not in table:
            raise InputError(f"{data} has no column {name!r}, which the model needs.")
    silent = int(table[names].isna().all(axis=1).sum())
    if silent:
        warnings.warn(
            f"{silent} rows hold no answer at all: they are assigned by the segments' sizes alone.",
            stacklevel=1,
        )
    result = memberships(mixture, table[names], ids)
    if out is not None:
        write_text(out, result.to_csv(index=False, float_format="%.6f"))
    if as_json:
        sizes = result["segment"].value_counts().sort_index()
        told: dict[str, Any] = {
            "n_rows": len(result),
            "sizes": {str(segment): int(size) for segment, size in sizes.items()},
            "out": None if out is None else str(out),
        }
        if out is None:
            told["rows"] = result.to_dict("records")
        typer.echo(json.dumps(told))
    elif out is None:
        typer.echo(result.to_csv(index=False, float_format="%.6f"), nl=False)
    else:
        typer.echo(f"{len(result):,} rows written to {out}")
