"""From a dataset to runs: one clustering, or many in a folder."""

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kindset._files import output_folder
from kindset.exceptions import InputError, Interrupted
from kindset.runs import Run, SharedSpaces
from kindset.workbench._dataset import Dataset
from kindset.workbench._outcome import Execution, Outcome
from kindset.workbench._reading import read_data
from kindset.workbench._settings import Setting, as_setting
from kindset.workbench._sweep import Job, Sweep, check_single_output, is_sweep

_log = logging.getLogger("kindset.workbench")


def cluster(
    data: Dataset | Any,
    method: str,
    k: Any = None,
    *,
    seed: int = 0,
    embedding: str | None = None,
    scale: str = "none",
    criterion: str = "icl",
    parameters: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    n_resamples: int = 0,
    n_jobs: int = 1,
    verbose: bool = False,
) -> Run:
    """Cluster data once.

    Parameters
    ----------
    data : Dataset, or what `read_data` takes
    method : str
        A name from `kindset.workbench.METHODS`.
    k : int or sequence of int, optional
        The number of clusters; a survey method chooses among several. None or "auto" lets the
        method find it, if it can.
    seed : int, default=0
    embedding : str, optional
        Cluster in fewer dimensions: "pca:20", "autoencoder:10".
    scale : {"none", "standard"}, default="none"
    criterion : {"icl", "bic", "aic", "rule"}, default="icl"
        What chooses among several numbers. The method "survey" always has the rule.
    parameters : dict, optional
        Parameters of the estimator.
    out : path-like, optional
        Write the run, its tables and its figures to this folder.
    force : bool, default=False
        Whether to replace an earlier run there.
    n_resamples : int, default=0
        Refit on so many parts of the samples, at least 2, and note how far the groups agree; see
        `stability`. 0 is for none.
    n_jobs : int, default=1
        Number of threads.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    run : Run
        With the labels, the space, the model, and what each group is.

    Examples
    --------
    >>> import kindset
    >>> from sklearn.datasets import load_iris
    >>> data = kindset.read_data(load_iris().data, name="Iris")
    >>> kindset.cluster(data, "kmeans", 3)
    Run('kmeans K=3 s0', 3 clusters of 150 samples)
    """
    setting = Setting(method, k, seed, embedding, dict(parameters or {}), scale, criterion)
    dataset = data if isinstance(data, Dataset) else read_data(data)
    job = Job(dataset, setting, Execution(n_jobs, verbose, n_resamples=n_resamples))
    job.check()
    if out is None:
        return job.make(None).run
    return make_single(job, Path(out), force=force).run


def make_single(job: Job, folder: Path, *, force: bool = False) -> Outcome:
    """Make one run in a folder of its own; a long training resumes from an earlier start."""
    check_single_output(folder, force=force)
    work = job.work_for(folder)
    if work.begun:
        _log.info("Going on where an earlier start was killed.")
    outcome = job.make(work)
    with output_folder(folder, force=force) as stage:
        outcome.write(stage)
    if not outcome.interrupted:
        work.clear()
    elif work.begun:
        _log.info("Started again with `force`, it goes on from here.")
    return outcome


def sweep(
    data: Dataset | Any,
    settings: Iterable[Setting | Mapping[str, Any]],
    out: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    n_resamples: int = 0,
    n_jobs: int = 1,
    verbose: bool = False,
    command: list[str] | None = None,
) -> list[Run]:
    """Make several runs of the same data; what is there already is not made again.

    Parameters
    ----------
    data : Dataset, or what `read_data` takes
    settings : iterable of Setting or dict
        What to make; see `grid`.
    out : path-like, optional
        The folder of the runs, each in a folder of its own. Without it they are only returned.
    force : bool, default=False
        Whether to make runs again that are there. Runs of other data are then removed as soon as
        the first new run is written.
    n_resamples : int, default=0
        Refit each on so many parts of the samples, at least 2, and note how far the groups agree.
        0 is for none. Runs that are there already are not refitted.
    n_jobs : int, default=1
        Number of threads of each run.
    verbose : bool, default=False
        Show the progress of each run.
    command : list of str, optional
        The command to write down in the runs.

    Returns
    -------
    runs : list of Run
        In the order of the settings.

    Raises
    ------
    Interrupted
        After Ctrl-C; `finished` holds the runs that were finished. The same call resumes.

    Examples
    --------
    >>> import kindset
    >>> from kindset.workbench import grid
    >>> from sklearn.datasets import load_iris
    >>> runs = kindset.sweep(load_iris().data, grid("kmeans", range(2, 4)))
    >>> [run.name for run in runs]
    ['kmeans K=2 s0', 'kmeans K=3 s0']
    """
    dataset = data if isinstance(data, Dataset) else read_data(data)
    wanted = [as_setting(setting, "settings") for setting in settings]
    if not wanted:
        raise InputError("there is no setting to make a run of.", parameter="settings")
    execution = Execution(n_jobs, verbose, command, n_resamples)
    jobs = [Job(dataset, setting, execution) for setting in wanted]
    for job in jobs:
        job.check()
    if out is None:
        return _make_in_memory(jobs)
    folder = Path(out)
    single = len(jobs) == 1 and is_sweep(folder)
    place = Sweep(folder, dataset.source.sha256, force=force, single=single)
    place.open()
    return place.finish(jobs)


def _make_in_memory(jobs: list[Job]) -> list[Run]:
    share = SharedSpaces()
    runs: list[Run] = []
    for number, job in enumerate(jobs):
        try:
            outcome = job.make(None)
            if outcome.interrupted:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise _interrupted(jobs, runs) from None
        runs.append(share(outcome.run))
        _log.info("[%d/%d] %s", number + 1, len(jobs), outcome.run.name)
        if job.was_stopped(outcome.run):
            raise _interrupted(jobs, runs)
    return runs


def _interrupted(jobs: list[Job], finished: list[Run]) -> Interrupted:
    done = f"{len(finished)} of {len(jobs)} runs were finished"
    return Interrupted(f"Interrupted: {done}.", finished)
