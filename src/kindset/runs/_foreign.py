"""Reading runs, ours and other people's, from whatever holds labels and embeddings."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kindset._arrays import as_label_array
from kindset._files import csv_separator
from kindset._reading import read_archive, read_array, regular_file
from kindset._replacing import put_back, put_back_all
from kindset.exceptions import InputError
from kindset.runs._names import distinct_names
from kindset.runs._run import RUN_FILE, Run
from kindset.runs._sharing import SharedSpaces

# What stands beside runs, and a shell lists with them.
_BESIDE = ("sweep.json", "compare.json")
_LABEL_COLUMNS = ("label", "labels", "cluster", "segment", "class", "target", "truth", "y")


def load_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """Read runs from folders and from files of other programs.

    Parameters
    ----------
    paths : iterable of path-like
        Each one a run folder; a folder of run folders and such files; an ``.npz`` file with
        `labels` and, if there is one, `embedding`; or a ``.csv`` file of labels (a single column,
        or one called label, cluster, segment, class, target, truth or y), whose embedding is the
        ``.npy`` file of the same name beside it, if there is one.

    Returns
    -------
    runs : list of Run
        With names that tell them apart. Runs whose spaces are equal hold one array. Exhibits that
        are damaged are left out, and the run's ``details["notes"]`` say so.

    Raises
    ------
    InputError
        Naming the file that cannot be read, and why.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    given = [path for path in map(Path, paths) if path.name not in _BESIDE]
    tables = {path.with_suffix("") for path in given if path.suffix.lower() == ".csv"}
    share = SharedSpaces()
    found = [
        (source, run)
        for path in given
        # The embedding of a table of labels that is given too: a shell lists both.
        if not (path.suffix.lower() == ".npy" and path.with_suffix("") in tables)
        for source, run in _read(path, share)
    ]
    if not found:
        raise InputError("there are no runs to read.")
    names = distinct_names([run for _, run in found], [_place(path) for path, _ in found])
    return [
        run if run.name == name else replace(run, name=name)
        for (_, run), name in zip(found, names, strict=True)
    ]


def _read(path: Path, share: SharedSpaces) -> Iterator[tuple[Path, Run]]:
    """Read runs one at a time: equal spaces need not be in memory side by side."""
    put_back(path)
    if not path.exists():
        raise InputError(f"there is no file or folder {path}.")
    readers = {".npz": _read_npz, ".csv": _read_csv}
    if (path / RUN_FILE).exists():
        yield path, share(Run.load(path, strict=False))
    elif path.is_dir():
        put_back_all(path)
        # A name with a dot in front is a run that is being written.
        inside = [item for item in sorted(path.iterdir()) if not item.name.startswith(".")]
        inner = [item for item in inside if (item / RUN_FILE).exists()]
        inner += [item for item in inside if any(item.glob(f"[!.]*/{RUN_FILE}"))]
        inner += [item for item in inside if item.suffix.lower() in readers]
        if not inner:
            raise InputError(f"{path} is neither a run nor a folder of runs.")
        for item in inner:
            yield from _read(item, share)
    elif path.suffix.lower() in readers:
        yield path, share(readers[path.suffix.lower()](path))
    else:
        raise InputError(f"{path} is neither a run folder nor an .npz or .csv file.")


def _read_npz(path: Path) -> Run:
    arrays = read_archive(path)
    if "labels" not in arrays:
        raise InputError(f"{path} has no array `labels`.")
    return Run(
        _whole(arrays["labels"], path), arrays.get("embedding"), name=path.stem, method="imported"
    )


def _read_csv(path: Path) -> Run:
    embedding = path.with_suffix(".npy")
    space = read_array(embedding) if embedding.exists() else None
    column = _label_column(path, None if space is None else len(space))
    return Run(
        _whole(column.to_numpy(), path),
        space,
        name=path.stem,
        method="imported",
    )


def _label_column(path: Path, n_expected: int | None) -> "pd.Series[Any]":
    """Find the labels in a table, with or without a line of names."""
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
    except (ValueError, OSError) as error:
        reason = str(error).strip().rstrip(".")
        raise InputError(f"{path} is not a readable CSV table: {reason}.") from error
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
    # pandas writes "0" above a column without a name.
    if n_expected is not None and len(column) == n_expected + 1:
        is_label = False
    return column if is_label else column.iloc[1:]


def _whole(labels: Any, path: Path) -> Any:
    """Return whole numbers for labels of any kind; names are numbered in their sorted order."""
    labels = np.asarray(labels)
    if pd.isna(labels).any():
        raise InputError(f"{path} has no label for sample {int(pd.isna(labels).argmax()) + 1}.")
    labels = as_label_array(_numbers_of(labels), f"the list of labels in {path}")
    if labels.dtype.kind in "iuf":
        return labels.astype(np.int64)
    return np.unique(labels, return_inverse=True)[1]


def _numbers_of(labels: Any) -> Any:
    """Read text as numbers if all of it is."""
    try:
        return labels.astype(np.float64) if labels.dtype.kind in "OU" else labels
    except ValueError:
        return labels


def _place(path: Path) -> str:
    return path.resolve().name if path.is_dir() else path.resolve().parent.name
