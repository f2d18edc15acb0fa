"""How much each pixel counts."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kindset._torch.image_set import ImageShape
from kindset.exceptions import InputError

_WIDTH = 0.25


def pixel_weights(pixel_weight: Any, shape: ImageShape) -> Tensor:
    """Return weights that add up to 1.

    Parameters
    ----------
    pixel_weight : None, "gaussian" or array-like of shape (height, width)
        Equal weights, a bell around the middle with a standard deviation of a quarter of each side,
        or any others.
    shape : tuple of three int
        Channels, height, width.

    Returns
    -------
    weights : Tensor of shape (height, width)
    """
    _, height, width = shape
    if pixel_weight is None:
        weights = np.ones((height, width))
    elif isinstance(pixel_weight, str):
        if pixel_weight != "gaussian":
            raise InputError(
                f"pixel_weight must be None, 'gaussian' or an array, got {pixel_weight!r}."
            )
        weights = np.outer(_bell(height), _bell(width))
    else:
        weights = _as_numbers(pixel_weight)
        if weights.shape != (height, width):
            raise InputError(
                f"pixel_weight must have the shape {(height, width)} of the images, got "
                f"{weights.shape}."
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
            raise InputError("pixel_weight must hold numbers from 0, and one above it.")
    return torch.from_numpy((weights / weights.sum()).astype(np.float32))


def _as_numbers(pixel_weight: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(pixel_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"pixel_weight must be None, 'gaussian' or an array of numbers: {error}."
        ) from error


def _bell(size: int) -> Any:
    position = (np.arange(size) - (size - 1) / 2) / (_WIDTH * size)
    return np.exp(-0.5 * position**2)
