"""How far a clustering agrees with known labels, as runs are measured."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset._arrays import as_label_array
from kindset.evaluation._external import (
    adjusted_rand,
    clustering_accuracy,
    normalized_mutual_info,
)
from kindset.evaluation._labels import encode_labels

Measure = Callable[[ArrayLike, ArrayLike], float]

KNOWN_MEASURES: dict[str, Measure] = {
    "nmi": normalized_mutual_info,
    "acc": clustering_accuracy,
    "ari": adjusted_rand,
}
"""Measures against known labels, by their names in tables."""

COVERED = "_covered"
"""Ending of the columns that count only the samples that a run labels."""


def known_measures(truth: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Compare the labels of a run with known labels.

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        Known labels: whole numbers or text.
    labels : array-like of shape (n_samples,)
        The run's; -1 is a sample without a label.

    Returns
    -------
    measures : dict of str to float
        "nmi", "acc" and "ari" over all samples, where each sample without a label is a cluster of
        its own; "nmi_covered", "acc_covered" and "ari_covered" over the samples with a label, NaN
        if there are none.

    Examples
    --------
    >>> from kindset.evaluation import known_measures
    >>> found = known_measures(["a", "a", "b", "b"], [0, 0, 1, -1])
    >>> found["acc"], found["acc_covered"]
    (0.75, 1.0)
    """
    known = as_label_array(truth, "the list of known labels")
    codes, _ = encode_labels(labels, n_samples=len(known), noise="drop")
    covered = codes >= 0
    some = {
        name: measure(known[covered], codes[covered]) if covered.any() else float("nan")
        for name, measure in KNOWN_MEASURES.items()
    }
    every = some
    if not covered.all():
        alone, _ = encode_labels(labels, noise="singletons")
        every = {
            "nmi": normalized_mutual_info(known, alone),
            "acc": _accuracy(known, alone, covered),
            "ari": adjusted_rand(known, alone),
        }
    return every | {f"{name}{COVERED}": value for name, value in some.items()}


def _accuracy(
    known: NDArray[np.generic], alone: NDArray[np.int32], covered: NDArray[np.bool_]
) -> float:
    """Return the accuracy over all samples, at the cost of that over the covered ones.

    A class can be matched with one cluster. So of its samples that are alone one is enough.
    """
    left_out = np.flatnonzero(~covered)
    first = left_out[np.unique(known[left_out], return_index=True)[1]]
    enough = np.concatenate([np.flatnonzero(covered), first])
    return clustering_accuracy(known[enough], alone[enough]) * len(enough) / len(known)
