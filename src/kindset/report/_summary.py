"""The first step of a report: from runs to what there is to say about them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset._checked import printable
from kindset.comparison import (
    DEFAULT_NOISE,
    KNOWN_MEASURES,
    LOW_COVERAGE,
    Comparison,
    Reproduced,
    compare_runs,
    group_runs,
    known_measures,
    reproduced,
)
from kindset.evaluation import Metric, Noise
from kindset.exceptions import InputError
from kindset.report._known import doubts
from kindset.report._provenance import Provenance, read_provenance
from kindset.report._sections import show_parts
from kindset.runs import Run, distinct_names

KNOWN = tuple(name.upper() for name in KNOWN_MEASURES)
"""Measures against known labels, as the page and the metrics of runs call them."""

_NUMBER = (
    "The runs have different numbers of groups, and no ranking chooses a number reliably. Compare "
    "also the runs that have the number you need."
)

# How a reader of the page would say what the library's warnings say.
_IN_WORDS = {"partitions": "clusterings", "multimodal": "with clearly separate heaps of points"}


@dataclass(frozen=True)
class RunSummary:
    """A run and what it has to show: `parts` by section, `sizes` by group, `known` by measure.

    `known` counts all samples. `known_covered` counts those that are not left out as noise, and is
    empty if that makes no difference or was not measured.
    """

    run: Run
    title: str
    parts: dict[str, Any]
    sizes: list[int]
    n_noise: int
    known: dict[str, float]
    known_covered: dict[str, float]
    provenance: Provenance


@dataclass
class DataSummary:
    """Everything about the runs on one data set, the best run first."""

    name: str
    about: str
    size: str
    runs: list[RunSummary]
    comparison: Comparison | None = None
    stability: list[Reproduced] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def lead(self) -> RunSummary:
        """The run that is shown in full."""
        return self.runs[0]

    @property
    def known(self) -> list[str]:
        """Measures against known labels that at least one run has."""
        return [name for name in KNOWN if any(name in run.known for run in self.runs)]

    @property
    def by_likelihood(self) -> bool:
        """Whether the smallest ICL decided which run is best."""
        return self.comparison is not None and self.comparison.by_likelihood

    @property
    def has_noise(self) -> bool:
        """Whether some run leaves samples out as noise."""
        return any(run.n_noise for run in self.runs)

    def named(self, name: str) -> RunSummary:
        """Return the run of that name."""
        return next(run for run in self.runs if run.run.name == name)

    def measured(self, measure: str) -> list[RunSummary]:
        """Return the runs that have that measure, the best run first."""
        return [run for run in self.runs if measure in run.known]


@dataclass(frozen=True)
class Ranking:
    """How to rank the runs: the parameters of `write_report` that a comparison takes."""

    indices: Sequence[str] | None = None
    judge: str = "auto"
    raw: NDArray[Any] | None = None
    metric: Metric = "euclidean"
    noise: Noise = DEFAULT_NOISE
    truth: NDArray[Any] | None = None
    n_bootstrap: int = 0
    same_rows: bool = False
    n_jobs: int | None = None
    verbose: bool = False

    def truth_of(self, runs: Sequence[Run]) -> NDArray[Any] | None:
        """Return the known labels if there are as many as samples of these runs."""
        return _fitting(self.truth, runs)

    def raw_of(self, runs: Sequence[Run]) -> NDArray[Any] | None:
        """Return the raw data if they have as many samples as these runs."""
        return _fitting(self.raw, runs)


def _fitting(rows: NDArray[Any] | None, runs: Sequence[Run]) -> NDArray[Any] | None:
    return rows if rows is not None and len(rows) == len(runs[0]) else None


def summarise(runs: Sequence[Run], ranking: Ranking) -> list[DataSummary]:
    """Group runs by their data, rank them, and read what each has to show.

    Parameters
    ----------
    runs : sequence of Run
        At least one.
    ranking : Ranking

    Returns
    -------
    summaries : list of DataSummary
        In the order in which the data sets first occur.
    """
    groups = group_runs(_distinct(runs), same_rows=ranking.same_rows)
    for rows, what in ((ranking.truth, "known labels"), (ranking.raw, "rows of raw data")):
        if rows is not None and not any(len(rows) == len(group[0]) for group in groups):
            sizes = " or ".join(str(len(group[0])) for group in groups)
            raise InputError(f"there are {len(rows)} {what} for {sizes} samples.")
    return [_summarise_data(group, number, ranking) for number, group in enumerate(groups)]


def _distinct(runs: Sequence[Run]) -> list[Run]:
    """Give every run a name of its own that can be printed."""
    found = [replace(run, name=printable(str(run.name)).strip() or "run") for run in runs]
    names = distinct_names(found)
    return [replace(run, name=name) for run, name in zip(found, names, strict=True)]


def _summarise_data(runs: list[Run], number: int, ranking: Ranking) -> DataSummary:
    comparison, notes = _compare(runs, ranking)
    ordered = runs if comparison is None else comparison.order()
    notes.extend(_own_notes(ordered))
    summaries = []
    for run in ordered:
        parts, left_out = show_parts(run)
        notes.extend(left_out)
        if run.about.interrupted:
            notes.append(f"“{run.name}” was interrupted: it is the best that was found until then.")
        summaries.append(_summarise_run(run, parts, comparison, ranking.truth_of(runs)))
    if comparison is not None:
        by_likelihood = comparison.by_likelihood
        if not by_likelihood and len({run.n_clusters for run in runs}) > 1:
            notes.insert(0, _NUMBER)
        notes[:0] = _doubts(summaries, "the order by ICL" if by_likelihood else "the ranking")
    return DataSummary(
        name=next((run.about.data for run in runs if run.about.data), f"Data set {number + 1}"),
        about=next((run.about.description for run in runs if run.about.description), ""),
        size=_size(runs),
        runs=summaries,
        comparison=comparison,
        stability=reproduced(runs),
        notes=notes,
    )


def _doubts(ranked: Sequence[RunSummary], ranking: str) -> list[str]:
    measure = next((name for name in KNOWN if any(name in run.known for run in ranked)), "")
    known = {run.run.name: run.known[measure] for run in ranked if measure in run.known}
    return doubts(list(known), list(known.values()), measure, ranking)


def _own_notes(runs: Sequence[Run]) -> list[str]:
    """Return the cautions that runs carry, each once, with the names of those it is about."""
    about: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for note in _notes_of(run):
            about[note].append(run.name)
    return [
        note if len(names) == len(runs) else f"{_few(f'“{name}”' for name in names)}: {note}"
        for note, names in about.items()
    ]


def _notes_of(run: Run) -> list[str]:
    if "notes" in run.about.damaged:
        return [f"Its cautions are left out, because {run.about.damaged['notes']}"]
    return list(dict.fromkeys(run.about.notes))


def _few(names: Iterable[str]) -> str:
    """Write up to three names, and how many more there are."""
    known = list(names)
    return ", ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")


def _summarise_run(
    run: Run, parts: dict[str, Any], comparison: Comparison | None, truth: NDArray[Any] | None
) -> RunSummary:
    provenance = read_provenance(run)
    known, covered = _known(run, provenance, comparison, truth)
    return RunSummary(
        run=run,
        title=run.about.title or str(run.method),
        parts=parts,
        sizes=np.unique(run.labels[run.labels != -1], return_counts=True)[1].tolist(),
        n_noise=int((run.labels == -1).sum()),
        known=known,
        known_covered=covered,
        provenance=provenance,
    )


def _known(
    run: Run, provenance: Provenance, comparison: Comparison | None, truth: NDArray[Any] | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the agreement with known labels: on all samples, and on those in a group."""
    if truth is None:
        found = provenance.measured
        return {name: found[name] for name in KNOWN if name in found}, {}
    if comparison is None:
        measured = known_measures(truth, run.labels)
    else:
        row: Any = comparison.known.loc[run.name]
        measured = {name: float(row[name]) for name in row.index}
    covered = {name.upper(): measured[f"{name}_covered"] for name in KNOWN_MEASURES}
    known = {name.upper(): measured[name] for name in KNOWN_MEASURES}
    return known, covered if 0 < run.coverage < 1 else {}


