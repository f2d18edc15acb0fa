"""How many clusters: the loss over a range of numbers, and where it bends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from kindset._notebook import html_table
from kindset.exceptions import InputError
from kindset.images._estimators import DTIGaussianMixture, DTIKMeans

Clustering = DTIKMeans | DTIGaussianMixture


@dataclass(frozen=True)
class ClusterSelection:
    """The outcome of `select_n_clusters`.

    Attributes
    ----------
    path : DataFrame
        One row for each number of clusters: `loss` and `smallest` (share of the smallest cluster).
    models : dict of int to estimator
        The fitted models.
    interrupted : bool
        Whether Ctrl-C ended the search early; what was finished is here.
    """

    path: pd.DataFrame
    models: dict[int, Clustering]
    interrupted: bool = False

    @property
    def n_clusters(self) -> int:
        """The number of clusters at the elbow of the loss: a suggestion, look at the curve."""
        return elbow(list(self.models), self.path["loss"].tolist())

    @property
    def model(self) -> Clustering:
        """The model at the elbow."""
        return self.models[self.n_clusters]

    def __str__(self) -> str:
        return f"The loss bends most at {self.n_clusters} clusters."

    def _repr_html_(self) -> str:
        """Show the path in a notebook, the suggested number in bold."""
        return html_table(str(self), self.path, chosen=self.n_clusters)


def select_n_clusters(
    X: Any, n_clusters: Iterable[int] = range(2, 16), *, estimator: Clustering | None = None
) -> ClusterSelection:
    """Fit a range of numbers of clusters and suggest the one at the elbow of the loss.

    Parameters
    ----------
    X : array-like or Tensor
        Images, as for `DTIKMeans.fit`.
    n_clusters : iterable of int, default=range(2, 16)
        The numbers to try, at least three of them.
    estimator : DTIKMeans or DTIGaussianMixture, default=None
        What to fit, with its parameters; by default ``DTIKMeans()``. Its `checkpoint_dir`, if any,
        gets a folder for each number.

    Returns
    -------
    selection : ClusterSelection

    Notes
    -----
    The loss falls with every further cluster: fast as long as each finds a group of its own, slowly
    once groups are only cut up. The elbow is the number whose point lies furthest below the
    straight line between the two ends. On photographs there is often no clear one (Monnier et al.,
    appendix C.3).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset.images import DTIKMeans, select_n_clusters
    >>> images = load_digits(n_class=3).images[:150]
    >>> quick = DTIKMeans(transforms=(), n_init=1, max_epochs=50, random_state=0)
    >>> print(select_n_clusters(images, range(1, 6), estimator=quick))
    The loss bends most at 3 clusters.
    """
    template = DTIKMeans() if estimator is None else estimator
    models, interrupted = _fit_each(template, _numbers(n_clusters), X)
    sizes = {
        number: np.bincount(model.labels_, minlength=number) for number, model in models.items()
    }
    path = pd.DataFrame(
        {
            "loss": [model.inertia_ for model in models.values()],
            "smallest": [counts.min() / counts.sum() for counts in sizes.values()],
        },
        index=pd.Index(list(models), name="n_clusters"),
    )
    return ClusterSelection(path, models, interrupted)


def _fit_each(
    template: Clustering, numbers: Sequence[int], X: Any
) -> tuple[dict[int, Clustering], bool]:
    """Return the models, and whether Ctrl-C came; a half-trained one is kept if it is the only."""
    models: dict[int, Clustering] = {}
    for number in numbers:
        try:
            model = _with_clusters(template, number).fit(X)
        except KeyboardInterrupt:
            if not models:
                raise
            return models, True
        if model.interrupted_:
            return models or {number: model}, True
        models[number] = model
    return models, False


def _with_clusters(template: Clustering, number: int) -> Clustering:
    model = clone(template).set_params(n_clusters=number)
    if model.checkpoint_dir is not None:
        model.set_params(checkpoint_dir=Path(model.checkpoint_dir) / f"{number}-clusters")
    return model


def elbow(numbers: Sequence[int], losses: Sequence[float]) -> int:
    """Return the number whose loss lies furthest below the line between the ends.

    Both axes are scaled to the range they cover.

    Examples
    --------
    >>> from kindset.images import elbow
    >>> elbow([1, 2, 3, 4, 5], [10.0, 6.0, 2.0, 1.8, 1.6])
    3
    """
    x, y = np.asarray(numbers, dtype=float), np.asarray(losses, dtype=float)
    spread = y[0] - y[-1]
    if len(x) < 3 or spread <= 0:
        return int(numbers[0])
    below = (x[-1] - x) / (x[-1] - x[0]) - (y - y[-1]) / spread
    return int(numbers[int(below.argmax())])


def _numbers(n_clusters: Iterable[int]) -> list[int]:
    numbers: list[Any] = list(n_clusters) if isinstance(n_clusters, Iterable) else []
    if not all(isinstance(one, Integral) and int(one) >= 1 for one in numbers) or (
        len(set(numbers)) < 3
    ):
        raise InputError(
            f"n_clusters must be at least three whole numbers from 1, got {n_clusters!r}."
        )
    return sorted({int(one) for one in numbers})
