"""What runs found, as plain values for machines."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from kindset.runs import Run


def facts_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return what came out, for machines: of one survey run its segments, else a list of runs."""
    if len(runs) == 1 and runs[0].about.kind == "survey":
        return _survey_facts(runs[0])
    return {"runs": [_run_facts(run) for run in runs]}


def _run_facts(run: Run) -> dict[str, Any]:
    return {
        "name": run.name,
        "method": run.method,
        "parameters": run.parameters,
        "seed": run.seed,
        "n_clusters": run.n_clusters,
        "sizes": [int((run.labels == label).sum()) for label in range(run.n_clusters)],
        "coverage": run.coverage,
        "seconds": sum(run.timings.values()),
        **run.metrics,
    }


def _survey_facts(run: Run) -> dict[str, Any]:
    survey = run.about.survey
    assert survey is not None
    n_segments = len(survey.segments)
    return {
        "method": run.method,
        "seed": run.seed,
        "n_rows": len(run),
        "questions": [question.name for question in survey.questions],
        "n_segments": n_segments,
        "found_structure": None if survey.selection is None else n_segments > 1,
        "selection": None if survey.selection is None else survey.selection.to_dict(),
        "weights": [float(weight) for weight in run.model.weights_],
        "sizes": [segment.n_rows for segment in survey.segments],
        **run.metrics,
        "converged": run.model.converged_,
        "interrupted": run.about.interrupted,
    }


def assigned_facts(table: pd.DataFrame, *, rows: bool) -> dict[str, Any]:
    """Return how many samples `assign` put into each group, and with `rows` every one of them."""
    group = "segment" if "segment" in table else "cluster"
    sizes = table[group].value_counts().sort_index()
    facts: dict[str, Any] = {
        "n_rows": len(table),
        "sizes": {str(number): int(size) for number, size in sizes.items()},
    }
    return {**facts, "rows": table.to_dict("records")} if rows else facts
