"""Reading labels that other programs or people wrote, and the ids of their samples."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset._arrays import as_label_array
from kindset._files import csv_separator
from kindset._reading import read_archive, read_array, reason, regular_file
from kindset._shown import shown
from kindset.exceptions import InputError
from kindset.runs._source import as_ids

Labels = NDArray[np.int64]
Ids = NDArray[np.str_] | None

_LABEL_COLUMNS = ("label", "labels", "cluster", "segment", "class", "target", "truth", "y")
_LABEL_ARRAYS = ("labels", "label", "y", "target", "truth")
_ID_NAMES = ("ids", "id")


def read_labels(path: str | os.PathLike[str]) -> tuple[Labels, Ids]:
    r"""Read labels, and the ids of their samples if the file has any.

    Parameters
    ----------
    path : path-like
        A ``.csv`` file with a single column, or with one called label, cluster, segment, class,
        target, truth or y, and perhaps one called id; a ``.npy`` file; or an ``.npz`` file with an
        array called labels, label, y, target or truth, and perhaps one called ids.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Whole numbers; names are numbered in their sorted order.
    ids : ndarray of str of shape (n_samples,) or None

    Raises
    ------
    InputError
        Naming the file that cannot be read, and why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from kindset.runs import read_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "known.csv")
    ...     _ = path.write_text("id,class\nr7,cat\nr8,dog\nr9,cat")
    ...     read_labels(path)
    (array([0, 1, 0]), array(['r7', 'r8', 'r9'], dtype='<U2'))
    """
    path = Path(path)
    readers = {".csv": read_label_table, ".npy": _read_npy, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        raise InputError(f"labels are read from a .csv, .npy or .npz file, not from {path}.")
    return readers[path.suffix.lower()](path)


def _read_npy(path: Path) -> tuple[Labels, Ids]:
    return whole_numbers(read_array(path), path), None


def _read_npz(path: Path) -> tuple[Labels, Ids]:
    arrays = read_archive(path)
    names = [name for name in _LABEL_ARRAYS if name in arrays]
    if len(names) != 1:
        raise InputError(
            f"{path} must have one array of labels, called {', '.join(_LABEL_ARRAYS[:-1])} or "
            f"{_LABEL_ARRAYS[-1]}; it has {', '.join(arrays) or 'none'}."
        )
    labels = whole_numbers(arrays[names[0]], path)
    return labels, ids_of_archive(arrays, len(labels), path)


def read_label_table(path: Path, n_expected: int | None = None) -> tuple[Labels, Ids]:
    """Read the labels of a CSV file, and its ids.

    `n_expected` is the number of samples if it is known: it tells a header from a label.
    """
    table = _read_text_table(path)
    header = [str(name).strip().lower() for name in table.iloc[0]]
    named = [number for number, name in enumerate(header) if name in _LABEL_COLUMNS]
    if len(named) == 1:
        labels = whole_numbers(table.iloc[1:, named[0]].to_numpy(), path)
        columns = [number for number, name in enumerate(header) if name in _ID_NAMES]
        if not columns:
            return labels, None
        return labels, as_ids(table.iloc[1:, columns[0]].to_numpy(), f"the id column of {path}")
    if table.shape[1] > 1:
        listed = ", ".join(str(name) for name in table.iloc[0])
        raise InputError(
            f"{path} must have one column of labels, called {', '.join(_LABEL_COLUMNS[:-1])} or "
            f"{_LABEL_COLUMNS[-1]}; it has {listed}."
        )
    column = table.iloc[:, 0]
    is_label = header[0].lstrip("-").isdigit() or (column.iloc[1:] == column.iloc[0]).any()
    # pandas writes "0" above a column without a name.
    if n_expected is not None and len(column) == n_expected + 1:
        is_label = False
    return whole_numbers((column if is_label else column.iloc[1:]).to_numpy(), path), None


def _read_text_table(path: Path) -> pd.DataFrame:
    try:
        regular_file(path)
        with path.open(encoding="utf-8-sig") as file:
            separator = csv_separator(file.readline())
        # A blank line is a label that is missing, unless it only ends the file.
        table = pd.read_csv(
            path,
            sep=separator,
            header=None,
            dtype=str,
            skip_blank_lines=False,
            encoding="utf-8-sig",
        )
    except InputError:
        raise
    except (ValueError, OSError) as error:
        raise InputError(f"{shown(path)} is not a readable CSV table: {reason(error)}.") from error
    return table.loc[: table.last_valid_index() if table.shape[1] == 1 else None]


def ids_of_archive(arrays: dict[str, NDArray[Any]], n_samples: int, path: Path) -> Ids:
    """Return the ids of an npz file as text; None if it has none."""
    name = next((name for name in _ID_NAMES if name in arrays), None)
    if name is None:
        return None
    ids = as_ids(arrays[name], f"the array {name!r} of {path}")
    if len(ids) != n_samples:
        raise InputError(f"{path} has {len(ids)} ids for {n_samples} labels.")
    return ids


def whole_numbers(labels: Any, path: Path) -> Labels:
    """Return whole numbers for labels of any kind; names are numbered in their sorted order."""
    labels = np.asarray(labels)
    if pd.isna(labels).any():
        raise InputError(f"{path} has no label for sample {int(pd.isna(labels).argmax()) + 1}.")
    labels = as_label_array(_numbers_of(labels), f"the list of labels in {path}")
    if labels.dtype.kind in "iuf":
        return np.asarray(labels, dtype=np.int64)
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)


def _numbers_of(labels: Any) -> Any:
    """Read text as numbers if all of it is."""
    try:
        return labels.astype(np.float64) if labels.dtype.kind in "OU" else labels
    except ValueError:
        return labels
