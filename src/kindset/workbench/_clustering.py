"""Clustering of rows of numbers or images: from samples to a run that tells what it found."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset._files import write_text
from kindset.evaluation import adjusted_rand, clustering_accuracy, normalized_mutual_info
from kindset.exceptions import InputError
from kindset.runs import Run, can_store
from kindset.workbench._embeddings import embed, read_embedding
from kindset.workbench._exhibits import Found, describe
from kindset.workbench._methods import METHODS, Setting
from kindset.workbench._samples import Samples
from kindset.workbench._sweep import Job
from kindset.workbench._working import WorkingFolder

TRUTHS = {"ARI": adjusted_rand, "NMI": normalized_mutual_info, "ACC": clustering_accuracy}


@dataclass(frozen=True)
class Clusterer:
    """Makes runs of the same samples; `notes` are cautions on the samples, kept with each run."""

    samples: Samples
    about: str = ""
    n_jobs: int = 1
    progress: bool = True
    command: list[str] | None = None
    notes: tuple[str, ...] = ()

    def check(self, setting: Setting) -> None:
        """Refuse, before any work, what cannot be done."""
        method = METHODS[setting.method]
        n = len(self.samples.X)
        if method.pixels and self.samples.kind != "images":
            raise InputError(
                f"--method {setting.method} clusters images; {self.samples.name} holds rows of "
                f"numbers, of shape {self.samples.X.shape}."
            )
        if method.pixels and setting.embedding is not None:
            raise InputError(f"--embedding: {setting.method} works on the images themselves.")
        if setting.embedding is not None:
            read_embedding(setting.embedding, self.samples.X.reshape(n, -1).shape)
        if setting.k is not None and setting.k > n:
            raise InputError(f"-k {setting.k}: there are only {n} samples.")
        method.build(setting, n_jobs=self.n_jobs, verbose=False)

    def run(self, setting: Setting, work: WorkingFolder) -> Run:
        """Cluster once, or go on with it."""
        method = METHODS[setting.method]
        resumed = work.begun
        start = time.perf_counter()
        X = self.samples.X
        if not method.pixels:
            X = embed(self.samples.rows, setting.embedding, setting.seed)
        embedded = time.perf_counter()
        model = method.build(setting, n_jobs=self.n_jobs, verbose=self.progress, work=work.path)
        with overhear() as warned:
            labels = method.fit(model, X)
        fitted = time.perf_counter()
        found = Found(model, *_largest_first(labels))
        distances = found.distances(X)
        details = replace(
            describe(self.samples, found, distances),
            title=method.title,
            description=self.about,
            source=self.samples.source,
            id_column=str(self.samples.ids.name),
            resumed=resumed,
            interrupted=bool(getattr(model, "interrupted_", False)),
            notes=[*self.notes, *warned],
        )
        return Run(
            labels=found.labels,
            # The space of a method that aligns images is that of the distances after alignment.
            space=distances if method.pixels else X,
            name=setting.name,
            method=setting.method,
            parameters=setting.as_parameters(),
            seed=setting.seed,
            data=self.samples.data,
            timings={"embedding": embedded - start, "fit": fitted - embedded},
            metrics=self._metrics(found),
            command=self.command or ["kindset", *sys.argv[1:]],
            details=details.to_dict(),
            exhibits=details.arrays(),
            model=model if setting.embedding is None and can_store(model) else None,
        )

    def job(self, setting: Setting) -> Job:
        """Return the run of a setting as a part of a sweep."""

        def make(folder: Path, work: WorkingFolder) -> Run:
            with warnings.catch_warnings():
                # That the best so far is kept: not in a sweep, which keeps whole runs.
                warnings.filterwarnings("ignore", message="Interrupted")
                run = self.run(setting, work)
            if run.details["interrupted"]:
                raise KeyboardInterrupt
            write_samples(run, self.samples, folder)
            return run

        wanted = {
            "method": setting.method,
            "parameters": setting.as_parameters(),
            "seed": setting.seed,
        }
        source, how = self.samples.source, f"{self.n_jobs} threads"
        return Job(setting.folder, wanted, self.samples.data, source, make, how)

    def _metrics(self, found: Found) -> dict[str, float]:
        metrics = {}
        for attribute, name in (("inertia_", "loss"), ("lower_bound_", "log_likelihood")):
            if hasattr(found.model, attribute):
                metrics[name] = float(getattr(found.model, attribute))
        if self.samples.truth is not None:
            for name, measure in TRUTHS.items():
                metrics[name] = measure(self.samples.truth, found.labels)
        return metrics


@contextmanager
def overhear() -> Iterator[list[str]]:
    """Collect the sentences that a user is warned with, and pass the warnings on.

    That the work was interrupted is left out: a run tells it in a place of its own.
    """
    heard: list[str] = []
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield heard
    finally:
        said = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        heard += dict.fromkeys(words for words in said if not words.startswith("Interrupted"))
        for w in caught:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def _largest_first(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give clusters numbers by size; return also which of the model's clusters each one is."""
    sizes = np.bincount(labels)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    number = np.full(len(sizes), -1)
    number[order] = np.arange(len(order))
    return number[labels], order


def write_samples(run: Run, samples: Samples, folder: Path) -> None:
    """Fill a folder with the run, its labels as a table, and a summary."""
    run.write(folder)
    table = pd.DataFrame({str(samples.ids.name): samples.ids.to_numpy(), "cluster": run.labels + 1})
    table.to_csv(folder / "clusters.csv", index=False)
    write_text(folder / "summary.txt", summarise(run, samples) + "\n")


def summarise(run: Run, samples: Samples) -> str:
    """Describe a run in words."""
    shape = " x ".join(map(str, samples.X.shape[1:]))
    what = "images" if samples.kind == "images" else "columns"
    of = f"of {shape} pixels" if samples.kind == "images" else f"of {shape} {what}"
    lines = [
        f"{len(samples.X):,} {'images' if samples.kind == 'images' else 'rows'} {of}, "
        f"{run.n_clusters} cluster{'s' if run.n_clusters > 1 else ''} by "
        f"{run.details['title']} ({run.name}), {sum(run.timings.values()):.1f} s"
        + (" since it was taken up again" if run.details["resumed"] else ""),
    ]
    if run.details["interrupted"]:
        lines.append("Interrupted: this is the best that was found until then.")
    known = ", ".join(f"{key} {run.metrics[key]:.3f}" for key in TRUTHS if key in run.metrics)
    if known:
        lines.append(f"Against the known labels: {known}")
    sizes = np.bincount(run.labels[run.labels >= 0])
    lines.append("")
    for k, size in enumerate(sizes):
        lines.append(f"Cluster {k + 1}: {size:,} ({size / len(samples.X):.0%}){_words(run, k)}")
    return "\n".join(lines)


def _words(run: Run, k: int) -> str:
    profiles = run.details.get("features", {}).get("clusters", [])
    if k >= len(profiles):
        return ""
    told = [f"{'high' if t['z'] > 0 else 'low'} {t['name']}" for t in profiles[k]["top"][:3]]
    return f": {', '.join(told)}" if told else ""
