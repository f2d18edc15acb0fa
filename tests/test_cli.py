"""The command line as a user meets it: what it prints, what it writes, how it ends."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kindset.cli import main
from kindset.datasets import load_anes96
from kindset.runs import Run


@pytest.fixture
def kindset(monkeypatch, capsys):
    """Run the command line in this process; return exit code, output and errors."""

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["kindset", *map(str, args)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def survey(folder):
    """Two kinds of answers on a scale in words, with ids, weights and a gap."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=120)
    words = np.array(["never", "seldom", "often", "always"])
    answers = {
        f"q{j}": words[np.clip(3 * kind + rng.integers(-1, 2, size=120), 0, 3)] for j in range(4)
    }
    table = pd.DataFrame({"who": [f"r{i}" for i in range(120)], **answers, "w": rng.random(120)})
    table.loc[5, "q2"] = None
    table.to_csv(folder / "survey.csv", index=False)
    (folder / "levels.toml").write_text(
        '[[scale]]\ncolumns = ["q0", "q1", "q2", "q3"]\n'
        'levels = ["never", "seldom", "often", "always"]\n'
        '[questions]\nq0 = "How often <b>do you</b> read?"\n'
    )
    return folder / "survey.csv"


OPTIONS = ("--levels", "levels.toml", "--id-column", "who", "--weight-column", "w", "--starts", 3)


def test_version_and_help(kindset):
    code, out, _ = kindset("--version")
    assert (code, out.split()[0]) == (0, "kindset")
    code, out, _ = kindset("--help")
    assert code == 0
    for command in ("cluster", "predict", "demo"):
        assert command in out


def test_cluster_and_predict(kindset, survey, folder):
    code, out, err = kindset("cluster", survey, "--method", "god", "-k", 2, *OPTIONS)
    assert code == 0, err
    assert "Segment 1" in out
    assert "How often <b>do you</b> read?" in out
    result = folder / "survey-god"
    names = {path.name for path in result.iterdir()}
    assert names == {
        "segments.csv", "summary.txt", "profiles.png", "profiles.svg",
        "run.json", "labels.npy", "space.npy", "model",
    }  # fmt: skip
    segments = pd.read_csv(result / "segments.csv")
    assert list(segments.columns) == ["who", "segment", "p1", "p2"]
    assert set(segments["segment"]) == {1, 2}
    run = Run.load(result)
    assert list(run.model.feature_names_in_) == ["q0", "q1", "q2", "q3"]
    assert (run.labels + 1 == segments["segment"]).all()
    assert run.space.shape == (120, 4)
    assert run.seed == 0

    code, out, err = kindset("predict", result, survey, "--id-column", "who", "--out", "new.csv")
    assert code == 0, err
    pd.testing.assert_frame_equal(pd.read_csv(folder / "new.csv"), segments)
    code, _, err = kindset("predict", result, survey, "--out", "new.csv")
    assert code == 2
    assert "--force" in err
    code, out, _ = kindset("predict", result / "model" / "model.json", survey)
    assert out.splitlines()[0] == "row,segment,p1,p2"


def test_selection_with_json(kindset, survey, folder):
    code, out, _ = kindset(
        "cluster", survey, "--method", "bos", "-k", "2:3", *OPTIONS, "--json", "--out", "result"
    )
    assert code == 0
    told = json.loads(out)
    assert told["found_structure"] is True
    assert told["out"] == "result"
    path = pd.read_csv(folder / "result" / "selection.csv")
    assert list(path["n_components"]) == [1, 2, 3]
    assert told["n_segments"] == path["n_components"][path["icl"].argmin()]
    assert (folder / "result" / "selection.png").stat().st_size > 1000


def test_no_structure(kindset, folder):
    grid = np.stack(np.meshgrid(*[np.arange(1, 5)] * 3), axis=-1).reshape(-1, 3)
    pd.DataFrame(grid, columns=list("abc")).to_csv("grid.csv", index=False)
    code, out, _ = kindset("cluster", "grid.csv", "-m", "bos", "-k", "2:3", "--starts", 2)
    assert code == 0
    assert "No cluster structure found" in out


def test_parquet(kindset, folder):
    load_anes96().data.to_parquet("anes.parquet")
    code, out, err = kindset(
        "cluster",
        "anes.parquet",
        "-m",
        "ordinal",
        "-k",
        2,
        "--starts",
        1,
        "--columns",
        "PID,selfLR",
    )
    assert code == 0, err
    assert "944 rows, 2 questions" in out


