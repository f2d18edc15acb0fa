"""Fitted clusterings as JSON with an .npz of arrays beside it: nothing in them can run."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from kindset._model_files import (
    DAMAGED,
    damaged,
    names_in,
    names_out,
    plain_parameters,
    read_model,
    write_model,
)
from kindset._validation import check_parameters
from kindset.unmasking._clustering import UnmaskingClustering

FORMAT = "kindset-unmasking-clustering"
VERSION = 1

_ARRAYS = (
    "labels_", "cluster_centers_", "initial_labels_", "cell_centers_", "cell_labels_",
    "division_sizes_", "merge_tree_", "merge_scores_", "curves_", "offset_",
)  # fmt: skip
_WHOLES = ("labels_", "initial_labels_", "cell_labels_", "division_sizes_")


def save_unmasking(model: UnmaskingClustering, path: str | os.PathLike[str]) -> None:
    """Write a fitted clustering to a JSON file, and its arrays to an .npz file beside it.

    Parameters
    ----------
    model : UnmaskingClustering
        A fitted clustering.
    path : path-like
        The JSON file; the arrays go to the same name with the ending ``.npz``. Each is replaced
        in one step, and the first names the second's checksum, so that a mixture of an old and
        a new one is recognised.

    See Also
    --------
    load_unmasking : Read it back.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": plain_parameters(model),
        "feature_names": names_out(model),
    }
    write_model(Path(path), document, {name: getattr(model, name) for name in _ARRAYS})


def load_unmasking(path: str | os.PathLike[str]) -> UnmaskingClustering:
    """Read a clustering that `save_unmasking` wrote.

    Parameters
    ----------
    path : path-like
        The JSON file; the .npz file must stand beside it.

    Returns
    -------
    model : UnmaskingClustering
        The fitted clustering, ready to predict.

    Raises
    ------
    InputError
        If the files are not such a clustering, are damaged, do not belong together, or have a
        version this release cannot read.
    """
    path = Path(path)
    document, arrays = read_model(path, FORMAT, VERSION, "clustering by unmasking")
    try:
        # Models of earlier releases have no offset.
        arrays.setdefault("offset_", np.zeros_like(arrays["cluster_centers_"][0]))
        return _restore(document, {name: arrays[name] for name in _ARRAYS})
    except DAMAGED as error:
        raise damaged(path, error) from error


def _restore(document: dict[str, Any], arrays: dict[str, Any]) -> UnmaskingClustering:
    parameters = dict(document["parameters"])
    for name in ("augmentations", "image_shape"):
        if parameters[name] is not None:
            parameters[name] = tuple(parameters[name])
    model = UnmaskingClustering(**parameters)
    check_parameters(model)
    if model.n_clusters is not None and model.n_clusters > len(arrays["labels_"]):
        raise ValueError("n_clusters is above the number of samples")
    _check(model, arrays)
    for name, array in arrays.items():
        setattr(model, name, array)
    model.n_features_in_ = arrays["cluster_centers_"].shape[1]
    model.n_clusters_ = model._n_features_out = len(arrays["cluster_centers_"])
    names_in(model, document["feature_names"])
    return model


def _check(model: UnmaskingClustering, arrays: dict[str, Any]) -> None:
    """Refuse what is no clustering, whoever wrote it."""
    n_clusters, n_features = arrays["cluster_centers_"].shape
    n_samples, sizes = len(arrays["labels_"]), arrays["division_sizes_"]
    n_cells, n_merges = int(sizes.sum()), int(sizes[0]) - 1
    shapes = {
        "labels_": (n_samples,), "initial_labels_": (n_samples,), "cell_labels_": (n_cells,),
        "cluster_centers_": (n_clusters, n_features), "cell_centers_": (n_cells, n_features),
        "division_sizes_": (len(sizes),), "merge_tree_": (n_merges, 4),
        "merge_scores_": (n_merges,), "curves_": (n_merges, model.n_iterations),
        "offset_": (n_features,),
    }  # fmt: skip
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, not {shape}")
        if array.dtype.kind != ("i" if name in _WHOLES else "f"):
            raise ValueError(f"{name} does not hold numbers of the right kind")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds NaN or infinite numbers")
    for name, most in (
        ("labels_", n_clusters), ("cell_labels_", n_clusters), ("initial_labels_", n_merges + 1)
    ):  # fmt: skip
        if not ((arrays[name] >= 0) & (arrays[name] < most)).all():
            raise ValueError(f"{name} is out of its range")
