"""Fitted deep clusterings on disk: what can be read as JSON, the tensors as safetensors."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from kindset._model_files import (
    DAMAGED,
    damaged,
    names_in,
    names_out,
    plain_parameters,
    plain_value,
)
from kindset._torch.input import ImageFormat
from kindset._torch.model_files import (
    device_or_cpu,
    misfit,
    read_model,
    scalars_in,
    with_prefix,
    write_model,
)
from kindset._validation import check_parameters
from kindset.deep._base import DeepClustering
from kindset.deep._deepcluster import DeepCluster
from kindset.deep._depict import DEPICT
from kindset.deep._idec import IDEC
from kindset.deep._jule import JULE
from kindset.deep._networks import built
from kindset.deep._outcome import Snapshot
from kindset.exceptions import InputError

FORMAT = "kindset-deep-clustering"
VERSION = 1

_KINDS: dict[str, type[DeepClustering]] = {
    kind.__name__: kind for kind in (DEPICT, IDEC, JULE, DeepCluster)
}
_NOT_SAVED = ("checkpoint_dir", "pretrained")
_SCALARS = {"n_iter_": int, "converged_": bool, "interrupted_": bool}


def save_deep(model: DeepClustering, path: str | os.PathLike[str]) -> None:
    """Write a fitted deep clustering.

    Parameters
    ----------
    model : DEPICT, JULE, DeepCluster or IDEC
        A fitted model.
    path : path-like
        The JSON file; the tensors go beside it, with the ending ``.safetensors``.

    See Also
    --------
    load_deep : Read it back.
    """
    check_is_fitted(model)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(model).__name__,
        "parameters": {
            **plain_parameters(type(model)(**model._fitted_parameters)),
            "device": str(model.device),
            **{name: None for name in _NOT_SAVED if name in model.get_params(deep=False)},
        },
        "images": asdict(model._format),
        "history": list(model.history_),
        "stages": list(model.history_.stage),
        "snapshots": [snapshot.epoch for snapshot in model.snapshots_],
        "feature_names": names_out(model),
        **{name: plain_value(getattr(model, name)) for name in _SCALARS},
    }
    write_model(Path(path), document, _tensors_out(model))


def _tensors_out(model: DeepClustering) -> dict[str, Tensor]:
    # The network was learnt in single precision; double is only for computing with it.
    tensors = {
        f"network.{name}": one.float() if _is_single(name, one) else one
        for name, one in model._network.state_dict().items()
    }
    arrays = {
        **{f"assignment.{name}": one for name, one in model._assignment.state().items()},
        **{f"history.{name}": one for name, one in model.history_.items() if name != "stage"},
        "labels": model.labels_,
        "cluster_centers": model.cluster_centers_,
    }
    for number, snapshot in enumerate(model.snapshots_):
        arrays[f"snapshot.{number}.labels"] = snapshot.labels
        arrays[f"snapshot.{number}.embedding"] = snapshot.embedding
    return tensors | {
        name: torch.from_numpy(np.ascontiguousarray(one)) for name, one in arrays.items()
    }


def load_deep(path: str | os.PathLike[str]) -> DeepClustering:
    """Read a model that `save_deep` wrote.

    Parameters
    ----------
    path : path-like
        The JSON file.

    Returns
    -------
    model : DEPICT, JULE, DeepCluster or IDEC
        The fitted model, ready to predict.

    Raises
    ------
    InputError
        If the files are no such model, are damaged, or have a version this release cannot read.
    """
    path = Path(path)
    document, tensors = read_model(path, FORMAT, VERSION, "deep clustering")
    try:
        return _restore(document, tensors)
    except InputError:
        raise
    except DAMAGED as error:
        raise damaged(path, error) from error
    except RuntimeError as error:  # in torch's words, which may be a stack of C++ functions
        raise misfit(path) from error


def _restore(document: dict[str, Any], tensors: dict[str, Tensor]) -> DeepClustering:
    model = _KINDS[document["kind"]](**document["parameters"])
    check_parameters(model)
    model._format = ImageFormat.from_dict(document["images"])
    model.n_features_in_ = model._format.n_values
    names_in(model, document["feature_names"])
    scalars_in(model, document, _SCALARS)
    arrays = {name: one.numpy() for name, one in tensors.items() if not name.startswith("network.")}
    model.labels_ = _labels(arrays["labels"], model.n_clusters)
    model.cluster_centers_ = arrays["cluster_centers"]
    columns: dict[str, Any] = dict(with_prefix("history.", arrays))
    columns["stage"] = list(map(str, document["stages"]))
    model.history_ = Bunch(**{str(name): columns[name] for name in document["history"]})
    model.snapshots_ = [
        Snapshot(
            int(epoch),
            _labels(arrays[f"snapshot.{number}.labels"], model.n_clusters),
            arrays[f"snapshot.{number}.embedding"],
        )
        for number, epoch in enumerate(document["snapshots"])
    ]
    network = _restore_network(model, with_prefix("network.", tensors))
    assignment = model._assignment_kind(**with_prefix("assignment.", arrays))
    assignment.check(model.n_clusters, model.cluster_centers_.shape[1])
    model._store_model(network, assignment)
    return model


def _restore_network(model: DeepClustering, state: dict[str, Tensor]) -> nn.Module:
    """Make the network on no device at all, so that no size is believed before it is checked."""
    with torch.device("meta"):
        network = built(lambda: model._make_network(model._format.shape))
    wanted = {name: tuple(one.shape) for name, one in network.state_dict().items()}
    if wanted != {name: tuple(one.shape) for name, one in state.items()}:
        raise ValueError("the network's layers have other sizes than its tensors")
    network.load_state_dict(state, assign=True)
    return network.eval().double().to(device_or_cpu(model.device))


def _labels(labels: np.ndarray[Any, Any], n_clusters: int) -> np.ndarray[Any, Any]:
    if labels.ndim != 1 or labels.dtype != np.int64:
        raise ValueError("the labels are not whole numbers")
    if not ((labels >= 0) & (labels < n_clusters)).all():
        raise ValueError("the labels do not fit the clusters")
    return labels


def _is_single(name: str, tensor: Tensor) -> bool:
    """Whether a tensor of the network was learnt, and so has the digits of single precision."""
    return tensor.is_floating_point() and "whitening" not in name
