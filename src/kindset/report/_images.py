"""What a report tells about clusters of images: a picture of each, typical and borderline ones."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kindset.exceptions import InputError
from kindset.report._checked import listed, number, numbers, optional, record, text
from kindset.runs import Run

TYPICAL, BORDERLINE = 0, 1
_OF_DENSITIES = ("dti-gmm",)
"""Methods to which near means dense: their distances are negative log densities."""


@dataclass(frozen=True)
class Sample:
    """One image that is shown: its place in the data, its cluster, and why it is shown."""

    index: int
    cluster: int
    role: int
    name: str | None
    distances: list[float] | None


@dataclass(frozen=True)
class ImageSummary:
    """Pictures of a run; `pictures` and `aligned` go with `samples`, `prototypes` with `sizes`.

    `measure` is what the samples' distances are: "distance", or "energy" if densities made them.
    """

    sizes: list[int]
    n_images: int
    samples: list[Sample]
    pictures: NDArray[np.uint8]
    prototypes: NDArray[np.uint8] | None
    aligned: NDArray[np.uint8] | None
    loss: list[float]
    measure: str = "distance"

    def members(self, cluster: int, role: int) -> list[int]:
        """Return the numbers of the samples that are shown for a cluster in a role."""
        return [i for i, s in enumerate(self.samples) if (s.cluster, s.role) == (cluster, role)]

    def thinned(self, n_each: int, *, keep_aligned: bool) -> "ImageSummary":
        """Return the same with the first `n_each` samples of every cluster and role."""
        seen: Counter[tuple[int, int]] = Counter()
        kept = []
        for i, sample in enumerate(self.samples):
            seen[sample.cluster, sample.role] += 1
            if seen[sample.cluster, sample.role] <= n_each:
                kept.append(i)
        aligned = self.aligned[kept] if keep_aligned and self.aligned is not None else None
        return replace(
            self,
            samples=[self.samples[i] for i in kept],
            pictures=self.pictures[kept],
            aligned=aligned,
        )


def read_images(run: Run) -> ImageSummary | None:
    """Return the pictures of a run, None if it has none.

    Raises
    ------
    InputError
        If its exhibits are damaged or do not fit together.
    """
    if "samples" not in run.exhibits and "prototypes" not in run.exhibits:
        return None
    told = record(run.details.get("images") or {}, "images")
    prototypes = _pictures(run.exhibits.get("prototypes"), "prototypes", 1)
    k = int(run.labels.max(initial=-1)) + 1 if prototypes is None else len(prototypes)
    pictures = _pictures(run.exhibits.get("samples"), "samples", 1)
    if pictures is None:
        assert prototypes is not None
        pictures = prototypes[:0]
    if prototypes is not None and prototypes.shape[1:] != pictures.shape[1:]:
        raise InputError("the prototypes and the samples differ in shape.")
    aligned = _pictures(run.exhibits.get("aligned"), "aligned", 2)
    if aligned is not None and aligned.shape != (len(pictures), k, *pictures.shape[1:]):
        raise InputError("the aligned prototypes do not fit the samples.")
    samples = _samples(run, told, len(pictures), k)
    return ImageSummary(
        sizes=np.bincount(run.labels[run.labels >= 0], minlength=k)[:k].tolist(),
        n_images=len(run),
        samples=samples,
        pictures=pictures,
        prototypes=prototypes,
        aligned=aligned,
        loss=listed(told.get("loss") or [], "loss", number),
        measure=_measure(run, samples),
    )


def _measure(run: Run, samples: list[Sample]) -> str:
    """Tell negative log densities from distances, which are never below 0."""
    below = any(value < 0 for sample in samples for value in sample.distances or [])
    return "energy" if below or run.method in _OF_DENSITIES else "distance"


def _pictures(value: Any, what: str, leading: int) -> NDArray[np.uint8] | None:
    """Check a stack of grey or colour pictures with that many axes in front."""
    if value is None:
        return None
    found = np.asarray(value)
    grey, colour = leading + 2, leading + 3
    fits = found.ndim == grey or (found.ndim == colour and found.shape[-1] == 3)
    if found.dtype != np.uint8 or not fits or 0 in found.shape[leading:]:
        raise InputError(f"{what} must be bytes of grey or RGB pictures, not {found.shape}.")
    return found


def _samples(run: Run, told: Any, n: int, k: int) -> list[Sample]:
    places = [
        _whole(run.exhibits.get(name), name, n, high)
        for name, high in (
            ("sample_index", len(run)), ("sample_cluster", k), ("sample_role", 2),
        )
    ]  # fmt: skip
    names = optional(
        told.get("names"),
        "names",
        lambda value, what: listed(value, what, lambda v, w: optional(v, w, text), length=n),
    )
    distances = optional(
        told.get("distances"),
        "distances",
        lambda value, what: listed(
            value, what, lambda v, w: listed(v, w, number, length=k), length=n
        ),
    )
    return [
        Sample(
            index, cluster, role, names[i] if names else None, distances[i] if distances else None
        )
        for i, (index, cluster, role) in enumerate(zip(*places, strict=True))
    ]


def _whole(value: Any, what: str, n: int, high: int) -> list[int]:
    """Check n whole numbers from 0 to below `high`."""
    found = numbers([] if value is None else value, what, ndim=1)
    if len(found) != n:
        raise InputError(f"{what} has {len(found)} elements for {n} samples.")
    if ((found < 0) | (found >= high) | (found % 1 != 0)).any():
        raise InputError(f"{what} holds something other than whole numbers from 0 to {high - 1}.")
    return [int(value) for value in found]
