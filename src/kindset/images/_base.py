"""What both estimators share: parameters, fitting, and what a fitted model is asked."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from kindset._progress import progress_bar
from kindset._torch.image_set import ImageSet, as_pictures
from kindset._torch.input import ImageFormat
from kindset._torch.reading import ReadsImages
from kindset._validation import (
    Choice,
    Constraint,
    Number,
    Optional,
    Seed,
    Whole,
    Workers,
    all_or_nothing,
    check_parameters,
)
from kindset.exceptions import InputError
from kindset.images._alignment import ALIGNMENTS, Aligner, all_energies
from kindset.images._applying import FloatArray, aligned_prototypes, alignment_parameters
from kindset.images._model import DTIModel
from kindset.images._objectives import Objective
from kindset.images._outcome import best_outcome, fitted_history, largest_first, warn_if_short
from kindset.images._restarts import Outcome, train_groups
from kindset.images._setup import choose_transforms, make_groups, make_problem


class DTIClustering(
    ReadsImages, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Everything but the objective, the scores and the words."""

    _objective: ClassVar[type[Objective]]
    # For ablations: whether transformations come one by one, and which clusters are tiny.
    _curriculum: ClassVar[bool] = True
    _tiny: ClassVar[float] = 0.2

    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        "n_clusters": Whole(1),
        "alignment": Choice(*ALIGNMENTS),
        "n_init": Whole(1),
        "n_reviews": Whole(0),
        "max_epochs": Optional(Number(above=0)),
        "time_budget": Optional(Number(above=0)),
        "batch_size": Whole(1),
        "learning_rate": Number(above=0),
        "prototype_learning_rate": Number(above=0),
        "stiffness": Number(least=0),
        "random_state": Seed(),
        "n_jobs": Workers(),
    }

    _format: ImageFormat
    _model: DTIModel
    _aligner: Aligner

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        transforms: str | Sequence[str] = "auto",
        alignment: str = "predicted",
        encoder: Any = "auto",
        n_init: int = 4,
        n_reviews: int = 0,
        max_epochs: float | None = None,
        time_budget: float | None = None,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        prototype_learning_rate: float = 1e-2,
        pixel_weight: Any = None,
        stiffness: float = 0.0,
        image_shape: tuple[int, ...] | None = None,
        device: str = "auto",
        checkpoint_dir: Any = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.transforms = transforms
        self.alignment = alignment
        self.encoder = encoder
        self.n_init = n_init
        self.n_reviews = n_reviews
        self.max_epochs = max_epochs
        self.time_budget = time_budget
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.prototype_learning_rate = prototype_learning_rate
        self.pixel_weight = pixel_weight
        self.stiffness = stiffness
        self.image_shape = image_shape
        self.device = device
        self.checkpoint_dir = checkpoint_dir
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like or Tensor
            Images of shape (n_samples, height, width), with channels last or first if there are
            any, or rows of pixels.
        y : None
            Ignored.

        Returns
        -------
        self : estimator
        """
        with all_or_nothing(self):
            self._check_parameters()
            images = self._read_training(X)
            self.transforms_ = choose_transforms(self.transforms, self._format.shape)
            outcomes = self._train(images)
            best = best_outcome(outcomes, interrupted=self.interrupted_, stacklevel=2)
            if not self.interrupted_:
                limits = ("max_epochs", "time_budget")
                given = [name for name in limits if getattr(self, name) is not None]
                warn_if_short(best, given, stacklevel=2)
            self._store(best)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each image."""
        return self._energies(X).argmin(axis=1)

    def transform(self, X: Any) -> FloatArray:
        """Return how far each image is from each aligned prototype, per pixel.

        For `DTIKMeans` the mean squared difference; for `DTIGaussianMixture` the negative logarithm
        of a cluster's weight times its density, divided by the number of pixels. With `stiffness`
        the effort of the transformation is part of it.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return self._energies(X).astype(np.float32)

    def align(self, X: Any, clusters: Any = None) -> FloatArray:
        """Return the prototypes as they are aligned to each image.

        Parameters
        ----------
        X : array-like or Tensor
            Images.
        clusters : array-like of shape (n_samples,), default=None
            One cluster for each image; by default all of them.

        Returns
        -------
        aligned : ndarray of shape (n_samples, n_clusters or 1, height, width[, channels])
        """
        check_is_fitted(self)
        images = self._read(X)
        chosen = self._one_cluster_each(clusters, len(images))
        return aligned_prototypes(self._model, self._aligner, images, chosen)

    def pictures(self, X: Any) -> FloatArray:
        """Return images as the model sees them: scaled, channels last, like the prototypes."""
        check_is_fitted(self)
        return as_pictures(self._read(X)[:])

    def transform_parameters(self, X: Any) -> dict[str, FloatArray]:
        """Return the parameters of the transformations that align the prototypes to each image.

        Those of transformations that an interrupted training had not come to are the identity's.

        Returns
        -------
        parameters : dict of str to ndarray of shape (n_samples, n_clusters, n_parameters)
        """
        check_is_fitted(self)
        found = alignment_parameters(self._model, self._aligner, self._read(X))
        return dict(zip(self.transforms_, found, strict=True))

    def _energies(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return all_energies(self._model, self._aligner, self._read(X)).cpu().numpy()

    def _values(self, X: Any) -> FloatArray:
        """Return the energy of each image."""
        energies = torch.from_numpy(self._energies(X))
        return self._model.objective.assign(energies)[1].numpy()

    def _one_cluster_each(self, clusters: Any, n_samples: int) -> Tensor | None:
        if clusters is None:
            return None
        chosen = np.asarray(clusters)
        whole = chosen.dtype.kind in "iu" and chosen.shape == (n_samples,)
        n_clusters = self._model.n_clusters
        if not whole or not ((chosen >= 0) & (chosen < n_clusters)).all():
            raise InputError(
                f"clusters must name a cluster from 0 to {n_clusters - 1} for each image."
            )
        return torch.from_numpy(chosen.astype(np.int64))

    def _read(self, X: Any) -> ImageSet:
        return super()._read(X).to(self._model.prototypes.device)

    def _train(self, images: ImageSet) -> list[Outcome]:
        problem = make_problem(self, images)
        groups = make_groups(self, problem)
        total = sum(len(group.recipe.stages) for group in groups)
        title = f"Training stages ({self.n_clusters} clusters)"
        with progress_bar(title, total, enabled=bool(self.verbose)) as advance:
            outcomes, self.interrupted_ = train_groups(
                problem, groups, n_jobs=self.n_jobs, advance=advance
            )
        return outcomes

    def _store(self, outcome: Outcome) -> None:
        """Set the fitted attributes, the largest cluster first."""
        self._model, self._aligner = outcome.model, outcome.aligner
        self._aligner.forget()
        energies = outcome.energies.cpu()
        order = largest_first(energies)
        self._model.take(order)
        # Anew, not renamed: where clusters tie, `predict` takes the first as well.
        self.labels_ = energies[:, order].argmin(dim=1).numpy()
        self.inertia_ = outcome.loss
        self._store_clusters()
        self.history_ = fitted_history(outcome.history, order)
        self.n_reassigned_ = int(self.history_.n_reassigned.sum())
        self.n_iter_ = int(outcome.history.step[-1])

    def _store_clusters(self) -> None:
        """Set the fitted attributes that describe the clusters."""
        self.prototypes_ = as_pictures(self._model.prototypes)
        self._n_features_out = self.n_clusters

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.n_reviews and not ALIGNMENTS[self.alignment].is_predicted:
            raise InputError(
                f"n_reviews must be 0 with alignment={self.alignment!r}.", parameter="n_reviews"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
