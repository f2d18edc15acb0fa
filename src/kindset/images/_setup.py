"""From an estimator's parameters and its images to the trainings that are to be run."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import nn

from kindset._torch.checkpoint import Checkpoint, training_identity
from kindset._torch.device import choose_device
from kindset._torch.image_set import ImageSet, ImageShape
from kindset.exceptions import InputError
from kindset.images._alignment import ALIGNMENTS
from kindset.images._encoders import build_encoder
from kindset.images._pixel_weight import pixel_weights
from kindset.images._restarts import Group, Problem, n_workers, split_restarts
from kindset.images._reviewing import build_reviewer
from kindset.images._schedule import Recipe, plan_stages, usual_coarseness, usual_steps
from kindset.images._transforms import transformation_classes

if TYPE_CHECKING:
    from kindset.images._base import DTIClustering

_SMALL = 40
_GREY = ("affine", "morphological", "tps")
_CHECKPOINT_FORMAT = 5


def choose_transforms(transforms: Any, shape: ImageShape) -> tuple[str, ...]:
    """Return the names of transformations; of "auto" those that suit images of a shape."""
    if isinstance(transforms, str) and transforms == "auto":
        n_channels, height, width = shape
        if max(height, width) > _SMALL:
            return ("colour", "projective")
        return _GREY if n_channels == 1 else ("colour", "affine", "tps")
    if isinstance(transforms, str) or not isinstance(transforms, Iterable):
        raise InputError(f"transforms must be 'auto' or a list of names, got {transforms!r}.")
    chosen = tuple(transforms)
    transformation_classes(chosen)
    return chosen


def make_problem(settings: "DTIClustering", images: ImageSet) -> Problem:
    """Return what all groups of restarts have in common."""
    shape: Any = images.shape[1:]
    weights = pixel_weights(settings.pixel_weight, shape)
    return Problem(
        images,
        settings.n_clusters,
        transformation_classes(settings.transforms_),
        make_objective=partial(settings._objective, shape, weights, settings.stiffness),
        make_aligner=partial(ALIGNMENTS[settings.alignment], len(images)),
        device=choose_device(settings.device),
        # Not by n_jobs: the last bits of results hang on the number of threads.
        n_threads=torch.get_num_threads() if len(split_restarts(settings.n_init)) == 1 else 1,
    )


def make_groups(settings: "DTIClustering", problem: Problem) -> list[Group]:
    """Return the groups of restarts, each with a seed of its own."""
    sizes = split_restarts(settings.n_init)
    rng = check_random_state(settings.random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(sizes)).tolist()
    return [
        _make_group(settings, problem, seed, make_recipe(settings, problem, size), number)
        for number, (seed, size) in enumerate(zip(seeds, sizes, strict=True))
    ]


def make_recipe(settings: "DTIClustering", problem: Problem, n_restarts: int) -> Recipe:
    """Return how a group of restarts is trained."""
    n_samples = len(problem.images)
    shape: Any = problem.images.shape[1:]
    batch_size = min(settings.batch_size, n_samples)
    stages = plan_stages(
        settings.transforms_, problem.kinds, shape,
        n_steps=_most_steps(settings.max_epochs, n_samples, batch_size),
        n_restarts=n_restarts,
        coarse=_coarseness(settings.alignment, shape),
        curriculum=settings._curriculum,
        n_reviews=settings.n_reviews,
        limited=settings.max_epochs is not None,
    )  # fmt: skip
    return Recipe(
        stages,
        batch_size,
        settings.learning_rate,
        settings.prototype_learning_rate,
        tiny=settings._tiny,
        time_budget=_group_budget(settings.time_budget, settings.n_init, settings.n_jobs),
    )


def _most_steps(max_epochs: float | None, n_samples: int, batch_size: int) -> int:
    if max_epochs is None:
        return usual_steps(n_samples)
    return max(1, round(max_epochs * n_samples / batch_size))


def _coarseness(alignment: str, shape: ImageShape) -> int:
    """Return the factor by which images are smaller at first."""
    return usual_coarseness(*shape[1:]) if ALIGNMENTS[alignment].is_predicted else 1


def _group_budget(budget: float | None, n_init: int, n_jobs: int | None) -> float | None:
    """Return the seconds of a group: those that run one after the other share the whole."""
    if budget is None:
        return None
    n_groups = len(split_restarts(n_init))
    return budget * n_workers(n_groups, n_jobs) / n_groups


def _make_group(
    settings: "DTIClustering", problem: Problem, seed: int, recipe: Recipe, number: int
) -> Group:
    shape: Any = problem.images.shape[1:]
    encoder, reviewer = build_encoder(settings.encoder, shape, seed), None
    if any(stage.reviewed for stage in recipe.stages):
        reviewer = build_reviewer(shape, len(problem.images), settings.n_clusters, seed + 1)
    checkpoint = None
    if settings.checkpoint_dir is not None:
        identity = _identity(settings, problem, seed, recipe, encoder)
        checkpoint = Checkpoint(Path(settings.checkpoint_dir) / f"group-{number}", identity)
    return Group(recipe, seed, encoder, checkpoint, reviewer)


def _identity(
    settings: "DTIClustering", problem: Problem, seed: int, recipe: Recipe, encoder: nn.Module
) -> str:
    """Return a digest of all that decides what a group comes to."""
    value_range, pixels = problem.images.content()
    described = (
        _CHECKPOINT_FORMAT, type(settings).__name__, recipe, seed, settings.n_clusters,
        float(settings.stiffness), settings.transforms_, settings.alignment, str(encoder),
        value_range,
    )  # fmt: skip
    shape: Any = problem.images.shape[1:]
    weights = pixel_weights(settings.pixel_weight, shape)
    return training_identity(described, [pixels, weights, *encoder.state_dict().values()])
