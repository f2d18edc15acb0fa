"""The training loop: stages of the curriculum, empty clusters, restarts, convergence."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kindset.images._model import Aligner, DTIModel, Renewal, resize_images
from kindset.images._optimised import OptimisedAlignment
from kindset.images._reviewing import Reviewer, review
from kindset.images._schedule import WINDOW, Stage
from kindset.images._swapping import choose_move, unwarped

_NOISE = 1e-4
_ROUND = 2  # windows between two rounds of swaps
_JURY, _PART = 2048, 256
_PATIENCE = 4
_TOLERANCE = 0.01
_EXPLODED = 10.0  # pixels go from 0 to 1, and losses are per pixel
_DIVERGED = "the loss {} after {} steps: lower learning_rate and prototype_learning_rate."


@dataclass(frozen=True)
class Recipe:
    """How to train, beside the curriculum."""

    stages: tuple[Stage, ...]
    batch_size: int = 128
    learning_rate: float = 1e-3
    prototype_learning_rate: float = 1e-2
    weight_decay: float = 1e-6
    tiny: float = 0.2
    n_candidates: int = 4
    full_every: int = 4
    time_budget: float | None = None


class DivergedError(ArithmeticError):
    """The training left the numbers; the message says what to lower."""


@dataclass
class History:
    """What happened, one entry for each window of steps; losses and shares by restart.

    Snapshots are one for each beginning and end of a stage, images changed one for each review.
    """

    step: list[int] = field(default_factory=list)
    stage: list[str] = field(default_factory=list)
    loss: list[Tensor] = field(default_factory=list)
    shares: list[Tensor] = field(default_factory=list)
    reassigned: list[int] = field(default_factory=list)
    n_restarts: list[int] = field(default_factory=list)
    snapshots: list[Tensor] = field(default_factory=list)
    snapshot_steps: list[int] = field(default_factory=list)
    n_changed: list[int] = field(default_factory=list)

    def steps_by_stage(self) -> dict[str, int]:
        """Return how many steps each stage took."""
        taken = dict.fromkeys(self.stage, 0)
        for stage, before, after in zip(self.stage, [0, *self.step], self.step, strict=False):
            taken[stage] += after - before
        return taken


class Trainer:
    """Trains a model of several restarts down to the best one.

    Images and model may be on any device; the book-keeping is small and stays on the CPU.

    Parameters
    ----------
    images : Tensor of shape (N, C, H, W)
    model : DTIModel
    aligner : Aligner
    recipe : Recipe
    generator : torch.Generator
        Draws batches and noise.
    reviewer : Reviewer, default=None
        What reviews the assignments, if the recipe has reviews.
    n_threads : int, default=1
        Threads of a review; everything else is no faster with several.
    """

    def __init__(
        self,
        images: Tensor,
        model: DTIModel,
        aligner: Aligner,
        recipe: Recipe,
        generator: torch.Generator,
        reviewer: Reviewer | None = None,
        n_threads: int = 1,
    ) -> None:
        self.images = images
        self.scaled = images
        self.model = model
        self.aligner = aligner
        self.recipe = recipe
        self.generator = generator
        self.reviewer = reviewer
        self.n_threads = n_threads
        self.held: Tensor | None = None
        self.optimizer = torch.optim.Adam(
            [
                {"params": model.cluster_parameters(), "lr": recipe.prototype_learning_rate},
                {
                    "params": [*model.encoder.parameters(), *model.heads.parameters()],
                    "lr": recipe.learning_rate,
                    "weight_decay": recipe.weight_decay,
                },
            ],
            fused=True,
        )
        self.stage = 0
        self.step = 0
        self.stage_step = 0
        self.opened = 0
        self.history = History()
        self.finished = False
        self.queue = torch.empty(0, dtype=torch.int64)
        self.passes = 0
        self.memory = torch.full((len(images), len(model.prototypes)), -torch.inf)
        self.clear_window()
        self._clock = self._begun = time.monotonic()
        self._should_stop: Callable[[], bool] = lambda: False

    def run(
        self,
        should_stop: Callable[[], bool] = lambda: False,
        after_window: Callable[["Trainer"], None] = lambda trainer: None,
    ) -> bool:
        """Train to the end, or until told to stop; return whether it came to the end."""
        self.model.train()
        self._should_stop = should_stop
        self._begun = time.monotonic()
        while not self.finished:
            if self.stage_step == 0:
                self._open_stage()
            left = self.recipe.stages[self.stage].max_steps - self.stage_step
            for _ in range(min(WINDOW, left)):
                if should_stop():
                    return False
                self._step()
                if self._is_out_of_time():
                    break
            self._close_window()
            if self._stage_is_over():
                self._close_stage()
            after_window(self)
        return True

    def enter_stage(self) -> None:
        """Set what depends on the stage that is under way."""
        stage = self.recipe.stages[self.stage]
        self.resize(*(size // stage.coarse for size in self.images.shape[2:]))
        self.model.n_active = stage.n_active
        rates = (self.recipe.prototype_learning_rate, self.recipe.learning_rate)
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * stage.rate
        self.clear_window()

    def conclude(self) -> None:
        """Keep the best restart only, whatever stage the training is in."""
        if self._counted:
            self._note_window(reassigned=0)
        self._keep_best(1)
        self.resize(*self.images.shape[2:])

    def resize(self, height: int, width: int) -> None:
        """Go over to images of another size."""
        if self.scaled.shape[2:] != (height, width):
            self.scaled = resize_images(self.images, height, width)
        if self.model.prototypes.shape[2:] != (height, width):
            self._renew(self.model.resize(height, width))

    def _open_stage(self) -> None:
        self._clock = time.monotonic()
        self._keep_best(self.recipe.stages[self.stage].n_restarts)
        self.enter_stage()
        if self.recipe.stages[self.stage].reviewed and not self._is_behind():
            self.held = self._review()
        self.queue, self.passes = self.queue[:0], 0
        self._take_snapshot()
        self.opened = len(self.history.loss)

    def _review(self) -> Tensor:
        """Return the clusters to which a network gives the images that learns to recognise them."""
        assert self.reviewer is not None
        torch.set_num_threads(self.n_threads)
        self.model.eval()
        labels, n_changed = review(
            self.reviewer, self.model, self.aligner, self.images,
            n_steps=self.recipe.stages[self.stage].max_steps,
            # Two at least: the statistics of a single image are none.
            batch_size=min(max(2, self.recipe.batch_size), len(self.images)),
            least=self.recipe.tiny * len(self.images) / self.model.n_clusters,
            generator=self.generator,
            # Half of the stage's time is for the steps after it.
            progress=lambda: 1.0 if self._should_stop() else 2 * self._time_taken(),
        )  # fmt: skip
        self.model.train()
        torch.set_num_threads(1)
        self.history.n_changed.append(n_changed)
        return labels.cpu()

    def _close_stage(self) -> None:
        self._take_snapshot()
        self.held = None
        self.stage += 1
        self.stage_step = 0
        self.finished = self.stage == len(self.recipe.stages)

    def _stage_is_over(self) -> bool:
        if self.stage_step >= self.recipe.stages[self.stage].max_steps or self._is_out_of_time():
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

    def _is_behind(self) -> bool:
        """Return whether the time of this stage is over before it begins.

        A review looks at all images, however little time there is.
        """
        budget, stages = self.recipe.time_budget, self.recipe.stages[: self.stage + 1]
        planned = sum(stage.share for stage in stages)
        return budget is not None and time.monotonic() - self._begun > budget * planned

    def _is_out_of_time(self) -> bool:
        return self._time_taken() > 1

    def _time_taken(self) -> float:
        """Return how much of the stage's time is over, if there is a limit."""
        budget, share = self.recipe.time_budget, self.recipe.stages[self.stage].share
        return 0.0 if budget is None else (time.monotonic() - self._clock) / (budget * share)

    def _step(self) -> None:
        rows = self._next_batch()
        parameters = self.aligner(self.model, self.images[rows], rows)
        x = self.scaled[rows]
        weights, value = self._assign(x, rows, [values.detach() for values in parameters])
        flat = weights.flatten(1)
        b, g = flat.nonzero(as_tuple=True)
        pairs = self.model.pair_energies(x, parameters, b, g)
        loss = (pairs * flat[b, g].to(pairs.device)).sum() / len(rows)
        if not torch.isfinite(loss):
            raise DivergedError(_DIVERGED.format("is no number any more", self.step))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self._losses += loss.item() if value is None else value.mean(dim=0)
        self._shares += weights.mean(dim=0)
        self._counted += 1
        self.step += 1
        self.stage_step += 1

    def _next_batch(self) -> Tensor:
        size = min(self.recipe.batch_size, len(self.images))
        if len(self.queue) < size:
            more = torch.randperm(len(self.images), generator=self.generator)
            self.queue = torch.cat([self.queue, more])
            self.passes += 1
        batch, self.queue = self.queue[:size], self.queue[size:]
        return batch

    @torch.no_grad()
    def _assign(
        self, x: Tensor, rows: Tensor, parameters: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor | None]:
        """Return the weights of each restart's clusters, and the energies unless they are held."""
        n_clusters = self.model.n_clusters
        if self.held is not None:
            return one_hot(self.held[rows], n_clusters)[:, None].float(), None
        energies = self._search(x, rows, parameters).view(len(rows), -1, n_clusters)
        return self.model.objective.assign(energies)

    def _search(self, x: Tensor, rows: Tensor, parameters: Sequence[Tensor]) -> Tensor:
        """Return the energies of all pairs; of the promising ones only in most passes."""
        n_clusters, n_candidates = self.model.n_clusters, self.recipe.n_candidates
        full = self.passes % self.recipe.full_every == 1
        if full or n_clusters <= n_candidates + 1 or not parameters:
            energies = self.model.energies(x, parameters).cpu()
            self.memory[rows] = energies
            return energies
        known = self.memory[rows].view(len(rows), -1, n_clusters)
        nearest = known.topk(n_candidates, dim=-1, largest=False).indices
        first = n_clusters * torch.arange(known.shape[1])[:, None]
        g = (nearest + first).flatten()
        b = torch.arange(len(rows)).repeat_interleave(known.shape[1] * n_candidates)
        found = self.model.pair_energies(x, parameters, b, g).cpu()
        self.memory[rows[b], g] = found
        energies = torch.full((len(rows), known.shape[1] * n_clusters), torch.inf)
        energies[b, g] = found
        return energies

    def clear_window(self) -> None:
        """Start to count losses and shares anew."""
        n_restarts = self.model.n_restarts
        self._counted = 0
        self._losses = torch.zeros(n_restarts)
        self._shares = torch.zeros(n_restarts, self.model.n_clusters)

    def _close_window(self) -> None:
        if self._losses.min() > _EXPLODED * self._counted:
            raise DivergedError(_DIVERGED.format("has exploded", self.step))
        # Too late in the last stage, and few steps do not tell which clusters are tiny.
        last = self.stage == len(self.recipe.stages) - 1
        leave = last or self.held is not None or self._is_out_of_time()
        self._note_window(reassigned=0 if leave else self._refill(self._shares / self._counted))
        if self._time_to_evolve():
            self._evolve()
        self.clear_window()

    def _note_window(self, reassigned: int) -> None:
        history = self.history
        history.step.append(self.step)
        history.stage.append(self.recipe.stages[self.stage].name)
        history.loss.append(self._losses / self._counted)
        history.shares.append(self._shares / self._counted)
        history.n_restarts.append(self.model.n_restarts)
        history.reassigned.append(reassigned)

    def _refill(self, shares: Tensor) -> int:
        """Let each tiny cluster share the largest one's images; return how many did."""
        n_clusters = self.model.n_clusters
        source = torch.arange(len(self.model.prototypes))
        disturbed = set()
        for r, c in (shares < self.recipe.tiny / n_clusters).nonzero().tolist():
            largest = r * n_clusters + int(shares[r].argmax())
            source[r * n_clusters + c] = largest
            disturbed |= {largest, r * n_clusters + c}
        count = int((source != torch.arange(len(source))).sum())
        if count:
            self._take(source)
            rows = torch.tensor(sorted(disturbed))
            noise = torch.randn(len(rows), *self.model.prototypes.shape[1:],
                                generator=self.generator)  # fmt: skip
            self.model.prototypes.data[rows] += _NOISE * noise.to(self.images.device)
        return count

    def _keep_best(self, n_restarts: int) -> None:
        if n_restarts < self.model.n_restarts:
            self._take_restarts(self._ranking()[:n_restarts])
            self.clear_window()

    def _time_to_evolve(self) -> bool:
        """Return whether a round is over, and there is time for another in this stage."""
        stage = self.recipe.stages[self.stage]
        n_windows = len(self.history.loss) - self.opened
        return (
            stage.evolves
            and n_windows % _ROUND == 0
            and self.stage_step + _ROUND * WINDOW <= stage.max_steps
            and not self._stage_is_over()
        )

    def _evolve(self) -> None:
        """Let copies of the best, with one cluster moved, take the place of the other restarts.

        Copies and originals go on side by side on the same batches, and the lower loss tells next
        time which was right: random swaps with an acceptance test. Half of the restarts stay after
        the first round, a quarter after the second, and so on.
        """
        ranking = self._ranking()
        n_rounds = (len(self.history.loss) - self.opened) // _ROUND
        n_kept = max(1, len(ranking) >> n_rounds)
        self._take_restarts(ranking[torch.arange(len(ranking)) % n_kept])
        for r in range(n_kept, len(ranking)):
            self._swap(r)

    def _swap(self, restart: int) -> None:
        """Move the cluster that is missed least to an image that is matched badly."""
        n_clusters = self.model.n_clusters
        first = restart * n_clusters
        move = choose_move(self.memory[:, first : first + n_clusters], self.generator)
        if move is None:
            return
        moved, owner, row = first + move.cluster, first + move.owner, move.row
        source = torch.arange(len(self.model.prototypes))
        source[moved] = owner
        self._take(source)
        x, full = self.scaled[row : row + 1], self.images[row : row + 1]
        self.model.prototypes.data[moved] = unwarped(self.model, self.aligner, x, full, moved)
        self.memory[:, moved] = -torch.inf

    @torch.no_grad()
    def _ranking(self) -> Tensor:
        """Return the restarts, the one with the lowest loss first, on images from everywhere."""
        self.model.eval()
        n_samples = len(self.images)
        rows = torch.linspace(0, n_samples - 1, min(n_samples, _JURY)).long()
        values = []
        for part in rows.split(_PART):
            parameters = self.aligner(self.model, self.images[part], part)
            energies = self.model.energies(self.scaled[part], parameters)
            by_restart = energies.view(len(part), -1, self.model.n_clusters)
            values.append(self.model.objective.assign(by_restart)[1].cpu())
        self.model.train()
        return torch.cat(values).mean(dim=0).argsort(stable=True)

    def _take_restarts(self, index: Tensor) -> None:
        n_clusters = self.model.n_clusters
        self._take((index[:, None] * n_clusters + torch.arange(n_clusters)).flatten())
        history = self.history
        history.loss = [loss[index] for loss in history.loss]
        history.shares = [shares[index] for shares in history.shares]
        history.snapshots = [snapshot[index] for snapshot in history.snapshots]

    def _take(self, index: Tensor) -> None:
        """Let prototype i be what prototype ``index[i]`` was, with all that belongs to it."""
        before = dict(self.optimizer.state)
        renewal = self.model.take(index)
        self._renew(renewal)
        for old, new in renewal.items():
            if state := before.get(old):
                kept = {name: state[name][index] for name in ("exp_avg", "exp_avg_sq")}
                self.optimizer.state[new] = {**state, **kept}
        self.memory = self.memory[:, index]
        if isinstance(self.aligner, OptimisedAlignment):
            self.aligner.take(index)

    def _renew(self, renewal: Renewal) -> None:
        """Go over to new parameters, of which nothing is known yet."""
        for group in self.optimizer.param_groups:
            group["params"] = [renewal.get(one, one) for one in group["params"]]
        for old in renewal:
            self.optimizer.state.pop(old, None)

    def _take_snapshot(self) -> None:
        prototypes = resize_images(self.model.prototypes.detach(), *self.images.shape[2:])
        shape = (self.model.n_restarts, self.model.n_clusters, *prototypes.shape[1:])
        self.history.snapshots.append(prototypes.reshape(shape).cpu().clone())
        self.history.snapshot_steps.append(self.step)
