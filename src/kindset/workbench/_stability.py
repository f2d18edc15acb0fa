"""Whether a clustering comes out again when other samples are drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from kindset.evaluation import adjusted_rand
from kindset.exceptions import InputError
from kindset.workbench._dataset import Dataset
from kindset.workbench._kinds import cluster_once
from kindset.workbench._outcome import Execution
from kindset.workbench._reading import read_data
from kindset.workbench._settings import Setting, as_setting

SHARE = 0.8
"""Share of the samples that a refit sees, unless another one is asked for."""


@dataclass(frozen=True)
class Stability:
    """How far refits on parts of the samples agree.

    Attributes
    ----------
    agreement : float
        Mean adjusted Rand index of all pairs of refits, on the samples that both have.
    lowest : float
        The lowest of them.
    n_resamples : int
    """

    agreement: float
    lowest: float
    n_resamples: int

    @property
    def sentence(self) -> str:
        """How far the groups come out again, in words."""
        return (
            f"Refitted on {self.n_resamples} parts of the samples, the groups agree to "
            f"{self.agreement:.2f} (adjusted Rand index; 1 is the same groups, 0 is chance)."
        )


def stability(
    data: Dataset | Any,
    setting: Setting | Mapping[str, Any],
    *,
    n_resamples: int = 8,
    share: float = SHARE,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Stability:
    """Cluster parts of the samples, and compare the results on the samples they share.

    Each refit has a seed of its own. So the agreement is low both where other samples and where
    other seeds give other groups.

    Parameters
    ----------
    data : Dataset, or what `read_data` takes
    setting : Setting or dict
        The clustering to be refitted.
    n_resamples : int, default=8
        Number of refits, at least 2.
    share : float, default=0.8
        Share of the samples that each refit sees, from 0.5 to below 1. They are drawn without
        replacement, and any two refits must have at least two samples in common.
    n_jobs : int, optional
        Refits at a time. The result does not depend on it.
    random_state : int, default=0

    Returns
    -------
    stability : Stability

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, also if a refit kept the best that it had found until then.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.workbench import Setting, stability
    >>> found = stability(load_iris().data, Setting("kmeans", 2), n_resamples=4)
    >>> round(found.agreement, 1)
    1.0
    """
    dataset = data if isinstance(data, Dataset) else read_data(data)
    wanted = as_setting(setting, "setting")
    wanted.check(dataset)
    check_refits(dataset, wanted, n_resamples, share, random_state)
    rng = np.random.default_rng(random_state)
    chosen = _draw_parts(len(dataset), n_resamples, share, rng)
    seeds = rng.integers(2**31, size=n_resamples)
    refits = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_refit)(dataset, replace(wanted, seed=int(seed)), rows)
        for rows, seed in zip(chosen, seeds, strict=True)
    )
    pairs = [_agreement(one, other) for one, other in combinations(refits, 2)]
    return Stability(float(np.mean(pairs)), float(np.min(pairs)), n_resamples)


def check_refits(
    data: Dataset,
    setting: Setting,
    n_resamples: int,
    share: float = SHARE,
    random_state: int = 0,
) -> None:
    """Refuse, before any work, refits that cannot be made or compared."""
    whole, real = isinstance(n_resamples, Integral), isinstance(share, Real)
    if not whole or n_resamples < 2:
        raise InputError(
            f"`n_resamples` must be a whole number of at least 2, not {n_resamples!r}.",
            parameter="n_resamples",
        )
    if not real or not 0.5 <= share < 1.0:
        raise InputError(
            f"`share` must be a number from 0.5 to below 1, not {share!r}.", parameter="share"
        )
    n, size = len(data), _part_size(len(data), share)
    setting.check_size(data, size, " in each part that is refitted")
    if 2 * size - n >= 2:  # however they are drawn
        return
    parts = _draw_parts(n, n_resamples, share, np.random.default_rng(random_state))
    drawn = np.zeros((n_resamples, n), dtype=np.float32)
    for row, part in zip(drawn, parts, strict=True):
        row[part] = 1
    if (drawn @ drawn.T).min() < 2:
        raise InputError(
            f"`n_resamples`: two parts of {size} of the {n} samples have fewer than two in common; "
            "use more samples, or a larger `share`.",
            parameter="n_resamples",
        )


def _part_size(n_samples: int, share: float) -> int:
    return round(share * n_samples)


def _draw_parts(
    n_samples: int, n_resamples: int, share: float, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Return the rows that each refit sees."""
    size = _part_size(n_samples, share)
    return [np.sort(rng.permutation(n_samples)[:size]) for _ in range(n_resamples)]


def _refit(data: Dataset, setting: Setting, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the label of every sample; the smallest number where it was not drawn."""
    outcome = cluster_once(data.take(rows), setting, Execution(), None)
    if outcome.interrupted:
        raise KeyboardInterrupt
    labels = np.full(len(data), _ABSENT)
    labels[rows] = outcome.run.labels
    return labels


_ABSENT = np.iinfo(np.int64).min


def _agreement(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    shared = (one != _ABSENT) & (other != _ABSENT)
    return adjusted_rand(one[shared], other[shared])
