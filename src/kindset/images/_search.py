"""The search for the nearest prototypes, which remembers the promising ones."""

from collections.abc import Sequence

import torch
from torch import Tensor

from kindset.images._model import DTIModel


class Search:
    """Finds the energies of pairs of images and prototypes, in most passes of few of them.

    Parameters
    ----------
    model : DTIModel
    n_samples : int
        Number of training images.
    n_candidates : int
        Prototypes of each restart to look at when not all are.
    full_every : int
        Passes from one that looks at all to the next.

    Attributes
    ----------
    memory : Tensor of shape (N, G)
        The last known energy of each pair; minus infinity if there is none, so that it is tried.
    """

    def __init__(self, model: DTIModel, n_samples: int, n_candidates: int, full_every: int) -> None:
        self.model = model
        self.n_candidates = n_candidates
        self.full_every = full_every
        self.memory = torch.full((n_samples, len(model.prototypes)), -torch.inf)

    def energies(
        self, x: Tensor, rows: Tensor, parameters: Sequence[Tensor], n_passes: int
    ) -> Tensor:
        """Return the energies of all pairs; infinite for those that are not promising.

        Parameters
        ----------
        x : Tensor of shape (B, C, H, W)
        rows : Tensor of shape (B,)
            Which training images they are.
        parameters : sequence of Tensor of shape (B, G, n_parameters)
        n_passes : int
            Which pass over the images it is, counted from 1.
        """
        full = n_passes % self.full_every == 1
        if full or self.model.n_clusters <= self.n_candidates + 1 or not parameters:
            energies = self.model.energies(x, parameters).cpu()
            self.memory[rows] = energies
            return energies
        b, g = self._promising(rows)
        found = self.model.pair_energies(x, parameters, b, g).cpu()
        self.memory[rows[b], g] = found
        energies = torch.full((len(rows), self.memory.shape[1]), torch.inf)
        energies[b, g] = found
        return energies

    def _promising(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return pairs: positions in the batch, and prototypes that were nearest before."""
        n_clusters = self.model.n_clusters
        known = self.memory[rows].view(len(rows), -1, n_clusters)
        nearest = known.topk(self.n_candidates, dim=-1, largest=False).indices
        first = n_clusters * torch.arange(known.shape[1])[:, None]
        g = (nearest + first).flatten()
        b = torch.arange(len(rows)).repeat_interleave(known.shape[1] * self.n_candidates)
        return b, g

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is remembered."""
        return {"memory": self.memory}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what was remembered; the prototypes must be in place already."""
        memory = state["memory"]
        if memory.shape != (len(self.memory), len(self.model.prototypes)):
            raise ValueError("it remembers other images or prototypes")
        self.memory = memory

    def take(self, index: Tensor) -> None:
        """Let prototype i be what prototype ``index[i]`` was."""
        self.memory = self.memory[:, index]

    def forget(self, prototype: int) -> None:
        """Look at a prototype again, wherever it was."""
        self.memory[:, prototype] = -torch.inf
