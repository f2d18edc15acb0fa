"""Checked reading of JSON values and arrays from a file that anybody may have written.

Each function returns the value in the type it should have, or raises `InputError` with a sentence
that says what is wrong. Whoever shows a part of a run leaves it out in that case.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kindset.exceptions import InputError

T = TypeVar("T")

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def printable(words: str) -> str:
    """Replace what no HTML file may hold, whatever a run says."""
    return _FORBIDDEN.sub("\ufffd", words)


def text(value: Any, what: str) -> str:
    """Return words; numbers count as words."""
    if isinstance(value, str):
        return value
    if _is_number(value):
        return str(value)
    raise InputError(f"{what} is not text.")


def number(value: Any, what: str) -> float:
    """Return a finite number."""
    if _is_number(value) and abs(value) < 1e300:
        return float(value)
    raise InputError(f"{what} is not a finite number.")


def whole(value: Any, what: str) -> int:
    """Return a whole number that is not negative."""
    found = number(value, what)
    if found < 0 or found % 1:
        raise InputError(f"{what} is not a whole number from 0.")
    return int(found)


def flag(value: Any, what: str) -> bool:
    """Return True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(f"{what} is neither true nor false.")


def share(value: Any, what: str) -> float:
    """Return a number from 0 to 1, forgiving what rounding does."""
    found = number(value, what)
    if not -1e-6 <= found <= 1 + 1e-6:
        raise InputError(f"{what} is not between 0 and 1.")
    return min(max(found, 0.0), 1.0)


def listed(
    value: Any, what: str, read: Callable[[Any, str], T], *, length: int | None = None
) -> list[T]:
    """Return a list, each element read by `read`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{what} is not a list.")
    if length is not None and len(value) != length:
        raise InputError(f"{what} has {len(value)} elements instead of {length}.")
    return [read(element, f"{what} [{i}]") for i, element in enumerate(value)]


def record(value: Any, what: str) -> Mapping[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"{what} is not an object with names.")
    return value


def optional(value: Any, what: str, read: Callable[[Any, str], T]) -> T | None:
    """Return None for None, and what `read` returns for anything else."""
    return None if value is None else read(value, what)


def numbers(array: Any, what: str, *, ndim: int) -> NDArray[np.float64]:
    """Return an array of finite numbers with that many dimensions."""
    found = np.asarray(array)
    if found.ndim != ndim or found.dtype.kind not in "iufb":
        raise InputError(f"{what} is not an array of numbers with {ndim} dimensions.")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        raise InputError(f"{what} holds values that are not finite.")
    return found


def known_scalars(value: Any) -> dict[str, float]:
    """Return the finite numbers of an object by name, and forget the rest."""
    if not isinstance(value, dict):
        return {}
    return {
        str(name): float(found)
        for name, found in value.items()
        if _is_number(found) and abs(found) < 1e300
    }


def _is_number(value: Any) -> bool:
    """Whether a value is a number, plain or of numpy; True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
