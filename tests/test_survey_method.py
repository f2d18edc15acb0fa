"""The method that a newcomer starts with: law and number of segments are chosen."""

import numpy as np
import pandas as pd
import pytest

import kindset
from kindset.runs import SelectionDetails
from kindset.workbench import METHODS, Setting


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=250)
    frame = pd.DataFrame(
        {f"q{j}": np.clip(np.rint(rng.normal(1 + 3 * z, 0.9)), 1, 5).astype(int) for j in range(5)}
    )
    path = tmp_path_factory.mktemp("survey") / "answers.csv"
    frame.to_csv(path, index=False)
    return kindset.read_data(path), z


@pytest.fixture(scope="module")
def run(data):
    return kindset.cluster(data[0], "survey", "auto")


def test_finds_law_and_number(run):
    assert run.n_clusters == 2
    selection = run.about.survey.selection
    assert selection.criterion == "rule"
    assert selection.sentences[0].startswith("2 segments")
    assert selection.defensible == [2, 2]
    assert {"reproducibility", "held_out", "entropy_r2"} <= set(selection.path[1].criteria)
    assert any("2 segments" in note for note in run.about.notes)
    assert SelectionDetails.from_dict(selection.to_dict()) == selection


def test_every_law_is_a_method():
    assert {"survey", "tilted", "adjacent", "lca", "bos", "god"} <= set(METHODS)


@pytest.mark.parametrize("method", ["lca", "tilted", "adjacent"])
def test_one_number(data, method):
    found = kindset.cluster(data[0], method, 2)
    law = {"lca": "categorical"}.get(method, method)
    assert set(found.model.distributions_) == {law}


def test_only_survey_finds_the_number():
    Setting("survey", None).check_choice()
    with pytest.raises(kindset.exceptions.InputError, match="chooses among the numbers"):
        Setting("tilted", None).check_choice()


def test_typical_respondents_have_answered():
    rng = np.random.default_rng(0)
    groups = np.repeat([1, 5], 60)
    table = pd.DataFrame(
        {f"q{j}": np.clip(groups + rng.integers(-1, 2, size=120), 1, 5) for j in range(4)}
    ).astype("Int64")
    table.iloc[:, 1:] = table.iloc[:, 1:].mask(rng.random((120, 3)) < 0.3)
    table.iloc[[0, 60]] = [[1] * 4, [5] * 4]
    levels = {name: [1, 2, 3, 4, 5] for name in table}
    data = kindset.read_data(table, levels=levels)
    run = kindset.cluster(data, "lca", 2, parameters={"n_init": 3})
    for people in run.about.survey.typical:
        assert None not in people[0].answers
