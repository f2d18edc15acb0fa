"""`kindset cluster` on rows of numbers, arrays and images."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from kindset.cli import _cluster
from kindset.runs import Run, load_runs
from kindset.unmasking import UnmaskingClustering
from kindset.workbench import _methods


@pytest.fixture
def table(folder):
    """Three groups, with an id and a known label."""
    X, y = make_blobs(90, n_features=3, centers=3, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.insert(0, "who", [f"p{i:02d}" for i in range(90)])
    frame["kind"] = np.array(["x", "y", "z"])[y]
    frame.to_csv("rows.csv", index=False)
    return frame


COLUMNS = ("--id-column", "who", "--label-column", "kind")


def test_rows_of_numbers(kindset, table, folder):
    code, out, err = kindset("cluster", "rows.csv", "-m", "kmeans", "-k", 3, *COLUMNS)
    assert code == 0, err
    assert "90 rows of 3 columns, 3 clusters by k-means" in out
    run = Run.load(folder / "rows-kmeans")
    expected = KMeans(3, n_init=10, random_state=0).fit_predict(table[["a", "b", "c"]])
    assert len({*zip(run.labels, expected, strict=True)}) == 3
    assert (np.diff(np.bincount(run.labels)) <= 0).all()
    assert run.metrics["ACC"] > 0.9
    clusters = pd.read_csv("rows-kmeans/clusters.csv")
    assert clusters.columns.tolist() == ["who", "cluster"]
    assert (clusters["cluster"] == run.labels + 1).all()
    profile = run.details["features"]["clusters"][0]
    assert profile["size"] == (run.labels == 0).sum()
    assert {top["name"] for top in profile["top"]} == {"a", "b", "c"}
    assert "Cluster 1" in (folder / "rows-kmeans" / "summary.txt").read_text()


@pytest.mark.parametrize("method", ["gmm", "ward"])
def test_other_methods(kindset, table, method):
    code, out, err = kindset("cluster", "rows.csv", "-m", method, "-k", 3, *COLUMNS, "--json")
    assert code == 0, err
    (told,) = json.loads(out)["runs"]
    assert told["n_clusters"] == 3
    assert sum(told["sizes"]) == 90
    assert told["ACC"] > 0.9


def test_several_numbers_and_seeds_are_ranked(kindset, table, folder):
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:4", "--seeds", "0,1", *COLUMNS)
    code, out, err = kindset(*arguments, "--out", "sweep")
    assert code == 0, err
    assert "Verdict" in out
    assert "comes first" in out or "share the first place" in out
    assert "NMI" in out
    assert "wins" not in out, "one space: nothing was left out"
    assert len(load_runs([folder / "sweep"])) == 6
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("sweep/*/run.json")}
    assert len(stamps) == 6
    code, _, err = kindset(*arguments, "--out", "sweep")
    assert code == 0
    assert err.count("there already") == 6
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    _, out, _ = kindset("cluster", "rows.csv", "-m", "gmm", "-k", "2:3", *COLUMNS, "--out", "sweep")
    assert "kmeans K=2 s0" in out, "all runs of the folder are ranked"


def test_a_sweep_goes_on_with_what_is_sound(kindset, table, folder):
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:4", *COLUMNS, "--out", "sweep")
    assert kindset(*arguments)[0] == 0
    (folder / "sweep" / "kmeans-k2-seed0" / "labels.npy").write_bytes(b"torn")
    (folder / "sweep" / ".kmeans-k2-seed0.kindset-abcdefgh.new").mkdir()
    _, _, err = kindset(*arguments)
    assert err.count("there already") == 2
    assert len(load_runs([folder / "sweep"])) == 3
    assert not list(folder.glob("sweep/.*"))


def test_a_sweep_keeps_runs_of_other_settings(kindset, table, folder):
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:3", *COLUMNS, "--out", "sweep")
    assert kindset(*arguments)[0] == 0
    _, _, err = kindset(*arguments, "-p", "n_init=3")
    assert err.count("there already") == 0
    assert len(load_runs([folder / "sweep"])) == 4


def test_a_sweep_is_about_one_data_set(kindset, table, folder):
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:3", *COLUMNS, "--out", "sweep")
    assert kindset(*arguments)[0] == 0
    (folder / "sweep" / "notes.txt").write_text("mine")
    (folder / "sweep" / "my.kindset-work").mkdir()
    table.iloc[:80].to_csv("rows.csv", index=False)
    code, _, err = kindset(*arguments)
    assert code == 2
    assert "holds runs of other data" in err
    assert len(load_runs([folder / "sweep"])[0]) == 90
    code, _, err = kindset(*arguments, "--embedding", "pac:2", "--force")
    assert code == 2
    assert len(load_runs([folder / "sweep"])) == 2, "a typing error deletes nothing"
    more = [*arguments[:5], "3:4", *arguments[6:], "--force"]
    code, _, err = kindset(*more)
    assert code == 0, err
    runs = load_runs([folder / "sweep"])
    assert [(len(run), run.n_clusters) for run in runs] == [(80, 3), (80, 4)]
    assert err.count("Removed: 2 runs of other data") == 1
    assert (folder / "sweep" / "notes.txt").exists()
    assert (folder / "sweep" / "my.kindset-work").exists()


def sweep(kindset, method, k, *more):
    """Cluster into one folder of runs; return what is printed beside the result."""
    arguments = ("cluster", "rows.csv", "-m", method, "-k", k, *COLUMNS, "--out", "sweep")
    code, _, err = kindset(*arguments, *more)
    assert code == 0, err
    return err


def held(folder):
    return sorted(run.name for run in load_runs([folder / "sweep"]))


def test_several_methods_go_into_one_folder(kindset, table, folder):
    sweep(kindset, "kmeans", "2:3")
    sweep(kindset, "gmm", "2:3")
    sweep(kindset, "kmeans", "2:3", "--scale", "standard")
    names = [
        "gmm K=2 s0", "gmm K=3 s0", "kmeans K=2 s0", "kmeans K=3 s0",
        "standard kmeans K=2 s0", "standard kmeans K=3 s0",
    ]  # fmt: skip
    assert held(folder) == names
    assert sweep(kindset, "kmeans", "2:3").count("there already") == 2
    err = sweep(kindset, "gmm", "2:3", "--force")
    assert err.count("in place of an earlier one") == 2
    assert held(folder) == names, "made again, and the others kept"


def test_one_more_run_goes_into_a_folder_of_runs(kindset, table, folder):
    sweep(kindset, "kmeans", "2:3")
    arguments = ("cluster", "rows.csv", "-m", "ward", "-k", 3, *COLUMNS, "--out", "sweep")
    for more in ((), ("--force",)):
        code, out, err = kindset(*arguments, *more)
        assert code == 0, err
        assert "Written to sweep/ward-k3-seed0/" in out
        assert held(folder) == ["kmeans K=2 s0", "kmeans K=3 s0", "ward K=3 s0"]
    table.iloc[:80].to_csv("rows.csv", index=False)
    for more in ((), ("--force",)):
        code, _, err = kindset(*arguments, *more)
        assert code == 2
        assert "sweep holds runs of other data, which stay; choose another --out" in err
        assert {len(run) for run in load_runs([folder / "sweep"])} == {90}
        assert len(held(folder)) == 3


def test_a_failed_first_run_replaces_nothing(kindset, table, folder):
    fails = ("-m", "unmasking", "-k", "2:3", *COLUMNS, "-p", "n_initial=-4", "--force")
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", 3, *COLUMNS, "--out", "one")
    assert kindset(*arguments)[0] == 0
    sweep(kindset, "kmeans", "2:3")
    table.iloc[:80].to_csv("rows.csv", index=False)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    for out in ("one", "sweep"):
        code, _, err = kindset("cluster", "rows.csv", *fails, "--out", out)
        assert code == 2
        assert "n_initial must be" in err
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert after == before


def test_a_folder_without_runs_is_free_for_other_data(kindset, table, folder):
    fails = ("cluster", "rows.csv", "-m", "unmasking", "-k", "2:3", *COLUMNS, "--out", "sweep")
    assert kindset(*fails, "-p", "n_initial=-4")[0] == 2
    assert [path.name for path in (folder / "sweep").iterdir()] == ["sweep.json"]
    table.iloc[:80].to_csv("rows.csv", index=False)
    sweep(kindset, "kmeans", "2:3")
    assert sweep(kindset, "kmeans", "2:3").count("there already") == 2


@pytest.mark.parametrize("there", ["nothing", "an empty folder", "a run"])
def test_two_sweeps_begin_in_one_folder(kindset, table, folder, monkeypatch, there):
    """Another sweep begins, and ends, while this one makes its first run."""
    more = ()
    if there == "a run":
        arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", 3, *COLUMNS, "--out", "sweep")
        assert kindset(*arguments)[0] == 0
        more = ("--force",)
    elif there == "an empty folder":
        (folder / "sweep").mkdir()
    fit, began = _methods.Method.fit, []

    def fit_meanwhile(self, model, X):
        if not began:
            began.append(self)
            sweep(kindset, "ward", "2:3", *more)
        return fit(self, model, X)

    monkeypatch.setattr(_methods.Method, "fit", fit_meanwhile)
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:3", *COLUMNS, "--out", "sweep")
    code, _, err = kindset(*arguments, *more)
    if there == "a run":
        assert code == 2
        assert "others put runs into sweep meanwhile; start again" in err
        assert held(folder) == ["ward K=2 s0", "ward K=3 s0"]
        code, _, err = kindset(*arguments)
    assert code == 0, err
    assert held(folder) == ["kmeans K=2 s0", "kmeans K=3 s0", "ward K=2 s0", "ward K=3 s0"]


def test_two_sweeps_of_other_data_do_not_mix(kindset, table, folder, monkeypatch):
    fit, began = _methods.Method.fit, []

    def fit_meanwhile(self, model, X):
        if not began:
            began.append(self)
            table.iloc[:80].to_csv("rows.csv", index=False)
            sweep(kindset, "ward", "2:3")
        return fit(self, model, X)

    monkeypatch.setattr(_methods.Method, "fit", fit_meanwhile)
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:3", *COLUMNS, "--out", "sweep")
    code, _, err = kindset(*arguments)
    assert code == 2
    assert "sweep holds runs of other data" in err
    assert held(folder) == ["ward K=2 s0", "ward K=3 s0"]


@pytest.mark.parametrize("command", ["cluster", "compare"])
def test_a_folder_of_runs_is_not_replaced_by_something_else(kindset, table, folder, command):
    sweep(kindset, "kmeans", "2:3")
    pd.DataFrame({"q": [1, 2, 3] * 20, "r": [3, 2, 1] * 20}).to_csv("survey.csv", index=False)
    arguments = {
        "cluster": ("survey.csv", "-m", "god", "-k", 2),
        "compare": ("sweep",),
    }[command]
    code, _, err = kindset(command, *arguments, "--out", "sweep", "--force")
    assert code == 2
    reason = {"cluster": "sweep holds runs of other data", "compare": "sweep is a folder of runs"}
    assert reason[command] in err
    assert len(held(folder)) == 2


def test_several_runs_do_not_mix_with_a_single_one(kindset, table, folder):
    arguments = ("cluster", "rows.csv", "-m", "kmeans", *COLUMNS, "--out", "sweep")
    assert kindset(*arguments, "-k", 4)[0] == 0
    code, _, err = kindset(*arguments, "-k", "2:3")
    assert code == 2
    assert "sweep exists already" in err
    sweep(kindset, "kmeans", "2:3", "--force")
    assert held(folder) == ["kmeans K=2 s0", "kmeans K=3 s0"]


def test_replaced_data_do_not_mix_after_an_interrupt(kindset, table, folder, monkeypatch, ctrl_c):
    sweep(kindset, "kmeans", "2:3")
    table.iloc[:80].to_csv("rows.csv", index=False)
    build = _methods.Method.build

    def interrupt(self, setting, *, verbose, **options):
        if setting.k == 5 and verbose:
            raise KeyboardInterrupt
        return build(self, setting, verbose=verbose, **options)

    monkeypatch.setattr(_methods.Method, "build", interrupt)
    arguments = ("cluster", "rows.csv", "-m", "kmeans", *COLUMNS, "--out", "sweep", "--force")
    assert kindset(*arguments, "-k", "5:6")[0] == 130
    assert held(folder) == ["kmeans K=2 s0", "kmeans K=3 s0"], "no new run stands"
    assert kindset(*arguments, "-k", "4:5")[0] == 130
    assert held(folder) == ["kmeans K=4 s0"]
    monkeypatch.setattr(_methods.Method, "build", build)
    assert sweep(kindset, "kmeans", "4:5").count("there already") == 1
    assert {len(run) for run in load_runs([folder / "sweep"])} == {80}


def test_other_labels_or_ids_are_not_taken_for_the_same(kindset, table, folder):
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:3", "--out", "sweep")
    without = ("--exclude", "who,kind")
    assert kindset(*arguments, *without)[0] == 0
    code, out, err = kindset(*arguments[:5], "4:5", *arguments[6:], *without)
    assert code == 0
    for k in ("1:2", "2:3"):
        code, out, err = kindset(*arguments[:5], k, *arguments[6:], *COLUMNS)
        assert code == 2
        assert "-seed0 was made with other ids and other known labels; choose another" in err
        assert "(--force)" in err
        assert len(held(folder)) == 4, "refused before any work"
    code, out, err = kindset(*arguments, *COLUMNS, "--json", "--force")
    assert code == 0
    assert err.count("in place of an earlier one") == 2
    assert "ACC" in json.loads(out)["runs"][0]


def test_a_copy_under_another_name_is_the_same(kindset, table, folder):
    sweep(kindset, "kmeans", "2:3")
    (folder / "copy.csv").write_bytes((folder / "rows.csv").read_bytes())
    arguments = ("cluster", "copy.csv", "-m", "kmeans", "-k", "2:3", *COLUMNS, "--out", "sweep")
    code, _, err = kindset(*arguments)
    assert code == 0, err
    assert err.count("there already") == 2


def test_a_run_of_another_release_is_not_replaced_unasked(kindset, table, folder):
    sweep(kindset, "kmeans", "2:3")
    path = folder / "sweep" / "kmeans-k3-seed0" / "run.json"
    document = json.loads(path.read_text())
    document["versions"]["kindset"] = "0.0.1"
    document["details"]["source"] = "of an earlier kind"
    path.write_text(json.dumps(document))
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:3", *COLUMNS, "--out", "sweep")
    code, _, err = kindset(*arguments)
    assert code == 2
    assert "sweep/kmeans-k3-seed0 was made with another release of Kindset" in " ".join(err.split())
    assert sweep(kindset, "kmeans", "2:3", "--force").count("in place of") == 2


def test_interrupted_sweep(kindset, table, folder, monkeypatch, ctrl_c):
    build = _methods.Method.build

    def interrupt(self, setting, *, verbose, **options):
        if setting.k == 4 and verbose:
            raise KeyboardInterrupt
        return build(self, setting, verbose=verbose, **options)

    monkeypatch.setattr(_methods.Method, "build", interrupt)
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:5", *COLUMNS, "--out", "sweep")
    code, _, err = kindset(*arguments)
    assert code == 130
    assert "2 of 4 runs are there" in err
    monkeypatch.setattr(_methods.Method, "build", build)
    code, _, err = kindset(*arguments)
    assert code == 0
    assert err.count("there already") == 2


def test_number_of_clusters_found_by_the_method(kindset, table, folder):
    arguments = ("cluster", "rows.csv", "-m", "unmasking", "-k", "auto", *COLUMNS)
    code, out, err = kindset(*arguments)
    assert code == 0, err
    run = Run.load(folder / "rows-unmasking")
    model = UnmaskingClustering(None, random_state=0).fit(table[["a", "b", "c"]].to_numpy())
    assert run.n_clusters == model.n_clusters_
    assert (run.labels == model.labels_).all()
    assert run.parameters["n_clusters"] == "auto"
    assert f"{run.n_clusters} clusters by unmasking (unmasking K=auto s0)" in out
    code, out, err = kindset("predict", "rows-unmasking", "rows.csv", "--id-column", "who",
                             "--out", "new.csv")  # fmt: skip
    assert code == 0, err
    for note in ("", "there already"):
        code, out, err = kindset(*arguments, "--seeds", "0,1", "--out", "sweep", "--json")
        assert code == 0, err
        assert err.count(note) >= 2
    assert {path.name for path in folder.glob("sweep/un*")} == {
        "unmasking-kauto-seed0", "unmasking-kauto-seed1"
    }  # fmt: skip


@pytest.mark.parametrize("embedding", [(), ("--embedding", "pca:2")])
def test_runs_of_a_sweep_share_their_space(kindset, table, folder, monkeypatch, embedding):
    seen = []
    rank = _cluster._rank
    monkeypatch.setattr(
        _cluster, "_rank", lambda runs, *more: (seen.append(runs), rank(runs, *more))
    )
    arguments = ("cluster", "rows.csv", "-m", "kmeans", "-k", "2:4", *COLUMNS, *embedding)
    for _ in ("made", "there already"):
        code, _, err = kindset(*arguments, "--out", "sweep")
        assert code == 0, err
    for runs in seen:
        assert len(runs) == 3
        assert len({id(run.space) for run in runs}) == 1


def test_embedding_is_the_space(kindset, table, folder):
    for name, width in (("pca:2", 2), ("autoencoder:1", 1)):
        code, _, err = kindset(
            "cluster", "rows.csv", "-m", "kmeans", "-k", 3, *COLUMNS, "--embedding", name,
            "--force",
        )  # fmt: skip
        assert code == 0, err
        assert Run.load(folder / "rows-kmeans").space.shape == (90, width)


def test_config_file(kindset, table, folder):
    (folder / "c.toml").write_text(
        'method = "kmeans"\nk = 4\nid-column = "who"\nlabel_column = "kind"\nseeds = [3, 4]\n'
        "[param]\nn_init = 2\n"
    )
    code, out, err = kindset("cluster", "rows.csv", "--config", "c.toml", "-k", 2, "--json")
    assert code == 0, err
    runs = json.loads(out)["runs"]
    assert [(run["seed"], run["n_clusters"]) for run in runs] == [(3, 2), (4, 2)]
    assert runs[0]["parameters"]["n_init"] == 2
    (folder / "d.toml").write_text("methods = 1\n")
    code, _, err = kindset("cluster", "rows.csv", "--config", "d.toml", "-m", "kmeans", "-k", 2)
    assert code == 2
    assert "there is no option --methods" in err
    (folder / "e.toml").write_text("= 1\n")
    code, _, err = kindset("cluster", "rows.csv", "--config", "e.toml", "-m", "kmeans", "-k", 2)
    assert code == 2
    assert "not a valid TOML file" in err


@pytest.fixture
def pictures(folder):
    """Two kinds of picture in folders of their names, one of them damaged."""
    rng = np.random.default_rng(0)
    for kind, corner in (("left", slice(0, 6)), ("right", slice(6, 12))):
        (folder / "pics" / kind).mkdir(parents=True)
        for i in range(10):
            picture = rng.integers(0, 60, size=(12, 12)).astype(np.uint8)
            picture[:, corner] += 180
            Image.fromarray(picture).save(folder / "pics" / kind / f"ä {i}.png")
    (folder / "pics" / "left" / "broken.png").write_bytes(b"nothing")
    return folder / "pics"


def test_folder_of_images(kindset, pictures, folder):
    code, out, err = kindset("cluster", "pics", "-m", "kmeans", "-k", 2, "--label-column", "folder")
    assert code == 0, err
    assert "1 file was left out: left/broken.png" in err.replace("\n", " ")
    assert "ACC 1.000" in out
    run = Run.load(folder / "pics-kmeans")
    assert any("left/broken.png" in note for note in run.details["notes"])
    shown = run.exhibits
    assert shown["prototypes"].shape == (2, 12, 12)
    assert shown["samples"].dtype == np.uint8
    assert len(shown["samples"]) == len(run.details["images"]["names"]) == 20
    first = int(shown["sample_index"][0])
    with Image.open(pictures / run.details["images"]["names"][0]) as picture:
        np.testing.assert_array_equal(shown["samples"][0], np.asarray(picture))
    assert pd.read_csv("pics-kmeans/clusters.csv")["file"][first].startswith(("left", "right"))
    mean = shown["samples"][shown["sample_cluster"] == 0].mean(axis=0)
    np.testing.assert_allclose(shown["prototypes"][0], mean, atol=1)


def test_arrays(kindset, folder):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((20, 8, 8)), rng.random((20, 8, 8)) + 2]) * 7 - 3
    np.save("stack.npy", X)
    np.savez("both.npz", X=X.reshape(40, -1), labels=np.repeat(["a", "b"], 20))
    code, _, err = kindset("cluster", "stack.npy", "-m", "kmeans", "-k", 2)
    assert code == 0, err
    assert Run.load("stack-kmeans").exhibits["prototypes"].max() > 200
    code, out, _ = kindset("cluster", "both.npz", "-m", "kmeans", "-k", 2, "--json")
    assert json.loads(out)["runs"][0]["ACC"] == 1


def test_scale(kindset, table, folder):
    table["a"] *= 1e4
    table.to_csv("rows.csv", index=False)
    _, _, err = kindset("cluster", "rows.csv", "-m", "kmeans", "-k", 3, *COLUMNS)
    assert "--scale standard" in err
    _, out, err = kindset(
        "cluster", "rows.csv", "-m", "kmeans", "-k", 3, *COLUMNS, "--scale", "standard", "--force"
    )
    assert err == ""
    assert "ACC 1.0" in out or "ACC 0.9" in out


@pytest.mark.parametrize("k", ["2", "2:3"])
def test_images_are_not_scaled(kindset, folder, k):
    np.save("stack.npy", np.random.default_rng(0).random((12, 4, 5)))
    arguments = ("cluster", "stack.npy", "-m", "kmeans", "-k", k, "--out", "out", "--scale")
    code, _, err = kindset(*arguments, "standard")
    assert code == 2
    assert "--scale standard is for rows of numbers; stack holds images, of shape (4, 5)" in err
    assert not (folder / "out").exists()
    assert kindset(*arguments, "none")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.csv", "-m", "magic", "-k", 2], "--method must be one of survey, tilted"),
        (["rows.csv", "-m", "kmeans", "-k", 2], "column 'who' holds text, 'p00' in row 1"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "-p", "n_init"], "--param takes"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "-p", "x=1"], "--param x: kmeans has"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "--seeds", "a"], "--seeds takes"),
        (["rows.csv", "-m", "kmeans", "-k", 200, *COLUMNS], "there are only 90 samples"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "--embedding", "pca"], "--embedding"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "--embedding", "pca:9"], "only 3 columns"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "--scale", "log"], "--scale must be"),
        (["rows.csv", "-m", "dti-kmeans", "-k", 2, *COLUMNS], "clusters images"),
        (["rows.csv", "-m", "bos", "-k", 2, *COLUMNS, "--embedding", "pca:2"], "not for bos"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "--starts", 3], "--starts is for surveys"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "--size", 3], "--size is for folders"),
        (["nan.npy", "-m", "kmeans", "-k", 2, "--columns", "a"], "--columns is for tables"),
        (
            ["nan.npy", "-m", "god", "-k", 2],
            "clusters tables of answers (CSV, Excel",
        ),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "-p", "n_clusters=5"], "say it with -k"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "-p", "n_init=foo"], "n_init"),
        (["rows.csv", "-m", "kmeans", "-k", "2:900000000", *COLUMNS], "at most 1000 will do"),
        (["rows.csv", "-m", "kmeans", "-k", "auto"], "-k auto: kmeans must be told the number"),
        (["rows.csv", "-m", "god", "-k", "auto"], "god chooses among the numbers you give"),
        (["rows.csv", "-m", "kmeans", "-k", "automatic"], "or a range such as 2:8, not"),
        (["taken.csv", "-m", "kmeans", "-k", 2, "--id-column", "cluster"], "cannot be called"),
        (["rows.csv", "-m", "kmeans", "-k", 2, *COLUMNS, "--out", "."], "cannot be the current"),
        (["void/x.csv", "-m", "kmeans", "-k", 2, "--out", "void", "--force"], "lies in the output"),
        (["gaps.csv", "-m", "kmeans", "-k", 2], "column 'a' has no number in row 2"),
        (["same.csv", "-m", "kmeans", "-k", 2], "all samples of same are equal"),
        (["nan.npy", "-m", "kmeans", "-k", 2], "first in sample 2"),
        (["text.npy", "-m", "kmeans", "-k", 2], "give numbers of shape"),
        (["many.npz", "-m", "kmeans", "-k", 2], "it has u, v"),
        (["uneven.npz", "-m", "kmeans", "-k", 2], "3 labels for 4 samples"),
        (["torn.npz", "-m", "kmeans", "-k", 2], "not a readable npz"),
        (["none.npy", "-m", "kmeans", "-k", 2], "there is no file none.npy"),
        (["none.csv", "-m", "kmeans", "-k", 2], "there is no file none.csv"),
        (["void", "-m", "kmeans", "-k", 2], "void holds no .png"),
        (["void", "-m", "kmeans", "-k", 2, "--size", "big"], "--size takes pixels"),
    ],
)
def test_wrong_input(kindset, table, folder, arguments, message):
    (folder / "gaps.csv").write_text("a,b\n1,2\n,3\n4,5\n")
    (folder / "same.csv").write_text("a,b\n1,2\n1,2\n1,2\n")
    np.save("nan.npy", np.array([[0.0, 1.0], [np.nan, 1.0]]))
    np.save("text.npy", np.array([["a", "b"]]))
    np.savez("many.npz", u=np.eye(3), v=np.eye(3))
    np.savez("uneven.npz", X=np.eye(4), labels=np.arange(3))
    (folder / "torn.npz").write_bytes(b"PK\x03\x04")
    (folder / "void").mkdir()
    (folder / "taken.csv").write_text("cluster,b\n1,2\n2,3\n4,5\n")
    before = sorted(folder.iterdir())
    code, out, err = kindset("cluster", *arguments)
    assert code == 2, err
    assert message in err.replace("\n", " ")
    assert out == ""
    assert sorted(folder.iterdir()) == before


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_table_is_clustered_or_refused(kindset, folder, data):
    cell = st.one_of(
        st.integers(-5, 5).map(str),
        st.floats(allow_nan=True, width=32).map(str),
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=4),
        st.sampled_from(["", "NA", '"', "<script>", "1e400"]),
    )
    rows = data.draw(st.lists(st.lists(cell, min_size=1, max_size=3), min_size=0, max_size=6))
    (folder / "any.csv").write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    code, _, err = kindset("cluster", "any.csv", "-m", "kmeans", "-k", 1, "--force")
    assert code in (0, 2), err
    assert "Traceback" not in err
    if code == 0:
        Run.load(folder / "any-kmeans")


def test_killed_at_any_moment(folder, table):
    """However often it is killed, no damaged run is left, and a restart finishes the job."""
    command = [
        sys.executable, "-m", "kindset", "cluster", "rows.csv", "-m", "kmeans", "-k", "2:5",
        "--seeds", "0,1", "-p", "n_init=20", *COLUMNS, "--out", "sweep",
    ]  # fmt: skip
    rng = random.Random(0)
    for _ in range(3):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        # Count the delay from the first sign of work: starting Python takes the longest.
        assert process.stderr.readline().startswith(b"[1/8]")
        time.sleep(rng.random() * 0.5)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
        for path in folder.glob("sweep/*/run.json"):
            Run.load(path.parent)
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "there already" in finished.stderr
    assert len(load_runs([folder / "sweep"])) == 8
    assert not list(folder.glob("sweep/.*"))


LONG = (
    "cluster", "pics", "-m", "dti-kmeans", "--transforms", "affine", "-p", "max_epochs=500",
    "-p", "batch_size=10",
)  # fmt: skip


def killed_with_a_checkpoint(command, place):
    """Start a command, and kill it when it has left something to go on with."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(place.rglob("group-0.json")):
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_a_killed_training_goes_on(kindset, pictures, folder):
    command = [sys.executable, "-m", "kindset", *LONG, "-k", "2", "--out", "run"]
    killed_with_a_checkpoint(command, folder / ".run.kindset-work")
    assert not (folder / "run").exists()
    code, out, err = kindset(*LONG, "-k", 2, "--out", "run")
    assert code == 0, err
    assert "Going on where an earlier start was killed." in err
    assert "since it was taken up again" in out
    assert not list(folder.glob(".*"))
    code, out, err = kindset(*LONG, "-k", 2, "--out", "whole")
    assert code == 0, err
    assert "Going on" not in err
    one, other = Run.load(folder / "run"), Run.load(folder / "whole")
    np.testing.assert_array_equal(one.space, other.space)
    np.testing.assert_array_equal(one.model.history_.loss, other.model.history_.loss)


