"""What a summary says in sentences: what was clustered, how, what to trust, and how sure."""

from collections.abc import Sequence

from kindset.evaluation import INDICES
from kindset.report._comparison import Comparison
from kindset.report._summary import DataSummary


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
    left_out = f", and {lead.n_noise:,} left out as noise" if lead.n_noise else ""
    if data.comparison is None:
        return f"{sizes}{left_out} ({lead.run.name})."
    titles = enumerate_words([INDICES[name].title for name in data.comparison.evaluations])
    judged = (
        "its own space"
        if len(data.comparison.spaces) == 1
        else (f"{len(data.comparison.spaces)} different spaces")
    )
    return (
        f"{lead.run.name} comes first among {len(data.runs)} clusterings, by {titles} in "
        f"{judged}, without known labels: {sizes}{left_out}."
    )


def _range(sizes: Sequence[int]) -> str:
    if not sizes:
        return "nothing"
    low, high = min(sizes), max(sizes)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _sure(data: DataSummary) -> list[str]:
    told = []
    if data.comparison is not None:
        told.append(_rank_sentence(data, data.comparison))
    stable = next(
        (s for s in data.stability
         if (s.method, s.n_clusters) == (data.lead.run.method, data.lead.run.n_clusters)),
        None,
    )  # fmt: skip
    if stable is not None:
        told.append(
            f"{stable.n_runs} runs like it that differ in their seed agree to "
            f"{stable.agreement:.2f} (adjusted Rand index; 1 would be the same groups)."
        )
    survey = data.lead.parts.get("survey")
    if survey is not None and survey.segments:
        least = min(range(len(survey.segments)), key=lambda k: survey.segments[k].certainty)
        told.append(
            f"Respondents belong to their segment with a probability of {survey.certainty:.0%} on "
            f"average; segment {least + 1} is the least certain "
            f"({survey.segments[least].certainty:.0%})."
        )
    if not told:
        told.append("A single run says nothing about how sure it is: compare it with others.")
    return told


def _rank_sentence(data: DataSummary, comparison: Comparison) -> str:
    index = next(iter(comparison.evaluations))
    table = comparison.ranking(index)
    row = table.loc[data.lead.run.name]
    rivals = [
        str(name) for name in table.index
        if name != data.lead.run.name and table.loc[name, "rank_low"] <= row["rank"]
    ]  # fmt: skip
    checks = "when spaces are left out"
    if comparison.evaluations[index].n_bootstrap:
        checks += " and points drawn anew"
    if not rivals and row["rank_high"] == 1:
        return f"Its first place holds {checks}."
    sentence = f"Its rank stays between {row['rank_low']:g} and {row['rank_high']:g} {checks}"
    if not rivals:
        return f"{sentence}."
    return f"{sentence}; {enumerate_words(rivals, 4)} may be as good."


def _known(data: DataSummary) -> str:
    measure = next(iter(data.known), None)
    if measure is None or measure not in data.lead.known:
        return ""
    values = enumerate_words([f"{name} {value:.2f}" for name, value in data.lead.known.items()])
    sentence = f"They were not used. Against them {data.lead.run.name} reaches {values}"
    if len(data.runs) == 1:
        return f"{sentence}."
    with_known = [run for run in data.runs if measure in run.known]
    best = max(with_known, key=lambda run: run.known[measure])
    if best is data.lead:
        return f"{sentence}, the most of all."
    return f"{sentence}; the most, {measure} {best.known[measure]:.2f}, has {best.run.name}."


def _plural(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
