"""Reading what a user calls images into one form: a set of shape (N, C, H, W) from 0 to 1."""

import os
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kindset._torch.image_set import ImageSet, ImageShape, part_size
from kindset.exceptions import InputError

_CHANNELS = (1, 3, 4)
_FAR = 2.0  # widths of the range beyond its ends


@dataclass(frozen=True)
class ImageFormat:
    """How images come in: their shape (channels, height, width), and what becomes 0 and 1.

    `bytes` says whether the training images were of 8 bits, so that others are recognised: numbers
    from 0 to 1 after bytes, and bytes after numbers from 0 to 1.
    """

    shape: ImageShape
    low: float
    high: float
    bytes: bool = False

    @property
    def n_values(self) -> int:
        """Number of pixels times channels."""
        return int(np.prod(self.shape))

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> "ImageFormat":
        """Return the format that `dataclasses.asdict` gave, of a file anybody may have written."""
        channels, height, width = map(int, document["shape"])
        low, high = float(document["low"]), float(document["high"])
        return cls((channels, height, width), low, high, bool(document["bytes"]))

    def read(self, X: Any) -> ImageSet:
        """Read images of this format."""
        array = as_array(X)
        shape = _shape(array, self.shape if array.ndim == 2 else None)
        if shape != self.shape:
            raise InputError(
                f"the images have the shape {_say(shape)}, but the model was fitted to "
                f"{_say(self.shape)}."
            )
        low, high = self._range(array)
        _check_range(array, low, high)
        return _image_set(array, shape, low, high)

    def _range(self, array: NDArray[Any]) -> tuple[float, float]:
        """Return what becomes 0 and 1 in images that may be of another type than those before."""
        unit, full = (0.0, 1.0), (0.0, 255.0)
        known = (self.low, self.high)
        if known == unit and array.dtype == np.uint8 and not (self.bytes and array.max() <= 1):
            return full
        if known == full and self.bytes and array.dtype.kind in "fb" and _is_unit(array):
            return unit
        return known


def read_images(X: Any, image_shape: Any = None) -> tuple[ImageSet, ImageFormat]:
    """Read training images.

    Parameters
    ----------
    X : array-like or Tensor
        Images of shape (N, H, W), (N, H, W, C) or (N, C, H, W), or rows of pixels.
    image_shape : tuple of int, default=None
        Height and width, or height, width and channels, of rows of pixels. Without it, rows whose
        length is a square are square grey images, and others are images of a single line.

    Returns
    -------
    images : ImageSet of shape (N, C, H, W)
    format : ImageFormat
    """
    array = as_array(X)
    shape = _shape(array, _given_shape(array, image_shape))
    low, high = _range(array)
    images = _image_set(array, shape, low, high)
    return images, ImageFormat(shape, low, high, bytes=array.dtype == np.uint8)


def is_picture_stack(X: Any) -> bool:
    """Return whether these are pictures (or try to be), rather than rows of a table."""
    if isinstance(X, (Tensor, str, os.PathLike)):
        return True
    if isinstance(X, (list, tuple)):
        return any(np.ndim(image) >= 2 for image in X)
    return getattr(X, "ndim", 2) > 2


