"""The many small groups that merging starts from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin

from kindset.exceptions import InputError
from kindset.unmasking._pairs import IntArray

MIN_SIZE = 4
"""A cell with fewer samples has no halves worth comparing."""

Array = NDArray[Any]

_DIMENSIONS, _ROUNDS = 50, 10


@dataclass(frozen=True)
class Cells:
    """Samples, the cell of each, and the point that stands for each cell."""

    labels: IntArray
    centers: Array

    def __len__(self) -> int:
        return len(self.centers)

    def members(self) -> list[IntArray]:
        """Return the samples of each cell."""
        order = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(np.bincount(self.labels, minlength=len(self)))
        return np.split(order, ends[:-1])


def nearest(X: Array, centers: Array) -> IntArray:
    """Return the nearest centre of each sample."""
    return pairwise_distances_argmin(X, centers).astype(np.int64)


def random_cells(X: Array, n_cells: int, rng: np.random.RandomState) -> Cells:
    """Draw samples as centres; every sample goes to the nearest."""
    centers = X[np.sort(rng.choice(len(X), n_cells, replace=False))]
    return Cells(nearest(X, centers), centers)


def kmeans_cells(X: Array, n_cells: int, rng: np.random.RandomState) -> Cells:
    """Find cells by k-means, in the space of the leading principal components.

    A few rounds in few dimensions are enough for cells; the centres are points of the full space.
    """
    low = X
    if X.shape[1] > _DIMENSIONS < len(X):
        low = PCA(_DIMENSIONS, svd_solver="covariance_eigh").fit_transform(X)
    # scikit-learn's KMeans adds up in the order in which its threads finish.
    centers = low[np.sort(rng.choice(len(X), n_cells, replace=False))]
    for _ in range(_ROUNDS):
        _, labels = np.unique(nearest(low, centers), return_inverse=True)
        centers = means(low, labels, int(labels.max()) + 1)
    centers = means(X, labels, len(centers))
    return Cells(nearest(X, centers), centers)


INITS: dict[str, Callable[[Array, int, np.random.RandomState], Cells]] = {
    "kmeans": kmeans_cells,
    "random": random_cells,
}
"""Ways to form cells by name. `init="augment"`, which adds samples, stands in `_augment`."""


def dissolve_small(X: Array, cells: Cells, n_wanted: int) -> Cells:
    """Give the samples of cells that are too small to the nearest other ones.

    Cells of two or three samples stay if there would be fewer than `n_wanted` without them.
    """
    sizes = np.bincount(cells.labels, minlength=len(cells))
    keep = sizes >= MIN_SIZE
    if keep.sum() < n_wanted:
        keep = sizes >= min(2, sizes.max())
    if keep.all():
        return cells
    labels = np.cumsum(keep) - 1
    labels = labels[cells.labels]
    homeless = ~keep[cells.labels]
    centers = cells.centers[keep]
    if homeless.any():
        labels[homeless] = nearest(X[homeless], centers)
    return Cells(labels, centers)


def given_cells(X: Array, labels: Any) -> Cells:
    """Take the cells that a caller names, one label for each sample; centres are their means."""
    labels = np.asarray(labels)
    if labels.shape != (len(X),):
        raise InputError(
            f"init holds {labels.shape} labels for {len(X)} samples; give one for each sample."
        )
    _, labels = np.unique(labels, return_inverse=True)
    return Cells(labels, means(X, labels, int(labels.max()) + 1))


def vote(votes: IntArray) -> IntArray:
    """Return the label that most divisions give each sample; of equals, the first one's.

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_divisions)
    """
    support = np.stack([(votes == column[:, None]).sum(axis=1) for column in votes.T], axis=1)
    return np.take_along_axis(votes, support.argmax(axis=1)[:, None], axis=1)[:, 0]


def means(X: Array, labels: IntArray, n_groups: int) -> Array:
    """Return the mean sample of each group; zeros for one without samples."""
    sizes = np.bincount(labels, minlength=n_groups)
    share = (1 / sizes[labels]).astype(X.dtype)
    return csr_array((share, (labels, np.arange(len(X)))), shape=(n_groups, len(X))) @ X
