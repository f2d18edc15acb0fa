"""Where the parameters of the transformations come from: a network, or gradient descent.

To add a way, subclass `Aligner` and put it into `ALIGNMENTS`; nobody else asks which one it is.
"""

from typing import ClassVar

import torch
from torch import Tensor

from kindset._torch.image_set import ImageSet
from kindset.images._model import DTIModel, Parameters, how_many_at_a_time
from kindset.images._transforms import reduced

_RATE = 0.02
_BATCH = 256


class Aligner:
    """What aligns the prototypes of a model to images.

    Parameters
    ----------
    n_samples : int
        Number of training images.

    Attributes
    ----------
    is_predicted : bool
        Whether parameters are predicted from an image. Training can then start on smaller images,
        and all images can be aligned at once to review them.
    """

    is_predicted: ClassVar[bool] = True

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples

    def __call__(self, model: DTIModel, x: Tensor, rows: Tensor | None) -> Parameters:
        """Return the parameters for images, which are the given rows of the training data."""
        raise NotImplementedError

    def take(self, index: Tensor) -> None:
        """Let prototype i be what prototype ``index[i]`` was."""

    def forget(self) -> None:
        """Drop what is known of the training images."""

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is known of the training images."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor], device: torch.device) -> None:
        """Take over what was known of the training images."""


class PredictedAlignment(Aligner):
    """Parameters that the encoder and the heads predict."""

    def __call__(self, model: DTIModel, x: Tensor, rows: Tensor | None) -> Parameters:
        """Return the parameters for images."""
        if model.n_active == 0:
            return []
        features = model.encoder(reduced(model.solved, x))  # type: ignore[arg-type]
        return [one.identity + heads(features) for one, heads in model.active()]


class OptimisedAlignment(Aligner):
    """Parameters that gradient descent finds for each image and each prototype: the baseline TI.

    Training images keep theirs from one visit to the next; new ones start from the identity.

    Parameters
    ----------
    n_samples : int
        Number of training images.
    visit_steps, fresh_steps : int
        Steps for a training image at each visit, and for a new image.
    """

    is_predicted = False

    def __init__(self, n_samples: int, visit_steps: int = 3, fresh_steps: int = 40) -> None:
        super().__init__(n_samples)
        self.visit_steps = visit_steps
        self.fresh_steps = fresh_steps
        self.tables: list[Tensor] = []

    def __call__(self, model: DTIModel, x: Tensor, rows: Tensor | None) -> Parameters:
        """Return the parameters for images."""
        shape = (len(x), len(model.prototypes))
        active = [one for one, _ in model.active()]
        if rows is None:
            start = [one.identity.expand(*shape, -1) for one in active]
            return self._descend(model, x, start, self.fresh_steps)
        for one in active[len(self.tables) :]:
            self.tables.append(one.identity.repeat(self.n_samples, shape[1], 1))
        found = self._descend(
            model, x, [table[rows] for table in self.tables[: len(active)]], self.visit_steps
        )
        for table, values in zip(self.tables, found, strict=False):
            table[rows] = values
        return found

    def take(self, index: Tensor) -> None:
        """Let prototype i be what prototype ``index[i]`` was."""
        self.tables = [table[:, index] for table in self.tables]

    def forget(self) -> None:
        """Drop the parameters of the training images."""
        self.tables = []

    def state_dict(self) -> dict[str, Tensor]:
        """Return the parameters of the training images, one table for each transformation."""
        return {str(i): table for i, table in enumerate(self.tables)}

    def load_state_dict(self, state: dict[str, Tensor], device: torch.device) -> None:
        """Take over the parameters of the training images."""
        self.tables = [state[str(i)].to(device) for i in range(len(state))]

    def _descend(self, model: DTIModel, x: Tensor, start: Parameters, n_steps: int) -> Parameters:
        """Optimise the parameters of the images, of as many at a time as fit in memory."""
        if not start:
            return []
        size = how_many_at_a_time(model.images())
        chunks = zip(x.split(size), *(one.split(size) for one in start), strict=True)
        parts = [self._descend_together(model, some, own, n_steps) for some, *own in chunks]
        return [torch.cat(part) for part in zip(*parts, strict=True)]

    def _descend_together(
        self, model: DTIModel, x: Tensor, start: Parameters, n_steps: int
    ) -> Parameters:
        values = [one.detach().clone().requires_grad_() for one in start]
        optimizer = torch.optim.Adam(values, lr=_RATE)
        images, prior = model.images().detach(), model.prior().detach()
        with torch.enable_grad():
            for _ in range(n_steps):
                energies = model.compare(x[:, None], images, values, prior)
                gradients = torch.autograd.grad(energies.sum(), values)
                for one, gradient in zip(values, gradients, strict=True):
                    one.grad = gradient
                optimizer.step()
        return [one.detach() for one in values]


ALIGNMENTS: dict[str, type[Aligner]] = {
    "predicted": PredictedAlignment,
    "optimized": OptimisedAlignment,
}
"""The parameter `alignment` -> class."""


@torch.no_grad()
def all_energies(model: DTIModel, aligner: Aligner, images: ImageSet) -> Tensor:
    """Return the energies of images with all prototypes, of shape (N, G)."""
    # In place: parts kept for later would lie between the large blocks that come and go, which
    # could then not be given back.
    energies = model.prototypes.new_empty(len(images), len(model.prototypes))
    for start, part in zip(range(0, len(images), _BATCH), images.split(_BATCH), strict=True):
        x = part.to(model.prototypes)
        energies[start : start + _BATCH] = model.energies(x, aligner(model, x, None))
    return energies
