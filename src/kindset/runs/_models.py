"""How each kind of model is stored inside a run; a new kind is one entry."""

from importlib import import_module
from pathlib import Path
from typing import Any

from kindset.exceptions import InputError

# Class name -> module and the names of its functions save(model, path) and load(path).
STORES = {
    "DTIGaussianMixture": ("kindset.images", "save_clustering", "load_clustering"),
    "DTIKMeans": ("kindset.images", "save_clustering", "load_clustering"),
    "GaussianMixture": ("kindset.runs._scikit", "save_scikit", "load_scikit"),
    "KMeans": ("kindset.runs._scikit", "save_scikit", "load_scikit"),
    "OrdinalMixture": ("kindset.ordinal", "save_mixture", "load_mixture"),
    "UnmaskingClustering": ("kindset.unmasking", "save_unmasking", "load_unmasking"),
}


def can_store(model: Any) -> bool:
    """Whether a run can hold this model."""
    return type(model).__name__ in STORES


def write_model(model: Any, folder: Path) -> str:
    """Write a fitted model below `folder`; return the name of its kind."""
    kind = type(model).__name__
    if kind not in STORES:
        raise InputError(f"models of type {kind} cannot be saved; leave the model out of the run.")
    module, save, _ = STORES[kind]
    folder.mkdir()
    getattr(import_module(module), save)(model, folder / "model.json")
    return kind


def read_model(kind: str, folder: Path) -> Any:
    """Read a model back."""
    if kind not in STORES:
        raise InputError(f"{folder} holds a model of the unknown kind {kind!r}.")
    module, _, load = STORES[kind]
    return getattr(import_module(module), load)(folder / "model.json")
