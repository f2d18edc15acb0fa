"""The one room for reading files that anybody may have written.

Every reader here opens regular files only, so that a pipe or a device cannot block it. It compares
what a file declares with what it may hold before it reads. Nothing that is read can run code. Every
refusal is one sentence.
"""

import io
import json
import math
import os
import stat
import tomllib
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kindset._shown import shown
from kindset.exceptions import InputError

FACTOR = "KINDSET_LIMIT_FACTOR"
"""Environment variable with a number by which all limits are multiplied."""

LIMITS = {
    "JSON": 2**28,  # bytes of the file: the labels of 10 million rows take about 40 MB
    "TOML": 2**24,  # bytes of the file
    "expanded": 2**28,  # bytes that any compressed file may expand to; a table takes more to read
    "ratio": 100,  # how many times its own size a compressed file may expand to beyond that
}
"""The most that a file may declare. A plain npy file has no limit: it holds what it declares."""

_HEADER = 10_000  # bytes; a header describes one array, numpy's own takes about 100
_DIGITS = 300  # of a whole number; a longer one does not fit a float
_CHUNK = 2**24  # bytes read at a time
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what numpy writes


def regular_file(path: str | os.PathLike[str]) -> os.stat_result:
    """Refuse a path that does not lead to a regular file; links are followed.

    Parameters
    ----------
    path : path-like
        What a user gave as a file.

    Returns
    -------
    status : os.stat_result
        Of the file.

    Raises
    ------
    InputError
        If it is a folder, a pipe, a socket or a device.
    OSError
        If there is nothing, or nothing that may be looked at.
    """
    status = Path(path).stat()
    _check_regular(path, status)
    return status


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; this never waits for another process.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    file : binary file

    Raises
    ------
    InputError
        If it is a folder, a pipe, a socket or a device.
    OSError
        If it cannot be opened.
    """
    regular_file(path)  # a device may act as soon as it is opened
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        # Again, of what was opened: the path may lead elsewhere by now.
        _check_regular(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def _check_regular(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{shown(path)} is a folder, not a file.")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{shown(path)} is not a regular file.")


def read_content(path: Path, kind: str | None = None) -> bytes:
    """Return the bytes of a file; `kind` is an entry of `LIMITS`, or there is no limit."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if kind is not None and size > _limit(kind):
            _refuse_size(path, f"has {_in_words(size)}", _limit(kind))
        try:
            return file.read()
        except MemoryError as error:
            raise InputError(f"{shown(path)} does not fit into memory.") from error


def read_json(path: Path, *, finite: bool = True, otherwise: str = "is damaged") -> Any:
    """Read a JSON document.

    Parameters
    ----------
    path : Path
        The file.
    finite : bool, default=True
        Whether to refuse numbers that are not finite, or that a float cannot hold.
    otherwise : str, default="is damaged"
        What to say of a file that is not valid JSON.

    Returns
    -------
    document : Any

    Raises
    ------
    InputError
        If it is no regular file, too large, or not valid JSON.
    OSError
        If it cannot be opened.
    """
    content = read_content(path, "JSON")
    numbers: dict[str, Any] = {}
    if finite:
        numbers = {"parse_constant": _no_number, "parse_float": _float, "parse_int": _int}
    try:
        return json.loads(content.decode("utf-8"), **numbers)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{shown(path)} {otherwise}: it is not valid JSON ({reason(error)})."
        ) from error


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML document; the errors are those of `read_json`."""
    content = read_content(path, "TOML")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown(path)} is not a valid TOML file: {reason(error)}.") from error


def read_document(path: Path, kind: str, version: int, what: str) -> dict[str, Any]:
    """Read a model's JSON file, if it is of this kind and version; `what` is its name in words."""
    try:
        document = read_json(path, otherwise="is not a model")
    except OSError as error:
        raise InputError(f"cannot read the model {shown(path)}: {reason(error)}.") from error
    if not isinstance(document, dict) or document.get("format") != kind:
        raise InputError(f"{shown(path)} is not a {what}.")
    if document.get("version") != version:
        raise InputError(
            f"{shown(path)} has version {document.get('version')!r}, but this release of Kindset "
            f"reads version {version}."
        )
    return document


def read_array(path: Path) -> NDArray[Any]:
    """Read an npy file that can run no code.

    Parameters
    ----------
    path : Path
        The file. It must hold just the values that its header declares.

    Returns
    -------
    array : ndarray

    Raises
    ------
    InputError
        If it is no such file, is damaged, or holds Python objects.
    """
    with readable(path, "npy"), open_regular(path) as file:
        return _read_npy(file, os.fstat(file.fileno()).st_size)


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays of an npz file that can run no code.

    Parameters
    ----------
    path : Path
        The file. Members of the archive that are no arrays are ignored.

    Returns
    -------
    arrays : dict of str to ndarray

    Raises
    ------
    InputError
        If it is no such file, is damaged, expands too far, or holds Python objects.
    """
    with readable(path, "npz"), open_regular(path) as file:
        return _read_npz(file, path)


def arrays_in(content: bytes, path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file whose content was read from `path`."""
    with readable(path, "npz"):
        return _read_npz(io.BytesIO(content), path)


