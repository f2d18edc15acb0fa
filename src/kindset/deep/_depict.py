"""DEPICT: an autoencoder with a softmax layer that learns from its own sharpened predictions."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from kindset._torch.image_set import ImageSet, ImageShape
from kindset._validation import Choice, Constraint, Number, Optional, Values, Whole
from kindset.deep._agglomeration import agglomerate
from kindset.deep._assignment import SoftmaxAssignment
from kindset.deep._base import COMMON_CONSTRAINTS
from kindset.deep._graph import Floats, Labels, cluster_means
from kindset.deep._networks import SCALINGS, ConvolutionalAutoencoder, built
from kindset.deep._outcome import Outcome, check_embedding, conclude, embed
from kindset.deep._parameters import check_sizes
from kindset.deep._pretraining import AutoencoderTraining, StartsFromAutoencoder
from kindset.deep._targets import TARGETS, sharpened
from kindset.deep._training import Stage

_WARM_UP, _CLUSTERING = "warm-up", "clustering"
_STARTS = 20  # of k-means


class DEPICTTraining(AutoencoderTraining):
    """Trains autoencoder and softmax layer: on the first clusters, then on sharpened ones."""

    def __init__(
        self,
        settings: Any,
        images: ImageSet,
        network: ConvolutionalAutoencoder,
        generator: torch.Generator,
    ) -> None:
        n_features = network.dense.out_features
        head: nn.Linear = built(lambda: nn.Linear(n_features, settings.n_clusters))
        super().__init__(settings, images, network, head, generator)
        self.head = head
        self.seed = int(torch.randint(2**31 - 1, (), generator=generator))
        self.probabilities = torch.empty(0)
        self.targets = torch.empty(0)

    def own_stages(self) -> Sequence[Stage]:
        """Return the warm-up, and learning from sharpened predictions."""
        settings = self.settings
        stages = (
            Stage(_WARM_UP, settings.warmup_epochs),
            Stage(_CLUSTERING, settings.max_epochs),
        )
        return tuple(stage for stage in stages if stage.max_epochs)

    def open_stage(self) -> None:
        """Find the first clusters once there is an embedding; later sharpen the predictions."""
        super().open_stage()
        if self.stage_name in (_WARM_UP, _CLUSTERING) and self.labels is None:
            points = self.embed()
            check_embedding(points)
            self.labels = self._first_labels(points)
            self._set_head(points, self.labels)
        if self.stage_name == _CLUSTERING:
            self.probabilities = self._predict()
            self.targets = sharpened(self.probabilities, self.settings.target)

    def _first_labels(self, points: Floats) -> Labels:
        settings = self.settings
        if settings.init == "graph":
            return agglomerate(
                points, settings.n_clusters, min_cluster_fraction=settings.min_cluster_fraction
            )
        k_means = KMeans(settings.n_clusters, n_init=_STARTS, random_state=self.seed)
        return k_means.fit_predict(points).astype(np.int64)

    @torch.no_grad()
    def _set_head(self, points: Floats, labels: Labels) -> None:
        """Point the softmax layer's weights at the means of the clusters."""
        means = torch.from_numpy(cluster_means(points, labels))
        head = self.head
        head.weight.zero_()
        head.weight[: len(means)] = nn.functional.normalize(means).to(head.weight)
        head.bias.zero_()

    @torch.no_grad()
    def _predict(self) -> Tensor:
        """Return the probabilities of the clusters of all images."""
        points = torch.from_numpy(self.embed()).to(self.device)
        return self.head(points).softmax(dim=1).cpu()

    def clustering_loss(self, rows: Tensor, disturbed: Tensor, clean: Tensor) -> Tensor:
        """Return the cross entropy between what is predicted under noise, and the target."""
        if self.stage_name == _WARM_UP:
            assert self.labels is not None
            target = torch.from_numpy(self.labels)[rows]
        else:
            target = self.targets[rows]
            with torch.no_grad():
                self.probabilities[rows] = self.head(clean).softmax(dim=1).cpu()
        return cross_entropy(self.head(disturbed), target.to(self.device))

    def combined(self, reconstruction: Tensor, clustering: Tensor) -> Tensor:
        """Return the weighted sum."""
        return clustering + self.settings.reconstruction_weight * reconstruction

    def close_epoch(self) -> None:
        """Sharpen the predictions of the epoch; converge when that changes nothing any more."""
        if self.stage_name != _CLUSTERING:
            return
        before = self.targets
        self.targets = sharpened(self.probabilities, self.settings.target)
        self.relabel(self.probabilities.argmax(dim=1).numpy())
        self.converged = bool((self.targets - before).square().mean() < self.settings.tol)

    def outcome(self) -> Outcome:
        """Return the likeliest clusters; before the warm-up, the first ones."""
        if self.labels is None:
            points = embed(self.network, self.images)
            check_embedding(points)
            self._set_head(points, self._first_labels(points))
        return conclude(self.network, self.images, self._assign, self.settings.n_clusters)

    def _assign(self, points: NDArray[np.float64]) -> SoftmaxAssignment:
        head = self.head
        weights, bias = (one.detach().cpu().double().numpy() for one in (head.weight, head.bias))
        return SoftmaxAssignment(weights=weights.copy(), bias=bias.copy())

    def own_state(self) -> dict[str, Any]:
        """Return predictions and targets."""
        own = {"probabilities": self.probabilities, "targets": self.targets}
        return {**super().own_state(), **own}

    def load_own_state(self, state: dict[str, Any]) -> None:
        """Take over predictions and targets."""
        super().load_own_state(state)
        self.probabilities, self.targets = state["probabilities"], state["targets"]


