"""The latent block model: rows and columns in clusters, each block of answers with one law.

Given the columns' memberships, the rows form an ordinary mixture, so the bound on the likelihood
is a sum over rows. One pass over the rows yields that bound and, for every column, how often each
row cluster gives each answer. Everything else works on these counts, whatever the number of rows.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import entr, softmax

from kindset._compiling import njit
from kindset.ordinal._block_laws import BlockLaw
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._rows import CodeArray, IntArray


@dataclass(frozen=True)
class BlockData:
    """Answers, and which column clusters each column may belong to.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_columns)
        Answers from 0; ``n_levels[j]`` means missing.
    weights : ndarray of shape (n_rows,)
    n_levels : ndarray of shape (n_columns,)
    starts : ndarray of shape (n_columns + 1,)
        Column j owns the flat positions from ``starts[j]``: its categories, then "missing".
    cluster_levels : ndarray of shape (n_column_clusters,)
        Number of categories of the columns in each column cluster.
    n_row_clusters : int
    law : BlockLaw
    """

    codes: CodeArray
    weights: FloatArray
    n_levels: IntArray
    starts: IntArray
    cluster_levels: IntArray
    n_row_clusters: int
    law: BlockLaw

    @cached_property
    def groups(self) -> list["Group"]:
        """The columns and column clusters with the same number of categories."""
        levels = dict.fromkeys(self.cluster_levels.tolist())
        return [Group.build(m, self.n_levels, self.starts, self.cluster_levels) for m in levels]


@dataclass(frozen=True)
class Group:
    """Columns and column clusters with the same number of categories.

    Attributes
    ----------
    columns, clusters : ndarray
        Their numbers.
    positions : ndarray of shape (n_columns, n_categories)
        Flat positions of the columns' categories.
    """

    columns: IntArray
    clusters: IntArray
    positions: IntArray

    @classmethod
    def build(
        cls, m: int, n_levels: IntArray, starts: IntArray, cluster_levels: IntArray
    ) -> "Group":
        """Find the columns and clusters with m categories."""
        columns = np.flatnonzero(n_levels == m)
        clusters = np.flatnonzero(cluster_levels == m)
        return cls(columns, clusters, starts[columns][:, None] + np.arange(m))

    def pick(self, member: FloatArray) -> FloatArray:
        """Return the group's part of the columns' memberships."""
        return member[np.ix_(self.columns, self.clusters)]


@dataclass(frozen=True)
class BlockModel:
    """A latent block model.

    Attributes
    ----------
    row_weights : ndarray of shape (n_row_clusters,)
    column_weights : ndarray of shape (n_column_clusters,)
        Shares among the columns with the same number of categories.
    memberships : ndarray of shape (n_columns, n_column_clusters)
        Probability that a column belongs to a cluster.
    parameters : list of ndarray
        For each column cluster its law's parameters (row cluster, parameter).
    """

    row_weights: FloatArray
    column_weights: FloatArray
    memberships: FloatArray
    parameters: list[FloatArray]

    def log_pmf(self, law: BlockLaw, levels: IntArray) -> list[FloatArray]:
        """Return log-probabilities (row cluster, answer) for each column cluster."""
        pairs = zip(self.parameters, levels.tolist(), strict=True)
        return [law.log_pmf(parameters, m) for parameters, m in pairs]

    def table(self, data: BlockData) -> FloatArray:
        """Return the expected log-probabilities [flat position, row cluster]; 0 for "missing"."""
        out = np.zeros((data.starts[-1], len(self.row_weights)))
        log_pmf = self.log_pmf(data.law, data.cluster_levels)
        for group in data.groups:
            own = np.stack([log_pmf[g] for g in group.clusters])
            out[group.positions] = np.einsum("jg,gkx->jxk", group.pick(self.memberships), own)
        return out

    def columns_bound(self) -> float:
        """Return the columns' part of the bound; the rows' is the log-density of the rows."""
        inside = self.memberships > 0
        weights = np.broadcast_to(self.column_weights, inside.shape)
        prior = float(self.memberships[inside] @ np.log(weights[inside]))
        return prior + float(entr(self.memberships).sum())

    def reorder(self, rows: IntArray, columns: IntArray) -> "BlockModel":
        """Return the same model with its clusters in another order."""
        return BlockModel(
            self.row_weights[rows],
            self.column_weights[columns],
            self.memberships[:, columns],
            [self.parameters[g][rows] for g in columns],
        )


@dataclass
class BlockFit:
    """What one start led to; `history` holds the bound after each pass over the rows."""

    model: BlockModel
    history: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def objective(self) -> float:
        """The bound on the log-likelihood that was reached."""
        return self.history[-1] if self.history else -np.inf


def climb(data: BlockData, model: BlockModel, *, max_iter: int, tol: float) -> BlockFit:
    """Run variational EM until an iteration gains less than `tol` per row; it never falls."""
    fit = BlockFit(model)
    enough = tol * data.weights.sum()
    while True:
        bound, counts = expect(data, model)
        fit.converged = bool(bound - fit.objective <= enough)
        fit.model = model
        fit.history.append(bound)
        if fit.converged or len(fit.history) > max_iter:
            return fit
        model = maximize(data, model, counts)


def score_rows(data: BlockData, model: BlockModel) -> FloatArray:
    """Return the log-probability [row, row cluster] of a row's answers and the cluster."""
    table = model.table(data)
    with np.errstate(divide="ignore"):
        return row_scores(data.codes, data.starts, table, np.log(model.row_weights))


