"""The laws by name, and columns that share one.

A new law is one class (see `Law`) and one entry here. A new distribution with a position and a
precision is one entry in `DISTRIBUTIONS` and its title here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kindset.ordinal._distributions import DISTRIBUTIONS
from kindset.ordinal._law import N_STATISTICS, Law
from kindset.ordinal._law_numbers import Gaussian, Poisson
from kindset.ordinal._law_positions import PositionLaw
from kindset.ordinal._law_tables import Adjacent, Categorical, Tilted
from kindset.ordinal._rows import IntArray

LAWS: dict[str, Law] = {
    entry.name: entry
    for entry in (
        PositionLaw(DISTRIBUTIONS["bos"], "BOS (binary ordinal search)"),
        PositionLaw(DISTRIBUTIONS["god"], "GOD (globally ordered data)"),
        Categorical(),
        Adjacent(),
        Tilted(),
        Gaussian(),
        Poisson(),
    )
}

DEFAULT_LAW = "tilted"
"""The law of ordered answers, unless told otherwise: the best description on every survey tried."""

ORDERED_LAWS = tuple(name for name, entry in LAWS.items() if entry.takes == "categories")
"""The laws that a column of ordered answers may have."""


@dataclass(frozen=True)
class Group:
    """Columns that share a law and a number of categories.

    Attributes
    ----------
    law : Law
    m : int
        Number of categories; 1 for numbers.
    features : ndarray of shape (G,)
    places : ndarray of shape (G, n_statistics)
        Where their statistics stand in flat arrays.
    """

    law: Law
    m: int
    features: IntArray
    places: IntArray


def group_columns(
    names: Sequence[str] | Sequence[Sequence[str]], n_levels: IntArray
) -> list[Group]:
    """Group the columns that say anything by law and number of categories.

    `names` holds one law for each column, or several that it may have.
    """
    return _grouped(tuple(names), n_levels.tobytes())


@lru_cache(maxsize=256)
def _grouped(names: tuple[str | tuple[str, ...], ...], n_levels: bytes) -> list[Group]:
    levels = np.frombuffer(n_levels, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(levels + 1)])
    found: dict[tuple[str, int], list[tuple[int, IntArray]]] = {}
    n_numbers = 0
    for j, m in enumerate(levels.tolist()):
        entry = names[j]
        options = (entry,) if isinstance(entry, str) else entry
        if LAWS[options[0]].takes == "numbers":
            place = starts[-1] + N_STATISTICS * n_numbers + np.arange(N_STATISTICS)
            n_numbers += 1
        elif m == 1:
            continue
        else:
            place = starts[j] + np.arange(m)
        for name in options:
            found.setdefault((name, m), []).append((j, place))
    return [
        Group(LAWS[name], m, np.array([j for j, _ in columns]), np.array([p for _, p in columns]))
        for (name, m), columns in found.items()
    ]
