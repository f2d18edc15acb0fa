"""`kindset compare`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kindset._files import output_folder
from kindset.cli._options import (
    Bootstrap,
    Debug,
    Force,
    Indices,
    Jobs,
    Json,
    Judge,
    Metric,
    Noise,
    Raw,
    Runs,
    SameRows,
    Seed,
    Truth,
    read_indices,
)
from kindset.cli._ranking import show_comparison, show_notes
from kindset.cli._terminal import echo, echo_data, shown
from kindset.comparison import DEFAULT_NOISE, compare_runs
from kindset.evaluation import check_noise
from kindset.runs import align_labels, load_runs, read_labels
from kindset.workbench import check_single_output, read_raw


def compare(
    runs: Runs,
    *,
    index: Indices = None,
    judge: Judge = "auto",
    metric: Metric = "euclidean",
    truth: Truth = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for tables and figures.")
    ] = None,
    raw: Raw = None,
    bootstrap: Bootstrap = 0,
    sample_size: Annotated[
        int | None,
        typer.Option("--sample-size", min=2, help="Estimate the silhouette from so many points."),
    ] = None,
    noise: Noise = None,
    same_rows: SameRows = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    force: Force = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Rank clusterings of the same data, made in different spaces, without labels."""
    if out is not None:
        check_single_output(out, force=force)
    indices = read_indices(index)
    loaded = load_runs(runs)
    comparison = compare_runs(
        loaded,
        indices,
        truth=None if truth is None else align_labels(*read_labels(truth), loaded),
        raw=None if raw is None else read_raw(raw, loaded, same_rows=same_rows),
        judge=judge,
        metric=metric,
        noise=check_noise(noise or DEFAULT_NOISE),
        n_bootstrap=bootstrap,
        sample_size=sample_size,
        same_rows=same_rows,
        n_jobs=jobs,
        random_state=seed,
        verbose=not as_json,
    )
    show_notes(comparison)
    if out is not None:
        with output_folder(out, force=force) as stage:
            comparison.write(stage)
    if as_json:
        echo_data(json.dumps(comparison.to_dict()))
        return
    show_comparison(comparison)
    if out is not None:
        echo(f"Written to {shown(out)}/")
