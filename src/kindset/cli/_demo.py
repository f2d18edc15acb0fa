"""`kindset demo`: the whole job on data that ships inside dependencies."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from sklearn.datasets import load_digits

from kindset.cli._options import Debug, Force, Jobs
from kindset.cli._ranking import show_verdict
from kindset.cli._terminal import echo, logged_lines, shown
from kindset.comparison import compare_runs
from kindset.datasets import load_anes96
from kindset.exceptions import InputError
from kindset.report import write_report
from kindset.runs import Run
from kindset.workbench import METHODS, Dataset, Setting, read_data, sweep

_SURVEY = (
    "944 voters of 1996 placed themselves, Clinton and Dole from left to right, and told their "
    "party, education and how often they watch TV news."
)
_DIGITS = "Digits that 13 people wrote by hand. Nobody tells the methods which is which."
_PAGE = "report.html"
_SEGMENTS = list(range(1, 7))

_BUDGET = {"time_budget": 20.0}
# A sweep as one would run it, small enough for a few minutes.
SETTINGS = [
    *(Setting("kmeans", k) for k in (8, 10, 12)),
    *(Setting("kmeans", 10, embedding=space) for space in ("pca:5", "pca:20")),
    *(Setting("gmm", 10, seed, "pca:20") for seed in (0, 1)),
    Setting("gmm", 12, embedding="pca:20"),
    *(Setting("kmeans", 10, seed, "autoencoder:10") for seed in (0, 1)),
    Setting("gmm", 10, embedding="autoencoder:10"),
    Setting("gmm", 10, embedding="autoencoder:5"),
    *(Setting("unmasking", k) for k in (8, 10, 12)),
    Setting("unmasking", 10, 1),
    *(Setting("dti-kmeans", 10, seed, parameters=_BUDGET) for seed in (0, 1)),
    Setting("dti-kmeans", 12, parameters=_BUDGET),
    Setting("dti-gmm", 10, parameters=_BUDGET),
]


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")] = Path("demo-output"),
    jobs: Jobs = -1,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Cluster a survey and images in many ways, rank the results, and write a report.

    Started again, it goes on with what is there already.
    """
    _check_place(out)
    with logged_lines(err=False):
        echo(f"1. {_SURVEY} Which kinds are there?\n")
        settings = [Setting(method, _SEGMENTS) for method in ("survey", "lca", "god")]
        surveys = _make(_survey(), settings, out / "survey", jobs, force)
        echo(f"\n{_segments(compare_runs(surveys, n_jobs=jobs).leader())}\n")
        echo(f"2. {_DIGITS}\n")
        data = _digits()
        digits = _make(data, _possible(SETTINGS), out / "digits", jobs, force)
    echo("\n3. Which to trust? The ranking does not see the true digits; NMI, ACC and ARI do.\n")
    show_verdict(compare_runs(digits, truth=data.labels, n_jobs=jobs))
    page = out / _PAGE
    write_report([*surveys, *digits], page, title="Kindset demo", truth=data.labels, n_jobs=jobs)
    echo(f"\n4. Everything on one page: {shown(page.resolve())}")


def _check_place(out: Path) -> None:
    """Refuse a folder that holds anything but an earlier demo."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; choose another folder.", parameter="out")
    if out.is_dir() and {path.name for path in out.iterdir()} - {"survey", "digits", _PAGE}:
        raise InputError(
            f"{out} holds files that Kindset did not write; choose another.", parameter="out"
        )


def _make(data: Dataset, settings: list[Setting], out: Path, n_jobs: int, force: bool) -> list[Run]:
    command = ["kindset", *sys.argv[1:]]
    return sweep(data, settings, out, force=force, n_jobs=n_jobs, verbose=True, command=command)


def _possible(settings: list[Setting]) -> list[Setting]:
    """Leave out the methods whose packages are not installed, and say so."""
    absent = {s.method for s in settings if not METHODS[s.method].available}
    if absent:
        echo(
            f"Left out, because the extra `kindset[images]` is not installed: "
            f"{', '.join(sorted(absent))}.\n"
        )
    return [setting for setting in settings if setting.method not in absent]


def _survey() -> Dataset:
    found = load_anes96()
    ids = found.data.index.to_series().add(1).rename("respondent")
    return read_data(
        found.data, ids=ids, questions=found.questions, name="Election survey", about=_SURVEY
    )


def _digits() -> Dataset:
    found = load_digits()
    return read_data(found.images, labels=found.target, name="Handwritten digits", about=_DIGITS)


def _segments(run: Run) -> str:
    survey = run.about.survey
    assert survey is not None
    lines = [
        f"{run.about.title} describes them best, with {len(survey.segments)} segments:",
        *(f"  {segment.share:4.0%}  {segment.headline}" for segment in survey.segments),
    ]
    return "\n".join(lines)
