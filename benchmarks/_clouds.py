"""Clouds of points without groups, and runs that a user might make of them."""

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_swiss_roll,
)
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

Cloud = Callable[[int, np.random.RandomState], np.ndarray]


def _shuffled(load: Callable[[], object]) -> Cloud:
    """Permute each column of a real table by itself, and scale it."""

    def cloud(n: int, rng: np.random.RandomState) -> np.ndarray:
        X = load().data  # type: ignore[attr-defined]
        columns = np.stack([rng.permutation(column) for column in X.T], axis=1)[:n]
        return (columns - columns.mean(axis=0)) / (columns.std(axis=0) + 1e-9)

    return cloud


def _sphere(n: int, rng: np.random.RandomState) -> np.ndarray:
    ball = rng.randn(n, 3)
    return np.asarray(ball / np.linalg.norm(ball, axis=1, keepdims=True))


def _torus(n: int, rng: np.random.RandomState) -> np.ndarray:
    a, b = 2 * np.pi * rng.rand(2, n)
    ring = 3.0 + np.cos(b)
    return np.stack([ring * np.cos(a), ring * np.sin(a), np.sin(b)], axis=1)


def _arc(n: int, rng: np.random.RandomState) -> np.ndarray:
    angle = 1.2 * np.pi * rng.rand(n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * rng.randn(n, 2)


def _ring(n: int, rng: np.random.RandomState) -> np.ndarray:
    angle = 2 * np.pi * rng.rand(n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + 0.1 * rng.randn(n, 1))


def _correlated(n: int, rng: np.random.RandomState) -> np.ndarray:
    """Heavy tails in columns that depend on each other."""
    mixing = np.random.RandomState(1).randn(5, 5)
    return rng.randn(n, 5) @ mixing / np.sqrt(rng.chisquare(3, (n, 1)) / 3)


LISTED: dict[str, Cloud] = {
    "Gaussian, 2 columns": lambda n, rng: rng.randn(n, 2),
    "Gaussian, 10 columns": lambda n, rng: rng.randn(n, 10),
    "Gaussian, 10 unequal columns": lambda n, rng: rng.randn(n, 10) * 0.7 ** np.arange(10),
    "square": lambda n, rng: rng.rand(n, 2),
    "cube of 5 columns": lambda n, rng: rng.rand(n, 5),
    "sphere": _sphere,
    "exponential, 2 columns": lambda n, rng: rng.exponential(size=(n, 2)),
    "exponential, 5 columns": lambda n, rng: rng.exponential(size=(n, 5)),
    "lognormal, 2 columns": lambda n, rng: rng.lognormal(size=(n, 2)),
    "lognormal, 5 columns": lambda n, rng: rng.lognormal(size=(n, 5)),
    "swiss roll": lambda n, rng: make_swiss_roll(n, random_state=rng)[0],
    "wine, shuffled": _shuffled(load_wine),
    "breast cancer, shuffled": _shuffled(load_breast_cancer),
    "iris, shuffled": _shuffled(load_iris),
    "digits, shuffled": _shuffled(load_digits),
}
"""The clouds that the requirements name."""

FURTHER: dict[str, Cloud] = {
    "Student's t, 3 degrees, 3 columns": lambda n, rng: rng.standard_t(3, (n, 3)),
    "beta (½, ½), 3 columns": lambda n, rng: rng.beta(0.5, 0.5, (n, 3)),
    "beta (2, 5), 3 columns": lambda n, rng: rng.beta(2.0, 5.0, (n, 3)),
    "triangle": lambda n, rng: rng.dirichlet(np.ones(3), n),
    "simplex of 6 corners": lambda n, rng: rng.dirichlet(np.ones(6), n),
    "simplex, towards its corners": lambda n, rng: rng.dirichlet(np.full(4, 0.5), n),
    "arc": _arc,
    "torus": _torus,
    "mixture of scales": lambda n, rng: rng.randn(n, 4) * rng.choice([1.0, 3.0, 10.0], n)[:, None],
    "correlated, heavy tails": _correlated,
    "Gaussian, rounded": lambda n, rng: np.round(2 * rng.randn(n, 4)),
    "Poisson, 5 columns": lambda n, rng: rng.poisson(2.0, (n, 5)).astype(float),
    "five answers, 10 columns": lambda n, rng: rng.binomial(4, 0.4, (n, 10)).astype(float),
    "ball of 3 columns": lambda n, rng: _sphere(n, rng) * rng.rand(n, 1) ** (1 / 3),
    "long line": lambda n, rng: rng.rand(n, 2) * [30.0, 1.0],
    "ring": _ring,
    "diabetes, shuffled": _shuffled(load_diabetes),
}
"""Clouds that nobody named, to see whether the test is right beyond a list."""


def usual_runs(X: np.ndarray, seed: int) -> tuple[list[np.ndarray], list[np.ndarray], list[int]]:
    """Spaces, partitions and owners that a user might have."""
    spaces = [X, *(PCA(d, random_state=0).fit_transform(X) for d in (2, 5) if d < X.shape[1])]
    partitions, owners = [], []
    for s, space in enumerate(spaces):
        models = [KMeans(k, n_init=2, random_state=seed) for k in (2, 3, 4, 6, 8, 12)]
        for k in (3, 6):
            models += [
                AgglomerativeClustering(k),
                GaussianMixture(k, random_state=seed, reg_covar=1e-4),
            ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            partitions += [model.fit_predict(space) for model in models]
        owners += [s] * len(models)
    return spaces, partitions, owners
