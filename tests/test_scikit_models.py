"""Models of scikit-learn inside runs."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture

from kindset.exceptions import InputError
from kindset.runs import Run
from kindset.runs._scikit import load_scikit, save_scikit

COVARIANCES = ("full", "tied", "diag", "spherical")
MODELS = {
    "kmeans": KMeans(4, n_init=2, random_state=0),
    "started": KMeans(2, init=np.eye(2, 5), n_init=1, algorithm="elkan"),
    "seeded": KMeans(np.int64(3), n_init="auto", random_state=np.random.RandomState(0)),
    **{name: GaussianMixture(3, covariance_type=name, random_state=0) for name in COVARIANCES},
}


@pytest.fixture
def data():
    return make_blobs(120, n_features=5, centers=4, random_state=0)[0]


def saved(model, tmp_path):
    save_scikit(model, tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
def test_round_trip_is_exact(name, dtype, data, tmp_path):
    X = data.astype(dtype)
    model = MODELS[name].fit(X)
    again = load_scikit(saved(model, tmp_path))
    attributes = {one for one in vars(model) if one.endswith("_")}
    assert attributes == {one for one in vars(again) if one.endswith("_")}
    for one in attributes:
        np.testing.assert_array_equal(getattr(again, one), getattr(model, one))
        assert (
            np.asarray(getattr(again, one)).dtype.kind == np.asarray(getattr(model, one)).dtype.kind
        )
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    told, expected = again.get_params(), model.get_params()
    for one in set(told) - {"random_state", "init"}:
        assert told[one] == expected[one]
    np.testing.assert_array_equal(again.fit(X).predict(X).shape, (len(X),))


@pytest.mark.parametrize("name", ["kmeans", "full"])
def test_names_of_columns(name, data, tmp_path):
    frame = pd.DataFrame(data, columns=list("vwxyz"))
    model = MODELS[name].fit(frame)
    again = load_scikit(saved(model, tmp_path))
    assert again.feature_names_in_.tolist() == list("vwxyz")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_equal_centers(tmp_path):
    X = np.ones((5, 2))
    with pytest.warns(UserWarning, match="distinct clusters"):
        model = KMeans(2, n_init=1, random_state=0).fit(X)
    assert load_scikit(saved(model, tmp_path)).predict(X).tolist() == [0] * 5


def test_runs_can_hold_them(data, tmp_path):
    model = MODELS["kmeans"].fit(data)
    Run(model.labels_, space=data, model=model).save(tmp_path / "run")
    np.testing.assert_array_equal(Run.load(tmp_path / "run").model.labels_, model.labels_)


def test_own_code_cannot_be_saved(data, tmp_path):
    model = KMeans(2, init=lambda X, k, random_state: X[:k], n_init=1).fit(data)
    with pytest.raises(InputError, match="own code cannot be saved"):
        saved(model, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 9}, "has version 9"),
        ({"format": "x"}, "is not a clustering by scikit-learn"),
        ({"kind": "Pipeline"}, "is damaged"),
        ({"parameters": {"n_clusters": -1}}, "is damaged"),
        ({"parameters": {"n_clusters": 3}}, "cluster_centers_ has shape"),
        ({"values": {"predict": 3}}, "no fitted attribute"),
        ({"values": {}, "feature_names": ["a"]}, "differ in number"),
        ({"values": {"n_features_in_": 3}}, "n_features_in_ is 3, not 5"),
        ({"values": []}, "is damaged"),
    ],
)
def test_damaged_document(data, tmp_path, change, message):
    path = saved(MODELS["kmeans"].fit(data), tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=message):
        load_scikit(path)


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("kmeans", "labels_", np.full(120, 4, dtype=np.int32)),
        ("kmeans", "labels_", np.zeros(120)),
        ("kmeans", "cluster_centers_", np.full((4, 5), np.nan)),
        ("kmeans", "cluster_centers_", np.zeros((4, 5), dtype=int)),
        ("full", "weights_", np.ones(2)),
        ("full", "precisions_cholesky_", np.ones((3, 5))),
        ("full", "means_", np.float64(3)),
    ],
)
def test_arrays_that_are_no_model(data, tmp_path, name, attribute, value):
    model = MODELS[name].fit(data)
    setattr(model, attribute, np.asarray(value))
    with pytest.raises(InputError, match="is damaged: "):
        load_scikit(saved(model, tmp_path))


def test_unfitted_models_are_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        saved(KMeans(), tmp_path)
