"""Runs of every kind from the real producers, on data that ships with the dependencies.

They are made once and kept: every function here is cached, and small data and few steps are enough.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import kindset
from kindset.datasets import load_anes96
from kindset.workbench import grid

CREATED = "2026-01-02T03:04:05+00:00"


def fixed(run, **changes):
    """Replace what would differ from machine to machine, and what a test wants otherwise."""
    versions = {"python": "3.11.2", "kindset": "0.1.0", "numpy": "2.4.6"}
    timings = dict.fromkeys(run.timings, 0.5)
    return replace(run, created=CREATED, versions=versions, timings=timings, **changes)


def cluster(data, method, k, seed=0, embedding=None, **parameters):
    """Make one run, as the command line does."""
    parameters = {name: [value] for name, value in parameters.items()}
    settings = grid(method, k, seeds=seed, embeddings=embedding, parameters=parameters)
    (run,) = kindset.sweep(data, settings, command=["kindset", "cluster"])
    return run


@cache
def survey():
    loaded = load_anes96()
    return kindset.read_data(
        loaded.data,
        ids=pd.Series([f"r{i + 1}" for i in range(len(loaded.data))], name="respondent"),
        questions=loaded.questions,
        name="Election survey, 1996",
        about="944 voters placed themselves, Clinton and Dole from left to right, and told a few "
        "things about themselves.",
    )


@cache
def survey_run(distribution="god", k=3):
    """A mixture; for GOD the number is chosen among all up to k, and the largest is best here."""
    numbers = range(1, k + 1) if distribution == "god" else k
    run = cluster(survey(), distribution, numbers, n_init=3)
    assert run.n_clusters == k
    command = ["kindset", "cluster", "anes96 survey.csv", "--method", distribution, "-k", str(k)]
    return fixed(run, name=f"{distribution}-k{k}", command=command)


@cache
def digits(n=None):
    loaded = load_digits()
    return kindset.read_data(
        loaded.images[:n],
        labels=loaded.target[:n],
        name="Handwritten digits" if n is None else f"{n} handwritten digits",
        about="1,797 small grey images of digits.",
    )


@cache
def image_run(k=10, seed=0, dimensions=20):
    run = cluster(digits(), "kmeans", k, seed, f"pca:{dimensions}", n_init=1)
    return fixed(run, name=f"k-means k={k} d={dimensions} seed {seed}")


@cache
def aligned_run():
    """Prototypes that were aligned to each image, and the loss of their training."""
    return fixed(
        cluster(digits(80), "dti-kmeans", 3, max_epochs=60, n_init=1, transforms=["affine"])
    )


@cache
def merging_run():
    return fixed(cluster(digits(), "unmasking", 10, 0, "pca:12", n_initial=60), name="unmasking")


@cache
def feature_run():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 4)) + 4 * np.repeat([0, 1], 40)[:, None]
    table = pd.DataFrame(rows, columns=[f"feature {i}" for i in range(4)])
    data = replace(
        kindset.read_data(table, name="Measurements"), notes=("Two rows were left out.",)
    )
    return fixed(cluster(data, "kmeans", 2), name="by number")


def demo_like():
    """About what the demo makes: a survey several ways, and digits many ways."""
    images = [image_run(k, seed, d) for k in (8, 10) for seed in (0, 1) for d in (10, 20)]
    surveys = [survey_run("god", 2), survey_run("god", 3), survey_run("bos", 3)]
    return [*surveys, *images, merging_run(), feature_run(), aligned_run()]
