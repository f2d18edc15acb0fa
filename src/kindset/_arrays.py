"""Checking what users give: labels of points, and the points' coordinates."""

import re
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from kindset.exceptions import InputError

# Up to 18 digits fit into an integer of 64 bits.
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def as_label_array(labels: ArrayLike, name: str = "labels") -> NDArray[Any]:
    """Return `labels` as a one-dimensional array of numbers or text without missing values.

    This is the one place that says what labels may be: integers, whole floats, text and truth
    values, in lists, arrays, categoricals or series. Whole numbers that are written as text are
    numbers, so that "-1" is noise too.
    """
    array = np.asarray(labels)
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"{name} has shape {array.shape}; a partition is one label for each point, shape (N,)."
        )
    if array.dtype.kind == "O":
        array = _from_objects(array, name)
    if array.dtype.kind == "U" and all(_WHOLE_NUMBER.fullmatch(value) for value in set(array)):
        array = array.astype(np.int64)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds NaN or infinite labels; every point needs a label.")
        if (array != np.floor(array)).any():
            raise InputError(f"{name} holds fractions; labels are integers or strings.")
    elif array.dtype.kind not in "iubUS":
        raise InputError(f"{name} holds {array.dtype} values; labels are integers or strings.")
    return array


def _from_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return numbers or text for an array of Python objects that are all of one kind."""
    if any(value is None or value is pd.NA or value != value for value in array):
        raise InputError(f"{name} holds missing labels; every point needs a label.")
    if all(isinstance(value, str) for value in array):
        return array.astype(str)
    if all(isinstance(value, (Real, np.bool_)) for value in array):
        return np.array(array.tolist())
    raise InputError(f"{name} mixes labels of several kinds; give integers or strings.")


def as_whole_labels(labels: ArrayLike, name: str = "labels") -> NDArray[np.int64]:
    """Return `labels` as whole numbers; text and truth values are numbered in sorted order.

    Examples
    --------
    >>> as_whole_labels(["pear", "apple", "pear"])
    array([1, 0, 1])
    """
    array = as_label_array(labels, name)
    if array.dtype.kind in "iuf":
        return array.astype(np.int64)
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def check_space(
    X: ArrayLike, *, name: str = "X", n_samples: int | None = None, minimum: int = 2
) -> NDArray[np.floating]:
    """Return `X` as a finite two-dimensional array of floats, or say what is wrong with it."""
    array = _as_floats(X, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{name} has shape {array.shape}; a space is an array (N, d), d ≥ 1.")
    if array.shape[0] < minimum:
        raise InputError(f"{name} has {array.shape[0]} point(s); {_at_least(minimum)} needed.")
    if n_samples is not None and array.shape[0] != n_samples:
        raise InputError(f"{name} has {array.shape[0]} points where {n_samples} are expected.")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InputError(
            f"{name} holds NaN or infinite values, first in row {row}; drop or fill them."
        )
    return array


def _at_least(minimum: int) -> str:
    return f"at least {minimum} {'is' if minimum == 1 else 'are'}"


def check_range(
    X: NDArray[np.floating], name: str = "X", *, spread: bool = True, first: int = 0
) -> None:
    """Refuse finite numbers whose squares are too large or too small to compute with.

    The limits leave room for sums of many squares: 1e150 and 1e-150 for numbers of 64 bits, 1e15
    and 1e-15 for numbers of 32 bits.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite numbers.
    name : str, default="X"
        How messages call them.
    spread : bool, default=True
        Whether to refuse samples that differ, but all by too little.
    first : int, default=0
        How messages number the first row and the first column.

    Examples
    --------
    >>> check_range(np.array([[0.0], [1e200]]))
    Traceback (most recent call last):
    ...
    kindset.exceptions.InputError: X holds 1e+200 in row 1, column 0; rescale it to numbers up to \
1e+150.
    """
    if X.size == 0:
        return
    most = 1e15 if X.dtype == np.float32 else 1e150
    low, high = X.min(axis=0), X.max(axis=0)
    if max(-low.min(), high.max()) > most:
        row, column = divmod(int((np.abs(X) > most).argmax()), X.shape[1])
        raise InputError(
            f"{name} holds {X[row, column]:.3g} in row {row + first}, column {column + first}; "
            f"rescale it to numbers up to {most:g}."
        )
    widest = float((high - low).max())
    if spread and 0 < widest < 1 / most:
        raise InputError(
            f"no two numbers in a column of {name} differ by more than {widest:.3g}; "
            f"rescale it so that they differ by more than {1 / most:g}."
        )


def _as_floats(X: ArrayLike, name: str) -> NDArray[np.floating]:
    try:
        array = np.asarray(X)
        if array.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in array.flat):
            array = array.astype(np.float64)
        if array.dtype.kind in "iub":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is not numeric; a space is an array of numbers (N, d).") from None
    if array.dtype.kind != "f":
        kind = "complex numbers" if array.dtype.kind == "c" else "text or other objects"
        raise InputError(
            f"{name} is not numeric but holds {kind}; a space is an array of real numbers (N, d)."
        )
    return array
