"""The raw data beside runs: the same samples, without what is no feature."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset.exceptions import InputError
from kindset.runs import Run, group_runs
from kindset.workbench._dataset import COUNTED, FILES, Dataset
from kindset.workbench._reading import ReadingOptions, read_with


def read_raw(
    path: str | os.PathLike[str], runs: Sequence[Run], *, same_rows: bool = False
) -> NDArray[Any]:
    r"""Read the data that runs were made on, to judge the runs in.

    The column that identifies the samples in the runs is no feature. Where the file has the
    columns that the runs were made on, only these are used: known labels and weights stay out.

    Parameters
    ----------
    path : path-like
        What `read_data` takes.
    runs : sequence of Run
        On one or several data sets; the file must hold the samples of one.
    same_rows : bool, default=False
        State that row i is the same sample in the file and in the runs of that length.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)

    Raises
    ------
    InputError
        If the file cannot be read, or does not hold the samples of the runs in their order.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import kindset
    >>> from kindset.workbench import read_raw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "plants.csv")
    ...     _ = path.write_text("plant,height,kind\n1,2.5,a\n2,2.6,a\n3,9.1,b\n")
    ...     data = kindset.read_data(path, ids="plant", labels="kind")
    ...     runs = [kindset.cluster(data, "kmeans", 2)]
    ...     read_raw(path, runs).shape
    (3, 1)
    """
    ids = [run.about.id_column for run in runs]
    data = read_with(
        path,
        ReadingOptions(
            ids_if_there=next((name for name in ids if name not in (None, COUNTED, FILES)), None)
        ),
    )
    data = _with_columns_of(runs, data)
    X = data.rows().X
    labels = np.zeros(len(data), dtype=np.int64)
    itself = Run(labels, name=data.name, source=data.source, data=data.numbers_fingerprint)
    groups = [group for group in group_runs(runs, same_rows=same_rows) if len(group[0]) == len(X)]
    if not groups:
        sizes = " or ".join(dict.fromkeys(str(len(run)) for run in runs))
        raise InputError(
            f"the raw data has {len(X)} points where {sizes} are expected.", parameter="raw"
        )
    if not any(len(group_runs([itself, *group], same_rows=same_rows)) == 1 for group in groups):
        raise InputError(
            f"{path} does not show that it holds the samples of the runs in the same order; if row "
            "i is the same sample in both, state it with `same_rows`.",
            parameter="same_rows",
        )
    return X


def _with_columns_of(runs: Sequence[Run], data: Dataset) -> Dataset:
    """Keep the columns that the runs of so many samples were made on, if all are there."""
    used = [run.about.columns or [] for run in runs if len(run) == len(data)]
    names = list(dict.fromkeys(name for columns in used for name in columns))
    if not names or not isinstance(data.content, pd.DataFrame) or not {*names} <= {*data.content}:
        return data
    return replace(data, content=data.content[names])
