"""DeepCluster: k-means of a network's features gives the labels that the network learns next."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from kindset._torch.image_set import ImageSet, ImageShape
from kindset._validation import Constraint, Flag, Optional, Values, Whole
from kindset.deep._assignment import CentreAssignment
from kindset.deep._augmentation import augmented
from kindset.deep._base import COMMON_CONSTRAINTS, DeepClustering
from kindset.deep._networks import Embedding, Scaling, built, convolutions, draw_weights
from kindset.deep._outcome import Outcome, check_embedding, conclude, embed
from kindset.deep._parameters import check_sizes
from kindset.deep._training import Stage, Training
from kindset.deep._whitening import Whitening

_KERNEL, _PADDING = 5, 2
_MOMENTUM, _WEIGHT_DECAY = 0.9, 1e-5
_DEVIATION = 0.01  # of the first weights of the top layer
_ITERATIONS = 20  # of k-means for the labels to learn
_STARTS = 20  # of k-means for the clusters
_PER_CLUSTER = 5  # pseudo-clusters


class WhitenedEmbedding(nn.Module):
    """A network, and the whitening of its features."""

    def __init__(self, features: nn.Module, whitening: Whitening) -> None:
        super().__init__()
        self.features = features
        self.whitening = whitening

    def forward(self, images: Tensor) -> Tensor:
        """Return whitened features as unit rows."""
        return self.whitening(self.features(images).double())


class DeepClusterTraining(Training):
    """Trains on the clusters of each epoch."""

    network: WhitenedEmbedding

    def __init__(
        self,
        settings: Any,
        images: ImageSet,
        network: WhitenedEmbedding,
        generator: torch.Generator,
    ) -> None:
        draw_weights(network, generator, None)
        network.features.scaling.adapt(images, "centred")  # type: ignore[union-attr, operator]
        optimizer = torch.optim.SGD(
            network.parameters(), settings.learning_rate, _MOMENTUM, weight_decay=_WEIGHT_DECAY
        )
        model = nn.ModuleDict({"network": network})
        super().__init__(settings, images, model, optimizer, generator)
        self.seed = self._draw_seed()
        n_pseudo = settings.n_pseudo_clusters or _PER_CLUSTER * settings.n_clusters
        self.n_pseudo = min(n_pseudo, len(images))
        self.pseudo = torch.empty(0, dtype=torch.int64)
        self.top: nn.Linear
        self.top_optimizer: torch.optim.Optimizer

    def _draw_seed(self) -> int:
        return int(torch.randint(2**31 - 1, (), generator=self.generator))

    def plan(self) -> Sequence[Stage]:
        """Return the one stage."""
        return (Stage("clustering", self.settings.max_epochs),)

    def open_epoch(self) -> None:
        """Cluster the features, and begin a new top layer that learns these clusters."""
        features = self._features()
        check_embedding(features)
        self.network.whitening.adapt(features)
        with torch.no_grad():
            points = self.network.whitening(torch.from_numpy(features).double()).numpy()
        k_means = KMeans(self.n_pseudo, max_iter=_ITERATIONS, random_state=self._draw_seed())
        self.pseudo = torch.from_numpy(k_means.fit_predict(points).astype(np.int64))
        n_features = features.shape[1]
        self.top = built(lambda: nn.Linear(n_features, self.n_pseudo)).to(self.device)
        draw_weights(self.top, self.generator, _DEVIATION)
        self.top_optimizer = torch.optim.SGD(
            self.top.parameters(), self.settings.learning_rate, weight_decay=_WEIGHT_DECAY
        )

    def _features(self) -> NDArray[np.floating]:
        """Return the features of all images, before they are whitened."""
        return embed(self.network.features, self.images)

    def batches(self) -> Iterable[Tensor]:
        """Return batches in which every pseudo-cluster has about the same share."""
        rows = _balanced(self.pseudo, self.generator)
        return rows.tensor_split(max(1, -(-len(rows) // self.settings.batch_size)))

    def train_step(self, rows: Tensor) -> dict[str, float]:
        """Learn to recognise the pseudo-clusters."""
        images = self.pick(rows)
        if self.settings.augment:
            images = augmented(images, self.generator)
        scores = self.top(torch.relu(self.network.features(images)))
        loss = cross_entropy(scores, self.pseudo[rows].to(self.device))
        self.top_optimizer.zero_grad(set_to_none=True)
        self.minimise(loss)
        self.top_optimizer.step()
        return {"loss": loss.item()}

    def outcome(self) -> Outcome:
        """Cluster the whitened features by k-means."""
        self.network.whitening.adapt(self._features())
        return conclude(self.network, self.images, self._assign, self.settings.n_clusters)

    def _assign(self, points: NDArray[np.float64]) -> CentreAssignment:
        k_means = KMeans(self.settings.n_clusters, n_init=_STARTS, random_state=self.seed)
        return CentreAssignment(points=k_means.fit(points).cluster_centers_)


def _balanced(labels: Tensor, generator: torch.Generator) -> Tensor:
    """Draw as many rows as there are, about as many of each cluster, in random order."""
    clusters = labels.unique()
    n_each = len(labels) // len(clusters) + 1
    drawn = []
    for cluster in clusters:
        members = (labels == cluster).nonzero().ravel()
        if len(members) >= n_each:
            chosen = torch.randperm(len(members), generator=generator)[:n_each]
        else:
            chosen = torch.randint(len(members), (n_each,), generator=generator)
        drawn.append(members[chosen])
    rows = torch.cat(drawn)
    return rows[torch.randperm(len(rows), generator=generator)][: len(labels)]


class DeepCluster(DeepClustering):
    """A network learns the clusters that k-means finds in its own features, epoch after epoch.

    In each epoch the features of all images are whitened and clustered by k-means into more
    clusters than are wanted. A new top layer and the network learn to recognise these clusters in
    distorted images. At last k-means finds the clusters in the whitened features.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_pseudo_clusters : int, default=None
        Clusters that the network learns in each epoch; by default five times `n_clusters`.
    n_features : int, default=64
        Features that the network computes.
    n_components : int, default=16
        Principal components of the features that are clustered: the dimensions of the embedding.
    widths : list of int, default=(16, 32)
        Maps of each convolution.
    augment : bool, default=True
        Whether the network learns from images that are turned, sheared, scaled and moved a little.
    max_epochs : int, default=15
        Epochs of learning.
    batch_size : int, default=256
        Images in a step.
    learning_rate : float, default=0.05
        Of stochastic gradient descent.
    time_budget : float, default=None
        Seconds after which learning ends. The result then depends on the machine.
    n_snapshots, image_shape, device, checkpoint_dir, random_state, verbose
        As for `JULE`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training image, the largest cluster first.
    cluster_centers_ : ndarray of shape (n_clusters, n_components)
        The centroids in the embedding, which are not of unit length.
    history_ : Bunch
        One entry for each epoch: `epoch`, `stage` and `loss`.
    converged_, snapshots_, n_iter_, interrupted_, n_features_in_, feature_names_in_
        As for `JULE`.

    See Also
    --------
    JULE : Clusters that merge take the place of k-means.

    References
    ----------
    M. Caron, P. Bojanowski, A. Joulin and M. Douze, "Deep Clustering for Unsupervised Learning of
    Visual Features", ECCV (2018).

    Examples
    --------
    >>> from kindset.deep import DeepCluster
    >>> from sklearn.datasets import load_digits
    >>> images = load_digits(n_class=3).images[:120]
    >>> model = DeepCluster(3, max_epochs=2, random_state=0).fit(images)
    >>> model.transform(images).shape
    (120, 16)
    """

    _training = DeepClusterTraining
    _assignment_kind = CentreAssignment
    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        **COMMON_CONSTRAINTS,
        "n_pseudo_clusters": Optional(Whole(2)),
        "n_features": Whole(1),
        "n_components": Whole(1),
        "widths": Values("a list of whole numbers"),
        "augment": Flag(),
        "max_epochs": Whole(1),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_pseudo_clusters: int | None = None,
        n_features: int = 64,
        n_components: int = 16,
        widths: Sequence[int] = (16, 32),
        augment: bool = True,
        max_epochs: int = 15,
        batch_size: int = 256,
        learning_rate: float = 0.05,
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
        self.n_pseudo_clusters = n_pseudo_clusters
        self.n_features = n_features
        self.n_components = n_components
        self.widths = widths
        self.augment = augment
        self.max_epochs = max_epochs

    def _make_network(self, shape: ImageShape) -> nn.Module:
        scaling = Scaling(shape)
        body = convolutions(
            scaling.shape, check_sizes("widths", self.widths), self.n_features,
            kernel=_KERNEL, padding=_PADDING,
        )  # fmt: skip
        return WhitenedEmbedding(
            Embedding(scaling, body), Whitening(self.n_features, self.n_components)
        )
