"""How far runs agree with known labels."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kindset._arrays import as_label_array
from kindset.evaluation import COVERED, KNOWN_MEASURES, known_measures
from kindset.exceptions import InputError
from kindset.runs import Run


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
