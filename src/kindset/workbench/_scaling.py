"""What is done to numbers before they are clustered."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALES = ("none", "standard")


@dataclass(frozen=True)
class Scaling:
    """What is taken from each column, and what the rest is divided by."""

    mean: list[float]
    spread: list[float]

    @classmethod
    def standard(cls, X: NDArray[Any]) -> "Scaling":
        """Return what gives columns the mean 0 and the deviation 1; constant ones only the mean."""
        spread = X.std(axis=0, dtype=np.float64)
        return cls(
            X.mean(axis=0, dtype=np.float64).tolist(), np.where(spread > 0, spread, 1).tolist()
        )

    @classmethod
    def pixels(cls, images: NDArray[Any]) -> "Scaling":
        """Return what brings all pixels to the range from 0 to 1."""
        low, high = float(images.min()), float(images.max())
        if images.dtype == np.uint8:
            low, high = 0.0, 255.0
        return cls([low], [high - low if high > low else 1.0])

    def __call__(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Scale rows."""
        return (X - np.array(self.mean)) / np.array(self.spread)

    def rows(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Scale images, and lay them out as rows, in single precision."""
        rows = images.reshape(len(images), -1).astype(np.float32)
        rows -= np.float32(self.mean[0])
        rows /= np.float32(self.spread[0])
        return rows
