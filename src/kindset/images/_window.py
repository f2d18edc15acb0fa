"""Sums over a window as a differentiable function: compiled on the CPU, torch elsewhere."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from kindset.images import _kernels

WINDOW = _kernels.WINDOW


def window_sums(images: Tensor, weights: Tensor) -> Tensor:
    """Add up the neighbours of each pixel with weights of its own for each image.

    Parameters
    ----------
    images : Tensor of shape (n, height, width)
    weights : Tensor of shape (n, 7, 7)

    Returns
    -------
    sums : Tensor of shape (n, height, width)
    """
    if images.device.type == "cpu":
        sums: Tensor = _WindowSums.apply(images, weights)  # type: ignore[no-untyped-call]
        return sums
    n = len(images)
    return conv2d(images[None], weights[:, None], padding=WINDOW // 2, groups=n)[0]


def compile_kernels() -> None:
    """Compile what is not compiled yet, so that no stage of a training pays for it in time."""
    window = torch.ones(1, WINDOW, WINDOW, requires_grad=True)
    window_sums(torch.ones(1, WINDOW, WINDOW), window).sum().backward()


class _WindowSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, weights: Tensor) -> Tensor:
        images, weights = images.contiguous(), weights.contiguous()
        ctx.save_for_backward(images, weights)
        out = torch.empty_like(images)
        _kernels.window_sums(_array(images), _array(weights), _array(out))
        return out

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor]:
        images, weights = ctx.saved_tensors
        up = upstream[0].contiguous()
        g_images, g_weights = torch.empty_like(images), torch.empty_like(weights)
        mirrored = weights.flip(1, 2)
        _kernels.window_sums(_array(up), _array(mirrored), _array(g_images))
        _kernels.window_correlations(_array(images), _array(up), _array(g_weights))
        return g_images, g_weights


def _array(tensor: Tensor) -> Any:
    return tensor.detach().numpy()