def as_array(X: Any) -> NDArray[Any]:
    """Return images as an array of finite numbers, or say what is wrong."""
    if isinstance(X, Tensor):
        X = X.detach().cpu().numpy()
    if isinstance(X, (str, os.PathLike)):
        raise InputError("X must be an array of images, not a path: read the images first.")
    if isinstance(X, (list, tuple)):
        sizes = {np.shape(image) for image in X}
        if len(sizes) > 1 and all(len(size) >= 2 for size in sizes):
            several = " and ".join(str(size) for size in sorted(sizes)[:2])
            raise InputError(f"the images have different shapes, {several}: resize them first.")
    array = np.asarray(X)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"X must hold numbers: {error}.") from error
    if array.dtype.kind not in "buif":
        raise InputError(f"X must hold real numbers, not {array.dtype}.")
    if array.ndim not in (2, 3, 4) or array.size == 0:
        raise InputError(
            f"X must be images (N, H, W), (N, H, W, C), (N, C, H, W) or rows of pixels, got the "
            f"shape {array.shape}."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("X contains NaN or infinity; every pixel needs a number.")
    return array


def _given_shape(array: NDArray[Any], image_shape: Any) -> ImageShape | None:
    if array.ndim != 2:
        if image_shape is not None:
            raise InputError("image_shape is for rows of pixels; X has its own shape.")
        return None
    n_pixels = array.shape[1]
    if image_shape is None:
        side = isqrt(n_pixels)
        return (1, side, side) if side * side == n_pixels else (1, 1, n_pixels)
    given = np.asarray(image_shape)
    sizes = given.tolist() if given.dtype.kind in "iu" and given.shape in ((2,), (3,)) else ()
    if not sizes or min(sizes) < 1 or prod(sizes) != n_pixels:
        raise InputError(
            f"image_shape must be (height, width) or (height, width, channels) of {n_pixels} "
            f"pixels, got {image_shape!r}."
        )
    return (sizes[2] if len(sizes) == 3 else 1, sizes[0], sizes[1])


def _shape(array: NDArray[Any], shape: ImageShape | None) -> ImageShape:
    """Return channels, height and width; rows of pixels have the given ones."""
    if array.ndim == 2:
        assert shape is not None
        if array.shape[1] != np.prod(shape):
            raise InputError(
                f"X has {array.shape[1]} features, but the model expects {np.prod(shape)} features "
                "as input."
            )
        return shape
    if array.ndim == 3:
        return (1, *array.shape[1:])
    if array.shape[3] in _CHANNELS:
        return (array.shape[3], array.shape[1], array.shape[2])
    if array.shape[1] in _CHANNELS:
        return array.shape[1:]
    raise InputError(
        f"X of shape {array.shape} has no axis of 1, 3 or 4 channels, neither last nor second."
    )


def _range(array: NDArray[Any]) -> tuple[float, float]:
    """Return what becomes 0 and 1: of bytes the whole range, of others theirs if beyond 0–1."""
    if _is_unit(array):
        return 0.0, 1.0
    if array.dtype == np.uint8:
        return 0.0, 255.0
    low, high = float(array.min()), float(array.max())
    return low, max(high, float(np.nextafter(low, np.inf)))


def _is_unit(array: NDArray[Any]) -> bool:
    return bool(array.min() >= 0 and array.max() <= 1)


def _check_range(array: NDArray[Any], low: float, high: float) -> None:
    least, most, beyond = float(array.min()), float(array.max()), _FAR * (high - low)
    if least < low - beyond or most > high + beyond:
        raise InputError(
            f"the images go from {least:g} to {most:g}, but those that the model was fitted to "
            f"from {low:g} to {high:g}: scale them alike."
        )


def _image_set(array: NDArray[Any], shape: ImageShape, low: float, high: float) -> ImageSet:
    """Return bytes as they are, and other numbers scaled, a part at a time."""
    array = _channels_first(array, shape)
    if array.dtype == np.uint8:
        # A copy: what the caller does with the array later is of no concern to the model.
        return ImageSet(torch.from_numpy(array.copy(order="C")), low, high)
    scaled = np.empty(array.shape, dtype=np.float32)
    step = part_size(array.shape)
    for start in range(0, len(array), step):
        part = slice(start, start + step)
        scaled[part] = (array[part].astype(np.float64) - low) / (high - low)
    return ImageSet(torch.from_numpy(scaled))


def _channels_first(array: NDArray[Any], shape: ImageShape) -> NDArray[Any]:
    n_channels, height, width = shape
    if array.ndim == 2:
        array = array.reshape(-1, height, width, n_channels)
    elif array.ndim == 3:
        array = array[..., None]
    elif array.shape[3] not in _CHANNELS:
        return array
    return array.transpose(0, 3, 1, 2)


def _say(shape: ImageShape) -> str:
    channels, height, width = shape
    return f"{height} × {width}" + (f" × {channels}" if channels > 1 else "")
