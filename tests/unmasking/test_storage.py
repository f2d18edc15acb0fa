import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from kindset.exceptions import InputError
from kindset.runs import Run
from kindset.unmasking import UnmaskingClustering, _storage, load_unmasking, save_unmasking


@pytest.fixture(scope="module")
def data():
    X, _ = make_blobs(200, n_features=12, centers=3, random_state=0)
    return X


@pytest.fixture(scope="module")
def model(data):
    return UnmaskingClustering(3, n_iterations=3, n_divisions=2, random_state=0).fit(data)


@pytest.fixture
def saved(model, tmp_path):
    save_unmasking(model, tmp_path / "model.json")
    return tmp_path / "model.json"


def same(one, other):
    assert one.get_params() == other.get_params()
    names = [name for name in vars(one) if name.endswith("_")]
    assert set(names) == {name for name in vars(other) if name.endswith("_")}
    for name in names:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_round_trip_is_exact(model, saved, data):
    again = load_unmasking(saved)
    same(model, again)
    np.testing.assert_array_equal(again.predict(data), model.labels_)
    np.testing.assert_array_equal(again.transform(data), model.transform(data))


def test_round_trip_of_everything_else(data, tmp_path):
    frame = pd.DataFrame(data, columns=[f"f{j}" for j in range(data.shape[1])]).astype(np.float32)
    model = UnmaskingClustering(
        None, init=np.arange(200) % 20, assign="centroid", n_iterations=np.int64(2),
        image_shape=(3, 4), random_state=np.random.RandomState(0),
    ).fit(frame)  # fmt: skip
    save_unmasking(model, tmp_path / "model.json")
    again = load_unmasking(tmp_path / "model.json")
    assert again.random_state is None
    assert again.init == model.init.tolist()
    np.testing.assert_array_equal(again.predict(frame), model.labels_)
    assert again.cluster_centers_.dtype == np.float32
    assert again.feature_names_in_.tolist() == list(frame.columns)


def test_runs_can_hold_it(model, data, tmp_path):
    Run(model.labels_, space=data, model=model).save(tmp_path / "run")
    same(model, Run.load(tmp_path / "run").model)


def test_files_that_do_not_belong_together(model, saved, data):
    other = UnmaskingClustering(2, n_iterations=3, random_state=1).fit(data)
    save_unmasking(other, saved.with_name("other.json"))
    saved.with_suffix(".npz").write_bytes(saved.with_name("other.npz").read_bytes())
    with pytest.raises(InputError, match="does not belong to"):
        load_unmasking(saved)


def test_missing_files(saved):
    saved.with_suffix(".npz").unlink()
    with pytest.raises(InputError, match="cannot read the model"):
        load_unmasking(saved)
    with pytest.raises(InputError, match="cannot read the model"):
        load_unmasking(saved.with_name("none.json"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: {**d, "version": 99}, "has version 99, but this release"),
        (lambda d: {**d, "format": "x"}, "is not a clustering by unmasking"),
        (lambda d: {**d, "parameters": {**d["parameters"], "C": -1}}, "is damaged: C must be"),
        (lambda d: {**d, "parameters": {**d["parameters"], "n_iterations": 5}}, "curves_ has"),
        (lambda d: {**d, "parameters": {}}, "is damaged"),
        (lambda d: {**d, "feature_names": ["a"]}, "differ in number"),
        (lambda d: [d], "is not a clustering by unmasking"),
    ],
)
def test_damaged_json(saved, change, message):
    saved.write_text(json.dumps(change(json.loads(saved.read_text()))))
    with pytest.raises(InputError, match=message):
        load_unmasking(saved)


def test_no_json_at_all(saved):
    saved.write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        load_unmasking(saved)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels_", np.full(200, 3)),
        ("division_sizes_", np.array([3])),
        ("cluster_centers_", np.full((3, 12), np.nan)),
        ("merge_tree_", np.zeros((1, 4))),
        ("labels_", np.zeros(200)),
    ],
)
def test_arrays_that_are_no_clustering(model, tmp_path, name, value):
    broken = UnmaskingClustering(**model.get_params())
    vars(broken).update({**vars(model), name: value})
    save_unmasking(broken, tmp_path / "model.json")
    with pytest.raises(InputError, match="is damaged: "):
        load_unmasking(tmp_path / "model.json")


def test_data_far_from_the_origin(data, tmp_path):
    model = UnmaskingClustering(3, n_iterations=3, random_state=0).fit(data + 1.7e9)
    save_unmasking(model, tmp_path / "model.json")
    same(model, load_unmasking(tmp_path / "model.json"))


def test_a_model_of_an_earlier_release(model, data, tmp_path, monkeypatch):
    """Before data were centred, models had no offset."""
    earlier = tuple(name for name in _storage._ARRAYS if name != "offset_")
    with monkeypatch.context() as patch:
        patch.setattr(_storage, "_ARRAYS", earlier)
        save_unmasking(model, tmp_path / "model.json")
    with np.load(tmp_path / "model.npz") as file:
        assert "offset_" not in file.files
    same(model, load_unmasking(tmp_path / "model.json"))


@pytest.mark.parametrize("value", [10**30, -1, 1e308, [], "x\n", {"a": 1}])
@pytest.mark.parametrize("name", ["n_clusters", "n_iterations"])
def test_parameters_out_of_range(saved, name, value):
    document = json.loads(saved.read_text())
    document["parameters"][name] = value
    saved.write_text(json.dumps(document))
    with pytest.raises(InputError, match="is damaged") as caught:
        load_unmasking(saved)
    assert "\n" not in str(caught.value)


def test_arrays_with_a_sound_checksum_that_are_none(saved):
    content = b"PK\x05\x06" + bytes(10)
    saved.with_suffix(".npz").write_bytes(content)
    document = json.loads(saved.read_text())
    document["arrays"] = hashlib.sha256(content).hexdigest()
    saved.write_text(json.dumps(document))
    with pytest.raises(InputError, match="is not a readable npz file"):
        load_unmasking(saved)
