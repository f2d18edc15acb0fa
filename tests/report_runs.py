"""Runs of every kind, made quickly from data that ships with the dependencies."""

from functools import cache

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from kindset.datasets import load_anes96
from kindset.ordinal import OrdinalMixture, answer_positions, profile_segments
from kindset.runs import Run, fingerprint

CREATED = "2026-01-02T03:04:05+00:00"


def fixed(**given):
    """What would differ from machine to machine."""
    versions = {"python": "3.11.2", "kindset": "0.1.0", "numpy": "2.4.6"}
    return {"created": CREATED, "versions": versions, **given}


@cache
def survey_run(distribution="god", k=3):
    survey = load_anes96()
    model = OrdinalMixture(k, distribution=distribution, n_init=3, random_state=0).fit(survey.data)
    profiles = profile_segments(model, survey.data, questions=survey.questions)
    membership = model.predict_proba(survey.data)
    labels = membership.argmax(axis=1)

    def answers(row):
        return [None if value is None else str(value) for value in survey.data.iloc[row].tolist()]

    def headline(j):
        ranked = sorted(profiles.questions, key=lambda q: -q.distinctness[j])
        return "; ".join(f"{q.levels[q.telling[j]]} ({q.name})" for q in ranked[:2])

    typical = [
        [
            {"id": f"r{i + 1}", "probability": float(membership[i, j]), "answers": answers(i)}
            for i in np.argsort(-membership[:, j], kind="stable")[:4]
        ]
        for j in range(k)
    ]
    uncertain = [
        {"id": f"r{i + 1}", "probabilities": membership[i].tolist(), "answers": answers(i)}
        for i in np.argsort(membership.max(axis=1), kind="stable")[:8]
    ]
    path = []
    for n in range(1, 8):
        aic = 17000 - 800 * np.log(n)
        path.append(
            {"n_components": n, "log_likelihood": -aic / 2, "aic": aic, "bic": aic + 120 * n,
             "icl": aic + 50 + 260 * n}
        )  # fmt: skip
    details = {
        "kind": "survey",
        "data": "Election survey, 1996",
        "about": "944 voters placed themselves, Clinton and Dole from left to right, and told a "
        "few things about themselves.",
        "title": {"god": "GOD mixture", "bos": "BOS mixture"}[distribution],
        "survey": {
            "segments": [
                {"headline": headline(j), "size": float(profiles.sizes[j]),
                 "n_rows": int(profiles.n_rows[j]),
                 "share": float(profiles.sizes[j] / len(labels)),
                 "certainty": float(profiles.certainty[j])}
                for j in range(k)
            ],
            "questions": [
                {"name": q.name, "text": q.text, "levels": [str(level) for level in q.levels],
                 "overall": q.overall.tolist(), "shares": q.shares.tolist(),
                 "answered": q.answered.tolist(), "distinctness": q.distinctness.tolist()}
                for q in profiles.questions
            ],
            "typical": typical,
            "uncertain": uncertain,
            "selection": {"criterion": "icl", "path": path},
        },
    }  # fmt: skip
    return Run(
        labels,
        answer_positions(model, survey.data),
        name=f"{distribution}-k{k}",
        method=distribution,
        parameters={"n_components": k, "n_init": 3},
        seed=0,
        data=fingerprint(survey.data),
        timings={"fit": 1.25},
        metrics={"icl": float(17400 - 90 * k - 30 * (distribution == "god")), "bic": 17000.0},
        command=["kindset", "cluster", "anes96 survey.csv", "--method", distribution, "-k", str(k)],
        details=details,
        **fixed(),
    )


def as_bytes(pixels, high=16.0):
    return np.clip(pixels / high * 255, 0, 255).astype(np.uint8)


