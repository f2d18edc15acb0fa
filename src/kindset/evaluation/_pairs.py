"""Indices over all pairs of points: Dunn and the C-index."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from kindset.evaluation._contributions import divide
from kindset.evaluation._distances import half_tiles
from kindset.evaluation._labels import Partitions
from kindset.evaluation._spaces import Space

_BINS = 65536
_SUB_BINS = 4096


@njit(cache=True, nogil=True)
def _extremes(tile, column_codes, row_codes, between, within):  # type: ignore[no-untyped-def]
    """Smallest distance to another cluster and largest to the own, for each row of a tile."""
    n_columns, n_rows = tile.shape
    for m in range(row_codes.shape[0]):
        codes, nearest, farthest = row_codes[m], between[m], within[m]
        for c in range(n_columns):
            code = column_codes[m, c]
            line = tile[c]
            # Two loops: the compiler vectorises each, but not both in one.
            for r in range(n_rows):
                other = np.inf if codes[r] == code else line[r]
                nearest[r] = other if other < nearest[r] else nearest[r]
            for r in range(n_rows):
                own = line[r] if codes[r] == code else 0.0
                farthest[r] = own if own > farthest[r] else farthest[r]


def _codes_of(
    codes: NDArray[np.int32], columns: slice, rows: slice
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Codes of a tile, laid out for the kernels: only contiguous rows are vectorised."""
    return np.ascontiguousarray(codes[:, columns]), np.ascontiguousarray(codes[:, rows])


def dunn_scores(space: Space, partitions: Partitions) -> NDArray[np.float64]:
    """Smallest distance between clusters over the largest diameter, for every partition.

    Both extremes of all partitions come from one pass over half of the distances.
    """
    n_partitions = partitions.n_partitions
    between = np.full(n_partitions, np.inf)
    within = np.zeros(n_partitions)
    for columns, rows, tile in half_tiles(space):
        nearest = np.full((n_partitions, tile.shape[1]), np.inf)
        farthest = np.zeros((n_partitions, tile.shape[1]))
        _extremes(tile, *_codes_of(partitions.codes, columns, rows), nearest, farthest)
        between = np.minimum(between, nearest.min(axis=1))
        within = np.maximum(within, farthest.max(axis=1))
    return np.where(np.isfinite(between), divide(between, within), np.nan)


@njit(cache=True, nogil=True)
def _add_within(tile, column_codes, row_codes, sums):  # type: ignore[no-untyped-def]
    """Add the distances of a tile that lie within a cluster, for each row and partition."""
    n_columns, n_rows = tile.shape
    for m in range(row_codes.shape[0]):
        codes, target = row_codes[m], sums[m]
        for c in range(n_columns):
            code = column_codes[m, c]
            line = tile[c]
            for r in range(n_rows):
                target[r] += line[r] if codes[r] == code else 0.0


@njit(cache=True, nogil=True)
def _add_histogram(tile, diagonal, scale, counts, sums):  # type: ignore[no-untyped-def]
    for c in range(tile.shape[0]):
        for r in range(c if diagonal else tile.shape[1]):
            position = min(int(tile[c, r] * scale), counts.shape[0] - 1)
            counts[position] += 1
            sums[position] += tile[c, r]


@njit(cache=True, nogil=True)
def _add_sub_histograms(tile, diagonal, scale, slots, counts, sums):  # type: ignore[no-untyped-def]
    """Like `_add_histogram`, finer, and only inside the bins that have a slot."""
    last, n_sub = slots.shape[0] - 1, counts.shape[1]
    for c in range(tile.shape[0]):
        for r in range(c if diagonal else tile.shape[1]):
            place = tile[c, r] * scale
            position = min(int(place), last)
            slot = slots[position]
            if slot >= 0:
                sub = min(int((place - position) * n_sub), n_sub - 1)
                counts[slot, sub] += 1
                sums[slot, sub] += tile[c, r]


def _split(counts: NDArray[np.int64], n_smallest: int) -> tuple[int, int]:
    """Bin in which the n-th smallest value lies, and how many values before that bin."""
    cumulative = np.cumsum(counts)
    position = int(np.searchsorted(cumulative, n_smallest))
    return position, int(cumulative[position] - counts[position])


class _DistanceSums:
    """Sums of the n smallest of all distances, from a histogram refined where the sums end.

    Within a sub-bin (a 4·10⁻⁹th of the range) distances count as their mean.
    """

    def __init__(self, space: Space, wanted: list[int], codes: NDArray[np.int32]) -> None:
        self.within = np.zeros(len(codes))
        self.counts = np.zeros(_BINS, dtype=np.int64)
        self.sums = np.zeros(_BINS)
        scale = _BINS / max(space.max_distance * (1 + 1e-12), 1e-300)
        for columns, rows, tile in half_tiles(space):
            diagonal = columns == rows
            _add_histogram(tile, diagonal, scale, self.counts, self.sums)
            within = np.zeros((len(codes), tile.shape[1]))
            _add_within(tile, *_codes_of(codes, columns, rows), within)
            self.within += within.sum(axis=1) * (0.5 if diagonal else 1.0)
        ends = sorted({_split(self.counts, n)[0] for n in wanted})
        self._slots = np.full(_BINS, -1, dtype=np.int32)
        self._slots[ends] = np.arange(len(ends))
        self._sub_counts = np.zeros((len(ends), _SUB_BINS), dtype=np.int64)
        self._sub_sums = np.zeros((len(ends), _SUB_BINS))
        for columns, rows, tile in half_tiles(space):
            _add_sub_histograms(
                tile, columns == rows, scale, self._slots, self._sub_counts, self._sub_sums
            )

    def smallest(self, n: int) -> float:
        """Sum of the `n` smallest distances."""
        if n == 0:
            return 0.0
        position, before = _split(self.counts, n)
        slot = self._slots[position]
        counts, sums = self._sub_counts[slot], self._sub_sums[slot]
        sub, before_sub = _split(counts, n - before)
        partial = sums[sub] / counts[sub] * (n - before - before_sub)
        return float(self.sums[:position].sum() + sums[:sub].sum() + partial)


def c_index_scores(space: Space, partitions: Partitions) -> NDArray[np.float64]:
    """Where the within-cluster distances lie between the smallest and the largest possible sum."""
    n = len(space.X)
    n_pairs = n * (n - 1) // 2
    sizes = partitions.sizes.astype(np.int64)
    pairs = sizes * (sizes - 1) // 2
    n_within = [int(pairs[partitions.clusters(m)].sum()) for m in range(partitions.n_partitions)]
    ends = [w for w in {*n_within, *(n_pairs - w for w in n_within), n_pairs} if w > 0]
    table = _DistanceSums(space, ends, partitions.codes)
    whole = table.smallest(n_pairs)
    scores = np.full(partitions.n_partitions, np.nan)
    for m, count in enumerate(n_within):
        low = table.smallest(count)
        high = whole - table.smallest(n_pairs - count)
        if 0 < count < n_pairs and high - low > 1e-12 * max(high, 1e-300):
            scores[m] = (table.within[m] - low) / (high - low)
    return scores
