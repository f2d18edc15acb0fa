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

    @classmethod
    def build(cls, layout: Layout, log_pmf: FloatArray, weights: FloatArray) -> "JointTables":
        """Join the flat table of log-probabilities, of shape (n_flat, n_components)."""
        return cls(*_fill(log_pmf, layout.cell_levels, weights))


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
    chunks = range(0, len(rows), _CHUNK)
    args = (tables.linear, tables.scale, tables.log, tables.log_weights, rows.layout.offsets)
    if len(chunks) == 1:
        parts = [_accumulate(rows.packed, rows.weights, *args)]
    else:
        parts = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(_accumulate)(rows.packed[i : i + _CHUNK], rows.weights[i : i + _CHUNK], *args)
            for i in chunks
        )
    log_likelihood, cells = parts[0]
    for more_likelihood, more_cells in parts[1:]:
        log_likelihood += more_likelihood
        cells += more_cells
    counts = np.zeros((rows.layout.starts[-1], cells.shape[1]))
    _marginalise(cells, rows.layout.cell_levels, counts)
    return log_likelihood, cells[: rows.layout.offsets[1]].sum(axis=0), counts


def posterior(rows: Rows, tables: JointTables) -> tuple[FloatArray, FloatArray]:
    """Return each row's membership probabilities and its log-density."""
    log_density = np.empty(len(rows))
    membership = np.empty((len(rows), tables.log.shape[1]))
    _posterior(
        rows.packed, tables.log, tables.log_weights, rows.layout.offsets, membership, log_density
    )
    return membership, log_density


def most_probable(rows: Rows, tables: JointTables) -> IntArray:
    """Return the component with the highest membership probability for each row."""
    labels = np.empty(len(rows), dtype=np.int64)
    _most_probable(rows.packed, tables.log, tables.log_weights, rows.layout.offsets, labels)
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
    log_weights: FloatArray,
    offsets: IntArray,
    labels: IntArray,
) -> None:
    joint = np.empty(len(log_weights))
    for i in range(len(packed)):
        _add_logs(packed[i], log, log_weights, offsets, joint)
        labels[i] = np.argmax(joint)


@njit(cache=True, nogil=True)
def _posterior(
    packed: NDArray[np.uint16],
    log: FloatArray,
    log_weights: FloatArray,
    offsets: IntArray,
    membership: FloatArray,
    log_density: FloatArray,
) -> None:
    for i in range(len(packed)):
        largest = _log_joint(packed[i], log, log_weights, offsets, membership[i])
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
