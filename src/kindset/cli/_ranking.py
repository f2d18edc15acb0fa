"""Tables of a comparison on the terminal."""

from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kindset.cli._terminal import say, shown
from kindset.comparison import KNOWN_MEASURES, Comparison, is_varied
from kindset.evaluation import COVERED, INDICES

Cells = dict[str, list[str]]  # the columns of a table by their headings


def show_notes(comparison: Comparison) -> None:
    """Print what must be known about a ranking, on standard error."""
    for note in comparison.notes:
        say(note, mark="note:", style="yellow")


def show_comparison(comparison: Comparison) -> None:
    """Print who leads and why, the ranking by each index, and the agreement with known labels."""
    console = Console()
    show_verdict(comparison)
    console.print(f"{_plain(comparison.verdict.why)}\n")
    if comparison.evaluations:
        console.print(_legend(comparison), style="dim")
    for name in comparison.evaluations:
        _show_table(console, *_ranking_cells(comparison, name))
        console.print(f"{_spaces_sentence(comparison, name)}\n", highlight=False)
    if len(comparison.evaluations) > 1:
        _show_table(console, *_consensus_cells(comparison))
        drawn = any(evaluation.n_bootstrap for evaluation in comparison.evaluations.values())
        more = ", and points resampled" if drawn else ""
        console.print(f"range: places with an index or a space left out{more}.\n", style="dim")
    agreement = comparison.agreement()
    if agreement is not None:
        columns = {str(name): [_number(v) for v in agreement[name]] for name in agreement}
        cells = {"strategy": [f"{index}, {how}" for index, how in agreement.index], **columns}
        _show_table(console, "Rank correlation with the known labels (Spearman)", cells)


def show_verdict(comparison: Comparison) -> None:
    """Print the verdict about each run, and the sentences that sum it up."""
    console = Console()
    title = "Verdict" if comparison.by_verdict else "Verdict (a second opinion)"
    if not comparison.by_verdict:
        decided = comparison.summary()
        shares = [f"{value:,.6g}" for value in decided[comparison.judge.heading]]
        cells = {"run": [*map(str, decided.index)], comparison.judge.heading: shares,
                 "K": [*map(str, decided["clusters"])], **_known(decided)}  # fmt: skip
        _show_table(console, f"Ranking by {comparison.judge.heading}, which decides", cells)
        console.print("")
    headings = _show_table(console, title, _verdict_cells(comparison))
    told = {"agree": "mean adjusted Rand index with the other runs",
            "family": "near-copies of each other share a number"}  # fmt: skip
    more = "".join(f"; {name}: {told[name]}" for name in told if name in headings)
    console.print(f"list: on the shortlist{more}.\n", style="dim")
    console.print(_plain(comparison.sentence), style="bold")
    if comparison.by_verdict and comparison.verdict.advice:
        console.print(_plain(comparison.verdict.advice))
    console.print("")


def _verdict_cells(comparison: Comparison) -> Cells:
    verdict = comparison.verdict.table
    cells = {
        "place": [f"{place:g}" for place in verdict["place"]],
        "run": [str(run) for run in verdict.index],
        "K": [str(k) for k in verdict["clusters"]],
        **_coverage(verdict),
        "score": [_number(score, 3) for score in verdict["score"]],
        "list": ["*" if listed else "" for listed in verdict["shortlist"]],
        "agree": [_number(value) for value in verdict["agreement"]],
        "family": [str(family) for family in verdict["family"]],
    }
    if verdict["reproducibility"].notna().any():
        cells["again"] = [_number(value) for value in verdict["reproducibility"]]
    return cells | _known(verdict.join(comparison.known))


def _number(value: float, digits: int = 2) -> str:
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def _plain(sentence: str) -> str:
    """Return a sentence as it is: names in it are no markup and hold no control characters."""
    return escape(shown(sentence))


def _consensus_cells(comparison: Comparison) -> tuple[str, Cells]:
    """Return a title, the ranks by several indices, and the place that their mean gives."""
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
    return "Rank by each index, and place by their mean", cells | _known(details)


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


def _ranking_cells(comparison: Comparison, name: str) -> tuple[str, Cells]:
    """Return a title and the ranking, with the ranks that simpler strategies give beside it."""
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
    return f"{INDICES[name].title}{direction}", cells | _known(ranking)


def _coverage(ranking: pd.DataFrame) -> Cells:
    """Return the share of the samples that each run labels, if any run leaves some out."""
    if (ranking["coverage"] == 1).all():
        return {}
    return {"covers": [f"{int(100 * share + 1e-9)}%" for share in ranking["coverage"]]}


def _known(ranking: pd.DataFrame) -> Cells:
    """Return the columns of what was measured with known labels."""
    return {
        measure.upper(): [_with_covered(row, measure) for _, row in ranking.iterrows()]
        for measure in KNOWN_MEASURES
        if measure in ranking
    }


def _with_covered(row: "pd.Series[Any]", measure: str) -> str:
    """Write a measure on all samples, and in brackets that on the labelled ones if they differ."""
    covered = row.get(f"{measure}{COVERED}")
    beside = f" ({_number(covered)})" if covered is not None and row["coverage"] < 1 else ""
    return f"{_number(row[measure])}{beside}"


_BRACKETS = "values in brackets"
_FOLDED = {"run": 16, "strategy": 16}  # columns of text, and the letters that a line needs
# What a narrow terminal can do without, the least important first.
_SPARED = ("family", "agree", "again", "wins", "own", "pool", "avg", "raw", "ARI", "ACC", "covers")


def _show_table(console: Console, title: str, cells: Cells) -> Cells:
    """Print a table with the columns that fit; return these."""
    cells, spared = _fitting(cells, console.width)
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
        show_edge=False, pad_edge=False, caption_justify="left",
        caption=f"Too narrow to show: {', '.join(spared)}." if spared else None,
        width=_width(cells) if _width(cells) > console.width else None,
    )  # fmt: skip
    for heading in cells:
        if heading in _FOLDED:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*(escape(shown(cell)) for cell in row))
    console.print(table, crop=False)
    return cells


def _fitting(cells: Cells, width: int) -> tuple[Cells, list[str]]:
    """Leave out what a narrow terminal can do without; return also the names of that."""
    spared = []
    for name in (_BRACKETS, *_SPARED):
        less = {heading: cells[heading] for heading in cells if heading != name}
        if name == _BRACKETS:
            known = less.keys() & {measure.upper() for measure in KNOWN_MEASURES}
            less |= {one: [cell.partition(" (")[0] for cell in cells[one]] for one in known}
        if _width(cells) > width and less != cells:
            cells = less
            spared.append(name)
    return cells, spared


def _width(cells: Cells) -> int:
    """Return the width that a table needs; two blanks stand between its columns."""
    widest = {name: max(cell_len(shown(cell)) for cell in (name, *cells[name])) for name in cells}
    return sum(min(n, _FOLDED.get(name, n)) + 2 for name, n in widest.items()) - 2


def _spaces_sentence(comparison: Comparison, name: str) -> str:
    evaluation = comparison.evaluations[name]
    n_runs, n_spaces = len(comparison.runs), len(comparison.spaces)
    status = pd.Series(evaluation.status_)
    counts = ", ".join(f"{n} {kind}" for kind, n in status.value_counts().items())
    shared = f" for {n_runs} runs" if n_spaces < n_runs else ""
    return f"{n_spaces} space{'s' if n_spaces > 1 else ''}{shared}: {counts}."
