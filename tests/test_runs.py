import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.cluster import DBSCAN, KMeans

from kindset import OrdinalMixture
from kindset.exceptions import InputError
from kindset.runs import Run, can_store, check_same_data, distinct_names, fingerprint, load_runs

LABELS = np.array([0, 0, 1, 1, 2])
SPACE = np.arange(10.0).reshape(5, 2)


def make_run(**changes):
    X = np.tile([[1, 2], [2, 1]], (5, 1))
    model = OrdinalMixture(1).fit(X)
    known = {
        "labels": LABELS,
        "space": SPACE,
        "name": "ünïcode / name",
        "method": "bos",
        "parameters": {"k": np.int64(3), "rate": np.float64(0.1), "list": np.arange(2)},
        "seed": 7,
        "data": fingerprint(X),
        "timings": {"fit": 0.1},
        "metrics": {"bic": 1 / 3},
        "command": ["kindset", "cluster"],
        "details": {"kind": "survey", "groups": [{"size": 2, "words": "ä <b>"}]},
        "exhibits": {"prototypes": np.arange(12, dtype=np.uint8).reshape(3, 2, 2)},
        "model": model,
    }
    return Run(**{**known, **changes})


def test_round_trip(tmp_path):
    run = make_run()
    run.save(tmp_path / "run")
    again = Run.load(tmp_path / "run")
    assert_array_equal(again.labels, run.labels)
    assert_array_equal(again.space, run.space)
    for name in ("name", "method", "seed", "data", "timings", "metrics", "command", "versions",
                 "created", "details"):  # fmt: skip
        assert getattr(again, name) == getattr(run, name), name
    assert again.parameters == {"k": 3, "rate": 0.1, "list": [0, 1]}
    assert_array_equal(again.model.modes_, run.model.modes_)
    assert_array_equal(again.exhibits["prototypes"], run.exhibits["prototypes"])
    assert again.n_clusters == 3
    assert len(again) == 5


def test_run_without_space_model_or_data(tmp_path):
    Run(LABELS).save(tmp_path / "run")
    again = Run.load(tmp_path / "run")
    assert again.space is None
    assert again.model is None
    assert again.data is None


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x03\x04" + bytes(60)])
def test_damaged_exhibits(tmp_path, content):
    make_run().save(tmp_path / "run")
    (tmp_path / "run" / "exhibits.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"exhibits\.npz"):
        Run.load(tmp_path / "run")


def test_exhibits_that_are_missing(tmp_path):
    make_run().save(tmp_path / "run")
    np.savez(tmp_path / "run" / "exhibits.npz", other=LABELS)
    with pytest.raises(InputError, match="damaged: 'prototypes' is missing"):
        Run.load(tmp_path / "run")


@pytest.mark.parametrize("name", ["versions", "details", "model", "metrics", "exhibits"])
def test_fields_of_the_wrong_kind(tmp_path, name):
    make_run().save(tmp_path / "run")
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    document[name] = 7
    (tmp_path / "run" / "run.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=f"damaged: '{name}' is missing or wrong"):
        Run.load(tmp_path / "run")


def test_runs_being_written_are_not_read(tmp_path):
    Run(LABELS, name="whole").save(tmp_path / "whole")
    Run(LABELS, name="part").save(tmp_path / "part")
    (tmp_path / "part").rename(tmp_path / ".part.abc")
    assert [run.name for run in load_runs(tmp_path)] == ["whole"]


def test_only_our_folders_are_replaced(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="did not write"):
        make_run().save(tmp_path / "theirs", force=True)


def test_short_repr():
    assert repr(Run(LABELS, name="mine")) == "Run('mine', 3 clusters of 5 samples)"


def test_noise_is_no_cluster():
    assert Run([-1, 0, 1, -1]).n_clusters == 2


def test_float32_space_stays_float32(tmp_path):
    Run(LABELS, SPACE.astype(np.float32)).save(tmp_path / "run")
    assert Run.load(tmp_path / "run").space.dtype == np.float32


def test_never_replaces_unasked(tmp_path):
    Run(LABELS).save(tmp_path / "run")
    with pytest.raises(InputError, match="exists already"):
        Run(LABELS).save(tmp_path / "run")
    Run(LABELS, name="second").save(tmp_path / "run", force=True)
    assert Run.load(tmp_path / "run").name == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("base", [object, KMeans, OrdinalMixture])
@pytest.mark.parametrize("name", ["KMeans", "OrdinalMixture", "DTIKMeans"])
def test_a_class_of_the_same_name_is_not_ours(tmp_path, name, base):
    model = type(name, (base,), {"__module__": "sklearn_extra.cluster"})()
    assert not can_store(model)
    with pytest.raises(InputError, match=rf"type sklearn_extra\.cluster\.{name} cannot be saved"):
        Run(LABELS, model=model).save(tmp_path / "run")


def test_unknown_model_leaves_nothing_behind(tmp_path):
    with pytest.raises(
        InputError, match=r"models of type sklearn\.cluster\S*\.DBSCAN cannot be saved"
    ):
        Run(LABELS, model=DBSCAN()).save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": [[0, 1], [1, 0]]}, "one label for each point"),
        ({"labels": []}, "one label for each point"),
        ({"labels": [0.5, 1, 2, 3, 4]}, "holds fractions"),
        ({"labels": ["a", "b", None, "d", "e"]}, "every point needs a label"),
        ({"space": SPACE[:3]}, "points where 5 are expected"),
        ({"space": SPACE[0]}, "points where 5 are expected"),
        ({"space": np.full((5, 2), np.nan)}, "NaN or infinite"),
        ({"space": np.array([["a"]] * 5)}, "not numeric"),
    ],
)
def test_wrong_content(changes, message):
    with pytest.raises(InputError, match=message):
        make_run(**changes)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("run.json", "{", "not valid JSON"),
        ("run.json", "[]", "is not a run"),
        ("run.json", '{"format": "kindset-run", "version": 9}', "has version 9"),
        ("run.json", '{"format": "kindset-run", "version": 1}', "is damaged"),
        ("labels.npy", "junk", "not a readable npy"),
        ("space.npy", "", "npy"),
        ("model/model.json", "{}", "is not a mixture"),
    ],
)
def test_damaged_folder(tmp_path, file, content, message):
    make_run().save(tmp_path / "run")
    (tmp_path / "run" / file).write_text(content)
    with pytest.raises(InputError, match=message):
        Run.load(tmp_path / "run")


