"""What happens beside a training: progress, checkpoints, interrupts.

None of it knows what is trained. To add something, subclass `Callback` and override the hooks that
matter.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kindset._torch.checkpoint import Checkpoint

_SAVE_EVERY = 30.0


class Training(Protocol):
    """What a callback may know of a training, and do to it."""

    step: int

    def summary(self) -> str:
        """Return in a few words how far it has come."""
        ...

    def stop(self) -> None:
        """End before the next step."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides how it goes on."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        ...


class Callback:
    """The hooks of a training; each does nothing unless it is overridden."""

    def on_step_begin(self, training: Training) -> None:
        """Act before each step of gradient descent, of a review as well."""

    def on_window_end(self, training: Training) -> None:
        """Act after every so many steps within a stage."""

    def on_stage_end(self, training: Training) -> None:
        """Act when a stage is over; the state is that before the next one."""


class Callbacks(Callback):
    """Several callbacks as one, in their order."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = tuple(callbacks)

    def on_step_begin(self, training: Training) -> None:
        """Call all."""
        for callback in self.callbacks:
            callback.on_step_begin(training)

    def on_window_end(self, training: Training) -> None:
        """Call all."""
        for callback in self.callbacks:
            callback.on_window_end(training)

    def on_stage_end(self, training: Training) -> None:
        """Call all."""
        for callback in self.callbacks:
            callback.on_stage_end(training)


class Interrupt(Callback):
    """Stops a training as soon as it is asked to."""

    def __init__(self, is_asked: Callable[[], bool]) -> None:
        self.is_asked = is_asked

    def on_step_begin(self, training: Training) -> None:
        """Stop if asked."""
        if self.is_asked():
            training.stop()


class Progress(Callback):
    """Moves a progress bar on with every stage."""

    def __init__(self, advance: Callable[[str], None]) -> None:
        self.advance = advance

    def on_stage_end(self, training: Training) -> None:
        """Move on by one."""
        self.advance(training.summary())


class Checkpointing(Callback):
    """Saves the state at the end of each stage, and every half minute within."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._saved = time.monotonic()

    def on_window_end(self, training: Training) -> None:
        """Save if it is time."""
        if time.monotonic() - self._saved > _SAVE_EVERY:
            self.on_stage_end(training)

    def on_stage_end(self, training: Training) -> None:
        """Save."""
        self.checkpoint.save(training)
        self._saved = time.monotonic()
