"""Several runs in one folder, made one after the other; what is finished is not made again."""

import json
import logging
import shutil
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kindset._files import check_output_folder, is_ours, output_folder, write_text
from kindset._reading import read_json
from kindset._version import __version__
from kindset.exceptions import InputError, Interrupted
from kindset.runs import RUN_FILE, STABILITY, Fingerprint, Run, SharedSpaces
from kindset.workbench._dataset import Dataset
from kindset.workbench._kinds import cluster_once
from kindset.workbench._outcome import Execution, Outcome
from kindset.workbench._settings import Setting
from kindset.workbench._stability import check_refits, stability
from kindset.workbench._working import ENDING, WorkingFolder

MARKER = "sweep.json"

_log = logging.getLogger("kindset.workbench")


@dataclass(frozen=True)
class Job:
    """One run to be made of a dataset, and how to recognise it if it is there already."""

    data: Dataset
    setting: Setting
    execution: Execution = field(default_factory=Execution)

    @property
    def folder(self) -> str:
        """The name of its folder among others."""
        return self.setting.folder

    @property
    def fingerprint(self) -> Fingerprint:
        """What it is made on."""
        answers = self.setting.described.takes == "answers"
        return self.data.answers_fingerprint if answers else self.data.numbers_fingerprint

    def check(self) -> None:
        """Refuse, before any work, what cannot be done with these data."""
        self.setting.check(self.data)
        n_resamples = self.execution.n_resamples
        if n_resamples != 0:
            check_refits(self.data, self.setting, n_resamples, random_state=self.setting.seed)

    def standing(self, path: Path) -> Run | None:
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
                f"{path} was made with {' and '.join(changed)}; choose another `out`, or replace "
                "it (`force`).",
                parameter="force",
            )
        return run

    def _changed(self, run: Run) -> list[str]:
        """Say in words what a run does not have in common with this one."""
        wanted = _plain(self.setting.as_parameters())
        assert isinstance(wanted, dict)
        made = {name: value for name, value in run.parameters.items() if name in wanted}
        same = run.method == self.setting.method and run.seed == self.setting.seed
        changed = {
            "another release of Kindset": run.versions.get("kindset") != __version__,
            "other settings": not same or _plain(made) != wanted,
            "other data": run.data != self.fingerprint,
        }
        known = run.details.get("source", self.data.identity)
        for what, hashed in self.data.identity.items():
            changed[f"other {what}"] = not isinstance(known, dict) or known.get(what) != hashed
        return [what for what in changed if changed[what]]

    def work_for(self, path: Path) -> WorkingFolder:
        """Return the working folder of this run, if it is to stand at `path`."""
        setting = (self.setting.method, _plain(self.setting.as_parameters()), self.setting.seed)
        threads = f"{self.execution.n_jobs} threads"
        about = (__version__, setting, self.fingerprint, self.data.identity, threads)
        return WorkingFolder(path, repr(about))

    def make(self, work: WorkingFolder | None) -> Outcome:
        """Make the run, or resume it; Ctrl-C during the refits keeps it without its stability."""
        outcome = cluster_once(
            self.data, self.setting, self.execution, None if work is None else work.path
        )
        if outcome.interrupted or not self.execution.n_resamples:
            return outcome
        try:
            return self._measured(outcome)
        except KeyboardInterrupt:
            return _unmeasured(outcome)

    def was_stopped(self, run: Run) -> bool:
        """Whether Ctrl-C ended the work on a run just made: its training, or the refits after."""
        wanted = self.execution.n_resamples != 0
        return run.about.interrupted or (wanted and STABILITY not in run.metrics)

    def _measured(self, outcome: Outcome) -> Outcome:
        """Write down how far refits on parts of the samples agree."""
        found = stability(
            self.data,
            self.setting,
            n_resamples=self.execution.n_resamples,
            n_jobs=self.execution.n_jobs,
            random_state=self.setting.seed,
        )
        metrics = {**outcome.run.metrics, STABILITY: found.agreement}
        return replace(
            outcome,
            run=replace(outcome.run, metrics=metrics),
            summary=f"{outcome.summary}\n\n{found.sentence}",
        )


def _unmeasured(outcome: Outcome) -> Outcome:
    """Note that the refits were interrupted; the run itself is whole."""
    note = "Interrupted during the refits: the run is kept without its stability."
    warnings.warn(note, stacklevel=3)
    details = outcome.run.details
    noted = {**details, "notes": [*details.get("notes", []), note]}
    return replace(
        outcome,
        run=replace(outcome.run, details=noted),
        summary=f"{outcome.summary}\n\n{note}",
    )


def _plain(value: object) -> object:
    """Return a value as it is when it comes back from disk."""
    return json.loads(json.dumps(value, default=str))


def is_sweep(folder: Path) -> bool:
    """Whether the folder is one of several runs, to which others can be added."""
    return (folder / MARKER).exists() and is_ours(folder)


def check_single_output(folder: Path, *, force: bool) -> None:
    """Refuse, before any work, a folder that one output must not replace, such as that of runs."""
    if is_sweep(folder):
        raise InputError(
            f"{folder} is a folder of runs, which stay; choose another `out`.", parameter="out"
        )
    check_output_folder(folder, force=force)


