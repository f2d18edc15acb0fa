"""`kindset predict`."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from kindset._files import write_text
from kindset._replacing import put_back
from kindset.cli._options import Debug, Force, IdColumn, Json, Missing, read_names
from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, load_mixture
from kindset.runs import RUN_FILE, Run
from kindset.workbench._samples import SampleOptions, Samples, Scaling, read_any
from kindset.workbench._survey import memberships
from kindset.workbench._tables import (
    COUNTED,
    Reading,
    check_levels,
    column_names,
    read_table,
    take_ids,
)


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
    if out is not None and out.exists() and not force:
        raise InputError(f"{out} exists already; choose another --out, or replace it: --force.")
    put_back(model)
    run = _load(model) if model.is_dir() else None
    if id_column is None and run is not None:
        id_column = _known_ids(run, data)
    fitted = load_mixture(model) if run is None else run.model
    if fitted is None:
        assert run is not None
        raise InputError(f"the run {model} cannot predict: {_why_not(run)}.")
    if isinstance(fitted, OrdinalMixture):
        marks = read_names(missing) or []
        result = _predict_survey(fitted, data, id_column, marks)
    else:
        assert run is not None
        if missing is not None:
            raise InputError("--missing is for surveys; this method takes no gaps.")
        result = _predict_samples(run, data, SampleOptions(ids=id_column, progress=not as_json))
    _give(result, out, as_json=as_json)


def _load(folder: Path) -> Run:
    inside = sorted(path.parent for path in folder.glob(f"*/{RUN_FILE}"))
    if inside and not (folder / RUN_FILE).exists():
        raise InputError(f"{folder} holds {len(inside)} runs; give one of them: {inside[0]}.")
    return Run.load(folder, strict=False)


def _known_ids(run: Run, data: Path) -> str | None:
    """Return the column that named the rows of the run, if the new table has it too."""
    name = run.details.get("id_column")
    if name in (None, COUNTED) or not data.is_file() or data.suffix.lower() in (".npy", ".npz"):
        return None
    return name if name in column_names(data) else None


def _why_not(run: Run) -> str:
    """Say why a run holds no model, and what to do instead."""
    if run.method == "ward":
        return (
            "ward groups the samples it was given and no others; cluster with kmeans, gmm or "
            "unmasking instead, or old and new samples together"
        )
    if run.parameters.get("embedding") is not None:
        return "the model of an embedding is not kept; cluster without --embedding"
    return "it holds no model; make it with `kindset cluster`"


def _predict_survey(
    mixture: OrdinalMixture, data: Path, id_column: str | None, missing: list[str]
) -> pd.DataFrame:
    words = {
        str(name): [str(level) for level in levels]
        for name, levels in zip(
            getattr(mixture, "feature_names_in_", []), mixture.categories_, strict=False
        )
        if levels.dtype == object
    }
    table = read_table(data, Reading(words, [id_column] if id_column else [], missing))
    ids = take_ids(table, id_column)
    names = list(getattr(mixture, "feature_names_in_", table.columns))
    if len(names) != len(mixture.categories_):
        raise InputError(
            f"{data} has {len(names)} columns of answers, but the model, which has no names of "
            f"columns, needs {len(mixture.categories_)} (--id-column sets one apart)."
        )
    for name, levels in zip(names, mixture.categories_, strict=True):
        if name not in table:
            raise InputError(f"{data} has no column {name!r}, which the model needs.")
        check_levels(
            name, table[name], levels.tolist(), "cluster again with the whole scale in --levels"
        )
    silent = int(table[names].isna().all(axis=1).sum())
    if silent:
        warnings.warn(
            f"{silent} rows hold no answer at all: they are assigned by the segments' sizes alone.",
            stacklevel=1,
        )
    return memberships(mixture, table[names], ids)


def _predict_samples(run: Run, data: Path, options: SampleOptions) -> pd.DataFrame:
    """Bring new samples into the form of the old ones, and assign them."""
    shape = () if run.data is None else run.data.shape[1:]
    is_images = run.details.get("kind") == "images"
    options = SampleOptions(
        columns=run.details.get("columns"),
        ids=options.ids,
        size=f"{shape[0]}x{shape[1]}" if is_images else None,
        crop=bool(run.details.get("crop")),
        mode="colour" if len(shape) == 3 else "grey",
        progress=options.progress,
    )
    samples = read_any(data, options)
    if samples.X.shape[1:] != shape:
        raise InputError(
            f"{data} holds samples of shape {samples.X.shape[1:]}, but the run was made on samples "
            f"of shape {shape}."
        )
    labels = run.model.predict(_as_trained(samples, run))
    table = {str(samples.ids.name): samples.ids.to_numpy(), "cluster": labels + 1}
    return pd.DataFrame(table)


def _as_trained(samples: Samples, run: Run) -> Any:
    """Bring new samples to the scale and precision of the old ones."""
    if hasattr(run.model, "align"):  # scales images itself
        return samples.X
    scaling = Scaling(**run.details["scaling"]) if "scaling" in run.details else None
    if scaling is not None and samples.kind == "images":
        return scaling.rows(samples.X)
    X = samples.X if scaling is None else scaling(samples.X)
    return X if run.space is None else X.astype(run.space.dtype)


def _give(result: pd.DataFrame, out: Path | None, *, as_json: bool) -> None:
    if out is not None:
        write_text(out, result.to_csv(index=False, float_format="%.6f"))
    if as_json:
        group = "segment" if "segment" in result else "cluster"
        sizes = result[group].value_counts().sort_index()
        told: dict[str, Any] = {
            "n_rows": len(result),
            "sizes": {str(number): int(size) for number, size in sizes.items()},
            "out": None if out is None else str(out),
        }
        if out is None:
            told["rows"] = result.to_dict("records")
        typer.echo(json.dumps(told))
    elif out is None:
        typer.echo(result.to_csv(index=False, float_format="%.6f"), nl=False)
    else:
        typer.echo(f"{len(result):,} rows written to {out}")
