"""Fitted models as JSON with an .npz of arrays beside it: nothing in them can run."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kindset._files import write_bytes, write_text
from kindset._reading import arrays_in, read_content, read_document, reason
from kindset._shown import shown
from kindset.exceptions import InputError

DAMAGED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, MemoryError,
    RecursionError, ZeroDivisionError,
)  # fmt: skip
"""What a document or arrays that fit no model raise."""


def write_model(path: Path, document: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a model's document to `path`, and its arrays to the same name with the ending .npz.

    Each is replaced in one step, and the first names the second's checksum, so that a mixture of
    an old and a new one is recognised.
    """
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    document = {**document, "arrays": hashlib.sha256(buffer.getvalue()).hexdigest()}
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    write_bytes(path.with_suffix(".npz"), buffer.getvalue())
    write_text(path, text + "\n")


def read_model(
    path: Path, kind: str, version: int, what: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write_model` wrote, if it is of this kind and version; `what` is its name."""
    document = read_document(path, kind, version, what)
    beside = path.with_suffix(".npz")
    try:
        content = read_content(beside)
    except OSError as error:
        raise InputError(f"cannot read the model {shown(beside)}: {reason(error)}.") from error
    if hashlib.sha256(content).hexdigest() != document.get("arrays"):
        raise InputError(f"{shown(beside)} does not belong to {shown(path)}, or is damaged.")
    return document, arrays_in(content, beside)


def damaged(path: Path, error: Exception) -> InputError:
    """Return the sentence about a model that could not be restored."""
    return InputError(f"{shown(path)} is damaged: {reason(error)}.")


def plain_parameters(model: Any) -> dict[str, Any]:
    """Return an estimator's parameters as JSON can hold them."""
    plain = {name: plain_value(value) for name, value in model.get_params(deep=False).items()}
    if not isinstance(plain["random_state"], (int, type(None))):
        plain["random_state"] = None  # a generator's state is not a parameter to keep
    return plain


def plain_value(value: Any) -> Any:
    """Turn numpy's numbers and arrays into JSON's."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_value(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def names_out(model: Any) -> list[str] | None:
    """Return the names of the columns that a model was fitted on, if they had any."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def names_in(model: Any, names: list[str] | None) -> None:
    """Give a model the names of its columns back."""
    if names is None:
        return
    model.feature_names_in_ = np.array(names, dtype=object)
    if model.feature_names_in_.shape != (model.n_features_in_,):
        raise ValueError("feature names and features differ in number")
