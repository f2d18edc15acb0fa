"""Fitted models as JSON with tensors beside it as safetensors: nothing in them can run."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from kindset._files import write_bytes, write_text
from kindset._reading import read_document
from kindset._shown import shown
from kindset._torch.device import choose_device
from kindset._torch.tensor_files import as_tensors, read_content, tensor_bytes
from kindset.exceptions import InputError

T = TypeVar("T")


def write_model(path: Path, document: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model's document to `path`, and its tensors beside it as ``.safetensors``.

    The document names the checksum of the tensors, so that files of two models are told apart.
    """
    content = tensor_bytes(tensors)
    document = {**document, "tensors": hashlib.sha256(content).hexdigest()}
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(path.with_suffix(".safetensors"), content)
    write_text(path, text + "\n")


def read_model(
    path: Path, kind: str, version: int, what: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what `write_model` wrote, if it is of this kind and version; `what` is its name."""
    document = read_document(path, kind, version, what)
    beside = path.with_suffix(".safetensors")
    content = read_content(beside)
    if document.get("tensors") != hashlib.sha256(content).hexdigest():
        raise InputError(f"{shown(beside)} does not belong to {shown(path)}, or is damaged.")
    return document, as_tensors(content, beside)


def misfit(path: Path) -> InputError:
    """Return the sentence about tensors that torch refuses, whose own words are for programmers."""
    return InputError(
        f"{shown(path)} is damaged: its tensors and its parameters do not fit each other."
    )


def with_prefix(prefix: str, tensors: Mapping[str, T]) -> dict[str, T]:
    """Return what has names that begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)
    }


def scalars_in(model: Any, document: dict[str, Any], kinds: Mapping[str, type]) -> None:
    """Give a model its plain attributes back, each of its own kind."""
    for name, kind in kinds.items():
        if not isinstance(document[name], kind):
            raise ValueError(f"{name} is not a {kind.__name__}")
        setattr(model, name, document[name])


def device_or_cpu(device: Any) -> torch.device:
    """Return where to compute: a model from a machine with a GPU is of use without one."""
    try:
        return choose_device(device)
    except InputError:
        return torch.device("cpu")
