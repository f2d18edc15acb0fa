"""The spaces that runs live in: each once, whoever shares it."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from kindset.evaluation import encode_labels
from kindset.exceptions import InputError
from kindset.runs import Run, SharedSpaces

_MOST_NAMED = 4


RAW = "the raw data"
"""What the space of the raw data is called."""


def distinct_spaces(
    runs: Sequence[Run], raw: NDArray[Any] | None = None
) -> tuple[list[NDArray[Any]], list[int]]:
    """Return every space once, and for each run the number of its own; -1 if it has none.

    A copy of a space is no further evidence. If no run has a space, the raw data is the only one.
    """
    spaces: list[NDArray[Any]] = []
    number: dict[int, int] = {}
    owner = []
    share = SharedSpaces()
    for run in map(share, runs):
        if run.space is None:
            owner.append(-1)
            continue
        if id(run.space) not in number:
            number[id(run.space)] = len(spaces)
            spaces.append(run.space)
        owner.append(number[id(run.space)])
    if not spaces:
        if raw is None:
            raise InputError(
                "none of the runs has a space (an embedding) to compare in; give the raw data.",
                parameter="raw",
            )
        spaces.append(raw)
    return spaces, owner


def space_names(runs: Sequence[Run], owner: Sequence[int], n_spaces: int) -> list[str]:
    """Name each space by the runs that live in it: the first of their names, in sorted order."""
    names = []
    for number in range(n_spaces):
        residents = sorted(
            run.name for run, home in zip(runs, owner, strict=True) if home == number
        )
        others = f" (+{len(residents) - 1})" if len(residents) > 1 else ""
        names.append(f"{residents[0]}{others}" if residents else RAW)
    return names


def note_repeats(runs: Sequence[Run], owner: Sequence[int]) -> list[str]:
    """Name the runs that are the same partition of the same space: each of them counts."""
    alike: dict[tuple[int, bytes], list[str]] = {}
    for run, home in zip(runs, owner, strict=True):
        codes, _ = encode_labels(run.labels, noise="drop")
        if home >= 0:
            alike.setdefault((home, codes.tobytes()), []).append(run.name)
    repeated = sorted(" = ".join(sorted(names)) for names in alike.values() if len(names) > 1)
    if not repeated:
        return []
    more = f"; {len(repeated) - _MOST_NAMED} more" if len(repeated) > _MOST_NAMED else ""
    listed = "; ".join(repeated[:_MOST_NAMED]) + more
    return [f"Some runs are the same partition in the same space, and each counts: {listed}."]
