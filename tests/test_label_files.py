"""Known labels from files, in the order of the runs' samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindset.exceptions import InputError
from kindset.runs import Run, Source, align_labels, hash_ids, read_labels


@pytest.mark.parametrize(
    ("arrays", "labels", "ids"),
    [
        ({"y": [3, 1, 1]}, [3, 1, 1], None),
        ({"X": np.eye(3), "target": ["b", "a", "b"]}, [1, 0, 1], None),
        ({"label": np.array([b"b", b"a", b"b"])}, [1, 0, 1], None),
        ({"truth": [True, False, True]}, [1, 0, 1], None),
        ({"labels": [[0], [-1], [0]], "ids": [7, 8, 9]}, [0, -1, 0], ["7", "8", "9"]),
    ],
)
def test_npz(tmp_path, arrays, labels, ids):
    np.savez(tmp_path / "known.npz", **arrays)
    found, names = read_labels(tmp_path / "known.npz")
    assert found.tolist() == labels
    assert (None if names is None else names.tolist()) == ids


@pytest.mark.parametrize("array", [[1, 0, 1], ["b", "a", "b"], [1.0, 0.0, 1.0], [[1], [0], [1]]])
def test_npy(tmp_path, array):
    np.save(tmp_path / "known.npy", np.array(array))
    labels, ids = read_labels(str(tmp_path / "known.npy"))
    assert labels.tolist() == [1, 0, 1]
    assert labels.dtype == np.int64
    assert ids is None


def test_csv(tmp_path):
    (tmp_path / "known.csv").write_text("Class;ID\ncat;007\ndog;8\ncat;9\n")
    labels, ids = read_labels(tmp_path / "known.csv")
    assert labels.tolist() == [0, 1, 0]
    assert ids.tolist() == ["007", "8", "9"]
    (tmp_path / "known.csv").write_text("5\n6\n5\n")
    labels, ids = read_labels(tmp_path / "known.csv")
    assert labels.tolist() == [5, 6, 5]
    assert ids is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("k.npz", {"X": np.eye(2)}, "must have one array of labels, called labels.*it has X"),
        ("k.npz", {"y": [0, 1], "labels": [1, 0]}, "must have one array of labels"),
        ("k.npz", {"y": [0, 1], "id": [1, 2, 3]}, "3 ids for 2 labels"),
        ("k.npz", {"y": [0.5, 1]}, "holds fractions"),
        ("k.csv", "id,label\n1,0\n,1\n", r"the id column of .*k\.csv has no id for sample 2"),
        ("k.csv", "id,kind\n1,0\n2,1\n", "one column of labels"),
        ("k.txt", "0\n1\n", r"labels are read from a \.csv, \.npy or \.npz file"),
    ],
)
def test_wrong_files(tmp_path, name, content, message):
    if isinstance(content, dict):
        np.savez(tmp_path / name, **content)
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_labels(tmp_path / name)


def runs_with(ids):
    hashed = None if ids is None else hash_ids(ids)
    return [Run([0, 1, 1]), Run([0, 0, 1], source=Source("s.csv", "", hashed))]


@given(order=st.permutations(range(12)))
def test_known_labels_in_any_order_go_with_sorted_samples(order):
    for ids in ([f"r{i:02}" for i in range(12)], list(range(12))):
        runs = [Run([0] * 12, source=Source("s.csv", "", hash_ids(ids)))]
        found = align_labels(np.array(order) % 5, [ids[i] for i in order], runs)
        assert found.tolist() == [i % 5 for i in range(12)]


def test_known_labels_go_by_position_without_ids():
    labels = [4, 5, 6]
    assert align_labels(labels, ["x", "y", "z"], runs_with(None)).tolist() == labels
    assert align_labels(labels, None, runs_with(["z", "x", "y"])).tolist() == labels
    assert align_labels(labels, ["z", "x", "y"], runs_with(["z", "x", "y"])).tolist() == labels


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["x", "y", "w"], "have other ids than"),
        (["x", "y"], "2 ids for 3 known labels"),
        (["x", "y", "z"], "in another order"),
    ],
)
def test_known_labels_that_cannot_be_matched(ids, message):
    with pytest.raises(InputError, match=message):
        align_labels([4, 5, 6], ids, runs_with(["z", "x", "y"]))
