"""The workbench from Python: what the command line does, without it."""

import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits, make_blobs
from sklearn.utils import Bunch

import kindset
from kindset.exceptions import InputError, Interrupted
from kindset.runs import Run, ScalingDetails
from kindset.workbench import METHODS, Setting, grid, read_data, sweep
from kindset.workbench import _methods as methods
from kindset.workbench._scaling import Scaling


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


def test_the_script_of_the_documentation(tmp_path, monkeypatch):
    """It does what the demo does for the digits, in few lines."""
    page = (Path(__file__).parents[1] / "docs" / "workbench.md").read_text()
    script = page.partition("## From Python")[2].partition("```python\n")[2].partition("```")[0]
    assert 5 < len([line for line in script.splitlines() if line]) < 15
    digits = load_digits()
    few = Bunch(images=digits.images[:200], target=digits.target[:200])
    monkeypatch.setattr("sklearn.datasets.load_digits", lambda: few)
    monkeypatch.chdir(tmp_path)
    found = {}
    exec(script, found)
    assert found["comparison"].leader() in found["runs"]
    assert len(found["runs"]) == 7
    assert "Digits" in (tmp_path / "digits.html").read_text()


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


@pytest.mark.parametrize("setting", [{"metod": "kmeans"}, {}, "kmeans", 3])
def test_settings_that_are_none(table, setting):
    data = read_data(table, columns=list("abcd"))
    with pytest.raises(InputError, match="a method and other fields") as refused:
        sweep(data, [setting])
    assert refused.value.parameter == "settings"


def test_in_memory_tables_are_read_like_files(table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    options = {"ids": "who", "labels": "kind", "weights": "w"}
    held, read = read_data(table, **options), read_data(tmp_path / "t.csv", **options)
    pd.testing.assert_frame_equal(held.content, read.content)
    assert held.source.ids == read.source.ids
    runs = [kindset.cluster(data, "kmeans", 2) for data in (held, read)]
    np.testing.assert_array_equal(runs[0].labels, runs[1].labels)
    assert len(kindset.compare_runs(runs).runs) == 2


@pytest.mark.parametrize("method", ["kmeans", "gmm", "ward", "unmasking"])
@pytest.mark.parametrize("kind", ["npy", "csv", "images"])
def test_numbers_that_cannot_be_squared_give_one_sentence(tmp_path, method, kind):
    X = make_blobs(20, n_features=4, random_state=0)[0]
    said = {1e200: "holds 1.7e.201 in row 1, column 1; rescale", 1e-200: "differ by more than"}
    for factor, message in said.items():
        path = tmp_path / ("data.npy" if kind == "images" else f"data.{kind}")
        scaled = factor * np.r_[[[17.0] * 4], X]
        if kind == "csv":
            pd.DataFrame(scaled, columns=list("abcd")).to_csv(path, index=False)
        else:
            np.save(path, scaled.reshape(21, 2, 2) if kind == "images" else scaled)
        with pytest.raises(InputError, match=message):
            kindset.cluster(path, method, 2)


@pytest.mark.parametrize("method", ["kmeans", "gmm", "ward", "unmasking"])
def test_samples_far_from_the_origin(method, tmp_path):
    X, y = make_blobs(90, n_features=3, centers=3, random_state=0, cluster_std=0.5)
    near = kindset.cluster(read_data(X, labels=y), method, 3)
    far = kindset.cluster(read_data(X + 1.7e9, labels=y), method, 3, out=tmp_path / "run")
    assert far.metrics["ACC"] == near.metrics["ACC"] > 0.9
    if METHODS[method].predicts:
        found = kindset.assign(tmp_path / "run", X + 1.7e9)
        np.testing.assert_array_equal(found["cluster"] - 1, far.labels)


def test_new_samples_that_cannot_be_squared():
    X = make_blobs(20, random_state=0)[0]
    run = kindset.cluster(X, "kmeans", 2)
    with pytest.raises(InputError, match="in row 1, column 1; rescale"):
        kindset.assign(run, np.full((3, 2), 1e200))


@pytest.mark.parametrize("number", ["9" * 400, "1e300", str(2**60)])
def test_answers_that_are_too_large(tmp_path, number):
    (tmp_path / "a.csv").write_text(f"a,b\n{number},1\n2,2\n1,1\n")
    with pytest.raises(InputError, match=r"column 'a' holds a large number, .* in row 1"):
        kindset.cluster(tmp_path / "a.csv", "god", 2)


def test_every_file_that_is_not_used_is_listed(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number, image in enumerate(load_digits().images[:6]):
        Image.fromarray((image * 15).astype(np.uint8)).save(folder / f"{number}.png")
    for number in range(8):
        (folder / f"note{number}.txt").write_text("no image")
    with pytest.warns(UserWarning, match="8 files were left out: .*; and 3 more"):
        data = read_data(folder)
    assert len(data.unused) == 8
    kindset.cluster(data, "kmeans", 2, out=tmp_path / "run")
    listed = pd.read_csv(tmp_path / "run" / "unused.csv")
    assert listed["file"].tolist() == [f"note{number}.txt" for number in range(8)]
    assert set(listed["reason"]) == {"not an image file"}


def test_long_cells_are_not_quoted_whole():
    table = pd.DataFrame({"a": ["x" * 10**6, "y"], "b": [1, 2]})
    with pytest.raises(InputError, match=r"holds text, 'x{60}\.\.\.' in row 1"):
        kindset.cluster(table, "kmeans", 2)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("scaling", {"mean": None, "spread": [1.0]}, "scaling mean is not a list"),
        ("scaling", None, "the scaling of its pixels is missing"),
        ("kind", "sounds", "kind must be one of"),
        ("crop", 3, "crop is neither true nor false"),
        ("shape", [10, "x", 8], r"data shape \[1\] is not a finite number"),
        ("shape", [10, 64], "the shape of its images is missing"),
        ("shape", [10, -8, 8], r"data shape \[1\] is not a whole number"),
    ],
)
def test_a_run_that_lost_how_samples_are_read_assigns_none(tmp_path, key, value, message):
    images = load_digits().images[:40]
    kindset.cluster(images, "kmeans", 2, out=tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    document = json.loads(file.read_text())
    document["data" if key == "shape" else "details"][key] = value
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match=f"is damaged: .*{message}"):
        kindset.assign(tmp_path / "run", images)


