"""Alignment by optimisation, image by image, instead of prediction: the baseline TI."""

import torch
from torch import Tensor

from kindset.images._model import DTIModel, Parameters, how_many_at_a_time

_RATE = 0.02


class OptimisedAlignment:
    """Parameters that gradient descent finds for each image and each prototype.

    Training images keep theirs from one visit to the next; new ones start from the identity.

    Parameters
    ----------
    n_samples : int
        Number of training images.
    visit_steps, fresh_steps : int
        Steps for a training image at each visit, and for a new image.
    """

    def __init__(self, n_samples: int, visit_steps: int = 3, fresh_steps: int = 40) -> None:
        self.n_samples = n_samples
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
        """Keep the given prototypes, in that order."""
        self.tables = [table[:, index] for table in self.tables]

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
