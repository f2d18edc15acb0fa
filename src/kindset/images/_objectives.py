"""What a pair of an image and a transformed prototype costs: K-means or Gaussian mixture."""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from kindset._torch.image_set import ImageShape

MIN_DEVIATION = 0.25
_START_DEVIATION = 0.5
_NEGLIGIBLE = 1e-3


class Objective(nn.Module):
    """The clustering criterion; the rest of the model does not know which one it is.

    Energies are per pixel and lower is better.

    Parameters
    ----------
    shape : tuple of three int
        Channels, height, width.
    pixel_weight : Tensor of shape (height, width)
        Adds up to 1.
    stiffness : float
        What the effort of the transformations costs, in squared differences.
    """

    unit: ClassVar[float] = 1.0
    """The energy of a mean squared difference of 1."""

    weight: Tensor
    full_weight: Tensor

    def __init__(self, shape: ImageShape, pixel_weight: Tensor, stiffness: float) -> None:
        super().__init__()
        self.stiffness = float(stiffness)
        self.n_channels = shape[0]
        self.n_values = shape[0] * shape[1] * shape[2]
        self.register_buffer("weight", pixel_weight / shape[0])
        self.register_buffer("full_weight", self.weight, persistent=False)
        self._even = bool((pixel_weight == pixel_weight[0, 0]).all())

    def resize(self, height: int, width: int) -> None:
        """Weigh the pixels of images of another size."""
        # Equal weights differ from the full-size ones by their rounding only, which is kept: it
        # decides the last bits of results.
        source = self.weight if self._even else self.full_weight
        weight = adaptive_avg_pool2d(source[None], (height, width))[0]
        self.n_values = self.n_channels * height * width
        self.weight = weight / (weight.sum() * self.n_channels)

    def start(self, prototypes: Tensor) -> dict[str, Tensor]:
        """Return what a cluster has besides its prototype, one row for each prototype."""
        raise NotImplementedError

    def images(self, prototypes: Tensor, extra: nn.ParameterDict) -> Tensor:
        """Return the channels to transform: the prototypes, then what moves along with them."""
        raise NotImplementedError

    def energies(self, x: Tensor, transformed: Tensor, prior: Tensor) -> Tensor:
        """Return the energy of each pair; the last three axes are channels, rows and columns."""
        raise NotImplementedError

    def precision(self, transformed: Tensor) -> Tensor:
        """Return how much a squared difference counts, by pixel."""
        return self.weight

    def prior(self, extra: nn.ParameterDict, n_clusters: int) -> Tensor:
        """Return the part of each prototype's energy that does not depend on the image."""
        raise NotImplementedError

    def assign(self, energies: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weights of the clusters (last axis) for each image, and its energy."""
        raise NotImplementedError


class KMeansObjective(Objective):
    """The mean squared difference; each image belongs to its nearest prototype."""

    def start(self, prototypes: Tensor) -> dict[str, Tensor]:
        """Return nothing: a cluster is its prototype."""
        return {}

    def images(self, prototypes: Tensor, extra: nn.ParameterDict) -> Tensor:
        """Return the prototypes."""
        return prototypes

    def prior(self, extra: nn.ParameterDict, n_clusters: int) -> Tensor:
        """Return 0."""
        return torch.zeros((), dtype=self.weight.dtype, device=self.weight.device)

    def energies(self, x: Tensor, transformed: Tensor, prior: Tensor) -> Tensor:
        """Return the weighted mean of the squared differences."""
        difference = (transformed - x).square()
        return torch.einsum("...chw,hw->...", difference, self.weight)

    def assign(self, energies: Tensor) -> tuple[Tensor, Tensor]:
        """Give each image to the nearest prototype."""
        value, winner = energies.min(dim=-1)
        return torch.zeros_like(energies).scatter_(-1, winner[..., None], 1.0), value


class GaussianObjective(Objective):
    """The negative log-likelihood of a mixture of Gaussians with a variance for each pixel."""

    unit = 1 / (2 * MIN_DEVIATION**2)  # where the variance is least

    def start(self, prototypes: Tensor) -> dict[str, Tensor]:
        """Return equal deviations and equal weights."""
        return {
            "deviations": torch.full_like(prototypes, _START_DEVIATION),
            "logits": torch.ones(len(prototypes)),
        }

    def images(self, prototypes: Tensor, extra: nn.ParameterDict) -> Tensor:
        """Return prototypes and variances as channels of one image."""
        return torch.cat([prototypes, extra["deviations"].square()], dim=1)

    def prior(self, extra: nn.ParameterDict, n_clusters: int) -> Tensor:
        """Return the negative logarithms of the clusters' weights, per pixel."""
        logits = extra["logits"].view(-1, n_clusters)
        return -torch.log_softmax(logits, dim=1).flatten() / self.n_values

    def energies(self, x: Tensor, transformed: Tensor, prior: Tensor) -> Tensor:
        """Return the negative logarithm of weight times density, per pixel."""
        mean, moved = transformed.split(self.n_channels, dim=-3)
        variance = moved + MIN_DEVIATION**2
        terms = (mean - x).square() / variance + variance.log() + math.log(2 * math.pi)
        return 0.5 * torch.einsum("...chw,hw->...", terms, self.weight) + prior

    def precision(self, transformed: Tensor) -> Tensor:
        """Return the weights of the pixels over their variances."""
        return self.weight / (transformed[..., self.n_channels :, :, :] + MIN_DEVIATION**2)

    def assign(self, energies: Tensor) -> tuple[Tensor, Tensor]:
        """Return the responsibilities, those that do not matter left out."""
        joint = -energies * self.n_values
        weights = torch.softmax(joint, dim=-1)
        weights = torch.where(weights > _NEGLIGIBLE, weights, 0.0)
        total = weights.sum(dim=-1, keepdim=True)
        return weights / total, -torch.logsumexp(joint, dim=-1) / self.n_values
