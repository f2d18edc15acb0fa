"""`kindset report` as a user meets it."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_runs import feature_run, image_run
from sklearn.datasets import load_digits

from kindset.report import write_report
from kindset.runs import Run
from kindset.workbench import cluster, read_data


@pytest.fixture
def runs(folder):
    image_run(10, 0).save(folder / "runs" / "a")
    image_run(8, 0).save(folder / "runs" / "b")
    feature_run().save(folder / "c")
    return folder / "runs"


def test_report(kindset, runs, folder):
    code, out, err = kindset("report", runs, "c", "--title", "All <i>of</i> it")
    assert code == 0, err
    assert "Report: report.html" in out
    page = (folder / "report.html").read_text()
    assert "<h1>All &lt;i&gt;of&lt;/i&gt; it</h1>" in page
    assert page.count("<article") > 20

    code, _, err = kindset("report", "c")
    assert code == 2
    assert "report.html exists already" in err.replace("\n", " ")
    assert (folder / "report.html").read_text() == page
    code, out, _ = kindset("report", "c", "--force", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["runs"] == 1
    assert told["bytes"] == (folder / "report.html").stat().st_size


def test_truth_is_shown_beside(kindset, runs, folder):
    pd.DataFrame({"label": load_digits().target}).to_csv("truth.csv", index=False)
    code, _, err = kindset("report", runs, "--truth", "truth.csv", "--index", "silhouette,dunn")
    assert code == 0, err
    page = (folder / "report.html").read_text()
    assert "ACC" in page
    assert "By Dunn alone" in page


def cautions(path):
    """What stands in the boxes of cautions."""
    boxes = re.findall(r'<div class="caution".*?</div>', path.read_text(), re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>|\s+", " ", " ".join(boxes)))


def test_the_cautions_of_the_command_line_are_in_the_report(kindset, folder):
    rng = np.random.default_rng(0)
    kinds = np.arange(120) % 3
    answers = pd.DataFrame(
        {f"q{j}": 1 + np.clip(3 * kinds + rng.integers(0, 2, 120), 0, 7) for j in range(5)}
    ).astype("Int64")
    answers.iloc[:4, 0] = pd.NA
    answers.to_csv("survey.csv", index=False)
    code, out, err = kindset(
        "cluster", "survey.csv", "--method", "god", "-k", "1:2", "--starts", 1, "--out", "run"
    )
    assert code == 0, err
    kindset("report", "run")
    told = cautions(folder / "report.html")
    for words in (
        "4 answers missing (0.7%).",
        "One start only: other starts may find a better mixture.",
        "Number of segments: 2, by the lowest ICL (tried 1, 2; the largest tried, so try more).",
        "nobody gave some answers between the lowest and the highest",
    ):
        assert words in told
        assert words.rstrip(".") in " ".join((out + err).split())


def test_the_warnings_of_a_fit_are_in_the_report(kindset, folder):
    np.save("few.npy", np.repeat(np.eye(3), 5, axis=0))
    code, _, err = kindset("cluster", "few.npy", "--method", "kmeans", "-k", 4, "--out", "run")
    assert code == 0, err
    assert "distinct clusters" in err
    kindset("report", "run")
    assert "distinct clusters" in cautions(folder / "report.html")


def test_cautions_on_the_samples_go_with_each_run(folder):
    rows = np.repeat(np.eye(3), 5, axis=0)
    data = replace(read_data(rows), notes=("2 files were left out.",))
    run = cluster(data, "kmeans", 3)
    write_report([run], folder / "report.html")
    assert "2 files were left out." in cautions(folder / "report.html")


def test_other_programs_results(kindset, folder):
    rng = np.random.default_rng(0)
    for i in range(3):
        np.savez(f"{i}.npz", labels=np.arange(30) % (i + 2), embedding=rng.normal(size=(30, 3)))
    code, _, err = kindset("report", "0.npz", "1.npz", "2.npz", "--out", "x.html", "--bootstrap", 5)
    assert code == 0, err
    assert "30 samples" in (folder / "x.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "there is no file or folder none"),
        (["c", "--out", "runs"], "runs is a folder"),
        (["c", "--out", "no/such/r.html"], "there is no folder no/such"),
        (["c", "--index", "gap"], "index='gap' is unknown"),
        (["c", "--index", ","], "must name one or more"),
        (["c", "--truth", "short.csv"], "3 known labels for 80 samples"),
        (["c", "--noise", "keep"], "noise='keep' is unknown"),
        (["c", "--metric", "taxi"], "metric='taxi' is unknown"),
        (["c", "--index", "s_dbw", "--metric", "cosine"], "has no metric='cosine'"),
        (["c", "--bootstrap", "-1"], "Invalid value for '--bootstrap'"),
    ],
)
def test_wrong_input(kindset, runs, folder, arguments, message):
    pd.DataFrame({"label": [0, 1, 1]}).to_csv("short.csv", index=False)
    code, _, err = kindset("report", *arguments)
    assert code == 2
    assert message in err.replace("\n", " ")
    assert "Traceback" not in err
    assert not (folder / "report.html").exists()


def ranking(kindset, folder, *options):
    """Return the scores of the report's ranking, or None if there is none."""
    code, _, err = kindset("report", "runs", "--force", "--index", "silhouette", *options)
    assert code == 0, err
    page = (folder / "report.html").read_text()
    if "Ranking by" not in page:
        return None
    return re.findall(r'class="number" data-value="([-\d.]+)"', page[page.index("by Silhouette") :])


