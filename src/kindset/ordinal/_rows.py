"""The rows of a table of answers in the compact form that the E-step runs over.

Answers are codes from 0; the code m of a question with m categories means *missing*, a category
like any other that has probability one. Several questions are packed into one joint code, so that
a row costs one table look-up for each pack instead of one for each question, and equal rows are
kept once with their total weight.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from kindset._compiling import njit
from kindset.ordinal._coefficients import FloatArray

IntArray = NDArray[np.int64]
CodeArray = NDArray[np.uint8]

_MAX_CELLS = 512
_ALWAYS_MERGE = 50_000


@dataclass(frozen=True)
class Layout:
    """Where each category of each question stands in flat arrays, and which questions are packed.

    Attributes
    ----------
    n_levels : ndarray of shape (n_features,)
        Number of categories of each question.
    starts : ndarray of shape (n_features + 1,)
        Question j owns the flat positions from ``starts[j]``: its categories, then "missing".
    members, strides, first : ndarray
        Pack p joins the questions ``members[first[p]:first[p + 1]]``; its joint code is the sum
        of their codes times the strides.
    offsets : ndarray of shape (n_packs + 1,)
        Pack p owns the cells from ``offsets[p]`` in the joint tables.
    cell_levels : ndarray of shape (n_cells, widest pack)
        The flat positions that a cell stands for, one for each question of its pack, then -1.
    """

    n_levels: IntArray
    starts: IntArray
    members: IntArray
    strides: IntArray
    first: IntArray
    offsets: IntArray
    cell_levels: IntArray

    @classmethod
    def plan(cls, n_levels: IntArray, has_missing: NDArray[np.bool_], n_rows: int) -> "Layout":
        """Pack neighbouring questions as long as the joint table pays for itself."""
        # Tables are filled once and read once for each row: with few rows, keep them small.
        max_cells = min(_MAX_CELLS, max(n_rows // 8, 4))
        slots = n_levels + has_missing
        packs: list[list[int]] = [[]]
        for j in np.flatnonzero(n_levels > 1):  # one category says nothing about the components
            if packs[-1] and np.prod(slots[packs[-1]]) * slots[j] > max_cells:
                packs.append([])
            packs[-1].append(int(j))
        starts = np.concatenate([[0], np.cumsum(n_levels + 1)])
        strides = [np.cumprod([1, *slots[pack]])[:-1] for pack in packs if pack]
        cells = [_cell_levels(slots[pack], starts[pack]) for pack in packs]
        width = max(len(pack) for pack in packs)
        return cls(
            n_levels=n_levels,
            starts=starts,
            members=np.concatenate(packs).astype(np.int64),
            strides=np.concatenate(strides) if strides else np.empty(0, dtype=np.int64),
            first=np.cumsum([0, *map(len, packs)]),
            offsets=np.cumsum([0, *map(len, cells)]),
            cell_levels=np.concatenate(
                [np.pad(c, ((0, 0), (0, width - c.shape[1])), constant_values=-1) for c in cells]
            ),
        )


def _cell_levels(slots: IntArray, starts: IntArray) -> IntArray:
    """Return the flat positions of a pack's questions for each joint code, the first fastest."""
    shape = tuple(int(n) for n in slots[::-1])
    codes = np.indices(shape).reshape(len(slots), int(np.prod(slots)))[::-1]
    return codes.T + starts


@dataclass(frozen=True)
class Numbers:
    """The columns that hold numbers instead of categories.

    Attributes
    ----------
    statistics : ndarray of shape (n_rows, 4 * n_columns)
        1, x, x² and log x! of every number; zeros where it is missing.
    log_scales : ndarray of shape (n_columns,)
        Log of the units in which x is measured; densities refer to the column's own units.
    """

    statistics: FloatArray
    log_scales: FloatArray

    def take(self, index: NDArray[np.int64]) -> Self:
        """Return some rows."""
        return type(self)(self.statistics[index], self.log_scales)

    def __len__(self) -> int:
        return len(self.log_scales)


NO_NUMBERS = Numbers(np.empty((0, 0)), np.empty(0))
"""Of a table without numeric columns."""


def number_statistics(values: FloatArray, scales: FloatArray) -> Numbers:
    """Return the statistics of standardised numbers, NaN where missing, of shape (n, columns)."""
    known = ~np.isnan(values)
    x = np.where(known, values, 0.0)
    factorial = gammaln(np.maximum(x, 0.0) + 1) * known
    statistics = np.stack([known.astype(np.float64), x, x**2, factorial], axis=2)
    return Numbers(statistics.reshape(len(values), -1), np.log(scales))