def _compare(runs: list[Run], ranking: Ranking) -> tuple[Comparison | None, list[str]]:
    """Rank the runs if they can be ranked; return also what must be known about the ranking."""
    if len(runs) < 2:
        return None, _low_coverage(runs)
    try:
        comparison = compare_runs(
            runs,
            ranking.indices,
            truth=ranking.truth_of(runs),
            raw=ranking.raw_of(runs),
            judge=ranking.judge,
            metric=ranking.metric,
            noise=ranking.noise,
            n_bootstrap=ranking.n_bootstrap,
            same_rows=ranking.same_rows,
            n_jobs=ranking.n_jobs,
            verbose=ranking.verbose,
        )
    except InputError as error:
        return None, [f"The runs are not ranked: {error}", *_low_coverage(runs)]
    return comparison, [in_words(note) for note in comparison.notes]


def _low_coverage(runs: Sequence[Run]) -> list[str]:
    """Name runs that leave out many samples, where no comparison does."""
    return [
        f"“{run.name}” leaves out {1 - run.coverage:.0%} of the samples as noise."
        for run in runs
        if run.coverage < LOW_COVERAGE
    ]


def in_words(sentence: str) -> str:
    """Say a warning of the library without its technical terms."""
    for name, words in _IN_WORDS.items():
        sentence = sentence.replace(name, words)
    return sentence


_UNITS = {
    "survey": ("respondents", "questions"),
    "images": ("images", "pixels"),
    "features": ("rows", "features"),
}


def _size(runs: Sequence[Run]) -> str:
    kind = next((run.about.kind for run in runs if run.about.kind), "")
    rows, columns = _UNITS.get(kind, ("samples", "columns"))
    n = f"{len(runs[0]):,} {rows}"
    shape = next((run.data.shape for run in runs if run.data is not None), ())
    if not all(isinstance(size, int) for size in shape) or len(shape) < 2:
        return n
    if len(shape) == 2:
        return f"{n}, {shape[1]:,} {columns}"
    return f"{n} of {' × '.join(str(size) for size in shape[1:3])} pixels"


_STANDING = {
    "score": "score of the verdict",
    "ICL": "−ICL",
    "mean rank": "runs ranked behind it, on average",
}


def standing_of(comparison: Comparison) -> "pd.Series[float]":
    """Return one number for each run, larger for the better, and what it is called."""
    return comparison.judge.scores.rename(_STANDING[comparison.judge.heading])


def rank_table(comparison: Comparison, index: str) -> pd.DataFrame:
    """Return the ranking by one index, best run first, with the other strategies as ranks."""
    table = comparison.ranking(index)
    for strategy in ("rank_average", "pooled", "paired"):
        if strategy in table:
            table[strategy] = table[strategy].rank(ascending=False)
    return table