def test_metric_and_noise_are_those_of_compare(kindset, folder):
    rng = np.random.default_rng(0)
    for i in range(2):
        labels = np.arange(40) % (i + 2)
        labels[:3] = -1
        space = rng.normal(size=(40, 3)) + 2 * labels[:, None]
        Run(labels, space, name=f"run {i}").save(folder / "runs" / str(i))
    found = {
        noise: ranking(kindset, folder, "--noise", noise)
        for noise in ("drop", "singletons", "error")
    }
    assert found["error"] is None
    assert "3 noise points (-1)" in cautions(folder / "report.html")
    found["penalise"] = ranking(kindset, folder)
    assert found["penalise"] == ranking(kindset, folder, "--noise", "penalise")
    assert found["penalise"] != found["drop"] != found["singletons"]
    assert found["penalise"] != ranking(kindset, folder, "--metric", "cosine")
    code, out, _ = kindset("compare", "runs", "--noise", "singletons", "--json")
    assert code == 0
    scores = [row["ace"] for row in json.loads(out)["rankings"]["silhouette"]]
    assert [float(value) for value in found["singletons"]][:1] == pytest.approx(scores[:1])


@pytest.mark.parametrize("name", ["run.json", "labels.npy"])
def test_a_damaged_run_is_refused(kindset, runs, folder, name):
    (runs / "a" / name).write_bytes(b"\x93NUMPY")
    code, _, err = kindset("report", runs)
    assert code == 2
    assert str(runs / "a") in "".join(err.split())
    assert name in err
    assert "Traceback" not in err


def test_damaged_parts_are_left_out(kindset, folder):
    Run([0, 0, 1], name="odd", details={"survey": {"segments": 3}, "kind": 5}).save(folder / "odd")
    code, _, err = kindset("report", "odd")
    assert code == 0, err
    assert "Left out of odd: the survey profiles" in (folder / "report.html").read_text()


@pytest.mark.parametrize("damage", ["junk", "missing", "other arrays"])
def test_damaged_exhibits_are_left_out(kindset, runs, folder, damage):
    path = runs / "a" / "exhibits.npz"
    path.unlink()
    if damage == "junk":
        path.write_bytes(b"\x93NUMPY")
    elif damage == "other arrays":
        np.savez(path, other=[1])
    code, _, err = kindset("report", runs)
    assert code == 0, err
    told = cautions(folder / "report.html")
    assert "seed 0”: The pictures and trees are left out, because" in told
    assert "exhibits.npz" in told
    assert told.count("left out") == 1
