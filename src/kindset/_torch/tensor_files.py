"""Tensors as safetensors, which cannot run code."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from kindset import _reading
from kindset._shown import shown
from kindset.exceptions import InputError

_DAMAGED = (KeyError, TypeError, ValueError, RuntimeError, OverflowError, MemoryError)
"""What tensors raise that have an unknown type or a shape that does not fit their bytes."""


def tensor_bytes(tensors: dict[str, Tensor]) -> bytes:
    """Return the content of a file."""
    plain = {name: one.detach().cpu().contiguous().clone() for name, one in tensors.items()}
    return save(plain)


def read_content(path: Path) -> bytes:
    """Read a file, or say why not."""
    try:
        return _reading.read_content(path)
    except OSError as error:
        raise InputError(f"cannot read {shown(path)}: {_reading.reason(error)}.") from error


def as_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """Return the tensors in the content of a file, or say that it is damaged."""
    try:
        # Copies: in the file they are not aligned, and kernels then add in another order.
        return {name: one.clone() for name, one in load(content).items()}
    except (SafetensorError, *_DAMAGED) as error:
        # The words of the libraries are for programmers, and may be a stack of C++ functions.
        raise InputError(f"{shown(path)} is damaged: it holds no tensors that fit it.") from error
