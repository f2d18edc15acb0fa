"""From a file, a folder, an array or a data frame to a `Dataset`."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kindset._arrays import as_label_array
from kindset.datasets import load_image_folder
from kindset.exceptions import InputError
from kindset.runs import Source, data_source, file_source, read_archive, read_array
from kindset.workbench._cleaning import Reading
from kindset.workbench._codebook import Codebook
from kindset.workbench._dataset import COUNTED, FILES, Dataset
from kindset.workbench._notes import collected_notes
from kindset.workbench._tables import (
    Table,
    check_ids,
    cleaned,
    keep_columns,
    read_table,
    take_column,
    usable_weights,
)
from kindset.workbench._types import check_types, column_types

ARRAYS = (".npy", ".npz")
"""Endings of files that hold arrays."""

FOLDERS = "folder"
"""What `labels` says if the folders of images are the known labels."""

_DATA_NAMES = ("X", "x", "data", "images", "features", "embedding")
_LABEL_NAMES = ("labels", "label", "y", "target")
_ID_NAMES = ("ids", "id", "names", "files")


@dataclass(frozen=True)
class ReadingOptions:
    """What a user says about the data; see `read_data`."""

    columns: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    ids: Any = None
    labels: Any = None
    weights: Any = None
    levels: Any = None
    questions: Mapping[str, str] | None = None
    types: Mapping[str, str] | None = None
    missing: Sequence[str] = ()
    trim: bool = True
    ignore_case: bool = True
    decimal: str = "auto"
    header_rows: int | None = None
    sheet: str | int | None = None
    size: int | tuple[int, int] | None = None
    crop: bool = False
    colours: str = "auto"
    name: str | None = None
    about: str = ""
    verbose: bool = False
    ids_if_there: str | None = None

    def reading(self, codebook: Codebook) -> Reading:
        """Return how the cells of a table are to be read."""
        kept = (self.ids, self.labels, self.ids_if_there)
        return Reading(
            text_levels=codebook.text_levels,
            every=codebook.every,
            text_columns=[name for name in kept if isinstance(name, str)],
            missing=list(self.missing),
            trim=self.trim,
            ignore_case=self.ignore_case,
            decimal=self.decimal,
            header_rows=self.header_rows,
            sheet=self.sheet,
        )


def read_data(
    source: str | os.PathLike[str] | pd.DataFrame | ArrayLike,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    ids: str | ArrayLike | None = None,
    labels: str | ArrayLike | None = None,
    weights: str | ArrayLike | None = None,
    levels: str | os.PathLike[str] | Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
    questions: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    trim: bool = True,
    ignore_case: bool = True,
    decimal: str = "auto",
    header_rows: int | None = None,
    sheet: str | int | None = None,
    size: int | tuple[int, int] | None = None,
    crop: bool = False,
    colours: str = "auto",
    name: str | None = None,
    about: str = "",
    verbose: bool = False,
) -> Dataset:
    """Read what is to be clustered: a table, an array, or a folder of images.

    Parameters
    ----------
    source : path-like, DataFrame or array-like
        A CSV, Excel (``.xlsx``), SPSS (``.sav``), Stata (``.dta``) or Parquet file, an ``.npy`` or
        ``.npz`` file, a folder of images, a data frame, or an array of shape (n, d),
        (n, height, width) or (n, height, width, channels). Value labels, question texts and
        missing codes of SPSS and Stata files are used.
    columns, exclude : sequence of str, optional
        Columns of a table to use, or to leave out. "q1:q8" stands for all columns from q1 to q8.
    ids : str or array-like, optional
        The column that identifies the rows, or the ids themselves. Image folders use file names.
    labels : str or array-like, optional
        The column with known labels, or the labels themselves; "folder" for folders of images.
        They are only compared with.
    weights : str or array-like, optional
        The column with the rows' weights, or the weights themselves, for surveys.
    levels : path-like, dict or list, optional
        The order of text answers: a TOML file, lists by column, or one list for all columns.
    questions : dict of str to str, optional
        The words of questions by column.
    types : dict of str to {"ordinal", "nominal", "numeric"}, optional
        What columns hold. Others are guessed; see `Dataset.column_types`.
    missing : sequence of str, optional
        Further marks of a missing answer, such as "-9" or "don't know".
    trim, ignore_case : bool, default=True
        Whether text answers that differ only in blanks around them, or in case, are one answer.
    decimal : {"auto", ".", ","}, default="auto"
        What stands before the fraction of a number that is written as text.
    header_rows : {1, 2, 3}, optional
        Rows of a file before the answers. The second holds the words of questions. By default the
        additional rows of Qualtrics are recognised.
    sheet : str or int, optional
        The sheet of an Excel file, by name or number from 1; by default the first.
    size : int or (height, width), optional
        Bring images to this size.
    crop : bool, default=False
        Crop images instead of squeezing them.
    colours : {"auto", "grey", "colour"}, default="auto"
        How images are read.
    name : str, optional
        What to call the data; by default the name of the file.
    about : str, optional
        A sentence on the data, for reports.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    data : Dataset

    Raises
    ------
    InputError
        If it cannot be read, naming the file, column or row.

    Examples
    --------
    >>> import pandas as pd
    >>> import kindset
    >>> table = pd.DataFrame({"who": ["a", "b", "c"], "q1": [1, 2, 3], "q2": [3, 2, 2]})
    >>> data = kindset.read_data(table, ids="who", name="Small survey")
    >>> data
    Dataset('Small survey', table, 3 × 2)
    """
    options = ReadingOptions(
        columns, exclude, ids, labels, weights, levels, questions, types, missing, trim,
        ignore_case, decimal, header_rows, sheet, size, crop, colours, name, about, verbose,
    )  # fmt: skip
    return read_with(source, options)


def read_with(source: Any, options: ReadingOptions) -> Dataset:
    """Read data by options in one object; see `read_data`."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.is_dir():
            return _read_folder(path, options)
        if path.suffix.lower() in ARRAYS:
            return _read_array_file(path, options)
        return _read_table_file(path, options)
    if hasattr(source, "columns"):
        return _from_frame(source, options)
    return _from_array(source, options)


