"""Checking partitions and stacking them so that one pass over the data can score them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset._arrays import as_label_array
from kindset.exceptions import InputError

Noise = Literal["error", "drop", "singletons", "penalise"]
NOISE_CHOICES = ("error", "drop", "singletons", "penalise")


def check_noise(noise: str) -> Noise:
    """Return `noise` if it is something we can do."""
    if noise not in NOISE_CHOICES:
        raise InputError(
            f"noise={noise!r} is unknown; choose one of {', '.join(NOISE_CHOICES)}.",
            parameter="noise",
        )
    return noise  # type: ignore[return-value]


def encode_labels(
    labels: ArrayLike, *, n_samples: int | None = None, noise: Noise = "error", name: str = "labels"
) -> tuple[NDArray[np.int32], int]:
    """Turn labels of any kind into codes 0..K-1, with -1 for points that are left out.

    Clusters are numbered in the order in which they first appear, so that equal partitions have
    equal codes, and so scores that are equal to the last digit, whatever their clusters are called.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Integers, whole floats, strings or truth values. The integer -1 means noise.
    n_samples : int, optional
        The length that is right.
    noise : {"error", "drop", "singletons", "penalise"}, default="error"
        What to do with noise: refuse, leave the points out, or make each a cluster of its own.
        "penalise" leaves the points out too; what follows from it is up to `score_matrix`.
    name : str, default="labels"
        How messages call this partition.

    Returns
    -------
    codes : ndarray of int32
    n_clusters : int

    Examples
    --------
    >>> encode_labels(["b", "a", "b"])
    (array([0, 1, 0], dtype=int32), 2)
    """
    check_noise(noise)
    array = as_label_array(labels, name)
    if n_samples is not None and len(array) != n_samples:
        raise InputError(f"{name} has {len(array)} labels but the spaces have {n_samples} points.")
    is_noise = array == -1 if array.dtype.kind in "if" else np.zeros(len(array), dtype=bool)
    n_noise = int(is_noise.sum())
    if n_noise and noise == "error":
        raise InputError(
            f"{name} holds {n_noise} noise points (-1); say whether to leave them out (noise "
            "'drop'), to leave them out at a price (noise 'penalise') or to make each a cluster "
            "of its own (noise 'singletons').",
            parameter="noise",
        )
    if n_noise and array.min() < -1:
        raise InputError(
            f"{name} holds labels below -1; use 0, 1, … for clusters and -1 for noise."
        )
    codes = np.full(len(array), -1, dtype=np.int32)
    codes[~is_noise], n_clusters = _by_appearance(array[~is_noise])
    if noise == "singletons":
        codes[is_noise] = np.arange(n_clusters, n_clusters + n_noise, dtype=np.int32)
        n_clusters += n_noise
    return codes, n_clusters


def _by_appearance(values: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """Give distinct values numbers, in the order in which they first appear."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse], len(first)


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
        if np.ndim(partitions[0]) == 0:
            raise InputError("partitions is one list of labels; give a list of such lists.")
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
