"""What the cluster of a point tells about the clusters of its neighbours."""

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit

# Counts of label pairs are kept in a table up to this many labels, otherwise sorted.
_MAX_TABLE = 1024


@njit(cache=True, nogil=True)
def _table_information(neighbours, codes, n_codes):  # type: ignore[no-untyped-def]
    """Covered mutual information and covered share of pairs, from a table of counts."""
    counts = np.zeros((n_codes, n_codes), dtype=np.int64)
    for i in range(neighbours.shape[0]):
        own = codes[i]
        if own < 0:
            continue
        for j in range(neighbours.shape[1]):
            other = codes[neighbours[i, j]]
            if other >= 0:
                counts[own, other] += 1
                counts[other, own] += 1
    sums = np.zeros(n_codes, dtype=np.int64)
    mass = 0
    for a in range(n_codes):
        for b in range(n_codes):
            sums[a] += counts[a, b]
        mass += sums[a]
    information = 0.0
    for a in range(n_codes):
        for b in range(n_codes):
            if counts[a, b] > 0:
                ratio = counts[a, b] / sums[a] * (mass / sums[b])
                information += counts[a, b] * np.log(ratio)
    total = 2.0 * neighbours.shape[0] * neighbours.shape[1]
    return information / total, mass / total


@njit(cache=True, nogil=True)
def _sorted_information(neighbours, codes, n_codes):  # type: ignore[no-untyped-def]
    """Return the same from sorted pairs, for partitions into very many clusters."""
    keys = np.empty(2 * neighbours.size, dtype=np.int64)
    sums = np.zeros(n_codes, dtype=np.int64)
    n_keys = 0
    for i in range(neighbours.shape[0]):
        own = np.int64(codes[i])
        for j in range(neighbours.shape[1]):
            other = np.int64(codes[neighbours[i, j]])
            if own >= 0 and other >= 0:
                keys[n_keys] = own * n_codes + other
                keys[n_keys + 1] = other * n_codes + own
                sums[own] += 1
                sums[other] += 1
                n_keys += 2
    keys = np.sort(keys[:n_keys])
    information = 0.0
    start = 0
    while start < n_keys:
        stop = start + 1
        while stop < n_keys and keys[stop] == keys[start]:
            stop += 1
        a, b = keys[start] // n_codes, keys[start] % n_codes
        ratio = (stop - start) / sums[a] * (n_keys / sums[b])
        information += (stop - start) * np.log(ratio)
        start = stop
    total = 2.0 * neighbours.size
    return information / total, n_keys / total


def label_information(
    neighbours: NDArray[np.int32], codes: NDArray[np.int32], n_codes: int
) -> tuple[float, float]:
    """Mutual information of the labels of neighbours, and the share of pairs without noise.

    Parameters
    ----------
    neighbours : ndarray of shape (n_queries, n_neighbors)
        Neighbours of the first points.
    codes : ndarray of shape (n_samples,)
        Labels 0..n_codes-1 of all points; -1 is noise.
    n_codes : int

    Returns
    -------
    information : float
        In nats, over the pairs without noise, times their share.
    share : float
    """
    kernel = _table_information if n_codes <= _MAX_TABLE else _sorted_information
    information, share = kernel(neighbours, codes, n_codes)
    return max(float(information), 0.0), float(share)


def information_bias(n_labels: int, n_queries: int, n_neighbors: int) -> float:
    """Mutual information that independent labels would show in a sample of this size."""
    return (n_labels - 1) ** 2 / (2.0 * n_queries * n_neighbors)


def label_entropy(codes: NDArray[np.int32]) -> float:
    """Entropy of labels in nats, with noise (-1) as one of them."""
    sizes = np.bincount(codes + 1)
    shares = sizes[sizes > 0] / len(codes)
    return float(max(-(shares * np.log(shares)).sum(), 0.0))
