"""Moves of a cluster to where it is needed more: which one, where to, and how it looks there."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from kindset.images._alignment import Aligner
from kindset.images._model import DTIModel
from kindset.images._transforms import first_prototypes

_CHOOSY = 4.0
"""How clearly the cluster that is missed least is preferred."""


class Move(NamedTuple):
    """A cluster that goes to an image, and the cluster the image is in."""

    cluster: int
    owner: int
    row: int


def choose_move(energies: Tensor, generator: torch.Generator) -> Move | None:
    """Draw a cluster that is hardly missed and an image that is matched badly.

    Parameters
    ----------
    energies : Tensor of shape (N, K)
        Of all images in all clusters of a restart; infinite where they are not known.
    generator : torch.Generator

    Returns
    -------
    move : Move, or None if too few are known
    """
    n_clusters = energies.shape[1]
    seen = torch.isfinite(energies).all(dim=1).nonzero().flatten()
    if n_clusters < 3 or len(seen) < n_clusters:
        return None
    nearest, order = energies[seen].topk(2, dim=1, largest=False)
    gap = (nearest[:, 1] - nearest[:, 0]).clamp(min=1e-9)
    missed = torch.full((n_clusters,), 1e-9).index_add_(0, order[:, 0], gap)
    badness = nearest[:, 0] - nearest[:, 0].min() + 1e-9
    chosen = int(torch.multinomial(badness, 1, generator=generator))
    owner = int(order[chosen, 0])
    weights = (missed.min() / missed) ** _CHOOSY
    weights[owner] = 0
    cluster = int(torch.multinomial(weights.clamp(min=1e-30), 1, generator=generator))
    return Move(cluster, owner, int(seen[chosen]))


def unwarped(model: DTIModel, aligner: Aligner, x: Tensor, full: Tensor, prototype: int) -> Tensor:
    """Return an image as a prototype that the transformations would turn into it.

    Parameters
    ----------
    model, aligner
    x : Tensor of shape (1, C, h, w)
        The image in the size of the prototypes.
    full : Tensor of shape (1, C, H, W)
        The image as the encoder sees it.
    prototype : int
        The one whose heads predict the transformations.
    """
    model.eval()  # the statistics of a single image are none
    with torch.no_grad():
        parameters = aligner(model, full, None)
    model.train()
    own = [values[:, prototype : prototype + 1] for values in parameters]
    source = model.prototypes.detach()[prototype : prototype + 1].requires_grad_()
    with torch.enable_grad():
        moved = model.transform(source, own).view_as(source)
        shed, cover = (
            torch.autograd.grad(moved, source, up, retain_graph=True)[0]
            for up in (x, torch.ones_like(x))
        )
    beyond = _in_colours_of(model, x, prototype, own)
    found = torch.where(cover > 0.1, shed / cover.clamp(min=0.1), beyond)
    return first_prototypes(model.solved, found)[0]  # type: ignore[arg-type]


@torch.no_grad()
def _in_colours_of(
    model: DTIModel, x: Tensor, prototype: int, parameters: Sequence[Tensor]
) -> Tensor:
    """Return a prototype changed by the solved transformations alone."""
    images = model.images()[prototype : prototype + 1]
    _, solved = model.align(x[:, None], images, parameters)
    changed = images[:, : model.n_channels]
    for one, values in zip(model.solved, solved, strict=True):
        changed = one(changed, values)[0]
    return changed
