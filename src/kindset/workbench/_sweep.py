"""Several runs in one folder, made one after the other; what is finished is not made again."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from kindset._files import check_output_folder, is_ours, output_folder, write_text
from kindset._version import __version__
from kindset.exceptions import InputError
from kindset.runs import RUN_FILE, Fingerprint, Run, SharedSpaces
from kindset.workbench._working import ENDING, WorkingFolder

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
    source : dict of str to str
        What else must be the same, such as ids and known labels, in words and as a hash.
    make : callable
        ``make(folder, work)`` makes the run, fills its folder, and returns it; in the working
        folder it may leave what it needs to go on after it was killed.
    how : str
        What does not decide the run, but whether work on it can go on: the number of threads.
    """

    folder: str
    wanted: dict[str, object]
    data: Fingerprint
    source: dict[str, str]
    make: Callable[[Path, WorkingFolder], Run]
    how: str = ""

    def stands(self, path: Path) -> Run | None:
        """Return the run that an earlier, perhaps interrupted, sweep has finished.

        A sound run that is another one is refused: it is not to be replaced unasked.
        """
        try:
            run = Run.load(path)
        except InputError:
            return None
        changed = self._changed(run)
        if changed:
            raise InputError(
                f"{path} was made with {' and '.join(changed)}; choose another --out, or replace "
                "it (--force)."
            )
        return run

    def _changed(self, run: Run) -> list[str]:
        """Say in words what a run does not have in common with this one."""
        wanted = any(_plain(getattr(run, key)) != _plain(self.wanted[key]) for key in self.wanted)
        changed = {
            "another release of Kindset": run.versions.get("kindset") != __version__,
            "other settings": wanted,
            "other data": run.data != self.data,
        }
        source = run.details.get("source", self.source)
        for what, told in self.source.items():
            changed[f"other {what}"] = not isinstance(source, dict) or source.get(what) != told
        return [what for what in changed if changed[what]]

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


@dataclass(frozen=True)
class Sweep:
    """A folder of runs about one thing, made one after the other.

    Attributes
    ----------
    folder : Path
        Where they go, each into a folder of its own.
    about : str
        What all of them are about; runs about another thing do not mix with them.
    say : callable
        Tells how it goes.
    force : bool
        Whether runs that are there are made again. Runs about another thing, or any other output,
        then go as soon as the first new run stands.
    single : bool
        Whether it is one run only, which never takes the place of several.
    """

    folder: Path
    about: str
    say: Callable[[str], None]
    force: bool = False
    single: bool = False

    def open(self) -> None:
        """Make the folder, or refuse one that holds other things; nothing is replaced yet."""
        check_output_folder(self.folder, force=self.force or is_sweep(self.folder))
        if is_sweep(self.folder):
            self._replaceable()
        elif not is_ours(self.folder):  # absent or empty; another sweep may begin here right now
            place = self.folder.resolve()
            place.mkdir(parents=True, exist_ok=True)
            self._mark(place)

    def finish(self, jobs: Sequence[Job]) -> list[Run]:
        """Make the runs that are not there yet, or with `force` all; return all.

        An earlier run that is another one is refused before any work. Ctrl-C keeps what is
        finished, and the next call goes on from there. Other runs about the same thing stay as
        they are.
        """
        share = SharedSpaces()
        there = [self._standing(job, share) for job in jobs]
        runs = []
        for number, job in enumerate(jobs):
            earlier = (self.folder / job.folder).exists()
            # What was not there at first, another sweep may have made meanwhile.
            run, note = there[number] or self._standing(job, share), "there already"
            if run is None:
                try:
                    run = self._make(job)
                except KeyboardInterrupt:
                    done = f"{number} of {len(jobs)} runs are there"
                    self.say(f"Interrupted: {done}; start again to go on.")
                    raise typer.Exit(130) from None
                note = f"{sum(run.timings.values()):.1f} s"
                note += ", in place of an earlier one" if earlier else ""
            self.say(f"[{number + 1}/{len(jobs)}] {run.name}: {note}")
            runs.append(share(run))
        return runs

    def _standing(self, job: Job, share: SharedSpaces) -> Run | None:
        run = None if self.force else job.stands(self.folder / job.folder)
        return None if run is None else share(run)

    def _make(self, job: Job) -> Run:
        """Make a run; when it stands, what it replaces is removed."""
        path = self.folder / job.folder
        work = job.work_for(path)
        if is_sweep(self.folder):
            with output_folder(path, force=True) as stage:
                run = job.make(stage, work)
                others = self._replaceable()
            if others:
                self._remove(others, path)
            self._mark(self.folder)
        else:
            with output_folder(self.folder, force=self.force) as stage:
                self._mark(stage)
                (stage / job.folder).mkdir()
                run = job.make(stage / job.folder, work)
                if is_sweep(self.folder):
                    raise InputError(f"others put runs into {self.folder} meanwhile; start again.")
        work.clear()
        return run

    def _replaceable(self) -> list[Path]:
        """Return the runs about another thing, if they may be replaced."""
        marker = json.loads((self.folder / MARKER).read_text(encoding="utf-8"))
        others = [] if marker.get("about") == self.about else _runs_in(self.folder)
        if others and self.single:
            raise InputError(
                f"{self.folder} holds runs of other data, which stay; choose another --out."
            )
        if others and not self.force:
            raise InputError(
                f"{self.folder} holds runs of other data; choose another, or replace them "
                "(--force)."
            )
        return others

    def _remove(self, others: Sequence[Path], new: Path) -> None:
        """Remove other runs than the new one, and what is left of unfinished ones."""
        left = [path for path in self.folder.glob(f".*{ENDING}") if path.is_dir()]
        for path in (*others, *left):
            if path != new and not path.is_symlink():
                shutil.rmtree(path)
        self.say(f"Removed: {len(others)} run{'s'[: len(others) > 1]} of other data.")

    def _mark(self, folder: Path) -> None:
        text = json.dumps({"kindset": __version__, "about": self.about})
        write_text(folder / MARKER, f"{text}\n")


def _runs_in(folder: Path) -> list[Path]:
    """Return the runs that lie in a folder, without those that are being written."""
    found = [path for path in folder.iterdir() if (path / RUN_FILE).exists() and is_ours(path)]
    return [path for path in found if not path.name.startswith(".") and not path.is_symlink()]
