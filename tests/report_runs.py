"""Runs of every kind from the real producers, on data that ships with the dependencies.

They are made once and kept: every function here is cached, and small data and few steps are enough.
"""

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from kindset.datasets import load_anes96
from kindset.ordinal import select_components
from kindset.workbench._clustering import Clusterer
from kindset.workbench._methods import Setting
from kindset.workbench._samples import Samples
from kindset.workbench._survey import Survey, SurveyOptions, SurveyResult, as_run, fit_survey
from kindset.workbench._working import WorkingFolder

CREATED = "2026-01-02T03:04:05+00:00"


def fixed(run, **changes):
    """Replace what would differ from machine to machine, and what a test wants otherwise."""
    versions = {"python": "3.11.2", "kindset": "0.1.0", "numpy": "2.4.6"}
    timings = dict.fromkeys(run.timings, 0.5)
    return replace(run, created=CREATED, versions=versions, timings=timings, **changes)


@cache
def survey():
    loaded = load_anes96()
    return Survey(
        loaded.data,
        pd.Series([f"r{i + 1}" for i in range(len(loaded.data))], name="respondent"),
        loaded.questions,
        name="Election survey, 1996",
        about="944 voters placed themselves, Clinton and Dole from left to right, and told a few "
        "things about themselves.",
    )


@cache
def survey_selection():
    return select_components(
        survey().answers, [1, 2, 3], distribution="god", n_init=2, random_state=0
    )


@cache
def survey_run(distribution="god", k=3):
    options = SurveyOptions(distribution, [k], n_init=3, progress=False)
    fitted = fit_survey(survey(), options)
    selection = survey_selection() if distribution == "god" else None
    result = SurveyResult(survey(), options, fitted.model, selection, fitted.seconds, [])
    command = ["kindset", "cluster", "anes96 survey.csv", "--method", distribution, "-k", str(k)]
    return fixed(as_run(result), name=f"{distribution}-k{k}", command=command)


@cache
def digits(n=None):
    loaded = load_digits()
    return Samples(
        loaded.images[:n],
        pd.Series(range(1, len(loaded.images[:n]) + 1), name="row"),
        "Handwritten digits" if n is None else f"{n} handwritten digits",
        truth=loaded.target[:n],
    )


def cluster(samples, setting, about="", notes=()):
    """Make one run, as the command line does."""
    with tempfile.TemporaryDirectory() as folder:
        clusterer = Clusterer(
            samples, about=about, progress=False, command=["kindset", "cluster"], notes=notes
        )
        return clusterer.run(setting, WorkingFolder(Path(folder) / "out", ""))


@cache
def image_run(k=10, seed=0, dimensions=20):
    setting = Setting("kmeans", k, seed, f"pca:{dimensions}", {"n_init": 1})
    run = cluster(digits(), setting, "1,797 small grey images of digits.")
    return fixed(run, name=f"k-means k={k} d={dimensions} seed {seed}")


@cache
def aligned_run():
    """Prototypes that were aligned to each image, and the loss of their training."""
    steps = {"max_epochs": 60, "n_init": 1, "transforms": ["affine"]}
    return fixed(cluster(digits(80), Setting("dti-kmeans", 3, 0, None, steps)))


@cache
def merging_run():
    parameters = {"n_initial": 60}
    return fixed(
        cluster(digits(), Setting("unmasking", 10, 0, "pca:12", parameters)), name="unmasking"
    )


@cache
def feature_run():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 4)) + 4 * np.repeat([0, 1], 40)[:, None]
    samples = Samples(
        rows,
        pd.Series(range(1, 81), name="row"),
        "Measurements",
        features=[f"feature {i}" for i in range(4)],
    )
    return fixed(
        cluster(samples, Setting("kmeans", 2), notes=("Two rows were left out.",)), name="by number"
    )


def demo_like():
    """About what the demo makes: a survey several ways, and digits many ways."""
    images = [image_run(k, seed, d) for k in (8, 10) for seed in (0, 1) for d in (10, 20)]
    surveys = [survey_run("god", 2), survey_run("god", 3), survey_run("bos", 3)]
    return [*surveys, *images, merging_run(), feature_run(), aligned_run()]
