"""What happened in a training, epoch by epoch."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

_WHOLE = ("epoch", "smallest")


class History:
    """One row for each epoch: its number and stage, mean losses, and how the clusters changed."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def note(self, stage: str, losses: dict[str, float], **clusters: float) -> None:
        """Add an epoch."""
        row = {"epoch": len(self) + 1, "stage": stage, "loss": np.nan}
        self.rows.append({**row, **losses, **clusters})

    def columns(self) -> Bunch:
        """Return arrays with an entry for each epoch; NaN, or −1 of sizes, is not known."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return Bunch(**{name: self._column(name) for name in names})

    def _column(self, name: str) -> Any:
        if name == "stage":
            return [row["stage"] for row in self.rows]
        if name in _WHOLE:
            return np.array([row.get(name, -1) for row in self.rows], dtype=np.int64)
        return np.array([row.get(name, np.nan) for row in self.rows], dtype=np.float64)


class Means:
    """Means of losses over the images of an epoch."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def add(self, losses: dict[str, float], n_images: int) -> None:
        """Count a step."""
        for name, value in losses.items():
            self._sums[name] = self._sums.get(name, 0.0) + n_images * value
            self._counts[name] = self._counts.get(name, 0) + n_images

    def values(self) -> dict[str, float]:
        """Return the means; the total comes first."""
        return {name: total / self._counts[name] for name, total in self._sums.items()}
