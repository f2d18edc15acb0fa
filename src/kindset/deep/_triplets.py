"""The triplet loss of JULE: members of a cluster nearer to each other than to others."""

import torch
from torch import Tensor


def draw_triplets(
    labels: Tensor, n_negatives: int, max_pairs: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw pairs of a cluster, and members of other clusters for each pair.

    Parameters
    ----------
    labels : Tensor of shape (n,)
        Clusters of the images of a batch.
    n_negatives : int
        Others for each pair; fewer if there are fewer other clusters.
    max_pairs : int
        If there are more pairs, some are drawn.
    generator : torch.Generator

    Returns
    -------
    anchors, positives : Tensor of shape (n_pairs,)
        Rows of the batch, of two members of one cluster.
    negatives : Tensor of shape (n_pairs, n_negatives)
        Rows of the batch, of members of other clusters; there may be none.
    """
    alike = labels[:, None] == labels
    anchors, positives = alike.triu(diagonal=1).nonzero(as_tuple=True)
    if len(anchors) > max_pairs:
        chosen = torch.randperm(len(anchors), generator=generator)[:max_pairs]
        anchors, positives = anchors[chosen], positives[chosen]
    n_drawn = min(n_negatives, len(labels.unique()) - 1)
    if n_drawn == 0 or len(anchors) == 0:
        return anchors, positives, torch.empty(len(anchors), 0, dtype=torch.int64)
    # The highest of random numbers are a sample without repetition; members are below all others.
    # There are at least as many others as other clusters.
    numbers = torch.rand(len(anchors), len(labels), generator=generator)
    numbers[alike[anchors]] = -1.0
    return anchors, positives, numbers.topk(n_drawn, dim=1).indices


def triplet_loss(
    points: Tensor, anchors: Tensor, positives: Tensor, negatives: Tensor, margin: float
) -> Tensor:
    """Return the mean of max(0, |a − p|² − |a − n|² + margin), for unit rows."""
    products = points @ points.T  # |a − b|² = 2 − 2 ab
    ahead = products[anchors, positives][:, None] - products[anchors[:, None], negatives]
    return torch.relu(margin - 2 * ahead).mean()
