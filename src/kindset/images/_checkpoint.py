"""Training interrupted and taken up again: all of a trainer's state, as JSON and safetensors."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kindset._files import write_bytes, write_text
from kindset.exceptions import InputError
from kindset.images._optimised import OptimisedAlignment
from kindset.images._tensor_files import as_tensors, read_content, tensor_bytes
from kindset.images._training import Trainer

_PLAIN = ("stage", "step", "stage_step", "passes", "finished", "opened")
_LISTS = ("step", "stage", "reassigned", "n_restarts", "snapshot_steps", "n_changed")
_TENSORS = ("loss", "shares", "snapshots")
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Checkpoint:
    """The state of one trainer on disk.

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

    def save(self, trainer: Trainer) -> None:
        """Write the state; a crash leaves the last one whole."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        history = trainer.history
        name = f"{self.path.name}-{trainer.step}.safetensors"
        document = {
            "identity": self.identity,
            "tensors": name,
            "n_active": trainer.model.n_active,
            "counts": {key: getattr(trainer, key) for key in _PLAIN},
            "history": {key: getattr(history, key) for key in _LISTS},
        }
        write_bytes(self.path.parent / name, tensor_bytes(_tensors(trainer)))
        write_text(self.path.with_suffix(".json"), json.dumps(document) + "\n")
        for old in self.path.parent.glob(f"{self.path.name}-*.safetensors"):
            if old.name != name:
                old.unlink()

    def load(self, trainer: Trainer) -> bool:
        """Bring a fresh trainer to the saved state, if there is one; return whether there was."""
        path = self.path.with_suffix(".json")
        if not path.exists():
            return False
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["identity"] != self.identity:
                raise InputError(
                    f"{path.parent} holds a checkpoint of other data or parameters: give another "
                    "checkpoint_dir or remove it."
                )
            beside = path.parent / document["tensors"]
            _restore(trainer, document, as_tensors(read_content(beside), beside))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"the checkpoint {path} is damaged: {error}; remove {path.parent} to start anew."
            ) from error
        return True


def training_identity(description: Any, tensors: Iterable[Tensor]) -> str:
    """Return a digest of everything that decides the result."""
    digest = hashlib.sha256(repr(description).encode())
    for one in tensors:
        digest.update(repr(tuple(one.shape)).encode())
        digest.update(one.detach().cpu().flatten().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _tensors(trainer: Trainer) -> dict[str, Tensor]:
    found = {f"model.{name}": one for name, one in trainer.model.state_dict().items()}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state.get(parameter, {}).items():
            found[f"moment.{key}.{name}"] = value
    for key in _TENSORS:
        for i, value in enumerate(getattr(trainer.history, key)):
            found[f"history.{key}.{i}"] = value
    if isinstance(trainer.aligner, OptimisedAlignment):
        found |= {f"table.{i}": table for i, table in enumerate(trainer.aligner.tables)}
    if trainer.reviewer is not None:
        found |= {f"reviewer.{name}": one for name, one in trainer.reviewer.state_dict().items()}
    if trainer.held is not None:
        found["held"] = trainer.held
    found |= {"queue": trainer.queue, "memory": trainer.memory}
    found["generator"] = trainer.generator.get_state()
    return found


def _restore(trainer: Trainer, document: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    for key in _PLAIN:
        setattr(trainer, key, document["counts"][key])
    if trainer.stage_step > 0:
        trainer.enter_stage()
    trainer.model.n_active = document["n_active"]
    trainer.resize(*tensors["model.prototypes"].shape[2:])
    history = trainer.history
    for key in _LISTS:
        setattr(history, key, list(document["history"][key]))
    for key in _TENSORS:
        prefix = f"history.{key}."
        n = sum(name.startswith(prefix) for name in tensors)
        setattr(history, key, [tensors[f"{prefix}{i}"] for i in range(n)])
    for name, parameter in trainer.model.named_parameters():
        parameter.data = _laid_out(tensors[f"model.{name}"], parameter.data)
        if state := _moments(tensors, name, parameter.data):
            trainer.optimizer.state[parameter] = state
    for name, value in trainer.model.state_dict().items():
        value.copy_(tensors[f"model.{name}"])
    if isinstance(trainer.aligner, OptimisedAlignment):
        n = sum(name.startswith("table.") for name in tensors)
        device = trainer.images.device
        trainer.aligner.tables = [tensors[f"table.{i}"].to(device) for i in range(n)]
    if trainer.reviewer is not None:
        for name, value in trainer.reviewer.state_dict().items():
            value.copy_(tensors[f"reviewer.{name}"])
    trainer.held = tensors.get("held")
    trainer.queue, trainer.memory = tensors["queue"], tensors["memory"]
    trainer.generator.set_state(tensors["generator"])
    trainer.clear_window()


def _moments(tensors: dict[str, Tensor], name: str, like: Tensor) -> dict[str, Tensor]:
    """Return what the optimizer knew of a parameter; nothing if it had not met it yet."""
    names = {key: f"moment.{key}.{name}" for key in _MOMENTS}
    return {key: _laid_out(tensors[one], like) for key, one in names.items() if one in tensors}


def _laid_out(saved: Tensor, like: Tensor) -> Tensor:
    """Return a tensor in the memory format of another one, which decides the last bits.

    Restarts may have been dropped since the start, so shapes can differ.
    """
    if saved.shape != like.shape:
        return saved.to(like.device)
    return torch.empty_like(like, dtype=saved.dtype).copy_(saved)
