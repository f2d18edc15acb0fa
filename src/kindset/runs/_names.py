"""Names that tell runs apart."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from kindset.runs._run import Run

_MOST_FACTS = 3
_LONGEST = 32
"""Letters of a fact that a name can take; longer ones are left to the report."""


def distinct_names(runs: Sequence[Run], places: Sequence[str] | None = None) -> list[str]:
    """Return the names of runs, those that occur twice with what tells the runs apart.

    That is the fewest of method, seed, number of groups, source and parameters that are enough;
    else the place; else a number.

    Parameters
    ----------
    runs : sequence of Run
    places : sequence of str, optional
        Where each run comes from: the name of its folder.

    Examples
    --------
    >>> from kindset.runs import Run, distinct_names
    >>> distinct_names([Run([0, 1], name="a", seed=3), Run([0, 1], name="a", seed=4)])
    ['a (seed 3)', 'a (seed 4)']
    """
    alike: dict[str, list[int]] = defaultdict(list)
    for i, run in enumerate(runs):
        alike[run.name].append(i)
    names = [run.name for run in runs]
    for name, members in alike.items():
        if len(members) > 1:
            told = _difference([runs[i] for i in members])
            if told is None:
                told = [places[i] if places else "" for i in members]
            for i, words in zip(members, told, strict=True):
                names[i] = f"{name} ({words})" if words else name
    return list(_numbered(names))


def _difference(runs: Sequence[Run]) -> list[str] | None:
    """Return for each run the fewest facts that no other has; None if there are none."""
    told = [_facts(run) for run in runs]
    keys = [
        key
        for key in dict.fromkeys(key for facts in told for key in facts)
        if len({facts.get(key) for facts in told}) > 1
        and all(len(facts.get(key, "")) <= _LONGEST for facts in told)
    ]
    for n in range(1, _MOST_FACTS + 1):
        for chosen in combinations(keys, n):
            words = [", ".join(facts[key] for key in chosen if key in facts) for facts in told]
            if len(set(words)) == len(runs):
                return words
    return None


def _facts(run: Run) -> dict[str, str]:
    parameters = run.parameters if isinstance(run.parameters, dict) else {}
    return {
        "method": _text(run.method),
        "seed": f"seed {_text(run.seed)}",
        "groups": f"K={run.n_clusters}",
        **({} if run.source is None else {"source": _text(run.source.name)}),
        **{
            f"parameter {name}": f"{_text(name)}={_text(value)}"
            for name, value in parameters.items()
        },
    }


def _text(value: object) -> str:
    words = str(value)
    return words if words.isprintable() else ascii(value)


def _numbered(names: Sequence[str]) -> Iterator[str]:
    """Give names that still occur twice a number."""
    repeated = Counter(names)
    number: Counter[str] = Counter()
    taken = set(names)
    for name in names:
        told = name
        while repeated[name] > 1 and told in taken:
            number[name] += 1
            told = f"{name} #{number[name]}"
        taken.add(told)
        yield told