def expect(data: BlockData, model: BlockModel) -> tuple[float, FloatArray]:
    """Return the bound, and the counts [flat position, row cluster] of the answers."""
    table = model.table(data)
    with np.errstate(divide="ignore"):
        log_rows = np.log(model.row_weights)
    rows, counts = row_step(data.codes, data.weights, data.starts, table, log_rows)
    return rows + model.columns_bound(), counts


def maximize(data: BlockData, model: BlockModel, counts: FloatArray) -> BlockModel:
    """Improve everything that does not need the rows: columns' memberships and parameters."""
    sizes = counts[: data.starts[1]].sum(axis=0)
    member = column_memberships(data, model, counts)
    return replace(from_memberships(data, member, counts), row_weights=sizes / sizes.sum())


def column_memberships(data: BlockData, model: BlockModel, counts: FloatArray) -> FloatArray:
    """Return the probability of each cluster for each column, given the rows."""
    log_pmf = model.log_pmf(data.law, data.cluster_levels)
    member = np.zeros_like(model.memberships)
    for group in data.groups:
        own = np.stack([log_pmf[g] for g in group.clusters])
        with np.errstate(divide="ignore"):
            score = np.log(model.column_weights[group.clusters])
        score = score + np.einsum("jxk,gkx->jg", counts[group.positions], own)
        member[np.ix_(group.columns, group.clusters)] = softmax(score, axis=1)
    return member


def from_memberships(data: BlockData, member: FloatArray, counts: FloatArray) -> BlockModel:
    """Return the best parameters for given memberships of the columns and counts of the rows."""
    n_rows, n_clusters = data.n_row_clusters, len(data.cluster_levels)
    column_weights = np.empty(n_clusters)
    parameters: list[FloatArray] = [np.empty(0)] * n_clusters
    for group in data.groups:
        own = group.pick(member)
        column_weights[group.clusters] = own.mean(axis=0)
        blocks = np.einsum("jg,jxk->gkx", own, counts[group.positions])
        for g, block in zip(group.clusters, blocks, strict=True):
            parameters[g] = data.law.maximize(block)
    return BlockModel(np.full(n_rows, 1 / n_rows), column_weights, member, parameters)


def complete_log_likelihood(data: BlockData, model: BlockModel, labels: IntArray) -> float:
    """Return the log-probability of answers, row labels and the columns' likeliest clusters."""
    columns = model.memberships.argmax(axis=1)
    hard = np.eye(len(data.cluster_levels))[columns]
    joint = score_rows(data, replace(model, memberships=hard))
    value = float(data.weights @ joint[np.arange(len(labels)), labels])
    return value + float(np.log(model.column_weights[columns]).sum())


def memberships_of(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows' membership probabilities and log-densities from their scores."""
    largest = scores.max(axis=1)
    member = np.exp(scores - largest[:, None])
    total = member.sum(axis=1)
    return member / total[:, None], largest + np.log(total)


@njit(cache=True, nogil=True)
def row_scores(
    codes: CodeArray, starts: IntArray, table: FloatArray, log_weights: FloatArray
) -> FloatArray:
    """Return the log-probability [row, row cluster] of the row and the cluster together."""
    out = np.empty((len(codes), len(log_weights)))
    for i in range(len(codes)):
        out[i] = log_weights
        for j in range(codes.shape[1]):
            position = starts[j] + codes[i, j]
            for k in range(len(log_weights)):
                out[i, k] += table[position, k]
    return out


@njit(cache=True, nogil=True)
def row_step(
    codes: CodeArray,
    weights: FloatArray,
    starts: IntArray,
    table: FloatArray,
    log_weights: FloatArray,
) -> tuple[float, FloatArray]:
    """Return the rows' part of the bound, and the expected counts [flat position, cluster]."""
    n_clusters = len(log_weights)
    counts = np.zeros((starts[-1], n_clusters))
    joint = np.empty(n_clusters)
    value = 0.0
    for i in range(len(codes)):
        joint[:] = log_weights
        for j in range(codes.shape[1]):
            position = starts[j] + codes[i, j]
            for k in range(n_clusters):
                joint[k] += table[position, k]
        largest = joint.max()
        total = 0.0
        for k in range(n_clusters):
            joint[k] = np.exp(joint[k] - largest)
            total += joint[k]
        value += weights[i] * (largest + np.log(total))
        for k in range(n_clusters):
            joint[k] *= weights[i] / total
        for j in range(codes.shape[1]):
            position = starts[j] + codes[i, j]
            for k in range(n_clusters):
                counts[position, k] += joint[k]
    return value, counts


@njit(cache=True, nogil=True)
def count_labels(
    codes: CodeArray, weights: FloatArray, starts: IntArray, labels: IntArray, n_clusters: int
) -> FloatArray:
    """Return the counts [flat position, cluster] of the answers for given labels of the rows."""
    counts = np.zeros((starts[-1], n_clusters))
    for i in range(len(codes)):
        for j in range(codes.shape[1]):
            counts[starts[j] + codes[i, j], labels[i]] += weights[i]
    return counts
