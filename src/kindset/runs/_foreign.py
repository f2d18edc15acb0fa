"""Reading runs, ours and other people's, from whatever holds labels and embeddings."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kindset._replacing import put_back, put_back_all
from kindset.exceptions import InputError
from kindset.runs._label_files import (
    Ids,
    Labels,
    ids_of_archive,
    read_label_table,
    whole_numbers,
)
from kindset.runs._names import distinct_names
from kindset.runs._run import RUN_FILE, Run, read_archive, read_array
from kindset.runs._sharing import SharedSpaces
from kindset.runs._source import Source, hash_ids

# What stands beside runs, and a shell lists with them.
_BESIDE = ("sweep.json", "compare.json")


def load_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """Read runs from folders and from files of other programs.

    Parameters
    ----------
    paths : iterable of path-like
        Each one a run folder; a folder of run folders and such files; an ``.npz`` file with
        `labels` and, if there are any, `embedding` and `ids`; or a ``.csv`` file of labels (a
        single column, or one called label, cluster, segment, class, target, truth or y, and
        perhaps one called id), whose embedding is the ``.npy`` file of the same name beside it,
        if there is one.

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
    labels = whole_numbers(arrays["labels"], path)
    ids = ids_of_archive(arrays, len(labels), path)
    return _imported(path, labels, arrays.get("embedding"), ids)


def _read_csv(path: Path) -> Run:
    embedding = path.with_suffix(".npy")
    space = read_array(embedding) if embedding.exists() else None
    labels, ids = read_label_table(path, None if space is None else len(space))
    return _imported(path, labels, space, ids)


def _imported(path: Path, labels: Labels, space: Any, ids: Ids) -> Run:
    # The file holds a result, not the data; so its bytes say nothing about the samples.
    source = None if ids is None else Source(path.name, "", hash_ids(ids))
    return Run(labels, space, name=path.stem, method="imported", source=source)


def _place(path: Path) -> str:
    return path.resolve().name if path.is_dir() else path.resolve().parent.name
