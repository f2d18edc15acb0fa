"""Writing that is never seen half done: beside the place first, then moved there in one step."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kindset._replacing import clear_left_over, new_folder, replace_folder
from kindset.exceptions import InputError

MARKERS = {"run.json": "format", "compare.json": "rankings", "sweep.json": "kindset"}
"""Every output folder has one of these files, with this key; another is not ours to replace."""


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step; a crash leaves the old one whole."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step; a crash leaves the old one whole."""
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} into.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def check_output_folder(path: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a folder that `output_folder` would not write.

    What a process that was killed while it replaced the folder has left is put back or removed.
    """
    place = path.resolve()
    if place == Path.cwd():
        raise InputError("the output folder cannot be the current one; name a new one.")
    above = next(folder for folder in place.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {above}; choose another.")
    clear_left_over(place)
    if not path.exists():
        return
    if not path.is_dir():
        raise InputError(f"{path} is a file; choose another.")
    if all(item.name.endswith(".part") for item in path.iterdir()):
        return  # empty, or left so by a process that was killed
    if not is_ours(path):
        raise InputError(f"{path} holds files that Kindset did not write; choose another.")
    if not force:
        raise InputError(f"{path} exists already; choose another, or replace it (--force).")


def is_ours(path: Path) -> bool:
    """Whether Kindset wrote this folder."""
    for marker, key in MARKERS.items():
        try:
            if key in json.loads((path / marker).read_text(encoding="utf-8")):
                return True
        except ValueError:  # damaged; a run also has its labels
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
            if path.exists() and any(path.iterdir()):
                replace_folder(stage, path)
            else:
                stage.replace(path)
        except BaseException:
            shutil.rmtree(stage, ignore_errors=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_document(path: Path, kind: str, version: int, what: str) -> dict[str, Any]:
    """Read a model's JSON file, if it is of this kind and version; `what` is its name in words."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the model {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a model: it is not valid JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != kind:
        raise InputError(f"{path} is not a {what}.")
    if document.get("version") != version:
        raise InputError(
            f"{path} has version {document.get('version')!r}, but this release of Kindset reads "
            f"version {version}."
        )
    return document


def csv_separator(header: str) -> str:
    """Return the separator that the first line of a table has most of, outside quotes."""
    bare = "".join(header.split('"')[::2])
    return max(",;\t|", key=bare.count)
