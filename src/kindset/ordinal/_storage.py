"""Fitted mixtures as JSON: nothing in the file can run, and every number comes back exactly."""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from kindset._files import write_text
from kindset._model_files import DAMAGED, damaged
from kindset._reading import read_document
from kindset._validation import check_parameters
from kindset.exceptions import InputError
from kindset.ordinal._em import Parameters
from kindset.ordinal._laws import LAWS
from kindset.ordinal._mixture import OrdinalMixture

FORMAT = "kindset-ordinal-mixture"
VERSION = 2

_FLOATS = ("weights_", "start_objectives_", "centers_", "scales_")
_WHOLES = ("labels_",)
_SCALARS = {
    "log_likelihood_": float, "n_iter_": int, "converged_": bool, "interrupted_": bool,
    "history_": list,
}  # fmt: skip


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
        "parameters": _parameters_out(model),
        "distributions": list(model.distributions_),
        "categories": [_levels_out(levels, j) for j, levels in enumerate(model.categories_)],
        "feature_names": _names_out(model),
        "columns": [values.tolist() for values in model._parameters.columns],
        **{name: getattr(model, name).tolist() for name in (*_FLOATS, *_WHOLES)},
        **{name: getattr(model, name) for name in _SCALARS},
        "standard_errors": {name: _blank_nan(_as_lists(errors[name])) for name in _ERRORS},
    }
    # An entry a line: short, and still easy on the eye.
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, allow_nan=False, ensure_ascii=False)}"
        for name, value in document.items()
    ]
    write_text(Path(path), "{\n" + ",\n".join(lines) + "\n}\n")


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
    document = read_document(path, FORMAT, VERSION, "mixture of ordinal distributions")
    try:
        return _restore(document)
    except DAMAGED as error:
        raise damaged(path, error) from error


def _restore(document: dict[str, Any]) -> OrdinalMixture:
    expected = {"format", "version", "parameters", "distributions", "categories", "feature_names"}
    expected |= {"columns"}
    expected |= {*_FLOATS, *_WHOLES, *_SCALARS, "standard_errors"}
    if set(document) != expected:
        raise ValueError(f"unknown or missing entries {sorted(set(document) ^ expected)}")
    model = OrdinalMixture(**document["parameters"])
    check_parameters(model)
    model.distributions_ = [str(name) for name in document["distributions"]]
    model.categories_ = [_levels_in(entry) for entry in document["categories"]]
    model.n_categories_ = np.array([len(levels) for levels in model.categories_])
    model.n_features_in_ = len(model.categories_)
    if document["feature_names"] is not None:
        model.feature_names_in_ = np.array(document["feature_names"], dtype=object)
    for name in (*_FLOATS, *_WHOLES):
        setattr(model, name, _array_in(document[name], name))
    for name, kind in _SCALARS.items():
        if not isinstance(document[name], kind) and not (
            kind is float and isinstance(document[name], int)
        ):
            raise ValueError(f"{name} is not a {kind.__name__}")
        setattr(model, name, document[name])
    errors = document["standard_errors"]
    model._standard_errors = Bunch(
        weights=_errors_in(errors["weights"]),
        precisions=_errors_in(errors["precisions"]),
        answers=[_errors_in(entry) for entry in errors["answers"]],
    )
    columns = tuple(np.array(values, dtype=np.float64) for values in document["columns"])
    _check(model, columns)
    model._set_parameters(Parameters(model.weights_, columns, tuple(model.distributions_)))
    return model


_ERRORS = ("weights", "precisions", "answers")


def _errors_in(values: Any) -> Any:
    return np.array(_restore_nan(values), dtype=np.float64)


def _as_lists(values: Any) -> Any:
    return [entry.tolist() for entry in values] if isinstance(values, list) else values.tolist()


def _array_in(values: Any, name: str) -> Any:
    array = np.array(values)
    if array.dtype.kind not in ("if" if name in _FLOATS else "i") and array.size:
        raise ValueError(f"{name} does not hold numbers of the right kind")
    return array.astype(np.float64 if name in _FLOATS else np.int64)


def _check(model: OrdinalMixture, columns: tuple[Any, ...]) -> None:
    """Refuse what is no mixture, whoever wrote it."""
    K, J = model.n_components, model.n_features_in_
    errors = model._standard_errors
    shapes = {
        "weights_": (model.weights_, (K,)),
        "centers_": (model.centers_, (J,)),
        "scales_": (model.scales_, (J,)),
        "standard errors of weights": (errors.weights, (K,)),
        "standard errors of precisions": (errors.precisions, (K, J)),
    }
    for name, (array, wanted) in shapes.items():
        if array.shape != wanted:
            raise ValueError(f"{name} has shape {array.shape}, not {wanted}")
    if not len(model.distributions_) == len(columns) == len(errors.answers) == J:
        raise ValueError("distributions, columns and categories differ in length")
    if hasattr(model, "feature_names_in_") and model.feature_names_in_.shape != (J,):
        raise ValueError("feature names and categories differ in length")
    unknown = set(model.distributions_) - set(LAWS)
    if unknown:
        raise ValueError(f"unknown distribution {sorted(unknown)[0]!r}")
    if not (model.weights_ >= 0).all() or abs(model.weights_.sum() - 1) > 1e-9:
        raise ValueError("the weights are no shares of a mixture")
    if not (np.isfinite(model.centers_).all() and (model.scales_ > 0).all()):
        raise ValueError("a column's scale is not positive")
    if not ((model.labels_ >= 0) & (model.labels_ < K)).all():
        raise ValueError("a parameter is out of its range")
    _check_columns(model, columns)


def _check_columns(model: OrdinalMixture, columns: tuple[Any, ...]) -> None:
    """Refuse values that no law can have."""
    K, errors = model.n_components, model._standard_errors
    for j, (name, values) in enumerate(zip(model.distributions_, columns, strict=True)):
        law, m = LAWS[name], int(max(model.n_categories_[j], 1))
        if values.shape != (law.width(m), K):
            raise ValueError(f"column {j} has shape {values.shape}, not {(law.width(m), K)}")
        answers = m if law.takes == "categories" and m > 1 else 1
        if errors.answers[j].shape != (K, answers):
            raise ValueError(f"the standard errors of column {j} have another shape")
        if not law.valid(values, m):
            raise ValueError("a parameter is out of its range")


def _parameters_out(model: OrdinalMixture) -> dict[str, Any]:
    """Return the constructor's parameters as JSON can hold them."""
    plain = {name: _plain(value) for name, value in model.get_params().items()}
    plain["n_components"] = len(model.weights_)
    if not isinstance(plain["random_state"], (int, type(None))):
        plain["random_state"] = None  # a generator's state is not a parameter to keep
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


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
