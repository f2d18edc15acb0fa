"""Restarts in groups that share an encoder; groups run side by side, and the lowest loss wins."""

import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from joblib import Parallel, delayed, effective_n_jobs
from torch import Tensor, nn

from kindset._torch.callbacks import Callback, Checkpointing, Interrupt, Progress
from kindset._torch.checkpoint import Checkpoint
from kindset._torch.image_set import ImageSet
from kindset.exceptions import DivergedError
from kindset.images._alignment import Aligner, all_energies
from kindset.images._history import History
from kindset.images._model import DTIModel
from kindset.images._objectives import Objective
from kindset.images._reviewing import Reviewer
from kindset.images._schedule import Recipe
from kindset.images._seeding import distant_rows
from kindset.images._training import Trainer
from kindset.images._transforms import Transformation, first_prototypes, reduced
from kindset.images._window import compile_kernels

GROUP_SIZE = 4
"""Restarts that share one encoder."""


@dataclass(frozen=True)
class Problem:
    """What all groups have in common."""

    images: ImageSet
    n_clusters: int
    kinds: Sequence[type[Transformation]]
    make_objective: Callable[[], Objective]
    make_aligner: Callable[[], Aligner]
    device: torch.device
    n_threads: int = 1
    """Threads of a review; everything else is no faster with several."""


@dataclass(frozen=True)
class Group:
    """Restarts that are trained together."""

    recipe: Recipe
    seed: int
    encoder: nn.Module
    checkpoint: Checkpoint | None
    reviewer: Reviewer | None = None


@dataclass
class Outcome:
    """What a group came to; `error` says why, if it came to nothing."""

    model: DTIModel
    aligner: Aligner
    history: History
    energies: Tensor
    loss: float
    finished: bool
    error: str = ""


class Note:
    """Moves a progress bar on; in another process, where there is none, it does nothing."""

    def __init__(self, advance: Callable[[str], None]) -> None:
        self.advance = advance

    def __call__(self, text: str) -> None:
        """Move on, with a text behind the bar."""
        self.advance(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Note, (_ignore,)


def _ignore(text: str) -> None:
    pass


def split_restarts(n_init: int) -> list[int]:
    """Return the sizes of the groups, as even as they can be."""
    n_groups = -(-n_init // GROUP_SIZE)
    return [n_init // n_groups + (i < n_init % n_groups) for i in range(n_groups)]


def train_groups(
    problem: Problem,
    groups: Sequence[Group],
    *,
    n_jobs: int | None,
    advance: Callable[[str], None],
) -> tuple[list[Outcome], bool]:
    """Train all groups; return what they came to, and whether Ctrl-C ended it early.

    The work is done beside the main thread, which waits: Ctrl-C then asks the groups to stop and
    what they have is kept, however they run.
    """
    outcomes: list[Outcome] = []
    failures: list[BaseException] = []
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")  # here: joblib's settings are by thread
    note = Note(advance)
    n_threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        stop = Path(folder) / "stop"

        def work() -> None:
            try:
                outcomes.extend(
                    parallel(delayed(train_group)(problem, one, stop, note) for one in groups)
                )
            except BaseException as error:
                failures.append(error)
            finally:
                done.set()

        done = threading.Event()
        threading.Thread(target=work).start()
        interrupted = _wait(done, stop)
    torch.set_num_threads(n_threads)
    if failures:
        raise failures[0]
    return outcomes, interrupted


def n_workers(n_groups: int, n_jobs: int | None) -> int:
    """Return how many groups run at the same time."""
    return min(n_groups, effective_n_jobs(n_jobs))


def _wait(done: threading.Event, stop: Path) -> bool:
    interrupted = False
    while not done.is_set():
        try:
            done.wait(timeout=60)  # with a limit, or Ctrl-C would have to wait on some systems
        except KeyboardInterrupt:
            interrupted = True
            stop.touch()
    return interrupted


def train_group(
    problem: Problem, group: Group, stop: Path, advance: Callable[[str], None]
) -> Outcome:
    """Train the restarts of one group down to the best one."""
    torch.set_num_threads(1)
    with _ctrl_c_left_to_others():
        return _train(problem, group, stop, advance)


@contextmanager
def _ctrl_c_left_to_others() -> Iterator[None]:
    """Ignore Ctrl-C in a process of its own, which hears it too: it is told through a file."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _train(problem: Problem, group: Group, stop: Path, advance: Callable[[str], None]) -> Outcome:
    compile_kernels()
    trainer = _start(problem, group)
    callbacks: list[Callback] = [Interrupt(stop.exists), Progress(advance)]
    if group.checkpoint is not None:
        group.checkpoint.load(trainer)
        callbacks.append(Checkpointing(group.checkpoint))
    error = ""
    try:
        finished = trainer.run(callbacks)
    except DivergedError as diverged:
        finished, error = False, str(diverged)
    trainer.conclude()
    # In double precision, so that no result depends on which images share a batch.
    model = trainer.model.eval().double()
    energies, loss = torch.empty(0), torch.nan
    if not error:
        energies = all_energies(model, trainer.aligner, trainer.images)
        loss = float(model.objective.assign(energies)[1].mean())
    return Outcome(model, trainer.aligner, trainer.history, energies, loss, finished, error)


def _start(problem: Problem, group: Group) -> Trainer:
    generator = torch.Generator().manual_seed(group.seed)
    shape: Any = tuple(problem.images.shape[1:])
    transformations = [kind(shape) for kind in problem.kinds]  # type: ignore[call-arg]
    look = partial(reduced, transformations)
    prototypes = torch.cat([
        problem.images[distant_rows(problem.images, problem.n_clusters, generator, look)]
        for _ in range(group.recipe.stages[0].n_restarts)
    ])  # fmt: skip
    model = DTIModel(
        first_prototypes(transformations, prototypes),
        problem.n_clusters,
        transformations,
        problem.make_objective(),
        group.encoder,
        generator,
    )
    images = problem.images.to(problem.device)
    reviewer = None if group.reviewer is None else group.reviewer.to(problem.device)
    return Trainer(
        images, model.to(problem.device), problem.make_aligner(), group.recipe, generator,
        reviewer, problem.n_threads,
    )  # fmt: skip
