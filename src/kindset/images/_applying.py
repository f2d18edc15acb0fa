"""A trained model applied to images, a part at a time: aligned prototypes and parameters."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kindset._torch.image_set import ImageSet, as_pictures
from kindset.images._alignment import Aligner
from kindset.images._model import DTIModel, Parameters

_PART = 64

FloatArray = NDArray[np.floating[Any]]


@torch.no_grad()
def aligned_prototypes(
    model: DTIModel, aligner: Aligner, images: ImageSet, chosen: Tensor | None
) -> FloatArray:
    """Return the prototypes as they are aligned to each image.

    Parameters
    ----------
    model, aligner
    images : ImageSet
    chosen : Tensor of shape (N,) or None
        One cluster for each image, or all of them.

    Returns
    -------
    aligned : ndarray of shape (N, K or 1, height, width[, channels])
    """
    parts = []
    for rows in torch.arange(len(images)).split(_PART):
        x = images[rows].to(model.prototypes)
        clusters = None if chosen is None else chosen[rows]
        moved = _align(model, x, aligner(model, x, None), clusters)
        parts.append(as_pictures(moved[..., : model.n_channels, :, :]))
    return np.concatenate(parts)


def _align(model: DTIModel, x: Tensor, parameters: Parameters, g: Tensor | None) -> Tensor:
    """Return all prototypes aligned to images x, or for each image the one in g."""
    if g is None:
        return model.align(x[:, None], model.images(), parameters)[0]
    own = [values[torch.arange(len(g)), g][None] for values in parameters]
    return model.align(x[None], model.images()[g], own)[0].transpose(0, 1)


@torch.no_grad()
def alignment_parameters(model: DTIModel, aligner: Aligner, images: ImageSet) -> list[FloatArray]:
    """Return the parameters of all transformations, one array (N, K, n_parameters) for each."""
    parts = []
    for rows in images.split(_PART):
        x = rows.to(model.prototypes)
        predicted = aligner(model, x, None)
        solved: Parameters = []
        if model.solved:
            _, solved = model.align(x[:, None], model.images(), predicted)
        parts.append(model.in_order(_complete(model, predicted, len(x)), solved))
    return [torch.cat(part).float().cpu().numpy() for part in zip(*parts, strict=True)]


def _complete(model: DTIModel, predicted: Parameters, n_samples: int) -> list[Tensor]:
    """Add the identity of what an interrupted training has not come to and does not apply."""
    unused: Any = model.predicted[len(predicted) :]
    shape = (n_samples, model.n_clusters, 1)
    return [*predicted, *(one.identity.repeat(shape) for one in unused)]
