"""Which group of restarts wins, and what an estimator keeps of it."""

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch
from torch import Tensor

from kindset._torch.image_set import as_pictures
from kindset.exceptions import DivergedError
from kindset.images._history import History
from kindset.images._restarts import Outcome

_FEWEST_STEPS = 20
"""Adam moves a pixel of a prototype by about 0.01 in a step: fewer change next to nothing."""


def best_outcome(outcomes: Sequence[Outcome], *, interrupted: bool, stacklevel: int) -> Outcome:
    """Return the outcome with the lowest loss; warn if some came to nothing."""
    usable = [one for one in outcomes if one.history.loss and not one.error]
    errors = [one.error for one in outcomes if one.error]
    if not usable and interrupted:
        raise KeyboardInterrupt
    if not usable:
        raise DivergedError(errors[0])
    if errors:
        warnings.warn(
            f"{len(errors)} of {len(outcomes)} groups of restarts diverged: {errors[0]}",
            stacklevel=stacklevel + 1,
        )
    if interrupted:
        warnings.warn("Interrupted: the best clustering so far is kept.", stacklevel=stacklevel + 1)
        # A loss of fewer transformations is no match for one of all.
        furthest = max(outcome.model.n_active for outcome in usable)
        usable = [outcome for outcome in usable if outcome.model.n_active == furthest]
    return min(usable, key=lambda outcome: outcome.loss)


def warn_if_short(outcome: Outcome, limits: Sequence[str], *, stacklevel: int) -> None:
    """Say that a limit has left a stage of the curriculum too few steps to learn anything.

    Parameters
    ----------
    outcome : Outcome
    limits : sequence of str
        The parameters that limit the training.
    stacklevel : int
    """
    beside = ("identity", "refine") if len(outcome.model.predicted) else ("refine",)
    steps = outcome.history.steps_by_stage()
    taken = {name: n for name, n in steps.items() if name not in beside}
    shortest = min(taken, key=lambda name: taken[name], default="")
    n_steps = taken.get(shortest, _FEWEST_STEPS)
    if limits and n_steps < _FEWEST_STEPS:
        warnings.warn(
            f"The training was too short: its stage {shortest!r} had {n_steps} step"
            f"{'' if n_steps == 1 else 's'} where some hundreds are usual; raise "
            f"{' and '.join(limits)}.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def largest_first(energies: Tensor) -> Tensor:
    """Return the order of the clusters by the number of images that are nearest to them."""
    sizes = torch.bincount(energies.argmin(dim=1), minlength=energies.shape[1])
    return sizes.argsort(descending=True, stable=True)


def fitted_history(history: History, order: Tensor) -> Bunch:
    """Return what happened to the restart that is left, its clusters in a given order."""
    return Bunch(
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
