"""The E-step: who belongs where, given the parameters, and the counts that the M-step needs."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from kindset._compiling import njit
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._rows import CodeArray, IntArray, Layout, Rows

# Fixed, so that sums are made in the same order however many workers share them.
_CHUNK = 65_536

_UNDERFLOW = 1e-250


@dataclass(frozen=True)
class JointTables:
    """For every cell of every pack, the probability under each component.

    ``linear = exp(log - scale)`` where `scale` is the largest of the cell's log-probabilities, so
    that a row's products neither underflow nor need an exponential, but in rare cases.
    """

    log: FloatArray
    linear: FloatArray
    scale: FloatArray
    log_weights: FloatArray
    terms: FloatArray
    """What the statistics of numbers add to the log-density, [statistic, component]."""

    @classmethod
    def build(cls, layout: Layout, log_pmf: FloatArray, weights: FloatArray) -> "JointTables":
        """Join the flat table of log-probabilities, of shape (n_flat, n_components)."""
        terms = np.ascontiguousarray(log_pmf[layout.starts[-1] :])
        log, linear, scale, log_weights = _fill(log_pmf, layout.cell_levels, weights)
        return cls(log, linear, scale, log_weights, terms)

    def base(self, rows: Rows, part: slice) -> FloatArray:
        """Return log-weights and the numbers' log-densities of some rows; of one, if all agree."""
        if not len(self.terms):
            return self.log_weights[None]
        dense: FloatArray = rows.numbers.statistics[part] @ self.terms
        dense += self.log_weights
        return dense


def expected_counts(
    rows: Rows, tables: JointTables, *, n_jobs: int | None = None
) -> tuple[float, FloatArray, FloatArray]:
    """Run one E-step.

    Returns
    -------
    log_likelihood : float
    sizes : ndarray of shape (n_components,)
        Expected weight of the rows in each component.
    counts : ndarray of shape (n_flat, n_components)
        Expected weight of each answer to each question in each component.
    """
    chunks = [slice(i, i + _CHUNK) for i in range(0, len(rows), _CHUNK)]
    if len(chunks) == 1:
        parts = [_expect_part(rows, tables, chunks[0])]
    else:
        parts = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(_expect_part)(rows, tables, chunk) for chunk in chunks
        )
    log_likelihood, cells, sums = parts[0]
    for more_likelihood, more_cells, more_sums in parts[1:]:
        log_likelihood += more_likelihood
        cells += more_cells
        sums += more_sums
    counts = np.zeros((rows.n_statistics, cells.shape[1]))
    _marginalise(cells, rows.layout.cell_levels, counts)
    counts[rows.layout.starts[-1] :] = sums
    return log_likelihood, cells[: rows.layout.offsets[1]].sum(axis=0), counts


def _expect_part(
    rows: Rows, tables: JointTables, part: slice
) -> tuple[float, FloatArray, FloatArray]:
    """Return the log-likelihood of some rows, the counts of the cells and the numbers' sums."""
    packed, weights, offsets = rows.packed[part], rows.weights[part], rows.layout.offsets
    if not len(tables.terms):
        log_likelihood, cells = _accumulate(
            packed, weights, tables.linear, tables.scale, tables.log, tables.log_weights, offsets
        )
        return log_likelihood, cells, np.empty((0, cells.shape[1]))
    membership = tables.base(rows, part)
    log_likelihood, cells = _accumulate_dense(packed, weights, tables.log, offsets, membership)
    return log_likelihood, cells, rows.numbers.statistics[part].T @ membership


def posterior(rows: Rows, tables: JointTables) -> tuple[FloatArray, FloatArray]:
    """Return each row's membership probabilities and its log-density."""
    log_density = np.empty(len(rows))
    membership = np.empty((len(rows), tables.log.shape[1]))
    base = tables.base(rows, slice(None))
    _posterior(rows.packed, tables.log, base, rows.layout.offsets, membership, log_density)
    return membership, log_density


def most_probable(rows: Rows, tables: JointTables) -> IntArray:
    """Return the component with the highest membership probability for each row."""
    labels = np.empty(len(rows), dtype=np.int64)
    base = tables.base(rows, slice(None))
    _most_probable(rows.packed, tables.log, base, rows.layout.offsets, labels)
    return labels


