"""The curriculum: which transformations are trained when, how long, by how many restarts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kindset._torch.image_set import ImageShape
from kindset.images._transforms import Transformation

WINDOW = 50
"""Steps between two looks at losses and cluster sizes."""

_SMALLEST = 12
_REVIEW = 2.5


@dataclass(frozen=True)
class Stage:
    """A part of the training.

    Attributes
    ----------
    name : str
        The transformation that is new in it; "identity" at first, "review" when another network
        has looked at the assignments, "refine" at the end.
    n_active : int
        Number of transformations in use.
    max_steps : int
        Steps after which it ends, converged or not.
    share : float
        Its part of the whole training, for a limit in time.
    rate : float
        Factor of the learning rates.
    n_restarts : int
        Restarts that take part; those with the highest loss are dropped before.
    evolves : bool
        Whether the worse restarts are replaced now and then by copies of the best with one cluster
        moved.
    coarse : int
        Factor by which images are smaller.
    reviewed : bool
        Whether assignments are reviewed before it, and held while it lasts.
    """

    name: str
    n_active: int
    max_steps: int
    share: float
    rate: float = 1.0
    n_restarts: int = 1
    evolves: bool = False
    coarse: int = 1
    reviewed: bool = False


@dataclass(frozen=True)
class Recipe:
    """How to train: the curriculum, and what is the same in all of its stages."""

    stages: tuple[Stage, ...]
    batch_size: int = 128
    learning_rate: float = 1e-3
    prototype_learning_rate: float = 1e-2
    weight_decay: float = 1e-6
    tiny: float = 0.2
    n_candidates: int = 4
    full_every: int = 4
    time_budget: float | None = None


def plan_stages(
    names: Sequence[str],
    kinds: Sequence[type[Transformation]],
    shape: ImageShape,
    *,
    n_steps: int,
    n_restarts: int,
    coarse: int = 1,
    curriculum: bool = True,
    n_reviews: int = 0,
    limited: bool = False,
) -> tuple[Stage, ...]:
    """Return the stages: no prediction first, one transformation more in each, then lower rates.

    Until the first warp is trained, images are smaller by the factor `coarse`: that stage decides
    which clusters are found, and it is the place to spend restarts. After it their number is halved
    with every stage. A transformation that has fewer parameters on smaller images is trained on
    those of full size. Reviews come before the lower rates, unless there is nothing to predict;
    their steps are among `n_steps` if those are limited, or else in addition to them.
    """
    predicted = {name: kind for name, kind in zip(names, kinds, strict=True) if not kind.is_solved}
    if curriculum:
        stages = _one_by_one(predicted, shape, n_restarts, coarse)
    else:
        stages = [Stage("all", len(predicted), 0, 8.0, n_restarts=n_restarts)]
    stages.append(Stage("refine", len(predicted), 0, 1.5, rate=0.1))
    paid = sum(stage.share for stage in stages)
    if predicted:
        stages[-1:-1] = n_reviews * [Stage("review", len(predicted), 0, _REVIEW, reviewed=True)]
    whole = sum(stage.share for stage in stages)
    per_share = n_steps / (whole if limited else paid)
    return tuple(
        replace(stage, max_steps=max(1, round(stage.share * per_share)), share=stage.share / whole)
        for stage in stages
    )


def _one_by_one(
    kinds: dict[str, type[Transformation]], shape: ImageShape, n_restarts: int, coarse: int
) -> list[Stage]:
    stages = [Stage("identity", 0, 0, 1.0, n_restarts=n_restarts, coarse=coarse)]
    alive, warped = n_restarts, False
    for position, (name, kind) in enumerate(kinds.items()):
        if warped:
            alive, coarse = max(1, alive // 2), 1
        coarse = coarse if _scales(kind, shape, coarse) else 1
        evolves = kind.moves_pixels and not warped and n_restarts > 1
        share = 7.4 if evolves else 7.0 if position == len(kinds) - 1 else 2.0
        stages.append(
            Stage(name, position + 1, 0, share, 1.0, alive, evolves=evolves, coarse=coarse)
        )
        warped = warped or kind.moves_pixels
    if coarse > 1:
        stages.append(replace(stages[-1], n_restarts=max(1, alive // 2), evolves=False, coarse=1))
    return stages


def _scales(kind: type[Transformation], shape: ImageShape, coarse: int) -> bool:
    """Return whether a transformation has the same parameters on smaller images."""
    if coarse == 1:
        return True
    n_channels, height, width = shape
    full, small = (kind((n_channels, height // by, width // by)) for by in (1, coarse))  # type: ignore[call-arg]
    return full.n_parameters == small.n_parameters


def usual_steps(n_samples: int) -> int:
    """Return the largest number of steps of a training nobody has set a limit to."""
    return int(1_460 * max(1.0, n_samples / 1_000) ** 0.62)


def usual_coarseness(height: int, width: int) -> int:
    """Return the largest power of two that leaves images of 12 pixels at least."""
    factor = 1
    while min(height, width) // (2 * factor) >= _SMALLEST:
        factor *= 2
    return factor
