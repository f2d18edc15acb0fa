"""A second opinion on assignments: a network that learns to recognise the clusters.

The aligned prototypes compare pixels, and a prototype that can be bent into an image of another
kind wins it. A network that sees the images only, each time distorted by the warps in another way,
learns what the images of a cluster have in common long before it learns by heart which of them are
in the wrong one; where it disagrees it is more often right.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from kindset._torch.image_set import ImageSet, ImageShape
from kindset.images._alignment import Aligner, all_energies
from kindset.images._model import DTIModel
from kindset.images._transforms import Warp, read_at, reduced

_RATE = 2e-3
_LARGE = 40
"""Pixels of a side, above which a layer takes every other one."""
_DISTORTION = 0.12
"""Standard deviation of the parameters of warps; positions in an image go from -1 to 1."""
_MEMORY = 0.8
"""How much what was said of an image counts beside what is said now."""
_TRUSTED = 0.8
"""Share of the assignments that a reviewer must agree with to be asked about the others."""


class Reviewer(nn.Module):
    """A small network that learns to recognise clusters, and what it has said of each image.

    What counts is not its last word but an average over the time in which it learns: an ensemble
    of networks that have each seen the image in another form, at no cost.

    Parameters
    ----------
    shape : tuple of three int
        Channels, height, width.
    n_samples, n_clusters : int
    """

    opinions: Tensor

    def __init__(self, shape: ImageShape, n_samples: int, n_clusters: int) -> None:
        super().__init__()
        n_channels, height, width = shape
        layers: list[nn.Module] = []
        for wider in (16, 32, 64, 64, 64, 64):
            stride = 2 if max(height, width) > _LARGE else 1
            # Pooled first: what follows has a quarter of the work.
            layers += [
                nn.Conv2d(n_channels, wider, 5, stride, padding=2),
                nn.MaxPool2d(2, ceil_mode=True),
                nn.BatchNorm2d(wider),
                nn.ReLU(),
            ]
            height, width = (-(-size // (2 * stride)) for size in (height, width))
            n_channels = wider
            if max(height, width) <= 8 and wider > 16:
                break
        layers += [nn.Flatten(), nn.Linear(n_channels * height * width, n_clusters)]
        self.network = nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.register_buffer("opinions", torch.zeros(n_samples, n_clusters))

    def learn(
        self,
        labels: Tensor,
        images: Callable[[Tensor], Tensor],
        *,
        n_steps: int,
        batch_size: int,
        generator: torch.Generator,
        progress: Callable[[], float],
    ) -> Tensor:
        """Learn labels, ever more slowly.

        Parameters
        ----------
        labels : Tensor of shape (N,)
        images : callable
            From indices to images, which may be others each time.
        n_steps, batch_size : int
        generator : torch.Generator
        progress : callable
            Returns how much of the time is over; learning ends at 1.

        Returns
        -------
        heard : Tensor of bool of shape (N,)
            The images it has seen, and has now an opinion of.
        """
        optimizer = torch.optim.Adam(self.network.parameters(), lr=_RATE, fused=True)
        queue = torch.empty(0, dtype=torch.int64)
        heard = torch.zeros_like(labels, dtype=torch.bool)
        for step in range(n_steps):
            done = max(step / n_steps, progress())
            if done >= 1:
                break
            optimizer.param_groups[0]["lr"] = _RATE * (1 - done)
            if len(queue) < batch_size:
                queue = torch.randperm(len(labels), generator=generator)
            rows, queue = queue[:batch_size], queue[batch_size:]
            said = self.network(images(rows))
            loss = cross_entropy(said, labels[rows])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            probabilities = said.detach().softmax(dim=1)
            self.opinions[rows] = torch.lerp(probabilities, self.opinions[rows], _MEMORY)
            heard[rows] = True
        return heard

    def judge(self, labels: Tensor, heard: Tensor, least: float) -> Tensor:
        """Return what the labels of images should be, if the opinion of them is worth anything.

        A cluster that would be left with fewer than `least` images keeps those it has.
        """
        judged = torch.where(heard, self.opinions.argmax(dim=1), labels)
        if (
            not (judged == labels)[heard].double().mean() >= _TRUSTED
        ):  # of none heard it is no number
            return labels
        sizes = torch.bincount(judged, minlength=self.opinions.shape[1])
        return torch.where((sizes < least)[labels], labels, judged)


def build_reviewer(shape: ImageShape, n_samples: int, n_clusters: int, seed: int) -> Reviewer:
    """Return a reviewer with weights drawn from a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Reviewer(shape, n_samples, n_clusters)


def review(
    reviewer: Reviewer,
    model: DTIModel,
    aligner: Aligner,
    images: ImageSet,
    *,
    n_steps: int,
    batch_size: int,
    least: float,
    generator: torch.Generator,
    progress: Callable[[], float],
) -> tuple[Tensor, int]:
    """Let a reviewer learn the clusters of a model, and return those it gives the images.

    Parameters
    ----------
    reviewer : Reviewer
        What it knows from an earlier review is a start.
    model, aligner
        What assigns the images so far.
    images : ImageSet of shape (N, C, H, W)
    n_steps, batch_size, generator, progress
        As for `Reviewer.learn`.
    least : float
        Images that each cluster keeps at least.

    Returns
    -------
    labels : Tensor of shape (N,)
        Those of the model, if they cannot be recognised.
    n_changed : int
        How many are not those of the model.
    """
    labels = all_energies(model, aligner, images).argmin(dim=1)
    warps = [one for one, _ in model.active() if isinstance(one, Warp)]

    def seen(rows: Tensor) -> Tensor:
        return reduced(model.solved, distorted(images[rows], warps, generator))  # type: ignore[arg-type]

    heard = reviewer.learn(
        labels, seen, n_steps=n_steps, batch_size=batch_size, generator=generator, progress=progress
    )
    judged = reviewer.judge(labels, heard, least)
    return judged, int((judged != labels).sum())


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
