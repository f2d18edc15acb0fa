"""The methods that cluster rows of numbers or images; a new one is one entry."""

import hashlib
import inspect
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kindset.cli._options import AUTO, read_names
from kindset.exceptions import InputError
from kindset.workbench._samples import Kind


@dataclass(frozen=True)
class Method:
    """An estimator with `fit` and `labels_` or `fit_predict`, and how it is called.

    Attributes
    ----------
    title : str
        The method in words.
    estimator : str
        Module and class; imported when it is used.
    number : str
        The parameter that holds the number of clusters.
    takes : tuple of {"features", "images"}
        What it clusters; images are laid out as rows for a method that takes features.
    defaults : dict
        Parameters that differ from the estimator's own.
    finds_number : bool
        Whether it finds the number of clusters if it is given None.
    by_cluster : tuple of str
        Fitted attributes with one entry for each cluster, of an estimator whose clusters come in
        no order.
    """

    title: str
    estimator: str
    number: str = "n_clusters"
    takes: tuple[Kind, ...] = ("features",)
    defaults: dict[str, Any] = field(default_factory=dict)
    finds_number: bool = False
    by_cluster: tuple[str, ...] = ()

    @property
    def pixels(self) -> bool:
        """Whether it looks at images as images."""
        return "images" in self.takes

    def build(
        self, setting: "Setting", *, n_jobs: int, verbose: bool, work: Path | None = None
    ) -> Any:
        """Make the estimator; if it can go on after it was killed, it does so from `work`."""
        module, name = self.estimator.split(":")
        try:
            kind = getattr(import_module(module), name)
        except ImportError as error:
            raise InputError(f"--method {setting.method}: {error}.") from error
        known = inspect.signature(kind).parameters
        options = {self.number: "-k", "random_state": "--seed", "n_jobs": "--jobs"}
        for parameter in setting.parameters:
            if parameter in options:
                raise InputError(f"--param {parameter}: say it with {options[parameter]}.")
            if parameter not in known:
                raise InputError(
                    f"--param {parameter}: {setting.method} has {', '.join(sorted(known))}."
                )
        wanted = {
            **self.defaults,
            self.number: setting.k,
            "random_state": setting.seed,
            "n_jobs": n_jobs,
            "checkpoint_dir": work,
            "verbose": int(verbose) if module.startswith("kindset") else 0,
            **setting.parameters,
        }
        model = kind(**{key: value for key, value in wanted.items() if key in known})
        if module.startswith("sklearn"):  # ours tell in words of their own when they are fitted
            try:
                model._validate_params()
            except ValueError as error:
                raise InputError(f"--param: {error}") from error
        return model

    def fit(self, model: Any, X: NDArray[Any]) -> NDArray[np.int64]:
        """Fit the estimator; return the cluster of each sample, the largest one first."""
        labels = np.asarray(model.fit_predict(X))
        if not self.by_cluster:
            return labels
        order = np.argsort(-np.bincount(labels, minlength=getattr(model, self.number)), stable=True)
        shared = ("covariances_", "precisions_", "precisions_cholesky_")
        for name in self.by_cluster:
            if not (name in shared and model.covariance_type == "tied"):
                setattr(model, name, getattr(model, name)[order])
        # A sample between two clusters falls to the first of them, which may be another one now.
        labels = np.asarray(model.predict(X))
        if hasattr(model, "labels_"):
            model.labels_ = labels
        return labels


METHODS: dict[str, Method] = {
    "kmeans": Method(
        "k-means",
        "sklearn.cluster:KMeans",
        defaults={"n_init": 10},
        by_cluster=("cluster_centers_",),
    ),
    "gmm": Method(
        "Gaussian mixture",
        "sklearn.mixture:GaussianMixture",
        number="n_components",
        defaults={"n_init": 3, "reg_covar": 1e-4},
        by_cluster=("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"),
    ),
    "ward": Method("Ward's hierarchical clustering", "sklearn.cluster:AgglomerativeClustering"),
    "unmasking": Method("unmasking", "kindset.unmasking:UnmaskingClustering", finds_number=True),
    "dti-kmeans": Method(
        "transformation-invariant k-means", "kindset.images:DTIKMeans", takes=("images",)
    ),
    "dti-gmm": Method(
        "transformation-invariant Gaussian mixture",
        "kindset.images:DTIGaussianMixture",
        takes=("images",),
    ),
}


@dataclass(frozen=True)
class Setting:
    """One clustering to be made; without `k` the method finds the number of clusters."""

    method: str
    k: int | None
    seed: int = 0
    embedding: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    scale: str = "none"

    @property
    def number(self) -> int | str:
        """The number of clusters as a user gives it."""
        return AUTO if self.k is None else self.k

    @property
    def name(self) -> str:
        """What to call the run, s being the seed: short, as tables have many columns."""
        return f"{self._space(' ')}{self.method} K={self.number} s{self.seed}"

    @property
    def folder(self) -> str:
        """What to call the run's folder, among others."""
        told = json.dumps(self.parameters, sort_keys=True, default=str)
        mark = f"-{hashlib.sha256(told.encode()).hexdigest()[:6]}" if self.parameters else ""
        return f"{self._space('-')}{self.method}-k{self.number}-seed{self.seed}{mark}"

    def _space(self, end: str) -> str:
        """Say what was done to the samples first, each word with that end."""
        words = [] if self.scale == "none" else [self.scale]
        words += [] if self.embedding is None else [self.embedding.replace(":", "")]
        return "".join(f"{word}{end}" for word in words)

    def as_parameters(self) -> dict[str, Any]:
        """Return all that decides the result, as a run writes it down."""
        scaled = {} if self.scale == "none" else {"scale": self.scale}
        chosen = {"n_clusters": self.number, "embedding": self.embedding}
        return {**chosen, **scaled, **self.parameters}


def read_parameters(texts: Sequence[str], transforms: str | None = None) -> dict[str, Any]:
    """Read ``name=value`` pairs; the values are written as in TOML, bare words are text.

    What `transforms` lists has an option of its own and comes first.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise InputError(f"--param takes name=value, such as n_init=20, not {text!r}.")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = {"None": None, "True": True, "False": False}.get(value, value)
    if transforms is not None:
        found["transforms"] = "auto" if transforms == "auto" else read_names(transforms)
    return found


def read_seeds(text: str | None, seed: int) -> list[int]:
    """Read a list of seeds, "0,3,7"; without one, the one seed."""
    if text is None:
        return [seed]
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        seeds = []
    if not seeds or min(seeds) < 0 or max(seeds) >= 2**32:
        raise InputError(f"--seeds takes whole numbers such as 0,1,2, not {text!r}.")
    return list(dict.fromkeys(seeds))
