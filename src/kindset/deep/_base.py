"""What all deep clusterings share: parameters, fitting, and what a fitted model is asked."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from kindset._interrupt import check_interrupt, held_interrupts
from kindset._progress import progress_bar
from kindset._torch.callbacks import Callback, Checkpointing
from kindset._torch.callbacks import Training as AnyTraining
from kindset._torch.checkpoint import Checkpoint, training_identity
from kindset._torch.device import choose_device
from kindset._torch.image_set import ImageSet, ImageShape
from kindset._torch.reading import ReadsImages
from kindset._validation import (
    Constraint,
    Number,
    Optional,
    Seed,
    Whole,
    all_or_nothing,
    check_parameters,
)
from kindset.deep._assignment import Assignment
from kindset.deep._graph import Labels
from kindset.deep._networks import built
from kindset.deep._outcome import Outcome, Snapshot, embed
from kindset.deep._training import Training

_CHECKPOINT_FORMAT = 1
_NOT_DECIDING = ("checkpoint_dir", "device", "random_state", "time_budget", "verbose")
"""Parameters that a training may have others of when it goes on from a checkpoint."""

COMMON_CONSTRAINTS: dict[str, Constraint] = {
    "n_clusters": Whole(1),
    "batch_size": Whole(2),
    "learning_rate": Number(above=0),
    "time_budget": Optional(Number(above=0)),
    "n_snapshots": Whole(0),
    "random_state": Seed(),
}


class DeepClustering(
    ReadsImages, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Everything but the network and its training.

    To add a method, write a `Training`, and an estimator that names it, builds the network for
    images of a shape, and says by which rule points of the embedding are assigned to clusters.
    """

    _training: ClassVar[type[Training]]
    _assignment_kind: ClassVar[type[Assignment]]
    _parameter_constraints: ClassVar[dict[str, Constraint]]

    _network: nn.Module
    _assignment: Assignment

    def __init__(
        self,
        n_clusters: int,
        *,
        batch_size: int,
        learning_rate: float,
        time_budget: float | None,
        n_snapshots: int,
        image_shape: tuple[int, ...] | None,
        device: str,
        checkpoint_dir: Any,
        random_state: int | np.random.RandomState | None,
        verbose: int,
    ) -> None:
        self.n_clusters = n_clusters
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.time_budget = time_budget
        self.n_snapshots = n_snapshots
        self.image_shape = image_shape
        self.device = device
        self.checkpoint_dir = checkpoint_dir
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _make_network(self, shape: ImageShape) -> nn.Module:
        """Return a new network that embeds images of a shape (channels, height, width)."""

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
            check_parameters(self)
            images = self._read_training(X)
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            with held_interrupts(), _one_thread():
                training = self._start(images, seed)
                interrupted = self._run(training, self._checkpoint(images, seed))
                outcome = training.outcome()
                self.interrupted_ = interrupted or _is_interrupted()
            self._store(training, outcome)
            self._warn(stacklevel=2)
        return self

    def predict(self, X: Any) -> Labels:
        """Return the cluster of each image."""
        check_is_fitted(self)
        return self._assignment.labels(self._embed(X))

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of images, of shape (n_samples, n_features)."""
        check_is_fitted(self)
        return self._embed(X).astype(np.float32)

    def _embed(self, X: Any) -> NDArray[np.floating]:
        with _one_thread():
            return embed(self._network, self._read(X))

    def _start(self, images: ImageSet, seed: int) -> Training:
        generator = torch.Generator().manual_seed(seed)
        shape: Any = images.shape[1:]
        network = built(lambda: self._make_network(shape))
        return self._training(self, images, network.to(choose_device(self.device)), generator)  # type: ignore[call-arg]

    def _checkpoint(self, images: ImageSet, seed: int) -> Checkpoint | None:
        if self.checkpoint_dir is None:
            return None
        value_range, pixels = images.content()
        parameters = {
            name: value
            for name, value in sorted(self.get_params(deep=False).items())
            if name not in (*_NOT_DECIDING, "pretrained")
        }
        described = (_CHECKPOINT_FORMAT, type(self).__name__, parameters, seed, value_range)
        identity = training_identity(described, [pixels, *self._parameter_tensors()])
        return Checkpoint(Path(self.checkpoint_dir) / "training", identity)

    def _parameter_tensors(self) -> list[torch.Tensor]:
        """Return what decides the training and is no plain parameter."""
        return []

    def _run(self, training: Training, checkpoint: Checkpoint | None) -> bool:
        """Train; return whether Ctrl-C ended it, once there was something to keep."""
        callbacks: list[Callback] = []
        if checkpoint is not None:
            checkpoint.load(training)
            callbacks.append(Checkpointing(checkpoint))
        try:
            training.prepare()
            left = max(1, training.n_epochs - len(training.history))
            title = f"{type(self).__name__}, {self.n_clusters} clusters"
            with progress_bar(title, left, enabled=bool(self.verbose)) as advance:
                training.run([*callbacks, EpochProgress(advance)])
        except KeyboardInterrupt:
            if training.step == 0:
                raise
            return True
        return False

    def _store(self, training: Training, outcome: Outcome) -> None:
        """Set the fitted attributes."""
        snapshots = training.snapshots
        if self.n_snapshots and (not snapshots or snapshots[-1].epoch != len(training.history)):
            training.take_snapshot(outcome)
        self.labels_ = outcome.labels
        self.history_ = training.history.columns()
        self.snapshots_: list[Snapshot] = training.snapshots
        self.n_iter_ = training.step
        self.converged_ = bool(training.converged)
        self.cluster_centers_ = outcome.assignment.centers(outcome.embedding, outcome.labels)
        self._store_model(outcome.network, outcome.assignment)

    def _store_model(self, network: nn.Module, assignment: Assignment) -> None:
        """Set what `predict` and `transform` need."""
        self._network, self._assignment = network, assignment
        # What a user sets later does not change what was fitted.
        self._fitted_parameters = self.get_params(deep=False)
        self._n_features_out = self.cluster_centers_.shape[1]

    def _warn(self, *, stacklevel: int) -> None:
        if self.interrupted_:
            warnings.warn("Interrupted: the clustering so far is kept.", stacklevel=stacklevel + 1)
        n_found = len(np.unique(self.labels_))
        if n_found < self.n_clusters:
            warnings.warn(
                f"Only {n_found} of n_clusters={self.n_clusters} clusters have images; ask for "
                "fewer, or train longer.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class EpochProgress(Callback):
    """Moves a progress bar on with every epoch."""

    def __init__(self, advance: Callable[[str], None]) -> None:
        self.advance = advance

    def on_window_end(self, training: AnyTraining) -> None:
        """Move on by one."""
        self.advance(training.summary())

    on_stage_end = on_window_end


def _is_interrupted() -> bool:
    """Whether Ctrl-C was pressed when nobody looked: after the last step."""
    try:
        check_interrupt()
    except KeyboardInterrupt:
        return True
    return False


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute with one thread: several runs side by side make better use of a machine.

    The result is then the same on every machine as well.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
