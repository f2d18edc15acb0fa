"""Where prototypes start."""

import torch
from torch import Tensor

_MOST = 20_000


def distant_rows(images: Tensor, n_clusters: int, generator: torch.Generator) -> Tensor:
    """Draw images for first prototypes, each far from those before it (k-means++).

    Parameters
    ----------
    images : Tensor of shape (N, C, H, W)
    n_clusters : int
    generator : torch.Generator

    Returns
    -------
    rows : Tensor of shape (n_clusters,)
    """
    rows = torch.randperm(len(images), generator=generator)[:_MOST]
    flat = images[rows].flatten(1)
    chosen = [0]
    distances = (flat - flat[0]).square().sum(dim=1)
    while len(chosen) < n_clusters:
        weights = distances if distances.max() > 0 else torch.ones_like(distances)
        chosen.append(int(torch.multinomial(weights, 1, generator=generator)))
        distances = torch.minimum(distances, (flat - flat[chosen[-1]]).square().sum(dim=1))
    return rows[chosen]