def test_lost_scaling_is_not_ignored(table, tmp_path):
    data = read_data(table, columns=list("abcd"))
    kindset.cluster(data, "kmeans", 2, scale="standard", out=tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    document = json.loads(file.read_text())
    document["details"]["scaling"]["spread"][0] = 0
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match="spread holds a number that is not positive"):
        kindset.assign(tmp_path / "run", table)


@pytest.mark.parametrize("content", ['["kindset"]', '{"kindset": 1, "about": [[]]}'])
def test_a_marker_of_runs_that_says_something_else(table, tmp_path, content):
    data = read_data(table, columns=list("abcd"))
    sweep(data, grid("kmeans", (2, 3)), tmp_path / "runs")
    (tmp_path / "runs" / "sweep.json").write_text(content)
    with pytest.raises(InputError, match="holds runs of other data"):
        sweep(data, grid("kmeans", (2, 3)), tmp_path / "runs")


def test_images_stay_bytes_for_methods_that_take_images(monkeypatch):
    """Rows of pixels as numbers take four times the memory, and these methods need none."""
    pytest.importorskip("torch")
    monkeypatch.setattr(Scaling, "rows", lambda *_: pytest.fail("made numbers of all bytes"))
    images = (load_digits().images[:40] * 15).astype(np.uint8)
    few = {"transforms": (), "n_init": 1, "max_epochs": 2}
    run = kindset.cluster(images, "dti-kmeans", 2, parameters=few)
    assert run.about.scaling == ScalingDetails([0.0], [255.0])


class ForeignFrame:
    """A data frame of another library, such as polars."""

    def __init__(self, table):
        self.columns, self._table = list(table.columns), table

    def to_pandas(self):
        if self._table.empty:
            raise ImportError("pyarrow")
        return self._table


def test_tables_of_other_libraries(table):
    kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    words = table[list("ab")].clip(upper=3).map({1: "low", 2: "mid", 3: "high"}.get)
    run = kindset.cluster(ForeignFrame(words.astype(kind)), "god", 2)
    assert run.about.survey.questions[0].levels == ["low", "mid", "high"]
    np.testing.assert_array_equal(
        kindset.assign(run, ForeignFrame(words))["segment"] - 1, run.labels
    )
    with pytest.raises(InputError, match="give one of pandas, or install pyarrow"):
        read_data(ForeignFrame(table[:0]))


def test_runs_of_a_dataset_show_themselves(table):
    run = kindset.cluster(read_data(table, columns=list("abcd")), "god", 2)
    assert isinstance(run, Run)
    assert "<script" not in run._repr_html_()
    assert "god" in run._repr_html_()
