"""Fitted co-clusterings as JSON: nothing in the file can run, and every number comes back."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from kindset._files import write_text
from kindset._model_files import (
    DAMAGED,
    damaged,
    names_in,
    names_out,
    plain_parameters,
    plain_value,
)
from kindset._reading import read_document
from kindset._validation import check_parameters
from kindset.ordinal._block_laws import BLOCK_LAWS
from kindset.ordinal._blocks import BlockModel
from kindset.ordinal._coclustering import OrdinalCoclustering
from kindset.ordinal._storage import _levels_in, _levels_out

FORMAT = "kindset-ordinal-coclustering"
VERSION = 1

_SCALARS = {"bound_": float, "icl_": float, "n_iter_": int, "converged_": bool}


def save_coclustering(model: OrdinalCoclustering, path: str | os.PathLike[str]) -> None:
    """Write a fitted co-clustering to a JSON file.

    Parameters
    ----------
    model : OrdinalCoclustering
        A fitted model. Its levels must be numbers, truth values or text.
    path : path-like
        The file; it is replaced in one step.

    See Also
    --------
    load_coclustering : Read it back.
    """
    fitted = model._model
    document = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": _parameters_out(model),
        "categories": [_levels_out(levels, j) for j, levels in enumerate(model.categories_)],
        "feature_names": names_out(model),
        "column_levels": model.column_levels_.tolist(),
        "row_weights": fitted.row_weights.tolist(),
        "column_weights": fitted.column_weights.tolist(),
        "column_memberships": fitted.memberships.tolist(),
        "blocks": [parameters.tolist() for parameters in fitted.parameters],
        "labels": model.labels_.tolist(),
        "start_bounds": model.start_bounds_.tolist(),
        "history": model.history_,
        **{name: getattr(model, name) for name in _SCALARS},
    }
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
    write_text(Path(path), text + "\n")


def load_coclustering(path: str | os.PathLike[str]) -> OrdinalCoclustering:
    """Read a co-clustering that `save_coclustering` wrote.

    Parameters
    ----------
    path : path-like
        The JSON file.

    Returns
    -------
    model : OrdinalCoclustering
        The fitted model, ready to predict.

    Raises
    ------
    InputError
        If the file is not such a model, is damaged, or has a version this release cannot read.
    """
    path = Path(path)
    document = read_document(path, FORMAT, VERSION, "co-clustering of ordinal data")
    try:
        return _restore(document)
    except DAMAGED as error:
        raise damaged(path, error) from error


def _restore(document: dict[str, Any]) -> OrdinalCoclustering:
    parameters = dict(document["parameters"])
    if isinstance(parameters["n_column_clusters"], list):
        parameters["n_column_clusters"] = dict(parameters["n_column_clusters"])
    model = OrdinalCoclustering(**parameters)
    check_parameters(model)
    model.categories_ = [_levels_in(entry) for entry in document["categories"]]
    model.n_categories_ = np.array([len(levels) for levels in model.categories_])
    model.n_features_in_ = len(model.categories_)
    names_in(model, document["feature_names"])
    fitted = BlockModel(
        np.array(document["row_weights"], dtype=np.float64),
        np.array(document["column_weights"], dtype=np.float64),
        np.array(document["column_memberships"], dtype=np.float64),
        [np.array(block, dtype=np.float64) for block in document["blocks"]],
    )
    levels = np.array(document["column_levels"], dtype=np.int64)
    _check(model, fitted, levels)
    model._set_model(fitted, levels)
    model.labels_ = model.row_labels_ = np.array(document["labels"], dtype=np.int64)
    model.start_bounds_ = np.array(document["start_bounds"], dtype=np.float64)
    model.history_ = [float(value) for value in document["history"]]
    for name, kind in _SCALARS.items():
        setattr(model, name, kind(document[name]))
    return model


def _check(model: OrdinalCoclustering, fitted: BlockModel, levels: Any) -> None:
    """Refuse what is no co-clustering, whoever wrote it."""
    n_rows, n_clusters = model.n_row_clusters, len(levels)
    wanted = (n_rows,), (n_clusters,), (model.n_features_in_, n_clusters)
    found = fitted.row_weights.shape, fitted.column_weights.shape, fitted.memberships.shape
    if found != wanted or len(fitted.parameters) != n_clusters:
        raise ValueError("the clusters and their weights differ in number")
    for weights in (fitted.row_weights[None], fitted.memberships):
        if not (weights >= 0).all() or (np.abs(weights.sum(axis=1) - 1) > 1e-9).any():
            raise ValueError("memberships are no shares")
    own = np.maximum(model.n_categories_, 1)[:, None] == levels
    if (fitted.memberships[~own] != 0).any() or not (fitted.column_weights >= 0).all():
        raise ValueError("a column is in a cluster of another number of categories")
    law = BLOCK_LAWS[model.distribution]
    for parameters, m in zip(fitted.parameters, levels.tolist(), strict=True):
        expected = law.maximize(np.ones((n_rows, m))).shape
        if parameters.shape != expected or not np.isfinite(parameters).all():
            raise ValueError("the parameters of a block have a wrong shape")
        with np.errstate(all="ignore"):
            if not np.isfinite(law.log_pmf(parameters, m)).all():
                raise ValueError("a parameter is out of its range")


def _parameters_out(model: OrdinalCoclustering) -> dict[str, Any]:
    """Return the constructor's parameters as JSON can hold them: a mapping as pairs."""
    plain = plain_parameters(model)
    wanted = plain["n_column_clusters"]
    if isinstance(wanted, dict):
        plain["n_column_clusters"] = [
            [plain_value(m), plain_value(number)] for m, number in wanted.items()
        ]
    if isinstance(plain["categories"], dict):
        plain["categories"] = {
            str(name): plain_value(levels) for name, levels in plain["categories"].items()
        }
    return plain
