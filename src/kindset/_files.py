"""Writing that is never seen half done: beside the place first, then moved there in one step."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kindset._reading import read_document as read_document
from kindset._reading import read_json, regular_file
from kindset._replacing import clear_left_over, new_folder, replace_folder, sync_folder, sync_tree
from kindset._shown import shown as shown
from kindset.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

MARKERS = {"run.json": "format", "compare.json": "rankings", "sweep.json": "kindset"}
"""Every output folder has one of these files, with this key; another is not ours to replace."""


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step; a crash leaves the old one whole.

    Bytes of a file's name that are no text are written as escapes, which JSON reads back.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step; a crash leaves the old one whole.

    Raises
    ------
    InputError
        If there is no folder to write into, or if something else than a regular file is there.
    OSError
        With the name of the file, for example if the disk is full.
    """
    _check_place(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.chmod(0o666 & ~_umask())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _named(error, path) from error
    sync_folder(path.parent)


def _check_place(path: Path) -> None:
    """Refuse a file whose folder is missing, or whose place holds something else than a file."""
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {shown(path.parent)} to write {shown(path.name)} into."
        )
    if path.exists():
        regular_file(path)


def check_output_file(path: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a file that `write_bytes` would not write.

    Parameters
    ----------
    path : Path
        The file that will be written.
    force : bool
        Whether an earlier file may be replaced.

    Raises
    ------
    InputError
        If there is no folder for it, if nothing can be written there, if the file exists and may
        not be replaced, or if it is a folder, a pipe, a socket or a device.
    """
    _check_place(path)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {shown(path.parent)}; choose another folder.")
    if path.exists() and not force:
        raise InputError(
            f"{shown(path)} exists already; choose another name, or allow it to be replaced.",
            parameter="force",
        )


def _named(error: OSError, path: Path) -> OSError:
    """Return an error that names the file a user asked for, not the one beside it."""
    # numpy only counts the bytes that it could not write.
    short = error.errno is None and "requested" in str(error)
    full = "not all of it could be written; the disk may be full"
    words = full if short else error.strerror or str(error)
    return OSError(error.errno or errno.EIO, words, str(path))


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Let errors of what writes a file name it, where that does not."""
    try:
        yield
    except OSError as error:
        raise error if error.filename else _named(error, path) from error


def check_output_folder(path: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a folder that `output_folder` would not write.

    What a process that was killed while it replaced the folder has left is put back or removed.
    """
    place = path.resolve()
    if place == Path.cwd():
        raise InputError("the output folder cannot be the current one; name a new one.")
    above = next(folder for folder in place.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {shown(above)}; choose another.")
    clear_left_over(place)
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f"{shown(path)} is a file; choose another.")
    if all(item.name.endswith(".part") for item in path.iterdir()):
        return  # empty, or left so by a process that was killed
    if not is_ours(path):
        raise InputError(f"{shown(path)} holds files that Kindset did not write; choose another.")
    if not force:
        raise InputError(
            f"{shown(path)} exists already; choose another, or allow it to be replaced.",
            parameter="force",
        )


def is_ours(path: Path) -> bool:
    """Whether Kindset wrote this folder."""
    for marker, key in MARKERS.items():
        try:
            if key in read_json(path / marker, finite=False):
                return True
        except InputError:  # damaged; a run also has its labels
            return (path / "labels.npy").exists()
        except (OSError, TypeError):
            continue
    return False


@contextmanager
def output_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder to fill, which takes the place of `path` when everything went well."""
    check_output_folder(path, force=force)
    path = path.resolve()  # a link stays one, and what it leads to is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(path) as stage:
        try:
            stage.chmod(0o777 & ~_umask())
            yield stage
            sync_tree(stage)
            if path.exists() and any(path.iterdir()):
                replace_folder(stage, path)
            else:
                stage.replace(path)
        except OSError as error:
            shutil.rmtree(stage, ignore_errors=True)
            raise _named(error, _final_name(error.filename, stage, path)) from error
        except BaseException:
            shutil.rmtree(stage, ignore_errors=True)
            raise
    sync_folder(path.parent)


def _final_name(name: Any, stage: Path, path: Path) -> Path:
    """Return the name that a file has when its folder is in its place."""
    if not isinstance(name, str):
        return path
    return path / Path(name).relative_to(stage) if Path(name).is_relative_to(stage) else Path(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_csv(
    path: Path,
    frame: "pd.DataFrame",
    *,
    float_format: str | None = None,
    index: bool = False,
    neutral: bool = True,
) -> None:
    """Write a table as a CSV file in one step, so that a spreadsheet shows it and runs nothing.

    Parameters
    ----------
    path : Path
        The file.
    frame : DataFrame
        The table.
    float_format : str or None
        How to write fractions, such as ``"%.6f"``.
    index : bool, default=False
        Whether to write the index too.
    neutral : bool, default=True
        Whether to write an apostrophe before texts and headers that a spreadsheet would take for
        a formula; see `csv_text`.
    """
    text = csv_text(frame, float_format=float_format, index=index, neutral=neutral)
    write_text(path, text)


def csv_text(
    frame: "pd.DataFrame",
    *,
    float_format: str | None = None,
    index: bool = False,
    neutral: bool = True,
) -> str:
    """Return a table as the text of a CSV file.

    Spreadsheets run cells that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return.
    Such texts and headers get an apostrophe in front. Numbers stay as they are, also those that
    are stored as text.

    Parameters
    ----------
    frame : DataFrame
        The table.
    float_format : str or None
        How to write fractions.
    index : bool, default=False
        Whether to write the index too.
    neutral : bool, default=True
        Whether to write the apostrophes.

    Returns
    -------
    text : str

    Examples
    --------
    >>> import pandas as pd
    >>> from kindset._files import csv_text
    >>> frame = pd.DataFrame({"who": ["=1+1", "-5", "Ann"], "change": [-5, 2, 0]})
    >>> print(csv_text(frame), end="")
    who,change
    '=1+1,-5
    -5,2
    Ann,0
    """
    if index:
        frame = frame.reset_index()
    if neutral:
        # A column at a time, by position: names may repeat.
        columns = [frame.iloc[:, number] for number in range(frame.shape[1])]
        safe = {number: _neutral_column(column) for number, column in enumerate(columns)}
        names = [_neutral_cell(name) for name in frame.columns]
        frame = type(frame)(safe, index=frame.index).set_axis(names, axis=1)
    # With this end of line, cells that hold either of its characters are put in quotes, so that no
    # cell begins a line of its own. Outside quotes it is then made the usual one.
    text = str(frame.to_csv(index=False, float_format=float_format, lineterminator="\r\n"))
    parts = text.split('"')
    parts[::2] = [part.replace("\r\n", "\n") for part in parts[::2]]
    return '"'.join(parts)


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With these a cell begins that a spreadsheet would take for a formula."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def _neutral_column(column: "pd.Series[Any]") -> "pd.Series[Any]":
    if column.dtype.kind in "biufcmM":
        return column
    cells = column.astype(object)
    return cells.where(cells.isna(), cells.map(_neutral_cell))


def _neutral_cell(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    if isinstance(cell, str) and cell.startswith(FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def csv_separator(header: str) -> str:
    """Return the separator that the first line of a table has most of, outside quotes."""
    bare = "".join(header.split('"')[::2])
    return max(",;\t|", key=bare.count)
