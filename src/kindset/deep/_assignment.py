"""Which cluster a point of the embedding belongs to: one small class for each rule."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.metrics import pairwise_distances_argmin

from kindset.deep._graph import Floats, Labels, cluster_means


class Assignment(ABC):
    """Assigns points to clusters.

    To add a rule, name its arrays, whose rows are clusters, and say which cluster a point belongs
    to. `take` and storage need no more.
    """

    arrays: ClassVar[tuple[str, ...]]

    def __init__(self, **arrays: NDArray[Any]) -> None:
        for name in self.arrays:
            setattr(self, name, arrays[name])

    @abstractmethod
    def labels(self, points: Floats) -> Labels:
        """Return the cluster of each point."""

    def take(self, order: NDArray[np.intp]) -> None:
        """Let cluster i be what cluster ``order[i]`` was."""
        for name in self.arrays:
            setattr(self, name, getattr(self, name)[order])

    def centers(self, points: Floats, labels: Labels) -> NDArray[np.float64]:
        """Return a point for each cluster: the mean of its members."""
        return cluster_means(points, labels)

    def check(self, n_clusters: int, n_features: int) -> None:
        """Refuse arrays that do not fit, of a file that anybody may have written."""
        for name in self.arrays:
            array = getattr(self, name)
            shape = (n_clusters,) if array.ndim == 1 else (n_clusters, n_features)
            if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"the {name} of the clusters do not fit")

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what decides the assignment."""
        return {name: getattr(self, name) for name in self.arrays}


class SoftmaxAssignment(Assignment):
    """A linear layer with a softmax; the likeliest cluster."""

    arrays = ("weights", "bias")
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]

    def probabilities(self, points: Floats) -> NDArray[np.float64]:
        """Return the probabilities of the clusters."""
        return np.asarray(softmax(points @ self.weights.T + self.bias, axis=1))

    def labels(self, points: Floats) -> Labels:
        """Return the likeliest cluster of each point."""
        return (points @ self.weights.T + self.bias).argmax(axis=1)


class CentreAssignment(Assignment):
    """The nearest of some centres."""

    arrays = ("points",)
    points: NDArray[np.float64]

    def labels(self, points: Floats) -> Labels:
        """Return the cluster with the nearest centre."""
        return pairwise_distances_argmin(points, self.points).astype(np.int64)

    def centers(self, points: Floats, labels: Labels) -> NDArray[np.float64]:
        """Return the centres."""
        return self.points


class NeighbourAssignment(Assignment):
    """The cluster of the nearest training point."""

    arrays = ("points", "clusters")
    points: NDArray[np.float64]
    clusters: Labels

    def labels(self, points: Floats) -> Labels:
        """Return the cluster of the nearest training point."""
        return self.clusters[pairwise_distances_argmin(points, self.points)]

    def check(self, n_clusters: int, n_features: int) -> None:
        """Refuse points and clusters that do not fit."""
        whole = self.clusters.shape == (len(self.points),) and self.clusters.dtype == np.int64
        if not whole or not ((self.clusters >= 0) & (self.clusters < n_clusters)).all():
            raise ValueError("the clusters of the points do not fit")
        fits = self.points.shape[1:] == (n_features,) and self.points.dtype == np.float64
        if not fits or len(self.points) == 0 or not np.isfinite(self.points).all():
            raise ValueError("the points do not fit")

    def take(self, order: NDArray[np.intp]) -> None:
        """Give the clusters other numbers."""
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        self.clusters = number[self.clusters]


def largest_first(labels: Labels, n_clusters: int) -> NDArray[np.intp]:
    """Return the order of the clusters by size; equal ones keep theirs."""
    return np.argsort(-np.bincount(labels, minlength=n_clusters), kind="stable")
