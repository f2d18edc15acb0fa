"""Tensors as safetensors, which cannot run code."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from kindset.exceptions import InputError


def tensor_bytes(tensors: dict[str, Tensor]) -> bytes:
    """Return the content of a file."""
    plain = {name: one.detach().cpu().contiguous().clone() for name, one in tensors.items()}
    return save(plain)


def read_content(path: Path) -> bytes:
    """Read a file, or say why not."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from error


def as_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """Return the tensors in the content of a file, or say that it is damaged."""
    try:
        # Copies: in the file they are not aligned, and kernels then add in another order.
        return {name: one.clone() for name, one in load(content).items()}
    except SafetensorError as error:
        raise InputError(f"{path} is damaged: {error}.") from error
