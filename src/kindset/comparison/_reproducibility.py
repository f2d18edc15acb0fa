"""How far a method gives the same groups again: with other seeds, or on resampled data."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from kindset.evaluation import adjusted_rand
from kindset.runs import STABILITY, Run

_MOST_SEEDS = 12


@dataclass(frozen=True)
class Reproduced:
    """How far runs agree that differ in nothing but their seed.

    Attributes
    ----------
    name : str
        What the runs share.
    n_clusters : list of int
        The numbers of groups, one if all have the same.
    runs : tuple of str
    agreement : float
        Mean adjusted Rand index of all pairs.
    lowest : float
        The lowest of them.
    """

    name: str
    n_clusters: list[int]
    runs: tuple[str, ...]
    agreement: float
    lowest: float


def reproduced(runs: Sequence[Run]) -> list[Reproduced]:
    """Compare runs with the same method and parameters, but other seeds.

    Parameters
    ----------
    runs : sequence of Run
        Of the same samples.

    Returns
    -------
    found : list of Reproduced
        The most alike first.

    Examples
    --------
    >>> from kindset.comparison import reproduced
    >>> from kindset.runs import Run
    >>> runs = [Run([0, 0, 1, 1], name=f"kmeans s{s}", method="kmeans", seed=s) for s in (0, 1)]
    >>> [(group.runs, group.agreement) for group in reproduced(runs)]
    [(('kmeans s0', 'kmeans s1'), 1.0)]
    """
    alike: dict[Any, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.name):
        parameters = run.parameters if isinstance(run.parameters, dict) else {}
        fixed = {k: v for k, v in parameters.items() if k not in ("seed", "random_state")}
        # Seeds of a method that finds the number itself may differ in it. A run of another
        # program has no parameters, so that its number is all there is to go by.
        number = None if fixed else run.n_clusters
        alike[str(run.method), number, repr(sorted(fixed.items(), key=repr))].append(run)
    found = []
    for (method, *_), members in alike.items():
        if len({str(run.seed) for run in members}) < 2:
            continue
        some = members[:_MOST_SEEDS]
        pairs = [adjusted_rand(a.labels, b.labels) for a, b in combinations(some, 2)]
        shared = {run.name.removesuffix(f" s{run.seed}") for run in members}
        name = shared.pop() if len(shared) == 1 else method
        names = tuple(run.name for run in members)
        numbers = sorted({run.n_clusters for run in members})
        found.append(Reproduced(name, numbers, names, float(np.mean(pairs)), float(np.min(pairs))))
    return sorted(found, key=lambda group: -group.agreement)


def reproducibility_of(runs: Sequence[Run]) -> "pd.Series[float]":
    """Return how far each run was reproduced, by its name; NaN where nothing was tried.

    Refits on resampled data say more than other seeds, so they come first where both are there.
    """
    values = {run.name: np.nan for run in runs}
    for group in reproduced(runs):
        values.update(dict.fromkeys(group.runs, group.agreement))
    for run in runs:
        measured = run.metrics.get(STABILITY) if isinstance(run.metrics, dict) else None
        if isinstance(measured, (int, float)) and np.isfinite(measured):
            values[run.name] = float(measured)
    return pd.Series(values, dtype=np.float64, name="reproducibility").rename_axis("run")
