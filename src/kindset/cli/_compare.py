"""`kindset compare`."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from kindset._files import output_folder, write_csv, write_text
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
    SameRows,
    Seed,
    Truth,
    read_indices,
)
from kindset.cli._ranking import show_comparison, show_notes
from kindset.cli._terminal import echo
from kindset.comparison import DEFAULT_NOISE, Comparison, compare_runs
from kindset.evaluation import (
    AssignmentDisplay,
    CorrelationGraphDisplay,
    RankingDisplay,
    ScoreHeatmapDisplay,
    SpacesDisplay,
    check_noise,
)
from kindset.runs import align_labels, load_runs, read_labels
from kindset.workbench import check_single_output, read_data, save_figure


def compare(
    runs: Runs,
    *,
    index: Indices = None,
    metric: Metric = "euclidean",
    truth: Truth = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for tables and figures.")
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option("--raw", help="Input data (.npy, .npz, .csv), to score in beside."),
    ] = None,
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
        raw=None if raw is None else read_data(raw).rows().X,
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
            _write(comparison, stage)
    if as_json:
        echo(json.dumps(facts(comparison)))
        return
    show_comparison(comparison)
    if out is not None:
        echo(f"Written to {out}/")


def facts(comparison: Comparison) -> dict[str, Any]:
    """Return everything about a comparison, for machines."""
    agreement = comparison.agreement()
    document: dict[str, Any] = {
        "rankings": {name: _records(comparison.ranking(name)) for name in comparison.evaluations},
        "spaces": {name: _spaces(comparison, name) for name in comparison.evaluations},
        "consensus": _records(comparison.consensus()),
        "best": comparison.leader().name,
        "notes": comparison.notes,
    }
    if agreement is not None:
        document["correlation_with_truth"] = {
            f"{index}/{strategy}": _finite(row)
            for (index, strategy), row in zip(
                agreement.index, agreement.to_dict("records"), strict=True
            )
        }
    return document


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    plain = table.reset_index().astype(object)
    records: list[dict[str, Any]] = plain.where(plain.notna(), None).to_dict("records")  # type: ignore[assignment]
    return records


def _spaces(comparison: Comparison, name: str) -> list[dict[str, Any]]:
    found = comparison.evaluations[name]
    rows = zip(found.space_names_, found.status_, found.weights_, found.dip_pvalues_, strict=True)
    return [
        {"space": space, "status": str(status), "weight": float(weight), "dip_pvalue": float(p)}
        for space, status, weight, p in rows
    ]


def _finite(row: dict[Any, Any]) -> dict[str, float | None]:
    return {str(name): None if np.isnan(value) else float(value) for name, value in row.items()}


def _write(comparison: Comparison, folder: Path) -> None:
    write_csv(folder / "consensus.csv", comparison.consensus().reset_index())
    for name, evaluation in comparison.evaluations.items():
        write_csv(folder / f"ranking-{name}.csv", comparison.ranking(name).reset_index())
        figures: dict[str, Any] = {
            "ranking": RankingDisplay.from_evaluation(evaluation).plot(),
            "scores": ScoreHeatmapDisplay.from_evaluation(evaluation).plot(),
            "graph": CorrelationGraphDisplay.from_evaluation(evaluation).plot(),
        }
        for kind, display in figures.items():
            save_figure(display.figure_, folder / f"{kind}-{name}")
    labels = comparison.leader().labels
    evaluation = next(iter(comparison.evaluations.values()))
    spaces = SpacesDisplay.from_evaluation(evaluation, comparison.spaces, labels)
    save_figure(spaces.plot().figure_, folder / "spaces")
    if comparison.truth is not None:
        display = AssignmentDisplay.from_predictions(comparison.truth, labels)
        save_figure(display.plot().figure_, folder / "assignment")
    agreement = comparison.agreement()
    if agreement is not None:
        named = agreement.rename_axis(["index", "strategy"]).reset_index()
        write_csv(folder / "agreement.csv", named)
    write_text(folder / "compare.json", json.dumps(facts(comparison), indent=1) + "\n")
