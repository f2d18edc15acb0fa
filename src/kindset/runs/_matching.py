"""Which runs are of the same samples, row by row."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset.exceptions import InputError
from kindset.runs._run import Run
from kindset.runs._source import as_ids, hash_ids

_MOST_NAMED = 3

_SAME_ROWS = (
    "if row i is the same sample in all runs whatever they were made from, state it with "
    "`same_rows`"
)


class Match(NamedTuple):
    """Whether two runs are of the same samples.

    `verdict` is "unknown" if the lengths agree and one of the runs has no record of its samples.
    `reason` says how the samples differ. `can_state` says whether a user may know better.
    """

    verdict: Literal["same", "different", "unknown"]
    reason: str = ""
    can_state: bool = False


def match_runs(a: Run, b: Run) -> Match:
    """Compare what two runs record of their samples.

    Ids decide if both runs have them. Otherwise an equal source or an equal fingerprint of the
    data shows that the samples are the same.
    """
    if len(a) != len(b):
        return Match("different", f"they have {len(a)} and {len(b)} samples")
    if _ids(a) and _ids(b):
        return _match_ids(_ids(a), _ids(b))
    if _content(a) and _content(a) == _content(b):
        return Match("same")
    if a.data is not None and a.data == b.data:
        return Match("same")
    if not _is_recorded(a) or not _is_recorded(b):
        return Match("unknown")
    return Match("different", f"they were made on different data ({_difference(a, b)})", True)


def check_same_data(runs: Sequence[Run], *, same_rows: bool = False) -> None:
    """Refuse to compare runs of different samples.

    Parameters
    ----------
    runs : sequence of Run
    same_rows : bool, default=False
        State that row i is the same sample in all runs; then only their lengths are compared.

    Raises
    ------
    InputError
        Naming the first pair that differs, and how.
    """
    if len(group_runs(runs, same_rows=same_rows)) < 2:
        return
    for a, b in combinations(runs, 2):
        match = match_runs(a, b)
        if match.verdict == "different" and not (same_rows and len(a) == len(b)):
            hint = f"; {_SAME_ROWS}" if match.can_state else ""
            raise InputError(
                f"the runs {a.name!r} and {b.name!r} cannot be compared: {match.reason}{hint}.",
                parameter="same_rows" if match.can_state else None,
            )


def group_runs(runs: Sequence[Run], same_rows: bool = False) -> list[list[Run]]:
    """Put runs of the same samples together.

    A run without a record of its samples joins the runs of its length, unless these are of
    different samples.

    Parameters
    ----------
    runs : sequence of Run
    same_rows : bool, default=False
        State that row i is the same sample in all runs of one length.

    Returns
    -------
    groups : list of list of Run
        In the order in which they first occur. Which runs are together depends on no order.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.runs import Run, fingerprint, group_runs
    >>> first, second = fingerprint(np.zeros((3, 2))), fingerprint(np.ones((3, 2)))
    >>> runs = [Run([0, 0, 1], name="a", data=first), Run([0, 1, 1], name="b", data=second),
    ...         Run([0, 1, 0], name="c", data=first)]
    >>> [[run.name for run in group] for group in group_runs(runs)]
    [['a', 'c'], ['b']]
    """
    alike = _by_record(runs, same_rows=same_rows)
    groups = list(alike.values())
    if not same_rows:
        found = _groups([runs[numbers[0]] for numbers in groups])
        groups = [sorted(i for j in group for i in groups[j]) for group in found]
    return [[runs[i] for i in group] for group in sorted(groups)]


def assumed_same(runs: Sequence[Run]) -> list[str]:
    """Name the runs that are only assumed to be of the same samples as the others.

    Parameters
    ----------
    runs : sequence of Run
        One group of `group_runs`.

    Returns
    -------
    notes : list of str
        One sentence, or nothing.
    """
    alike = list(_by_record(runs).values())
    distinct = [runs[numbers[0]] for numbers in alike]
    certain = _certain_groups(distinct)
    if len(certain) == 1 and not (len(runs) > 1 and _is_blank(runs[0])):
        return []
    unrecorded = [part for part in certain if not any(_is_recorded(distinct[j]) for j in part)]
    names = [runs[i].name for i in sorted(i for part in unrecorded for j in part for i in alike[j])]
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    verb = "has" if len(names) == 1 else "have"
    return [
        f"{listed} {verb} no data fingerprint; we assume the same data because the sample counts "
        "match."
    ]


def align_labels(labels: ArrayLike, ids: ArrayLike | None, runs: Sequence[Run]) -> NDArray[Any]:
    """Bring known labels into the order of the runs' samples.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
    ids : array-like of shape (n_samples,) or None
        The id of the sample that each label is of.
    runs : sequence of Run
        Runs of the same samples.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        As given if the runs record no ids, or there are none for the labels.

    Raises
    ------
    InputError
        If the runs have other ids, or the order of their samples cannot be found. A run keeps a
        hash of its ids; so the order is found if it is the given one or the sorted one.

    Examples
    --------
    >>> from kindset.runs import Run, Source, align_labels, hash_ids
    >>> run = Run([0, 0, 1], source=Source("a.csv", "", hash_ids(["x", "y", "z"])))
    >>> align_labels([5, 7, 6], ["x", "z", "y"], [run])
    array([5, 6, 7])
    """
    labels = np.asarray(labels)
    wanted = next((_ids(run) for run in runs if _ids(run)), "")
    if ids is None or not wanted:
        return labels
    names = as_ids(ids, "the list of ids of the known labels")
    if len(names) != len(labels):
        raise InputError(f"there are {len(names)} ids for {len(labels)} known labels.")
    if _in_any_order(hash_ids(names)) != _in_any_order(wanted):
        raise InputError("the known labels have other ids than the samples of the runs.")
    for order in _orders(names):
        if hash_ids(names[order]) == wanted:
            return np.asarray(labels[order])
    raise InputError(
        "the known labels have the ids of the runs in another order; bring them into the order of "
        "the data."
    )


def _orders(names: NDArray[np.str_]) -> list[NDArray[np.intp]]:
    """Return the orders in which samples usually stand: as given, by text, by number."""
    orders = [np.arange(len(names)), np.argsort(names, kind="stable")]
    try:
        orders.append(np.argsort(names.astype(np.float64), kind="stable"))
    except ValueError:
        return orders
    return orders


def _ids(run: Run) -> str:
    return (run.source.ids or "") if run.source is not None else ""


def _content(run: Run) -> str:
    return run.source.sha256 if run.source is not None else ""


def _is_recorded(run: Run) -> bool:
    return bool(_content(run)) or run.data is not None


def _by_record(runs: Sequence[Run], *, same_rows: bool = False) -> dict[Any, list[int]]:
    """Return the numbers of the runs by all that is recorded of their samples."""
    alike: dict[Any, list[int]] = {}
    for number, run in enumerate(runs):
        record = () if same_rows else (_ids(run), _content(run), repr(run.data))
        alike.setdefault((len(run), *record), []).append(number)
    return alike


def _is_blank(run: Run) -> bool:
    return not _is_recorded(run) and not _ids(run)


def _in_any_order(ids: str) -> str:
    """Return the part of a hash of ids that does not depend on their order."""
    return ids.rpartition(":")[2]


def _match_ids(a: str, b: str) -> Match:
    if a == b:
        return Match("same")
    if _in_any_order(a) == _in_any_order(b):
        return Match("different", "they have the same samples (ids) in a different order")
    return Match("different", "their samples have different ids", True)


def _difference(a: Run, b: Run) -> str:
    """Say what differs between the records of two runs."""
    found = []
    if a.source is not None and b.source is not None and _content(a) and _content(b):
        same_name = a.source.name == b.source.name
        names = f"{a.source.name} and {b.source.name}"
        found.append(f"{a.source.name} has changed" if same_name else f"their sources are {names}")
    if a.data is not None and b.data is not None:
        found.append(a.data.differs_from(b.data) or "")
    return ", ".join(found) or "one records only its source, the other only its data"


def _groups(runs: Sequence[Run]) -> list[set[int]]:
    """Return the numbers of runs that go together, given one run for each record."""
    certain = _certain_groups(runs)

    def is_possible(i: int, j: int) -> bool:
        pairs = ((runs[a], runs[b]) for a in certain[i] for b in certain[j])
        return all(match_runs(a, b).verdict == "unknown" for a, b in pairs)

    groups: list[set[int]] = []
    for part in _connected(len(certain), is_possible):
        parts = [certain[i] for i in part]
        if all(is_possible(i, j) for i, j in combinations(part, 2)):
            groups.append(set().union(*parts))
        else:  # some of its runs could belong to several groups, so they join none
            groups.extend(parts)
    return groups


def _certain_groups(runs: Sequence[Run]) -> list[set[int]]:
    return _connected(len(runs), lambda i, j: match_runs(runs[i], runs[j]).verdict == "same")


def _connected(n: int, is_edge: Callable[[int, int], bool]) -> list[set[int]]:
    """Return the connected parts of a graph of n nodes."""
    parts: list[set[int]] = []
    for node in range(n):
        joined = [part for part in parts if any(is_edge(node, other) for other in part)]
        parts = [part for part in parts if part not in joined]
        parts.append({node}.union(*joined))
    return parts
