"""Whether a clustering comes out again on other samples."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from kindset import cluster
from kindset.comparison import compare_runs
from kindset.datasets import load_anes96
from kindset.exceptions import InputError
from kindset.runs import STABILITY, Run
from kindset.workbench import Setting, read_data, stability

X = load_iris().data


def test_clear_groups_come_out_again_and_arbitrary_ones_do_not():
    clear, _ = make_blobs(120, centers=3, cluster_std=0.5, random_state=2)
    cloud = np.random.default_rng(0).normal(size=(120, 6))
    setting = Setting("kmeans", 3, parameters={"n_init": 1})
    assert stability(clear, setting).agreement > 0.99
    found = stability(cloud, setting)
    assert found.agreement < 0.7
    assert found.lowest <= found.agreement
    assert "Refitted on 8 parts of the samples, the groups agree to 0." in found.sentence


def test_the_result_depends_on_the_seed_only():
    setting = {"method": "kmeans", "k": 5}
    one = stability(X, setting, n_resamples=3, n_jobs=1)
    assert one == stability(X, setting, n_resamples=3, n_jobs=3)
    assert one != stability(X, setting, n_resamples=3, random_state=1)


def test_methods_that_cannot_predict_and_surveys():
    assert stability(X, Setting("ward", 2), n_resamples=3).agreement > 0.9
    survey = load_anes96().data
    found = stability(survey, Setting("god", 2, parameters={"n_init": 2}), n_resamples=2)
    assert 0 < found.agreement <= 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_resamples": 1}, "two refits are the least"),
        ({"share": 1.0}, "from 0.5 to below 1"),
        ({"share": 0.2}, "from 0.5 to below 1"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        stability(X, Setting("kmeans", 3), **parameters)


def test_some_samples_keep_what_is_known_about_them():
    data = read_data(X, labels=load_iris().target, name="Iris")
    some = data.take(np.array([3, 80, 149]))
    assert len(some) == 3
    assert some.labels.tolist() == [0, 1, 2]
    assert some.ids.tolist() == [data.ids[3], data.ids[80], data.ids[149]]
    np.testing.assert_array_equal(some.rows().X, X[[3, 80, 149]])


def test_a_run_carries_it_into_the_verdict():
    runs = [cluster(X, "kmeans", k, n_resamples=2) for k in (2, 6)]
    table = compare_runs(runs).verdict.table
    for run in runs:
        assert table.loc[run.name, "reproducibility"] == run.metrics[STABILITY]
    assert runs[0].metrics[STABILITY] > runs[1].metrics[STABILITY]


def test_command(kindset, folder):
    np.save("iris.npy", X)
    code, out, err = kindset(
        "cluster", "iris.npy", "-m", "kmeans", "-k", 3, "--resamples", 2, "--json"
    )
    assert code == 0, err
    assert 0 < json.loads(out)["runs"][0][STABILITY] <= 1
    assert STABILITY in Run.load(folder / "iris-kmeans").metrics
    assert "Refitted on 2 parts" in (folder / "iris-kmeans" / "summary.txt").read_text()
