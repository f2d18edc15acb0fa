import hashlib
import json
import os
import random

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from kindset.exceptions import InputError
from kindset.images import (
    TRANSFORMATIONS,
    DTIGaussianMixture,
    DTIKMeans,
    load_clustering,
    save_clustering,
)
from kindset.runs import Run

QUICK = {"transforms": ("affine", "colour", "morphological"), "n_init": 1, "max_epochs": 10}


@pytest.fixture(scope="module", params=[DTIKMeans, DTIGaussianMixture])
def model(request, shapes):
    return request.param(3, **QUICK, random_state=0, pixel_weight="gaussian").fit(shapes[0])


def test_round_trip_is_exact(model, shapes, tmp_path):
    images, _ = shapes
    save_clustering(model, tmp_path / "model.json")
    back = load_clustering(tmp_path / "model.json")
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.transform(images), model.transform(images))
    np.testing.assert_array_equal(back.predict(images), model.labels_)
    for name in ("prototypes_", "labels_", "inertia_", "n_reassigned_", "interrupted_"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
    for name, values in model.history_.items():
        np.testing.assert_array_equal(back.history_[name], values)
    assert back.get_params()["random_state"] == 0
    if isinstance(model, DTIGaussianMixture):
        np.testing.assert_array_equal(back.weights_, model.weights_)
        np.testing.assert_array_equal(back.variances_, model.variances_)
    save_clustering(back, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()


def test_inside_a_run(model, shapes, tmp_path):
    Run(model.labels_, model=model, name="shapes").save(tmp_path / "run")
    back = Run.load(tmp_path / "run").model
    np.testing.assert_array_equal(back.predict(shapes[0]), model.labels_)


@pytest.mark.parametrize(("change", "message"), [
    (lambda d: d.update(format="other"), "not a DTI clustering"),
    (lambda d: d.update(version=99), "reads version 2"),
    (lambda d: d.pop("transforms"), "damaged"),
    (lambda d: d.update(inertia_="low"), "inertia_ is not a float"),
    (lambda d: d.update(transforms=["affine"]), "damaged"),
    (lambda d: d["parameters"].update(n_clusters=4), "damaged"),
    (lambda d: d.update(n_samples=4), "labels do not fit"),
])  # fmt: skip
def test_damage_is_told(model, tmp_path, change, message):
    path = tmp_path / "model.json"
    save_clustering(model, path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        load_clustering(path)


def test_damaged_files(model, tmp_path):
    path = tmp_path / "model.json"
    save_clustering(model, path)
    tensors = path.with_suffix(".safetensors")
    tensors.write_bytes(tensors.read_bytes()[:-10])
    with pytest.raises(InputError, match="damaged"):
        load_clustering(path)
    tensors.unlink()
    with pytest.raises(InputError, match="cannot read"):
        load_clustering(path)
    path.write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        load_clustering(path)
    with pytest.raises(InputError, match="cannot read the model"):
        load_clustering(tmp_path / "none.json")


def with_checksum(path, content):
    """Put other tensors beside a model, as somebody would who knows the format."""
    path.with_suffix(".safetensors").write_bytes(content)
    document = json.loads(path.read_text())
    document["tensors"] = hashlib.sha256(content).hexdigest()
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"\x02" + bytes(7) + b"{}"])
def test_tensors_that_are_none(model, tmp_path, content):
    path = tmp_path / "model.json"
    save_clustering(model, path)
    with_checksum(path, content)
    with pytest.raises(InputError, match="is damaged") as caught:
        load_clustering(path)
    assert "\n" not in str(caught.value)


def test_flipped_bytes_are_told_in_a_sentence(model, tmp_path):
    path = tmp_path / "model.json"
    save_clustering(model, path)
    whole = path.with_suffix(".safetensors").read_bytes()
    rng = random.Random(0)
    sentences = []
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(3):  # most often in the header, which is 1,500 bytes long
            content[rng.randrange(1500)] = rng.randrange(256)
        with_checksum(path, bytes(content))
        try:
            load_clustering(path)
        except InputError as error:
            sentences.append(str(error))
    assert len(sentences) > 30
    assert not any("\n" in sentence or "frame #" in sentence for sentence in sentences)


@pytest.mark.parametrize("shape", [[1, 10**6, 10**6], [10**30, 1, 1], [-1, 10, 10]])
def test_sizes_are_refused_before_they_are_made(model, tmp_path, shape):
    path = tmp_path / "model.json"
    save_clustering(model, path)
    document = json.loads(path.read_text())
    document["images"]["shape"] = shape
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="is damaged: the prototypes have shape"):
        load_clustering(path)


