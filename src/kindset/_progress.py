"""One progress bar for all long work; plain lines where there is no terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_BETWEEN_LINES = 10.0
"""Seconds between two lines of a log."""


@contextmanager
def progress_bar(
    description: str, total: int, *, enabled: bool = True
) -> Iterator[Callable[[str], None]]:
    """Show the phase, the time so far and the time left, on standard error.

    On a terminal that is a bar. A log gets a plain line every ten seconds, and one at the end.

    Parameters
    ----------
    description : str
        What is being done, shown in front of the bar.
    total : int
        Number of steps.
    enabled : bool, default=True
        Whether anything is shown at all.

    Yields
    ------
    advance : callable
        ``advance(note)`` moves on by one step and shows `note` behind the bar.
    """
    if not enabled:
        yield lambda note: None
    elif sys.stderr.isatty():
        with _bar(description, total) as advance:
            yield advance
    else:
        yield _Lines(description, total)


@contextmanager
def _bar(description: str, total: int) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left  {task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total, note="")

        def advance(note: str = "") -> None:
            bar.update(task, advance=1, note=note)

        yield advance


class _Lines:
    """Writes progress as plain lines, seldom enough for a log."""

    def __init__(self, description: str, total: int) -> None:
        self._description = description
        self._total = total
        self._done = 0
        self._start = self._written = time.monotonic()

    def __call__(self, note: str = "") -> None:
        """Count one step, and write a line if the last one is old enough."""
        self._done += 1
        now = time.monotonic()
        if now - self._written < _BETWEEN_LINES and self._done < self._total:
            return
        self._written = now
        elapsed = now - self._start
        left = elapsed * (self._total - self._done) / self._done
        rest = f"{elapsed:.0f} s so far, about {left:.0f} s left" if left else f"{elapsed:.0f} s"
        behind = f" {note}" if note else ""
        sys.stderr.write(f"{self._description}: {self._done}/{self._total}, {rest}{behind}\n")
        sys.stderr.flush()
