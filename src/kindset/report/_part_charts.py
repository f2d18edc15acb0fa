"""Charts of single runs: how a number of segments was chosen, a loss, accuracy curves."""

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from kindset.report._charts import N_COLOURS, Axis, Line, line_chart
from kindset.report._images import ImageSummary
from kindset.report._merging import MergingSummary
from kindset.report._survey import SurveySummary

N_STEPS = 9
"""Colours v0 to v8 of the style sheet, from the first answer of a scale to the last."""


def selection_chart(survey: SurveySummary) -> Markup:
    """Draw the criteria over the number of segments; the chosen number is marked."""
    names = [n for n in ("icl", "bic", "aic") if all(n in step.criteria for step in survey.path)]
    lines = []
    for name in names:
        values = [step.criteria[name] for step in survey.path]
        marked = values.index(min(values)) if name == survey.criterion else None
        counts = [step.n_components for step in survey.path]
        lines.append(Line(name.upper(), counts, values, marked, quiet=name != survey.criterion))
    label = f"{', '.join(names)} over the number of segments; smaller is better"
    return line_chart(lines, Axis("number of segments", whole=True), Axis("criterion"), label)


def loss_chart(images: ImageSummary) -> Markup:
    """Draw the loss over training."""
    steps = images.loss_steps or range(1, len(images.loss) + 1)
    title = "training step" if images.loss_steps else "measurement"
    line = Line("loss", steps, images.loss)
    return line_chart([line], Axis(title, whole=True), Axis("loss"), "Loss over training")


def curve_chart(merging: MergingSummary) -> Markup:
    """Draw how the accuracy of telling two cells apart falls as features are taken away."""
    lines = [
        Line(name, range(1, len(curve) + 1), curve.tolist())
        for name, curve in zip(merging.curve_names, merging.curves, strict=True)
    ][:N_COLOURS]
    label = f"Accuracy over rounds of unmasking, {len(lines)} pairs"
    return line_chart(lines, Axis("round", whole=True), Axis("accuracy", (0.5, 1.0)), label)


def answer_colour(position: int, n_levels: int) -> str:
    """Return the class that colours an answer by its place on the scale."""
    share = position / (n_levels - 1) if n_levels > 1 else 0.5
    return f"v{round(share * (N_STEPS - 1))}"


PART_CHARTS: dict[str, Callable[..., Any]] = {
    "selection": selection_chart,
    "loss": loss_chart,
    "curves": curve_chart,
    "answer": answer_colour,
}