def test_words_of_torch_do_not_reach_the_user(model, tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:1]\nframe #0: c10::Error")

    save_clustering(model, tmp_path / "model.json")
    monkeypatch.setattr("kindset.images._storage._restore_network", fails)
    with pytest.raises(InputError, match="do not fit each other") as caught:
        load_clustering(tmp_path / "model.json")
    assert "c10" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_tensors_that_are_no_file_do_not_block(model, tmp_path):
    save_clustering(model, tmp_path / "model.json")
    (tmp_path / "model.safetensors").unlink()
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="is not a regular file"):
        load_clustering(tmp_path / "model.json")


def test_files_of_two_models_do_not_mix(model, shapes, tmp_path):
    other = DTIKMeans(3, **QUICK, random_state=1).fit(shapes[0])
    for name, one in (("a", model), ("b", other)):
        save_clustering(one, tmp_path / f"{name}.json")
    (tmp_path / "a.safetensors").replace(tmp_path / "b.safetensors")
    with pytest.raises(InputError, match="does not belong to"):
        load_clustering(tmp_path / "b.json")


def test_unfitted_model_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save_clustering(DTIKMeans(), tmp_path / "model.json")


def test_parameters_of_numpy_and_torch(shapes, tmp_path):
    quick = {**QUICK, "max_epochs": 1, "device": torch.device("cpu")}
    weight = torch.ones(10, 10)
    model = DTIKMeans(3, **quick, random_state=np.int64(4), pixel_weight=weight).fit(shapes[0])
    save_clustering(model.set_params(n_clusters=7), tmp_path / "model.json")
    back = load_clustering(tmp_path / "model.json")
    assert (back.random_state, back.device, back.n_clusters) == (4, "cpu", 3)
    assert np.array_equal(back.pixel_weight, weight)


def test_model_of_a_machine_with_another_device(model, shapes, tmp_path):
    path = tmp_path / "model.json"
    save_clustering(model, path)
    document = json.loads(path.read_text())
    document["parameters"]["device"] = "cuda:77"
    path.write_text(json.dumps(document))
    np.testing.assert_array_equal(load_clustering(path).predict(shapes[0]), model.labels_)


def test_own_transformation_must_be_registered(shapes, tmp_path, monkeypatch):
    monkeypatch.setitem(TRANSFORMATIONS, "mine", TRANSFORMATIONS["affine"])
    model = DTIKMeans(3, **{**QUICK, "transforms": ("mine",)}).fit(shapes[0])
    save_clustering(model, tmp_path / "model.json")
    load_clustering(tmp_path / "model.json")
    monkeypatch.delitem(TRANSFORMATIONS, "mine")
    with pytest.raises(InputError, match="'mine': register it first"):
        load_clustering(tmp_path / "model.json")


def test_own_encoder_is_refused(shapes, tmp_path):
    own = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(100, 8))
    model = DTIKMeans(3, **QUICK, encoder=own).fit(shapes[0])
    with pytest.raises(InputError, match="cannot be saved"):
        save_clustering(model, tmp_path / "model.json")


def test_stiffness_is_that_of_the_fit(shapes, tmp_path):
    """Even if the parameter has another value since."""
    model = DTIKMeans(3, **QUICK, random_state=0, stiffness=0.1).fit(shapes[0])
    before = model.transform(shapes[0])
    save_clustering(model.set_params(stiffness=10), tmp_path / "model.json")
    back = load_clustering(tmp_path / "model.json")
    assert back.stiffness == 0.1
    np.testing.assert_array_equal(back.transform(shapes[0]), before)
