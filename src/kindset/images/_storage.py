"""Fitted models on disk: what can be read as JSON, the tensors beside it as safetensors."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from kindset._model_files import (
    DAMAGED,
    damaged,
    names_in,
    names_out,
    plain_parameters,
    plain_value,
)
from kindset._shown import shown
from kindset._torch.input import ImageFormat
from kindset._torch.model_files import (
    device_or_cpu,
    misfit,
    read_model,
    scalars_in,
    with_prefix,
    write_model,
)
from kindset.exceptions import InputError
from kindset.images._alignment import ALIGNMENTS
from kindset.images._encoders import build_encoder
from kindset.images._estimators import DTIGaussianMixture, DTIKMeans
from kindset.images._model import DTIModel
from kindset.images._transforms import TRANSFORMATIONS, transformation_classes

FORMAT = "kindset-dti-clustering"
VERSION = 2

_KINDS = {"DTIKMeans": DTIKMeans, "DTIGaussianMixture": DTIGaussianMixture}
_SCALARS = {"inertia_": float, "n_reassigned_": int, "n_iter_": int, "interrupted_": bool}
_ARRAYS = ("step", "loss", "shares", "n_restarts", "n_reassigned", "snapshot_step", "prototypes")

Clustering = DTIKMeans | DTIGaussianMixture


def save_clustering(model: Clustering, path: str | os.PathLike[str]) -> None:
    """Write a fitted DTI clustering.

    Parameters
    ----------
    model : DTIKMeans or DTIGaussianMixture
        A fitted model with one of the encoders that have a name.
    path : path-like
        The JSON file; the tensors go beside it, with the ending ``.safetensors``.

    See Also
    --------
    load_clustering : Read it back.
    """
    check_is_fitted(model)
    path = Path(path)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(model).__name__,
        "parameters": _parameters_out(model),
        "transforms": list(model.transforms_),
        "images": asdict(model._format),
        "n_active": model._model.n_active,
        "n_samples": len(model.labels_),
        "stages": list(model.history_.stage),
        "n_changed": model.history_.n_changed.tolist(),
        "feature_names": names_out(model),
        **{name: getattr(model, name) for name in _SCALARS},
    }
    tensors = {f"model.{name}": one for name, one in model._model.state_dict().items()}
    tensors |= {f"history.{name}": torch.from_numpy(model.history_[name]) for name in _ARRAYS}
    tensors["labels"] = torch.from_numpy(model.labels_)
    write_model(path, document, tensors)


def load_clustering(path: str | os.PathLike[str]) -> Clustering:
    """Read a model that `save_clustering` wrote.

    Parameters
    ----------
    path : path-like
        The JSON file.

    Returns
    -------
    model : DTIKMeans or DTIGaussianMixture
        The fitted model, ready to predict.

    Raises
    ------
    InputError
        If the files are no such model, are damaged, or have a version this release cannot read.
    """
    path = Path(path)
    document, tensors = read_model(path, FORMAT, VERSION, "DTI clustering")
    try:
        unknown = sorted(set(map(str, document["transforms"])) - set(TRANSFORMATIONS))
        if not unknown:
            return _restore(document, tensors)
    except DAMAGED as error:
        raise damaged(path, error) from error
    except RuntimeError as error:  # in torch's words, which may be a stack of C++ functions
        raise misfit(path) from error
    raise InputError(
        f"{shown(path)} uses the transformation {unknown[0]!r}: register it first, with "
        "register_transformation."
    )


def _restore(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Clustering:
    model = _KINDS[document["kind"]](**document["parameters"])
    model._check_parameters()
    model._format = ImageFormat.from_dict(document["images"])
    model.transforms_ = tuple(map(str, document["transforms"]))
    _check_sizes(model, document, tensors)
    model._model = _restore_network(model, document, tensors)
    model._aligner = ALIGNMENTS[model.alignment](int(document["n_samples"]))
    model._store_clusters()
    model.labels_ = tensors["labels"].numpy()
    history = {name: tensors[f"history.{name}"].numpy() for name in _ARRAYS}
    history["n_changed"] = np.array(document.get("n_changed", []), dtype=np.int64)
    model.history_ = Bunch(stage=list(map(str, document["stages"])), **history)
    model.n_features_in_ = model._format.n_values
    names_in(model, document["feature_names"])
    scalars_in(model, document, _SCALARS)
    return model


def _check_sizes(
    model: Clustering, document: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> None:
    """Refuse sizes that the tensors do not have, before anything of those sizes is made."""
    wanted = (model.n_clusters, *model._format.shape)
    if tensors["model.prototypes"].shape != wanted:
        raise ValueError(
            f"the prototypes have shape {tuple(tensors['model.prototypes'].shape)}, not {wanted}"
        )
    labels = tensors["labels"]
    if labels.dtype != torch.int64 or labels.shape != (document["n_samples"],):
        raise ValueError("the labels do not fit the samples")
    if not ((labels >= 0) & (labels < model.n_clusters)).all():
        raise ValueError("the labels do not fit the clusters")


def _restore_network(
    model: Clustering, document: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> DTIModel:
    shape = model._format.shape
    encoder = build_encoder(model.encoder, shape, seed=0)
    network = DTIModel(
        torch.zeros(model.n_clusters, *shape),
        model.n_clusters,
        [kind(shape) for kind in transformation_classes(model.transforms_)],  # type: ignore[call-arg]
        model._objective(shape, torch.zeros(shape[1:]), model.stiffness),
        encoder,
        torch.Generator(),
    ).double()
    network.load_state_dict(with_prefix("model.", tensors))
    network.n_active = int(document["n_active"])
    return network.eval().to(device_or_cpu(model.device))


def _parameters_out(model: Clustering) -> dict[str, Any]:
    """Return the constructor's parameters as JSON can hold them."""
    if not isinstance(model.encoder, str):
        raise InputError("a model with an encoder of one's own cannot be saved; name one of ours.")
    weight = model.pixel_weight
    named = weight is None or isinstance(weight, str)
    return {
        **plain_parameters(model),
        "n_clusters": model._model.n_clusters,
        "transforms": list(model.transforms_),
        "stiffness": model._model.objective.stiffness,
        "pixel_weight": weight if named else plain_value(np.asarray(weight)),
        "device": str(model.device),
        "checkpoint_dir": None,
    }
