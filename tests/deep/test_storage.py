import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kindset.deep import JULE, load_deep, save_deep
from kindset.exceptions import InputError
from kindset.runs import Run


@pytest.fixture
def fitted(quick, stripes):
    return quick.set_params(n_snapshots=2).fit(stripes[0])


def test_round_trip_is_exact(fitted, stripes, tmp_path):
    save_deep(fitted, tmp_path / "model.json")
    back = load_deep(tmp_path / "model.json")
    assert type(back) is type(fitted)
    np.testing.assert_array_equal(back.transform(stripes[0]), fitted.transform(stripes[0]))
    np.testing.assert_array_equal(back.predict(stripes[0]), fitted.labels_)
    for name in ("labels_", "cluster_centers_", "n_iter_", "converged_", "interrupted_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(fitted, name))
    assert list(back.history_) == list(fitted.history_)
    for name, column in fitted.history_.items():
        np.testing.assert_array_equal(back.history_[name], column)
    for one, other in zip(back.snapshots_, fitted.snapshots_, strict=True):
        assert one.epoch == other.epoch
        np.testing.assert_array_equal(one.embedding, other.embedding)
    save_deep(back, tmp_path / "again.json")
    for ending in ("json", "safetensors"):
        again, first = (tmp_path / f"{name}.{ending}" for name in ("again", "model"))
        assert again.read_bytes() == first.read_bytes()


def test_inside_a_run(fitted, stripes, tmp_path):
    Run(fitted.labels_, model=fitted, name="stripes").save(tmp_path / "run")
    back = Run.load(tmp_path / "run").model
    np.testing.assert_array_equal(back.predict(stripes[0]), fitted.labels_)


@pytest.mark.parametrize(("change", "message"), [
    (lambda d: d.update(format="other"), "not a deep clustering"),
    (lambda d: d.update(version=99), "reads version 1"),
    (lambda d: d.update(kind="KMeans"), "damaged"),
    (lambda d: d.pop("stages"), "damaged"),
    (lambda d: d.update(n_iter_="many"), "n_iter_ is not a int"),
    (lambda d: d["parameters"].update(n_clusters=2), "damaged"),
    (lambda d: d["parameters"].update(n_clusters=0), "n_clusters must be"),
    (lambda d: d["images"].update(shape=[1, 10**6, 10**6]), "damaged"),
    (lambda d: d["images"].update(shape=[1, -8, 8]), "damaged"),
    (lambda d: d.update(snapshots=[1, 2, 3, 4]), "damaged"),
])  # fmt: skip
def test_damage_is_told(fitted, tmp_path, change, message):
    path = tmp_path / "model.json"
    save_deep(fitted, path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message) as caught:
        load_deep(path)
    assert "\n" not in str(caught.value)


def test_files_of_two_models_do_not_mix(fitted, stripes, tmp_path):
    save_deep(fitted, tmp_path / "a.json")
    other = JULE(3, epochs_per_period=1, widths=(2,), random_state=3).fit(stripes[0])
    save_deep(other, tmp_path / "b.json")
    (tmp_path / "a.safetensors").replace(tmp_path / "b.safetensors")
    with pytest.raises(InputError, match="does not belong to"):
        load_deep(tmp_path / "b.json")


def test_unfitted_model_is_refused(quick, tmp_path):
    with pytest.raises(NotFittedError):
        save_deep(quick, tmp_path / "model.json")


def test_the_fit_decides_not_the_parameter_of_today(fitted, stripes, tmp_path):
    layers = "hidden" if hasattr(fitted, "hidden") else "widths"
    fitted.set_params(n_clusters=7, n_features=2, **{layers: (3, 3)})
    save_deep(fitted, tmp_path / "model.json")
    back = load_deep(tmp_path / "model.json")
    assert back.n_clusters == 3
    np.testing.assert_array_equal(back.predict(stripes[0]), fitted.labels_)


def test_a_device_that_is_not_here(fitted, stripes, tmp_path):
    path = tmp_path / "model.json"
    save_deep(fitted, path)
    document = json.loads(path.read_text())
    document["parameters"]["device"] = "cuda:77"
    path.write_text(json.dumps(document))
    np.testing.assert_array_equal(load_deep(path).predict(stripes[0]), fitted.labels_)