@pytest.mark.slow
def test_a_killed_sweep_goes_on_inside_a_training(kindset, pictures, folder):
    command = [sys.executable, "-m", "kindset", *LONG, "-k", "2:3", "--out", "sweep"]
    killed_with_a_checkpoint(command, folder / "sweep")
    code, _, err = kindset(*LONG, "-k", "2:3", "--out", "sweep")
    assert code == 0, err
    resumed = [run.details["resumed"] for run in load_runs([folder / "sweep"])]
    assert resumed == [True, False]
    assert not list(folder.glob("sweep/.*"))


def test_what_other_settings_left_is_not_taken_up(kindset, pictures, folder):
    quick = ("cluster", "pics", "-m", "dti-kmeans", "--transforms", "affine", "--out", "run")
    stale = folder / ".run.kindset-work" / "other"
    stale.mkdir(parents=True)
    (stale / "group-0.json").write_text("{}")
    code, _, err = kindset(*quick, "-p", "max_epochs=2", "-k", 2)
    assert code == 0, err
    assert "Going on" not in err
    assert not list(folder.glob(".*"))
    assert "The training was too short" in " ".join(err.split())
    (note,) = [one for one in Run.load("run").details["notes"] if "too short" in one]
    assert note.endswith("raise max_epochs.")


