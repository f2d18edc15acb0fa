"""One array in memory for all runs that live in the same space."""

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from kindset.runs._fingerprint import Fingerprint, fingerprint
from kindset.runs._run import Run


class SharedSpaces:
    """Gives runs whose spaces are equal one array to hold.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.runs import Run, SharedSpaces
    >>> share = SharedSpaces()
    >>> first = share(Run([0, 0, 1], space=np.eye(3)))
    >>> second = share(Run([0, 1, 2], space=np.eye(3)))
    >>> first.space is second.space
    True
    """

    def __init__(self) -> None:
        self._held: dict[Fingerprint, NDArray[Any]] = {}

    def __call__(self, run: Run) -> Run:
        """Return the run, in the array of an earlier one if that is the same."""
        if run.space is None or any(run.space is one for one in self._held.values()):
            return run
        held = self._held.setdefault(fingerprint(run.space), run.space)
        return run if held is run.space else replace(run, space=held)
