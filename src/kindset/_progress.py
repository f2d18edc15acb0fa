"""One progress bar for all long work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    description: str, total: int, *, enabled: bool = True
) -> Iterator[Callable[[str], None]]:
    """Show a bar with an estimate of the time left, on standard error.

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
        return
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
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total, note="")

        def advance(note: str = "") -> None:
            bar.update(task, advance=1, note=note)

        yield advance
