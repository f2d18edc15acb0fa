"""A limit in seconds, shared out among the stages of a training."""

import time


class StageClock:
    """Tells how much of its time a stage has taken; without a limit always nothing.

    Parameters
    ----------
    budget : float or None
        Seconds of the whole training.
    """

    def __init__(self, budget: float | None) -> None:
        self.budget = budget
        self._begun = self._opened = time.monotonic()
        self._share = 1.0

    def start(self) -> None:
        """Begin to count the whole training."""
        self._begun = time.monotonic()

    def open_stage(self, share: float) -> None:
        """Begin to count a stage that may take this share of the budget."""
        self._opened = time.monotonic()
        self._share = share

    def taken(self) -> float:
        """Return how much of the stage's time is over, from 0; above 1 is too much."""
        if self.budget is None:
            return 0.0
        return (time.monotonic() - self._opened) / (self.budget * self._share)

    def is_over(self) -> bool:
        """Return whether the time of the stage is over."""
        return self.taken() > 1

    def is_behind(self, planned: float) -> bool:
        """Return whether the training has taken more than this share of the budget."""
        return self.budget is not None and time.monotonic() - self._begun > self.budget * planned
