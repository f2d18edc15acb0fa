"""Several runs in one folder, made one after the other; what is finished is not made again."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from kindset._files import check_output_folder, output_folder, write_text
from kindset._version import __version__
from kindset.exceptions import InputError
from kindset.runs import Fingerprint, Run

MARKER = "sweep.json"


@dataclass(frozen=True)
class Job:
    """A run to be made.

    Attributes
    ----------
    folder : str
        Its name among the others.
    wanted : dict
        What an earlier run must have in common with this one to stand for it.
    data : Fingerprint
        What it is made on.
    make : callable
        ``make(folder)`` makes the run, fills its folder, and returns it.
    """

    folder: str
    wanted: dict[str, object]
    data: Fingerprint
    make: Callable[[Path], Run]

    def stands(self, path: Path) -> Run | None:
        """Return the run that an earlier, perhaps interrupted, sweep has finished."""
        try:
            run = Run.load(path)
        except InputError:
            return None
        same = all(_plain(getattr(run, key)) == _plain(self.wanted[key]) for key in self.wanted)
        made_here = run.versions.get("kindset") == __version__
        return run if same and made_here and run.data == self.data else None


def _plain(value: object) -> object:
    """Return a value as it is when it comes back from disk."""
    return json.loads(json.dumps(value, default=str))


def open_sweep(folder: Path, *, force: bool) -> None:
    """Make the folder, or get one of an earlier sweep ready to go on."""
    ours = (folder / MARKER).exists()
    check_output_folder(folder, force=force or ours)
    if force and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for left_behind in folder.glob(".*.*"):  # by a run that was killed while it was written
        if left_behind.is_dir():
            shutil.rmtree(left_behind)
    write_text(folder / MARKER, json.dumps({"kindset": __version__}) + "\n")


def finish(folder: Path, jobs: Sequence[Job], *, say: Callable[[str], None]) -> list[Run]:
    """Make the runs that are not there yet; return all.

    Ctrl-C keeps what is finished, and the next call goes on from there.
    """
    runs = []
    for number, job in enumerate(jobs):
        path = folder / job.folder
        run = job.stands(path) if path.exists() else None
        note = "there already"
        if run is None:
            try:
                with output_folder(path, force=True) as stage:
                    run = job.make(stage)
            except KeyboardInterrupt:
                say(f"Interrupted: {number} of {len(jobs)} runs are there; start again to go on.")
                raise typer.Exit(130) from None
            note = f"{sum(run.timings.values()):.1f} s"
        say(f"[{number + 1}/{len(jobs)}] {run.name}: {note}")
        runs.append(run)
    return runs