@pytest.mark.parametrize("method", ["dti-kmeans", "dti-gmm", "unmasking", "kmeans", "gmm"])
def test_prediction_of_new_images(kindset, pictures, folder, method):
    pixels = method.startswith("dti")
    quick = ("-p", "max_epochs=2", "--transforms", "affine") if pixels else ()
    code, _, err = kindset("cluster", "pics", "-m", method, "-k", 2, *quick, "--out", "run")
    assert code == 0, err
    run = Run.load(folder / "run")
    if pixels:
        n_shown = len(run.exhibits["samples"])
        assert run.exhibits["aligned"].shape == (n_shown, 2, 12, 12)
        assert run.space.shape == (20, 2)
    code, out, err = kindset("predict", "run", "pics", "--out", "new.csv")
    assert code == 0, err
    again = pd.read_csv("new.csv")
    pd.testing.assert_frame_equal(again, pd.read_csv("run/clusters.csv"))
    Image.new("RGB", (30, 30), "white").save(folder / "pics" / "left" / "ä 1.png")
    code, out, err = kindset("predict", "run", "pics", "--json")
    assert code == 0, err
    assert json.loads(out)["n_rows"] == 20


def test_prediction_crops_as_before(kindset, folder):
    rng = np.random.default_rng(0)
    (folder / "wide").mkdir()
    for i in range(30):
        picture = rng.integers(0, 256, size=(8, 24)).astype(np.uint8)
        picture[:, 8:16] = 250 if i % 3 else 5
        Image.fromarray(picture).save(folder / "wide" / f"{i:02d}.png")
    arguments = ("-m", "unmasking", "-k", 2, "--size", 8, "--crop", "--out", "run")
    assert kindset("cluster", "wide", *arguments)[0] == 0
    assert kindset("predict", "run", "wide", "--out", "new.csv")[0] == 0
    pd.testing.assert_frame_equal(pd.read_csv("new.csv"), pd.read_csv("run/clusters.csv"))


