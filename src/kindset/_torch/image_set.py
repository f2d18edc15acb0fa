"""Images in memory: bytes stay bytes, and only those that are looked at become numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, interpolate

ImageShape = tuple[int, int, int]
"""Channels, height, width."""

_AT_A_TIME = 2**22  # values of a part, when all images have to be read


class ImageSet:
    """Images of shape (N, C, H, W) whose pixels go from 0 to 1, read by rows.

    50,000 grey images of 28 × 28 take 39 MB as bytes and 157 MB as numbers.

    Parameters
    ----------
    stored : Tensor of shape (N, C, H, W)
        Bytes, or numbers that are returned as they are.
    low, high : float, default=0.0 and 255.0
        The bytes that become 0 and 1.

    Examples
    --------
    >>> import torch
    >>> from kindset._torch.image_set import ImageSet
    >>> images = ImageSet(torch.tensor([0, 51, 255], dtype=torch.uint8).view(3, 1, 1, 1))
    >>> images[torch.tensor([2, 1])].flatten()
    tensor([1.0000, 0.2000])
    """

    def __init__(self, stored: Tensor, low: float = 0.0, high: float = 255.0) -> None:
        self.stored = stored
        self._range = (low, high)
        self._values: Tensor | None = None
        if stored.dtype == torch.uint8:
            # A table of the 256 values: the same numbers on every device, to the last bit.
            bytes_ = np.arange(256, dtype=np.float32)
            values = (bytes_ - np.float32(low)) / np.float32(high - low)
            self._values = torch.from_numpy(values).to(stored.device)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of images, channels, height, width."""
        return tuple(self.stored.shape)

    @property
    def device(self) -> torch.device:
        """Where the images are."""
        return self.stored.device

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, rows: Tensor | slice) -> Tensor:
        """Return some of the images as numbers."""
        part = self.stored[rows]
        if self._values is None:
            return part
        return self._values.index_select(0, part.flatten().int()).view(part.shape)

    def split(self, size: int) -> Iterator[Tensor]:
        """Return the images as numbers, so many at a time."""
        return (self[start : start + size] for start in range(0, len(self), size))

    def to(self, device: torch.device) -> "ImageSet":
        """Return the images on a device."""
        return ImageSet(self.stored.to(device), *self._range)

    def resized(self, height: int, width: int) -> "ImageSet":
        """Return images of another size, as numbers; itself if the size is the same."""
        n_samples, n_channels, *size = self.shape
        if size == [height, width]:
            return self
        small = torch.empty(n_samples, n_channels, height, width, device=self.device)
        step = part_size(self.shape)
        for start, part in zip(range(0, n_samples, step), self.split(step), strict=True):
            small[start : start + step] = resize_images(part, height, width)
        return ImageSet(small)

    def are_equal(self) -> bool:
        """Return whether all images are the same."""
        return torch.equal(self.stored, self.stored[:1].expand_as(self.stored))

    def content(self) -> tuple[Any, Tensor]:
        """Return what decides the pixels: the range, if they are bytes, and what is stored."""
        return None if self._values is None else self._range, self.stored


def part_size(shape: tuple[int, ...]) -> int:
    """Return how many images of a set to read in one go."""
    return max(1, _AT_A_TIME // int(np.prod(shape[1:])))


def as_pictures(images: Tensor) -> NDArray[np.floating[Any]]:
    """Return images (..., C, H, W) as arrays (..., H, W) if grey, else (..., H, W, C)."""
    pictures = images.detach().movedim(-3, -1)
    pictures = pictures[..., 0] if pictures.shape[-1] == 1 else pictures
    return pictures.float().contiguous().cpu().numpy()


def resize_images(images: Tensor, height: int, width: int) -> Tensor:
    """Return images of another size: averages when they shrink, bilinear when they grow."""
    if height <= images.shape[-2]:
        return adaptive_avg_pool2d(images, (height, width))
    return interpolate(images, (height, width), mode="bilinear", align_corners=False)
