"""How far runs agree with known labels."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kindset._arrays import as_label_array
from kindset.evaluation import (
    adjusted_rand,
    clustering_accuracy,
    encode_labels,
    normalized_mutual_info,
)
from kindset.exceptions import InputError
from kindset.runs import Run

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
    >>> from kindset.comparison import known_measures
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


def known_table(runs: Sequence[Run], truth: NDArray[np.int64] | None) -> pd.DataFrame:
    """Return the measures of every run, a row for each; no row without known labels."""
    columns = [*KNOWN_MEASURES, *(f"{name}{COVERED}" for name in KNOWN_MEASURES)]
    measured = [] if truth is None else [known_measures(truth, run.labels) for run in runs]
    names = [run.name for run in runs[: len(measured)]]
    return pd.DataFrame(
        measured, columns=columns, index=pd.Index(names, name="run"), dtype=np.float64
    )


def check_truth(truth: ArrayLike | None, n_samples: int) -> NDArray[np.int64] | None:
    """Return known labels as whole numbers; names are numbered in their sorted order."""
    if truth is None:
        return None
    known = as_label_array(truth, "the list of known labels")
    if len(known) != n_samples:
        raise InputError(
            f"there are {len(known)} known labels for {n_samples} samples.", parameter="truth"
        )
    if known.dtype.kind not in "iuf":
        known = np.unique(known, return_inverse=True)[1]
    return known.astype(np.int64)
