"""Clustering of rows of numbers or images: from a dataset to a run that tells what it found."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kindset.evaluation import KNOWN_MEASURES
from kindset.runs import Run, ScalingDetails, can_store
from kindset.workbench._dataset import Dataset
from kindset.workbench._embeddings import embed
from kindset.workbench._exhibits import Found, describe
from kindset.workbench._notes import collected_notes
from kindset.workbench._outcome import Execution, Outcome, measures_of
from kindset.workbench._scaling import Scaling
from kindset.workbench._settings import Setting


def cluster_samples(
    data: Dataset, setting: Setting, execution: Execution, work: Path | None
) -> Outcome:
    """Cluster rows or images once, or resume from what an earlier start left in `work`."""
    method = setting.described
    resumed = work is not None and work.exists()
    start = time.perf_counter()
    scaling: Scaling | None
    if method.takes == "images":
        X, scaling, notes = data.images, data.pixels, data.notes
    else:
        rows = data.rows(setting.scale)
        X = embed(rows.X, setting.embedding, setting.seed)
        scaling, notes = rows.scaling, (*data.notes, *rows.notes)
    embedded = time.perf_counter()
    model = method.build(
        setting, n_jobs=execution.n_jobs, verbose=execution.verbose, checkpoint_dir=work
    )
    with collected_notes() as warned:
        labels = method.fit(model, X)
    fitted = time.perf_counter()
    found = Found(model, labels)
    points = model.transform(X) if method.embeds else X
    distances = found.distances(points)
    details = replace(
        describe(data, found, distances),
        title=method.title,
        description=data.about,
        source=data.identity,
        id_column=str(data.ids.name),
        scaling=None if scaling is None else ScalingDetails(scaling.mean, scaling.spread),
        resumed=resumed,
        interrupted=bool(getattr(model, "interrupted_", False)),
        notes=[*notes, *warned],
    )
    run = Run(
        labels=labels,
        # The space of a method that aligns images is that of the distances after alignment.
        space=distances if method.takes == "images" and not method.embeds else points,
        name=setting.name,
        method=setting.method,
        parameters=setting.as_parameters(),
        seed=setting.seed,
        data=data.numbers_fingerprint,
        source=data.source,
        timings={"embedding": embedded - start, "fit": fitted - embedded},
        metrics={**_model_metrics(model, len(data)), **measures_of(data, labels)},
        command=execution.command,
        details=details.to_dict(),
        exhibits=details.arrays(),
        model=model if setting.embedding is None and can_store(model) else None,
    )
    table = pd.DataFrame({str(data.ids.name): data.ids.to_numpy(), "cluster": run.labels + 1})
    tables = {"clusters": table}
    if data.unused:
        tables["unused"] = pd.DataFrame(data.unused, columns=["file", "reason"])
    return Outcome(run, summarise_samples(run), tables)


def _model_metrics(model: Any, n: int) -> dict[str, float]:
    """Return what the model was fitted by: its loss, or the log-likelihood of all samples."""
    metrics = {}
    if hasattr(model, "inertia_"):
        metrics["loss"] = float(model.inertia_)
    if hasattr(model, "lower_bound_"):  # a mean over the samples
        metrics["log_likelihood"] = float(model.lower_bound_) * n
    return metrics


def summarise_samples(run: Run) -> str:
    """Describe a run in words."""
    about = run.about
    images = about.kind == "images"
    shape = " x ".join(map(str, run.data.shape[1:])) if run.data is not None else "?"
    lines = [
        f"{len(run):,} {'images' if images else 'rows'} of {shape} "
        f"{'pixels' if images else 'columns'}, "
        f"{run.n_clusters} cluster{'s' if run.n_clusters > 1 else ''} by "
        f"{about.title} ({run.name}), {sum(run.timings.values()):.1f} s"
        + (" since it was taken up again" if about.resumed else ""),
    ]
    if about.interrupted:
        lines.append("Interrupted: this is the best that was found until then.")
    known = [name.upper() for name in KNOWN_MEASURES if name.upper() in run.metrics]
    if known:
        measured = ", ".join(f"{name} {run.metrics[name]:.3f}" for name in known)
        lines.append(f"Against the known labels: {measured}")
    sizes = np.bincount(run.labels[run.labels >= 0])
    if sizes.sum() < len(run):
        left_out = len(run) - int(sizes.sum())
        lines.append(f"Left out as noise: {left_out:,} ({left_out / len(run):.0%})")
    lines.append("")
    for k, size in enumerate(sizes):
        lines.append(f"Cluster {k + 1}: {size:,} ({size / len(run):.0%}){_words(run, k)}")
    return "\n".join(lines)


def _words(run: Run, k: int) -> str:
    features = run.about.features
    if features is None or k >= len(features.clusters):
        return ""
    told = [f"{'high' if t.z > 0 else 'low'} {t.name}" for t in features.clusters[k].top[:3]]
    return f": {', '.join(told)}" if told else ""
