"""Spaces of fewer dimensions to cluster in, by name; a new one is one function."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from kindset.exceptions import InputError

Space = NDArray[np.floating[Any]]


def pca(X: Space, n: int, seed: int) -> Space:
    """Project on the principal components."""
    return np.asarray(PCA(n, random_state=seed).fit_transform(X))


def autoencoder(X: Space, n: int, seed: int) -> Space:
    """Return the middle layer of a network that was trained to reproduce its input."""
    scaled = (X - X.min()) / max(float(np.ptp(X)), 1e-300)
    model = MLPRegressor(hidden_layer_sizes=(128, n, 128), random_state=seed, max_iter=60)
    with warnings.catch_warnings():
        # The number of rounds is fixed; that it could go on is no news.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scaled, scaled)
    hidden = np.maximum(scaled @ model.coefs_[0] + model.intercepts_[0], 0.0)
    return np.asarray(hidden @ model.coefs_[1] + model.intercepts_[1])


EMBEDDINGS: dict[str, Callable[[Space, int, int], Space]] = {
    "pca": pca,
    "autoencoder": autoencoder,
}


def read_embedding(name: str, shape: tuple[int, ...]) -> tuple[str, int]:
    """Read a text such as "pca:20" for data of this shape."""
    kind, _, number = name.partition(":")
    if kind not in EMBEDDINGS or not re.fullmatch("[1-9][0-9]{0,5}", number):
        raise InputError(
            f"`embedding` takes {' or '.join(f'{known}:N' for known in EMBEDDINGS)} with a number "
            f"of dimensions, such as pca:20, not {name!r}.",
            parameter="embedding",
        )
    if int(number) > min(shape):
        raise InputError(
            f"`embedding` {name}: there are only {shape[1]} columns and {shape[0]} samples.",
            parameter="embedding",
        )
    return kind, int(number)


def embed(X: Space, name: str | None, seed: int) -> Space:
    """Return the space that a text such as "pca:20" names; the data themselves without one."""
    if name is None:
        return X
    kind, number = read_embedding(name, X.shape)
    return EMBEDDINGS[kind](X, number, seed)
