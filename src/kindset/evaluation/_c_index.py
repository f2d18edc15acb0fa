"""The C-index of many partitions, in constant memory.

It needs sums of the n smallest and largest of all distances. A histogram with the sum of each bin
gives them up to the bin in which they end; that bin is divided further, pass by pass, until what
is left to guess does not matter. Usually one pass after the first is enough.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.evaluation._distances import half_tiles
from kindset.evaluation._dunn import codes_of
from kindset.evaluation._labels import Partitions
from kindset.evaluation._spaces import Space

_BINS = 65536
# A power of two, so that dividing a bin again and again is exact in floating point.
_PARTS = 4096
_MAX_DEPTH = 4
_TOLERANCE = 1e-12


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
def _add_parts(tile, diagonal, scale, slots, prefixes, fine, counts, sums):  # type: ignore[no-untyped-def]
    """Add distances to the parts of the intervals that are being divided.

    Bin b is divided in the intervals ``slots[b]`` to ``slots[b + 1]``; an interval holds the
    distances whose place within the bin, times ``fine / _PARTS``, rounds down to its prefix.
    """
    last = slots.shape[0] - 2
    for c in range(tile.shape[0]):
        for r in range(c if diagonal else tile.shape[1]):
            place = tile[c, r] * scale
            position = min(int(place), last)
            if slots[position] == slots[position + 1]:
                continue
            digits = int((place - position) * fine)
            prefix = digits // _PARTS
            for slot in range(slots[position], slots[position + 1]):
                if prefixes[slot] == prefix:
                    part = digits - prefix * _PARTS
                    counts[slot, part] += 1
                    sums[slot, part] += tile[c, r]


@dataclass
class _Boundary:
    """Where the sum of the n smallest distances ends: an interval, and what lies before it."""

    bin: int
    prefix: int
    n_left: int
    before: float
    inside: float
    count: int

    def estimate(self) -> float:
        """Sum up to the boundary, if the distances inside the interval were all equal."""
        return self.before + self.inside * self.n_left / self.count

    def settled(self, width: float) -> bool:
        """Whether what that leaves open is negligible."""
        doubt = min(self.n_left, self.count - self.n_left) * width
        return doubt <= _TOLERANCE * self.estimate()

    def narrow(self, counts: NDArray[np.int64], sums: NDArray[np.float64]) -> None:
        """Go on to the part of the interval in which the boundary lies."""
        part, n_before = _split(counts, self.n_left)
        self.prefix = self.prefix * _PARTS + part
        self.before += float(sums[:part].sum())
        self.n_left -= n_before
        self.inside, self.count = float(sums[part]), int(counts[part])


def _split(counts: NDArray[np.int64], n_smallest: int) -> tuple[int, int]:
    """Bin in which the n-th smallest value lies, and how many values before that bin."""
    cumulative = np.cumsum(counts)
    position = int(np.searchsorted(cumulative, n_smallest))
    return position, int(cumulative[position] - counts[position])


class _DistanceSums:
    """Sums of the distances within clusters, and of the n smallest of all distances."""

    def __init__(self, space: Space, partitions: Partitions) -> None:
        self._space = space
        self._scale = _BINS / max(space.max_distance * (1 + 1e-12), 1e-300)
        self._counts = np.zeros(_BINS, dtype=np.int64)
        self._sums = np.zeros(_BINS)
        self.within = np.zeros(partitions.n_partitions)
        for columns, rows, tile in half_tiles(space):
            diagonal = columns == rows
            _add_histogram(tile, diagonal, self._scale, self._counts, self._sums)
            within = np.zeros((partitions.n_partitions, tile.shape[1]))
            _add_within(tile, *codes_of(partitions.codes, columns, rows), within)
            self.within += within.sum(axis=1) * (0.5 if diagonal else 1.0)

    @property
    def total(self) -> float:
        """Sum of all distances."""
        return float(self._sums.sum())

    def smallest(self, numbers: set[int]) -> dict[int, float]:
        """Sum the n smallest distances, for all n in `numbers`."""
        boundaries = {n: self._first(n) for n in numbers if n > 0}
        for depth in range(1, _MAX_DEPTH + 1):
            width = float(_PARTS) ** (1 - depth) / self._scale
            open_ones = [b for b in boundaries.values() if not b.settled(width)]
            if not open_ones:
                break
            self._divide(open_ones, float(_PARTS) ** depth)
        return {0: 0.0, **{n: b.estimate() for n, b in boundaries.items()}}

    def _first(self, n: int) -> _Boundary:
        position, n_before = _split(self._counts, n)
        before = float(self._sums[:position].sum())
        inside, count = float(self._sums[position]), int(self._counts[position])
        return _Boundary(position, 0, n - n_before, before, inside, count)

    def _divide(self, boundaries: list[_Boundary], fine: float) -> None:
        """One pass over the distances that divides the intervals of these boundaries."""
        intervals = sorted({(b.bin, b.prefix) for b in boundaries})
        bins = np.array([position for position, _ in intervals])
        prefixes = np.array([prefix for _, prefix in intervals], dtype=np.int64)
        slots = np.searchsorted(bins, np.arange(_BINS + 1)).astype(np.int64)
        counts = np.zeros((len(intervals), _PARTS), dtype=np.int64)
        sums = np.zeros((len(intervals), _PARTS))
        for columns, rows, tile in half_tiles(self._space):
            _add_parts(tile, columns == rows, self._scale, slots, prefixes, fine, counts, sums)
        for boundary in boundaries:
            slot = intervals.index((boundary.bin, boundary.prefix))
            boundary.narrow(counts[slot], sums[slot])


def c_index_scores(space: Space, partitions: Partitions) -> NDArray[np.float64]:
    """Where the within-cluster distances lie between the smallest and the largest possible sum."""
    n = len(space.X)
    n_pairs = n * (n - 1) // 2
    sizes = partitions.sizes.astype(np.int64)
    pairs = sizes * (sizes - 1) // 2
    n_within = [int(pairs[partitions.clusters(m)].sum()) for m in range(partitions.n_partitions)]
    table = _DistanceSums(space, partitions)
    smallest = table.smallest({*n_within, *(n_pairs - w for w in n_within)})
    scores = np.full(partitions.n_partitions, np.nan)
    for m, count in enumerate(n_within):
        low, high = smallest[count], table.total - smallest[n_pairs - count]
        if 0 < count < n_pairs and high - low > 1e-11 * high:
            scores[m] = (table.within[m] - low) / (high - low)
    return scores
