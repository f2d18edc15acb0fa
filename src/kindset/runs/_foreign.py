"""Reading runs, ours and other people's, from whatever holds labels and embeddings."""

import os
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kindset.exceptions import InputError
from kindset.runs._run import RUN_FILE, Run, read_array

_LABEL_COLUMNS = ("label", "labels", "cluster", "segment")


def load_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """Read runs from folders and from files of other programs.

    Parameters
    ----------
    paths : iterable of path-like
        Each one a run folder; a folder of run folders; an ``.npz`` file with `labels` and, if
        there is one, `embedding`; or a ``.csv`` file of labels, whose embedding is the ``.npy``
        file of the same name beside it, if there is one.

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
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a readable npz file: {error}.") from error
    if "labels" not in arrays:
        raise InputError(f"{path} has no array `labels`.")
    return Run(
        _whole(arrays["labels"], path), arrays.get("embedding"), name=path.stem, method="imported"
    )


def _read_csv(path: Path) -> Run:
    try:
        table = pd.read_csv(path)
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is not a readable CSV table: {error}.") from error
    named = [name for name in table.columns if str(name).lower() in _LABEL_COLUMNS]
    column = named[0] if named else table.columns[-1]
    space = path.with_suffix(".npy")
    return Run(
        _whole(table[column].to_numpy(), path),
        read_array(space) if space.exists() else None,
        name=path.stem,
        method="imported",
    )


def _whole(labels: Any, path: Path) -> Any:
    """Return whole numbers for labels of any kind; names are numbered in their sorted order."""
    labels = np.asarray(labels)
    if pd.isna(labels).any():
        raise InputError(f"{path} has no label for sample {int(pd.isna(labels).argmax()) + 1}.")
    if labels.dtype.kind in "iu":
        return labels
    if labels.dtype.kind == "f" and (labels == np.rint(labels)).all():
        return labels.astype(np.int64)
    return np.unique(labels.astype(str), return_inverse=True)[1]


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
