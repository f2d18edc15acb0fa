"""Training interrupted and resumed: the state of anything that has one, as JSON and safetensors."""

import hashlib
import json
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from kindset._files import write_bytes, write_text
from kindset._torch.tensor_files import as_tensors, read_content, tensor_bytes
from kindset.exceptions import InputError

_TENSOR = "$tensor"
_DAMAGE = (LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError)


class Resumable(Protocol):
    """What can be saved: a tree of dicts and lists of tensors and plain values."""

    step: int

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides how it goes on."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        ...


class Checkpoint:
    """The state of one training on disk.

    Parameters
    ----------
    path : Path
        Where, without an ending.
    identity : str
        What the training is about: data, parameters and seed. A checkpoint of another training is
        refused.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self.identity = identity

    def save(self, training: Resumable) -> None:
        """Write the state; a crash leaves the last one whole."""
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True)
        tensors: dict[str, Tensor] = {}
        state = _without_tensors(training.state_dict(), "", tensors)
        content = tensor_bytes(tensors)
        name = f"{self.path.name}-{training.step}.safetensors"
        document = {
            "identity": self.identity,
            "tensors": name,
            "sha256": _digest(state, content),
            "state": state,
        }
        write_bytes(folder / name, content)
        write_text(self.path.with_suffix(".json"), json.dumps(document) + "\n")
        for old in folder.glob(f"{self.path.name}-*.safetensors"):
            if old.name != name:
                old.unlink()

    def load(self, training: Resumable) -> bool:
        """Bring a fresh training to the saved state, if there is one; return whether there was."""
        path = self.path.with_suffix(".json")
        if not path.exists() and not path.is_symlink():
            return False
        try:
            document = self._read_document(path)
            content = _read_own_file(self._beside(document["tensors"]))
            if document["sha256"] != _digest(document["state"], content):
                raise ValueError("its files have changed since they were written")
            tensors = as_tensors(content, path)
            training.load_state_dict(_with_tensors(document["state"], tensors))
        except (InputError, RecursionError, *_DAMAGE) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the checkpoint {path} is damaged: {_reason(error)}; remove {path.parent} to "
                "start anew."
            ) from error
        return True

    def _read_document(self, path: Path) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(_read_own_file(path))
        if document["identity"] != self.identity:
            raise InputError(
                f"{path.parent} holds a checkpoint of other data or parameters: give another "
                "checkpoint_dir or remove it."
            )
        return document

    def _beside(self, name: Any) -> Path:
        """Return the file of this name, which must be one that `save` could have written."""
        pattern = re.escape(self.path.name) + r"-[0-9]{1,18}\.safetensors"
        if not isinstance(name, str) or not re.fullmatch(pattern, name):
            raise ValueError(f"it names a file that is not its own, {name!r}")
        return self.path.parent / name


def training_identity(description: Any, tensors: Iterable[Tensor]) -> str:
    """Return a digest of everything that decides the result."""
    digest = hashlib.sha256(repr(description).encode())
    for one in tensors:
        digest.update(repr(tuple(one.shape)).encode())
        digest.update(one.detach().cpu().flatten().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _without_tensors(state: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Return a state as JSON can hold it; its tensors go into a dict, by their place in it."""
    if isinstance(state, Tensor):
        tensors[name] = state
        return {_TENSOR: name}
    if isinstance(state, dict):
        return {key: _without_tensors(one, f"{name}/{key}", tensors) for key, one in state.items()}
    if isinstance(state, list):
        return [_without_tensors(one, f"{name}/{i}", tensors) for i, one in enumerate(state)]
    return state


def _with_tensors(state: Any, tensors: dict[str, Tensor]) -> Any:
    """Return a state with its tensors in their places."""
    if isinstance(state, dict):
        if _TENSOR in state:
            return tensors[state[_TENSOR]]
        return {key: _with_tensors(one, tensors) for key, one in state.items()}
    if isinstance(state, list):
        return [_with_tensors(one, tensors) for one in state]
    return state


def _digest(state: Any, content: bytes) -> str:
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode())
    digest.update(content)
    return digest.hexdigest()


def _read_own_file(path: Path) -> bytes:
    """Read a file that must be one, not a link, a folder or a pipe."""
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from error
    if not is_file:
        raise ValueError(f"{path.name} is not a regular file")
    return read_content(path)


def _reason(error: BaseException) -> str:
    """Return what is wrong, in a line: torch adds where in its own code it noticed."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".:")
