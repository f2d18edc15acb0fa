"""`kindset report`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kindset.cli._compare import read_truth
from kindset.cli._options import (
    Bootstrap,
    Debug,
    Force,
    Indices,
    Jobs,
    Json,
    Metric,
    Noise,
    Runs,
    Truth,
    read_indices,
)
from kindset.exceptions import InputError
from kindset.report import write_report
from kindset.runs import load_runs


def report(
    runs: Runs,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file.")] = Path("report.html"),
    title: Annotated[
        str | None,
        typer.Option("--title", help="Heading of the page.", show_default="the names of the data"),
    ] = None,
    index: Indices = None,
    metric: Metric = "euclidean",
    truth: Truth = None,
    bootstrap: Bootstrap = 0,
    noise: Noise = "drop",
    jobs: Jobs = 1,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write what runs found, what it is and what to trust to one HTML page.

    The page is a single file that needs no network. Runs on the same data are ranked without
    labels; the first is shown in full, the others folded.
    """
    if out.is_dir():
        raise InputError(f"{out} is a folder; --out names the HTML file.")
    if out.exists() and not force:
        raise InputError(f"{out} exists already; choose another --out, or replace it: --force.")
    indices = read_indices(index)
    loaded = load_runs(runs)
    write_report(
        loaded,
        out,
        title=title,
        indices=indices,
        metric=metric,
        noise=noise,
        truth=None if truth is None else read_truth(truth),
        n_bootstrap=bootstrap,
        n_jobs=jobs,
        verbose=not as_json,
    )
    size = out.stat().st_size
    if as_json:
        typer.echo(json.dumps({"report": str(out), "runs": len(loaded), "bytes": size}))
        return
    typer.echo(f"{len(loaded)} run{'s' if len(loaded) > 1 else ''}, {size / 1e6:.1f} MB")
    typer.echo(f"Report: {out}")
