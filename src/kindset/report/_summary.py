"""The first step of a report: from runs to what there is to say about them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset.comparison import Comparison, compare_runs
from kindset.evaluation import INDICES, adjusted_rand
from kindset.evaluation._labels import Noise
from kindset.evaluation._spaces import Metric
from kindset.exceptions import InputError
from kindset.report._checked import known_scalars, listed, printable, text
from kindset.report._known import doubts
from kindset.report._provenance import Provenance, read_provenance
from kindset.report._sections import read_parts
from kindset.runs import Run, distinct_names

KNOWN = ("NMI", "ACC", "ARI")
"""Measures against known labels, as runs and tables call them."""

_NUMBER = (
    "The runs have different numbers of groups, and no ranking chooses a number reliably: take the "
    "one that serves your purpose, and compare runs that have it."
)

# How a reader of the page would say what the library's warnings say.
_IN_WORDS = {"partitions": "clusterings", "multimodal": "with clearly separate heaps of points"}


@dataclass(frozen=True)
class RunSummary:
    """A run and what it has to show: `parts` by section, `sizes` by group, `known` by measure."""

    run: Run
    title: str
    parts: dict[str, Any]
    sizes: list[int]
    n_noise: int
    known: dict[str, float]
    provenance: Provenance


@dataclass(frozen=True)
class Stability:
    """How far runs agree that differ in nothing but their seed: `name` is what they share."""

    name: str
    n_clusters: int
    runs: tuple[str, ...]
    agreement: float
    lowest: float


@dataclass
class DataSummary:
    """Everything about the runs on one data set, the best run first.

    `by_likelihood` says that the smallest ICL decided which run is best, not the comparison.
    """

    name: str
    about: str
    size: str
    runs: list[RunSummary]
    comparison: Comparison | None = None
    by_likelihood: bool = False
    stability: list[Stability] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def lead(self) -> RunSummary:
        """The run that is shown in full."""
        return self.runs[0]

    @property
    def known(self) -> list[str]:
        """Measures against known labels that at least one run has."""
        return [name for name in KNOWN if any(name in run.known for run in self.runs)]

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
    metric: Metric = "euclidean"
    noise: Noise = "drop"
    truth: NDArray[Any] | None = None
    n_bootstrap: int = 0
    n_jobs: int | None = None
    verbose: bool = False


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
    groups = group_by_data(_distinct(runs))
    truth = ranking.truth
    if truth is not None and not any(len(truth) == len(group[0]) for group in groups):
        sizes = " or ".join(str(len(group[0])) for group in groups)
        raise InputError(f"there are {len(truth)} known labels for {sizes} samples.")
    return [_summarise_data(group, number, ranking) for number, group in enumerate(groups)]


def group_by_data(runs: Sequence[Run]) -> list[list[Run]]:
    """Put runs on the same data together.

    A run without a fingerprint goes with the only data set of its length, if there is one; those
    that are left over go together by length.
    """
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        key = ("", len(run)) if run.data is None else (repr(run.data), len(run))
        groups.setdefault(key, []).append(run)
    for key in [key for key in groups if key[0] == ""]:
        homes = [other for other in groups if other[0] and other[1] == key[1]]
        if len(homes) == 1:
            groups[homes[0]].extend(groups.pop(key))
    return list(groups.values())


def _distinct(runs: Sequence[Run]) -> list[Run]:
    """Give every run a name in words of its own, and details that can be asked for."""
    found = [
        replace(
            run,
            name=printable(str(run.name)).strip() or "run",
            details=run.details if isinstance(run.details, dict) else {},
            exhibits=run.exhibits if isinstance(run.exhibits, dict) else {},
        )
        for run in runs
    ]
    names = distinct_names(found)
    return [replace(run, name=name) for run, name in zip(found, names, strict=True)]


def _summarise_data(runs: list[Run], number: int, ranking: Ranking) -> DataSummary:
    comparison, notes = _compare(runs, ranking)
    summaries = []
    ordered = _in_order(runs, comparison)
    notes.extend(_own_notes(ordered))
    for run in ordered:
        parts, left_out = read_parts(run)
        notes.extend(left_out)
        if run.details.get("interrupted") is True:
            notes.append(f"“{run.name}” was interrupted: it is the best that was found until then.")
        summaries.append(_summarise_run(run, parts, comparison))
    notes.extend(_strangers(runs))
    if comparison is not None:
        if not _criteria(runs) and len({run.n_clusters for run in runs}) > 1:
            notes.insert(0, _NUMBER)
        notes[:0] = _doubts(summaries, "the order by ICL" if _criteria(runs) else "the ranking")
    return DataSummary(
        name=_told(runs, "data") or f"Data set {number + 1}",
        about=_told(runs, "about"),
        size=_size(runs),
        runs=summaries,
        comparison=comparison,
        by_likelihood=bool(_criteria(runs)),
        stability=_stability(runs),
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
    try:
        return list(dict.fromkeys(listed(run.details.get("notes") or [], "notes", text)))
    except InputError as error:
        return [f"Its cautions are left out, because {error}"]


def _few(names: Iterable[str]) -> str:
    """Write up to three names, and how many more there are."""
    known = list(names)
    return ", ".join(known[:3]) + (f" and {len(known) - 3} more" if len(known) > 3 else "")


def _summarise_run(run: Run, parts: dict[str, Any], comparison: Comparison | None) -> RunSummary:
    provenance = read_provenance(run)
    known = {name: provenance.measured[name] for name in KNOWN if name in provenance.measured}
    if comparison is not None and comparison.truth is not None:
        row: Mapping[Any, Any] = comparison.known.loc[run.name].to_dict()
        known = {name: float(row[name.lower()]) for name in KNOWN}
    title = run.details.get("title")
    return RunSummary(
        run=run,
        title=title if isinstance(title, str) and title else str(run.method),
        parts=parts,
        sizes=np.unique(run.labels[run.labels != -1], return_counts=True)[1].tolist(),
        n_noise=int((run.labels == -1).sum()),
        known=known,
        provenance=provenance,
    )


def _compare(runs: list[Run], ranking: Ranking) -> tuple[Comparison | None, list[str]]:
    """Rank the runs if they can be ranked; return also what must be known about the ranking."""
    if len(runs) < 2:
        return None, []
    truth = ranking.truth
    try:
        comparison = compare_runs(
            runs,
            ranking.indices,
            truth=truth if truth is not None and len(truth) == len(runs[0]) else None,
            metric=ranking.metric,
            noise=ranking.noise,
            n_bootstrap=ranking.n_bootstrap,
            n_jobs=ranking.n_jobs,
            verbose=ranking.verbose,
        )
    except InputError as error:
        return None, [f"The runs are not ranked: {error}"]
    return comparison, [in_words(note) for note in comparison.notes]


def in_words(sentence: str) -> str:
    """Say a warning of the library without its technical terms."""
    for name, words in _IN_WORDS.items():
        sentence = sentence.replace(name, words)
    return sentence


def _in_order(runs: list[Run], comparison: Comparison | None) -> list[Run]:
    """Return the runs, the best first.

    Mixtures of the same answers have a likelihood, which says more about them than any index.
    """
    criteria = _criteria(runs)
    if criteria:
        return sorted(runs, key=lambda run: criteria[run.name])
    if comparison is None:
        return runs
    by_name = {run.name: run for run in runs}
    return [by_name[name] for name in comparison.consensus().index]


def _criteria(runs: Sequence[Run]) -> dict[str, float]:
    """Return the ICL of every run, nothing if they are not all mixtures for surveys."""
    found = {run.name: known_scalars(run.metrics).get("icl") for run in runs}
    survey = all(run.details.get("kind") == "survey" for run in runs)
    values = {name: icl for name, icl in found.items() if icl is not None}
    return values if survey and len(values) == len(runs) > 1 else {}


def _told(runs: Sequence[Run], key: str) -> str:
    """Return the first words that a run tells under a key."""
    told = (run.details.get(key) for run in runs)
    return next((words for words in told if isinstance(words, str) and words), "")


_UNITS = {
    "survey": ("respondents", "questions"),
    "images": ("images", "pixels"),
    "features": ("rows", "features"),
}


def _size(runs: Sequence[Run]) -> str:
    rows, columns = _UNITS.get(_told(runs, "kind"), ("samples", "columns"))
    n = f"{len(runs[0]):,} {rows}"
    shape = next((run.data.shape for run in runs if run.data is not None), ())
    if not all(isinstance(size, int) for size in shape) or len(shape) < 2:
        return n
    if len(shape) == 2:
        return f"{n}, {shape[1]:,} {columns}"
    return f"{n} of {' × '.join(str(size) for size in shape[1:3])} pixels"


def _strangers(runs: Sequence[Run]) -> list[str]:
    """Name the runs that are only taken to be on the same data."""
    unknown = [run.name for run in runs if run.data is None]
    if not unknown or len(runs) == 1:
        return []
    return [
        f"No record tells the data of {_few(unknown)}; that they are the same is taken from the "
        "number."
    ]


def _stability(runs: Sequence[Run]) -> list[Stability]:
    """Compare runs with the same method, parameters and number of groups, but other seeds."""
    alike: dict[Any, list[Run]] = defaultdict(list)
    for run in runs:
        parameters = run.parameters if isinstance(run.parameters, dict) else {}
        fixed = {k: v for k, v in parameters.items() if k not in ("seed", "random_state")}
        alike[str(run.method), run.n_clusters, repr(sorted(fixed.items(), key=repr))].append(run)
    found = []
    for (method, k, _), members in alike.items():
        if len({str(run.seed) for run in members}) < 2:
            continue
        pairs = [adjusted_rand(a.labels, b.labels) for a, b in combinations(members[:12], 2)]
        shared = {run.name.removesuffix(f" s{run.seed}") for run in members}
        name = shared.pop() if len(shared) == 1 else method
        names = tuple(run.name for run in members)
        found.append(Stability(name, k, names, float(np.mean(pairs)), float(np.min(pairs))))
    return sorted(found, key=lambda s: -s.agreement)


def standing_of(comparison: Comparison) -> "pd.Series[float]":
    """Return one number for each run, larger for the better, and what it is called."""
    if len(comparison.evaluations) == 1:
        (index,) = comparison.evaluations
        return comparison.ranking(index)["ace"].rename(f"{INDICES[index].title} score")
    behind = len(comparison.runs) - comparison.consensus()["mean_rank"]
    return behind.rename("runs ranked behind it, on average")


def rank_table(comparison: Comparison, index: str) -> pd.DataFrame:
    """Return the ranking by one index, best run first, with the other strategies as ranks."""
    table = comparison.ranking(index)
    for strategy in ("rank_average", "pooled", "paired"):
        if strategy in table:
            table[strategy] = table[strategy].rank(ascending=False)
    return table