def test_interrupted_training_is_no_finished_run(kindset, pictures, folder, monkeypatch):
    from kindset.images import DTIKMeans

    fit = DTIKMeans.fit_predict

    def interrupted(self, X, y=None):
        labels = fit(self, X)
        self.interrupted_ = True
        return labels

    monkeypatch.setattr(DTIKMeans, "fit_predict", interrupted)
    quick = ("cluster", "pics", "-m", "dti-kmeans", "-p", "max_epochs=2", "--transforms", "affine")
    code, out, err = kindset(*quick, "-k", 2, "--out", "one")
    assert code == 130
    assert "Interrupted: this is the best" in out
    assert "Started again with --force, it goes on from here." in err
    assert (folder / ".one.kindset-work").exists()
    assert kindset("report", "one", "--out", "one.html")[0] == 0
    assert "was interrupted" in (folder / "one.html").read_text()
    code, _, err = kindset(*quick, "-k", "2:3", "--out", "many")
    assert code == 130
    assert "0 of 2 runs are there" in err
    assert not list(folder.glob("many/*/run.json"))
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    code, _, err = kindset(*quick, "-k", 2, "--out", "one", "--force")
    assert code == 0, err
    assert "Going on" in err
    assert not Run.load(folder / "one").details["interrupted"]
    assert not (folder / ".one.kindset-work").exists()


