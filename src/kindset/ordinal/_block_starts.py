"""Where the search for a latent block model starts: partitions, then stochastic EM."""

import numpy as np

from kindset.ordinal._blocks import (
    BlockData,
    BlockFit,
    BlockModel,
    climb,
    column_memberships,
    count_labels,
    from_memberships,
    memberships_of,
    score_rows,
)
from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._rows import IntArray

_KMEANS_ITERATIONS = 10
_STOCHASTIC_ITERATIONS = 15


def run_start(data: BlockData, seed: int, *, kmeans: bool, max_iter: int, tol: float) -> BlockFit:
    """Start from a partition, let labels be drawn for a while, and climb from the best seen.

    Drawn labels (stochastic EM) leave poor partitions that the climb could not, since with many
    rows a column is all but certain of its cluster from the first step on.
    """
    rng = np.random.RandomState(seed)
    model = _first_model(data, rng, kmeans=kmeans)
    best, best_bound = model, -np.inf
    for _ in range(_STOCHASTIC_ITERATIONS):
        member, density = memberships_of(score_rows(data, model))
        bound = float(data.weights @ density) + model.columns_bound()
        if bound > best_bound:
            best, best_bound = model, bound
        model = _draw_model(data, model, member, rng)
    return climb(data, best, max_iter=max_iter, tol=tol)


def _first_model(data: BlockData, rng: np.random.RandomState, *, kmeans: bool) -> BlockModel:
    """Share rows and columns among the clusters by k-means, or at random."""
    n_rows, n_row_clusters = len(data.codes), data.n_row_clusters
    if kmeans:
        labels = _kmeans(_positions(data), data.weights, n_row_clusters, rng)
    else:
        labels = rng.randint(n_row_clusters, size=n_rows)
    counts = count_labels(data.codes, data.weights, data.starts, labels, n_row_clusters)
    member = np.zeros((len(data.n_levels), len(data.cluster_levels)))
    for group in data.groups:
        shape = (len(group.columns), len(group.clusters))
        if kmeans:
            profiles = counts[group.positions]
            profiles = profiles / np.maximum(profiles.sum(axis=1, keepdims=True), 1e-300)
            own = _kmeans(profiles.reshape(shape[0], -1), np.ones(shape[0]), shape[1], rng)
        else:
            own = rng.randint(shape[1], size=shape[0])
        member[group.columns, group.clusters[own]] = 1.0
    model = from_memberships(data, member, counts)
    return _with_row_weights(data, model, labels)


def _draw_model(
    data: BlockData, model: BlockModel, member: FloatArray, rng: np.random.RandomState
) -> BlockModel:
    """Draw the rows' labels, then the columns', and maximise for these."""
    labels = _draw(member, rng)
    counts = count_labels(data.codes, data.weights, data.starts, labels, data.n_row_clusters)
    drawn = _draw(column_memberships(data, model, counts), rng)
    hard = np.eye(len(data.cluster_levels))[drawn]
    return _with_row_weights(data, from_memberships(data, hard, counts), labels)


def _with_row_weights(data: BlockData, model: BlockModel, labels: IntArray) -> BlockModel:
    """Set the row weights to the shares of labels; no cluster of either side quite at zero.

    An empty cluster could not be drawn again.
    """
    sizes = np.bincount(labels, data.weights, data.n_row_clusters) + 1e-3
    columns = model.column_weights + 1e-3
    for group in data.groups:
        columns[group.clusters] /= columns[group.clusters].sum()
    return BlockModel(sizes / sizes.sum(), columns, model.memberships, model.parameters)


def _draw(probabilities: FloatArray, rng: np.random.RandomState) -> IntArray:
    """Draw one label for each row of probabilities."""
    cumulative = probabilities.cumsum(axis=1)
    chance = rng.random_sample(len(probabilities)) * cumulative[:, -1]
    return (chance[:, None] >= cumulative).sum(axis=1)


def _positions(data: BlockData) -> FloatArray:
    """Place each answer between 0 and 1; missing ones at the column's mean."""
    present = data.codes < data.n_levels
    position = np.where(present, data.codes / np.maximum(data.n_levels - 1, 1), 0.0)
    total = np.maximum(data.weights @ present, 1e-300)
    return np.where(present, position, data.weights @ position / total)


def _kmeans(
    points: FloatArray, weights: FloatArray, n_clusters: int, rng: np.random.RandomState
) -> IntArray:
    """Run a few iterations of k-means, from points that are drawn far from each other."""
    centers = np.empty((n_clusters, points.shape[1]))
    chance = weights
    distance = np.full(len(points), np.inf)
    for k in range(n_clusters):
        total = chance.sum()  # nothing is left where there are fewer distinct points
        drawn = rng.choice(len(points), p=chance / total if total > 0 else None)
        centers[k] = points[drawn]
        distance = np.minimum(distance, ((points - centers[k]) ** 2).sum(axis=1))
        chance = weights * distance
    labels = np.zeros(len(points), dtype=np.int64)
    for _ in range(_KMEANS_ITERATIONS):
        labels = np.argmin((centers**2).sum(axis=1) - 2 * points @ centers.T, axis=1)
        for k in range(n_clusters):
            own = labels == k
            if weights[own].sum() > 0:
                centers[k] = np.average(points[own], axis=0, weights=weights[own])
    return labels
