"""JULE: clusters merge, and the network learns from them, in turns."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from kindset._torch.image_set import ImageSet, ImageShape, part_size
from kindset._validation import Choice, Constraint, Either, Number, Values, Whole
from kindset.deep._agglomeration import agglomerate, merge_down
from kindset.deep._assignment import NeighbourAssignment
from kindset.deep._base import COMMON_CONSTRAINTS, DeepClustering
from kindset.deep._graph import Floats, Labels, first_clusters, neighbor_graph
from kindset.deep._networks import Embedding, Scaling, UnitRows, convolutions, draw_weights
from kindset.deep._outcome import Outcome, check_embedding, conclude
from kindset.deep._parameters import check_sizes
from kindset.deep._training import Stage, Training
from kindset.deep._triplets import draw_triplets, triplet_loss

_KERNEL = 5
_DEVIATION = 0.01
_MOMENTUM, _WEIGHT_DECAY = 0.9, 5e-5
_RATE_DECAY, _RATE_POWER = 1e-4, 0.75
_MAPS = 32
_LEAST = 4  # pixels of a map
_SMALL = 20  # pixels of a side, up to which one convolution does


class JULETraining(Training):
    """Trains on clusters that merge from one stage to the next."""

    def __init__(
        self, settings: Any, images: ImageSet, network: nn.Module, generator: torch.Generator
    ) -> None:
        draw_weights(network, generator, _DEVIATION)
        optimizer = torch.optim.SGD(
            network.parameters(), settings.learning_rate, _MOMENTUM, weight_decay=_WEIGHT_DECAY
        )
        super().__init__(
            settings, images, nn.ModuleDict({"network": network}), optimizer, generator
        )

    def plan(self) -> Sequence[Stage]:
        """Link pixels to first clusters; their number decides how many periods there are."""
        points = _unit_pixels(self.images)
        graph = neighbor_graph(points, self.settings.n_neighbors)
        self.labels = first_clusters(points, graph, self.settings.n_clusters)
        n_clusters = int(self.labels.max()) + 1
        names: list[str] = []
        while not names or n_clusters > self.settings.n_clusters:
            names.append(f"{n_clusters} clusters")
            n_clusters -= self._n_merges(n_clusters)
        return tuple(Stage(name, self.settings.epochs_per_period) for name in names)

    def _n_merges(self, n_clusters: int) -> int:
        """Return how many merges a period begins with."""
        wanted = int(np.ceil(self.settings.unfolding_rate * n_clusters))
        return max(0, min(wanted, n_clusters - self.settings.n_clusters))

    def open_stage(self) -> None:
        """Merge clusters, but before the first period."""
        if self.stage == 0:
            return
        assert self.labels is not None
        points = self.embed()
        check_embedding(points)
        n_before = int(self.labels.max()) + 1
        self.labels = merge_down(
            points, neighbor_graph(points, self.settings.n_neighbors), self.labels,
            n_before - self._n_merges(n_before), n_local=self.settings.n_local,
            min_cluster_fraction=self.settings.min_cluster_fraction,
            n_final=self.settings.n_clusters,
        )  # fmt: skip

    def train_step(self, rows: Tensor) -> dict[str, float]:
        """Learn from the triplets of a batch, if it has any."""
        assert self.labels is not None
        settings = self.settings
        triplets = draw_triplets(
            torch.from_numpy(self.labels)[rows], settings.n_negatives, settings.max_pairs,
            self.generator,
        )  # fmt: skip
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * (1 + _RATE_DECAY * self.step) ** -_RATE_POWER
        if triplets[2].numel() == 0:
            return {}
        triplets = tuple(one.to(self.device) for one in triplets)  # type: ignore[assignment]
        loss = triplet_loss(self.network(self.pick(rows)), *triplets, settings.margin)
        self.minimise(loss)
        return {"loss": loss.item()}

    def outcome(self) -> Outcome:
        """Merge anew, from the points that nearest neighbours link down to the clusters."""
        return conclude(self.network, self.images, self._assign, self.settings.n_clusters)

    def _assign(self, points: NDArray[np.float64]) -> NeighbourAssignment:
        settings = self.settings
        labels = agglomerate(
            points, settings.n_clusters, n_neighbors=settings.n_neighbors,
            n_local=settings.n_local, min_cluster_fraction=settings.min_cluster_fraction,
        )  # fmt: skip
        return NeighbourAssignment(points=points, clusters=_alike(self.images, labels))


def _unit_pixels(images: ImageSet) -> Floats:
    """Return the pixels of each image as a row of unit length; blank images stay blank."""
    parts = [part.flatten(1) for part in images.split(part_size(images.shape))]
    return torch.nn.functional.normalize(torch.cat(parts)).cpu().numpy()


def _alike(images: ImageSet, labels: Labels) -> Labels:
    """Give equal images the cluster of the first of them, as `predict` would."""
    rows = images.stored.flatten(1).cpu().contiguous().numpy()
    keys = np.ascontiguousarray(rows).view([("", rows.dtype)] * rows.shape[1]).ravel()
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    return labels[first[same]]


def _padding(shape: ImageShape, n_blocks: int) -> int:
    """Return the border of zeros: none, unless convolutions would leave next to nothing."""
    side = min(shape[1:])
    for _ in range(n_blocks):
        side = -(-(side - _KERNEL + 1) // 2)
    return 0 if side >= _LEAST or n_blocks == 1 else _KERNEL // 2


class JULE(DeepClustering):
    """Joint unsupervised learning: clusters merge while a network learns to tell them apart.

    Points that nearest neighbours link are the first clusters. Then a convolutional network learns
    to bring members of a cluster nearer to each other than to others, and the clusters merge in the
    embedding, in turns. At last the embedding is clustered anew from single neighbours.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    unfolding_rate : float, default=0.9
        Share of the clusters that merge from one period of learning to the next. Small sets of
        faces or objects do better with 0.2.
    n_neighbors : int, default=20
        Neighbours that each image is linked to.
    n_local : int, default=5
        Partners of a cluster that are looked at to decide which pair merges.
    epochs_per_period : int, default=5
        Epochs of learning between merges.
    margin : float, default=0.2
        By how much members should be nearer than others, in squared distance.
    n_negatives : int, default=20
        Images of other clusters that each pair of members is compared with.
    max_pairs : int, default=1000
        The most pairs of members in a step.
    n_features : int, default=160
        Dimensions of the embedding.
    widths : "auto" or list of int, default="auto"
        Maps of each convolution; "auto" is one of 32 for images up to 20 pixels, two for others.
    min_cluster_fraction : float, default=0.25
        Merging goes back to where enough clusters had at least this share of the mean size. With 0
        clusters of a few outliers can take the place of true ones.
    batch_size : int, default=100
        Images in a step.
    learning_rate : float, default=0.01
        Of stochastic gradient descent, at the beginning.
    time_budget : float, default=None
        Seconds after which learning ends, in equal parts for each period. The result then depends
        on the machine.
    n_snapshots : int, default=0
        How many clusterings on the way to keep in `snapshots_`.
    image_shape : tuple of int, default=None
        (height, width) or (height, width, channels), if X holds rows of pixels. Without it, rows
        whose length is a square are square images, and others are images of a single line.
    device : str, default="auto"
        A device of torch; "auto" takes a GPU if there is one.
    checkpoint_dir : path-like, default=None
        A folder that keeps the state of the training. A fit that finds one there goes on with it,
        and comes to the same result as one in a single piece.
    random_state : int, RandomState instance or None, default=None
        Seed.
    verbose : int, default=0
        Whether to show a progress bar over the epochs.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training image, the largest cluster first.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in the embedding.
    history_ : Bunch
        One entry for each epoch: `epoch`, `stage`, `loss` and the size of the `smallest` cluster.
    snapshots_ : list of Snapshot
        Clusterings on the way: `epoch`, `labels` and `embedding`.
    n_iter_ : int
        Steps of gradient descent.
    converged_ : bool
        Whether a tolerance ended the training; always False here.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early; the clustering so far was then kept.
    n_features_in_ : int
        Number of pixels times channels.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X was a data frame of pixels.

    See Also
    --------
    DEPICT : An autoencoder with a softmax layer.

    References
    ----------
    J. Yang, D. Parikh and D. Batra, "Joint Unsupervised Learning of Deep Representations and Image
    Clusters", CVPR (2016).

    Examples
    --------
    >>> from kindset.deep import JULE
    >>> from sklearn.datasets import load_digits
    >>> images = load_digits(n_class=3).images[:120]
    >>> model = JULE(3, epochs_per_period=2, random_state=0).fit(images)
    >>> model.transform(images).shape
    (120, 160)
    """

    _training = JULETraining
    _assignment_kind = NeighbourAssignment
    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        **COMMON_CONSTRAINTS,
        "unfolding_rate": Number(above=0, below=1),
        "n_neighbors": Whole(1),
        "n_local": Whole(2),
        "epochs_per_period": Whole(1),
        "margin": Number(above=0),
        "n_negatives": Whole(1),
        "max_pairs": Whole(1),
        "n_features": Whole(1),
        "widths": Either(Choice("auto"), Values("a list of whole numbers")),
        "min_cluster_fraction": Number(least=0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        unfolding_rate: float = 0.9,
        n_neighbors: int = 20,
        n_local: int = 5,
        epochs_per_period: int = 5,
        margin: float = 0.2,
        n_negatives: int = 20,
        max_pairs: int = 1000,
        n_features: int = 160,
        widths: str | Sequence[int] = "auto",
        min_cluster_fraction: float = 0.25,
        batch_size: int = 100,
        learning_rate: float = 0.01,
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
        self.unfolding_rate = unfolding_rate
        self.n_neighbors = n_neighbors
        self.n_local = n_local
        self.epochs_per_period = epochs_per_period
        self.margin = margin
        self.n_negatives = n_negatives
        self.max_pairs = max_pairs
        self.n_features = n_features
        self.widths = widths
        self.min_cluster_fraction = min_cluster_fraction

    def _make_network(self, shape: ImageShape) -> nn.Module:
        scaling = Scaling(shape)
        widths: Any = self.widths
        if isinstance(widths, str):
            widths = (_MAPS,) if max(shape[1:]) <= _SMALL else (_MAPS, _MAPS)
        widths = check_sizes("widths", widths)
        body = convolutions(
            scaling.shape, widths, self.n_features,
            kernel=_KERNEL, padding=_padding(scaling.shape, len(widths)),
        )  # fmt: skip
        return Embedding(scaling, body.append(UnitRows()))
