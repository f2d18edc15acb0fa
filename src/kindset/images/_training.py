"""The training loop: steps, windows of steps, and the stages of the curriculum."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kindset._torch.batches import Batches
from kindset._torch.callbacks import Callback, Callbacks
from kindset._torch.clock import StageClock
from kindset._torch.image_set import ImageSet, resize_images
from kindset.exceptions import DivergedError
from kindset.images._alignment import Aligner
from kindset.images._history import History, Tally
from kindset.images._model import DTIModel
from kindset.images._optimiser import ModelOptimizer, load_model
from kindset.images._population import Population
from kindset.images._reviewing import Reviewer, review
from kindset.images._schedule import WINDOW, Recipe, Stage
from kindset.images._search import Search

_ROUND = 2  # windows between two rounds of swaps
_PATIENCE = 4
_TOLERANCE = 0.01
_EXPLODED = 10.0  # pixels go from 0 to 1, and losses are per pixel
_DIVERGED = "the loss {} after {} steps: lower learning_rate and prototype_learning_rate."
_COUNTS = ("stage", "step", "stage_step", "opened")


class Trainer:
    """Trains a model of several restarts down to the best one.

    Images and model may be on any device; the book-keeping is small and stays on the CPU.

    Parameters
    ----------
    images : ImageSet of shape (N, C, H, W)
    model : DTIModel
    aligner : Aligner
    recipe : Recipe
    generator : torch.Generator
        Draws batches and noise.
    reviewer : Reviewer, default=None
        What reviews the assignments, if the recipe has reviews.
    n_threads : int, default=1
        Threads of a review; everything else is no faster with several.

    Attributes
    ----------
    step, stage, stage_step : int
        Steps so far, stages that are over, and steps in the one under way.
    opened : int
        Windows before the stage under way.
    held : Tensor of shape (N,) or None
        The clusters of the images while a review holds them.
    finished, stopped : bool
        Whether the training came to its end, and whether it was told to stop before.
    """

    def __init__(
        self,
        images: ImageSet,
        model: DTIModel,
        aligner: Aligner,
        recipe: Recipe,
        generator: torch.Generator,
        reviewer: Reviewer | None = None,
        n_threads: int = 1,
    ) -> None:
        self.images = images
        self.model = model
        self.aligner = aligner
        self.recipe = recipe
        self.generator = generator
        self.reviewer = reviewer
        self.n_threads = n_threads
        self.history = History()
        self.clock = StageClock(recipe.time_budget)
        self.batches = Batches(len(images), recipe.batch_size, generator)
        self.search = Search(model, len(images), recipe.n_candidates, recipe.full_every)
        self.optimizer = ModelOptimizer(
            model, recipe.prototype_learning_rate, recipe.learning_rate, recipe.weight_decay
        )
        self.population = Population(
            images, model, aligner, self.optimizer, self.search, self.history, generator
        )
        self.held: Tensor | None = None
        self.stage = self.step = self.stage_step = self.opened = 0
        self.stopped = False
        self._callbacks: Callback = Callbacks(())
        self._clear_window()

    @property
    def finished(self) -> bool:
        """Whether all stages are over."""
        return self.stage == len(self.recipe.stages)

    def run(self, callbacks: Sequence[Callback] = ()) -> bool:
        """Train to the end, or until told to stop; return whether it came to the end."""
        self._callbacks = Callbacks(callbacks)
        self.stopped = False
        self.model.train()
        self.clock.start()
        while not self.finished:
            if self.stage_step == 0:
                self._open_stage()
            if not self._run_window():
                return False
            if self._stage_is_over():
                self._close_stage()
                self._callbacks.on_stage_end(self)
            else:
                self._callbacks.on_window_end(self)
        return True

    def stop(self) -> None:
        """End before the next step."""
        self.stopped = True

    def summary(self) -> str:
        """Return the last stage and the lowest loss in it."""
        return f"{self.history.stage[-1]}: loss {self.history.loss[-1].min():.5f}"

    def conclude(self) -> None:
        """Keep the best restart only, whatever stage the training is in."""
        if self.tally.n_steps:
            self._note_window(reassigned=0)
        self.population.keep_best(1)
        self._clear_window()
        self.population.resize(*self.images.shape[2:])

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides how the training goes on after a window."""
        return {
            "counts": {name: getattr(self, name) for name in _COUNTS},
            "n_active": self.model.n_active,
            "model": dict(self.model.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "aligner": self.aligner.state_dict(),
            "reviewer": None if self.reviewer is None else dict(self.reviewer.state_dict()),
            "held": self.held,
            "batches": self.batches.state_dict(),
            "search": self.search.state_dict(),
            "history": self.history.state_dict(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned for a trainer that was set up alike."""
        for name in _COUNTS:
            setattr(self, name, int(state["counts"][name]))
        if not 0 <= self.stage <= len(self.recipe.stages):
            raise ValueError(f"it has a stage {self.stage} that does not exist")
        if self.stage_step > 0:
            self.clock.open_stage(self._current.share)
            self._enter_stage()
        self.model.n_active = int(state["n_active"])
        self.population.resize(*state["model"]["prototypes"].shape[2:])
        load_model(self.model, state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.aligner.load_state_dict(state["aligner"], self.images.device)
        if self.reviewer is not None:
            self.reviewer.load_state_dict(state["reviewer"])
        self.held = state["held"]
        self.batches.load_state_dict(state["batches"])
        self.search.load_state_dict(state["search"])
        self.history.load_state_dict(state["history"])
        self.generator.set_state(state["generator"])
        self._clear_window()

    @property
    def _current(self) -> Stage:
        return self.recipe.stages[self.stage]

    def _open_stage(self) -> None:
        self.clock.open_stage(self._current.share)
        self.population.keep_best(self._current.n_restarts)
        self._enter_stage()
        # A review looks at all images, however little time there is.
        planned = sum(stage.share for stage in self.recipe.stages[: self.stage + 1])
        if self._current.reviewed and not self.clock.is_behind(planned):
            self.held = self._review()
        self.batches.restart()
        self._take_snapshot()
        self.opened = len(self.history.loss)

    def _enter_stage(self) -> None:
        """Set what depends on the stage that is under way."""
        self.population.resize(*(size // self._current.coarse for size in self.images.shape[2:]))
        self.model.n_active = self._current.n_active
        self.optimizer.scale_rates(self._current.rate)
        self._clear_window()

    def _close_stage(self) -> None:
        self._take_snapshot()
        self.held = None
        self.stage += 1
        self.stage_step = 0

    def _review(self) -> Tensor:
        """Return the clusters to which a network gives the images that learns to recognise them."""
        assert self.reviewer is not None
        torch.set_num_threads(self.n_threads)
        self.model.eval()
        labels, n_changed = review(
            self.reviewer, self.model, self.aligner, self.images,
            n_steps=self._current.max_steps,
            # Two at least: the statistics of a single image are none.
            batch_size=min(max(2, self.recipe.batch_size), len(self.images)),
            least=self.recipe.tiny * len(self.images) / self.model.n_clusters,
            generator=self.generator,
            progress=self._review_progress,
        )  # fmt: skip
        self.model.train()
        torch.set_num_threads(1)
        self.history.n_changed.append(n_changed)
        return labels.cpu()

    def _review_progress(self) -> float:
        """Return how much of its time a review has had: half of the stage's is for the rest."""
        self._callbacks.on_step_begin(self)
        return 1.0 if self.stopped else 2 * self.clock.taken()

    def _stage_is_over(self) -> bool:
        if self.stage_step >= self._current.max_steps or self.clock.is_over():
            return True
        if self.held is not None:
            return False
        history = self.history
        recent = range(len(history.loss) - 2 * _PATIENCE, len(history.loss))
        if recent[0] < self.opened or any(history.reassigned[i] for i in recent):
            return False
        best = torch.stack([history.loss[i].min() for i in recent])
        before, after = best[:_PATIENCE].mean(), best[_PATIENCE:].mean()
        return bool(before - after < _TOLERANCE * before.abs())

    def _run_window(self) -> bool:
        """Make the steps of a window; return whether nobody has said stop."""
        for _ in range(min(WINDOW, self._current.max_steps - self.stage_step)):
            self._callbacks.on_step_begin(self)
            if self.stopped:
                return False
            self._step()
            if self.clock.is_over():
                break
        self._close_window()
        return True

    def _step(self) -> None:
        rows = self.batches.draw()
        parameters = self.aligner(self.model, self.images[rows], rows)
        x = self.population.scaled[rows]
        weights, value = self._assign(x, rows, [values.detach() for values in parameters])
        flat = weights.flatten(1)
        b, g = flat.nonzero(as_tuple=True)
        pairs = self.model.pair_energies(x, parameters, b, g)
        loss = (pairs * flat[b, g].to(pairs.device)).sum() / len(rows)
        if not torch.isfinite(loss):
            raise DivergedError(_DIVERGED.format("is no number any more", self.step))
        self.optimizer.minimise(loss)
        self.tally.add(loss.item() if value is None else value.mean(dim=0), weights.mean(dim=0))
        self.step += 1
        self.stage_step += 1

    @torch.no_grad()
    def _assign(
        self, x: Tensor, rows: Tensor, parameters: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor | None]:
        """Return the weights of each restart's clusters, and the energies unless they are held."""
        n_clusters = self.model.n_clusters
        if self.held is not None:
            return one_hot(self.held[rows], n_clusters)[:, None].float(), None
        energies = self.search.energies(x, rows, parameters, self.batches.passes)
        return self.model.objective.assign(energies.view(len(rows), -1, n_clusters))

    def _clear_window(self) -> None:
        """Start to count losses and shares anew."""
        self.tally = Tally(self.model.n_restarts, self.model.n_clusters)

    def _close_window(self) -> None:
        if self.tally.losses.min() > _EXPLODED * self.tally.n_steps:
            raise DivergedError(_DIVERGED.format("has exploded", self.step))
        self._note_window(self._refill())
        if self._time_to_evolve():
            self.population.evolve((len(self.history.loss) - self.opened) // _ROUND)
        self._clear_window()

    def _refill(self) -> int:
        """Let tiny clusters start again, if there is a point in it; return how many did."""
        # Too late in the last stage, and few steps do not tell which clusters are tiny.
        last = self.stage == len(self.recipe.stages) - 1
        if last or self.held is not None or self.clock.is_over():
            return 0
        shares = self.tally.shares / self.tally.n_steps
        return self.population.refill(shares, self.recipe.tiny / self.model.n_clusters)

    def _note_window(self, reassigned: int) -> None:
        self.history.note(self.step, self._current.name, self.tally, reassigned)

    def _time_to_evolve(self) -> bool:
        """Return whether a round is over, and there is time for another in this stage."""
        n_windows = len(self.history.loss) - self.opened
        return (
            self._current.evolves
            and n_windows % _ROUND == 0
            and self.stage_step + _ROUND * WINDOW <= self._current.max_steps
            and not self._stage_is_over()
        )

    def _take_snapshot(self) -> None:
        prototypes = resize_images(self.model.prototypes.detach(), *self.images.shape[2:])
        shape = (self.model.n_restarts, self.model.n_clusters, *prototypes.shape[1:])
        self.history.snapshots.append(prototypes.reshape(shape).cpu().clone())
        self.history.snapshot_steps.append(self.step)
