"""Agreement of a partition with known labels."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    adjusted_rand_score,
    f1_score,
    normalized_mutual_info_score,
)

from kindset._arrays import as_label_array
from kindset.exceptions import InputError

Matching = Literal["optimal", "sorted"]


def _check_pair(
    labels_true: ArrayLike, labels_pred: ArrayLike
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any], NDArray[Any]]:
    """Codes and values of both labelings, of equal length."""
    true, pred = (
        as_label_array(labels_true, "labels_true"),
        as_label_array(labels_pred, "labels_pred"),
    )
    if len(true) != len(pred):
        raise InputError(
            f"labels_true has {len(true)} labels and labels_pred {len(pred)}; they must be of the "
            "same points."
        )
    true_values, true_codes = np.unique(true, return_inverse=True)
    pred_values, pred_codes = np.unique(pred, return_inverse=True)
    return true_codes, pred_codes, true_values, pred_values


def contingency(true: NDArray[np.intp], pred: NDArray[np.intp]) -> NDArray[np.int64]:
    """Points with each pair of codes, shape (n_true, n_pred)."""
    shape = (int(true.max()) + 1, int(pred.max()) + 1)
    table = np.bincount(true * shape[1] + pred, minlength=shape[0] * shape[1])
    return table.reshape(shape).astype(np.int64)


def _matched_codes(
    true: NDArray[np.intp], pred: NDArray[np.intp], method: Matching
) -> NDArray[np.intp]:
    """For each predicted code the true code it stands for; codes beyond the true ones if none."""
    table = contingency(true, pred)
    n_true, n_pred = table.shape
    target = np.full(n_pred, -1)
    if method == "optimal":
        rows, columns = linear_sum_assignment(table, maximize=True)
        target[columns] = rows
    elif method == "sorted":
        by_size_true = np.argsort(-table.sum(axis=1), kind="stable")
        by_size_pred = np.argsort(-table.sum(axis=0), kind="stable")
        n_both = min(n_true, n_pred)
        target[by_size_pred[:n_both]] = by_size_true[:n_both]
    else:
        raise InputError(f"method={method!r} is unknown; choose 'optimal' or 'sorted'.")
    unmatched = np.flatnonzero(target < 0)
    target[unmatched] = n_true + np.arange(len(unmatched))
    return target


def match_labels(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, method: Matching = "optimal"
) -> NDArray[Any]:
    """Rename predicted clusters to the known classes they stand for.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Integers or strings. The label -1 is a label like any other here.
    method : {"optimal", "sorted"}, default="optimal"
        "optimal" pairs clusters and classes so that most points agree (Hungarian method);
        "sorted" pairs the largest cluster with the largest class, and so on, whatever they hold.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        If there are more clusters than classes, the clusters left over get integers above the
        classes, or for text the names ``"unmatched 1"``, ….

    Examples
    --------
    >>> from kindset.evaluation import match_labels
    >>> match_labels([0, 0, 1, 1, 1], [5, 5, 5, 7, 7])
    array([0, 0, 0, 1, 1])
    >>> match_labels([0, 0, 1, 1, 1], [5, 5, 5, 7, 7], method="sorted")
    array([1, 1, 1, 0, 0])
    """
    true, pred, true_values, _ = _check_pair(labels_true, labels_pred)
    target = _matched_codes(true, pred, method)
    n_extra = int(max(target.max() + 1 - len(true_values), 0))
    if true_values.dtype.kind in "iufb":
        first = int(true_values.max()) + 1
        names = np.concatenate([true_values.astype(np.int64), first + np.arange(n_extra)])
    else:
        extra = [f"unmatched {i + 1}" for i in range(n_extra)]
        names = np.array([*map(str, true_values), *extra])
    return np.asarray(names[target[pred]])


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Share of points that agree with known labels after the best matching (ACC).

    .. math:: \max_{\pi} \frac1N \sum_i 1\{\pi(\hat y_i) = y_i\}

    Range (0, 1], larger is better. Clusters beyond the number of classes match nothing. Cost
    O(N + K³). One cluster gives the share of the largest class.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    accuracy : float

    Examples
    --------
    >>> from kindset.evaluation import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    true, pred, _, _ = _check_pair(labels_true, labels_pred)
    table = contingency(true, pred)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / len(true))


def normalized_mutual_info(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Mutual information over the arithmetic mean of the entropies (NMI).

    .. math:: \frac{2 I(Y; \hat Y)}{H(Y) + H(\hat Y)}

    Range [0, 1], larger is better; not corrected for chance, so it grows with the number of
    clusters. One cluster on both sides gives 1, on one side 0. Cost O(N + K²).

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    nmi : float

    Examples
    --------
    >>> from kindset.evaluation import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 1]), 4)
    0.3437
    """
    true, pred, _, _ = _check_pair(labels_true, labels_pred)
    return float(normalized_mutual_info_score(true, pred, average_method="arithmetic"))