class DEPICT(StartsFromAutoencoder):
    """Deep embedded regularised clustering: an autoencoder with a softmax layer on top.

    A convolutional autoencoder learns to reconstruct images from which noise has removed pixels.
    Its embedding is clustered once. Then a softmax layer learns to predict, under noise, what it
    predicts without, but sharper and with clusters of like size, while the reconstruction goes on.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    reconstruction_weight : float, default=1.0
        How much the reconstruction counts beside the clustering.
    init : {"graph", "k-means"}, default="graph"
        What finds the first clusters: merging of nearest neighbours, or k-means.
    target : {"squared", "rooted"}, default="squared"
        How predictions are sharpened: p² / f or p / √f, where f is the size of the cluster.
    n_features : int, default=None
        Dimensions of the embedding; by default as many as clusters.
    widths : list of two int, default=(32, 32)
        Maps of the two convolutions.
    dropout : float, default=0.1
        Share of values that noise removes.
    scaling : {"centred", "symmetric", "unit", "power"}, default="centred"
        How pixels are scaled: minus the mean image and over their deviation, to −1 and 1, to 0 and
        1, or to a mean square of 1.
    pretrained : dict, default=None
        The `autoencoder_` of another model for images of the same shape, in place of pretraining.
    pretrain_epochs : int, default=25
        Epochs of the autoencoder alone.
    warmup_epochs : int, default=3
        Epochs of learning the first clusters.
    max_epochs : int, default=20
        The most epochs of learning from sharpened predictions.
    tol : float, default=1e-7
        The training ends when the mean squared change of the sharpened predictions is below it.
    min_cluster_fraction : float, default=0.25
        The first merging goes back to where enough clusters had at least this share of the mean
        size. With 0 clusters of a few outliers can take the place of true ones.
    batch_size : int, default=100
        Images in a step.
    learning_rate : float, default=0.001
        Of Adam.
    time_budget : float, default=None
        Seconds after which learning ends, in parts for each stage. The result then depends on the
        machine.
    n_snapshots, image_shape, device, checkpoint_dir, random_state, verbose
        As for `JULE`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training image, the largest cluster first.
    autoencoder_ : dict of str to ndarray
        The autoencoder after pretraining, for the parameter `pretrained` of others; not saved.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in the embedding; those without images are left out.
    history_ : Bunch
        One entry for each epoch: `epoch`, `stage`, `loss`, its parts `reconstruction` and
        `clustering`, `changed` (the share of images with another cluster than before) and the size
        of the `smallest` cluster.
    converged_ : bool
        Whether `tol` ended the training.
    snapshots_, n_iter_, interrupted_, n_features_in_, feature_names_in_
        As for `JULE`.

    See Also
    --------
    IDEC : The same idea with dense layers and centres.

    References
    ----------
    K. Ghasedi Dizaji, A. Herandi, C. Deng, W. Cai and H. Huang, "Deep Clustering via Joint
    Convolutional Autoencoder Embedding and Relative Entropy Minimization", ICCV (2017).

    Examples
    --------
    >>> from kindset.deep import DEPICT
    >>> from sklearn.datasets import load_digits
    >>> images = load_digits(n_class=3).images[:120]
    >>> model = DEPICT(3, pretrain_epochs=5, max_epochs=2, random_state=0).fit(images)
    >>> model.predict_proba(images).shape
    (120, 3)
    """

    _training = DEPICTTraining
    _assignment_kind = SoftmaxAssignment
    _assignment: SoftmaxAssignment
    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        **COMMON_CONSTRAINTS,
        "reconstruction_weight": Number(least=0),
        "init": Choice("graph", "k-means"),
        "target": Choice(*TARGETS),
        "n_features": Optional(Whole(1)),
        "widths": Values("a list of two whole numbers"),
        "dropout": Number(least=0, below=1),
        "scaling": Choice(*SCALINGS),
        "pretrain_epochs": Whole(0),
        "warmup_epochs": Whole(0),
        "max_epochs": Whole(0),
        "tol": Number(least=0),
        "min_cluster_fraction": Number(least=0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reconstruction_weight: float = 1.0,
        init: str = "graph",
        target: str = "squared",
        n_features: int | None = None,
        widths: Sequence[int] = (32, 32),
        dropout: float = 0.1,
        scaling: str = "centred",
        pretrained: Any = None,
        pretrain_epochs: int = 25,
        warmup_epochs: int = 3,
        max_epochs: int = 20,
        tol: float = 1e-7,
        min_cluster_fraction: float = 0.25,
        batch_size: int = 100,
        learning_rate: float = 1e-3,
        time_budget: float | None = None,
        n_snapshots: int = 0,
        image_shape: tuple[int, ...] | None = None,
        device: str = "auto",
        checkpoint_dir: Any = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_clusters, batch_size=batch_size, learning_rate=learning_rate,
            time_budget=time_budget, n_snapshots=n_snapshots, image_shape=image_shape,
            device=device, checkpoint_dir=checkpoint_dir, random_state=random_state,
            verbose=verbose,
        )  # fmt: skip
        self.reconstruction_weight = reconstruction_weight
        self.init = init
        self.target = target
        self.n_features = n_features
        self.widths = widths
        self.dropout = dropout
        self.scaling = scaling
        self.pretrained = pretrained
        self.pretrain_epochs = pretrain_epochs
        self.warmup_epochs = warmup_epochs
        self.max_epochs = max_epochs
        self.tol = tol
        self.min_cluster_fraction = min_cluster_fraction

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the clusters, of shape (n_samples, n_clusters)."""
        check_is_fitted(self)
        return self._assignment.probabilities(self._embed(X))

    def _make_network(self, shape: ImageShape) -> nn.Module:
        first, second = check_sizes("widths", self.widths, 2)
        n_features = self.n_clusters if self.n_features is None else self.n_features
        return ConvolutionalAutoencoder(shape, n_features, (first, second))
