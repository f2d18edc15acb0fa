"""`kindset compare`."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kindset._arrays import as_label_array
from kindset._files import output_folder, write_text
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
    Seed,
    Truth,
    read_indices,
)
from kindset.comparison import KNOWN_MEASURES, Comparison, compare_runs, is_varied
from kindset.evaluation import (
    INDICES,
    AssignmentDisplay,
    CorrelationGraphDisplay,
    RankingDisplay,
    ScoreHeatmapDisplay,
    SpacesDisplay,
)
from kindset.exceptions import InputError
from kindset.runs import load_runs
from kindset.workbench._figures import save_figure
from kindset.workbench._samples import SampleOptions, read_any
from kindset.workbench._sweep import check_single_output


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
    noise: Noise = "error",
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
    comparison = compare_runs(
        load_runs(runs),
        indices,
        truth=None if truth is None else read_truth(truth),
        raw=None if raw is None else read_any(raw, SampleOptions()).rows,
        metric=metric,
        noise=noise,
        n_bootstrap=bootstrap,
        sample_size=sample_size,
        n_jobs=jobs,
        random_state=seed,
        verbose=not as_json,
    )
    for note in comparison.notes:
        warnings.warn(note, stacklevel=1)
    if out is not None:
        with output_folder(out, force=force) as stage:
            _write(comparison, stage)
    if as_json:
        typer.echo(json.dumps(_facts(comparison)))
        return
    show_comparison(comparison)
    if out is not None:
        typer.echo(f"Written to {out}/")


def read_truth(path: Path) -> Any:
    """Read known labels from a CSV or npy file."""
    if path.suffix.lower() == ".npy":
        from kindset.runs import read_array

        return np.unique(as_label_array(read_array(path), str(path)), return_inverse=True)[1]
    if path.suffix.lower() != ".csv":
        raise InputError(f"--truth takes a .csv or .npy file of labels, not {path}.")
    (run,) = load_runs([path])
    return run.labels


def _facts(comparison: Comparison) -> dict[str, Any]:
    agreement = comparison.agreement()
    told: dict[str, Any] = {
        "rankings": {name: _records(comparison.ranking(name)) for name in comparison.evaluations},
        "spaces": {name: _spaces(comparison, name) for name in comparison.evaluations},
        "consensus": _records(comparison.consensus()),
        "best": comparison.leader().name,
    }
    if agreement is not None:
        told["correlation_with_truth"] = {
            f"{index}/{strategy}": _finite(row)
            for (index, strategy), row in zip(
                agreement.index, agreement.to_dict("records"), strict=True
            )
        }
    return told


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


def show_comparison(comparison: Comparison) -> None:
    """Print the ranking by each index, their consensus, and the agreement with known labels."""
    console = Console()
    console.print(_legend(comparison), style="dim")
    for name in comparison.evaluations:
        console.print(_ranking_table(comparison, name))
        console.print(f"{_spaces_sentence(comparison, name)}\n", highlight=False)
    if len(comparison.evaluations) > 1:
        show_consensus(comparison)
    agreement = comparison.agreement()
    if agreement is not None:
        columns = {str(name): [f"{v:.2f}" for v in agreement[name]] for name in agreement}
        cells = {"strategy": [f"{index}, {how}" for index, how in agreement.index], **columns}
        console.print(_table("Rank correlation with the known labels (Spearman)", cells))


def show_consensus(comparison: Comparison) -> None:
    """Print the ranks by several indices, the place that their mean gives, and known labels."""
    consensus = comparison.consensus()
    details = comparison.ranking(next(iter(comparison.evaluations))).loc[consensus.index]
    cells = {
        "place": [f"{place:g}" for place in consensus["place"]],
        "run": [str(run) for run in consensus.index],
        "K": [str(k) for k in details["clusters"]],
    }
    for name in comparison.evaluations:
        cells[INDICES[name].short] = [f"{rank:g}" for rank in consensus[name]]
    cells["mean"] = [f"{rank:.3g}" for rank in consensus["mean_rank"]]
    bounds = zip(consensus["place_low"], consensus["place_high"], strict=True)
    cells["range"] = [f"{low:g}–{high:g}" for low, high in bounds]
    cells |= _known(details)
    console = Console()
    console.print(_table("Consensus: rank by each index, and place by their mean", cells))
    drawn = any(evaluation.n_bootstrap for evaluation in comparison.evaluations.values())
    more = ", and points resampled" if drawn else ""
    console.print(f"range: places with an index or a space left out{more}.\n", style="dim")


def _legend(comparison: Comparison) -> str:
    lines = ["avg, pool, own: rank by average rank, by mean score, in its own space."]
    evaluations = list(comparison.evaluations.values())
    if any(is_varied(evaluation) for evaluation in evaluations):
        more = any(evaluation.n_bootstrap for evaluation in evaluations)
        resampled = ", and points resampled" if more else " (see also --bootstrap)"
        lines.insert(0, f"range, wins: ranks and first places with one space left out{resampled};")
    if any(hasattr(evaluation, "raw_") for evaluation in evaluations):
        lines.append("raw: rank by the score in the data themselves.")
    if any(evaluation.missing_.any() for evaluation in evaluations):
        lines.append("*: has no score in some space; the worst one stands in.")
    return "\n".join(lines) + "\n"


OTHERS = {"rank_average": "avg", "pooled": "pool", "paired": "own", "raw": "raw"}
"""The strategies beside ACE, and their headings."""


def _ranking_table(comparison: Comparison, name: str) -> Table:
    """Show the ranking, with the ranks that the simpler strategies would give beside it."""
    ranking = comparison.ranking(name)
    direction = "" if INDICES[name].larger_is_better else " (sign turned: larger is better)"
    cells = {
        "rank": [f"{rank:g}" for rank in ranking["rank"]],
        "run": [str(run) for run in ranking.index],
        "K": [str(k) for k in ranking["clusters"]],
        "score": [
            f"{score:.3g}{'*' if absent else ''}"
            for score, absent in zip(
                ranking["ace"], ranking.get("no_score", [False] * len(ranking)), strict=True
            )
        ],
    }
    evaluation = comparison.evaluations[name]
    if is_varied(evaluation):
        bounds = zip(ranking["rank_low"], ranking["rank_high"], strict=True)
        cells["range"] = [f"{low:g}–{high:g}" for low, high in bounds]
        cells["wins"] = [f"{share:.0%}" for share in ranking["win_share"]]
    for strategy, heading in OTHERS.items():
        if strategy in ranking:
            ranks = ranking[strategy].round(12).rank(ascending=False)
            cells[heading] = ["–" if np.isnan(rank) else f"{rank:g}" for rank in ranks]
    return _table(f"{INDICES[name].title}{direction}", cells | _known(ranking))


def _known(ranking: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns of what was measured with known labels."""
    return {
        measure.upper(): [f"{value:.2f}" for value in ranking[measure]]
        for measure in KNOWN_MEASURES
        if measure in ranking
    }


def _table(title: str, cells: dict[str, list[str]]) -> Table:
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
        show_edge=False, pad_edge=False,
    )  # fmt: skip
    for heading in cells:
        if heading in ("run", "strategy"):
            table.add_column(heading, min_width=12, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*map(escape, row))
    return table


def _spaces_sentence(comparison: Comparison, name: str) -> str:
    evaluation = comparison.evaluations[name]
    n_runs, n_spaces = len(comparison.runs), len(comparison.spaces)
    status = pd.Series(evaluation.status_)
    counts = ", ".join(f"{n} {kind}" for kind, n in status.value_counts().items())
    shared = f" for {n_runs} runs" if n_spaces < n_runs else ""
    return f"{n_spaces} space{'s' if n_spaces > 1 else ''}{shared}: {counts}."


def _write(comparison: Comparison, folder: Path) -> None:
    comparison.consensus().to_csv(folder / "consensus.csv")
    for name, evaluation in comparison.evaluations.items():
        comparison.ranking(name).to_csv(folder / f"ranking-{name}.csv")
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
        agreement.rename_axis(["index", "strategy"]).to_csv(folder / "agreement.csv")
    write_text(folder / "compare.json", json.dumps(_facts(comparison), indent=1) + "\n")
