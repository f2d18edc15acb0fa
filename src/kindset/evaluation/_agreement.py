"""How much partitions agree with each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset._compiling import njit
from kindset.evaluation._labels import Partitions
from kindset.exceptions import InputError

# Contingency tables of more cells than this are counted row by row.
_MAX_CELLS = 2**20


@dataclass(frozen=True)
class Agreement:
    """What `agreement` found.

    Attributes
    ----------
    adjusted_rand : ndarray of shape (n_partitions, n_partitions)
        Adjusted Rand index of every pair; 1 on the diagonal.
    mean : ndarray of shape (n_partitions,)
        Mean index with the other partitions; NaN for a single partition.
    """

    adjusted_rand: NDArray[np.float64]
    mean: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _pairs_from_table(one, other, n_one, n_other):  # type: ignore[no-untyped-def]
    """Twice the number of pairs of points that two partitions both put together."""
    counts = np.zeros(n_one * n_other, dtype=np.int32)
    for i in range(one.shape[0]):
        counts[one[i] * n_other + other[i]] += 1
    total = 0.0
    for cell in range(counts.shape[0]):
        total += float(counts[cell]) * (float(counts[cell]) - 1.0)
    return total


@njit(cache=True, nogil=True)
def _pairs_from_sorted(one, other, n_one, n_other):  # type: ignore[no-untyped-def]
    """Return the same, with one row of the table at a time."""
    order = np.argsort(one)
    counts = np.zeros(n_other, dtype=np.int64)
    total = 0.0
    start = 0
    while start < order.shape[0]:
        stop = start
        cluster = one[order[start]]
        while stop < order.shape[0] and one[order[stop]] == cluster:
            total += 2.0 * counts[other[order[stop]]]
            counts[other[order[stop]]] += 1
            stop += 1
        for i in range(start, stop):
            counts[other[order[i]]] = 0
        start = stop
    return total


def _adjusted_rand(codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Compare all pairs of rows of `codes` by their adjusted Rand index."""
    m, n = codes.shape
    own = np.array([(sizes * (sizes - 1.0)).sum() for sizes in map(np.bincount, codes)])
    all_pairs = max(n * (n - 1.0), 1.0)
    index = np.eye(m)
    n_codes = codes.max(axis=1).astype(np.int64) + 1
    for a in range(m):
        for b in range(a):
            n_cells = n_codes[a] * n_codes[b]
            count = _pairs_from_table if n_cells <= _MAX_CELLS else _pairs_from_sorted
            both = count(codes[a], codes[b], n_codes[a], n_codes[b])
            expected = own[a] * own[b] / all_pairs
            best = 0.5 * (own[a] + own[b])
            # Both put all points together, or both none: they are the same partition.
            index[a, b] = 1.0 if best == expected else (both - expected) / (best - expected)
            index[b, a] = index[a, b]
    return index


def agreement(partitions: Sequence[ArrayLike]) -> Agreement:
    """Compare all pairs of partitions of the same points by their adjusted Rand index.

    Parameters
    ----------
    partitions : sequence of array-like of shape (n_samples,)
        Noise (-1) is one cluster here.

    Returns
    -------
    agreement : Agreement

    Examples
    --------
    >>> from kindset.evaluation import agreement
    >>> agreement([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]).adjusted_rand
    array([[ 1. ,  1. , -0.5],
           [ 1. ,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    if len(partitions) == 0:
        raise InputError("There is no partition to compare; give at least one.")
    stacked = Partitions.stack(partitions, n_samples=len(np.asarray(partitions[0])), noise="drop")
    # Noise is the cluster 0 here, so that all codes count from 0.
    index = _adjusted_rand(stacked.codes + 1)
    m = len(index)
    if m == 1:
        return Agreement(index, np.array([np.nan]))
    # An exact sum does not depend on the order of the partitions.
    others = [math.fsum(np.delete(row, p)) for p, row in enumerate(index)]
    return Agreement(index, np.array(others) / (m - 1))


def families(partitions: Sequence[ArrayLike], threshold: float = 0.95) -> NDArray[np.intp]:
    """Group partitions that are near copies of each other.

    Two partitions belong together if a chain of partitions links them whose neighbours have an
    adjusted Rand index of at least `threshold`.

    Parameters
    ----------
    partitions : sequence of array-like of shape (n_samples,)
    threshold : float, default=0.95

    Returns
    -------
    family : ndarray of shape (n_partitions,)
        Families are numbered in the order in which they first appear.

    Examples
    --------
    >>> from kindset.evaluation import families
    >>> families([[0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]])
    array([0, 1, 0])
    """
    if not 0.0 < threshold <= 1.0:
        raise InputError(f"threshold={threshold} is not between 0 (excluded) and 1.")
    return families_of(agreement(partitions).adjusted_rand, threshold)


def families_of(adjusted_rand: NDArray[np.float64], threshold: float = 0.95) -> NDArray[np.intp]:
    """Group partitions by a matrix of their agreement, as `families` does."""
    family = np.full(len(adjusted_rand), -1, dtype=np.intp)
    number = 0
    for first in range(len(family)):
        if family[first] >= 0:
            continue
        reached = [first]
        while reached:
            member = reached.pop()
            family[member] = number
            near = (adjusted_rand[member] >= threshold) & (family < 0)
            reached.extend(int(p) for p in np.flatnonzero(near))
        number += 1
    return family
