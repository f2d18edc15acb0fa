"""`kindset demo`: the whole job on data that ships inside dependencies."""

from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from sklearn.datasets import load_digits

from kindset.cli._compare import show_consensus
from kindset.cli._options import Debug, Force, Jobs
from kindset.datasets import load_anes96
from kindset.report import compare_runs, write_report
from kindset.runs import Run, fingerprint
from kindset.workbench import _survey
from kindset.workbench._clustering import Clusterer
from kindset.workbench._methods import Setting
from kindset.workbench._samples import Samples
from kindset.workbench._sweep import Job, Sweep
from kindset.workbench._working import WorkingFolder

_SURVEY = (
    "944 voters of 1996 placed themselves, Clinton and Dole from left to right, and told their "
    "party, education and how often they watch TV news."
)
_DIGITS = "Digits that 13 people wrote by hand. Nobody tells the methods which is which."
_SEGMENTS = list(range(1, 9))

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
    say = partial(typer.echo, err=False)
    sweep = Sweep(out, "demo", say, force=force)
    sweep.open()
    say(f"1. {_SURVEY} Which kinds are there?\n")
    surveys = sweep.finish([_survey_job(method, jobs) for method in ("bos", "god")])
    best = min(surveys, key=lambda run: run.metrics["icl"])
    say(f"\n{_segments(best)}\n")
    say(f"2. {_DIGITS}\n")
    clusterer = _digits(jobs)
    digits = sweep.finish([clusterer.job(setting) for setting in SETTINGS])
    say("\n3. Which to trust? The ranking does not see the true digits; NMI, ACC and ARI do.\n")
    show_consensus(compare_runs(digits, truth=clusterer.samples.truth, n_jobs=jobs))
    page = out / "report.html"
    write_report([*surveys, *digits], page, title="Kindset demo")
    say(f"\n4. Everything on one page: {page.resolve()}")


def _survey_job(method: str, n_jobs: int) -> Job:
    data = load_anes96()
    ids = data.data.index.to_series().add(1).rename("respondent")
    survey = _survey.Survey(data.data, ids, data.questions, name="Election survey", about=_SURVEY)
    options = _survey.SurveyOptions(method, _SEGMENTS, n_jobs=n_jobs)

    def make(folder: Path, _: WorkingFolder) -> Run:
        result = _survey.fit_survey(survey, options)
        if result.interrupted:
            raise KeyboardInterrupt
        return _survey.write_survey(result, folder)

    wanted = {"method": method, "seed": options.seed}
    source = {"choice": f"{options.n_components} {options.criterion} {options.n_init}"}
    return Job(f"survey-{method}", wanted, fingerprint(data.data), source, make)


def _segments(run: Run) -> str:
    segments = run.details["survey"]["segments"]
    lines = [
        f"{run.details['title']} describes them best, with {len(segments)} segments:",
        *(f"  {s['share']:4.0%}  {s['headline']}" for s in segments),
    ]
    return "\n".join(lines)


def _digits(n_jobs: int) -> Clusterer:
    data = load_digits()
    ids = pd.Series(np.arange(1, len(data.images) + 1), name="row")
    samples = Samples(data.images, ids, "Handwritten digits", truth=data.target)
    return Clusterer(samples, about=_DIGITS, n_jobs=n_jobs)
