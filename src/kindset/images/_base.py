"""What both estimators share: reading, training, storing, predicting."""

import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from numbers import Integral, Real
from pathlib import Path
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
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from kindset._progress import progress_bar
from kindset.exceptions import InputError
from kindset.images._checkpoint import Checkpoint, training_identity
from kindset.images._encoders import build_encoder
from kindset.images._input import ImageFormat, is_picture_stack, read_images
from kindset.images._model import Aligner, DTIModel, Parameters, PredictedAlignment, all_energies
from kindset.images._objectives import Objective
from kindset.images._optimised import OptimisedAlignment
from kindset.images._pixel_weight import pixel_weights
from kindset.images._restarts import (
    Group,
    Outcome,
    Problem,
    n_workers,
    split_restarts,
    train_groups,
)
from kindset.images._reviewing import build_reviewer
from kindset.images._schedule import plan_stages, usual_coarseness, usual_steps
from kindset.images._training import DivergedError, Recipe
from kindset.images._transforms import ImageShape, transformation_classes

FloatArray = NDArray[np.floating[Any]]

_SMALL = 40
_GREY = ("affine", "morphological", "tps")
_PARTS = 64
_CHECKPOINT_FORMAT = 4
_FEWEST_STEPS = 20
"""Adam moves a pixel of a prototype by about 0.01 in a step: fewer change next to nothing."""


class DTIClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Everything but the objective, the scores and the words."""

    _objective: ClassVar[type[Objective]]
    # For ablations: whether transformations come one by one, and which clusters are tiny.
    _curriculum: ClassVar[bool] = True
    _tiny: ClassVar[float] = 0.2

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
        # Trained apart, so that a fit that is refused leaves what an earlier one has found.
        fresh = type(self)(**self.get_params(deep=False))
        fresh._fit(X)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(vars(fresh))
        return self

    def _fit(self, X: Any) -> None:
        self._check_parameters()
        images = self._read(X, reset=True)
        if len(images) < self.n_clusters:
            raise InputError(
                f"n_samples={len(images)} images are too few for n_clusters={self.n_clusters}."
            )
        if torch.equal(images, images[:1].expand_as(images)):
            raise InputError(
                f"all n_samples={len(images)} images are equal: there is nothing to tell apart."
            )
        self.transforms_ = self._choose_transforms(self._format.shape)
        outcome = self._train(images)
        self._store(outcome)

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
        images = self._read(X, reset=False)
        chosen = self._one_cluster_each(clusters, len(images))
        parts = []
        with torch.no_grad():
            for rows in torch.arange(len(images)).split(_PARTS):
                parameters = self._aligner(self._model, images[rows], None)
                if chosen is None:
                    x, prototypes = images[rows][:, None], self._model.images()
                else:
                    g = chosen[rows]
                    x, prototypes = images[rows][None], self._model.images()[g]
                    parameters = [values[torch.arange(len(g)), g][None] for values in parameters]
                moved, _ = self._model.align(x, prototypes, parameters)
                moved = moved if chosen is None else moved.transpose(0, 1)
                parts.append(moved[..., : self._model.n_channels, :, :].cpu())
        return as_pictures(torch.cat(parts))

    def pictures(self, X: Any) -> FloatArray:
        """Return images as the model sees them: scaled, channels last, like the prototypes."""
        check_is_fitted(self)
        return as_pictures(self._read(X, reset=False).cpu())

    def transform_parameters(self, X: Any) -> dict[str, FloatArray]:
        """Return the parameters of the transformations that align the prototypes to each image.

        Those of transformations that an interrupted training had not come to are the identity's.

        Returns
        -------
        parameters : dict of str to ndarray of shape (n_samples, n_clusters, n_parameters)
        """
        check_is_fitted(self)
        images = self._read(X, reset=False)
        parts = []
        with torch.no_grad():
            for part in images.split(_PARTS):
                predicted = self._aligner(self._model, part, None)
                solved: Parameters = []
                if self._model.solved:
                    _, solved = self._model.align(part[:, None], self._model.images(), predicted)
                whole = self._complete(predicted, len(part))
                parts.append(self._model.in_order(whole, solved))
        found = [torch.cat(part).float().cpu().numpy() for part in zip(*parts, strict=True)]
        return dict(zip(self.transforms_, found, strict=True))

    def _complete(self, predicted: Parameters, n_samples: int) -> list[Tensor]:
        """Add the identity of what an interrupted training has not come to and does not apply."""
        unused: Any = self._model.predicted[len(predicted) :]
        shape = (n_samples, self._model.n_clusters, 1)
        return [*predicted, *(one.identity.repeat(shape) for one in unused)]

    def _energies(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        images = self._read(X, reset=False)
        return all_energies(self._model, self._aligner, images).cpu().numpy()

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

    def _read(self, X: Any, *, reset: bool) -> Tensor:
        if not is_picture_stack(X):
            X = validate_data(self, X, reset=reset)
        if not reset:
            return self._format.read(X).to(self._model.prototypes)
        images, self._format = read_images(X, self.image_shape)
        self.n_features_in_ = self._format.n_values
        return images

    def _train(self, images: Tensor) -> Outcome:
        rng = check_random_state(self.random_state)
        sizes = split_restarts(self.n_init)
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(sizes)).tolist()
        problem = self._problem(images)
        groups = [
            self._group(problem, seed, size, i)
            for i, (seed, size) in enumerate(zip(seeds, sizes, strict=True))
        ]
        total = sum(len(group.recipe.stages) for group in groups)
        title = f"{self.n_clusters} clusters"
        with progress_bar(title, total, enabled=bool(self.verbose)) as advance:
            outcomes, interrupted = train_groups(
                problem, groups, n_jobs=self.n_jobs, advance=advance
            )
        self.interrupted_ = interrupted
        best = self._best(outcomes)
        if not interrupted:
            self._warn_if_short(best)
        return best

    def _warn_if_short(self, best: Outcome) -> None:
        """Say that a limit has left a stage of the curriculum too few steps to learn anything."""
        limits = [name for name in ("max_epochs", "time_budget") if getattr(self, name) is not None]
        beside = ("identity", "refine") if len(best.model.predicted) else ("refine",)
        taken = {name: n for name, n in best.history.steps_by_stage().items() if name not in beside}
        shortest = min(taken, key=lambda name: taken[name], default="")
        n_steps = taken.get(shortest, _FEWEST_STEPS)
        if limits and n_steps < _FEWEST_STEPS:
            warnings.warn(
                f"The training was too short: its stage {shortest!r} had {n_steps} step"
                f"{'' if n_steps == 1 else 's'} where some hundreds are usual; raise "
                f"{' and '.join(limits)}.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _best(self, outcomes: Sequence[Outcome]) -> Outcome:
        """Return the outcome with the lowest loss; say if some came to nothing."""
        usable = [one for one in outcomes if one.history.loss and not one.error]
        errors = [one.error for one in outcomes if one.error]
        if not usable and self.interrupted_:
            raise KeyboardInterrupt
        if not usable:
            raise DivergedError(errors[0])
        if errors:
            warnings.warn(
                f"{len(errors)} of {len(outcomes)} groups of restarts diverged: {errors[0]}",
                stacklevel=5,
            )
        if self.interrupted_:
            warnings.warn("Interrupted: the best clustering so far is kept.", stacklevel=5)
            # A loss of fewer transformations is no match for one of all.
            furthest = max(outcome.model.n_active for outcome in usable)
            usable = [outcome for outcome in usable if outcome.model.n_active == furthest]
        return min(usable, key=lambda outcome: outcome.loss)

    def _problem(self, images: Tensor) -> Problem:
        shape = self._format.shape
        weights = pixel_weights(self.pixel_weight, shape)
        make_objective = partial(self._objective, shape, weights, self.stiffness)
        if self.alignment == "predicted":
            make_aligner: Any = PredictedAlignment
        else:
            make_aligner = partial(OptimisedAlignment, len(images))
        kinds = transformation_classes(self.transforms_)
        # Not by n_jobs: the last bits of results hang on the number of threads.
        n_threads = torch.get_num_threads() if len(split_restarts(self.n_init)) == 1 else 1
        return Problem(
            images, self.n_clusters, kinds, make_objective, make_aligner, self._device(), n_threads
        )

    def _group(self, problem: Problem, seed: int, size: int, number: int) -> Group:
        shape = self._format.shape
        n_samples = len(problem.images)
        batch_size = min(self.batch_size, n_samples)
        if self.max_epochs is None:
            n_steps = usual_steps(n_samples)
        else:
            n_steps = max(1, round(self.max_epochs * n_samples / batch_size))
        stages = plan_stages(
            self.transforms_, problem.kinds, shape, n_steps=n_steps, n_restarts=size,
            coarse=self._coarseness(), curriculum=self._curriculum,
            n_reviews=self.n_reviews, limited=self.max_epochs is not None,
        )  # fmt: skip
        budget = self.time_budget
        if budget is not None:
            n_groups = len(split_restarts(self.n_init))
            budget = budget * n_workers(n_groups, self.n_jobs) / n_groups
        recipe = Recipe(
            stages, batch_size, self.learning_rate, self.prototype_learning_rate,
            tiny=self._tiny, time_budget=budget,
        )  # fmt: skip
        encoder, reviewer = build_encoder(self.encoder, shape, seed), None
        if any(stage.reviewed for stage in stages):
            reviewer = build_reviewer(shape, n_samples, self.n_clusters, seed + 1)
        checkpoint = None
        if self.checkpoint_dir is not None:
            kind, stiffness = type(self).__name__, float(self.stiffness)
            described = (_CHECKPOINT_FORMAT, kind, recipe, seed, self.n_clusters, stiffness,
                         self.transforms_, self.alignment, str(encoder))  # fmt: skip
            weights = pixel_weights(self.pixel_weight, shape)
            deciding = [problem.images, weights, *encoder.state_dict().values()]
            identity = training_identity(described, deciding)
            checkpoint = Checkpoint(Path(self.checkpoint_dir) / f"group-{number}", identity)
        return Group(recipe, seed, encoder, checkpoint, reviewer)

    def _coarseness(self) -> int:
        if self.alignment == "optimized":
            return 1
        return usual_coarseness(*self._format.shape[1:])

    def _store(self, outcome: Outcome) -> None:
        """Set the fitted attributes, the largest cluster first."""
        self._model, self._aligner = outcome.model, outcome.aligner
        if isinstance(self._aligner, OptimisedAlignment):
            self._aligner.tables = []
        energies = outcome.energies.cpu()
        sizes = torch.bincount(energies.argmin(dim=1), minlength=self.n_clusters)
        order = sizes.argsort(descending=True, stable=True)
        self._model.take(order)
        # Anew, not renamed: where clusters tie, `predict` takes the first as well.
        self.labels_ = energies[:, order].argmin(dim=1).numpy()
        self.inertia_ = outcome.loss
        self._store_clusters()
        history = outcome.history
        self.history_ = Bunch(
            step=np.array(history.step, dtype=np.int64),
            stage=list(history.stage),
            loss=np.array([float(loss[0]) for loss in history.loss]),
            shares=torch.stack([shares[0][order] for shares in history.shares]).numpy(),
            n_restarts=np.array(history.n_restarts, dtype=np.int64),
            n_reassigned=np.array(history.reassigned, dtype=np.int64),
            n_changed=np.array(history.n_changed, dtype=np.int64),
            snapshot_step=np.array(history.snapshot_steps, dtype=np.int64),
            prototypes=np.stack([as_pictures(one[0, order]) for one in history.snapshots]),
        )
        self.n_reassigned_ = int(self.history_.n_reassigned.sum())
        self.n_iter_ = int(history.step[-1]) if history.step else 0

    def _store_clusters(self) -> None:
        """Set the fitted attributes that describe the clusters."""
        self.prototypes_ = as_pictures(self._model.prototypes.detach().cpu())
        self._n_features_out = self.n_clusters

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            return torch.empty(0, device=torch.device(self.device)).device
        except (RuntimeError, TypeError, AssertionError) as error:
            raise InputError(
                f"device must be 'auto' or one of torch's that is here, got {self.device!r}."
            ) from error

    def _choose_transforms(self, shape: ImageShape) -> tuple[str, ...]:
        names = self.transforms
        if isinstance(names, str) and names == "auto":
            n_channels, height, width = shape
            if max(height, width) > _SMALL:
                return ("colour", "projective")
            return _GREY if n_channels == 1 else ("colour", "affine", "tps")
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InputError(f"transforms must be 'auto' or a list of names, got {names!r}.")
        chosen = tuple(names)
        transformation_classes(chosen)
        return chosen

    def _check_parameters(self) -> None:
        for name, least in (("n_clusters", 1), ("n_init", 1), ("n_reviews", 0), ("batch_size", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise InputError(f"{name} must be a whole number from {least}, got {value!r}.")
        for name in ("learning_rate", "prototype_learning_rate", "max_epochs", "time_budget"):
            value = getattr(self, name)
            optional = name in ("max_epochs", "time_budget")
            if optional and value is None:
                continue
            if not isinstance(value, Real) or not 0 < float(value) < np.inf:
                raise InputError(f"{name} must be a number above 0, got {value!r}.")
        stiffness: Any = self.stiffness
        if not isinstance(stiffness, Real) or not 0 <= float(stiffness) < np.inf:
            raise InputError(f"stiffness must be a number from 0, got {stiffness!r}.")
        if self.alignment not in ("predicted", "optimized"):
            raise InputError(
                f"alignment must be 'predicted' or 'optimized', got {self.alignment!r}."
            )
        if self.n_reviews and self.alignment == "optimized":
            raise InputError("n_reviews must be 0 with alignment='optimized'.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def as_pictures(images: Tensor) -> FloatArray:
    """Return images (..., C, H, W) as arrays (..., H, W) if grey, else (..., H, W, C)."""
    pictures = images.detach().movedim(-3, -1)
    pictures = pictures[..., 0] if pictures.shape[-1] == 1 else pictures
    return pictures.float().contiguous().numpy()