@pytest.mark.parametrize("method", ["unmasking", "kmeans", "gmm"])
def test_prediction_of_rows(kindset, table, folder, method):
    arguments = ("cluster", "rows.csv", "-m", method, "-k", 3, *COLUMNS, "--scale", "standard")
    code, _, err = kindset(*arguments, "--out", "run")
    assert code == 0, err
    table[["c", "b", "who", "a"]].to_csv("new.csv", index=False)
    code, _, err = kindset("predict", "run", "new.csv", "--id-column", "who", "--out", "out.csv")
    assert code == 0, err
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), pd.read_csv("run/clusters.csv"))
    table[["c", "who", "a"]].to_csv("less.csv", index=False)
    code, _, err = kindset("predict", "run", "less.csv", "--id-column", "who")
    assert code == 2
    assert "no column 'b'" in err
    np.save("wide.npy", np.ones((4, 7)))
    code, _, err = kindset("predict", "run", "wide.npy")
    assert code == 2
    assert "samples of shape (7,)" in err


@pytest.mark.parametrize("method", ["kmeans", "gmm"])
@pytest.mark.parametrize("parameters", [(), ("-p", "covariance_type=tied")])
def test_clusters_of_a_model_are_those_of_its_run(kindset, folder, method, parameters):
    if parameters and method == "kmeans":
        parameters = ("-p", "algorithm=elkan")
    rng = np.random.default_rng(0)
    # Many samples lie just between two clusters.
    np.save("rows.npy", rng.integers(0, 3, size=(200, 3)))
    code, _, err = kindset("cluster", "rows.npy", "-m", method, "-k", 5, *parameters, "-o", "run")
    assert code == 0, err
    run = Run.load(folder / "run")
    np.testing.assert_array_equal(run.model.predict(run.space), run.labels)
    for dtype in (np.uint8, np.float32, np.float64):
        np.save("new.npy", np.load("rows.npy").astype(dtype))
        code, _, err = kindset("predict", "run", "new.npy", "--out", "new.csv", "--force")
        assert code == 0, err
        pd.testing.assert_frame_equal(pd.read_csv("new.csv"), pd.read_csv("run/clusters.csv"))


def test_runs_that_cannot_predict(kindset, table, folder):
    new = ("rows.csv", "--id-column", "who")
    kindset("cluster", "rows.csv", "-m", "ward", "-k", 3, *COLUMNS)
    code, _, err = kindset("predict", "rows-ward", *new)
    assert code == 2
    assert "ward groups the samples it was given and no others; cluster with kmeans" in err
    kindset("cluster", "rows.csv", "-m", "kmeans", "-k", 3, *COLUMNS, "--embedding", "pca:2")
    code, _, err = kindset("predict", "rows-kmeans", *new)
    assert code == 2
    assert "cluster without --embedding" in err
    Run(np.arange(3)).save("foreign")
    code, _, err = kindset("predict", "foreign", *new)
    assert code == 2
    assert "it holds no model" in err
