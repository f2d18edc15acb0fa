"""Random batches, pass after pass over all samples."""

from typing import Any

import torch
from torch import Tensor


class Batches:
    """Draws rows without repeating one before all others were drawn.

    Parameters
    ----------
    n_samples : int
    size : int
        Rows in a batch; fewer if there are fewer samples.
    generator : torch.Generator
    """

    def __init__(self, n_samples: int, size: int, generator: torch.Generator) -> None:
        self.n_samples = n_samples
        self.size = min(size, n_samples)
        self.generator = generator
        self.restart()

    def restart(self) -> None:
        """Begin with a first pass."""
        self.queue = torch.empty(0, dtype=torch.int64)
        self.passes = 0

    def draw(self) -> Tensor:
        """Return the rows of the next batch."""
        if len(self.queue) < self.size:
            more = torch.randperm(self.n_samples, generator=self.generator)
            self.queue = torch.cat([self.queue, more])
            self.passes += 1
        batch, self.queue = self.queue[: self.size], self.queue[self.size :]
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the rows that wait, and the number of passes; the generator is not ours."""
        return {"queue": self.queue, "passes": self.passes}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the rows that wait."""
        queue = state["queue"]
        whole = queue.ndim == 1 and queue.dtype == torch.int64
        if not whole or ((queue < 0) | (queue >= self.n_samples)).any():
            raise ValueError("it names images that do not exist")
        self.queue, self.passes = queue, int(state["passes"])
