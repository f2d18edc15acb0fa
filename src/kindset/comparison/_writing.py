"""A comparison as a document for machines, and as a folder of tables and figures."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kindset._files import write_csv, write_text
from kindset._plotting import save_figure
from kindset.comparison._verdict import Verdict
from kindset.evaluation import (
    AssignmentDisplay,
    CorrelationGraphDisplay,
    RankingDisplay,
    ScoreHeatmapDisplay,
    SpacesDisplay,
)

if TYPE_CHECKING:
    from kindset.comparison._comparison import Comparison


def document_of(comparison: "Comparison") -> dict[str, Any]:
    """Return everything about a comparison as plain values."""
    agreement = comparison.agreement()
    document: dict[str, Any] = {
        "rankings": {name: _records(comparison.ranking(name)) for name in comparison.evaluations},
        "spaces": {name: _spaces(comparison, name) for name in comparison.evaluations},
        "consensus": _records(comparison.consensus()) if comparison.evaluations else [],
        "verdict": _verdict(comparison.verdict),
        "best": comparison.leader().name,
        "sentence": comparison.sentence,
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


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "level": verdict.level,
        "strength": verdict.strength,
        "sentence": verdict.sentence,
        "advice": verdict.advice,
        "why": verdict.why,
        "p_value": None if verdict.test is None else verdict.test.p_value,
        "runs": _records(verdict.table),
        "spaces": _records(verdict.spaces),
    }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    plain = table.reset_index().astype(object)
    records: list[dict[str, Any]] = plain.where(plain.notna(), None).to_dict("records")  # type: ignore[assignment]
    return records


def _spaces(comparison: "Comparison", name: str) -> list[dict[str, Any]]:
    found = comparison.evaluations[name]
    rows = zip(found.space_names_, found.status_, found.weights_, found.dip_pvalues_, strict=True)
    return [
        {"space": space, "status": str(status), "weight": float(weight), "dip_pvalue": float(p)}
        for space, status, weight, p in rows
    ]


def _finite(row: dict[Any, Any]) -> dict[str, float | None]:
    return {str(name): None if np.isnan(value) else float(value) for name, value in row.items()}


def write_comparison(comparison: "Comparison", folder: Path) -> None:
    """Fill a folder with tables, figures and a JSON document."""
    write_csv(folder / "verdict.csv", comparison.verdict.table.reset_index())
    if comparison.evaluations:
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
    for evaluation in list(comparison.evaluations.values())[:1]:
        spaces = SpacesDisplay.from_evaluation(evaluation, comparison.spaces, labels)
        save_figure(spaces.plot().figure_, folder / "spaces")
    if comparison.truth is not None:
        display = AssignmentDisplay.from_predictions(comparison.truth, labels)
        save_figure(display.plot().figure_, folder / "assignment")
    agreement = comparison.agreement()
    if agreement is not None:
        named = agreement.rename_axis(["index", "strategy"]).reset_index()
        write_csv(folder / "agreement.csv", named)
    write_text(folder / "compare.json", json.dumps(document_of(comparison), indent=1) + "\n")
