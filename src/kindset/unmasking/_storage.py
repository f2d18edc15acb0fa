"""Fitted clusterings as JSON with an .npz of arrays beside it: nothing in them can run."""

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from kindset._files import read_document, write_bytes, write_text
from kindset.exceptions import InputError
from kindset.unmasking._clustering import UnmaskingClustering

FORMAT = "kindset-unmasking-clustering"
VERSION = 1

_ARRAYS = (
    "labels_", "cluster_centers_", "initial_labels_", "cell_centers_", "cell_labels_",
    "division_sizes_", "merge_tree_", "merge_scores_", "curves_",
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
    path = Path(path)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{name: getattr(model, name) for name in _ARRAYS})
    names = getattr(model, "feature_names_in_", None)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": _parameters_out(model),
        "feature_names": None if names is None else [str(name) for name in names],
        "arrays": hashlib.sha256(buffer.getvalue()).hexdigest(),
    }
    write_bytes(path.with_suffix(".npz"), buffer.getvalue())
    write_text(path, json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


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
    document = read_document(path, FORMAT, VERSION, "clustering by unmasking")
    content = _read_bytes(path.with_suffix(".npz"))
    if hashlib.sha256(content).hexdigest() != document.get("arrays"):
        raise InputError(f"{path.with_suffix('.npz')} does not belong to {path}, or is damaged.")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in _ARRAYS}
        return _restore(document, arrays)
    except (
        KeyError, TypeError, ValueError, AttributeError, OSError, zipfile.BadZipFile
    ) as error:  # fmt: skip
        raise InputError(f"{path} is damaged: {error}.") from error


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the model {path}: {error.strerror}.") from error


def _restore(document: dict[str, Any], arrays: dict[str, Any]) -> UnmaskingClustering:
    parameters = dict(document["parameters"])
    for name in ("augmentations", "image_shape"):
        if parameters[name] is not None:
            parameters[name] = tuple(parameters[name])
    model = UnmaskingClustering(**parameters)
    model._check_parameters(len(arrays["labels_"]))
    _check(model, arrays)
    for name, array in arrays.items():
        setattr(model, name, array)
    model.n_features_in_ = arrays["cluster_centers_"].shape[1]
    model.n_clusters_ = model._n_features_out = len(arrays["cluster_centers_"])
    if document["feature_names"] is not None:
        model.feature_names_in_ = np.array(document["feature_names"], dtype=object)
        if model.feature_names_in_.shape != (model.n_features_in_,):
            raise ValueError("feature names and features differ in number")
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


def _parameters_out(model: UnmaskingClustering) -> dict[str, Any]:
    """Return the constructor's parameters as JSON can hold them."""
    plain = {name: _plain(value) for name, value in model.get_params().items()}
    if not isinstance(plain["random_state"], (int, type(None))):
        plain["random_state"] = None  # a generator's state is not a parameter to keep
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value
