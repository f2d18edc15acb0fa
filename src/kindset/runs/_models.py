"""How each kind of model is stored inside a run; a new kind is one entry."""

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from kindset.exceptions import InputError


class Store(NamedTuple):
    """The package that a class comes from, and what writes and reads its models.

    `save(model, path)` and `load(path)` are the names of functions in `module`.
    """

    package: str
    module: str
    save: str
    load: str


_DEEP = Store("kindset.deep", "kindset.deep", "save_deep", "load_deep")

STORES = {
    "DEPICT": _DEEP,
    "DTIGaussianMixture": Store(
        "kindset.images", "kindset.images", "save_clustering", "load_clustering"
    ),
    "DTIKMeans": Store("kindset.images", "kindset.images", "save_clustering", "load_clustering"),
    "DeepCluster": _DEEP,
    "GaussianMixture": Store(
        "sklearn.mixture", "kindset.runs._scikit", "save_scikit", "load_scikit"
    ),
    "IDEC": _DEEP,
    "JULE": _DEEP,
    "KMeans": Store("sklearn.cluster", "kindset.runs._scikit", "save_scikit", "load_scikit"),
    "OrdinalMixture": Store("kindset.ordinal", "kindset.ordinal", "save_mixture", "load_mixture"),
    "UnmaskingClustering": Store(
        "kindset.unmasking", "kindset.unmasking", "save_unmasking", "load_unmasking"
    ),
}
"""By the name of the class, which a run writes down."""


def can_store(model: Any) -> bool:
    """Whether a run can hold this model."""
    return _store_of(model) is not None


def write_model(model: Any, folder: Path) -> str:
    """Write a fitted model below `folder`; return the name of its kind."""
    store, kind = _store_of(model), type(model)
    if store is None:
        raise InputError(
            f"models of type {kind.__module__}.{kind.__qualname__} cannot be saved; leave the "
            "model out of the run."
        )
    folder.mkdir()
    getattr(import_module(store.module), store.save)(model, folder / "model.json")
    return kind.__name__


def read_model(kind: str, folder: Path) -> Any:
    """Read a model back."""
    if kind not in STORES:
        raise InputError(f"{folder} holds a model of the unknown kind {kind!r}.")
    store = STORES[kind]
    return getattr(import_module(store.module), store.load)(folder / "model.json")


def _store_of(model: Any) -> Store | None:
    """Return what stores a model, None for a class of another package with the same name."""
    store = STORES.get(type(model).__name__)
    if store is None or not f"{type(model).__module__}.".startswith(f"{store.package}."):
        return None
    return store
