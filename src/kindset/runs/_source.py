"""Where the samples of a run came from: the content of their source, and their own ids."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset.exceptions import InputError
from kindset.runs._fingerprint import fingerprint


@dataclass(frozen=True)
class Source:
    """The file, table or array that a run's samples were read from.

    Two runs can use different columns of one source, or different features of the same samples.
    `Run.data` describes what a run used; its source describes where the samples came from.

    Parameters
    ----------
    name : str
        What to call it in messages: usually the name of the file.
    sha256 : str
        Hash of its content. Empty if the content is unknown, as for labels of another program.
    ids : str, optional
        Hash of the samples' own ids, from `hash_ids`. None if the samples are only counted.

    See Also
    --------
    file_source : The source that a file is.
    data_source : The source that an array or a data frame is.
    """

    name: str
    sha256: str
    ids: str | None = None


def hash_ids(ids: ArrayLike) -> str:
    """Return a hash of the samples' ids, and one of the same ids in any order.

    Parameters
    ----------
    ids : array-like of shape (n_samples,)
        Numbers or text. The number 7, the number 7.0 and the text "7" are the same id.

    Returns
    -------
    hash : str
        Two SHA-256 hashes with a colon between them: ``"ordered:unordered"``.

    Examples
    --------
    >>> from kindset.runs import hash_ids
    >>> hash_ids([1, 2, 3]) == hash_ids(["1", "2", "3"])
    True
    >>> ordered, unordered = hash_ids([1, 2, 3]).split(":")
    >>> ordered == hash_ids([3, 2, 1]).split(":")[0]
    False
    >>> unordered == hash_ids([3, 2, 1]).split(":")[1]
    True
    """
    names = as_ids(ids).tolist()
    return f"{_hash_texts(names)}:{_hash_texts(sorted(names))}"


def as_ids(ids: ArrayLike, name: str = "ids") -> NDArray[np.str_]:
    """Return ids as text, or raise `InputError` if they are not one id for each sample."""
    array = np.asarray(ids)
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1 or array.dtype.kind not in "iufUSO":
        raise InputError(f"{name} must be a list of numbers or text, one for each sample.")
    texts = [_id_text(value) for value in array.tolist()]
    if None in texts:
        raise InputError(f"{name} has no id for sample {texts.index(None) + 1}.")
    return np.array(texts, dtype=np.str_)


def _id_text(value: Any) -> str | None:
    """Write one id; None if it is missing."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, float):
        if not np.isfinite(value):
            return None
        return str(int(value)) if value == int(value) else repr(value)
    return None if value is None or value != value else str(value)


def _hash_texts(texts: list[str]) -> str:
    # JSON, because it keeps ["a", "b"] apart from ["ab"] whatever characters the ids hold.
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def file_source(path: str | os.PathLike[str], ids: ArrayLike | None = None) -> Source:
    """Return the source that a file is; the file is read in chunks.

    Parameters
    ----------
    path : path-like
    ids : array-like of shape (n_samples,), optional
        The samples' own ids.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from kindset.runs import file_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "survey.csv")
    ...     _ = path.write_text("a,b")
    ...     file_source(path).name
    'survey.csv'
    """
    path = Path(path)
    if not path.is_file():  # a pipe or a device would never end
        raise InputError(f"{path} is not a regular file.")
    try:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from error
    return Source(path.name, content, None if ids is None else hash_ids(ids))


def data_source(data: Any, name: str, ids: ArrayLike | None = None) -> Source:
    """Return the source that an array or a data frame in memory is.

    Parameters
    ----------
    data : array-like or DataFrame
    name : str
        What to call it in messages.
    ids : array-like of shape (n_samples,), optional
        The samples' own ids.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.runs import data_source
    >>> data_source(np.eye(3), "identity") == data_source(np.eye(3), "identity")
    True
    """
    content = hashlib.sha256(repr(fingerprint(data)).encode()).hexdigest()
    return Source(name, content, None if ids is None else hash_ids(ids))


def read_source(value: Any) -> Source | None:
    """Return the source that a run's JSON file describes; `KeyError` if it is damaged."""
    if value is None:
        return None
    fields = (value.get("name"), value.get("sha256")) if isinstance(value, dict) else (None,)
    if not all(isinstance(field, str) for field in fields):
        raise KeyError("source")
    ids = value.get("ids")
    if not (ids is None or isinstance(ids, str)):
        raise KeyError("source")
    return Source(value["name"], value["sha256"], ids)
