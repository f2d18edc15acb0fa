"""Reading runs, ours and other people's, from whatever holds labels and embeddings."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kindset._arrays import as_label_array
from kindset.exceptions import InputError
from kindset.runs._run import RUN_FILE, Run, read_archive, read_array

_LABEL_COLUMNS = ("label", "labels", "cluster", "segment", "class", "target", "truth", "y")


def load_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """Read runs from folders and from files of other programs.

    Parameters
    ----------
    paths : iterable of path-like
        Each one a run folder; a folder of run folders; an ``.npz`` file with `labels` and, if
        there is one, `embedding`; or a ``.csv`` file of labels (a single column, or one called
        label, cluster, segment, class, target, truth or y), whose embedding is the ``.npy`` file
        of the same name beside it, if there is one.

    Returns
    -------
    runs : list of Run
        With names that tell them apart.

    Raises
    ------
    InputError
        Naming the file that cannot be read, and why.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    found = [run for path in paths for run in _read(Path(path))]
    if not found:
        raise InputError("there are no runs to read.")
    return _with_distinct_names(found)


def _read(path: Path) -> list[Run]:
    if not path.exists():
        raise InputError(f"there is no file or folder {path}.")
    if path.is_dir():
        if (path / RUN_FILE).exists():
            return [Run.load(path)]
        inner = sorted(folder.parent for folder in path.glob(f"*/{RUN_FILE}"))
        if not inner:
            raise InputError(f"{path} is neither a run nor a folder of runs.")
        return [Run.load(folder) for folder in inner]
    readers = {".npz": _read_npz, ".csv": _read_csv}
    if path.suffix.lower() not in readers:
        raise InputError(f"{path} is neither a run folder nor an .npz or .csv file.")
    return [readers[path.suffix.lower()](path)]


def _read_npz(path: Path) -> Run:
    arrays = read_archive(path)
    if "labels" not in arrays:
        raise InputError(f"{path} has no array `labels`.")
    return Run(
        _whole(arrays["labels"], path), arrays.get("embedding"), name=path.stem, method="imported"
    )


def _read_csv(path: Path) -> Run:
    space = path.with_suffix(".npy")
    return Run(
        _whole(_label_column(path).to_numpy(), path),
        read_array(space) if space.exists() else None,
        name=path.stem,
        method="imported",
    )


def _label_column(path: Path) -> "pd.Series[Any]":
    """Find the labels in a table, with or without a line of names."""
    try:
        # A blank line is a label that is missing, unless it only ends the file.
        table = pd.read_csv(path, header=None, dtype=str, skip_blank_lines=False)
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is not a readable CSV table: {error}.") from error
    table = table.loc[: table.last_valid_index() if table.shape[1] == 1 else None]
    names = [str(name).strip().lower() for name in table.iloc[0]]
    named = [number for number, name in enumerate(names) if name in _LABEL_COLUMNS]
    if len(named) == 1:
        return table.iloc[1:, named[0]]
    if table.shape[1] > 1:
        listed = ", ".join(str(name) for name in table.iloc[0])
        raise InputError(
            f"{path} must have one column of labels, called {', '.join(_LABEL_COLUMNS[:-1])} or "
            f"{_LABEL_COLUMNS[-1]}; it has {listed}."
        )
    column = table.iloc[:, 0]
    is_label = names[0].lstrip("-").isdigit() or (column.iloc[1:] == column.iloc[0]).any()
    return column if is_label else column.iloc[1:]


def _whole(labels: Any, path: Path) -> Any:
    """Return whole numbers for labels of any kind; names are numbered in their sorted order."""
    labels = np.asarray(labels)
    if pd.isna(labels).any():
        raise InputError(f"{path} has no label for sample {int(pd.isna(labels).argmax()) + 1}.")
    labels = as_label_array(_numbers_of(labels), f"the label column of {path}")
    if labels.dtype.kind in "iuf":
        return labels.astype(np.int64)
    return np.unique(labels, return_inverse=True)[1]


def _numbers_of(labels: Any) -> Any:
    """Read text as numbers if all of it is."""
    try:
        return labels.astype(np.float64) if labels.dtype.kind in "OU" else labels
    except ValueError:
        return labels


def _with_distinct_names(runs: list[Run]) -> list[Run]:
    seen = Counter(run.name for run in runs)
    number: Counter[str] = Counter()
    distinct = []
    for run in runs:
        if seen[run.name] > 1:
            number[run.name] += 1
            run = replace(run, name=f"{run.name} #{number[run.name]}")
        distinct.append(run)
    return distinct
