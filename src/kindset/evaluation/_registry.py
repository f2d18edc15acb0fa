"""Every internal index by name: how it is computed, which way is better, what it can do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kindset.evaluation._c_index import c_index_scores
from kindset.evaluation._cd_bw import cd_bw_scores
from kindset.evaluation._contributions import Contributions
from kindset.evaluation._dispersion import (
    calinski_harabasz_contributions,
    cubic_clustering_contributions,
    davies_bouldin_contributions,
)
from kindset.evaluation._dunn import dunn_scores
from kindset.evaluation._labels import Partitions
from kindset.evaluation._s_dbw import s_dbw_scores
from kindset.evaluation._silhouette import (
    macro_silhouette_contributions,
    sampled_silhouette,
    silhouette_contributions,
)
from kindset.evaluation._spaces import METRICS, Space
from kindset.exceptions import InputError

Sampler = Callable[
    [Space, Partitions, NDArray[np.intp]], tuple[NDArray[np.float64], NDArray[np.float64]]
]


@dataclass(frozen=True)
class Index:
    """An internal index, able to score many partitions of one space at once.

    Exactly one of `scores` and `contributions` is given.

    Attributes
    ----------
    name, title, short : str
        How it is chosen, how tables call it, and how narrow columns do.
    larger_is_better : bool
    needs : {"distances", "statistics"}
        All pairs of points, or only sums over them.
    scores : callable, optional
        ``scores(space, partitions)`` gives one value for each partition in its natural direction,
        NaN where the index is not defined.
    contributions : callable, optional
        ``contributions(space, partitions)`` gives an object whose ``score(weights)`` does the same
        for rows of point weights; it makes the bootstrap possible.
    sampled : callable, optional
        ``sampled(space, partitions, points)`` estimates the values and their standard errors.
    undefined_when : str
        Completes "is not defined where …" for partitions of two clusters or more.
    metrics : tuple of str
    takes_left_out : bool
        Whether the kernel itself skips points with code -1.
    """

    name: str
    title: str
    short: str
    larger_is_better: bool
    needs: Literal["distances", "statistics"]
    scores: Callable[[Space, Partitions], NDArray[np.float64]] | None = None
    contributions: Callable[[Space, Partitions], Contributions] | None = None
    sampled: Sampler | None = None
    undefined_when: str = "all points lie in one place"
    metrics: tuple[str, ...] = ("euclidean",)
    takes_left_out: bool = False


_ALL_ALONE = "every point is a cluster of its own"

INDICES: dict[str, Index] = {
    index.name: index
    for index in (
        Index(
            "silhouette",
            "Silhouette",
            "Sil.",
            larger_is_better=True,
            needs="distances",
            contributions=silhouette_contributions,
            sampled=sampled_silhouette,
            metrics=METRICS,
            takes_left_out=True,
        ),
        Index(
            "silhouette_clusters",
            "Silhouette (mean of cluster means)",
            "Sil. (K)",
            larger_is_better=True,
            needs="distances",
            contributions=macro_silhouette_contributions,
            metrics=METRICS,
            takes_left_out=True,
        ),
        Index(
            "calinski_harabasz",
            "Calinski-Harabasz",
            "CH",
            larger_is_better=True,
            needs="statistics",
            contributions=calinski_harabasz_contributions,
            undefined_when=_ALL_ALONE,
        ),
        Index(
            "davies_bouldin",
            "Davies-Bouldin",
            "DB",
            larger_is_better=False,
            needs="statistics",
            contributions=davies_bouldin_contributions,
            undefined_when=_ALL_ALONE,
        ),
        Index(
            "cubic_clustering_criterion",
            "Cubic clustering criterion",
            "CCC",
            larger_is_better=True,
            needs="statistics",
            contributions=cubic_clustering_contributions,
            undefined_when="the clusters explain all of the variance or none can be expected",
        ),
        Index(
            "dunn",
            "Dunn",
            "Dunn",
            larger_is_better=True,
            needs="distances",
            scores=dunn_scores,
            undefined_when="every cluster is a single place, so that no diameter is positive",
            metrics=METRICS,
        ),
        Index(
            "c_index",
            "C-index",
            "C",
            larger_is_better=False,
            needs="distances",
            scores=c_index_scores,
            undefined_when="no cluster has two points or all distances are equal",
            metrics=METRICS,
        ),
        Index(
            "s_dbw",
            "S_Dbw",
            "S_Dbw",
            larger_is_better=False,
            needs="statistics",
            scores=s_dbw_scores,
            undefined_when=f"all points lie in one place or {_ALL_ALONE}",
        ),
        Index(
            "cd_bw",
            "CDbw",
            "CDbw",
            larger_is_better=True,
            needs="statistics",
            scores=cd_bw_scores,
            undefined_when="every cluster is a single place",
        ),
    )
}


def get_index(name: str, metric: str = "euclidean") -> Index:
    """Return the index of that name, if it can be computed with that metric."""
    if not isinstance(name, str):
        raise InputError(
            f"index must be one name, got {name!r}; compare_runs takes several.", parameter="index"
        )
    if name not in INDICES:
        raise InputError(
            f"index={name!r} is unknown; choose one of {', '.join(INDICES)}.", parameter="index"
        )
    index = INDICES[name]
    if metric not in index.metrics:
        raise InputError(
            f"index={name!r} has no metric={metric!r}; choose {' or '.join(index.metrics)}.",
            parameter="metric",
        )
    return index
