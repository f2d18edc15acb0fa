"""What a summary says in sentences: what was clustered, how, what to trust, and how sure."""

from collections.abc import Mapping, Sequence

import numpy as np

from kindset.comparison import Comparison
from kindset.report._summary import DataSummary, RunSummary


def tell(data: DataSummary) -> list[tuple[str, str]]:
    """Return headings and sentences on one data set, in the order in which one asks."""
    told = [
        ("What", " ".join(filter(None, [f"{data.size}.", data.about]))),
        ("How", _how(data)),
        ("Found", _found(data)),
        ("How sure", " ".join(_sure(data))),
        ("Known labels", _known(data)),
    ]
    return [(heading, sentence) for heading, sentence in told if sentence]


_DROPPED = {
    "unimodal": "without visible groups",
    "constant": "in which all runs score the same",
    "copy": "the same as another one",
}


def how_ranked(comparison: Comparison) -> str:
    """Say how the scores in the spaces became one ranking, as it happened."""
    if len(comparison.spaces) == 1:
        return (
            "The runs share one space, so their scores in it can be compared as they are. "
            f"{_several(comparison)}No labels were used."
        )
    evaluations = comparison.evaluations.values()
    counts = {
        status: int(np.logical_and.reduce([e.status_ == status for e in evaluations]).sum())
        for status in _DROPPED
    }
    dropped = [f"{_plural(n, 'space')} {_DROPPED[s]}" for s, n in counts.items() if n]
    became = f"Dropped were {enumerate_words(dropped)}." if dropped else "All spaces were kept."
    decided = "No space was left, so all runs come out equal."
    if any(evaluation.kept_.any() for evaluation in evaluations):
        decided = (
            "Those that rank the runs alike were put together, and the group with the highest "
            "scores gives this ranking."
        )
    return (
        f"Every clustering was scored in every run's space. {became} {decided} "
        f"{_several(comparison)}No labels were used."
    )


def _several(comparison: Comparison) -> str:
    """Say what becomes of the rankings by several indices."""
    n = len(comparison.evaluations)
    if n == 1:
        return ""
    return (
        f"This was done by {n} indices, which see different things in a good clustering, and the "
        "mean of the ranks gives this ranking. "
    )


def enumerate_words(words: Sequence[str], most: int = 6) -> str:
    """Join words with commas and a last `and`; say how many are left out."""
    shown = list(words)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _how(data: DataSummary) -> str:
    methods = enumerate_words(list(dict.fromkeys(run.title for run in data.runs)))
    counts = sorted({run.run.n_clusters for run in data.runs})
    groups = (
        _plural(counts[0], "group") if len(counts) == 1 else (f"{counts[0]} to {counts[-1]} groups")
    )
    if len(data.runs) == 1:
        return f"One clustering: {methods}, {groups}."
    return f"{len(data.runs)} clusterings with {groups}, made by {methods}."


def _found(data: DataSummary) -> str:
    lead = data.lead
    sizes = f"{_plural(len(lead.sizes), 'group')} of {_range(lead.sizes)}"
    if lead.n_noise:
        sizes += f", and {lead.n_noise:,} left out as noise"
    return f"{_called(lead)}: {sizes}."


def _range(sizes: Sequence[int]) -> str:
    if not sizes:
        return "nothing"
    low, high = min(sizes), max(sizes)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _sure(data: DataSummary) -> list[str]:
    sentences = [_membership(data), _seeds(data)]
    if data.comparison is not None:
        advice = data.comparison.verdict.advice if data.comparison.by_verdict else ""
        sentences[:0] = [data.comparison.sentence, advice]
    sentences = [sentence for sentence in sentences if sentence]
    return sentences or ["A single run says nothing about how sure it is: compare it with others."]


def _membership(data: DataSummary) -> str:
    survey = data.lead.parts.get("survey")
    if survey is None or not survey.segments:
        return ""
    least = min(range(len(survey.segments)), key=lambda k: survey.segments[k].certainty)
    return (
        f"Respondents belong to their segment with a probability of {survey.certainty:.0%} on "
        f"average; segment {least + 1} is the least certain "
        f"({survey.segments[least].certainty:.0%})."
    )


def _seeds(data: DataSummary) -> str:
    for stable in data.stability:
        if data.lead.run.name in stable.runs:
            return (
                f"{len(stable.runs)} runs that differ from each other only in their seed, this one "
                f"among them, agree to {stable.agreement:.2f} (adjusted Rand index; 1 would be the "
                "same groups)."
            )
    return ""


def _known(data: DataSummary) -> str:
    measure = next(iter(data.known), None)
    lead = data.lead
    if measure is None or measure not in lead.known:
        return ""
    sentences = [
        "They were not used.",
        f"Against them {_called(lead)} reaches {_values(lead.known)}.",
    ]
    if lead.known_covered:
        sentences.append(
            f"On the {lead.run.coverage:.0%} of the samples that it does not leave out, it reaches "
            f"{_values(lead.known_covered)}."
        )
    measured = data.measured(measure)
    best = max(measured, key=lambda run: run.known[measure])
    if best is not lead:
        sentences.append(f"{_called(best)} has the highest {measure}, {best.known[measure]:.2f}.")
    elif len(measured) > 1:
        with_known = "" if len(measured) == len(data.runs) else " with known labels"
        sentences.append(f"No other run{with_known} has a higher {measure}.")
    return " ".join(sentences)


def _values(measures: Mapping[str, float]) -> str:
    return enumerate_words([f"{name} {value:.2f}" for name, value in measures.items()])


def _called(run: RunSummary) -> str:
    """Return the name of a run in quotes: names may hold commas and anything else."""
    return f"“{run.run.name}”"


def _plural(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
