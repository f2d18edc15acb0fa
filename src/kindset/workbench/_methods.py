"""The methods by name; a new one is one entry."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kindset.exceptions import InputError

if TYPE_CHECKING:
    from kindset.workbench._settings import Setting

Takes = Literal["answers", "rows", "images"]


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
    takes : {"answers", "rows", "images"}
        What it clusters: ordered answers, rows of numbers, or images as images. Images are laid
        out as rows for a method that takes rows.
    defaults : dict
        Parameters that differ from the estimator's own.
    finds_number : bool
        Whether it finds the number of clusters if it is given None. One that also chooses among
        several numbers does so by the rule of `select_components`.
    chooses_number : bool
        Whether a criterion chooses among several numbers within one run.
    predicts : bool
        Whether its model can assign new samples.
    by_cluster : tuple of str
        Fitted attributes with one entry for each cluster, of an estimator whose clusters come in
        no order.
    embeds : bool
        Whether its `transform` gives the space in which it clusters, instead of distances.
    needs : tuple of str
        Packages of an optional extra that it needs.
    """

    title: str
    estimator: str
    number: str = "n_clusters"
    takes: Takes = "rows"
    defaults: dict[str, Any] = field(default_factory=dict)
    finds_number: bool = False
    chooses_number: bool = False
    predicts: bool = True
    by_cluster: tuple[str, ...] = ()
    embeds: bool = False
    needs: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether the packages that it needs are installed."""
        return all(find_spec(package) is not None for package in self.needs)

    def parameters(
        self,
        setting: "Setting",
        *,
        n_jobs: int = 1,
        verbose: bool = False,
        checkpoint_dir: Path | None = None,
    ) -> dict[str, Any]:
        """Return the estimator's parameters but the number of clusters; refuse unknown ones."""
        known = inspect.signature(self._load(setting.method)).parameters
        elsewhere = {self.number: "k", "random_state": "seed", "n_jobs": "n_jobs"}
        for name in setting.parameters:
            if name in elsewhere:
                raise InputError(
                    f"`parameters` {name}: say it with `{elsewhere[name]}`.", parameter="parameters"
                )
            if name not in known:
                raise InputError(
                    f"`parameters` {name}: {setting.method} has {', '.join(sorted(known))}.",
                    parameter="parameters",
                )
        wanted = {
            **self.defaults,
            "random_state": setting.seed,
            "n_jobs": n_jobs,
            "checkpoint_dir": checkpoint_dir,
            "verbose": int(verbose) if self.estimator.startswith("kindset") else 0,
            **setting.parameters,
        }
        return {key: value for key, value in wanted.items() if key in known}

    def build(self, setting: "Setting", **how: Any) -> Any:
        """Make the estimator; see `parameters` for what decides how it works."""
        model = self._load(setting.method)(
            **{self.number: setting.k, **self.parameters(setting, **how)}
        )
        if self.estimator.startswith("sklearn"):  # ours are checked when they are fitted
            try:
                model._validate_params()
            except ValueError as error:
                raise InputError(f"`parameters`: {error}", parameter="parameters") from error
        return model

    def _load(self, name: str) -> Any:
        module, kind = self.estimator.split(":")
        try:
            return getattr(import_module(module), kind)
        except ImportError as error:
            raise InputError(f"`method` {name}: {error}.", parameter="method") from error

    def fit(self, model: Any, X: NDArray[Any]) -> NDArray[np.int64]:
        """Fit the estimator; return the cluster of each sample, the largest one first.

        Where the model can predict, its clusters are put in that order, so that both agree.
        """
        labels = np.asarray(model.fit_predict(X))
        if not self.predicts:
            return _largest_first(labels)
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


def _largest_first(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Give clusters numbers by size; ties keep their order."""
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    number = np.empty(len(sizes), dtype=np.int64)
    number[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return number[codes]


def _survey(distribution: str, title: str, *, finds_number: bool = False) -> Method:
    return Method(
        title,
        "kindset.ordinal:OrdinalMixture",
        number="n_components",
        takes="answers",
        defaults={"distribution": distribution, "n_init": 20},
        finds_number=finds_number,
        chooses_number=True,
    )


def _deep(name: str, words: str) -> Method:
    return Method(
        f"{name} ({words})", f"kindset.deep:{name}", takes="images", embeds=True, needs=_TORCH
    )


_TORCH = ("torch", "safetensors")

METHODS: Mapping[str, Method] = {
    "survey": _survey("auto", "mixture with law and number chosen", finds_number=True),
    "tilted": _survey("tilted", "segments that move position and spread"),
    "adjacent": _survey("adjacent", "segments that move position (adjacent categories)"),
    "lca": _survey("categorical", "latent classes (free probabilities)"),
    "bos": _survey("bos", "BOS (binary ordinal search)"),
    "god": _survey("god", "GOD (globally ordered data)"),
    "ordinal": _survey("auto", "the best law, question by question"),
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
    "ward": Method(
        "Ward's hierarchical clustering",
        "sklearn.cluster:AgglomerativeClustering",
        predicts=False,
    ),
    "unmasking": Method("unmasking", "kindset.unmasking:UnmaskingClustering", finds_number=True),
    "dti-kmeans": Method(
        "transformation-invariant k-means",
        "kindset.images:DTIKMeans",
        takes="images",
        needs=_TORCH,
    ),
    "dti-gmm": Method(
        "transformation-invariant Gaussian mixture",
        "kindset.images:DTIGaussianMixture",
        takes="images",
        needs=_TORCH,
    ),
    "depict": _deep("DEPICT", "autoencoder and softmax"),
    "jule": _deep("JULE", "merging and learning in turns"),
    "deepcluster": _deep("DeepCluster", "learning from k-means"),
    "idec": _deep("IDEC", "autoencoder and centres"),
}


def get_method(name: str) -> Method:
    """Return the method of that name."""
    if name not in METHODS:
        raise InputError(
            f"`method` must be one of {', '.join(METHODS)}, not {name!r}.", parameter="method"
        )
    return METHODS[name]