def _read_folder(path: Path, options: ReadingOptions) -> Dataset:
    if isinstance(options.labels, str) and options.labels != FOLDERS:
        raise InputError(
            f"for a folder of images, `labels` can only be {FOLDERS}.", parameter="labels"
        )
    with collected_notes() as notes:
        data = load_image_folder(
            path,
            size=options.size,
            crop=options.crop,
            mode=options.colours,  # type: ignore[arg-type]
            verbose=options.verbose,
        )
        _note_skipped(data.skipped)
    labels = options.labels
    if isinstance(labels, str):
        labels = data.target
        if labels is None:
            raise InputError(
                f"`labels` {FOLDERS}: all images of {path} lie in one folder.", parameter="labels"
            )
    ids = pd.Series(data.names, name=FILES)
    name = options.name or path.resolve().name
    return Dataset(
        data.images,
        ids,
        name,
        data_source(data.images, name, ids),
        labels=_known_labels(labels, FOLDERS, len(ids)),
        about=options.about,
        notes=tuple(notes),
        crop=options.crop,
        unused=tuple(data.skipped),
    )


def _note_skipped(skipped: Sequence[tuple[str, str]]) -> None:
    if not skipped:
        return
    shown = "; ".join(f"{name} ({reason})" for name, reason in skipped[:5])
    more = f"; and {len(skipped) - 5} more" if len(skipped) > 5 else ""
    warnings.warn(
        f"{len(skipped)} file{'s were' if len(skipped) > 1 else ' was'} left out: {shown}{more}.",
        UserWarning,
        stacklevel=2,
    )


def _read_array_file(path: Path, options: ReadingOptions) -> Dataset:
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    labels, ids = options.labels, options.ids
    if path.suffix.lower() == ".npy":
        X = read_array(path)
    else:
        arrays = read_archive(path)
        X = arrays[_data_array(arrays, path)]
        labels = _held(arrays, _LABEL_NAMES, len(X), path) if labels is None else labels
        ids = _held(arrays, _ID_NAMES, len(X), path) if ids is None else ids
    return _array_dataset(X, options, _Origin(path), labels, ids)


def _data_array(arrays: Mapping[str, Any], path: Path) -> str:
    found = [name for name in _DATA_NAMES if name in arrays] or list(arrays)
    if len(found) == 1 or (found and found[0] in _DATA_NAMES):
        return found[0]
    held = ", ".join(arrays) or "nothing"
    raise InputError(f"{path} must hold an array called X, data or images; it has {held}.")


def _held(arrays: Mapping[str, Any], names: Sequence[str], n: int, path: Path) -> Any:
    """Return the array of an archive under one of the names, if it is one value per sample."""
    known = [name for name in names if name in arrays]
    if not known:
        return None
    found = arrays[known[0]]
    if len(np.atleast_1d(found)) != n:
        raise InputError(f"{path} holds {len(np.atleast_1d(found))} {known[0]} for {n} samples.")
    return found


def _from_array(source: Any, options: ReadingOptions) -> Dataset:
    return _array_dataset(np.asarray(source), options, _Origin(), options.labels, options.ids)


@dataclass(frozen=True)
class _Origin:
    """Where data came from: a file, or the memory of a Python program."""

    path: Path | None = None

    def called(self, what: str) -> str:
        """Name it in a message."""
        return what if self.path is None else str(self.path)

    def name(self, given: str | None) -> str:
        """Return what to call the data."""
        return given or ("data" if self.path is None else self.path.stem)

    def source(self, content: Any, name: str, ids: "pd.Series[Any] | None") -> Source:
        """Return the fingerprint of everything that was read."""
        if self.path is None:
            return data_source(content, name, ids)
        return file_source(self.path, ids)


