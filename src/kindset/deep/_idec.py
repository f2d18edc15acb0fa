"""IDEC: a dense autoencoder whose embedding is drawn towards centres."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn.functional import kl_div

from kindset._torch.image_set import ImageSet, ImageShape
from kindset._validation import Choice, Constraint, Number, Values, Whole
from kindset.deep._assignment import CentreAssignment
from kindset.deep._base import COMMON_CONSTRAINTS
from kindset.deep._networks import SCALINGS, DenseAutoencoder
from kindset.deep._outcome import Outcome, check_embedding, conclude
from kindset.deep._parameters import check_sizes
from kindset.deep._pretraining import AutoencoderTraining, StartsFromAutoencoder
from kindset.deep._targets import sharpened, student_probabilities
from kindset.deep._training import Stage

_CLUSTERING = "clustering"
_STARTS = 20  # of k-means


class Centres(nn.Module):
    """Centres of clusters that are learnt."""

    def __init__(self, n_clusters: int, n_features: int) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.zeros(n_clusters, n_features))

    def forward(self, points: Tensor) -> Tensor:
        """Return the probabilities of the clusters."""
        return student_probabilities(points, self.points)


class IDECTraining(AutoencoderTraining):
    """Trains autoencoder and centres on sharpened assignments of all images."""

    def __init__(
        self, settings: Any, images: ImageSet, network: DenseAutoencoder, generator: torch.Generator
    ) -> None:
        head = Centres(settings.n_clusters, settings.n_features)
        super().__init__(settings, images, network, head, generator)
        self.head = head
        self.seed = int(torch.randint(2**31 - 1, (), generator=generator))
        self.targets = torch.empty(0)
        self.n_until_update = 0

    def own_stages(self) -> Sequence[Stage]:
        """Return the one stage after pretraining."""
        epochs = self.settings.max_epochs
        return (Stage(_CLUSTERING, epochs),) if epochs else ()

    def open_stage(self) -> None:
        """Find the first centres once there is an embedding."""
        super().open_stage()
        if self.stage_name == _CLUSTERING:
            self._start_clusters()

    def open_epoch(self) -> None:
        """Learn from clean images once there are clusters, also after a checkpoint."""
        self.noise.rate = 0.0 if self.stage_name == _CLUSTERING else self.settings.dropout

    @torch.no_grad()
    def _start_clusters(self) -> None:
        points = self.embed()
        check_embedding(points)
        k_means = KMeans(self.settings.n_clusters, n_init=_STARTS, random_state=self.seed)
        self.labels = k_means.fit_predict(points).astype(np.int64)
        centres = self.head.points
        centres.copy_(torch.from_numpy(k_means.cluster_centers_))

    @torch.no_grad()
    def _update(self) -> None:
        """Sharpen the assignments of all images; converge when few images change their cluster."""
        points = torch.from_numpy(self.embed()).to(self.device)
        self.model.train()
        probabilities = self.head(points).cpu()
        is_first = len(self.targets) == 0
        self.targets = sharpened(probabilities)
        self.relabel(probabilities.argmax(dim=1).numpy())
        self.converged = not is_first and bool(self.changed < self.settings.tol)

    def clustering_loss(self, rows: Tensor, disturbed: Tensor, clean: Tensor) -> Tensor:
        """Return the divergence of the assignments from the sharpened ones."""
        if self.n_until_update == 0:
            self._update()
            self.n_until_update = self.settings.update_interval
        self.n_until_update -= 1
        target = self.targets[rows].to(self.device)
        return kl_div(self.head(clean).log(), target, reduction="batchmean")

    def combined(self, reconstruction: Tensor, clustering: Tensor) -> Tensor:
        """Return the weighted sum."""
        return reconstruction + self.settings.clustering_weight * clustering

    def outcome(self) -> Outcome:
        """Return the clusters of the nearest centres."""
        if self.labels is None:
            self._start_clusters()
        return conclude(self.network, self.images, self._assign, self.settings.n_clusters)

    def _assign(self, points: NDArray[np.float64]) -> CentreAssignment:
        return CentreAssignment(points=self.head.points.detach().cpu().double().numpy())

    def own_state(self) -> dict[str, Any]:
        """Return the targets, and the steps until they are renewed."""
        own = {"targets": self.targets, "n_until_update": self.n_until_update}
        return {**super().own_state(), **own}

    def load_own_state(self, state: dict[str, Any]) -> None:
        """Take over the targets."""
        super().load_own_state(state)
        self.targets, self.n_until_update = state["targets"], int(state["n_until_update"])


class IDEC(StartsFromAutoencoder):
    """Improved deep embedded clustering: an autoencoder whose embedding is drawn towards centres.

    A dense autoencoder learns to reconstruct images. K-means in its embedding gives the first
    centres. Then images are drawn towards the centres that they are nearest to already, while the
    reconstruction keeps the embedding from collapsing.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    clustering_weight : float, default=0.1
        How much the clustering counts beside the reconstruction.
    hidden : list of int, default=(500, 500, 2000)
        Units of the layers between image and embedding.
    n_features : int, default=10
        Dimensions of the embedding.
    dropout : float, default=0.2
        Share of pixels that noise removes in pretraining.
    scaling : {"unit", "power", "centred", "symmetric"}, default="unit"
        How pixels are scaled: to 0 and 1, to a mean square of 1, minus the mean image and over
        their deviation, or to −1 and 1.
    pretrained : dict, default=None
        The `autoencoder_` of another model for images of the same shape, in place of pretraining.
    pretrain_epochs : int, default=30
        Epochs of the autoencoder alone.
    max_epochs : int, default=30
        The most epochs of clustering.
    update_interval : int, default=30
        Steps between two looks at all images, which renew what is learnt from.
    tol : float, default=0.001
        The training ends when fewer images change their cluster from one look to the next.
    batch_size : int, default=256
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
        The centres in the embedding.
    history_, converged_
        As for `DEPICT`.
    snapshots_, n_iter_, interrupted_, n_features_in_, feature_names_in_
        As for `JULE`.

    See Also
    --------
    DEPICT : The same idea with convolutions and a softmax layer.

    References
    ----------
    X. Guo, L. Gao, X. Liu and J. Yin, "Improved Deep Embedded Clustering with Local Structure
    Preservation", IJCAI (2017).

    Examples
    --------
    >>> from kindset.deep import IDEC
    >>> from sklearn.datasets import load_digits
    >>> images = load_digits(n_class=3).images[:120]
    >>> model = IDEC(3, hidden=(50,), pretrain_epochs=5, max_epochs=2, random_state=0).fit(images)
    >>> model.cluster_centers_.shape
    (3, 10)
    """

    _training = IDECTraining
    _assignment_kind = CentreAssignment
    _assignment: CentreAssignment
    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        **COMMON_CONSTRAINTS,
        "clustering_weight": Number(least=0),
        "hidden": Values("a list of whole numbers"),
        "n_features": Whole(1),
        "dropout": Number(least=0, below=1),
        "scaling": Choice(*SCALINGS),
        "pretrain_epochs": Whole(0),
        "max_epochs": Whole(0),
        "update_interval": Whole(1),
        "tol": Number(least=0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        clustering_weight: float = 0.1,
        hidden: Sequence[int] = (500, 500, 2000),
        n_features: int = 10,
        dropout: float = 0.2,
        scaling: str = "unit",
        pretrained: Any = None,
        pretrain_epochs: int = 30,
        max_epochs: int = 30,
        update_interval: int = 30,
        tol: float = 1e-3,
        batch_size: int = 256,
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
        self.clustering_weight = clustering_weight
        self.hidden = hidden
        self.n_features = n_features
        self.dropout = dropout
        self.scaling = scaling
        self.pretrained = pretrained
        self.pretrain_epochs = pretrain_epochs
        self.max_epochs = max_epochs
        self.update_interval = update_interval
        self.tol = tol

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the clusters, of shape (n_samples, n_clusters)."""
        check_is_fitted(self)
        points, centres = map(torch.from_numpy, (self._embed(X), self._assignment.points))
        return student_probabilities(points, centres).numpy()

    def _make_network(self, shape: ImageShape) -> nn.Module:
        return DenseAutoencoder(shape, self.n_features, check_sizes("hidden", self.hidden))