@dataclass(frozen=True)
class Rows:
    """Distinct rows (or all, where hardly any repeat), packed, with their weights.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_features)
        Answers from 0, ``n_levels[j]`` for a missing one.
    packed : ndarray of shape (n_rows, n_packs)
        Joint codes.
    weights : ndarray of shape (n_rows,)
    numbers : Numbers
        The numeric columns; among the codes they have a single category.
    """

    layout: Layout
    codes: CodeArray
    weights: FloatArray
    packed: NDArray[np.uint16] = field(repr=False)
    numbers: Numbers = field(default=NO_NUMBERS, repr=False)

    @classmethod
    def build(
        cls,
        codes: CodeArray,
        weights: FloatArray,
        n_levels: IntArray,
        numbers: Numbers = NO_NUMBERS,
    ) -> "Rows":
        """Pack rows as they are."""
        layout = Layout.plan(n_levels, (codes == n_levels).any(axis=0), len(codes))
        packed = np.empty((len(codes), len(layout.offsets) - 1), dtype=np.uint16)
        _pack(codes, layout.members, layout.strides, layout.first, packed)
        return cls(layout, codes, weights, packed, numbers)

    @classmethod
    def merge(
        cls,
        codes: CodeArray,
        weights: FloatArray,
        n_levels: IntArray,
        numbers: Numbers = NO_NUMBERS,
    ) -> "Rows":
        """Pack the distinct rows of positive weight, in an order that does not depend on theirs.

        A long table in which hardly any row repeats is left as it is.
        """
        if (weights == 0).any():
            kept = np.flatnonzero(weights > 0)
            codes, weights = codes[kept], weights[kept]
            numbers = numbers.take(kept) if len(numbers) else numbers
        content = _with_numbers(codes, numbers)
        if len(codes) > _ALWAYS_MERGE and _distinct_rows(content) > 0.2 * len(codes):
            return cls.build(codes, weights, n_levels, numbers)
        _, index, inverse = np.unique(_row_keys(content), return_index=True, return_inverse=True)
        total = np.bincount(inverse, weights=weights).astype(np.float64)
        merged = numbers.take(index) if len(numbers) else numbers
        return cls.build(codes[index], total, n_levels, merged)

    def draw(self, size: int, rng: np.random.RandomState) -> "Rows":
        """Draw rows in proportion to their weights; each draw counts one."""
        chance = self.weights / self.weights.sum()
        index, count = np.unique(rng.choice(len(self), size, p=chance), return_counts=True)
        numbers = self.numbers.take(index) if len(self.numbers) else self.numbers
        counts = count.astype(np.float64)
        return Rows.merge(self.codes[index], counts, self.layout.n_levels, numbers)

    @property
    def n_statistics(self) -> int:
        """The length of flat arrays: all categories, then the statistics of all numbers."""
        return int(self.layout.starts[-1]) + self.numbers.statistics.shape[1]

    def __len__(self) -> int:
        return len(self.codes)


def _with_numbers(codes: CodeArray, numbers: Numbers) -> CodeArray:
    """Return what tells rows apart, as bytes."""
    if not len(numbers):
        return codes
    raw = np.ascontiguousarray(numbers.statistics).view(np.uint8)
    return np.hstack([codes, raw.reshape(len(codes), -1)])


def _distinct_rows(codes: CodeArray) -> float:
    """Estimate how many rows differ, from the repeats in a sample (the birthday problem)."""
    sample = codes[:: max(1, len(codes) // 10_000)]
    repeats = len(sample) - len(np.unique(_row_keys(sample)))
    return len(sample) ** 2 / (2 * max(repeats, 1))


def _row_keys(codes: CodeArray) -> NDArray[np.void]:
    """View each row as one opaque value that can be sorted and compared."""
    codes = np.ascontiguousarray(codes)
    return codes.view(np.dtype((np.void, codes.shape[1])))[:, 0]


@njit(cache=True, nogil=True)
def _pack(
    codes: CodeArray,
    members: IntArray,
    strides: IntArray,
    first: IntArray,
    out: NDArray[np.uint16],
) -> None:
    for i in range(codes.shape[0]):
        for p in range(out.shape[1]):
            joint = 0
            for a in range(first[p], first[p + 1]):
                joint += strides[a] * codes[i, members[a]]
            out[i, p] = joint