def _array_dataset(
    X: NDArray[Any], options: ReadingOptions, origin: _Origin, labels: Any, ids: Any
) -> Dataset:
    where = origin.called("the array")
    if X.dtype.kind not in "iufb" or X.ndim not in (2, 3, 4) or 0 in X.shape:
        raise InputError(
            f"{where} holds {X.dtype} values of shape {X.shape}; give numbers of shape (N, d), "
            "(N, height, width) or (N, height, width, channels)."
        )
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        wrong = int(np.flatnonzero(~np.isfinite(X.reshape(len(X), -1)).all(axis=1))[0])
        raise InputError(f"{where} holds NaN or infinite numbers, first in sample {wrong + 1}.")
    for parameter, value in (("ids", ids), ("labels", labels), ("weights", options.weights)):
        if isinstance(value, str):
            raise InputError(
                f"`{parameter}` {value}: {where} has no named columns; give the values themselves.",
                parameter=parameter,
            )
    name, own = origin.name(options.name), _own_ids(ids, len(X))
    return Dataset(
        X,
        _numbered(len(X)) if own is None else own,
        name,
        origin.source(X, name, own),
        labels=_known_labels(labels, "label", len(X)),
        weights=_own_weights(options.weights, len(X)),
        about=options.about,
    )


def _read_table_file(path: Path, options: ReadingOptions) -> Dataset:
    codebook = Codebook.of(options.levels, options.questions)
    with collected_notes() as notes:
        table = read_table(path, options.reading(codebook))
    return _table_dataset(table, codebook, options, _Origin(path), notes)


def _from_frame(source: Any, options: ReadingOptions) -> Dataset:
    frame = source if isinstance(source, pd.DataFrame) else _as_pandas(source)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise InputError("the table holds no rows.")
    codebook = Codebook.of(options.levels, options.questions)
    with collected_notes() as notes:
        table = cleaned(Table(frame), options.reading(codebook))
    return _table_dataset(table, codebook, options, _Origin(), notes)


def _as_pandas(source: Any) -> pd.DataFrame:
    """Turn a data frame of another library into one of pandas, which keeps the order of answers."""
    try:
        return source.to_pandas()
    except (AttributeError, ImportError) as error:
        library = type(source).__module__.partition(".")[0]
        raise InputError(
            f"the table of {library} cannot be converted; give one of pandas, or install pyarrow."
        ) from error


def _table_dataset(
    found: Table,
    codebook: Codebook,
    options: ReadingOptions,
    origin: _Origin,
    notes: Sequence[str],
) -> Dataset:
    """Sort the columns of a table into ids, weights, known labels, and those to cluster by."""
    codebook = codebook.for_table(found.frame).extended(found.questions, found.labels)
    declared = check_types(options.types, found.frame)
    table, n = found.frame.copy(deep=False), len(found.frame)
    named = options.ids_if_there if options.ids_if_there in table else None
    ids = _taken(table, named if options.ids is None else options.ids, "ids")
    weights = _taken(table, options.weights, "weights")
    labels = _taken(table, options.labels, "labels")
    if isinstance(options.labels, str) and options.labels in codebook.labels:
        labels = codebook.in_words(labels.to_frame())[options.labels].astype(object)
    table = keep_columns(table, options.columns, options.exclude)
    if table.shape[1] == 0:
        raise InputError("there is no column left to cluster by.")
    name, own = origin.name(options.name), _own_ids(ids, n)
    return Dataset(
        table,
        _numbered(n) if own is None else own,
        name,
        origin.source(found.frame, name, own),
        labels=_known_labels(labels, "label", n),
        weights=_own_weights(weights, n),
        codebook=codebook,
        column_types=column_types(table, codebook, declared, found.measures),
        about=options.about,
        notes=tuple(notes),
    )


def _taken(table: pd.DataFrame, value: Any, parameter: str) -> Any:
    """Take a column out of the table if it is named; values pass through."""
    return take_column(table, value, parameter) if isinstance(value, str) else value


def _numbered(n: int) -> "pd.Series[Any]":
    return pd.Series(range(1, n + 1), name=COUNTED)


def _as_column(values: Any, name: str, n: int, parameter: str) -> "pd.Series[Any]":
    column = pd.Series(values).reset_index(drop=True)
    if len(column) != n:
        raise InputError(
            f"`{parameter}` has {len(column)} values for {n} samples.", parameter=parameter
        )
    return column if column.name is not None else column.rename(name)


def _own_ids(values: Any, n: int) -> "pd.Series[Any] | None":
    return None if values is None else check_ids(_as_column(values, "id", n, "ids"))


def _own_weights(values: Any, n: int) -> "pd.Series[Any] | None":
    return None if values is None else usable_weights(_as_column(values, "weight", n, "weights"))


def _known_labels(values: Any, name: str, n: int) -> "pd.Series[Any] | None":
    if values is None:
        return None
    column = _as_column(values, name, n, "labels")
    if column.isna().any():
        raise InputError(
            f"column {column.name!r} has no label in row {column.isna().argmax() + 1}.",
            parameter="labels",
        )
    return pd.Series(as_label_array(column.to_numpy(), f"column {column.name!r}"), name=column.name)