def _read_npz(file: BinaryIO, path: Path) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        check_expansion(path, sum(member.file_size for member in members), size_of(file))
        arrays = {}
        for member in members:
            if member.compress_type not in _PACKED:
                raise DamagedError("it is packed in a way that numpy does not use")
            with archive.open(member) as inside:
                # No more than the declared size is ever unpacked.
                arrays[member.filename.removesuffix(".npy")] = _read_npy(inside, member.file_size)
        return arrays


class DamagedError(Exception):
    """A file is not what it should be; the message is ours and ends a sentence."""


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran_order: bool
    dtype: "np.dtype[Any]"


def _read_npy(file: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array from a file of `size` bytes, which must be just what its header declares."""
    header = _read_header(file)
    held = size - file.tell()
    _check_shape(header, held)
    expected = math.prod(header.shape) * header.dtype.itemsize
    if held != expected:
        state = "truncated" if held < expected else "longer than it declares"
        raise DamagedError(f"it is {state} ({expected} bytes of values expected, {held} found)")
    flat = np.empty(expected, dtype=np.uint8)
    view = flat.data
    for start in range(0, expected, _CHUNK):
        part = file.read(min(_CHUNK, expected - start))
        if len(part) != min(_CHUNK, expected - start):
            raise DamagedError("it is truncated")
        view[start : start + len(part)] = part
    array: NDArray[Any] = flat.view(header.dtype)
    return array.reshape(header.shape, order="F" if header.fortran_order else "C")


def _read_header(file: IO[bytes]) -> _Header:
    readers: dict[tuple[int, int], Any] = {
        (1, 0): npy.read_array_header_1_0,
        (2, 0): npy.read_array_header_2_0,
    }
    try:
        read = readers[npy.read_magic(file)]
    except (ValueError, KeyError) as error:
        raise DamagedError("it does not begin like one") from error
    try:
        with warnings.catch_warnings(action="error"):
            header = _Header(*read(file, max_header_size=_HEADER))
    except Exception as error:  # numpy parses the header as Python, and that raises anything
        raise DamagedError("its header is damaged or too long") from error
    if header.dtype.hasobject:
        raise DamagedError("it holds Python objects, which could run code; save numbers or text")
    return header


def _check_shape(header: _Header, held: int) -> None:
    """Refuse a shape that no array has, or that is far larger than its bytes."""
    # A side of length 0 hides the others: (10**15, 0) takes no bytes, and 10**15 rows.
    length = math.prod(max(side, 1) for side in header.shape) * max(header.dtype.itemsize, 1)
    negative = any(side < 0 for side in header.shape)
    if negative or header.dtype.itemsize == 0 or length > max(held, _limit("expanded")):
        shape = str(header.shape)
        shape = shape if len(shape) < 60 else f"{shape[:60]}..."
        raise DamagedError(f"its shape {shape} does not fit its {held} bytes of values")


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Say in one sentence why a file is not of its kind, whatever a library raises."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"there is no file {shown(path)}.") from error
    except MemoryError as error:
        raise InputError(f"{shown(path)} does not fit into memory.") from error
    except DamagedError as error:
        raise InputError(f"{shown(path)} is not a readable {kind} file: {error}.") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"cannot read {shown(path)}: {reason(error)}.") from error
        # Libraries raise almost anything for damaged files, and their words are for programmers.
        raise InputError(
            f"{shown(path)} is not a readable {kind} file: it is damaged, or of another kind."
        ) from error


def check_expansion(path: Path, expanded: int, size: int) -> None:
    """Refuse a file of `size` bytes that declares to expand to more than the limit."""
    most = most_expanded(size)
    if not 0 <= expanded <= most:
        _refuse_size(path, f"has {_in_words(size)} and expands to {_in_words(expanded)}", most)


def most_expanded(size: int) -> float:
    """Return the number of bytes that a compressed file of `size` bytes may expand to."""
    return max(_limit("expanded"), _limit("ratio") * size)


def _refuse_size(path: Path, size: str, most: float) -> NoReturn:
    raise InputError(
        f"{shown(path)} {size}, more than the limit of {_in_words(most)}; if you trust it, raise "
        f"the limits with the environment variable {FACTOR}."
    )


def _limit(kind: str) -> float:
    """Return an entry of `LIMITS`, times the factor that the user set."""
    text = os.environ.get(FACTOR, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not factor > 0:
        raise InputError(f"the environment variable {FACTOR} must be a number above 0: {text!r}.")
    return LIMITS[kind] * factor


def size_of(file: BinaryIO) -> int:
    """Return the size of an open file; its position stays."""
    here = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(here)
    return size


def _in_words(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"


def reason(error: BaseException) -> str:
    """Return the words of an error that fit into a sentence: its first line, on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    lines = text.strip().splitlines()
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "it is not text in UTF-8"
    return shown(lines[0])[:200].rstrip(".: ") if lines else type(error).__name__


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _int(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"the number {text[:20]}... is too large")
    return int(text)
