"""How much neighbours share clusters in a cloud without structure.

k-means cuts a Gaussian cloud that has the principal variances of a space. Neighbours share clusters
there too, the more so the finer the cut. The curve of that information over the entropy of the
labels is what a partition of the same entropy has to beat.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kindset.evaluation._label_pairs import information_bias, label_entropy, label_information
from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._small_k_means import assign, k_means_centres

# Numbers of clusters of the cuts, about a factor 1.47 apart.
_CUTS = (2, 3, 4, 6, 9, 13, 19, 28, 41, 60, 88, 129, 190, 280)
_MAX_WIDTH = 120
# In a large cloud k-means starts on a sample: this many points per cluster, at least so many. Some
# steps on all points follow, because a partition fits the points best that it was made from.
_FIT_PER_CLUSTER = 100
_MIN_FIT = 2_000
_POLISH = 5
# Points of a cloud whose neighbours are looked up: at least so many, and so many that the bias of
# the information is below a limit in nats.
_MIN_QUERIES = 2_000
_MAX_BIAS = 0.02
# Spectra that agree to this many digits, relative to their largest value, share their clouds.
_DIGITS = 6


@dataclass(frozen=True)
class NullCurve:
    """Information over entropy, for the cuts of one cloud.

    Attributes
    ----------
    entropies, information : ndarray of shape (n_cuts + 1,)
        Both begin with 0.
    """

    entropies: NDArray[np.float64]
    information: NDArray[np.float64]

    def at(self, entropies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Read the curve off between its points; beyond the last it is constant."""
        return np.interp(entropies, self.entropies, self.information)


def spectrum(X: NDArray[np.float64]) -> tuple[float, ...]:
    """Singular values of a centred space relative to the largest, at most the first 120."""
    if X.shape[1] <= X.shape[0]:
        eigenvalues = np.linalg.eigvalsh(X.T @ X)
    else:
        eigenvalues = np.linalg.eigvalsh(X @ X.T)
    values = np.sqrt(np.maximum(eigenvalues[::-1][:_MAX_WIDTH], 0.0))
    if values[0] > 0:
        values = values / values[0]
    return tuple(np.round(values, _DIGITS).tolist())


def _n_queries(n_samples: int, n_clusters: int, n_neighbors: int) -> int:
    """Points of a cloud that are enough to measure the information of its finest cut."""
    enough = (n_clusters - 1) ** 2 / (2.0 * n_neighbors * _MAX_BIAS)
    return min(n_samples, max(_MIN_QUERIES, int(np.ceil(enough))))


def _cuts(
    cloud: NDArray[np.float64], max_entropy: float
) -> list[tuple[int, NDArray[np.int32], float]]:
    """Cut a cloud into more and more clusters, until the labels have the given entropy."""
    n = len(cloud)
    cuts = []
    for n_clusters in _CUTS:
        if n_clusters > max(n // 3, 2):
            break
        labels = _k_means_labels(cloud, n_clusters)
        entropy = label_entropy(labels)
        cuts.append((n_clusters, labels, entropy))
        if entropy >= max_entropy:
            break
    return cuts


def _k_means_labels(cloud: NDArray[np.float64], n_clusters: int) -> NDArray[np.int32]:
    """Cut a cloud once."""
    step = max(len(cloud) // max(_MIN_FIT, _FIT_PER_CLUSTER * n_clusters), 1)
    centres = k_means_centres(cloud[::step], n_clusters)
    if step > 1:
        centres = k_means_centres(cloud, n_clusters, given=centres, max_iter=_POLISH)
    labels = np.zeros(len(cloud), dtype=np.int32)
    assign(cloud, centres, labels)
    return labels


def null_curve(
    widths: tuple[float, ...], n_samples: int, n_neighbors: int, max_entropy: float, seed: int
) -> NullCurve:
    """Measure one Gaussian cloud.

    Parameters
    ----------
    widths : tuple of float
        Standard deviations along its axes; their unit does not matter.
    n_samples, n_neighbors : int
    max_entropy : float
        How far the curve has to reach.
    seed : int

    Returns
    -------
    curve : NullCurve
    """
    cloud = np.random.RandomState(seed).randn(n_samples, len(widths)) * np.array(widths)
    cuts = _cuts(cloud, max_entropy)
    n_queries = _n_queries(n_samples, cuts[-1][0], n_neighbors)
    # The points of a cloud are exchangeable, so the first are as good as a sample.
    neighbours = nearest_neighbours(cloud, n_neighbors, n_queries)
    entropies, information = [0.0], [0.0]
    for n_clusters, labels, entropy in cuts:
        found, _ = label_information(neighbours, labels, n_clusters)
        bias = information_bias(n_clusters, n_queries, n_neighbors)
        entropies.append(entropy)
        information.append(max(0.0, found - bias))
    return NullCurve(np.array(entropies), np.array(information))
