"""What happened in a training: losses and cluster sizes by window of steps, and snapshots."""

from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

_BY_RESTART = ("loss", "shares", "snapshots")


@dataclass
class History:
    """What happened, one entry for each window of steps; losses and shares by restart.

    Snapshots are one for each beginning and end of a stage, images changed one for each review.
    """

    step: list[int] = field(default_factory=list)
    stage: list[str] = field(default_factory=list)
    loss: list[Tensor] = field(default_factory=list)
    shares: list[Tensor] = field(default_factory=list)
    reassigned: list[int] = field(default_factory=list)
    n_restarts: list[int] = field(default_factory=list)
    snapshots: list[Tensor] = field(default_factory=list)
    snapshot_steps: list[int] = field(default_factory=list)
    n_changed: list[int] = field(default_factory=list)

    def steps_by_stage(self) -> dict[str, int]:
        """Return how many steps each stage took."""
        taken = dict.fromkeys(self.stage, 0)
        for stage, before, after in zip(self.stage, [0, *self.step], self.step, strict=False):
            taken[stage] += after - before
        return taken

    def note(self, step: int, stage: str, tally: "Tally", reassigned: int) -> None:
        """Add what a window came to."""
        self.step.append(step)
        self.stage.append(stage)
        self.loss.append(tally.losses / tally.n_steps)
        self.shares.append(tally.shares / tally.n_steps)
        self.n_restarts.append(len(tally.losses))
        self.reassigned.append(reassigned)

    def take(self, index: Tensor) -> None:
        """Let restart i be what restart ``index[i]`` was."""
        for name in _BY_RESTART:
            setattr(self, name, [values[index] for values in getattr(self, name)])

    def state_dict(self) -> dict[str, list[Any]]:
        """Return all entries."""
        return {one.name: list(getattr(self, one.name)) for one in fields(self)}

    def load_state_dict(self, state: dict[str, list[Any]]) -> None:
        """Take over all entries."""
        for one in fields(self):
            setattr(self, one.name, list(state[one.name]))


class Tally:
    """Sums of losses and cluster shares over the steps of a window, by restart."""

    def __init__(self, n_restarts: int, n_clusters: int) -> None:
        self.n_steps = 0
        self.losses = torch.zeros(n_restarts)
        self.shares = torch.zeros(n_restarts, n_clusters)

    def add(self, losses: Tensor | float, shares: Tensor) -> None:
        """Count a step."""
        self.losses += losses
        self.shares += shares
        self.n_steps += 1
