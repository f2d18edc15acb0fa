"""A place beside an output folder where long work leaves what it would need to go on."""

import hashlib
import shutil
from pathlib import Path

ENDING = ".kindset-work"


class WorkingFolder:
    """Where the work for one output keeps its state until it is done.

    It appears when the first state is written, under a hidden name, since the output folder itself
    stands only when it is whole.

    Parameters
    ----------
    output : Path
        What the work is for.
    about : str
        All that decides the work; other work for the same output keeps its state apart.
    """

    def __init__(self, output: Path, about: str) -> None:
        self._place = output.parent / f".{output.name}{ENDING}"
        self.path = self._place / hashlib.sha256(about.encode()).hexdigest()[:16]

    @property
    def begun(self) -> bool:
        """Whether there is something to go on with."""
        return self.path.exists()

    def clear(self) -> None:
        """Remove it, and what other work has left: the output stands."""
        shutil.rmtree(self._place, ignore_errors=True)
