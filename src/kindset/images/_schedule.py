"""The curriculum: which transformations are trained when, how long, by how many restarts."""

from collections.abc import Sequence
from dataclasses import dataclass

from kindset.images._transforms import Transformation

WINDOW = 50
"""Steps between two looks at losses and cluster sizes."""


@dataclass(frozen=True)
class Stage:
    """A part of the training.

    Attributes
    ----------
    name : str
        The transformation that is new in it; "identity" at first, "refine" at the end.
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
    """

    name: str
    n_active: int
    max_steps: int
    share: float
    rate: float = 1.0
    n_restarts: int = 1
    evolves: bool = False


def plan_stages(
    names: Sequence[str],
    kinds: Sequence[type[Transformation]],
    *,
    n_steps: int,
    n_restarts: int,
    curriculum: bool = True,
) -> tuple[Stage, ...]:
    """Return the stages: no transformation first, one more in each, then lower rates.

    The number of restarts is halved after each stage that has trained a warp, because the loss
    says little before images are aligned.
    """
    stages = [Stage("identity", 0, 0, 1.0, n_restarts=n_restarts)]
    alive = n_restarts
    warped = False
    for position, name in enumerate(names):
        last = position == len(names) - 1
        if warped:
            alive = max(1, alive // 2)
        first_warp = kinds[position].moves_pixels and not warped
        stages.append(
            Stage(name, position + 1, 0, 6.0 if last else 3.0, n_restarts=alive,
                  evolves=first_warp and n_restarts > 1)
        )  # fmt: skip
        warped = warped or first_warp
    if not curriculum:
        total = sum(stage.share for stage in stages)
        stages = [Stage("all", len(names), 0, total, n_restarts=n_restarts)]
    stages.append(Stage("refine", len(names), 0, 2.0, rate=0.1))
    whole = sum(stage.share for stage in stages)
    return tuple(
        Stage(
            stage.name, stage.n_active, max(1, round(n_steps * stage.share / whole)),
            stage.share / whole, stage.rate, stage.n_restarts, stage.evolves,
        )
        for stage in stages
    )  # fmt: skip


def usual_steps(n_samples: int) -> int:
    """Return the largest number of steps of a training nobody has set a limit to."""
    return int(3_000 * max(1.0, n_samples / 1_000) ** 0.3)
