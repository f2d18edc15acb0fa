"""Standard errors of a fitted mixture, from the observed information."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._em import Parameters, Problem
from kindset.ordinal._expectation import posterior
from kindset.ordinal._law import N_STATISTICS
from kindset.ordinal._laws import LAWS, group_columns
from kindset.ordinal._rows import IntArray, Rows

_CHUNK = 4096
_BUDGET = 5e10
"""Multiplications; a longer table is represented by evenly spaced rows of it."""


@dataclass(frozen=True)
class Errors:
    """Standard errors.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
    precisions : ndarray of shape (n_components, n_features)
        NaN where there is no precision, or at an end of its range.
    answers : list of ndarray of shape (n_components, n_categories)
        Of the probabilities of every column's answers; of the mean of a numeric column.
    """

    weights: FloatArray
    precisions: FloatArray
    answers: list[FloatArray]


@dataclass(frozen=True)
class _Block:
    """The free parameters of one column.

    `first` is the derivative of the log-terms, [parameter, statistic, component], `second` the
    derivative again; `begin` the place of the first parameter among all.
    """

    j: int
    place: IntArray
    first: FloatArray
    second: FloatArray
    begin: int

    @property
    def end(self) -> int:
        return self.begin + len(self.first)


def standard_errors(problem: Problem, parameters: Parameters) -> Errors:
    """Return the standard errors of the weights and of everything that the laws say.

    The positions of laws that have them are taken as known. What a component without members
    says has no standard error: NaN.
    """
    live = np.flatnonzero(parameters.weights > 0)
    blocks = _blocks(problem.rows, parameters, len(live) - 1)
    size = blocks[-1].end if blocks else len(live) - 1
    rows = _represented(problem.rows, size)
    information = _observed_information(rows, problem, parameters, live, blocks, size)
    moving = [block.first.any(axis=(1, 2)) for block in blocks]
    free = np.concatenate([np.ones(len(live) - 1, dtype=bool), *moving])
    covariance = np.full((size, size), np.nan)
    covariance[np.ix_(free, free)] = _inverse(information[np.ix_(free, free)])
    n_free = len(live) - 1
    weights = np.full(len(parameters.weights), np.nan)
    weights[live[:-1]] = _root(np.diag(covariance)[:n_free])
    # The last weight is one minus the others.
    weights[live[-1]] = _root(covariance[:n_free, :n_free].sum())
    precisions = np.full((len(parameters.weights), len(parameters.columns)), np.nan)
    answers = [np.zeros((len(parameters.weights), 1)) for _ in parameters.columns]
    for block in blocks:
        own = covariance[block.begin : block.end, block.begin : block.end]
        name = parameters.distributions[block.j]
        if not LAWS[name].smooth:
            precisions[:, block.j] = _root(np.diag(own))
        answers[block.j] = _answer_errors(name, parameters.columns[block.j], block, own)
    return Errors(weights, precisions, answers)


def _blocks(rows: Rows, parameters: Parameters, begin: int) -> list[_Block]:
    blocks: list[_Block] = []
    dead = parameters.weights <= 0
    for group in group_columns(parameters.distributions, rows.layout.n_levels):
        for j, place in zip(group.features, group.places, strict=True):
            first, second = group.law.scores(parameters.columns[j], group.m)
            first[:, :, dead] = 0.0
            second = np.where(dead, 0.0, second)
            blocks.append(_Block(int(j), place, first, second, begin))
            begin = blocks[-1].end
    return blocks


def _represented(rows: Rows, size: int) -> Rows:
    """Return evenly spaced rows of a table that is too long, with weights that make up for it."""
    keep = int(_BUDGET // max(size, 1) ** 2)
    if len(rows) <= max(keep, 10_000):
        return rows
    index = np.linspace(0, len(rows) - 1, max(keep, 10_000)).astype(np.int64)
    weights = rows.weights[index] * (rows.weights.sum() / rows.weights[index].sum())
    numbers = rows.numbers.take(index) if len(rows.numbers) else rows.numbers
    return Rows.build(rows.codes[index], weights, rows.layout.n_levels, numbers)


def _observed_information(
    rows: Rows,
    problem: Problem,
    parameters: Parameters,
    live: IntArray,
    blocks: list[_Block],
    size: int,
) -> FloatArray:
    """Return minus the second derivatives of the log-likelihood and the prior's term.

    The parameters are the live weights but the last, then the columns' own. With r the
    memberships and s the score of a row, each row adds s sᵀ minus the expected second derivative
    of its joint density with the component over that density.
    """
    here = Problem(rows, problem.n_components, problem.candidates, problem.prior_count)
    tables, _ = here.tables(parameters)
    membership, _ = posterior(rows, tables)
    n_free = len(live) - 1
    information = np.zeros((size, size))
    active = [_active(blocks, k, size, n_free) for k in range(len(parameters.weights))]
    for begin in range(0, len(rows), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        weight, r = rows.weights[part, None], membership[part]
        by_weight = r[:, live] / parameters.weights[live]
        score = np.zeros((len(r), size))
        score[:, :n_free] = by_weight[:, :-1] - by_weight[:, -1:]
        for k in live:
            slope = _slopes(rows, part, blocks, k, size)[:, active[k]]
            joint = r[:, [k]] * slope
            score[:, active[k]] += joint
            information[np.ix_(active[k], active[k])] -= slope.T @ (weight * joint)
            mixed = (weight * joint).sum(axis=0) / parameters.weights[k]
            for a in range(n_free):
                sign = (live[a] == k) * 1.0 - (live[-1] == k)
                information[a, active[k]] -= sign * mixed
                information[active[k], a] -= sign * mixed
        information += score.T @ (weight * score)
    _, _, counts = here.expect(parameters)
    counts = counts + problem.prior[:, None]
    for block in blocks:
        bend = np.einsum("pqsk,sk->pq", *_same_shape(block.second, counts[block.place]))
        information[block.begin : block.end, block.begin : block.end] -= bend
    return information


def _same_shape(second: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum the counts where a second derivative is the same for all statistics."""
    if second.shape[2] == 1:
        return second, counts.sum(axis=0, keepdims=True)
    return second, counts


