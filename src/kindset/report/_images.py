"""What a report shows of clusters of images: a picture of each, typical and borderline ones."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kindset.runs import ImageDetails, Run

_OF_DENSITIES = ("dti-gmm",)
"""Methods to which near means dense: their distances are negative log densities."""


@dataclass(frozen=True)
class Sample:
    """One image that is shown: its place in the data, its cluster, and why it is shown.

    All pixels of a flat image are nearly equal.
    """

    index: int
    cluster: int
    role: int
    name: str | None
    distances: list[float] | None
    flat: bool = False


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
    loss_steps: list[int] | None = None
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


def show_images(run: Run, details: ImageDetails) -> ImageSummary:
    """Return the pictures of a run."""
    prototypes = details.prototypes
    k = int(run.labels.max(initial=-1)) + 1 if prototypes is None else len(prototypes)
    samples = _samples(details)
    return ImageSummary(
        sizes=np.bincount(run.labels[run.labels >= 0], minlength=k)[:k].tolist(),
        n_images=len(run),
        samples=samples,
        pictures=details.samples,
        prototypes=prototypes,
        aligned=details.aligned,
        loss=details.loss or [],
        loss_steps=details.loss_steps,
        measure=_measure(run, samples),
    )


def _samples(details: ImageDetails) -> list[Sample]:
    places = zip(
        details.sample_index.tolist(),
        details.sample_cluster.tolist(),
        details.sample_role.tolist(),
        strict=True,
    )
    flat = set(details.flat)
    return [
        Sample(
            index=index,
            cluster=cluster,
            role=role,
            name=details.names[i] if details.names else None,
            distances=details.distances[i] if details.distances else None,
            flat=i in flat,
        )
        for i, (index, cluster, role) in enumerate(places)
    ]


def _measure(run: Run, samples: list[Sample]) -> str:
    """Tell negative log densities from distances, which are never below 0."""
    below = any(value < 0 for sample in samples for value in sample.distances or [])
    return "energy" if below or run.method in _OF_DENSITIES else "distance"
