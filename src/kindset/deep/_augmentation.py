"""Images turned, sheared, scaled and moved a little at random."""

import math

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

_TURN = math.radians(15)
_SHEAR = 0.2
_SCALE = 0.15
_SHIFT = 2.0  # pixels of 16, and in proportion for other sizes


def augmented(images: Tensor, generator: torch.Generator) -> Tensor:
    """Return images (n, C, H, W), each distorted in its own way.

    Parameters
    ----------
    images : Tensor of shape (n, C, H, W)
    generator : torch.Generator
        On the CPU.
    """
    n_images, _, height, width = images.shape
    draws = 2 * torch.rand(n_images, 6, generator=generator) - 1
    angle, shear = _TURN * draws[:, 0], _SHEAR * draws[:, 1]
    scale = 1 + _SCALE * draws[:, 2:4]
    # Sides go from −1 to 1, so that two of sixteen pixels are a quarter.
    shift = _SHIFT / 8 * draws[:, 4:] * torch.tensor([min(1, 16 / width), min(1, 16 / height)])
    cosine, sine = angle.cos(), angle.sin()
    rows = (
        torch.stack([cosine, shear * cosine - sine], dim=1) * scale,
        torch.stack([sine, shear * sine + cosine], dim=1) * scale,
    )
    matrices = torch.cat([torch.stack(rows, dim=1), shift[:, :, None]], dim=2)
    grid = affine_grid(matrices.to(images), list(images.shape), align_corners=False)
    return grid_sample(images, grid, padding_mode="border", align_corners=False)