def test_semicolons_and_byte_order_mark(kindset, folder):
    text = "a;b\n" + "\n".join(f"{i % 3 + 1};{i % 4 + 1}" for i in range(30))
    (folder / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    code, out, _ = kindset("cluster", "t.csv", "-m", "bos", "-k", 1)
    assert code == 0
    assert "30 rows, 2 questions" in out


def test_never_overwrites_unasked(kindset, survey, folder):
    arguments = ("cluster", survey, "-m", "bos", "-k", 1, *OPTIONS, "--out", "result")
    assert kindset(*arguments)[0] == 0
    code, _, err = kindset(*arguments)
    assert code == 2
    assert "--force" in err
    assert kindset(*arguments, "--force", "--seed", 1)[0] == 0
    assert Run.load(folder / "result").seed == 1
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("years of work")
    code, _, err = kindset(*arguments[:-1], "mine", "--force")
    assert code == 2
    assert "did not write" in err
    assert (folder / "mine" / "thesis.txt").read_text() == "years of work"
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", "-m", "bos", "-k", "2"], "there is no file none.csv"),
        ([".", "-m", "bos", "-k", "2"], "is a folder"),
        (["survey.csv", "-m", "mean", "-k", "2"], "--method must be one of bos, god, ordinal"),
        (["survey.csv", "-m", "bos", "-k", "two"], "-k takes a number"),
        (["survey.csv", "-m", "bos", "-k", "5:2"], "-k takes a number"),
        (["survey.csv", "-m", "bos", "-k", "0"], "-k takes a number"),
        (["survey.csv", "-m", "bos", "-k", "2"], "column 'who' holds text such as 'r0'"),
        (
            ["survey.csv", "-m", "bos", "-k", "2", "--columns", "q9"],
            "no column 'q9'; the table has",
        ),
        (["survey.csv", "-m", "bos", "-k", "2", "--id-column", "q0"], "repeats the id"),
        (["survey.csv", "-m", "bos", "-k", "2", "--id-column", "no"], "no column 'no'"),
        (["survey.csv", "-m", "bos", "-k", "2", "--levels", "no.toml"], "no.toml: No such file"),
        (["survey.csv", "-m", "bos", "-k", "2", "--levels", "bad.toml"], "not among its levels"),
        (["survey.csv", "-m", "bos", "-k", "2", "--levels", "survey.csv"], "not a valid TOML"),
        (["empty.csv", "-m", "bos", "-k", "2"], "empty.csv"),
        (["head.csv", "-m", "bos", "-k", "2"], "head.csv holds no rows"),
        (["twice.csv", "-m", "bos", "-k", "2"], "two columns named 'a'"),
        (["ragged.csv", "-m", "bos", "-k", "2"], "not a readable CSV"),
        (["latin.csv", "-m", "bos", "-k", "2"], "not UTF-8"),
        (["fake.parquet", "-m", "bos", "-k", "2"], "not a readable Parquet"),
        (["negative.csv", "-m", "bos", "-k", "2"], "column 'a' holds -1"),
        (["survey.csv", "-m", "bos"], "Missing option '-k'"),
    ],
)
def test_wrong_input_ends_with_one_sentence(kindset, survey, folder, arguments, message):
    files = {
        "bad.toml": b'q0 = ["never"]',
        "empty.csv": b"",
        "head.csv": b"a,b\n",
        "twice.csv": b"a,a\n1,2\n",
        "ragged.csv": b"a,b\n1,2\n1,2,3,4\n",
        "latin.csv": "a,b\né,1\n".encode("latin-1"),
        "fake.parquet": b"not parquet",
        "negative.csv": b"a,b\n-1,2\n3,1\n",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = sorted(folder.iterdir())
    code, out, err = kindset("cluster", *arguments)
    assert code == 2
    assert message in err.replace("\n", " ")
    assert "Traceback" not in err
    assert out == ""
    assert sorted(folder.iterdir()) == before


def test_predict_explains_what_does_not_fit(kindset, survey, folder):
    assert kindset("cluster", survey, "-m", "bos", "-k", 2, *OPTIONS, "--out", "r")[0] == 0
    pd.DataFrame({"q0": ["often"]}).to_csv("short.csv", index=False)
    code, _, err = kindset("predict", "r", "short.csv")
    assert (code, "has no column 'q1'" in err) == (2, True)
    table = pd.read_csv(survey)
    table.loc[3, "q1"] = "hardly"
    table.to_csv("other.csv", index=False)
    code, _, err = kindset("predict", "r", "other.csv")
    assert (code, "column 'q1' holds 'hardly'" in err) == (2, True)
    code, _, err = kindset("predict", "levels.toml", survey)
    assert (code, "is not a model" in err) == (2, True)


def test_debug_shows_the_traceback(kindset, folder):
    with pytest.raises(ValueError, match="there is no file"):
        kindset("cluster", "none.csv", "-m", "bos", "-k", 2, "--debug")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text("ab,;\n\"'19.-é", max_size=60).map(str.encode))
def test_any_file_ends_well_or_with_a_sentence(kindset, folder, content):
    (folder / "any.csv").write_bytes(content)
    code, _, err = kindset(
        "cluster", "any.csv", "-m", "bos", "-k", 1, "--starts", 1, "--out", "any", "--force"
    )
    assert code in (0, 2), err
    assert "Traceback" not in err
    assert code == 0 or "kindset:" in err


def test_interrupt_writes_the_best_so_far(survey, folder):
    """Ctrl-C in the middle of a million starts: the folder is whole, the exit code tells."""
    command = [sys.executable, "-c", "from kindset.cli import main; main()", "cluster", str(survey),
               "-m", "bos", "-k", "2", "--levels", "levels.toml", "--id-column", "who",
               "--weight-column", "w", "--starts", "1000000", "--out", "r"]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    time.sleep(12)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Interrupted" in out
    assert Run.load(folder / "r").model.interrupted_
    assert len(pd.read_csv(folder / "r" / "segments.csv")) == 120


@pytest.mark.slow
def test_demo(kindset, folder):
    code, out, err = kindset("demo")
    assert code == 0, err
    assert "GOD: " in out
    assert "describes them best" in out
    assert (folder / "demo-output" / "god" / "profiles.png").exists()
    assert (folder / "demo-output" / "bos" / "summary.txt").exists()
    code, _, err = kindset("demo")
    assert (code, "--force" in err) == (2, True)
