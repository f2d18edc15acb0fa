"""The verdict in words: every place that shows a verdict takes its sentences from here."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kindset.comparison._verdict import Verdict

SHORTLIST_HITS = 0.71
"""How often a shortlist held a run within 0.02 AMI of the best, on pools with known labels."""

TRUST = {
    "no structure": "No structure",
    "undecided": "Undecided",
    "fair": "Fair",
    "good": "Fairly reliable",
}
"""What a level is called in a heading."""

_ADVICE = {
    "no structure": (
        "Do not read these groups as kinds. Check which columns are used and how they are scaled, "
        "try other features, or report that no groups were found."
    ),
    "undecided": (
        "Look at the whole shortlist and choose by what the groups mean. Runs in other spaces, "
        "with other seeds, or the raw data beside may decide."
    ),
    "fair": "Look at the shortlist before you rely on the first run.",
    "good": "",
}
_MOST_NAMED = 4


def sentence_of(verdict: "Verdict") -> str:
    """Say which run leads, how sure that is, and who contradicts."""
    told = [_standing(verdict), _listed(verdict), _dissent(verdict)]
    return " ".join(sentence for sentence in told if sentence)


def advice_of(verdict: "Verdict") -> str:
    """Say what to do next; nothing if the verdict is good."""
    return _ADVICE[verdict.level]


def headline_of(verdict: "Verdict") -> str:
    """Say the verdict in a few words."""
    if verdict.level in ("no structure", "undecided"):
        return TRUST[verdict.level]
    return f"{_quoted(verdict.leader)} comes first"


def why_of(verdict: "Verdict") -> str:
    """Say which spaces decided, by how much the leader beats the next, and what chance gives."""
    told = [_decided(verdict), _margin(verdict), _chance(verdict)]
    return " ".join(sentence for sentence in told if sentence)


def _standing(verdict: "Verdict") -> str:
    leader, strength = _quoted(verdict.leader), f"strength {verdict.strength:.2f}"
    n = len(verdict.table)
    if verdict.level == "no structure":
        return (
            f"No structure: clouds without groups look as clear as these {n} runs ({strength}). "
            f"{_firsts(verdict)} nominally, and means little."
        )
    if verdict.level == "undecided":
        return f"Undecided: the groups are weak ({strength}). {_firsts(verdict)} by little."
    trust = "fairly reliable" if verdict.level == "good" else "a fair guess"
    tied = _tied(verdict)
    if tied:
        return (
            f"{leader} and {_names(tied)} share the first place of {n} runs: {trust} ({strength})."
        )
    return f"{leader} comes first of {n} runs: {trust} ({strength})."


def _firsts(verdict: "Verdict") -> str:
    tied = _tied(verdict)
    if tied:
        return f"{_quoted(verdict.leader)} and {_names(tied)} come first"
    return f"{_quoted(verdict.leader)} comes first"


def _tied(verdict: "Verdict") -> list[str]:
    places = verdict.table["place"]
    return [str(name) for name in places.index[places == places.iloc[0]][1:]]


def _listed(verdict: "Verdict") -> str:
    listed, n = verdict.shortlist, len(verdict.table)
    if verdict.level == "no structure":
        return ""
    if len(listed) == 1:
        return "No other run is on the shortlist."
    return (
        f"{len(listed)} of {n} runs are on the shortlist; on labelled test data such a list held "
        f"a run about as good as the best in {SHORTLIST_HITS:.0%} of cases."
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
    return f"The blend with silhouette and plain agreement prefers {_quoted(str(preferred[0]))}."


def _decided(verdict: "Verdict") -> str:
    spaces = verdict.spaces
    if len(spaces) == 1:
        return "All runs share one space."
    heavy = spaces.index[spaces["weight"].cumsum().shift(fill_value=0.0) < 0.5]
    share = spaces["weight"][heavy].sum()
    if len(heavy) == 1:
        return f"The space {_quoted(str(heavy[0]))} has {share:.0%} of the weight."
    return f"{len(heavy)} of {len(spaces)} spaces have {share:.0%} of the weight."


def _margin(verdict: "Verdict") -> str:
    rival = verdict.runner_up
    if rival is None:
        return "All runs are near-copies of each other."
    scores = verdict.table["score"]
    return (
        f"The leader scores {scores.iloc[0]:.2f}, the best run that is no near-copy of it, "
        f"{_quoted(rival)}, {scores[rival]:.2f}."
    )


def _chance(verdict: "Verdict") -> str:
    if verdict.test is None:
        return "Cuts of a cloud without groups would score about 0."
    reached = max(float(values.max()) for values in verdict.test.null_strengths.values())
    return (
        f"Cuts of clouds without groups reach a strength of {reached:.2f} in the most telling "
        f"space, these runs {verdict.test.strength:.2f}."
    )


def _quoted(name: str) -> str:
    return f"“{name}”"


def _names(names: list[str]) -> str:
    shown = [_quoted(name) for name in names[:_MOST_NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