def _active(blocks: list[_Block], k: int, size: int, n_free: int) -> NDArray[np.int64]:
    """Return the numbers of the parameters that component k depends on."""
    used = np.zeros(size, dtype=bool)
    for block in blocks:
        used[block.begin : block.end] = block.first[:, :, k].any(axis=1)
    used[:n_free] = False
    return np.flatnonzero(used)


def _slopes(rows: Rows, part: slice, blocks: list[_Block], k: int, size: int) -> FloatArray:
    """Return the derivative of each row's log-density in component k, [row, parameter]."""
    codes = rows.codes[part]
    out = np.zeros((len(codes), size))
    n_flat = int(rows.layout.starts[-1])
    for block in blocks:
        terms = block.first[:, :, k].T
        if block.place[0] >= n_flat:
            at = block.place[0] - n_flat
            slope = rows.numbers.statistics[part, at : at + N_STATISTICS] @ terms
        else:
            slope = np.vstack([terms, np.zeros(terms.shape[1])])[codes[:, block.j]]
        out[:, block.begin : block.end] = slope
    return out


def _answer_errors(
    name: str, values: FloatArray, block: _Block, covariance: FloatArray
) -> FloatArray:
    """Carry the errors over to the probabilities of the answers, or to the mean of numbers."""
    law = LAWS[name]
    if law.takes == "numbers":
        return law.mean_errors(values, covariance)[:, None]
    p = np.exp(law.log_terms(values[None], len(block.place))[0])
    fixed = np.isnan(np.diag(covariance))
    known = np.where(np.isnan(covariance), 0.0, covariance)
    slope = block.first * p  # [parameter, category, component]
    variance = np.einsum("pxk,pq,qxk->kx", slope, known, slope)
    # What depends on nothing that has an error has none either.
    unknown = (np.abs(block.first).sum(axis=1) * ~fixed[:, None]).sum(axis=0) == 0
    return np.where(unknown[:, None], np.nan, _root(variance))


def _inverse(information: FloatArray) -> FloatArray:
    try:
        covariance: FloatArray = np.linalg.inv(information).astype(np.float64)
    except np.linalg.LinAlgError:
        covariance = np.full_like(information, -1.0)
    if not (np.diag(covariance) > 0).all():
        warnings.warn(
            "The observed information is not positive definite (too few rows for so many "
            "parameters, or two equal components): some standard errors are NaN.",
            stacklevel=4,
        )
    return covariance


def _root(variance: FloatArray) -> FloatArray:
    return np.sqrt(np.where(variance >= 0, variance, np.nan))
