"""What a training has come to at some moment: a network, and clusters in its embedding."""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from kindset._torch.image_set import ImageSet
from kindset.deep._assignment import Assignment, largest_first
from kindset.deep._graph import Labels
from kindset.exceptions import DivergedError

_AT_A_TIME = 2**19  # pixels of the images that a network looks at in one go


@dataclass(frozen=True)
class Snapshot:
    """A clustering on the way, which can be compared with others as a run of its own.

    Attributes
    ----------
    epoch : int
        Epochs of training before it.
    labels : ndarray of shape (n_samples,)
    embedding : ndarray of shape (n_samples, n_features)
    """

    epoch: int
    labels: Labels
    embedding: NDArray[np.float32]


@dataclass(frozen=True)
class Outcome:
    """A network in double precision, and the clusters of the training images, largest first."""

    network: nn.Module
    assignment: Assignment
    embedding: NDArray[np.float64]
    labels: Labels


@torch.no_grad()
def embed(network: nn.Module, images: ImageSet) -> NDArray[np.floating]:
    """Return what a network makes of images, in the precision of the network."""
    training = network.training
    network.eval()
    first = next(network.parameters())
    size = max(2, _AT_A_TIME // int(np.prod(images.shape[1:])))
    parts = [network(part.to(first)).cpu() for part in images.split(size)]
    network.train(training)
    return torch.cat(parts).numpy()


def conclude(
    network: nn.Module,
    images: ImageSet,
    make_assignment: Callable[[NDArray[np.float64]], Assignment],
    n_clusters: int,
) -> Outcome:
    """Return the clusters of images in the embedding of a network.

    In double precision, so that no label depends on which images share a batch.
    """
    network = copy.deepcopy(network).eval().double()
    embedding = embed(network, images).astype(np.float64, copy=False)
    check_embedding(embedding)
    assignment = make_assignment(embedding)
    assignment.take(largest_first(assignment.labels(embedding), n_clusters))
    # Anew, not renamed: where clusters tie, `predict` takes the first as well.
    return Outcome(network, assignment, embedding, assignment.labels(embedding))


def check_embedding(embedding: NDArray[np.floating]) -> None:
    """Refuse an embedding that tells no images apart."""
    if not np.isfinite(embedding).all():
        raise DivergedError("the embedding holds numbers that are not finite: lower learning_rate.")
    if not (np.ptp(embedding, axis=0) > 1e-6 * np.abs(embedding).max()).any():
        raise DivergedError("the embedding is the same for all images: lower learning_rate.")
