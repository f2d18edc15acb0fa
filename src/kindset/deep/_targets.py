"""Soft assignments to clusters, and the sharper ones that are learnt from them."""

from collections.abc import Callable

import torch
from torch import Tensor


def _squared(probabilities: Tensor) -> Tensor:
    return probabilities.square() / probabilities.sum(dim=0)


def _rooted(probabilities: Tensor) -> Tensor:
    return probabilities / probabilities.sum(dim=0).sqrt()


TARGETS: dict[str, Callable[[Tensor], Tensor]] = {"squared": _squared, "rooted": _rooted}
"""Name -> from probabilities (n, K) to weights (n, K) that favour small clusters."""


def sharpened(probabilities: Tensor, target: str = "squared") -> Tensor:
    """Return assignments to learn from: the weights of `TARGETS`, as rows that sum to 1.

    "squared" takes p² / f, "rooted" p / √f, where f is the sum of a cluster over all images. A
    cluster that nobody belongs to at all gets no weight.

    Examples
    --------
    >>> import torch
    >>> from kindset.deep._targets import sharpened
    >>> sharpened(torch.tensor([[0.9, 0.1], [0.5, 0.5]]))
    tensor([[0.9720, 0.0280],
            [0.3000, 0.7000]])
    """
    weights = torch.nan_to_num(TARGETS[target](probabilities))
    return weights / weights.sum(dim=1, keepdim=True)


def student_probabilities(points: Tensor, centres: Tensor) -> Tensor:
    """Return assignments by Student's t with one degree of freedom around centres."""
    weights = 1 / (1 + torch.cdist(points, centres).square())
    return weights / weights.sum(dim=1, keepdim=True)
