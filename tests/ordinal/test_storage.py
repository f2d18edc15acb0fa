import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kindset.datasets import load_anes96
from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, load_mixture, save_mixture


@pytest.fixture(scope="module")
def model():
    names = ["bos", "god", "categorical", "adjacent", "tilted", "gaussian"]
    return OrdinalMixture(3, distribution=names, n_init=3, random_state=0).fit(answers())


def answers():
    survey = load_anes96().data
    return survey.assign(educ=survey["educ"].cat.codes)[[*survey.columns.drop("educ"), "educ"]]


@pytest.fixture
def file(model, tmp_path):
    save_mixture(model, tmp_path / "model.json")
    return tmp_path / "model.json"


def test_round_trip_is_exact(model, file):
    again = load_mixture(file)
    X = answers()
    for name in vars(model):
        if name.endswith("_") and not name.startswith("_"):
            if name == "categories_":
                for a, b in zip(model.categories_, again.categories_, strict=True):
                    assert_array_equal(a, b)
            else:
                assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.score_samples(X), model.score_samples(X))
    for name in ("weights", "precisions"):
        assert_array_equal(again.standard_errors_[name], model.standard_errors_[name])
    for loaded, kept in zip(
        again.standard_errors_.answers, model.standard_errors_.answers, strict=True
    ):
        assert_array_equal(loaded, kept)
    save_mixture(again, file.with_name("again.json"))
    assert file.with_name("again.json").read_text() == file.read_text()
    assert [path.name for path in file.parent.iterdir() if path.suffix == ".part"] == []


@pytest.mark.parametrize(
    "X",
    [
        np.array([[0, 1, 2], [2, 1, 0]] * 9),
        np.array([[0.0, np.nan], [3, 1]] * 9),
        pd.DataFrame({"a": [True, False, None] * 6, "b": [1, 2, 3] * 6}),
    ],
)
def test_other_kinds_of_levels(X, tmp_path):
    model = OrdinalMixture(1).fit(X)
    save_mixture(model, tmp_path / "m.json")
    again = load_mixture(tmp_path / "m.json")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert [levels.dtype for levels in again.categories_] == [
        levels.dtype for levels in model.categories_
    ]


def test_levels_that_json_cannot_hold(tmp_path):
    X = pd.DataFrame({"age": pd.cut(np.arange(20), 3)})
    model = OrdinalMixture(1).fit(X)
    with pytest.raises(InputError, match=r"column 0 are of type Interval.*cannot be saved"):
        save_mixture(model, tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 3}, "has version 3, but this release"),
        ({"format": "pickle"}, "is not a mixture of ordinal distributions"),
        ({"distributions": ["bos", "gauss", "bos", "bos", "bos", "bos"]}, "unknown distribution"),
        ({"weights_": [1.0]}, "damaged: weights_ has shape"),
        ({"weights_": [0.9, 0.9, 0.9]}, "damaged: the weights are no shares"),
        ({"columns": [[[99] * 3, [0.7] * 3]] * 6}, "damaged: a parameter is out of its range"),
        ({"columns": [[[1] * 3, [2.0] * 3]] * 6}, "damaged: a parameter is out of its range"),
        ({"columns": [[[1] * 3, [0.7] * 3]] * 6}, "damaged: column 2 has shape"),
        ({"columns": "high"}, "is damaged"),
        ({"scales_": [0.0] * 6}, "damaged: a column's scale is not positive"),
        ({"surprise": 1}, "damaged: unknown or missing entries"),
        ({"parameters": {"evil": 1}}, "is damaged"),
        ({"parameters": {"n_components": 3, "n_init": "many"}}, "damaged: n_init must be"),
        ({"weights_": [1.5, -0.25, -0.25]}, "damaged: the weights are no shares"),
        ({"columns": [[[1.5] * 3, [0.7] * 3]] * 6}, "damaged: a parameter is out of its range"),
        ({"labels_": [1.5]}, "damaged: labels_ does not hold numbers"),
        ({"labels_": [10**30]}, "is damaged"),
        ({"labels_": [7]}, "damaged: a parameter is out of its range"),
        ({"labels_": "all"}, "is damaged"),
        ({"history_": "x"}, "damaged: history_ is not a list"),
        ({"standard_errors": {"evil": [1]}}, "is damaged"),
        ({"distributions": ["god"] * 6, "columns": [[[1] * 3, [0.1] * 3]] * 6}, "out of its range"),
        ({"feature_names": ["a"]}, "differ in length"),
    ],
)
def test_refuses_what_it_does_not_know(file, change, message):
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, **change}))
    with pytest.raises(InputError, match=message):
        load_mixture(file)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '"x"', "\x00\x01", "{} trailing", "[" * 99999]
)
def test_refuses_what_is_no_model(tmp_path, text):
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"m\.json"):
        load_mixture(path)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="cannot read the model"):
        load_mixture(tmp_path / "no.json")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.floats(0, 1), junk=st.binary(max_size=8))
def test_damaged_files_never_load(model, tmp_path, cut, junk):
    path = tmp_path / "m.json"
    save_mixture(model, path)
    whole = path.read_bytes()
    damaged = whole[: int(cut * (len(whole) - 2))] + junk
    path.write_bytes(damaged)
    with pytest.raises(InputError):
        load_mixture(path)
