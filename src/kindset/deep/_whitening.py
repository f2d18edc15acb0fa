"""Principal components of equal variance, as a layer behind a network."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize

_LEAST = 1e-10  # of the largest variance: components below are noise of rounding


class Whitening(nn.Module):
    """Projects features on principal components, scales these alike, and makes unit rows.

    Parameters
    ----------
    n_features, n_components : int
    """

    mean: Tensor
    components: Tensor

    def __init__(self, n_features: int, n_components: int) -> None:
        super().__init__()
        n_components = min(n_components, n_features)
        self.register_buffer("mean", torch.zeros(n_features, dtype=torch.float64))
        self.register_buffer("components", torch.zeros(n_features, n_components).double())

    def adapt(self, features: NDArray[np.floating]) -> None:
        """Take over mean and components of some features; those without variance stay zero."""
        points = torch.from_numpy(np.asarray(features, dtype=np.float64))
        self.mean.copy_(points.mean(dim=0))
        centred = points - self.mean
        variances, directions = torch.linalg.eigh(centred.T @ centred / len(points))
        n_components = self.components.shape[1]
        variances = variances.flip(0)[:n_components]
        directions = directions.flip(1)[:, :n_components]
        # Of a component and its opposite, the one whose largest entry is positive.
        largest = directions.abs().argmax(dim=0)
        directions = directions * directions[largest, torch.arange(n_components)].sign()
        usable = variances > _LEAST * variances[0]
        scale = torch.where(usable, variances.clamp(min=1e-300).rsqrt(), 0.0)
        self.components.copy_(directions * scale)

    def forward(self, features: Tensor) -> Tensor:
        """Return whitened unit rows."""
        return normalize((features - self.mean) @ self.components)