@cache
def image_run(k=10, seed=0, dimensions=20, *, aligned=True):
    digits = load_digits()
    space = PCA(dimensions, random_state=0).fit_transform(digits.data)
    model = KMeans(k, n_init=1, random_state=seed).fit(space)
    order = np.argsort(-np.bincount(model.labels_, minlength=k), kind="stable")
    labels = np.argsort(order)[model.labels_]
    distances = model.transform(space)[:, order]
    index, cluster, role = [], [], []
    for j in range(k):
        members = np.flatnonzero(labels == j)
        near = members[np.argsort(distances[members, j], kind="stable")]
        for which, some in ((0, near[:8]), (1, near[-6:][::-1])):
            index.extend(some)
            cluster.extend([j] * len(some))
            role.extend([which] * len(some))
    prototypes = np.stack([digits.images[labels == j].mean(axis=0) for j in range(k)])
    exhibits = {
        "samples": as_bytes(digits.images[index]),
        "sample_index": np.array(index),
        "sample_cluster": np.array(cluster),
        "sample_role": np.array(role),
        "prototypes": as_bytes(prototypes),
    }
    if aligned:
        moved = [np.roll(prototypes, i % 3 - 1, axis=2) for i in range(len(index))]
        exhibits["aligned"] = as_bytes(np.stack(moved))
    details = {
        "kind": "images",
        "data": "Handwritten digits",
        "about": "1,797 small grey images of digits.",
        "title": "k-means",
        "images": {
            "names": None,
            "distances": distances[index].round(4).tolist(),
            "loss": [3.0 / (i + 1) for i in range(20)],
        },
    }
    return Run(
        labels,
        space,
        name=f"k-means k={k} d={dimensions} seed {seed}",
        method="kmeans",
        parameters={"n_clusters": k, "dimensions": dimensions},
        seed=seed,
        data=fingerprint(digits.data),
        timings={"fit": 0.5, "project": 0.25},
        metrics=known(digits.target, labels),
        command=["kindset", "cluster", "digits.npz", "-m", "kmeans", "-k", str(k)],
        details=details,
        exhibits=exhibits,
        **fixed(),
    )


def known(truth, labels):
    return {
        "NMI": float(normalized_mutual_info_score(truth, labels)),
        "ARI": float(adjusted_rand_score(truth, labels)),
    }


@cache
def merging_run():
    digits = load_digits()
    space = PCA(12, random_state=0).fit_transform(digits.data)
    cells = KMeans(60, n_init=1, random_state=0).fit(space)
    tree = linkage(cells.cluster_centers_, "ward")
    rounds = np.arange(10)
    curves = np.stack([0.5 + 0.5 * np.exp(-rounds / scale) for scale in (1.5, 3, 8, 30)])
    labels = KMeans(10, n_init=1, random_state=1).fit_predict(space)
    return Run(
        labels,
        space,
        name="unmasking",
        method="unmasking",
        parameters={"n_cells": 60},
        seed=0,
        data=fingerprint(digits.data),
        metrics=known(digits.target, labels),
        details={
            "kind": "features",
            "title": "Unmasking",
            "unmasking": {"curve_names": [f"cells {i} and {i + 5}" for i in range(4)],
                          "n_cells": 60},
        },
        exhibits={"merge_tree": tree[:-9], "merge_scores": tree[:-9, 2], "curves": curves},
        **fixed(),
    )  # fmt: skip


def feature_run():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    space = rng.normal(size=(80, 3)) + 4 * labels[:, None]
    clusters = [
        {"size": 40, "top": [{"name": f"feature {i}", "mean": 2.0 - i, "overall": 0.5,
                              "z": (1 - 2 * j) * (2.0 - i)} for i in range(4)]}
        for j in range(2)
    ]  # fmt: skip
    details = {
        "kind": "features",
        "data": "Measurements",
        "features": {"clusters": clusters},
        "notes": ["Two rows were left out."],
    }
    return Run(labels, space, name="by hand", method="imported", details=details, **fixed())


def demo_like():
    """About what the demo makes: a survey several ways, and digits many ways."""
    images = [image_run(k, seed, d) for k in (8, 10) for seed in (0, 1) for d in (10, 20)]
    surveys = [survey_run("god", 2), survey_run("god", 3), survey_run("bos", 3)]
    return [*surveys, *images, merging_run(), feature_run()]
