"""`kindset report`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kindset._files import check_output_file, shown
from kindset.cli._options import (
    Bootstrap,
    Debug,
    Force,
    Indices,
    Jobs,
    Json,
    Judge,
    Metric,
    Names,
    Noise,
    Raw,
    Runs,
    SameRows,
    Truth,
    read_indices,
)
from kindset.cli._terminal import echo, echo_data
from kindset.comparison import DEFAULT_NOISE
from kindset.report import write_report
from kindset.runs import align_labels, load_runs, name_only_survey, read_labels
from kindset.workbench import read_raw


def report(
    runs: Runs,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file.")] = Path("report.html"),
    title: Annotated[
        str | None,
        typer.Option("--title", help="Heading of the page.", show_default="the names of the data"),
    ] = None,
    index: Indices = None,
    judge: Judge = "auto",
    raw: Raw = None,
    metric: Metric = "euclidean",
    truth: Truth = None,
    names: Names = None,
    bootstrap: Bootstrap = 0,
    noise: Noise = None,
    same_rows: SameRows = False,
    jobs: Jobs = 1,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write what runs found, what it is and what to trust to one HTML page.

    The page is a single file that needs no network. Runs on the same data are ranked without
    labels; the first is shown in full, the others folded.
    """
    check_output_file(out, force=force)
    indices = read_indices(index)
    loaded = load_runs(runs)
    if names is not None:
        loaded = name_only_survey(loaded, names)
    write_report(
        loaded,
        out,
        title=title,
        indices=indices,
        judge=judge,
        raw=None if raw is None else read_raw(raw, loaded, same_rows=same_rows),
        metric=metric,
        noise=noise or DEFAULT_NOISE,
        truth=None if truth is None else align_labels(*read_labels(truth), loaded),
        same_rows=same_rows,
        n_bootstrap=bootstrap,
        n_jobs=jobs,
        verbose=not as_json,
    )
    size = out.stat().st_size
    if as_json:
        echo_data(json.dumps({"report": str(out), "runs": len(loaded), "bytes": size}))
        return
    echo(f"{len(loaded)} run{'s' if len(loaded) > 1 else ''}, {size / 1e6:.1f} MB")
    echo(f"Report: {shown(out)}")