def test_pickles_are_not_read(tmp_path):
    Run(LABELS).save(tmp_path / "run")
    np.save(tmp_path / "run" / "labels.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a readable npy"):
        Run.load(tmp_path / "run")


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    file=st.sampled_from(["run.json", "labels.npy", "space.npy", "model/model.json"]),
    cut=st.floats(0, 1),
    junk=st.binary(max_size=6),
)
@example(file="space.npy", cut=0.625, junk=b"\x00\x00{")  # a header that breaks numpy's parser
def test_truncated_files_never_load(tmp_path, file, cut, junk):
    # One of its own for each example: what a damaged file is taken for is another test's matter.
    folder = Path(tempfile.mkdtemp(dir=tmp_path)) / "run"
    make_run().save(folder)
    whole = (folder / file).read_bytes()
    (folder / file).write_bytes(whole[: int(cut * (len(whole) - 8))] + junk)
    with pytest.raises(InputError):
        Run.load(folder)


def test_a_crash_leaves_no_half_run(tmp_path):
    """Kill -9 while runs are written over and over: whatever loads is whole."""
    code = (
        "import numpy as np, sys; from kindset.runs import Run\n"
        "X = np.random.default_rng(0).random((20000, 40)); labels = np.arange(20000) % 7\n"
        "for i in range(10**6):\n"
        "    Run(labels, X, name=str(i)).save(sys.argv[1], force=True)\n"
        "    print('ready', flush=True)\n"
    )
    for wait in (0.05, 0.11, 0.23):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert Run.load(tmp_path / "run").space.shape == (20000, 40)
    Run(LABELS).save(tmp_path / "run", force=True)
    assert len(Run.load(tmp_path / "run")) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