def adjusted_rand(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of pairs of points on which both agree, corrected for chance (ARI).

    Range [-0.5, 1]: 1 for equal partitions, 0 on average for unrelated ones. Cost O(N + K²).

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Returns
    -------
    ari : float

    Examples
    --------
    >>> from kindset.evaluation import adjusted_rand
    >>> adjusted_rand([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    true, pred, _, _ = _check_pair(labels_true, labels_pred)
    return float(adjusted_rand_score(true, pred))


def matched_f1(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    average: Literal["macro", "weighted"] = "macro",
    method: Matching = "optimal",
) -> float:
    """F1 score against known labels, after clusters were matched to classes.

    Range [0, 1], larger is better. Clusters left over by the matching match nothing: their points
    count as missed by their class. Averages are over the known classes.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
    average : {"macro", "weighted"}, default="macro"
        Every class alike, or by its number of points.
    method : {"optimal", "sorted"}, default="optimal"
        See `match_labels`.

    Returns
    -------
    f1 : float

    Examples
    --------
    >>> from kindset.evaluation import matched_f1
    >>> round(matched_f1([0, 0, 1, 1], [1, 1, 0, 1]), 4)
    0.7333
    """
    if average not in ("macro", "weighted"):
        raise InputError(f"average={average!r} is unknown; choose 'macro' or 'weighted'.")
    true, pred, _, _ = _check_pair(labels_true, labels_pred)
    matched = _matched_codes(true, pred, method)[pred]
    classes = np.unique(true)
    return float(f1_score(true, matched, labels=classes, average=average, zero_division=0.0))


def label_wasserstein(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, method: Matching = "optimal"
) -> float:
    r"""Distance between the two label histograms after matching.

    .. math:: W(\hat y, y) = \min_\gamma \sum_{ij} \gamma_{ij} |i - j|

    over plans :math:`\gamma` that turn the histogram of the matched clusters into that of the
    classes, whose numbers :math:`i, j` are their places in sorted order. Range
    [0, K - 1], smaller is better; 0 only says that the sizes agree, not that the same points do.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
    method : {"optimal", "sorted"}, default="optimal"
        See `match_labels`.

    Returns
    -------
    distance : float

    Examples
    --------
    >>> from kindset.evaluation import label_wasserstein
    >>> label_wasserstein([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    """
    true, pred, _, _ = _check_pair(labels_true, labels_pred)
    matched = _matched_codes(true, pred, method)[pred]
    n_labels = int(max(true.max(), matched.max())) + 1
    difference = np.bincount(true, minlength=n_labels) - np.bincount(matched, minlength=n_labels)
    # On a line, the cheapest plan moves what the cumulative histograms differ by.
    return float(np.abs(np.cumsum(difference)).sum() / len(true))


def assignment_table(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, method: Matching = "optimal"
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Count classes (rows) against clusters (columns, in the order of the matching).

    Returns the counts, the names of the classes and the names of the clusters.
    """
    true, pred, true_values, pred_values = _check_pair(labels_true, labels_pred)
    order = np.argsort(_matched_codes(true, pred, method), kind="stable")
    return contingency(true, pred)[:, order], true_values, pred_values[order]
