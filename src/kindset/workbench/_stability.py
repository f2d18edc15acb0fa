"""Whether a clustering comes out again when other samples are drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
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
from kindset.workbench._settings import Setting


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
    share: float = 0.8,
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
        Number of refits.
    share : float, default=0.8
        Share of the samples that each refit sees. They are drawn without replacement.
    n_jobs : int, optional
        Refits at a time. The result does not depend on it.
    random_state : int, default=0

    Returns
    -------
    stability : Stability

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kindset.workbench import Setting, stability
    >>> found = stability(load_iris().data, Setting("kmeans", 2), n_resamples=4)
    >>> round(found.agreement, 1)
    1.0
    """
    dataset = data if isinstance(data, Dataset) else read_data(data)
    wanted = setting if isinstance(setting, Setting) else Setting(**setting)
    wanted.check(dataset)
    if n_resamples < 2:
        raise InputError(f"n_resamples={n_resamples} is too small; two refits are the least.")
    n = round(share * len(dataset))
    if not 0.5 <= share < 1.0 or n < 2:
        raise InputError(f"share={share} must be from 0.5 to below 1, and keep two samples.")
    rng = np.random.default_rng(random_state)
    chosen = [np.sort(rng.permutation(len(dataset))[:n]) for _ in range(n_resamples)]
    seeds = rng.integers(2**31, size=n_resamples)
    refits = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_refit)(dataset, replace(wanted, seed=int(seed)), rows)
        for rows, seed in zip(chosen, seeds, strict=True)
    )
    pairs = [_agreement(one, other) for one, other in combinations(refits, 2)]
    return Stability(float(np.mean(pairs)), float(np.min(pairs)), n_resamples)


def _refit(data: Dataset, setting: Setting, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the label of every sample; the smallest number where it was not drawn."""
    run = cluster_once(data.take(rows), setting, Execution(), None).run
    labels = np.full(len(data), _ABSENT)
    labels[rows] = run.labels
    return labels


_ABSENT = np.iinfo(np.int64).min


def _agreement(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    shared = (one != _ABSENT) & (other != _ABSENT)
    return adjusted_rand(one[shared], other[shared])