class TestForeign:
    def test_npz(self, tmp_path):
        np.savez(tmp_path / "a.npz", labels=LABELS, embedding=SPACE)
        np.savez(tmp_path / "b.npz", labels=np.array(list("xxyyz")))
        first, second = load_runs([tmp_path / "a.npz", tmp_path / "b.npz"])
        assert (first.name, second.name) == ("a", "b")
        assert_array_equal(first.space, SPACE)
        assert_array_equal(second.labels, LABELS)
        assert second.space is None

    @pytest.mark.parametrize(
        ("text", "labels"),
        [
            ("0\n0\n1\n", [0, 0, 1]),
            ("0\n0\n1\n\n\n", [0, 0, 1]),
            ("b\na\nb\n", [1, 0, 1]),
            ("group\nb\na\nb\n", [1, 0, 1]),
            ("label\n-1\n2\n2\n", [-1, 2, 2]),
            ("label\n1.0\n2.0\n2.0\n", [1, 2, 2]),
            ("id,y\n7,1\n8,0\n9,1\n", [1, 0, 1]),
            ("id;y\n7;1\n8;0\n9;1\n", [1, 0, 1]),
            ("id\tlabel\n7\t1\n8\t0\n9\t1\n", [1, 0, 1]),
            ("\ufefflabel\n1\n0\n1\n", [1, 0, 1]),
            ("id, Class \nx,b\ny,a\nz,b\n", [1, 0, 1]),
        ],
    )
    def test_csv_of_many_shapes(self, tmp_path, text, labels):
        (tmp_path / "c.csv").write_text(text)
        (run,) = load_runs([tmp_path / "c.csv"])
        assert run.labels.tolist() == labels

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("label\n0\n\n1\n", "no label for sample 2"),
            ("label\n0\n1.5\n1\n", "holds fractions"),
            ("label\n0\ninf\n1\n", "infinite"),
            ("id,group\n7,1\n8,0\n", "one column of labels.*it has id, group"),
            ("7,1\n8,0\n", "one column of labels"),
            ("label,cluster\n7,1\n8,0\n", "one column of labels.*it has label, cluster"),
        ],
    )
    def test_csv_that_is_not_clear(self, tmp_path, text, message):
        (tmp_path / "c.csv").write_text(text)
        with pytest.raises(InputError, match=message):
            load_runs([tmp_path / "c.csv"])

    def test_labels_and_embeddings_of_one_column(self, tmp_path):
        np.savez(
            tmp_path / "n.npz", labels=np.array([["0"], ["-1"], ["1"]]), embedding=np.eye(3)[0]
        )
        (run,) = load_runs([tmp_path / "n.npz"])
        assert run.labels.tolist() == [0, -1, 1]
        assert run.space.shape == (3, 1)

    def test_header_of_pandas_beside_an_embedding(self, tmp_path):
        (tmp_path / "c.csv").write_text("0\n1\n0\n1\n")
        np.save(tmp_path / "c.npy", np.eye(3))
        (run,) = load_runs([tmp_path / "c.csv", tmp_path / "c.npy"])
        assert run.labels.tolist() == [1, 0, 1]

    def test_folder_of_files(self, tmp_path):
        np.savez(tmp_path / "one.npz", labels=LABELS)
        (tmp_path / "two.csv").write_text("label\n0\n1\n")
        Run(LABELS, name="three").save(tmp_path / "run")
        assert [run.name for run in load_runs(tmp_path)] == ["three", "one", "two"]

    def test_folders_of_runs_in_a_folder(self, tmp_path):
        Run(LABELS, name="one").save(tmp_path / "one")
        Run(LABELS, name="two").save(tmp_path / "sweep" / "two")
        assert [run.name for run in load_runs(tmp_path)] == ["one", "two"]

    def test_files_of_the_same_name(self, tmp_path):
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            np.savez(tmp_path / name / "result.npz", labels=LABELS)
        runs = load_runs([tmp_path / "a" / "result.npz", tmp_path / "b" / "result.npz"])
        assert [run.name for run in runs] == ["result (a)", "result (b)"]

    @pytest.mark.parametrize(
        ("runs", "names"),
        [
            ([{"seed": 0}, {"seed": 1}], ["same (seed 0)", "same (seed 1)"]),
            ([{}, {"labels": [0, 0, 0, 0, 1]}], ["same (K=3)", "same (K=2)"]),
            ([{}, {"parameters": {"n_init": 3}}], ["same", "same (n_init=3)"]),
            ([{"method": "kmeans"}, {"method": "gmm"}], ["same (kmeans)", "same (gmm)"]),
            (
                [{"seed": s, "parameters": {"n": n}} for s in (0, 1) for n in (2, 3)],
                [f"same (seed {s}, n={n})" for s in (0, 1) for n in (2, 3)],
            ),
            ([{"parameters": {"text": "x" * 50}}, {}], ["same (0)", "same (1)"]),
            ([{"seed": 0}, {"seed": 0}, {"seed": 1}], ["same (0)", "same (1)", "same (2)"]),
        ],
    )
    def test_names_say_what_differs(self, tmp_path, runs, names):
        for i, facts in enumerate(runs):
            Run(**{"labels": LABELS, "name": "same", **facts}).save(tmp_path / str(i))
        assert [run.name for run in load_runs([tmp_path])] == names

    def test_numbers_spare_names_that_are_taken(self):
        names = ["a", "a #1", "a", "a"]
        found = distinct_names([Run(LABELS, name=name) for name in names])
        assert found == ["a #2", "a #1", "a #3", "a #4"]

    def test_csv_with_npy(self, tmp_path):
        pd.DataFrame({"id": range(5), "cluster": LABELS}).to_csv(tmp_path / "c.csv", index=False)
        np.save(tmp_path / "c.npy", SPACE)
        (run,) = load_runs([tmp_path / "c.csv"])
        assert_array_equal(run.labels, LABELS)
        assert_array_equal(run.space, SPACE)

    def test_folders_and_names(self, tmp_path):
        for name in ("b", "a"):
            Run(LABELS, SPACE, name="same").save(tmp_path / "all" / name)
        runs = load_runs([tmp_path / "all", tmp_path / "all" / "a"])
        assert [run.name for run in runs] == ["same (a) #1", "same (b)", "same (a) #2"]

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("x.npz", b"junk", "not a readable npz"),
            ("x.csv", b"", "not a readable CSV"),
            ("x.csv", b"label\n1\n\n,\n", "x.csv"),
            ("x.txt", b"", "neither a run folder nor"),
        ],
    )
    def test_wrong_files(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            load_runs([tmp_path / name])

    def test_nothing_there(self, tmp_path):
        with pytest.raises(InputError, match="there is no file or folder"):
            load_runs([tmp_path / "none"])
        with pytest.raises(InputError, match="neither a run nor a folder of runs"):
            load_runs([tmp_path])
        with pytest.raises(InputError, match="no runs"):
            load_runs([])
        np.savez(tmp_path / "n.npz", other=LABELS)
        with pytest.raises(InputError, match="no array `labels`"):
            load_runs([tmp_path / "n.npz"])


class TestSameData:
    def test_same(self):
        X = pd.DataFrame({"a": [1, 2, 3, 4, 5]})
        runs = [Run(LABELS, name=name, data=fingerprint(X)) for name in "ab"]
        check_same_data([*runs, Run(LABELS, name="foreign")])

    @pytest.mark.parametrize(
        ("other", "reason"),
        [
            (np.zeros((5, 3)), "shapes"),
            (np.zeros((5, 2), dtype=np.float32), "types"),
            (np.ones((5, 2)), "same shape, other values"),
        ],
    )
    def test_different(self, other, reason):
        runs = [
            Run(LABELS, name="a", data=fingerprint(np.zeros((5, 2)))),
            Run(LABELS, name="b"),
            Run(LABELS, name="c", data=fingerprint(other)),
        ]
        with pytest.raises(InputError, match=f"'a' and 'c' cannot be compared.*{reason}"):
            check_same_data(runs)

    def test_other_length(self):
        with pytest.raises(InputError, match="5 and 2 samples"):
            check_same_data([Run(LABELS), Run([0, 1])])

    def test_column_names_count_the_index_does_not(self):
        frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
        assert fingerprint(frame) == fingerprint(frame.set_axis([5, 6]))
        assert fingerprint(frame) != fingerprint(frame.rename(columns={"a": "z"}))
        assert fingerprint(frame) == fingerprint(frame.copy())


def test_run_json_is_readable_by_people(tmp_path):
    make_run().save(tmp_path / "run")
    document = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert document["format"] == "kindset-run"
    assert document["name"] == "ünïcode / name"
    assert "kindset" in document["versions"]


def test_equal_spaces_are_held_once(tmp_path, monkeypatch):
    """However many runs there are, at most one space more than the distinct ones is in memory."""
    spaces = [np.full((4, 3), value) for value in (0.0, 1.0)]
    for i in range(6):
        Run([0, 0, 1, 1], space=spaces[i % 2], name=f"{i}").save(tmp_path / f"{i}")
    Run([0, 0, 1, 1], name="none").save(tmp_path / "none")
    loaded, alive = [], []
    load = Run.load

    def watched(path, **how):
        run = load(path, **how)
        if run.space is not None:
            loaded.append(weakref.ref(run.space))
        alive.append(sum(space() is not None for space in loaded))
        return run

    monkeypatch.setattr(Run, "load", watched)
    runs = load_runs([tmp_path])
    assert len({id(run.space) for run in runs if run.space is not None}) == 2
    for i, run in enumerate(runs[:6]):
        np.testing.assert_array_equal(run.space, spaces[i % 2])
    assert max(alive) == 3
