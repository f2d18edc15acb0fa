"""Fitted clusterings of scikit-learn on disk, so that their runs can predict too."""

import os
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from kindset._model_files import (
    DAMAGED,
    damaged,
    names_in,
    names_out,
    plain_parameters,
    plain_value,
    read_model,
    write_model,
)
from kindset.exceptions import InputError

FORMAT = "kindset-scikit-clustering"
VERSION = 1

Clustering: TypeAlias = KMeans | GaussianMixture

_KINDS = {"KMeans": KMeans, "GaussianMixture": GaussianMixture}


def save_scikit(model: Clustering, path: str | os.PathLike[str]) -> None:
    """Write a fitted `KMeans` or `GaussianMixture` to a JSON file, its arrays beside it.

    Parameters
    ----------
    model : KMeans or GaussianMixture
        A fitted model.
    path : path-like
        The JSON file; the arrays go to the same name with the ending ``.npz``.

    See Also
    --------
    load_scikit : Read it back.
    """
    check_is_fitted(model)
    fitted = {
        name: value
        for name, value in vars(model).items()
        if _is_fitted(name) and name != "feature_names_in_"
    }
    arrays = {name: value for name, value in fitted.items() if isinstance(value, np.ndarray)}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(model).__name__,
        "parameters": plain_parameters(model),
        "feature_names": names_out(model),
        "values": {
            name: plain_value(value) for name, value in fitted.items() if name not in arrays
        },
    }
    try:
        write_model(Path(path), document, arrays)
    except TypeError as error:
        raise InputError(
            f"a {type(model).__name__} with a parameter of one's own code cannot be saved: {error}."
        ) from error


def load_scikit(path: str | os.PathLike[str]) -> Clustering:
    """Read a model that `save_scikit` wrote.

    Parameters
    ----------
    path : path-like
        The JSON file; the .npz file must stand beside it.

    Returns
    -------
    model : KMeans or GaussianMixture
        The fitted model, ready to predict.

    Raises
    ------
    InputError
        If the files are not such a model, are damaged, do not belong together, or have a version
        this release cannot read.
    """
    path = Path(path)
    document, arrays = read_model(path, FORMAT, VERSION, "clustering by scikit-learn")
    try:
        return _restore(document, arrays)
    except DAMAGED as error:
        raise damaged(path, error) from error


def _is_fitted(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _restore(document: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Clustering:
    model = _KINDS[document["kind"]](**document["parameters"])
    model._validate_params()
    if document["kind"] == "KMeans":
        n_features = _check_kmeans(model, arrays)
        _fit_to_centers(model, arrays["cluster_centers_"])
    else:
        n_features = _check_mixture(model, arrays)
    for name, value in {**document["values"], **arrays}.items():
        if not _is_fitted(name):
            raise ValueError(f"{name} is no fitted attribute")
        setattr(model, name, value)
    if model.n_features_in_ != n_features:
        raise ValueError(f"n_features_in_ is {model.n_features_in_}, not {n_features}")
    names_in(model, document["feature_names"])
    return model


def _fit_to_centers(model: KMeans, centers: NDArray[Any]) -> None:
    """Let scikit-learn set up, in whatever way its version does, what it keeps to itself."""
    parameters = model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # centres may be equal
        plain = {"n_init": 1, "max_iter": 1, "algorithm": "lloyd", "verbose": 0}
        model.set_params(init=centers, **plain).fit(centers)
    model.set_params(**parameters)


def _check_kmeans(model: KMeans, arrays: dict[str, NDArray[Any]]) -> int:
    """Refuse what is no model, whoever wrote it; return the number of features."""
    n_features = arrays["cluster_centers_"].shape[-1]
    _check_numbers(arrays, {"cluster_centers_": (model.n_clusters, n_features)})
    labels = arrays["labels_"]
    if labels.ndim != 1 or labels.dtype.kind != "i":
        raise ValueError("labels_ is no list of whole numbers")
    if not ((labels >= 0) & (labels < model.n_clusters)).all():
        raise ValueError("labels_ is out of its range")
    return n_features


def _check_mixture(model: GaussianMixture, arrays: dict[str, NDArray[Any]]) -> int:
    """Refuse what is no model, whoever wrote it; return the number of features."""
    n, n_features = model.n_components, arrays["means_"].shape[-1]
    spread = {
        "full": (n, n_features, n_features),
        "tied": (n_features, n_features),
        "diag": (n, n_features),
        "spherical": (n,),
    }[model.covariance_type]
    spreads = ("covariances_", "precisions_", "precisions_cholesky_")
    shapes = {"weights_": (n,), "means_": (n, n_features)}
    _check_numbers(arrays, {**shapes, **dict.fromkeys(spreads, spread)})
    return n_features


def _check_numbers(arrays: dict[str, NDArray[Any]], shapes: dict[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} does not hold finite numbers")