@dataclass(frozen=True)
class Sweep:
    """A folder of runs of one data source, made one after the other.

    Attributes
    ----------
    folder : Path
        Where they go, each into a folder of its own.
    about : str
        What all of them are about; runs about another thing do not mix with them.
    force : bool
        Whether runs that are there are made again. Runs about another thing, or any other output,
        are removed as soon as the first new run is written.
    single : bool
        Whether it is one run only, which never replaces several.
    """

    folder: Path
    about: str
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
        finished, also a run whose refits are not. The next call resumes from there. Other runs
        about the same thing stay as they are.
        """
        share = SharedSpaces()
        there = [self._standing(job, share) for job in jobs]
        clock = _Clock(len(jobs) - sum(run is not None for run in there))
        runs: list[Run] = []
        for number, job in enumerate(jobs):
            earlier = (self.folder / job.folder).exists()
            # What was not there at first, another sweep may have made meanwhile.
            run, note = there[number] or self._standing(job, share), "there already"
            stopped = False
            if run is None:
                try:
                    run = self._make(job)
                except KeyboardInterrupt:
                    raise _interrupted(jobs, runs) from None
                stopped = job.was_stopped(run)
                note = f"{sum(run.timings.values()):.1f} s"
                note += ", in place of an earlier one" if earlier else ""
                note += clock.remaining()
            _log.info("[%d/%d] %s: %s", number + 1, len(jobs), run.name, note)
            runs.append(share(run))
            if stopped:
                raise _interrupted(jobs, runs)
        return runs

    def _standing(self, job: Job, share: SharedSpaces) -> Run | None:
        run = None if self.force else job.standing(self.folder / job.folder)
        return None if run is None else share(run)

    def _make(self, job: Job) -> Run:
        """Make a run; when it stands, what it replaces is removed."""
        path = self.folder / job.folder
        work = job.work_for(path)
        if is_sweep(self.folder):
            with output_folder(path, force=True) as stage:
                run = _make_whole(job, work, stage)
                others = self._replaceable()
            if others:
                self._remove(others, path)
            self._mark(self.folder)
        else:
            with output_folder(self.folder, force=self.force) as stage:
                self._mark(stage)
                (stage / job.folder).mkdir()
                run = _make_whole(job, work, stage / job.folder)
                if is_sweep(self.folder):
                    raise InputError(f"others put runs into {self.folder} meanwhile; start again.")
        work.clear()
        return run

    def _replaceable(self) -> list[Path]:
        """Return the runs about another thing, if they may be replaced."""
        marker = read_json(self.folder / MARKER, finite=False)
        same = isinstance(marker, dict) and marker.get("about") == self.about
        others = [] if same else _runs_in(self.folder)
        if others and self.single:
            raise InputError(
                f"{self.folder} holds runs of other data, which stay; choose another `out`.",
                parameter="out",
            )
        if others and not self.force:
            raise InputError(
                f"{self.folder} holds runs of other data; choose another, or replace them "
                "(`force`).",
                parameter="force",
            )
        return others

    def _remove(self, others: Sequence[Path], new: Path) -> None:
        """Remove other runs than the new one, and what is left of unfinished ones."""
        left = [path for path in self.folder.glob(f".*{ENDING}") if path.is_dir()]
        for path in (*others, *left):
            if path != new and not path.is_symlink():
                shutil.rmtree(path)
        _log.info("Removed: %d run%s of other data.", len(others), "s"[: len(others) > 1])

    def _mark(self, folder: Path) -> None:
        text = json.dumps({"kindset": __version__, "about": self.about})
        write_text(folder / MARKER, f"{text}\n")


class _Clock:
    """Says how long the runs that are still to be made will take, judged by those made."""

    def __init__(self, n_runs: int) -> None:
        self._left = n_runs
        self._made = 0
        self._start = time.perf_counter()

    def remaining(self) -> str:
        """Count one more run as made, and say what is left."""
        self._made, self._left = self._made + 1, self._left - 1
        elapsed = time.perf_counter() - self._start
        if self._left <= 0 or elapsed < 2:
            return ""
        return f" ({elapsed:.0f} s so far, about {self._left * elapsed / self._made:.0f} s left)"


def _interrupted(jobs: Sequence[Job], finished: list[Run]) -> Interrupted:
    done = f"{len(finished)} of {len(jobs)} runs are there"
    return Interrupted(f"Interrupted: {done}; start again to resume.", finished)


def _make_whole(job: Job, work: WorkingFolder, folder: Path) -> Run:
    """Make a run and fill its folder; one that was interrupted is no run of a sweep."""
    with warnings.catch_warnings():
        # That the best so far is kept: not in a sweep, which keeps whole runs.
        warnings.filterwarnings("ignore", message="Interrupted")
        outcome = job.make(work)
    if outcome.interrupted:
        raise KeyboardInterrupt
    outcome.write(folder)
    return outcome.run


def _runs_in(folder: Path) -> list[Path]:
    """Return the runs that lie in a folder, without those that are being written."""
    found = [path for path in folder.iterdir() if (path / RUN_FILE).exists() and is_ours(path)]
    return [path for path in found if not path.name.startswith(".") and not path.is_symlink()]
