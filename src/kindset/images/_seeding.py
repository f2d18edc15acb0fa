"""Where prototypes start."""

from collections.abc import Callable

import torch
from torch import Tensor

from kindset._torch.image_set import ImageSet, part_size

_MOST = 20_000


def distant_rows(
    images: ImageSet,
    n_clusters: int,
    generator: torch.Generator,
    look: Callable[[Tensor], Tensor] = lambda part: part,
) -> Tensor:
    """Draw images for first prototypes, each far from those before it (k-means++).

    Parameters
    ----------
    images : ImageSet of shape (N, C, H, W)
    n_clusters : int
    generator : torch.Generator
    look : callable, default=as they are
        From images to what is compared.

    Returns
    -------
    rows : Tensor of shape (n_clusters,)
    """
    rows = torch.randperm(len(images), generator=generator)[:_MOST]
    # Read anew for each prototype: all of them as numbers may not fit in memory.
    parts = rows.split(part_size(images.shape))

    def distances_to(position: int) -> Tensor:
        centre = look(images[rows[position : position + 1]]).flatten(1)
        return torch.cat([
            (look(images[part]).flatten(1) - centre).square().sum(dim=1) for part in parts
        ])  # fmt: skip

    chosen = [0]
    distances = distances_to(0)
    while len(chosen) < n_clusters:
        weights = distances if distances.max() > 0 else torch.ones_like(distances)
        chosen.append(int(torch.multinomial(weights, 1, generator=generator)))
        if len(chosen) < n_clusters:
            distances = torch.minimum(distances, distances_to(chosen[-1]))
    return rows[chosen]
