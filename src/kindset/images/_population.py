"""Restarts side by side: which are best, copies with one cluster moved, tiny clusters refilled."""

import torch
from torch import Tensor

from kindset._torch.image_set import ImageSet
from kindset.images._alignment import Aligner
from kindset.images._history import History
from kindset.images._model import DTIModel
from kindset.images._optimiser import ModelOptimizer
from kindset.images._search import Search
from kindset.images._swapping import choose_move, unwarped

_NOISE = 1e-4
_JURY, _PART = 2048, 256


class Population:
    """All that has a row for each prototype, so that restarts and clusters move together.

    Parameters
    ----------
    images : ImageSet of shape (N, C, H, W)
    model : DTIModel
    aligner : Aligner
    optimizer : ModelOptimizer
    search : Search
    history : History
    generator : torch.Generator

    Attributes
    ----------
    scaled : ImageSet
        The images in the size of the prototypes.
    """

    def __init__(
        self,
        images: ImageSet,
        model: DTIModel,
        aligner: Aligner,
        optimizer: ModelOptimizer,
        search: Search,
        history: History,
        generator: torch.Generator,
    ) -> None:
        self.images = images
        self.scaled = images
        self.model = model
        self.aligner = aligner
        self.optimizer = optimizer
        self.search = search
        self.history = history
        self.generator = generator

    def resize(self, height: int, width: int) -> None:
        """Go over to images of another size."""
        if self.scaled.shape[2:] != (height, width):
            self.scaled = self.images.resized(height, width)
        self.optimizer.resize(height, width)

    def keep_best(self, n_restarts: int) -> None:
        """Drop the restarts with the highest losses."""
        if n_restarts < self.model.n_restarts:
            self._take_restarts(self._ranking()[:n_restarts])

    def evolve(self, n_rounds: int) -> None:
        """Let copies of the best, with one cluster moved, take the place of the other restarts.

        Copies and originals go on side by side on the same batches, and the lower loss tells next
        time which was right: random swaps with an acceptance test. Half of the restarts stay after
        the first round, a quarter after the second, and so on.
        """
        ranking = self._ranking()
        n_kept = max(1, len(ranking) >> n_rounds)
        self._take_restarts(ranking[torch.arange(len(ranking)) % n_kept])
        for r in range(n_kept, len(ranking)):
            self._swap(r)

    def refill(self, shares: Tensor, least: float) -> int:
        """Let each cluster with less than a share restart beside the largest; count them."""
        n_clusters = self.model.n_clusters
        source = torch.arange(len(self.model.prototypes))
        disturbed = set()
        for r, c in (shares < least).nonzero().tolist():
            largest = r * n_clusters + int(shares[r].argmax())
            source[r * n_clusters + c] = largest
            disturbed |= {largest, r * n_clusters + c}
        count = int((source != torch.arange(len(source))).sum())
        if count:
            self._take(source)
            rows = torch.tensor(sorted(disturbed))
            noise = torch.randn(len(rows), *self.model.prototypes.shape[1:],
                                generator=self.generator)  # fmt: skip
            self.model.prototypes.data[rows] += _NOISE * noise.to(self.images.device)
        return count

    def _swap(self, restart: int) -> None:
        """Move the cluster that is missed least to an image that is matched badly."""
        n_clusters = self.model.n_clusters
        first = restart * n_clusters
        move = choose_move(self.search.memory[:, first : first + n_clusters], self.generator)
        if move is None:
            return
        moved, owner, row = first + move.cluster, first + move.owner, move.row
        source = torch.arange(len(self.model.prototypes))
        source[moved] = owner
        self._take(source)
        x, full = self.scaled[row : row + 1], self.images[row : row + 1]
        self.model.prototypes.data[moved] = unwarped(self.model, self.aligner, x, full, moved)
        self.search.forget(moved)

    @torch.no_grad()
    def _ranking(self) -> Tensor:
        """Return the restarts, the one with the lowest loss first, on images from everywhere."""
        self.model.eval()
        n_samples = len(self.images)
        rows = torch.linspace(0, n_samples - 1, min(n_samples, _JURY)).long()
        values = []
        for part in rows.split(_PART):
            parameters = self.aligner(self.model, self.images[part], part)
            energies = self.model.energies(self.scaled[part], parameters)
            by_restart = energies.view(len(part), -1, self.model.n_clusters)
            values.append(self.model.objective.assign(by_restart)[1].cpu())
        self.model.train()
        return torch.cat(values).mean(dim=0).argsort(stable=True)

    def _take_restarts(self, index: Tensor) -> None:
        n_clusters = self.model.n_clusters
        self._take((index[:, None] * n_clusters + torch.arange(n_clusters)).flatten())
        self.history.take(index)

    def _take(self, index: Tensor) -> None:
        """Let prototype i be what prototype ``index[i]`` was, with all that belongs to it."""
        self.optimizer.take(index)
        self.search.take(index)
        self.aligner.take(index)
