"""Tables of a comparison on the terminal."""

from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kindset.cli._terminal import say, shown
from kindset.comparison import KNOWN_MEASURES, Comparison, is_varied
from kindset.evaluation import COVERED, INDICES


def show_notes(comparison: Comparison) -> None:
    """Print what must be known about a ranking, on standard error."""
    for note in comparison.notes:
        say(note, mark="note:", style="yellow")


def show_comparison(comparison: Comparison) -> None:
    """Print who leads and why, the ranking by each index, and the agreement with known labels."""
    console = Console()
    show_verdict(comparison)
    console.print(f"{_plain(comparison.verdict.why)}\n")
    console.print(_legend(comparison), style="dim")
    for name in comparison.evaluations:
        console.print(_ranking_table(comparison, name))
        console.print(f"{_spaces_sentence(comparison, name)}\n", highlight=False)
    if len(comparison.evaluations) > 1:
        console.print(_consensus_table(comparison))
        drawn = any(evaluation.n_bootstrap for evaluation in comparison.evaluations.values())
        more = ", and points resampled" if drawn else ""
        console.print(f"range: places with an index or a space left out{more}.\n", style="dim")
    agreement = comparison.agreement()
    if agreement is not None:
        columns = {str(name): [f"{v:.2f}" for v in agreement[name]] for name in agreement}
        cells = {"strategy": [f"{index}, {how}" for index, how in agreement.index], **columns}
        console.print(_table("Rank correlation with the known labels (Spearman)", cells))


def show_verdict(comparison: Comparison) -> None:
    """Print the verdict about each run, and the sentences that sum it up."""
    console = Console()
    title = "Verdict" if comparison.by_verdict else "Verdict (a second opinion)"
    console.print(_table(title, _verdict_cells(comparison)))
    console.print(
        "list: on the shortlist; agree: mean adjusted Rand index with the other runs"
        "; family: near-copies of each other share a number.\n",
        style="dim",
    )
    console.print(_plain(comparison.sentence), style="bold")
    if comparison.by_verdict and comparison.verdict.advice:
        console.print(_plain(comparison.verdict.advice))
    console.print("")


def _verdict_cells(comparison: Comparison) -> dict[str, list[str]]:
    verdict = comparison.verdict.table
    details = comparison.ranking(next(iter(comparison.evaluations))).loc[verdict.index]
    cells = {
        "place": [f"{place:g}" for place in verdict["place"]],
        "run": [str(run) for run in verdict.index],
        "K": [str(k) for k in verdict["clusters"]],
        **_coverage(details),
        "score": [f"{score:.3f}" for score in verdict["score"]],
        "list": ["*" if listed else "" for listed in verdict["shortlist"]],
        "agree": [f"{value:.2f}" for value in verdict["agreement"]],
        "family": [str(family) for family in verdict["family"]],
    }
    if verdict["reproducibility"].notna().any():
        cells["again"] = [
            "–" if np.isnan(value) else f"{value:.2f}" for value in verdict["reproducibility"]
        ]
    return cells | _known(details)


def _plain(sentence: str) -> str:
    """Return a sentence as it is: names in it are no markup and hold no control characters."""
    return escape(shown(sentence))


def _consensus_table(comparison: Comparison) -> Table:
    """Show the ranks by several indices, the place that their mean gives, and known labels."""
    consensus = comparison.consensus()
    details = comparison.ranking(next(iter(comparison.evaluations))).loc[consensus.index]
    cells = {
        "place": [f"{place:g}" for place in consensus["place"]],
        "run": [str(run) for run in consensus.index],
        "K": [str(k) for k in details["clusters"]],
        **_coverage(details),
    }
    for name in comparison.evaluations:
        cells[INDICES[name].short] = [f"{rank:g}" for rank in consensus[name]]
    cells["mean"] = [f"{rank:.3g}" for rank in consensus["mean_rank"]]
    bounds = zip(consensus["place_low"], consensus["place_high"], strict=True)
    cells["range"] = [f"{low:g}–{high:g}" for low, high in bounds]
    return _table("Rank by each index, and place by their mean", cells | _known(details))


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
        **_coverage(ranking),
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


def _coverage(ranking: pd.DataFrame) -> dict[str, list[str]]:
    """Return the share of the samples that each run labels, if any run leaves some out."""
    if (ranking["coverage"] == 1).all():
        return {}
    return {"covers": [f"{int(100 * share + 1e-9)}%" for share in ranking["coverage"]]}


def _known(ranking: pd.DataFrame) -> dict[str, list[str]]:
    """Return the columns of what was measured with known labels."""
    return {
        measure.upper(): [_with_covered(row, measure) for _, row in ranking.iterrows()]
        for measure in KNOWN_MEASURES
        if measure in ranking
    }


def _with_covered(row: "pd.Series[Any]", measure: str) -> str:
    """Write a measure on all samples, and in brackets that on the labelled ones if they differ."""
    covered = row.get(f"{measure}{COVERED}")
    beside = f" ({covered:.2f})" if covered is not None and row["coverage"] < 1 else ""
    return f"{row[measure]:.2f}{beside}"


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
        table.add_row(*(escape(shown(cell)) for cell in row))
    return table


def _spaces_sentence(comparison: Comparison, name: str) -> str:
    evaluation = comparison.evaluations[name]
    n_runs, n_spaces = len(comparison.runs), len(comparison.spaces)
    status = pd.Series(evaluation.status_)
    counts = ", ".join(f"{n} {kind}" for kind, n in status.value_counts().items())
    shared = f" for {n_runs} runs" if n_spaces < n_runs else ""
    return f"{n_spaces} space{'s' if n_spaces > 1 else ''}{shared}: {counts}."
