"""The training loop that all methods share: epochs in stages, with history and snapshots."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from kindset._interrupt import check_interrupt
from kindset._torch.callbacks import Callback, Callbacks
from kindset._torch.clock import StageClock
from kindset._torch.image_set import ImageSet
from kindset.deep._graph import Labels
from kindset.deep._history import History, Means
from kindset.deep._outcome import Outcome, Snapshot, embed
from kindset.exceptions import DivergedError

_COUNTS = ("step", "stage", "stage_epoch")


@dataclass(frozen=True)
class Stage:
    """A part of a training.

    Attributes
    ----------
    name : str
    max_epochs : int
    has_clusters : bool
        Whether snapshots are taken.
    """

    name: str
    max_epochs: int
    has_clusters: bool = True


class Training:
    """Trains a network by epochs, stage after stage.

    To add a method, say what the stages are (`plan`), what a step does (`train_step`) and what the
    clusters are at any moment (`outcome`). `open_stage`, `open_epoch` and `close_epoch` are hooks.
    What these keep between epochs goes into `own_state` and comes back in `load_own_state`.

    Parameters
    ----------
    settings : estimator
        Whose parameters decide.
    images : ImageSet
    model : Module
        Everything that is learnt, on its device; the part `network` embeds images.
    optimizer : Optimizer
    generator : torch.Generator
        Draws everything that is random.
    """

    def __init__(
        self,
        settings: Any,
        images: ImageSet,
        model: nn.ModuleDict,
        optimizer: torch.optim.Optimizer,
        generator: torch.Generator,
    ) -> None:
        self.settings = settings
        self.images = images
        self.model = model
        self.optimizer = optimizer
        self.generator = generator
        self.device = next(model.parameters()).device
        self.history = History()
        self.snapshots: list[Snapshot] = []
        self.clock = StageClock(settings.time_budget)
        self.stages: Sequence[Stage] = ()
        self.step = self.stage = self.stage_epoch = 0
        self.labels: Labels | None = None
        self.changed = np.nan
        self.converged = self.stopped = False

    @property
    def network(self) -> nn.Module:
        """The part of the model that embeds images."""
        return self.model["network"]

    def plan(self) -> Sequence[Stage]:
        """Return the stages; called once, before the first one."""
        raise NotImplementedError

    def train_step(self, rows: Tensor) -> dict[str, float]:
        """Learn from some images; return the losses, the total as ``loss``."""
        raise NotImplementedError

    def outcome(self) -> Outcome:
        """Return the clusters as they are now, whatever the stage."""
        raise NotImplementedError

    def open_stage(self) -> None:
        """Act before the first epoch of a stage."""

    def open_epoch(self) -> None:
        """Act before the first step of an epoch."""

    def close_epoch(self) -> None:
        """Act after the last step of an epoch; set `converged` to end the stage."""

    def own_state(self) -> dict[str, Any]:
        """Return what the method keeps between epochs."""
        return {}

    def load_own_state(self, state: dict[str, Any]) -> None:
        """Take over what the method kept."""

    def prepare(self) -> None:
        """Plan the stages, unless a checkpoint has brought them."""
        if not self.stages:
            self.stages = self.plan()

    def run(self, callbacks: Sequence[Callback] = ()) -> None:
        """Train to the end, or until Ctrl-C raises KeyboardInterrupt between two steps."""
        hooks = Callbacks(callbacks)
        self.prepare()
        self.clock.start()
        while self.stage < len(self.stages):
            if self.stage_epoch == 0:
                check_interrupt()
                self.converged = False
                self.open_stage()
            self.clock.open_stage(self._current.max_epochs / self.n_epochs)
            while self.stage_epoch < self._current.max_epochs and not self._is_over():
                self._run_epoch(hooks)
                if self.stage_epoch < self._current.max_epochs and not self._is_over():
                    hooks.on_window_end(self)
            self.stage += 1
            self.stage_epoch = 0
            hooks.on_stage_end(self)

    @property
    def n_epochs(self) -> int:
        """Epochs of all stages, if none ends early."""
        return sum(stage.max_epochs for stage in self.stages)

    @property
    def stage_name(self) -> str:
        """The stage under way."""
        return self._current.name

    @property
    def _current(self) -> Stage:
        return self.stages[self.stage]

    def _is_over(self) -> bool:
        return self.converged or self.clock.is_over()

    def _run_epoch(self, hooks: Callback) -> None:
        self.model.train()
        self.changed = np.nan
        self.open_epoch()
        means = Means()
        for rows in self.batches():
            check_interrupt()
            hooks.on_step_begin(self)
            means.add(self.train_step(rows), len(rows))
            self.step += 1
            if self._is_over():
                break
        self.close_epoch()
        self.stage_epoch += 1
        self.history.note(self.stage_name, means.values(), **self._cluster_facts())
        if self._snapshot_is_due():
            self.take_snapshot(self.outcome())

    def _cluster_facts(self) -> dict[str, float]:
        if self.labels is None:
            return {}
        facts: dict[str, float] = {"smallest": int(np.bincount(self.labels).min())}
        return facts if np.isnan(self.changed) else {"changed": self.changed, **facts}

    def batches(self) -> Iterable[Tensor]:
        """Return the rows of the images, in random batches of nearly equal size."""
        rows = torch.randperm(len(self.images), generator=self.generator)
        return rows.tensor_split(max(1, -(-len(rows) // self.settings.batch_size)))

    def pick(self, rows: Tensor) -> Tensor:
        """Return some images on the device of the model."""
        return self.images[rows].to(self.device)

    def embed(self) -> np.ndarray[Any, Any]:
        """Return the embedding of all images as it is now."""
        return embed(self.network, self.images)

    def minimise(self, loss: Tensor) -> None:
        """Make a step of gradient descent."""
        if not torch.isfinite(loss):
            raise DivergedError(
                f"the loss is no number any more after {self.step} steps: lower learning_rate."
            )
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def relabel(self, labels: Labels) -> None:
        """Take over new clusters, and note how many images changed theirs."""
        if self.labels is not None:
            self.changed = float((labels != self.labels).mean())
        self.labels = labels

    def take_snapshot(self, outcome: Outcome) -> None:
        """Keep the clusters of this moment."""
        embedding = outcome.embedding.astype(np.float32)
        self.snapshots.append(Snapshot(len(self.history), outcome.labels, embedding))

    def _snapshot_is_due(self) -> bool:
        if not self._current.has_clusters or not self.settings.n_snapshots:
            return False
        before = sum(one.max_epochs for one in self.stages[: self.stage] if one.has_clusters)
        total = sum(one.max_epochs for one in self.stages if one.has_clusters)
        due = [
            (before + epoch) * self.settings.n_snapshots // total
            for epoch in (self.stage_epoch - 1, self.stage_epoch)
        ]
        return due[0] < due[1]

    def stop(self) -> None:
        """End before the next step; for callbacks."""
        raise KeyboardInterrupt

    def summary(self) -> str:
        """Return the stage and the loss of the last epoch."""
        if not self.history.rows:
            return ""
        last = self.history.rows[-1]
        return f"{last['stage']}: loss {last.get('loss', np.nan):.5f}"

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides how the training goes on after an epoch."""
        return {
            "counts": {name: getattr(self, name) for name in _COUNTS},
            "converged": bool(self.converged),
            "stages": [list(astuple(stage)) for stage in self.stages],
            "model": dict(self.model.state_dict()),
            "optimizer": [dict(self.optimizer.state.get(one, {})) for one in self._learnt()],
            "history": self.history.rows,
            "labels": _tensor(self.labels),
            "snapshots": [
                [one.epoch, _tensor(one.labels), _tensor(one.embedding)] for one in self.snapshots
            ],
            "generator": self.generator.get_state(),
            "own": self.own_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for name in _COUNTS:
            setattr(self, name, int(state["counts"][name]))
        self.converged = state["converged"]
        self.stages = tuple(Stage(*stage) for stage in state["stages"])
        self.model.load_state_dict(state["model"])
        for parameter, known in zip(self._learnt(), state["optimizer"], strict=True):
            if known:
                self.optimizer.state[parameter] = {
                    name: one if name == "step" or one is None else one.to(self.device)
                    for name, one in known.items()
                }
        self.history.rows = list(state["history"])
        self.labels = None if state["labels"] is None else state["labels"].numpy()
        self.snapshots = [Snapshot(e, x.numpy(), z.numpy()) for e, x, z in state["snapshots"]]
        self.generator.set_state(state["generator"])
        self.load_own_state(state["own"])

    def _learnt(self) -> list[nn.Parameter]:
        return [one for group in self.optimizer.param_groups for one in group["params"]]


def _tensor(array: np.ndarray[Any, Any] | None) -> Tensor | None:
    return None if array is None else torch.from_numpy(array)
