"""A second opinion on assignments: a network that learns to recognise the clusters.

The aligned prototypes compare pixels, and a prototype that can be bent into an image of another
kind wins it. A network that sees the images only, each time distorted in another way, learns what
the images of a cluster have in common long before it learns by heart which of them are in the wrong
one; where it disagrees it is more often right.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from kindset.images._model import Aligner, DTIModel, all_energies
from kindset.images._transforms import ImageShape, Warp, read_at, reduced

_BATCH = 256
_RATE = 2e-3
_DISTORTION = 0.12
"""Standard deviation of the parameters of warps; positions in an image go from -1 to 1."""
_TRUSTED = 0.8
"""Share of the assignments that a reviewer must agree with to be asked about the others."""


def build_reviewer(shape: ImageShape, n_clusters: int, seed: int) -> nn.Module:
    """Return a small convolutional network from images to one number for each cluster."""
    n_channels, height, width = shape
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for wider in (16, 32, 64, 64, 64, 64):
            # Pooled first: what follows has a quarter of the work.
            layers += [
                nn.Conv2d(n_channels, wider, 5, padding=2),
                nn.MaxPool2d(2, ceil_mode=True),
                nn.BatchNorm2d(wider),
                nn.ReLU(),
            ]
            n_channels, height, width = wider, (height + 1) // 2, (width + 1) // 2
            if max(height, width) <= 8 and wider > 16:
                break
        layers += [nn.Flatten(), nn.Linear(n_channels * height * width, n_clusters)]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def review(
    network: nn.Module,
    model: DTIModel,
    aligner: Aligner,
    images: Tensor,
    *,
    n_steps: int,
    batch_size: int,
    generator: torch.Generator,
    progress: Callable[[], float],
) -> Tensor:
    """Let a network learn the clusters and return to which one it gives each image.

    Parameters
    ----------
    network : Module
        From images to one number for each cluster. What it knows from an earlier review is a start.
    model, aligner
        What assigns the images so far.
    images : Tensor of shape (N, C, H, W)
    n_steps : int
        Steps of learning.
    batch_size : int
    generator : torch.Generator
    progress : callable
        Returns how much of the time is over, from 0 to 1; learning ends at 1.

    Returns
    -------
    labels : Tensor of shape (N,)
        Those of the model, if the network has not learnt to recognise them.
    """
    labels = all_energies(model, aligner, images).argmin(dim=1)
    warps = [one for one, _ in model.active() if isinstance(one, Warp)]
    optimizer = torch.optim.Adam(network.parameters(), lr=_RATE, fused=True)
    queue = torch.empty(0, dtype=torch.int64)
    network.train()
    for step in range(n_steps):
        done = max(step / n_steps, progress())
        if done >= 1:
            break
        optimizer.param_groups[0]["lr"] = _RATE * (1 - done)
        if len(queue) < batch_size:
            queue = torch.cat([queue, torch.randperm(len(images), generator=generator)])
        rows, queue = queue[:batch_size], queue[batch_size:]
        seen = reduced(model.solved, distorted(images[rows], warps, generator))  # type: ignore[arg-type]
        loss = cross_entropy(network(seen), labels[rows])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    opinion = recognised(network, model, images)
    agrees = (opinion == labels).double().mean() >= _TRUSTED
    return opinion if agrees else labels


@torch.no_grad()
def recognised(network: nn.Module, model: DTIModel, images: Tensor) -> Tensor:
    """Return the cluster to which a network gives each image."""
    network.eval()
    parts = [network(reduced(model.solved, part)) for part in images.split(_BATCH)]  # type: ignore[arg-type]
    return torch.cat(parts).argmax(dim=1)


def distorted(images: Tensor, warps: Sequence[Warp], generator: torch.Generator) -> Tensor:
    """Return images (n, C, H, W), the pixels of each moved at random by all of the warps.

    The moves are added up and the images read once: each reading blurs, and the images to be
    recognised are not blurred.
    """
    if not warps:
        return images
    points = warps[0].pixels[:2]
    for warp in warps:
        noise = torch.randn(len(images), warp.n_parameters, generator=generator)
        parameters = warp.identity + _DISTORTION * noise.to(images)
        points = points + warp.points(parameters) - warp.pixels[:2]
    return read_at(images, points)
