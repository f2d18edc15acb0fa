"""What a run says and shows of clusters of images."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kindset._checked import listed, number, numbers, optional, record, text, whole
from kindset.exceptions import InputError
from kindset.runs._details_arrays import Arrays, WithArrays, whole_numbers

if TYPE_CHECKING:
    from kindset.runs._run import Run

TYPICAL, BORDERLINE = 0, 1
"""Why an image is shown: the values of `ImageDetails.sample_role`."""


@dataclass(frozen=True, eq=False)
class ImageDetails(WithArrays):
    """A picture of each cluster, and images that show what is in it.

    Attributes
    ----------
    samples : ndarray of shape (n_shown, height, width[, 3]), bytes
        The images that are shown.
    sample_index, sample_cluster : ndarray of shape (n_shown,)
        Their places in the data, and their clusters.
    sample_role : ndarray of shape (n_shown,)
        Why each is shown: `TYPICAL` (0) or `BORDERLINE` (1).
    prototypes : ndarray of shape (n_clusters, height, width[, 3]), bytes, or None
        The picture of each cluster.
    aligned : ndarray of shape (n_shown, n_clusters, height, width[, 3]), bytes, or None
        Every prototype aligned to every image.
    names : list of str or None
        File names of the images that are shown.
    distances : list of list of float, or None
        How far each image is from each cluster.
    loss : list of float or None
        The loss while the model was trained, if it was.
    loss_steps : list of int or None
        The training steps at which `loss` was measured.
    flat : list of int
        The places in `samples` of images that show nothing: all their pixels are nearly equal.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.runs import ImageDetails
    >>> pictures, zero = np.zeros((1, 8, 8), dtype=np.uint8), np.zeros(1, dtype=np.int64)
    >>> images = ImageDetails(pictures, zero, zero, zero, prototypes=pictures, flat=[0])
    >>> ImageDetails.from_dict(images.to_dict(), images.arrays()) == images
    True
    """

    samples: NDArray[np.uint8]
    sample_index: NDArray[np.int64]
    sample_cluster: NDArray[np.int64]
    sample_role: NDArray[np.int64]
    prototypes: NDArray[np.uint8] | None = None
    aligned: NDArray[np.uint8] | None = None
    names: list[str | None] | None = None
    distances: list[list[float]] | None = None
    loss: list[float] | None = None
    loss_steps: list[int] | None = None
    flat: list[int] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return what is not an array as plain values, as JSON holds them."""
        return {name: getattr(self, name) for name in _PLAIN}

    @classmethod
    def from_dict(cls, value: Any, arrays: Arrays, what: str = "images") -> Self:
        """Check and read what `to_dict` and `arrays` returned.

        Raises
        ------
        InputError
            If something is wrong or the arrays do not fit together.
        """
        fields = record(value, what)
        prototypes = _pictures(arrays.get("prototypes"), "prototypes", 1)
        samples = _pictures(arrays.get("samples"), "samples", 1)
        if samples is None:
            if prototypes is None:
                raise InputError("there are neither samples nor prototypes.")
            samples = prototypes[:0]
        n = len(samples)
        k = _n_clusters(prototypes, fields.get("distances"), arrays.get("sample_cluster"))
        aligned = _pictures(arrays.get("aligned"), "aligned", 2)
        _check_shapes(samples, prototypes, aligned, k)
        loss = optional(fields.get("loss"), "loss", _numbers)
        return cls(
            samples=samples,
            sample_index=whole_numbers(arrays.get("sample_index"), "sample_index", n, 2**53),
            sample_cluster=whole_numbers(arrays.get("sample_cluster"), "sample_cluster", n, k),
            sample_role=whole_numbers(arrays.get("sample_role"), "sample_role", n, 2),
            prototypes=prototypes,
            aligned=aligned,
            names=optional(
                fields.get("names"),
                "names",
                lambda v, w: listed(v, w, lambda one, ww: optional(one, ww, text), length=n),
            ),
            distances=optional(fields.get("distances"), "distances", _table(n, k)),
            loss=loss,
            loss_steps=optional(
                fields.get("loss_steps"),
                "loss_steps",
                lambda v, w: listed(v, w, whole, length=len(loss or [])),
            ),
            flat=listed(fields.get("flat") or [], "flat", lambda v, w: _place(v, w, n)),
        )

    @classmethod
    def from_stored(cls, details: Mapping[str, Any], arrays: Arrays, n_samples: int) -> Self | None:
        """Return the pictures among the details and exhibits of a run, None if there are none.

        Raises
        ------
        InputError
            If they are damaged, or show more than the `n_samples` of the run.
        """
        if "samples" not in arrays and "prototypes" not in arrays:
            return None
        found = cls.from_dict(details.get("images") or {}, arrays)
        if (found.sample_index >= n_samples).any():
            raise InputError(f"sample_index goes beyond the {n_samples} samples.")
        return found

    @classmethod
    def from_run(cls, run: "Run") -> Self | None:
        """Return the pictures of a run; see `from_stored`."""
        return cls.from_stored(run.details, run.exhibits, len(run))


_PLAIN = ("names", "distances", "loss", "loss_steps", "flat")


def _numbers(value: Any, what: str) -> list[float]:
    return listed(value, what, number)


def _place(value: Any, what: str, n: int) -> int:
    found = whole(value, what)
    if found >= n:
        raise InputError(f"{what} is {found}, but there are {n} samples.")
    return found


def _table(n: int, k: int) -> Any:
    """Return what reads n rows of k numbers."""
    return lambda value, what: listed(
        value, what, lambda row, which: listed(row, which, number, length=k), length=n
    )


def _n_clusters(prototypes: NDArray[Any] | None, distances: Any, clusters: Any) -> int:
    """Return how many clusters there are: as many as prototypes, else distances, else labels."""
    if prototypes is not None:
        return len(prototypes)
    if isinstance(distances, list) and distances and isinstance(distances[0], list):
        return len(distances[0])
    labels = numbers([] if clusters is None else clusters, "sample_cluster", ndim=1)
    return int(labels.max(initial=-1.0)) + 1


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


def _check_shapes(
    samples: NDArray[Any], prototypes: NDArray[Any] | None, aligned: NDArray[Any] | None, k: int
) -> None:
    if prototypes is not None and prototypes.shape[1:] != samples.shape[1:]:
        raise InputError("the prototypes and the samples differ in shape.")
    if aligned is not None and aligned.shape != (len(samples), k, *samples.shape[1:]):
        raise InputError("the aligned prototypes do not fit the samples.")
