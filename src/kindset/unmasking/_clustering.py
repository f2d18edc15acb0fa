"""The estimator: many small cells, joined where they cannot be told apart."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from kindset._arrays import check_range
from kindset._centering import far_mean
from kindset._interrupt import held_interrupts
from kindset._validation import (
    Choice,
    Constraint,
    Either,
    Flag,
    Number,
    Optional,
    Seed,
    Values,
    Whole,
    Workers,
    all_or_nothing,
    check_parameters,
    check_values,
    validated,
)
from kindset.exceptions import InputError
from kindset.unmasking._augment import augment_images, image_shape
from kindset.unmasking._cells import (
    INITS,
    Cells,
    dissolve_small,
    given_cells,
    means,
    nearest,
    vote,
)
from kindset.unmasking._graph import CUTS, cluster_graph
from kindset.unmasking._merging import MERGINGS, Hierarchy, agglomerate, largest_fall
from kindset.unmasking._pairs import (
    CLASSIFIERS,
    SCORINGS,
    FloatArray,
    IntArray,
    Unmasking,
    split,
)

_DTYPES = [np.float32, np.float64]
_SAMPLES_PER_CELL = 8

_PAIR_CONSTRAINTS: dict[str, Constraint] = {
    "n_iterations": Whole(1),
    "n_removed": Optional(Whole(1)),
    "C": Number(above=0),
    "classifier": Choice(*CLASSIFIERS),
    "scoring": Choice(*SCORINGS),
    "cross_fit": Flag(),
    "random_state": Seed(),
    "n_jobs": Workers(),
}
"""What unmasking a single pair depends on."""


class UnmaskingClustering(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Clustering by unmasking: groups that a classifier cannot tell apart belong together.

    The samples are first divided into many small cells. For neighbouring cells a linear classifier
    learns to tell one half of their samples apart and is tested on the other half; the features
    that helped it most are removed, and it has to try again. Cells that are told apart badly
    belong together.

    Parameters
    ----------
    n_clusters : int or None, default=8
        Number of clusters. None finds it: with the graph, where modularity is highest; with greedy
        merging, before the merge whose score falls most.
    n_initial : int, default=2000
        Number of cells, if there are at least eight samples for each; fewer otherwise.
    n_divisions : int, default=5
        How many times the samples are divided into cells. Each division has its own scores; cells
        that share samples hold them together, and the majority decides. Takes part with the
        graph, and where cells are drawn (k-means, random).
    init : {"kmeans", "random", "augment"} or array-like of shape (n_samples,), default="kmeans"
        How cells are formed: by k-means; by random samples, each with those that are nearest to
        it; by each image with transformed copies of it; or the cell of each sample.
    n_iterations : int, default=8
        How many times a pair is told apart, with fewer features each time.
    n_removed : int or None, default=None
        Number of features removed after each iteration; by default an equal share, so that some
        are left for the last one.
    C : float, default=1.0
        Weight of the errors in the classifier's objective, as in scikit-learn's `LinearSVC`.
    classifier : {"svm", "ridge", "logistic"}, default="svm"
        Linear classifier: squared hinge, squared, or logistic loss.
    scoring : {"accuracy", "balanced", "shrunk", "margin"}, default="accuracy"
        How a pair's accuracy is counted: the share of all test samples; the mean of both groups'
        shares; the same with one sample added to each group, half right; the same with samples
        close to the boundary counted in part. The score of a pair is one minus its mean.
    linkage : {"graph", "greedy"}, default="graph"
        Join cells all at once, as communities of the graph whose edges are the scores; or merge
        greedily by rounds, with new scores for the merged clusters.
    cut : {"modularity", "spectral"}, default="modularity"
        How the graph is cut.
    merging : {"matching", "nearest", "mutual"}, default="matching"
        Greedy merging in a round: every cluster with its best partner, but none twice; the same
        with chains; only pairs that prefer each other.
    assign : {"cell", "centroid"}, default="cell"
        The cluster of a new sample: that of the nearest cell, or of the nearest centroid.
    n_candidates : int or None, default=5
        Only pairs of which one is among that many nearest to the other are scored; None scores
        all.
    max_per_cluster : int or None, default=120
        Largest number of samples of a group that take part in its scores, drawn at random.
    cross_fit : bool, default=True
        Whether the halves for training and testing also change places.
    consolidate : bool, default=True
        Whether `labels_` follow the same rule as `predict`. Only with centroids, or with cells
        that were given, can it make a difference.
    image_shape : tuple of int, default=None
        Shape of the images, for ``init="augment"``; square ones are recognised.
    augmentations : sequence of str
        What is done to the copies; see `augment_images`.
    n_copies : int, default=8
        Number of copies of each image.
    random_state : int, RandomState instance or None, default=None
        Seed of cells, halves and cuts.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, the largest cluster first.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Mean of each cluster.
    n_clusters_ : int
        Number of clusters found.
    initial_labels_ : ndarray of shape (n_samples,)
        Cell of each sample in the first division.
    cell_centers_ : ndarray of shape (n_cells in all divisions, n_features)
        The point that stands for each cell, division after division.
    cell_labels_ : ndarray of shape (n_cells in all divisions,)
        Cluster of each cell.
    division_sizes_ : ndarray of int
        Number of cells in each division.
    merge_tree_ : ndarray of shape (n_cells - 1, 4)
        All merges from the cells of the first division to one cluster, in the form of
        `scipy.cluster.hierarchy.linkage`.
    merge_scores_ : ndarray of shape (n_cells - 1,)
        Score of each merge: high where the merged clusters were hard to tell apart.
    curves_ : ndarray of shape (n_cells - 1, n_iterations)
        Accuracies between the two clusters of each merge as features went.
    offset_ : ndarray of shape (n_features,)
        What is subtracted from all samples first: zeros, or the mean of data far from the origin.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the training data had names that are all strings.

    See Also
    --------
    unmask : The accuracy curve of two groups of samples.

    Notes
    -----
    The classifiers see the features as they are: scale them like for any linear SVM, for example
    pixels from 0 to 1. Data far from the origin (timestamps, for example) are centred first, and
    numbers too large or too small to be squared are refused. 32-bit data are worked on in 32 bits.
    Beside the data, memory is needed for
    one copy of the samples that take part and 8 to 16 bytes for each two cells. Ctrl-C ends a fit
    with `KeyboardInterrupt` and leaves the estimator as it was: nothing is kept half merged.

    References
    ----------
    M.-I. Georgescu and R. T. Ionescu, "Clustering images by unmasking – a new baseline",
    ICIP (2019).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset import UnmaskingClustering
    >>> from kindset.evaluation import clustering_accuracy
    >>> digits = load_digits()
    >>> model = UnmaskingClustering(10, random_state=0).fit(digits.data / 16)
    >>> clustering_accuracy(digits.target, model.labels_) > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        "n_clusters": Optional(Whole(1)),
        "n_initial": Whole(1),
        "n_divisions": Whole(1),
        "init": Either(Choice(*INITS, "augment"), Values("the cell of each sample")),
        "linkage": Choice("graph", "greedy"),
        "cut": Choice(*CUTS),
        "merging": Choice(*MERGINGS),
        "assign": Choice("cell", "centroid"),
        "n_candidates": Optional(Whole(1)),
        "max_per_cluster": Optional(Whole(4)),
        "consolidate": Flag(),
        "n_copies": Whole(3),
        **_PAIR_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        n_initial: int = 2000,
        n_divisions: int = 5,
        init: str | Sequence[int] | IntArray = "kmeans",
        n_iterations: int = 8,
        n_removed: int | None = None,
        C: float = 1.0,
        classifier: str = "svm",
        scoring: str = "accuracy",
        linkage: str = "graph",
        cut: str = "modularity",
        merging: str = "matching",
        assign: str = "cell",
        n_candidates: int | None = 5,
        max_per_cluster: int | None = 120,
        cross_fit: bool = True,
        consolidate: bool = True,
        image_shape: Sequence[int] | None = None,
        augmentations: Sequence[str] = ("noise", "rotation", "crop", "illumination"),
        n_copies: int = 8,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_initial = n_initial
        self.n_divisions = n_divisions
        self.init = init
        self.n_iterations = n_iterations
        self.n_removed = n_removed
        self.C = C
        self.classifier = classifier
        self.scoring = scoring
        self.linkage = linkage
        self.cut = cut
        self.merging = merging
        self.assign = assign
        self.n_candidates = n_candidates
        self.max_per_cluster = max_per_cluster
        self.cross_fit = cross_fit
        self.consolidate = consolidate
        self.image_shape = image_shape
        self.augmentations = augmentations
        self.n_copies = n_copies
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(
        cls, n_clusters: int | None = 8, n_initial: int = 1000, **parameters: Any
    ) -> "UnmaskingClustering":
        """Return an estimator set as in the publication, as far as that can be read literally.

        Random cells, all pairs, eight iterations, plain accuracy, greedy merging of every cluster
        with its best partner, and new samples by the nearest centroid.

        Parameters
        ----------
        n_clusters : int or None, default=8
        n_initial : int, default=1000
        **parameters
            Any others that shall differ.
        """
        literal = {
            "init": "random", "linkage": "greedy", "merging": "nearest", "scoring": "accuracy",
            "assign": "centroid", "n_candidates": None, "cross_fit": False,
        }  # fmt: skip
        return cls(n_clusters, n_initial=n_initial, **{**literal, **parameters})

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self : UnmaskingClustering
        """
        with all_or_nothing(self):
            check_parameters(self)
            X = validated(self, X, dtype=_DTYPES, order="C", ensure_min_samples=2)
            check_range(X)
            self._check_number(len(X))
            self.offset_ = far_mean(X)
            X = self._shift(X)
            rng = check_random_state(self.random_state)
            with held_interrupts():
                samples, divisions = self._make_cells(X, rng)
                hierarchy, cell_labels = self._join(samples, divisions, rng)
            self._store(X, divisions, hierarchy, cell_labels)
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of each sample, by the nearest cell or centroid (see `assign`)."""
        return self._nearest(self._validate(X))

    def transform(self, X: Any) -> FloatArray:
        """Return the distances to the clusters' means, of shape (n_samples, n_clusters)."""
        return pairwise_distances(self._validate(X), self._shift(self.cluster_centers_))

    def unmask(self, A: Any, B: Any) -> FloatArray:
        """Return the accuracies with which two groups of samples are told apart as features go.

        Parameters
        ----------
        A, B : array-like of shape (n_samples, n_features)
            The groups, of at least two samples each; all take part.

        Returns
        -------
        curve : ndarray of shape (n_iterations,)
        """
        check_values(vars(self), _PAIR_CONSTRAINTS)
        A, B = (
            check_array(group, dtype=_DTYPES, ensure_min_samples=2, input_name=name)
            for name, group in (("A", A), ("B", B))
        )
        if A.shape[1] != B.shape[1]:
            raise InputError(f"A has {A.shape[1]} features, B has {B.shape[1]}.")
        rng = check_random_state(self.random_state)
        groups = [split(np.arange(len(A)), rng), split(len(A) + np.arange(len(B)), rng)]
        X = np.concatenate([A, B])
        check_range(X, "A and B")
        return self._unmasking().curves(X - far_mean(X), groups, np.array([[0, 1]]))[0]

    def _shift(self, X: NDArray[Any]) -> NDArray[Any]:
        """Move samples, or centres, to where the kernels work: near the origin."""
        return X - self.offset_ if self.offset_.any() else X

    def _nearest(self, X: NDArray[Any]) -> IntArray:
        """Return the cluster of shifted samples."""
        if self.assign == "centroid":
            return nearest(X, self._shift(self.cluster_centers_))
        ends = np.cumsum(self.division_sizes_)[:-1]
        cells = np.split(self._shift(self.cell_centers_), ends)
        parts = zip(cells, np.split(self.cell_labels_, ends), strict=True)
        return vote(np.stack([labels[nearest(X, centers)] for centers, labels in parts], axis=1))

    def _unmasking(self) -> Unmasking:
        return Unmasking(
            n_iterations=self.n_iterations, n_removed=self.n_removed, C=float(self.C),
            classifier=self.classifier, scoring=self.scoring, cross_fit=bool(self.cross_fit),
            n_jobs=self.n_jobs, verbose=bool(self.verbose),
        )  # fmt: skip

    def _make_cells(
        self, X: NDArray[Any], rng: np.random.RandomState
    ) -> tuple[NDArray[Any], list[Cells]]:
        """Return the samples that are compared, and their divisions into cells."""
        if not isinstance(self.init, str):
            return X, [dissolve_small(X, given_cells(X, self.init), self.n_clusters or 1)]
        if self.init == "augment":
            shape = image_shape(X.shape[1], self.image_shape)
            images, origin = augment_images(
                X.reshape(-1, *shape), self.n_copies, transformations=self.augmentations,
                random_state=rng,
            )  # fmt: skip
            return images.reshape(len(images), -1), [Cells(origin, X.copy())]
        wanted = max(len(X) // _SAMPLES_PER_CELL, self.n_clusters or 1)
        n_cells = min(self.n_initial, wanted, len(X))
        n_divisions = self.n_divisions if self.linkage == "graph" else 1
        drawn = [INITS[self.init](X, n_cells, rng) for _ in range(n_divisions)]
        return X, [dissolve_small(X, cells, self.n_clusters or 1) for cells in drawn]

    def _join(
        self, X: NDArray[Any], divisions: list[Cells], rng: np.random.RandomState
    ) -> tuple[Hierarchy, IntArray]:
        """Return the merges of all cells, and the cluster of each cell."""
        most = max(map(len, divisions))
        if self.n_clusters is not None and most < self.n_clusters:
            warnings.warn(
                f"There are only {most} cells that hold enough different samples: "
                f"{most} clusters were found instead of {self.n_clusters}.",
                stacklevel=3,
            )
        wanted = None if self.n_clusters is None else min(self.n_clusters, most)
        common: dict[str, Any] = {
            "n_candidates": self.n_candidates, "max_size": self.max_per_cluster, "rng": rng
        }  # fmt: skip
        if self.linkage == "graph":
            return cluster_graph(
                X, divisions, self._unmasking(), cut=self.cut, n_clusters=wanted, **common
            )
        members = divisions[0].members()
        hierarchy = agglomerate(X, members, self._unmasking(), merging=self.merging, **common)
        return hierarchy, hierarchy.cut(wanted or largest_fall(hierarchy.scores))

    def _store(
        self, X: NDArray[Any], divisions: list[Cells], hierarchy: Hierarchy, cell_labels: IntArray
    ) -> None:
        """Set the fitted attributes, the largest cluster first."""
        # With augmentation the samples of a cell are one image and its copies: cell i is image i.
        own = [
            cells.labels if len(cells.labels) == len(X) else np.arange(len(X))
            for cells in divisions
        ]
        self.division_sizes_ = np.array([len(cells) for cells in divisions])
        self.initial_labels_ = own[0]
        self.cell_centers_ = np.concatenate([cells.centers for cells in divisions]) + self.offset_
        self.cell_labels_: IntArray
        self.cluster_centers_: NDArray[Any]
        labels = self._settle(X, own, cell_labels)
        sizes = np.bincount(labels)
        order = np.lexsort((np.arange(len(sizes)), -sizes))
        rank = np.argsort(order)
        self.labels_, self.cell_labels_ = rank[labels], rank[self.cell_labels_]
        self.cluster_centers_ = self.cluster_centers_[order]
        self.n_clusters_ = self._n_features_out = len(sizes)
        self.merge_tree_, self.merge_scores_ = hierarchy.tree, hierarchy.scores
        self.curves_ = hierarchy.curves
        if self.n_clusters_ < min(self.n_clusters or 1, self.division_sizes_.max()):
            warnings.warn(
                f"{self.n_clusters_} clusters were found instead of {self.n_clusters}: no sample "
                "belongs to the others.",
                stacklevel=3,
            )

    def _settle(self, X: NDArray[Any], own: list[IntArray], cell_labels: IntArray) -> IntArray:
        """Return the cluster of each sample; cells of clusters without samples go to others."""
        starts = np.cumsum(self.division_sizes_) - self.division_sizes_
        # Where cells were not given, and are not moved, every sample is in the nearest one already.
        in_nearest = self.assign == "cell" and isinstance(self.init, str)
        settled = (in_nearest and not self.offset_.any()) or not self.consolidate
        while True:
            votes = [cell_labels[start + one] for start, one in zip(starts, own, strict=True)]
            labels = vote(np.stack(votes, axis=1))
            n_clusters = int(cell_labels.max()) + 1
            self.cell_labels_ = cell_labels
            if np.bincount(labels, minlength=n_clusters).all():
                self.cluster_centers_ = means(X, labels, n_clusters) + self.offset_
                labels = labels if settled else self._nearest(X)
            left = np.unique(labels)
            if len(left) == n_clusters:
                return labels
            cell_labels = self._move_cells(cell_labels, left, means(X, labels, n_clusters))

    def _move_cells(self, cell_labels: IntArray, left: IntArray, centers: NDArray[Any]) -> IntArray:
        """Renumber the clusters that are left, and give the cells of others to the nearest."""
        moved = np.searchsorted(left, cell_labels).astype(np.int64)
        gone = ~np.isin(cell_labels, left)
        if gone.any():
            moved[gone] = nearest(self._shift(self.cell_centers_[gone]), centers[left])
        return moved

    def _validate(self, X: Any) -> NDArray[Any]:
        """Return checked samples, shifted."""
        check_is_fitted(self, "cluster_centers_")
        X = validated(self, X, dtype=_DTYPES, order="C", reset=False)
        check_range(X, spread=False)
        return self._shift(X)

    def _check_number(self, n_samples: int) -> None:
        if (self.n_clusters or 1) > n_samples:
            raise InputError(
                f"n_samples={n_samples} should be >= n_clusters={self.n_clusters}.",
                parameter="n_clusters",
            )


def unmask(
    A: Any,
    B: Any,
    *,
    n_iterations: int = 8,
    n_removed: int | None = None,
    C: float = 1.0,
    classifier: str = "svm",
    scoring: str = "accuracy",
    cross_fit: bool = True,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Return the accuracies with which two groups of samples are told apart as features go.

    A curve that stays high says that the groups differ in much; one that falls soon, that they
    differed in a few features only.

    Parameters
    ----------
    A, B : array-like of shape (n_samples, n_features)
        The groups, of at least two samples each.
    n_iterations, n_removed, C, classifier, scoring, cross_fit, random_state
        See `UnmaskingClustering`.

    Returns
    -------
    curve : ndarray of shape (n_iterations,)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset.unmasking import unmask
    >>> X, y = load_digits(return_X_y=True)
    >>> zeros, ones = X[y == 0] / 16, X[y == 1] / 16
    >>> unmask(zeros, ones, random_state=0).round(2)
    array([1.  , 1.  , 1.  , 0.98, 0.98, 0.95, 0.86, 0.8 ])
    >>> unmask(zeros[::2], zeros[1::2], random_state=0).round(2)
    array([0.47, 0.47, 0.47, 0.48, 0.48, 0.47, 0.47, 0.49])
    """
    return UnmaskingClustering(
        n_iterations=n_iterations, n_removed=n_removed, C=C, classifier=classifier,
        scoring=scoring, cross_fit=cross_fit, random_state=random_state,
    ).unmask(A, B)  # fmt: skip
