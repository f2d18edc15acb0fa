"""Several runs in one folder, made one after the other; what is finished is not made again."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from kindset._files import check_output_folder, is_ours, output_folder, write_text
from kindset._version import __version__
from kindset.cli._working import ENDING, WorkingFolder
from kindset.exceptions import InputError
from kindset.runs import RUN_FILE, Fingerprint, Run, SharedSpaces

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
    source : str
        What else must be the same: ids, known labels, columns.
    make : callable
        ``make(folder, work)`` makes the run, fills its folder, and returns it; in the working
        folder it may leave what it needs to go on after it was killed.
    how : str
        What does not decide the run, but whether work on it can go on: the number of threads.
    """

    folder: str
    wanted: dict[str, object]
    data: Fingerprint
    source: str
    make: Callable[[Path, WorkingFolder], Run]
    how: str = ""

    def stands(self, path: Path) -> Run | None:
        """Return the run that an earlier, perhaps interrupted, sweep has finished."""
        try:
            run = Run.load(path)
        except InputError:
            return None
        same = all(_plain(getattr(run, key)) == _plain(self.wanted[key]) for key in self.wanted)
        same = same and run.details.get("source", self.source) == self.source
        made_here = run.versions.get("kindset") == __version__
        return run if same and made_here and run.data == self.data else None

    def work_for(self, path: Path) -> WorkingFolder:
        """Return the working folder of this run, if it is to stand at `path`."""
        about = (__version__, _plain(self.wanted), self.data, self.source, self.how)
        return WorkingFolder(path, repr(about))


def _plain(value: object) -> object:
    """Return a value as it is when it comes back from disk."""
    return json.loads(json.dumps(value, default=str))


def is_sweep(folder: Path) -> bool:
    """Whether the folder is one of several runs, to which others can be added."""
    return (folder / MARKER).exists() and is_ours(folder)


def check_single_output(folder: Path, *, force: bool) -> None:
    """Refuse, before any work, a folder that one output must not replace, such as that of runs."""
    if is_sweep(folder):
        raise InputError(f"{folder} is a folder of runs, which stay; choose another --out.")
    check_output_folder(folder, force=force)


def open_sweep(folder: Path, about: str, *, force: bool) -> None:
    """Make the folder, or get one of an earlier sweep about the same thing ready to go on.

    With `force` the runs of a sweep about another thing are removed, and so is any other output.
    """
    marker = folder / MARKER
    going_on = is_sweep(folder)
    check_output_folder(folder, force=force or going_on)
    if going_on and json.loads(marker.read_text(encoding="utf-8")).get("about") != about:
        if not force:
            raise InputError(
                f"{folder} holds runs of other data; choose another, or replace them (--force)."
            )
        _remove_runs(folder)
    text = json.dumps({"kindset": __version__, "about": about}) + "\n"
    if going_on:
        write_text(marker, text)
        return
    with output_folder(folder, force=force) as stage:
        write_text(stage / MARKER, text)


def finish(
    folder: Path, jobs: Sequence[Job], *, say: Callable[[str], None], force: bool = False
) -> list[Run]:
    """Make the runs that are not there yet, or with `force` all; return all.

    Ctrl-C keeps what is finished, and the next call goes on from there. Other runs in the folder
    stay as they are.
    """
    share = SharedSpaces()
    runs = []
    for number, job in enumerate(jobs):
        path = folder / job.folder
        earlier = path.exists()
        run = job.stands(path) if earlier and not force else None
        note = "there already"
        if run is None:
            work = job.work_for(path)
            try:
                with output_folder(path, force=True) as stage:
                    run = job.make(stage, work)
                work.clear()
            except KeyboardInterrupt:
                say(f"Interrupted: {number} of {len(jobs)} runs are there; start again to go on.")
                raise typer.Exit(130) from None
            note = f"{sum(run.timings.values()):.1f} s"
            note += ", in place of an earlier one" if earlier else ""
        say(f"[{number + 1}/{len(jobs)}] {run.name}: {note}")
        runs.append(share(run))
    return runs


def _remove_runs(folder: Path) -> None:
    """Remove the runs of a sweep, and what is left of unfinished ones; nothing else."""
    for path in folder.iterdir():
        run = (path / RUN_FILE).exists() and is_ours(path)
        work = path.name.startswith(".") and path.suffix == ENDING and path.is_dir()
        if (run or work) and not path.is_symlink():
            shutil.rmtree(path)
