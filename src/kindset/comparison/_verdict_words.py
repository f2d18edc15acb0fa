"""The verdict in words: every place that shows a verdict takes its sentences from here."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kindset.comparison._verdict import Verdict

SHORTLIST_HITS = 0.79
"""How often a shortlist held a run within 0.02 AMI of the best, on pools with known labels."""

_TRUST = {"fair": "a fair guess", "good": "fairly reliable"}
_ADVICE = {
    "no structure": (
        "Do not read these groups as kinds. Check which columns are used and how they are scaled, "
        "try other features, or report that no groups were found."
    ),
    "undecided": (
        "Look at the whole shortlist, and choose by what the groups mean. Runs in other spaces, "
        "more seeds, or the raw data may help to decide."
    ),
    "fair": "Look at the shortlist before you rely on the first run.",
    "good": "",
}
_MOST_NAMED = 4


def sentence_of(verdict: "Verdict") -> str:
    """Say which run leads, how sure that is, and which rule prefers another run."""
    return _joined(_standing(verdict), _shortlist(verdict), _dissent(verdict))


def advice_of(verdict: "Verdict") -> str:
    """Say what to do next; nothing if the verdict is good."""
    return _ADVICE[verdict.level]


def headline_of(verdict: "Verdict") -> str:
    """Say the verdict in a few words."""
    if verdict.level == "no structure":
        return "No structure found"
    if verdict.level == "undecided":
        return f"Undecided: {_doubt(verdict)}"
    return f"{_first(verdict)}: {_TRUST[verdict.level]}"


def why_of(verdict: "Verdict") -> str:
    """Say which spaces decided, by how much the leader beats the next, and what chance gives."""
    return _joined(_spaces(verdict), _margin(verdict), _chance(verdict))


def second_opinion(verdict: "Verdict", leader: str) -> str:
    """Say what the verdict adds where something else decided that `leader` leads."""
    if verdict.level == "no structure":
        return "The verdict, a second opinion, finds no structure."
    if leader in (verdict.leader, *_tied(verdict)):
        return "The verdict, a second opinion, puts it first as well."
    place = verdict.table["place"][leader]
    return (
        f"The verdict, a second opinion, puts {quoted(verdict.leader)} first and this run at place "
        f"{place:g} of {len(verdict.table)}."
    )


def _standing(verdict: "Verdict") -> str:
    strength = f"strength {verdict.strength:.2f}"
    n = len(verdict.table)
    if verdict.level == "no structure" and not verdict.evidence.is_cut.any():
        return "No structure: no run finds two groups."
    if verdict.level == "no structure":
        return (
            f"No structure: clouds without groups look as clear as these {n} runs ({strength}). "
            f"{_first(verdict)}, but that means little."
        )
    if verdict.level == "undecided":
        return f"Undecided: {_doubt(verdict)} ({strength}). {_first(verdict)} of {n} runs."
    return f"{_first(verdict)} of {n} runs: {_TRUST[verdict.level]} ({strength})."


def _doubt(verdict: "Verdict") -> str:
    """Say why nothing is decided."""
    if verdict.n_parts > 1:
        return f"the data have {verdict.n_parts} parts that do not touch, and the first run others"
    if verdict.evidence.is_small:
        return f"{len(verdict.evidence.partitions[0])} samples are too few to tell"
    return "the groups are weak"


def _first(verdict: "Verdict") -> str:
    """Name the run or the runs that come first."""
    tied = _tied(verdict)
    if tied:
        return f"{names([verdict.leader, *tied])} share the first place"
    return f"{quoted(verdict.leader)} comes first"


def _tied(verdict: "Verdict") -> list[str]:
    places = verdict.table["place"]
    return [str(name) for name in places.index[places == places.iloc[0]][1:]]


def _shortlist(verdict: "Verdict") -> str:
    listed, n = len(verdict.shortlist), len(verdict.table)
    if verdict.level == "no structure":
        return ""
    if listed == 1:
        return "No other run is on the shortlist."
    return (
        f"The shortlist has {listed} of {n} runs. On labelled test data, {SHORTLIST_HITS:.0%} of "
        "such lists held a run about as good as the best."
    )


def _dissent(verdict: "Verdict") -> str:
    """Name the run that the blend of signals prefers, if it is another."""
    if "blend" not in verdict.table or verdict.level == "no structure":
        return ""
    blend = verdict.table["blend"]
    preferred = blend.index[blend == blend.min()]
    family = verdict.table["family"]
    if (family[preferred] == family.iloc[0]).any():
        return ""
    return f"The blend with silhouette and agreement prefers {quoted(str(preferred[0]))}."


def _spaces(verdict: "Verdict") -> str:
    spaces = verdict.spaces
    if len(spaces) == 1:
        return "All runs are judged in one space."
    heavy = spaces.index[spaces["weight"].cumsum().shift(fill_value=0.0) < 0.5]
    share = spaces["weight"][heavy].sum()
    if len(heavy) == 1:
        return f"The space of {quoted(str(heavy[0]))} has {share:.0%} of the weight."
    return f"{len(heavy)} of {len(spaces)} spaces have {share:.0%} of the weight."


def _margin(verdict: "Verdict") -> str:
    rival = verdict.runner_up
    if rival is None:
        return "All runs are near-copies of each other."
    return (
        f"{quoted(verdict.leader)} scores {_parts_of(verdict, verdict.leader)}. The best run that "
        f"is no near-copy of it, {quoted(rival)}, scores {_parts_of(verdict, rival)}."
    )


def _parts_of(verdict: "Verdict", run: str) -> str:
    """Write the score of a run and what it is made of."""
    score, neighbours = (verdict.table[column][run] for column in ("score", "neighbours"))
    return f"{score:.2f} ({neighbours:.2f} by neighbours, {score - neighbours:.2f} by agreement)"


def _chance(verdict: "Verdict") -> str:
    if verdict.n_parts > 1:
        return f"In the most telling space the data have {verdict.n_parts} parts that do not touch."
    if verdict.test is None:
        return "Clouds without groups rarely reach a strength of 0.4."
    reached = max(float(values.max()) for values in verdict.test.null_strengths.values())
    return (
        f"In the most telling space these runs have a strength of {verdict.test.strength:.2f}. "
        f"Cuts of clouds without groups reach {reached:.2f}."
    )


def quoted(name: str) -> str:
    """Write the name of a run so that it cannot be mistaken for the sentence."""
    return f"“{name}”"


def names(runs: Sequence[str]) -> str:
    """Name some runs, and say how many more there are."""
    shown = [quoted(name) for name in runs[:_MOST_NAMED]]
    if len(runs) > len(shown):
        shown.append(f"{len(runs) - len(shown)} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