@njit(cache=True, nogil=True)
def _fill(
    log_pmf: FloatArray, cell_levels: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    n_components = len(weights)
    log_weights = np.full(n_components, -np.inf)
    for k in range(n_components):
        if weights[k] > 0:
            log_weights[k] = np.log(weights[k])
    log = np.zeros((len(cell_levels), n_components))
    linear, scale = np.empty_like(log), np.empty(len(log))
    for cell in range(len(log)):
        for level in cell_levels[cell]:
            if level >= 0:
                for k in range(n_components):
                    log[cell, k] += log_pmf[level, k]
        scale[cell] = log[cell].max()
        for k in range(n_components):
            linear[cell, k] = np.exp(log[cell, k] - scale[cell])
    return log, linear, scale, log_weights


@njit(cache=True, nogil=True)
def _marginalise(cells: FloatArray, cell_levels: IntArray, counts: FloatArray) -> None:
    for cell in range(len(cells)):
        for level in cell_levels[cell]:
            if level >= 0:
                for k in range(cells.shape[1]):
                    counts[level, k] += cells[cell, k]


@njit(cache=True, nogil=True)
def _accumulate(
    packed: NDArray[np.uint16],
    weights: FloatArray,
    linear: FloatArray,
    scale: FloatArray,
    log: FloatArray,
    log_weights: FloatArray,
    offsets: IntArray,
) -> tuple[float, FloatArray]:
    """Return the log-likelihood and the expected weight of each cell in each component."""
    n_components, n_packs = linear.shape[1], packed.shape[1]
    counts = np.zeros_like(linear)
    prior = np.exp(log_weights)
    joint = np.empty(n_components)
    log_likelihood = 0.0
    for i in range(len(packed)):
        shift = 0.0
        joint[:] = prior
        for p in range(n_packs):
            cell = offsets[p] + packed[i, p]
            shift += scale[cell]
            for k in range(n_components):
                joint[k] *= linear[cell, k]
        total = joint.sum()
        if total < _UNDERFLOW:
            shift = _log_joint(packed[i], log, log_weights, offsets, joint)
            total = joint.sum()
        log_likelihood += weights[i] * (shift + np.log(total))
        factor = weights[i] / total
        for k in range(n_components):
            joint[k] *= factor
        for p in range(n_packs):
            cell = offsets[p] + packed[i, p]
            for k in range(n_components):
                counts[cell, k] += joint[k]
    return log_likelihood, counts


@njit(cache=True, nogil=True)
def _accumulate_dense(
    packed: NDArray[np.uint16],
    weights: FloatArray,
    log: FloatArray,
    offsets: IntArray,
    membership: FloatArray,
) -> tuple[float, FloatArray]:
    """Add up cells; `membership` holds the rows' log-densities and then their weighted shares."""
    n_packs, n_components = packed.shape[1], membership.shape[1]
    cells = np.zeros((len(log), n_components))
    joint = np.empty(n_components)
    log_likelihood = 0.0
    for i in range(len(packed)):
        shift = _log_joint(packed[i], log, membership[i], offsets, joint)
        total = joint.sum()
        log_likelihood += weights[i] * (shift + np.log(total))
        for k in range(n_components):
            membership[i, k] = joint[k] * weights[i] / total
        for p in range(n_packs):
            cell = offsets[p] + packed[i, p]
            for k in range(n_components):
                cells[cell, k] += membership[i, k]
    return log_likelihood, cells


@njit(cache=True, nogil=True)
def _log_joint(
    packed: NDArray[np.uint16],
    log: FloatArray,
    log_weights: FloatArray,
    offsets: IntArray,
    joint: FloatArray,
) -> float:
    """Fill `joint` with a row's joint probabilities over their largest; return its logarithm."""
    _add_logs(packed, log, log_weights, offsets, joint)
    largest = joint.max()
    for k in range(len(joint)):
        joint[k] = np.exp(joint[k] - largest)
    return largest


@njit(cache=True, nogil=True)
def _add_logs(
    packed: NDArray[np.uint16],
    log: FloatArray,
    log_weights: FloatArray,
    offsets: IntArray,
    joint: FloatArray,
) -> None:
    joint[:] = log_weights
    for p in range(len(packed)):
        cell = offsets[p] + packed[p]
        for k in range(len(joint)):
            joint[k] += log[cell, k]


@njit(cache=True, nogil=True)
def _most_probable(
    packed: NDArray[np.uint16],
    log: FloatArray,
    base: FloatArray,
    offsets: IntArray,
    labels: IntArray,
) -> None:
    joint = np.empty(base.shape[1])
    for i in range(len(packed)):
        _add_logs(packed[i], log, base[min(i, len(base) - 1)], offsets, joint)
        labels[i] = np.argmax(joint)


@njit(cache=True, nogil=True)
def _posterior(
    packed: NDArray[np.uint16],
    log: FloatArray,
    base: FloatArray,
    offsets: IntArray,
    membership: FloatArray,
    log_density: FloatArray,
) -> None:
    for i in range(len(packed)):
        start = base[min(i, len(base) - 1)]
        largest = _log_joint(packed[i], log, start, offsets, membership[i])
        total = membership[i].sum()
        log_density[i] = largest + np.log(total)
        for k in range(membership.shape[1]):
            membership[i, k] /= total


@njit(cache=True, nogil=True)
def count_answers(codes: CodeArray, starts: IntArray, weights: FloatArray) -> FloatArray:
    """Add up the weights [row, component] by answer: an array [flat position, component]."""
    counts = np.zeros((starts[-1], weights.shape[1]))
    for i in range(len(codes)):
        for j in range(codes.shape[1]):
            for k in range(weights.shape[1]):
                counts[starts[j] + codes[i, j], k] += weights[i, k]
    return counts
