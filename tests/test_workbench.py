"""The workbench from Python: what the command line does, without it."""

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, make_blobs

import kindset
from kindset.exceptions import InputError, Interrupted
from kindset.runs import Run
from kindset.workbench import METHODS, Setting, grid, read_data, sweep
from kindset.workbench import _methods as methods


@pytest.fixture
def table():
    """Answers from 1 to 4 of two kinds of people, which are numbers too."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=80)
    answers = np.clip(1 + 2 * kind[:, None] + rng.integers(0, 2, size=(80, 4)), 1, 4)
    frame = pd.DataFrame(answers, columns=list("abcd"))
    frame.insert(0, "who", [f"p{i}" for i in range(80)])
    frame["kind"] = np.array(["x", "y"])[kind]
    frame["w"] = 1 + np.arange(80) % 3
    return frame


def test_the_whole_job_in_few_lines(tmp_path):
    digits = load_digits()
    data = kindset.read_data(digits.images[:300], labels=digits.target[:300], name="Digits")
    settings = [*grid("kmeans", (8, 10)), *grid("gmm", 10, embeddings="pca:10")]
    runs = kindset.sweep(data, settings, tmp_path / "runs")
    comparison = kindset.compare_runs(runs, truth=data.labels)
    assert comparison.leader() in runs
    assert comparison.known["nmi"].min() > 0.3
    kindset.write_report(runs, tmp_path / "report.html", truth=data.labels)
    assert "Digits" in (tmp_path / "report.html").read_text()


def test_one_table_for_surveys_and_for_numbers(table):
    data = read_data(table, ids="who", labels="kind", weights="w", name="both")
    assert data.kind == "table"
    assert data.columns == list("abcd")
    assert data.weights.mean() == pytest.approx(1)
    runs = sweep(data, [*grid(["god", "kmeans"], 2, seeds=(0, 1)), Setting("god", (1, 2, 3))])
    assert [run.method for run in runs] == ["god", "god", "kmeans", "kmeans", "god"]
    assert {run.seed for run in runs} == {0, 1}
    assert all(run.metrics["ACC"] > 0.9 for run in runs if run.n_clusters == 2)
    comparison = kindset.compare_runs(runs)
    assert len(comparison.runs) == 5, "the same rows, whatever the method"


def test_parameters_of_every_method(table):
    data = read_data(table, columns=list("abcd"))
    settings = grid("god", 2, parameters={"n_init": [1, 2]}) + grid(
        "kmeans", 2, parameters={"n_init": [3, 4]}
    )
    runs = sweep(data, settings)
    assert [run.parameters["n_init"] for run in runs] == [1, 2, 3, 4]
    assert len({setting.folder for setting in settings}) == 4


def test_log_likelihoods_are_totals(table):
    data = read_data(table, columns=list("abcd"))
    mixture = kindset.cluster(data, "gmm", 2)
    total = mixture.model.score_samples(mixture.space).sum()
    assert mixture.metrics["log_likelihood"] == pytest.approx(total, rel=1e-6)
    survey = kindset.cluster(data, "god", 2, parameters={"n_init": 1})
    assert survey.metrics["log_likelihood"] == pytest.approx(survey.model.log_likelihood_)


def test_different_embeddings_of_the_same_samples(tmp_path):
    X, y = make_blobs(60, n_features=3, centers=3, random_state=0)
    names = np.array([f"image {i}" for i in range(60)])
    np.savez(tmp_path / "clip.npz", X=X, ids=names, labels=y)
    np.savez(tmp_path / "dino.npz", X=X @ np.ones((3, 2)), ids=names)
    np.save(tmp_path / "plain.npy", X * 2)
    first, second, third = (
        kindset.cluster(tmp_path / name, "kmeans", 3)
        for name in ("clip.npz", "dino.npz", "plain.npy")
    )
    assert first.metrics["ACC"] > 0.9
    assert len(kindset.compare_runs([first, second]).runs) == 2
    with pytest.raises(InputError, match="same_rows") as refused:
        kindset.compare_runs([first, third])
    assert refused.value.parameter == "same_rows"
    assert len(kindset.compare_runs([first, third], same_rows=True).runs) == 2


def test_a_sweep_resumes(table, tmp_path, caplog):
    data = read_data(table, columns=list("abcd"))
    settings = grid(["kmeans", "god"], 2, seeds=(0, 1))
    with caplog.at_level(logging.INFO, logger="kindset"):
        first = sweep(data, settings, tmp_path / "runs")
        again = sweep(data, settings, tmp_path / "runs")
    assert caplog.text.count("there already") == 4
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)


def test_an_interrupted_sweep_keeps_what_is_finished(table, tmp_path, monkeypatch):
    data = read_data(table, columns=list("abcd"))
    fit = methods.Method.fit

    def interrupted(self, model, X):
        if model.n_clusters == 4:
            raise KeyboardInterrupt
        return fit(self, model, X)

    monkeypatch.setattr(methods.Method, "fit", interrupted)
    for out in (None, tmp_path / "runs"):
        with pytest.raises(Interrupted, match="2 of 3 runs") as stop:
            sweep(data, grid("kmeans", (2, 3, 4)), out)
        assert [run.n_clusters for run in stop.value.finished] == [2, 3]


@pytest.mark.parametrize("method", ["god", "kmeans", "unmasking"])
def test_assign_gives_the_labels_of_the_run(table, tmp_path, method):
    data = read_data(table, ids="who", exclude=["kind", "w"])
    run = kindset.cluster(data, method, 2, out=tmp_path / "run")
    new = table.drop(columns=["kind", "w"])
    for source in (run, tmp_path / "run"):
        found = kindset.assign(source, new)
        group = "segment" if method == "god" else "cluster"
        assert found.columns[0] == "who"
        np.testing.assert_array_equal(found[group] - 1, run.labels)


def test_methods_are_described_in_one_table():
    assert {method.takes for method in METHODS.values()} == {"answers", "rows", "images"}
    for name, method in METHODS.items():
        assert method.title, name
        assert method.available
    assert not METHODS["ward"].predicts


@pytest.mark.parametrize(
    ("arguments", "parameter", "message"),
    [
        ({"method": "magic", "k": 2}, "method", "must be one of survey, tilted"),
        ({"method": "kmeans", "k": "two"}, "k", "takes a number of clusters"),
        ({"method": "kmeans", "k": 0}, "k", "takes a number of clusters"),
        ({"method": "kmeans", "k": 200}, "k", "there are only 80 samples"),
        ({"method": "kmeans"}, "k", "must be told the number"),
        ({"method": "kmeans", "k": 2, "scale": "log"}, "scale", "must be one of"),
        ({"method": "god", "k": 2, "scale": "standard"}, "scale", "is for rows of numbers"),
        ({"method": "god", "k": 2, "embedding": "pca:2"}, "embedding", "works on the answers"),
        ({"method": "kmeans", "k": 2, "embedding": "pca:9"}, "embedding", "only 4 columns"),
        ({"method": "god", "k": (1, 2), "criterion": "gap"}, "criterion", "must be one of"),
        ({"method": "kmeans", "k": 2, "parameters": {"x": 1}}, "parameters", "kmeans has"),
        ({"method": "dti-kmeans", "k": 2}, "method", "clusters images"),
    ],
)
def test_wrong_settings_name_their_parameter(table, arguments, parameter, message):
    data = read_data(table, columns=list("abcd"))
    with pytest.raises(InputError, match=message) as refused:
        kindset.cluster(data, **arguments)
    assert refused.value.parameter == parameter
    assert "--" not in str(refused.value)


def test_in_memory_tables_are_read_like_files(table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    options = {"ids": "who", "labels": "kind", "weights": "w"}
    held, read = read_data(table, **options), read_data(tmp_path / "t.csv", **options)
    pd.testing.assert_frame_equal(held.content, read.content)
    assert held.source.ids == read.source.ids
    runs = [kindset.cluster(data, "kmeans", 2) for data in (held, read)]
    np.testing.assert_array_equal(runs[0].labels, runs[1].labels)
    assert len(kindset.compare_runs(runs).runs) == 2


def test_runs_of_a_dataset_show_themselves(table):
    run = kindset.cluster(read_data(table, columns=list("abcd")), "god", 2)
    assert isinstance(run, Run)
    assert "<script" not in run._repr_html_()
    assert "god" in run._repr_html_()
