"""Excess neighbour information straight from its definition, with plain numpy and scikit-learn."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

CUTS = (2, 3, 4, 6, 9, 13, 19, 28, 41, 60, 88, 129, 190, 280)


def neighbours(X, k):
    """Indices of the k nearest points, the point itself left out, ties by index."""
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


def entropy(labels):
    shares = np.unique(labels, return_counts=True)[1] / len(labels)
    return -(shares * np.log(shares)).sum()


def information(near, labels):
    """Mutual information of neighbours' labels without its bias."""
    n, k = near.shape
    values = np.unique(labels)
    one_hot = (labels[:, None] == values).astype(float)
    counts = sum(one_hot.T @ one_hot[near[:, j]] for j in range(k))
    counts = counts + counts.T
    kept = counts[np.ix_(values >= 0, values >= 0)]
    cover = kept.sum() / counts.sum()
    joint = kept / kept.sum()
    product = joint.sum(axis=1)[:, None] * joint.sum(axis=0)[None, :]
    mutual = (joint[joint > 0] * np.log(joint[joint > 0] / product[joint > 0])).sum()
    return max(0.0, cover * mutual - (len(values) - 1) ** 2 / (2 * n * k))


def null_curve(X, k, max_entropy, seed):
    """Entropies and information of k-means partitions of a Gaussian cloud."""
    n = len(X)
    widths = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:120] / np.sqrt(n - 1)
    cloud = np.random.RandomState(seed).randn(n, len(widths)) * widths
    near = neighbours(cloud, k)
    entropies, values = [0.0], [0.0]
    for n_clusters in CUTS:
        if n_clusters > max(n // 3, 2):
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMeans(n_clusters, n_init=1, max_iter=50, random_state=0).fit(cloud)
        entropies.append(entropy(model.labels_))
        values.append(information(near, model.labels_))
        if entropies[-1] >= max_entropy:
            break
    return np.array(entropies), np.array(values)


def null_information(X, partitions, k, seeds):
    """Null information of each partition in one space."""
    entropies = [entropy(p) for p in partitions]
    curves = [null_curve(X, k, max(entropies), seed) for seed in seeds]
    return np.mean([np.interp(entropies, *curve) for curve in curves], axis=0)


def scores(spaces, partitions, owners, null, k, raw=None):
    """Return q, weights, scores and strength, given the null information (spaces, partitions)."""
    entropies = np.array([entropy(p) for p in partitions])
    cut = np.array([len(set(p) - {-1}) >= 2 for p in partitions])
    q = np.zeros((len(spaces), len(partitions)))
    weights = np.zeros(len(spaces))
    for s, X in enumerate(spaces):
        near = neighbours(X, k)
        excess = np.array(
            [information(near, p) if cut[i] else 0.0 for i, p in enumerate(partitions)]
        )
        excess = excess - null[s]
        best = max(excess[cut].max(), 1e-6)
        q[s, cut] = 2 * excess[cut] / (best + entropies[cut])
        q[s, ~cut] = min(q[s, cut].min(), 0.0)
        foreign = [q[s, p] for p in range(len(partitions)) if owners[p] != s] or list(q[s])
        weights[s] = max(0.0, max(foreign)) ** 2 * (4 if s == raw else 1)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(q), 1 / len(q))
    return q, weights, weights @ q, max(0.0, weights @ q.max(axis=1))
