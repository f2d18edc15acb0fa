"""Which runs are of the same samples."""

import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindset.exceptions import InputError
from kindset.runs import (
    Run,
    Source,
    assumed_same,
    check_same_data,
    data_source,
    distinct_names,
    file_source,
    fingerprint,
    group_runs,
    hash_ids,
    load_runs,
)

LABELS = [0, 0, 1]
TABLE = pd.DataFrame({"id": ["x", "y", "z"], "a": [1, 2, 3], "b": [4, 5, 7]})
IDS = hash_ids(TABLE["id"])


def run(name, ids=None, content=None, data=None, labels=LABELS):
    """Make a run that records only what is given; `content` stands for a file of that content."""
    known = ids is not None or content is not None
    source = Source(f"{content or name}.csv", content or "", ids) if known else None
    return Run(labels, name=name, source=source, data=None if data is None else fingerprint(data))


def names_of(groups):
    return [[member.name for member in group] for group in groups]


SAME = {
    "methods that use different columns of one file": (
        run("kmeans", content="survey", data=TABLE[["a", "b"]]),
        run("god", content="survey", data=TABLE[["a"]]),
    ),
    "embeddings of the same images": (
        run("clip", ids=IDS, content="clip", data=np.eye(3)),
        run("dino", ids=IDS, content="dino", data=np.ones((3, 2))),
    ),
    "one file under two names": (run("a", content="s", data=TABLE), run("b", content="s")),
    "a run of an earlier release": (run("a", content="s", data=TABLE), run("b", data=TABLE)),
    "ids on one side": (run("a", ids=IDS, content="s"), run("b", content="s")),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_same_samples(pair):
    check_same_data(pair)
    assert len(group_runs(pair)) == 1
    assert assumed_same(pair) == []


DIFFERENT = {
    "other ids": (
        run("a", ids=IDS, content="s"),
        run("b", ids=hash_ids(["x", "y", "w"]), content="s"),
        "'a' and 'b' cannot be compared: their samples have different ids; if row i is",
    ),
    "other files": (
        run("a", content="clip", data=np.eye(3)),
        run("b", content="dino", data=np.ones((3, 2))),
        r"different data \(their sources are clip.csv and dino.csv, their shapes are \(3, 3\)",
    ),
    "another version of a file": (
        Run(LABELS, name="a", source=Source("s.csv", "old")),
        Run(LABELS, name="b", source=Source("s.csv", "new")),
        r"made on different data \(s.csv has changed\); if row i",
    ),
    "nothing in common": (
        run("a", content="s"),
        run("b", data=np.eye(3)),
        "one records only its source, the other only its data",
    ),
}


@pytest.mark.parametrize(("a", "b", "message"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_different_samples_unless_a_user_states_otherwise(a, b, message):
    with pytest.raises(InputError, match=message) as error:
        check_same_data([a, b])
    assert error.value.parameter == "same_rows"
    assert "`same_rows`" in str(error.value)
    assert len(group_runs([a, b])) == 2
    check_same_data([a, b], same_rows=True)
    assert len(group_runs([a, b], same_rows=True)) == 1


def test_the_same_samples_in_another_order():
    runs = [run("a", ids=IDS), run("b", ids=hash_ids(["z", "y", "x"]))]
    with pytest.raises(InputError, match=r"same samples \(ids\) in a different order") as error:
        check_same_data(runs)
    assert error.value.parameter is None
    assert "same_rows" not in str(error.value)


def test_other_lengths_cannot_be_stated_away():
    runs = [run("a"), run("b", labels=[0, 1])]
    for same_rows in (False, True):
        with pytest.raises(InputError, match="they have 3 and 2 samples"):
            check_same_data(runs, same_rows=same_rows)
    assert names_of(group_runs(runs, same_rows=True)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("runs", "subject"),
    [
        ([run("ours", data=TABLE), run("theirs")], "theirs has"),
        ([run("ours", data=TABLE), run("a"), run("b")], "a, b have"),
        ([run("a"), run("b")], "a, b have"),
        ([run(name) for name in "abcde"], "a, b, c and 2 more have"),
        ([run("ours", content="s"), run("theirs", ids=IDS)], "theirs has"),
        ([run("ours", ids=IDS, data=TABLE), run("by id", ids=IDS), run("no id")], "no id has"),
    ],
)
def test_runs_without_a_record_are_assumed_to_belong(runs, subject):
    check_same_data(runs)
    assert assumed_same(runs) == [
        f"{subject} no data fingerprint; we assume the same data because the sample counts match."
    ]


def test_a_run_that_could_belong_to_two_groups_joins_none():
    known = [run("a", data=TABLE), run("b", data=TABLE + TABLE), run("c", data=TABLE)]
    blank = [run("d"), run("e")]
    assert names_of(group_runs([*known, *blank])) == [["a", "c"], ["b"], ["d", "e"]]
    with pytest.raises(InputError, match="'a' and 'b' cannot be compared"):
        check_same_data([*blank, *known])


def test_what_two_runs_share_with_a_third_joins_them():
    a = run("a", ids=IDS, content="clip")
    b = run("b", content="dino", data=TABLE)
    link = run("link", ids=IDS, content="dino")
    assert names_of(group_runs([a, b])) == [["a"], ["b"]]
    assert names_of(group_runs([a, b, link])) == [["a", "b", "link"]]
    check_same_data([a, b, link])


records = st.builds(
    run,
    name=st.just("run"),
    ids=st.sampled_from([None, IDS, hash_ids(list("zyx")), hash_ids(list("uvw"))]),
    content=st.sampled_from([None, "one", "two"]),
    data=st.sampled_from([None, np.eye(3), np.ones((3, 3))]),
    labels=st.sampled_from([LABELS, [1, 1, 0], [0, 1]]),
)


@given(runs=st.lists(records, min_size=1, max_size=6), random=st.randoms())
def test_groups_depend_on_no_order_and_no_labels(runs, random):
    groups = {frozenset(map(id, group)) for group in group_runs(runs)}
    assert sorted(i for group in groups for i in group) == sorted(set(map(id, runs)))
    shuffled = random.sample(runs, len(runs))
    assert {frozenset(map(id, group)) for group in group_runs(shuffled)} == groups
    assert all(len({len(run) for run in group}) == 1 for group in group_runs(runs))
    if len(groups) == 1:
        check_same_data(runs)
    else:
        with pytest.raises(InputError, match="cannot be compared"):
            check_same_data(runs)
    for group in group_runs(runs):
        check_same_data(group)
    stated = group_runs(runs, same_rows=True)
    assert len(stated) == len({len(run) for run in runs})


class TestSource:
    def test_round_trip(self, tmp_path):
        source = Source("images", "ab12", IDS)
        Run(LABELS, source=source).save(tmp_path / "run")
        assert Run.load(tmp_path / "run").source == source
        Run(LABELS).save(tmp_path / "bare")
        assert Run.load(tmp_path / "bare").source is None

    def test_a_folder_of_an_earlier_release(self, tmp_path):
        Run(LABELS, data=fingerprint(TABLE)).save(tmp_path / "run")
        document = json.loads((tmp_path / "run" / "run.json").read_text())
        del document["source"]
        (tmp_path / "run" / "run.json").write_text(json.dumps(document))
        assert Run.load(tmp_path / "run").source is None

    @pytest.mark.parametrize(
        "source",
        [7, "s.csv", [], {}, {"name": "s"}, {"name": "s", "sha256": 1},
         {"name": None, "sha256": ""}, {"name": "s", "sha256": "", "ids": 5}],
    )  # fmt: skip
    def test_damaged(self, tmp_path, source):
        Run(LABELS).save(tmp_path / "run")
        document = json.loads((tmp_path / "run" / "run.json").read_text())
        document["source"] = source
        (tmp_path / "run" / "run.json").write_text(json.dumps(document))
        with pytest.raises(InputError, match="damaged: 'source' is missing or wrong"):
            Run.load(tmp_path / "run")

    def test_files_count_by_their_content(self, tmp_path):
        for name, content in (("a", b"1,2" * 10**6), ("b", b"1,2" * 10**6), ("c", b"1,3")):
            (tmp_path / name).write_bytes(content)
        a, b, c = (file_source(tmp_path / name) for name in "abc")
        assert a.sha256 == b.sha256 != c.sha256
        assert (a.name, a.ids) == ("a", None)
        assert file_source(tmp_path / "a", ids=["x", "y", "z"]).ids == IDS

    def test_what_is_no_file(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path, tmp_path / "none", tmp_path / "pipe"):
            with pytest.raises(InputError, match="is not a regular file"):
                file_source(path)

    def test_data_in_memory(self):
        assert data_source(TABLE, "t") == data_source(TABLE.copy(), "t")
        assert data_source(np.zeros((2, 3)), "t") != data_source(np.zeros((3, 2)), "t")
        assert data_source(TABLE, "t", TABLE["id"]).ids == IDS

    def test_names_of_runs_tell_their_sources_apart(self):
        runs = [Run(LABELS, name="kmeans", source=Source(name, "")) for name in ("clip", "dino")]
        assert distinct_names(runs) == ["kmeans (clip)", "kmeans (dino)"]


class TestIds:
    @pytest.mark.parametrize(
        "ids",
        [[1, 2], ["1", "2"], [1.0, 2.0], np.array(["1", "2"]), np.array([b"1", b"2"]),
         pd.Series([1, 2], dtype=object), np.array([[1], [2]])],
    )  # fmt: skip
    def test_equal_ids_of_any_type(self, ids):
        assert hash_ids(ids) == hash_ids([1, 2])

    @pytest.mark.parametrize(
        ("a", "b"), [(["a", "b"], ["ab"]), (["a,b"], ["a", "b"]), (["01"], ["1"]), ([1.5], [1])]
    )
    def test_other_ids(self, a, b):
        assert set(hash_ids(a).split(":")).isdisjoint(hash_ids(b).split(":"))

    @pytest.mark.parametrize(
        ("ids", "message"),
        [
            ([1.0, np.nan], "no id for sample 2"),
            (["a", None], "no id for sample 2"),
            (np.eye(2), "one for each sample"),
            ([True, False], "numbers or text"),
            ("abc", "one for each sample"),
        ],
    )
    def test_wrong_ids(self, ids, message):
        with pytest.raises(InputError, match=message):
            hash_ids(ids)

    def test_of_files_of_other_programs(self, tmp_path):
        np.savez(tmp_path / "a.npz", labels=["u", "v", "u"], ids=["x", "y", "z"])
        (tmp_path / "b.csv").write_text("id,label\nx,0\ny,1\nz,1\n")
        (tmp_path / "c.csv").write_text("label\n0\n1\n1\n")
        np.savez(tmp_path / "d.npz", labels=[1, 0, 0], ids=["z", "y", "x"])
        a, b, c, d = load_runs([tmp_path])
        assert a.labels.tolist() == [0, 1, 0]
        assert a.source.ids == b.source.ids == IDS
        assert c.source is None
        check_same_data([a, b, c])
        with pytest.raises(InputError, match="in a different order"):
            check_same_data([a, d])

    def test_wrong_number_in_an_archive(self, tmp_path):
        np.savez(tmp_path / "a.npz", labels=[0, 1, 1], ids=["x", "y"])
        with pytest.raises(InputError, match=r"a\.npz has 2 ids for 3 labels"):
            load_runs([tmp_path / "a.npz"])


def test_an_error_keeps_its_parameter_when_pickled():
    error = pickle.loads(pickle.dumps(InputError("wrong.", parameter="metric")))
    assert (str(error), error.parameter) == ("wrong.", "metric")
    assert InputError("wrong.").parameter is None
