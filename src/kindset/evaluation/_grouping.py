"""Grouping of spaces: by rank correlation, then by the size of their scores."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import DBSCAN, HDBSCAN

from kindset.evaluation._tree import leaf_densities, multiway_tree, mutual_reachability, tree_labels

Compat = Literal["paper"] | None
_MIN_SAMPLES = 3
# Groups of at most this many spaces are not divided by the size of their scores.
_WHOLE = 5
_TIE = 1e-9


def _hdbscan(
    distances: NDArray[np.float64], compat: Compat
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Labels and, for each item, the density at which it leaves the tree."""
    min_samples = min(_MIN_SAMPLES, len(distances))
    if compat is None:
        root = multiway_tree(mutual_reachability(distances, min_samples))
        return tree_labels(root), leaf_densities(root)
    model = HDBSCAN(
        min_cluster_size=2, min_samples=min_samples, metric="precomputed", copy=True
    ).fit(distances)
    densities = np.zeros(len(distances))
    for row in model._single_linkage_tree_:
        for item in (int(row["left_node"]), int(row["right_node"])):
            if item < len(distances):
                height = float(row["value"])
                densities[item] = 1.0 / height if height > 0 else np.inf
    return np.asarray(model.labels_), densities


def _outlier_scores(densities: NDArray[np.float64]) -> NDArray[np.float64]:
    """GLOSH for a tree without a split: how much sooner than the last one an item leaves."""
    densest = densities.max()
    if not np.isfinite(densest) or densest <= 0:
        return np.zeros(len(densities))
    return np.asarray(1.0 - densities / densest)


def density_groups(distances: NDArray[np.float64], compat: Compat = None) -> NDArray[np.intp]:
    """Group items by density; -1 for outliers.

    Where everything is noise, items whose outlier score lies above the upper fence
    (third quartile + 1.5 interquartile ranges) are outliers and all others are one group.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
    compat : {None, "paper"}
        With "paper", scikit-learn's binary tree, which depends on the order of the items.
    """
    if len(distances) == 1:
        return np.zeros(1, dtype=np.intp)
    labels, densities = _hdbscan(distances, compat)
    if (labels >= 0).any():
        return labels
    scores = _outlier_scores(densities)
    first, third = np.quantile(scores, [0.25, 0.75])
    return np.where(scores > third + 1.5 * (third - first), -1, 0)


def correlation_groups(
    correlation: NDArray[np.float64],
    *,
    method: Literal["hdbscan", "dbscan"] = "hdbscan",
    eps: float = 0.1,
    compat: Compat = None,
) -> NDArray[np.intp]:
    """Phase 1: group spaces that rank partitions alike; -1 for outliers."""
    distances = np.maximum(1.0 - correlation, 0.0)
    np.fill_diagonal(distances, 0.0)
    if method == "dbscan":
        # Distances are rational numbers that often equal eps; rounding must not decide then.
        radius = eps if compat is not None else eps + _TIE
        found = DBSCAN(eps=radius, min_samples=2, metric="precomputed").fit_predict(distances)
        return np.asarray(found)
    return density_groups(distances, compat)


def score_subgroups(
    scores: NDArray[np.float64], groups: NDArray[np.intp], compat: Compat = None
) -> NDArray[np.intp]:
    """Phase 2: divide large groups by the size of their scores; outliers become singletons.

    Returns the subgroup of each space, numbered from 0, and -1 for outliers of phase 1.
    """
    subgroups = np.full(len(groups), -1)
    count = 0
    for group in range(groups.max(initial=-1) + 1):
        members = np.flatnonzero(groups == group)
        labels = np.zeros(len(members), dtype=np.intp)
        if len(members) > _WHOLE:
            rows = scores[members]
            difference = rows[:, None, :] - rows[None, :, :]
            labels = density_groups(np.sqrt((difference**2).sum(axis=2)), compat)
        n_labels = labels.max(initial=-1) + 1
        lone = np.flatnonzero(labels < 0)
        labels[lone] = n_labels + np.arange(len(lone))
        subgroups[members] = labels + count
        count += n_labels + len(lone)
    return subgroups
