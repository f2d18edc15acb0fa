"""Plain references: each index by its definition, slowly, one partition at a time."""

from itertools import pairwise

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.distance import cdist


def distances(X, metric="euclidean"):
    return cdist(X, X, metric)


def silhouette(X, labels, metric="euclidean", average="samples"):
    D = distances(X, metric)
    clusters = np.unique(labels)
    values = np.zeros(len(X))
    for i in range(len(X)):
        own = labels == labels[i]
        if own.sum() == 1:
            continue
        a = D[i, own].sum() / (own.sum() - 1)
        b = min(D[i, labels == k].mean() for k in clusters if k != labels[i])
        values[i] = (b - a) / max(a, b) if max(a, b) > 0 else 0.0
    if average == "samples":
        return values.mean()
    return np.mean([values[labels == k].mean() for k in clusters])


def dunn(X, labels, metric="euclidean"):
    D = distances(X, metric)
    same = labels[:, None] == labels[None, :]
    return D[~same].min() / D[same].max()


def c_index(X, labels, metric="euclidean"):
    i, j = np.triu_indices(len(X), k=1)
    d = distances(X, metric)[i, j]
    within = d[labels[i] == labels[j]]
    ordered = np.sort(d)
    low, high = ordered[: len(within)].sum(), ordered[len(d) - len(within) :].sum()
    return (within.sum() - low) / (high - low)


def s_dbw(X, labels):
    clusters = [X[labels == k] for k in np.unique(labels)]
    norms = np.array([np.linalg.norm(c.var(axis=0)) for c in clusters])
    sigma = np.sqrt(norms.sum()) / len(clusters)
    ratios = []
    for a in range(len(clusters)):
        for b in range(a + 1, len(clusters)):
            both = np.vstack([clusters[a], clusters[b]])
            ca, cb = clusters[a].mean(axis=0), clusters[b].mean(axis=0)
            at = [
                (np.linalg.norm(both - place, axis=1) <= sigma).sum()
                for place in ((ca + cb) / 2, ca, cb)
            ]
            ratios.append(at[0] / max(at[1:]) if max(at[1:]) > 0 else 0.0)
    return norms.mean() / np.linalg.norm(X.var(axis=0)) + np.mean(ratios)


def cubic_clustering_criterion(X, labels):
    X = X - X.mean(axis=0)
    n, p = X.shape
    clusters = [X[labels == k] for k in np.unique(labels)]
    k = len(clusters)
    within = sum(((c - c.mean(axis=0)) ** 2).sum() for c in clusters)
    r2 = 1 - within / (X**2).sum()
    s = np.sqrt(np.maximum(np.sort(np.linalg.eigvalsh(X.T @ X / (n - 1)))[::-1], 0))
    best, edge = 1, s[0] / k
    for q in range(1, min(p, k - 1) + 1):
        c = (np.prod(s[:q]) / k) ** (1 / q)
        if s[q - 1] / c >= 1:
            best, edge = q, c
    u = s / edge
    expected = 1 - (
        (np.sum(1 / (n + u[:best])) + np.sum(u[best:] ** 2 / (n + u[best:]))) / np.sum(u**2)
    ) * ((n - k) ** 2 / n) * (1 + 4 / n)
    return np.log((1 - expected) / (1 - r2)) * np.sqrt(n * best / 2) / (0.001 + expected) ** 1.2


def dip(x):
    """Dip by its definition: for every possible mode, a small linear programme.

    The unknowns are a distribution just before and at each value, which differ at the mode only,
    and the largest distance t from the empirical one, which is to be small.
    """
    values, counts = np.unique(x, return_counts=True)
    upper = np.cumsum(counts) / counts.sum()
    lower = upper - counts / counts.sum()
    return min(_distance_with_mode(values, lower, upper, mode) for mode in range(len(values)))


def _distance_with_mode(values, lower, upper, mode):
    n = len(values)
    eye = np.eye(2 * n + 1)
    before, at, t = eye[:n], eye[n : 2 * n], eye[-1]
    rows, bounds = [], []

    def at_most(row, bound=0.0):
        rows.append(row)
        bounds.append(bound)

    for i in range(n):
        for place, target in ((before[i], lower[i]), (at[i], upper[i])):
            at_most(place - t, target)
            at_most(-place - t, -target)
        at_most(before[i] - at[i])
        if i != mode:
            at_most(at[i] - before[i])
    slopes = [(before[i + 1] - at[i]) / (values[i + 1] - values[i]) for i in range(n - 1)]
    for slope in slopes:
        at_most(-slope)
    for i, (slope, following) in enumerate(pairwise(slopes)):
        if i + 2 <= mode:
            at_most(slope - following)
        if i >= mode:
            at_most(following - slope)
    limits = [(0, 1)] * (2 * n) + [(0, None)]
    return linprog(t, A_ub=np.array(rows), b_ub=np.array(bounds), bounds=limits).fun
