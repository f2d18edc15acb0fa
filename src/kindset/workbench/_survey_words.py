"""What a survey clustering says in sentences: the summary, and what speaks against the result."""

from typing import TYPE_CHECKING, Any

import pandas as pd

from kindset._shown import counted
from kindset.evaluation import KNOWN_MEASURES
from kindset.ordinal import ComponentSelection, OrdinalMixture, describe_segments
from kindset.workbench._types import describe_types

if TYPE_CHECKING:
    from kindset.workbench._surveys import SurveyFit

_CLOSE = 0.5
"""Log-likelihoods within this distance of the best count as the best."""


def summarise_survey(fit: "SurveyFit", metrics: dict[str, float]) -> str:
    """Write the summary that goes to the screen and into the folder."""
    data, model, selection = fit.data, fit.model, fit.selection
    n_rows, n_questions = fit.answers.shape
    gaps = _gaps(fit.answers)
    lines = [
        ", ".join(filter(None, [counted(n_rows, "row"), counted(n_questions, "question"), gaps])),
        "Questions: " + ", ".join(_scale(model, j) for j in range(n_questions)),
        *describe_types(data.answers.types),
        f"Method: {fit.setting.described.title}, seed {fit.setting.seed}",
        _starts_sentence(model.start_objectives_),
    ]
    if fit.interrupted:
        lines.append("Interrupted: this is the best that was found until then.")
    if selection is not None:
        lines.append(_selection_sentence(selection))
    lines.append(
        f"Log-likelihood {metrics['log_likelihood']:.2f}, BIC {metrics['bic']:.1f}, "
        f"ICL {metrics['icl']:.1f}"
    )
    if data.weights is not None:
        lines.append(
            f"Rows weighted by {data.weights.name}, scaled to a mean of 1: likelihood, criteria "
            "and all shares below are weighted, numbers of rows are not"
        )
    if data.labels is not None:
        known = ", ".join(f"{name.upper()} {metrics[name.upper()]:.2f}" for name in KNOWN_MEASURES)
        lines.append(f"Against the known labels ({data.labels.name}): {known}")
    if fit.left_out:
        lines.append(_left_out(fit))
    described = describe_segments(
        model, fit.answers, questions=data.codebook.questions, sample_weight=data.weights
    )
    return "\n".join([*lines, "", described])


def cautions(fit: "SurveyFit") -> list[str]:
    """Return what the summary and the warnings say against the result, as sentences."""
    selection = fit.selection
    told = [_gaps(fit.answers), _starts_caution(fit.model.start_objectives_), _left_out(fit)]
    if selection is not None and (
        selection.sentences or _at_the_edge(selection) or not selection.found_structure
    ):
        told.append(_selection_sentence(selection))
    sentences = [f"{sentence.removesuffix('.')}." for sentence in told if sentence]
    return [*sentences, *fit.notes]


def _gaps(answers: pd.DataFrame) -> str:
    """Say how many answers are missing; nothing if none is."""
    gaps = int(answers.isna().sum().sum())
    word = "answers" if gaps > 1 else "answer"
    return f"{gaps:,} {word} missing ({gaps / answers.size:.1%})" if gaps else ""


def _left_out(fit: "SurveyFit") -> str:
    """Name the questions that the figure of the profiles does not show; nothing if it shows all."""
    if not fit.left_out:
        return ""
    return f"The figure of the profiles leaves out {', '.join(fit.left_out)}; profiles.csv has all"


def _selection_sentence(selection: ComponentSelection) -> str:
    if selection.sentences:
        low, high = selection.defensible
        between = f" Defensible: {low} to {high} segments." if high > low else ""
        return " ".join(selection.sentences) + between
    name = selection.criterion.upper()
    tried = f"tried {', '.join(map(str, selection.path.index))}"
    if not selection.found_structure:
        return (
            f"No cluster structure found: a single segment has the lowest {name} ({tried}). "
            "Give one number as `k` to see segments all the same."
        )
    edge = "; the largest tried, so try more" if _at_the_edge(selection) else ""
    return f"Number of segments: {selection.n_components}, by the lowest {name} ({tried}{edge})"


def _at_the_edge(selection: ComponentSelection) -> bool:
    """Whether segments were found, as many as were tried."""
    largest = selection.n_components == selection.path.index.max()
    return bool(selection.found_structure and largest)


def _starts_sentence(reached: Any) -> str:
    """Say how often the best likelihood was found."""
    caution = _starts_caution(reached)
    return f"{caution} (`n_init`)" if caution else _close_starts(reached)[1]


def _starts_caution(reached: Any) -> str:
    """Say that the best likelihood was found but once: more starts may find more."""
    if len(reached) == 1:
        return "One start only: other starts may find a better mixture"
    close, sentence = _close_starts(reached)
    return "" if close > 1 else f"{sentence}: more starts may find a better mixture"


def _close_starts(reached: Any) -> tuple[int, str]:
    close = int((reached >= reached.max() - _CLOSE).sum())
    return close, f"{close} of {len(reached)} starts came within 0.5 of the best log-likelihood"


def _scale(model: OrdinalMixture, j: int) -> str:
    """Name a question with its number of answers, and its distribution if that was chosen."""
    name, levels = model.feature_names_in_[j], model.n_categories_[j]
    chosen = f", {model.distributions_[j].upper()}" if len(set(model.distributions_)) > 1 else ""
    return f"{name} ({levels}{chosen})"
