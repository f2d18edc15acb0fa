"""The command line as a user meets it: what it prints, what it writes, how it ends."""

import json
import signal
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kindset.datasets import load_anes96
from kindset.ordinal import _search
from kindset.runs import Run


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


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", ["cluster", "compare", "report", "predict", "demo"])
def test_help_breaks_lines_where_the_terminal_ends(kindset, monkeypatch, command, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = kindset(command, "--help")
    assert code == 0
    assert "…" not in out
    words = out.split("╭")[0].rstrip().splitlines()
    for line, following in pairwise(line.strip() for line in words[3:]):
        if line and following:
            assert len(line) + 1 + len(following.split()[0]) > width - 3


def test_cluster_and_predict(kindset, survey, folder):
    code, out, err = kindset("cluster", survey, "--method", "god", "-k", 2, *OPTIONS)
    assert code == 0, err
    assert "Segment 1" in out
    assert "How often <b>do you</b> read?" in out
    result = folder / "survey-god"
    names = {path.name for path in result.iterdir()}
    assert names == {
        "segments.csv", "summary.txt", "profiles.png", "profiles.svg", "profiles.csv",
        "profiles.xlsx",
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


def test_respondents_answer_in_the_words_of_the_levels(kindset, survey, folder):
    table = pd.read_csv(survey)
    words = ["never", "seldom", "often", "always"]
    for column in ("q0", "q1"):
        table[column] = pd.Categorical(table[column], categories=words, ordered=True)
    codes = table["q2"].map({word: code for code, word in enumerate(words, 1)})
    table["q2"] = codes.astype("float32")
    table["q3"] = table["q3"].map({word: code for code, word in enumerate(words, 1)})
    table.drop(columns=["who", "w"]).to_parquet("mixed.parquet")
    code, _, err = kindset("cluster", "mixed.parquet", "-m", "god", "-k", 2, "--starts", 2)
    assert code == 0, err
    told = Run.load("mixed-god").details["survey"]
    levels = [set(question["levels"]) for question in told["questions"]]
    assert levels == [set(words)] * 2 + [{"1", "2", "3", "4"}] * 2
    people = [person for segment in told["typical"] for person in segment] + told["uncertain"]
    for person in people:
        assert all(
            answer is None or answer in known
            for answer, known in zip(person["answers"], levels, strict=True)
        )
    assert all(people[0]["answers"])


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
        ([".", "-m", "bos", "-k", "2"], "clusters tables of answers"),
        (
            ["survey.csv", "-m", "mean", "-k", "2"],
            "--method must be one of survey, tilted, adjacent",
        ),
        (["survey.csv", "-m", "bos", "-k", "two"], "-k takes a number"),
        (["survey.csv", "-m", "bos", "-k", "5:2"], "-k takes a number"),
        (["survey.csv", "-m", "bos", "-k", "0"], "-k takes a number"),
        (
            ["odd.csv", "-m", "bos", "-k", "9", "--missing", "refused"],
            "-k 9: there are only 3 rows",
        ),
        (["survey.csv", "-m", "bos", "-k", "2"], "column 'who' holds text, 'r0' in row 1"),
        (
            ["survey.csv", "-m", "bos", "-k", "2", "--columns", "q9"],
            "no column 'q9'; there are who, q0",
        ),
        (["survey.csv", "-m", "bos", "-k", "2", "--id-column", "q0"], "repeats the id"),
        (["survey.csv", "-m", "bos", "-k", "2", "--id-column", "no"], "no column 'no'"),
        (["survey.csv", "-m", "bos", "-k", "2", "--levels", "no.toml"], "no.toml: No such file"),
        (
            ["survey.csv", "-m", "bos", "-k", "2", "--columns", "q0", "--levels", "bad.toml"],
            "not among its levels",
        ),
        (["survey.csv", "-m", "bos", "-k", "2", "--levels", "survey.csv"], "not a valid TOML"),
        (["empty.csv", "-m", "bos", "-k", "2"], "empty.csv is empty"),
        (["head.csv", "-m", "bos", "-k", "2"], "head.csv holds no rows"),
        (["twice.csv", "-m", "bos", "-k", "2"], "two columns named 'a'"),
        (["ragged.csv", "-m", "bos", "-k", "2"], "not a readable CSV"),
        (["latin.csv", "-m", "bos", "-k", "2"], "not a table in UTF-8"),
        (["fake.parquet", "-m", "bos", "-k", "2"], "not a readable Parquet"),
        (["negative.csv", "-m", "bos", "-k", "2"], "column 'a' holds -1"),
        (["survey.csv", "-m", "bos"], "Missing option '-k'"),
        (["odd.csv", "-m", "bos", "-k", "2"], "column 'a' holds text, 'refused' in row 3"),
        (["half.csv", "-m", "bos", "-k", "2"], "column 'a' holds a fraction, 1.5 in row 1"),
        (["plain.csv", "-m", "bos", "-k", "2", "--criterion", "gap"], "--criterion must be one of"),
        (["plain.csv", "-m", "bos", "-k", "2", "--starts", "0"], "Invalid value for '--starts'"),
        (["plain.csv", "-m", "bos", "-k", "2", "--seed", "-1"], "--seed takes a whole number"),
        (
            ["plain.csv", "-m", "bos", "-k", "2", "--weight-column", "w"],
            "no usable weight in row 2",
        ),
        (["plain.csv", "-m", "bos", "-k", "2", "--levels", "typo.toml"], "names the column 'aa'"),
        (
            ["plain.csv", "-m", "bos", "-k", "2", "--levels", "scale.toml"],
            "must be a list of names",
        ),
        (["plain.csv", "-m", "bos", "-k", "2", "--exclude", "a,b,w"], "no column left"),
        (["plain.csv", "-m", "bos", "-k", "2", "--out", "."], "cannot be the current one"),
        (["segment.csv", "-m", "bos", "-k", "2", "--id-column", "segment"], "cannot be called"),
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
        "odd.csv": b"a,b\n1,2\n3,1\nrefused,2\n",
        "half.csv": b"a,b\n1.5,2\n3,1\n",
        "plain.csv": b"a,b,w\n1,2,1\n2,1,x\n",
        "typo.toml": b"aa = [1, 2]",
        "scale.toml": b"[[scale]]\ncolumns = 5\nlevels = [1, 2]",
        "segment.csv": b"segment,b\n1,2\n2,1\n",
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


def test_interrupt_writes_the_best_so_far(kindset, survey, folder, monkeypatch, ctrl_c):
    """Ctrl-C in the middle of many starts: the folder is whole, the exit code tells."""
    finished = iter(range(10**9))
    original = _search.run_start

    def interrupted_at_five(*args, **kwargs):
        if next(finished) == 5:
            signal.raise_signal(signal.SIGINT)
        return original(*args, **kwargs)

    monkeypatch.setattr(_search, "run_start", interrupted_at_five)
    options = ("--levels", "levels.toml", "--id-column", "who", "--weight-column", "w")
    code, out, err = kindset(
        "cluster", survey, "-m", "bos", "-k", 2, *options, "--starts", 20000, "--out", "r"
    )
    assert code == 130, err
    assert "Interrupted" in out
    assert Run.load(folder / "r").model.interrupted_
    assert len(pd.read_csv(folder / "r" / "segments.csv")) == 120


def test_answers_that_look_like_gaps_or_numbers(kindset, folder):
    """ "None" is an answer if the levels say so, "2" is a word, ids keep their zeros."""
    rows = [f"{i:04d},{'None' if i % 3 else 'Some'},{(2, 3, '5more')[i % 3]}" for i in range(30)]
    (folder / "t.csv").write_text("id,a,b\n" + "\n".join(rows))
    (folder / "l.toml").write_text('a = ["None", "Some"]\nb = ["2", "3", "5more"]\n')
    arguments = ("-m", "bos", "-k", 1, "--levels", "l.toml", "--id-column", "id", "--out", "r")
    code, out, err = kindset("cluster", "t.csv", *arguments)
    assert code == 0, err
    assert "missing" not in out
    segments = pd.read_csv(folder / "r" / "segments.csv", dtype=str)
    assert segments["id"][7] == "0007"
    (folder / "new.csv").write_text("id,a,b\n01,None,2\n1,Some,3\n")
    code, out, err = kindset("predict", "r", "new.csv", "--id-column", "id")
    assert code == 0, err
    assert out.splitlines()[1].startswith("01,1,")


def test_marks_of_missing_answers(kindset, folder):
    (folder / "t.csv").write_text("a,b\n1,2\n-9,1\n2,DK\n1,NA\n2,1\n")
    code, out, err = kindset("cluster", "t.csv", "-m", "bos", "-k", 1, "--missing=-9,DK")
    assert code == 0, err
    assert "3 answers missing" in out


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("mark", ["DK", "no answer", 9, -9])
def test_unknown_answers_may_be_missing_ones(kindset, folder, ending, mark):
    rng = np.random.default_rng(0)
    words = isinstance(mark, str)
    scale = np.array(["low", "middle", "high"], dtype=object) if words else np.array([1, 2, 3])
    table = pd.DataFrame({name: scale[rng.integers(3, size=40)] for name in "ab"})
    (folder / "l.toml").write_text(f"a = {scale.tolist()}\nb = {scale.tolist()}\n")
    arguments = ("-m", "bos", "-k", 2, "--levels", "l.toml", "--starts", 1, "--out", "r")

    def write(name):
        save = table.to_csv if ending == "csv" else table.to_parquet
        save(f"{name}.{ending}", index=False)
        return f"{name}.{ending}"

    assert kindset("cluster", write("old"), *arguments)[0] == 0
    table.loc[6, "b"] = mark
    hint = "--missing='no answer'" if mark == "no answer" else f"--missing={mark}"
    known = ", ".join(map(str, scale))
    sentence = (
        f"column 'b' holds '{mark}' in row 7, which is not among its levels ({known}): if it "
        f"stands for a missing answer, say so with {hint}; else correct it, or"
    )
    code, _, err = kindset("predict", "r", write("new"))
    assert code == 2
    assert f"{sentence} cluster again with the whole scale in --levels." in err.replace("\n", " ")
    code, out, err = kindset("predict", "r", f"new.{ending}", f"--missing={mark}")
    assert code == 0, err
    code, _, err = kindset("cluster", f"new.{ending}", *arguments, "--force")
    assert code == 2
    assert f"{sentence} add it to them." in err.replace("\n", " ")
    code, out, err = kindset("cluster", f"new.{ending}", *arguments, "--force", f"--missing={mark}")
    assert code == 0, err
    assert "1 answer missing" in out


def test_the_odd_word_among_numbers_is_named(kindset, folder):
    (folder / "t.csv").write_text("a,b\n1,2\n2,1\n1,1\n")
    (folder / "new.csv").write_text("a,b\n1,2\n2,1\n1,refused\n")
    (folder / "l.toml").write_text("b = [1, 2]")
    arguments = ("-m", "bos", "-k", 1, "--levels", "l.toml")
    assert kindset("cluster", "t.csv", *arguments)[0] == 0
    for command in (("cluster", "new.csv", *arguments), ("predict", "t-bos", "new.csv")):
        code, _, err = kindset(*command)
        assert code == 2
        assert "column 'b' holds 'refused' in row 3" in err
        assert "--missing=refused" in err


def test_marks_in_ordered_categoricals(kindset, folder):
    levels = ["DK", "low", "high"]
    answers = pd.Categorical(["low", "high", "DK", "low"] * 5, categories=levels, ordered=True)
    pd.DataFrame({"a": answers, "b": [1, 2, 1, 2] * 5}).to_parquet("t.parquet")
    code, out, err = kindset("cluster", "t.parquet", "-m", "god", "-k", 1, "--missing", "DK")
    assert code == 0, err
    assert "a (2), b (2)" in out
    assert "5 answers missing" in out


def test_doubtful_columns_are_noted(kindset, folder):
    table = pd.DataFrame({"age": range(40), "gap": [1, 2, 9, 1] * 10, "fine": [1, 2, 3, 1] * 10})
    table.to_csv("t.csv", index=False)
    code, out, err = kindset("cluster", "t.csv", "-m", "bos", "-k", 1)
    assert code == 0
    assert "Column age: more than 20 different answers" in err
    assert "Column gap: nobody gave some answers" in err
    assert "age (40), gap (3), fine (3)" in out
    code, _, err = kindset("cluster", "t.csv", "-m", "bos", "-k", 1, "--exclude", "age,gap",
                           "--out", "r")  # fmt: skip
    assert (code, "note:" in err) == (0, False)


def test_scale_of_the_weights_does_not_matter(kindset, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(1, 5, size=(60, 3)), columns=list("abc"))
    for name, scale in (("one", 1), ("many", 1000)):
        table.assign(w=scale * (1 + np.arange(60) % 3)).to_csv(f"{name}.csv", index=False)
        assert kindset("cluster", f"{name}.csv", "-m", "bos", "-k", "1:2", "--weight-column", "w",
                       "--starts", 2, "--out", name)[0] == 0  # fmt: skip
    first, second = (Run.load(folder / name) for name in ("one", "many"))
    assert first.metrics == pytest.approx(second.metrics)


def test_weighted_shares_are_called_so(kindset, survey, folder):
    arguments = ("cluster", survey, "-m", "god", "-k", 2, *OPTIONS)
    code, out, err = kindset(*arguments)
    assert code == 0, err
    run = Run.load(folder / "survey-god")
    assert "Rows weighted by w, scaled to a mean of 1: likelihood" in out
    assert f"({(run.labels == 0).sum()} rows), assigned with" in out
    assert out.count("weighted share") == 2
    assert "of the rows" not in out
    assert kindset("report", "survey-god")[0] == 0
    page = (folder / "report.html").read_text()
    assert "All shares are weighted by <code>w</code>." in page
    assert page.count("Weighted share <b>") == 2
    assert page.count("% (weighted)") == 2
    assert "of respondents (" not in page
    assert kindset(*arguments[:-4], "--exclude", "w", "--out", "plain")[0] == 0
    assert kindset("report", "plain", "--out", "plain.html")[0] == 0
    assert "eighted" not in (folder / "plain" / "summary.txt").read_text()
    assert "of respondents (" in (folder / "plain.html").read_text()


def test_dollars_are_no_mathematics(kindset, folder):
    levels = ["none of $$", "$10 to $20", "more"]
    table = pd.DataFrame({"income $": [levels[i % 3] for i in range(30)]})
    table.to_csv("t.csv", index=False)
    (folder / "l.toml").write_text('"income $" = ["none of $$", "$10 to $20", "more"]')
    code, _, err = kindset("cluster", "t.csv", "-m", "god", "-k", 1, "--levels", "l.toml")
    assert code == 0, err
    assert r"\$10" not in (folder / "t-god" / "summary.txt").read_text()


def test_rows_without_answers_are_noted(kindset, survey, folder):
    assert kindset("cluster", survey, "-m", "bos", "-k", 2, *OPTIONS, "--out", "r")[0] == 0
    pd.DataFrame({f"q{j}": ["often", None] for j in range(4)}).to_csv("new.csv", index=False)
    code, out, err = kindset("predict", "r", "new.csv", "--json")
    assert code == 0
    assert "1 row holds no answer" in err
    assert len(json.loads(out)["rows"]) == 2


def test_folder_that_cannot_be_written_is_found_first(kindset, survey, monkeypatch):
    monkeypatch.setattr("kindset._files.os.access", lambda *args: "survey" in str(args[0]))
    code, _, err = kindset("cluster", survey, "-m", "bos", "-k", 2, "--out", "x/y")
    assert code == 2
    assert "cannot write into" in err


def test_ids_are_remembered(kindset, folder):
    rows = "".join(f"r{i},{i % 3 + 1},{i % 2 + 1}\n" for i in range(12))
    (folder / "t.csv").write_text("who,a,b\n" + rows)
    quick = ("-m", "bos", "-k", 2, "--starts", 1)
    assert kindset("cluster", "t.csv", *quick, "--id-column", "who", "--out", "s")[0] == 0
    assert kindset("cluster", "t.csv", "-m", "kmeans", "-k", 2, "--id-column", "who",
                   "--out", "k")[0] == 0  # fmt: skip
    for run in ("s", "k"):
        code, out, err = kindset("predict", run, "t.csv")
        assert code == 0, err
        assert out.startswith("who,")
        assert "\nr11," in out


def test_misspelt_answers_are_recognised(kindset, folder):
    words = ["never", "often", "offten", "Never", "always ", "often"]
    (folder / "t.csv").write_text("a\n" + "\n".join(words) + "\n")
    (folder / "l.toml").write_text('a = ["never", "often", "always"]\n')
    code, _, err = kindset("cluster", "t.csv", "-m", "bos", "-k", 2, "--levels", "l.toml")
    assert code == 2
    err = err.replace("\n", " ")
    assert "holds 'offten' in row 3" in err
    assert "'often' may be meant: correct it" in err
    assert "note: Column a: answers that differ only in case or in blanks are joined" in err
    arguments = ("--no-trim", "--no-ignore-case", "--levels", "l.toml")
    code, _, err = kindset("cluster", "t.csv", "-m", "bos", "-k", 2, *arguments)
    assert code == 2
    assert "'often' may be meant; nor are 'Never', 'always '" in err.replace("\n", " ")


def test_a_folder_of_runs_is_no_run(kindset, folder):
    rows = "".join(f"{i % 3},{i % 2}\n" for i in range(12))
    (folder / "t.csv").write_text("a,b\n" + rows)
    assert kindset("cluster", "t.csv", "-m", "kmeans", "-k", "2:3", "--out", "many")[0] == 0
    code, _, err = kindset("predict", "many", "t.csv")
    assert code == 2
    assert "many holds 2 runs; give one of them: many/kmeans-k2-seed0" in err.replace("\n", " ")
    given = sorted(str(path.relative_to(folder)) for path in (folder / "many").iterdir())
    assert "many/sweep.json" in given
    assert kindset("compare", *given, "--index", "silhouette")[0] == 0
