"""Fitted mixtures as JSON: nothing in the file can run, and every number comes back exactly."""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from kindset._files import write_text
from kindset.exceptions import InputError
from kindset.ordinal._distributions import DISTRIBUTIONS
from kindset.ordinal._mixture import OrdinalMixture

FORMAT = "kindset-ordinal-mixture"
VERSION = 1

_PARAMETERS = ("n_components", "init", "n_init", "max_iter", "tol", "prior_count")
_ARRAYS = ("weights_", "modes_", "precisions_", "peaks_", "labels_")
_SCALARS = ("log_likelihood_", "n_iter_", "converged_", "interrupted_", "history_")


def save_mixture(model: OrdinalMixture, path: str | os.PathLike[str]) -> None:
    """Write a fitted mixture to a JSON file.

    Parameters
    ----------
    model : OrdinalMixture
        A fitted mixture. Its levels must be numbers, truth values or text.
    path : path-like
        The file; it is replaced in one step, so that a crash leaves the old one whole.

    See Also
    --------
    load_mixture : Read it back.
    """
    errors = model.standard_errors_
    document = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": {name: getattr(model, name) for name in _PARAMETERS},
        "distributions": list(model.distributions_),
        "categories": [_levels_out(levels, j) for j, levels in enumerate(model.categories_)],
        "feature_names": _names_out(model),
        **{name: getattr(model, name).tolist() for name in _ARRAYS},
        **{name: getattr(model, name) for name in _SCALARS},
        "standard_errors": {name: _blank_nan(errors[name].tolist()) for name in errors},
    }
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)
    write_text(Path(path), text)


def load_mixture(path: str | os.PathLike[str]) -> OrdinalMixture:
    """Read a mixture that `save_mixture` wrote.

    Parameters
    ----------
    path : path-like
        The JSON file.

    Returns
    -------
    model : OrdinalMixture
        The fitted mixture, ready to predict.

    Raises
    ------
    InputError
        If the file is not such a mixture, is damaged, or has a version this release cannot read.
    """
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the model {path}: {error.strerror}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not a model: it is not valid JSON ({error}).") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{path} is not a mixture of ordinal distributions.")
    if document.get("version") != VERSION:
        raise InputError(
            f"{path} has version {document.get('version')!r}, but this release of Kindset reads "
            f"version {VERSION}."
        )
    try:
        return _restore(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is damaged: {error}.") from error


def _restore(document: dict[str, Any]) -> OrdinalMixture:
    expected = {"format", "version", "parameters", "distributions", "categories", "feature_names"}
    expected |= {*_ARRAYS, *_SCALARS, "standard_errors"}
    if set(document) != expected:
        raise ValueError(f"unknown or missing entries {sorted(set(document) ^ expected)}")
    unknown = set(document["distributions"]) - set(DISTRIBUTIONS)
    if unknown:
        raise ValueError(f"unknown distribution {sorted(unknown)[0]!r}")
    model = OrdinalMixture(distribution=document["distributions"], **document["parameters"])
    model.distributions_ = list(document["distributions"])
    model.categories_ = [_levels_in(entry) for entry in document["categories"]]
    model.n_categories_ = np.array([len(levels) for levels in model.categories_])
    model.n_features_in_ = len(model.categories_)
    if document["feature_names"] is not None:
        model.feature_names_in_ = np.array(document["feature_names"], dtype=object)
    for name in _ARRAYS:
        kind = np.float64 if name in ("weights_", "precisions_") else np.int64
        setattr(model, name, np.array(document[name], dtype=kind))
    for name in _SCALARS:
        setattr(model, name, document[name])
    errors = document["standard_errors"]
    model._standard_errors = Bunch(
        **{name: np.array(_restore_nan(values)) for name, values in errors.items()}
    )
    _check_shapes(model)
    return model


def _check_shapes(model: OrdinalMixture) -> None:
    shape = (model.n_components, model.n_features_in_)
    for name, wanted in (("weights_", shape[:1]), *((n, shape) for n in _ARRAYS[1:4])):
        if getattr(model, name).shape != wanted:
            raise ValueError(f"{name} has shape {getattr(model, name).shape}, not {wanted}")
    if len(model.distributions_) != model.n_features_in_:
        raise ValueError("distributions and categories differ in length")
    if not (np.isfinite(model.precisions_).all() and abs(model.weights_.sum() - 1) < 1e-9):
        raise ValueError("the parameters are no mixture")
    in_range = (model.modes_ >= 1) & (model.modes_ <= np.maximum(model.n_categories_, 1))
    if not (in_range.all() and ((model.precisions_ >= 0) & (model.precisions_ <= 1)).all()):
        raise ValueError("a parameter is out of its range")


def _levels_out(levels: Any, j: int) -> dict[str, Any]:
    values = levels.tolist()
    for value in values:
        if not isinstance(value, (bool, int, float, str)):
            raise InputError(
                f"the levels of column {j} are of type {type(value).__name__}, which cannot be "
                "saved: turn them into text or numbers before fitting."
            )
    return {"kind": levels.dtype.kind if levels.dtype.kind in "biuf" else "O", "levels": values}


def _levels_in(entry: dict[str, Any]) -> Any:
    kinds = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "O": np.object_}
    levels: Any = np.empty(len(entry["levels"]), dtype=kinds[entry["kind"]])
    levels[:] = entry["levels"]
    return levels


def _names_out(model: OrdinalMixture) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _blank_nan(values: Any) -> Any:
    if isinstance(values, list):
        return [_blank_nan(value) for value in values]
    return None if math.isnan(values) else values


def _restore_nan(values: Any) -> Any:
    if isinstance(values, list):
        return [_restore_nan(value) for value in values]
    return math.nan if values is None else values
