"""Checking partitions and stacking them so that one pass over the data can score them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset.exceptions import InputError

Noise = Literal["error", "drop", "singletons"]
NOISE_CHOICES = ("error", "drop", "singletons")


def as_label_array(labels: ArrayLike, name: str = "labels") -> NDArray[Any]:
    """Return `labels` as a one-dimensional array without missing values."""
    array = np.asarray(labels)
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1 or array.size == 0:
        raise InputError(
            f"{name} has shape {array.shape}; a partition is one label for each point, shape (N,)."
        )
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InputError(f"{name} holds NaN or infinite labels; every point needs a label.")
        if (array != np.floor(array)).any():
            raise InputError(f"{name} holds fractions; labels are integers or strings.")
    elif array.dtype.kind == "O" and any(v is None or v != v for v in array):
        raise InputError(f"{name} holds missing labels; every point needs a label.")
    return array


def encode_labels(
    labels: ArrayLike, *, n_samples: int | None = None, noise: Noise = "error", name: str = "labels"
) -> tuple[NDArray[np.int32], int]:
    """Turn labels of any kind into codes 0..K-1, with -1 for points that are left out.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Integers, whole floats or strings. The integer -1 means noise.
    n_samples : int, optional
        The length that is right.
    noise : {"error", "drop", "singletons"}, default="error"
        What to do with noise: refuse, leave the points out, or make each a cluster of its own.
    name : str, default="labels"
        How messages call this partition.

    Returns
    -------
    codes : ndarray of int32
    n_clusters : int

    Examples
    --------
    >>> encode_labels(["b", "a", "b"])
    (array([1, 0, 1], dtype=int32), 2)
    """
    if noise not in NOISE_CHOICES:
        raise InputError(f"noise={noise!r} is unknown; choose one of {', '.join(NOISE_CHOICES)}.")
    array = as_label_array(labels, name)
    if n_samples is not None and len(array) != n_samples:
        raise InputError(f"{name} has {len(array)} labels but the spaces have {n_samples} points.")
    values, inverse = np.unique(array, return_inverse=True)
    codes = inverse.astype(np.int32)
    is_noise = array == -1 if array.dtype.kind in "iuf" else np.zeros(len(array), dtype=bool)
    n_noise = int(is_noise.sum())
    if n_noise == 0:
        return codes, len(values)
    if noise == "error":
        raise InputError(
            f"{name} holds {n_noise} noise points (-1); pass noise='drop' to leave them out or "
            "noise='singletons' to make each a cluster of its own."
        )
    codes = codes - np.int32(
        1
    )  # -1 is the smallest integer label that may occur, so it sorts first
    if values[0] != -1:
        raise InputError(
            f"{name} holds labels below -1; use 0, 1, … for clusters and -1 for noise."
        )
    n_clusters = len(values) - 1
    if noise == "drop":
        return codes, n_clusters
    codes[is_noise] = np.arange(n_clusters, n_clusters + n_noise, dtype=np.int32)
    return codes, n_clusters + n_noise


@dataclass(frozen=True)
class Partitions:
    """Several partitions of the same points, stacked for the kernels.

    Attributes
    ----------
    codes : ndarray of shape (n_partitions, n_samples), int32
        Cluster of each point within its partition; -1 where the point is left out.
    sizes : ndarray of shape (n_clusters_total,)
        Points in each cluster, all partitions one after the other.
    offsets : ndarray of shape (n_partitions + 1,)
        Where each partition begins in `sizes`.
    names : tuple of str
        How messages call the partitions.
    """

    codes: NDArray[np.int32]
    sizes: NDArray[np.float64]
    offsets: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def stack(
        cls,
        partitions: Sequence[ArrayLike],
        *,
        n_samples: int,
        noise: Noise = "error",
        names: Sequence[str] | None = None,
    ) -> "Partitions":
        """Check and stack `partitions`."""
        if len(partitions) == 0:
            raise InputError("There is no partition to score; give at least one.")
        given = names or [f"partition {i}" for i in range(len(partitions))]
        encoded = [
            encode_labels(p, n_samples=n_samples, noise=noise, name=name)
            for p, name in zip(partitions, given, strict=True)
        ]
        sizes = [np.bincount(codes[codes >= 0], minlength=k) for codes, k in encoded]
        offsets = np.concatenate([[0], np.cumsum([k for _, k in encoded])])
        return cls(
            codes=np.ascontiguousarray(np.stack([codes for codes, _ in encoded])),
            sizes=np.concatenate(sizes).astype(np.float64),
            offsets=offsets.astype(np.int64),
            names=tuple(given),
        )

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self.codes)

    @property
    def n_clusters(self) -> NDArray[np.int64]:
        """Number of clusters of each partition."""
        return np.diff(self.offsets)

    @property
    def n_points(self) -> NDArray[np.float64]:
        """Number of points that each partition covers."""
        return np.asarray((self.codes >= 0).sum(axis=1), dtype=np.float64)

    def clusters(self, i: int) -> slice:
        """Where partition `i` lies in arrays over all clusters."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def select(
        self, rows: NDArray[np.intp], points: NDArray[np.intp] | None = None
    ) -> "Partitions":
        """Take some of the partitions, on some of the points, if that leaves no cluster empty."""
        codes = self.codes[rows] if points is None else self.codes[np.ix_(rows, points)]
        offsets = np.concatenate([[0], np.cumsum(self.n_clusters[rows])])
        sizes = [self.sizes[self.clusters(int(row))] for row in rows]
        return Partitions(
            codes=np.ascontiguousarray(codes),
            sizes=np.concatenate(sizes),
            offsets=offsets.astype(np.int64),
            names=tuple(self.names[row] for row in rows),
        )
