"""Putting a new folder in the place of an old one, so that a crash loses neither.

The new folder is filled under a hidden name beside the place, and locked as long as its process
lives. Where the system can exchange two folders in one step, there is always one in the place;
elsewhere there is a moment with none, and who comes after a crash puts the old one back.
"""

import ctypes
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # no such locks on this system: what others may be filling is left alone
    fcntl = None

_NEW, _OLD = ".new", ".old"
_HIDDEN = re.compile(rf"\.(?P<name>.+)\.kindset-[a-z0-9_]{{8}}({_NEW}|{_OLD})", re.DOTALL)

# Windows writes out only what was opened for writing.
_SYNC = os.O_RDWR if os.name == "nt" else os.O_RDONLY

_HERE = -100  # AT_FDCWD: names are relative to the current folder
_EXCHANGE = 2  # RENAME_EXCHANGE


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, beside the place that it is for."""
    prefix = f".{place.name}.kindset-"
    new = Path(tempfile.mkdtemp(dir=place.parent, prefix=prefix, suffix=_NEW))
    handle = _lock(new)
    try:
        yield new
    finally:
        if handle is not None:
            os.close(handle)


def replace_folder(new: Path, place: Path) -> None:
    """Put a folder in the place of another one; if that fails, the other one stays."""
    if exchange(new, place):
        shutil.rmtree(new, ignore_errors=True)
        return
    old = new.with_suffix(_OLD)
    place.replace(old)
    try:
        new.replace(place)
    except BaseException:
        old.replace(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Wait until all files of a folder are on the disk, so that a rename cannot come first."""
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            if file.is_file() and not file.is_symlink():
                _sync(file)
        sync_folder(Path(place))


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that."""
    with suppress(OSError):
        _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, _SYNC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False where the system cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(rename(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0)


def put_back(place: Path) -> None:
    """Put back what a process that was killed had taken out of a place."""
    if place.exists():
        return
    for hidden in _left_over(place.parent, place.name, _OLD):
        _rename(hidden, place)


def put_back_all(folder: Path) -> None:
    """Put back what was taken out of any place in a folder."""
    for hidden in _left_over(folder, None, _OLD):
        _rename(hidden, folder / _name(hidden))


def clear_left_over(place: Path) -> None:
    """Put back or remove what processes that were killed have left of a replacement."""
    put_back(place)
    for hidden in _left_over(place.parent, place.name, _OLD, _NEW):
        shutil.rmtree(hidden, ignore_errors=True)


def _left_over(folder: Path, name: str | None, *endings: str) -> list[Path]:
    """Return the hidden folders of a place, or of all places, that no living process fills."""
    if not folder.is_dir() or not os.access(folder, os.R_OK):
        return []
    return [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in endings
        and _HIDDEN.fullmatch(path.name)
        and name in (None, _name(path))
        and path.is_dir()
        and not path.is_symlink()
        and not _is_held(path.with_suffix(_NEW))
    ]


def _name(hidden: Path) -> str:
    found = _HIDDEN.fullmatch(hidden.name)
    assert found is not None
    return found["name"]


def _rename(hidden: Path, place: Path) -> None:
    if place.exists():
        return
    try:
        hidden.replace(place)
    except OSError:
        return  # somebody else did, or it is not ours to write: the place is as it is


def _lock(folder: Path) -> int | None:
    """Lock a folder until the handle is closed or the process ends; None if that cannot be."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _is_held(folder: Path) -> bool:
    """Whether a living process may be filling a folder."""
    if not folder.exists():
        return False
    try:
        handle = _lock(folder)
    except OSError:
        return True
    if handle is None:
        return True
    os.close(handle)
    return False
