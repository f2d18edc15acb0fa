"""Whether a clustering comes out again on other samples."""

import json
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from kindset import cluster, sweep
from kindset.comparison import compare_runs
from kindset.datasets import load_anes96
from kindset.exceptions import InputError, Interrupted
from kindset.runs import STABILITY, Run
from kindset.workbench import Setting, grid, read_data, stability
from kindset.workbench import _methods as methods

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
        ({"n_resamples": 0}, "`n_resamples` must be a whole number of at least 2, not 0"),
        ({"n_resamples": 1}, "`n_resamples` must be a whole number of at least 2, not 1"),
        ({"n_resamples": -3}, "`n_resamples` .* not -3"),
        ({"n_resamples": 2.5}, "`n_resamples` .* not 2.5"),
        ({"n_resamples": None}, "`n_resamples` .* not None"),
        ({"share": 1.0}, "`share` must be a number from 0.5 to below 1"),
        ({"share": 0.2}, "`share` .* from 0.5 to below 1"),
        ({"share": np.nan}, "`share` .* not nan"),
        ({"share": "most"}, "`share` .* not 'most'"),
    ],
)
def test_wrong_parameters(parameters, message, no_fit):
    with pytest.raises(InputError, match=message) as refused:
        stability(X, Setting("kmeans", 3), **parameters)
    assert refused.value.parameter in parameters


@pytest.fixture
def no_fit(monkeypatch):
    """Fail if anything is clustered before the refusal."""

    def fit(self, model, X):
        pytest.fail("something was clustered")

    monkeypatch.setattr(methods.Method, "fit", fit)


@pytest.mark.parametrize("setting", [{"metod": "kmeans", "k": 2}, {"k": 2}, 5, "kmeans"])
def test_what_is_no_setting(setting):
    with pytest.raises(InputError, match=r"`setting` takes .*method") as refused:
        stability(X, setting)
    assert refused.value.parameter == "setting"
    with pytest.raises(InputError, match=r"`settings` takes .*method"):
        sweep(X, [setting])


def test_parts_with_too_little_in_common(no_fit):
    with pytest.raises(InputError, match="parts of 2 of the 4 samples have fewer than two"):
        stability(X[:4], Setting("kmeans", 2), share=0.5)
    with pytest.raises(InputError, match="parts of 2 of the 3 samples have fewer than two"):
        cluster(X[:3], "kmeans", 2, n_resamples=8)


def test_halves_of_many_samples_have_enough_in_common():
    found = stability(X, Setting("kmeans", 2), n_resamples=3, share=0.5)
    assert found.agreement > 0.9


@pytest.mark.parametrize(
    ("wanted", "parameter", "message"),
    [
        ({"k": 9, "n_resamples": 2}, "k", "`k` 9: there are only 8 samples in each part"),
        ({"k": 2, "n_resamples": 1}, "n_resamples", "at least 2, not 1"),
        ({"k": 2, "n_resamples": -3}, "n_resamples", "at least 2, not -3"),
        ({"k": 2, "n_resamples": None}, "n_resamples", "at least 2, not None"),
        ({"k": 2, "n_resamples": 2, "embedding": "pca:9"}, "embedding", "only 12 columns and 8"),
    ],
)
def test_refits_that_cannot_be_made_are_refused_before_the_run(
    wanted, parameter, message, tmp_path, no_fit
):
    some = np.random.default_rng(0).normal(size=(10, 12))
    n_resamples = wanted.pop("n_resamples")
    setting = {"method": "kmeans", **wanted}
    for out in (None, tmp_path / "out"):
        with pytest.raises(InputError, match=message) as refused:
            cluster(some, **setting, n_resamples=n_resamples, out=out)
        assert refused.value.parameter == parameter
        with pytest.raises(InputError, match=message):
            sweep(some, [setting], out, n_resamples=n_resamples)
    with pytest.raises(InputError, match=message):
        stability(some, setting, n_resamples=n_resamples)
    assert not (tmp_path / "out").exists()


def test_as_many_clusters_as_a_part_has_samples_and_no_refits():
    some = np.random.default_rng(0).normal(size=(10, 2))
    assert cluster(some, "kmeans", 8, n_resamples=2).metrics[STABILITY] == 1
    assert STABILITY not in cluster(some, "kmeans", 9, n_resamples=0).metrics


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", 9, "--resamples", 2), "there are only 8 samples in each part"),
        (("-k", 2, "--resamples", 1), "at least 2, not 1"),
        (("-k", "2:3", "--resamples", 1), "at least 2, not 1"),
        (("-k", "2:9", "--resamples", 2), "there are only 8 samples in each part"),
    ],
)
def test_command_refuses_before_the_run(kindset, folder, options, message, no_fit):
    np.save("ten.npy", X[::15])
    code, _, err = kindset("cluster", "ten.npy", "-m", "kmeans", *options)
    assert code == 2
    assert message in " ".join(err.split())
    assert not (folder / "ten-kmeans").exists()


@pytest.fixture
def interrupt_at(monkeypatch):
    """Return what has Ctrl-C come in one of the fits, counted from 0.

    Then the fit keeps the best so far, as a long training does, or it raises.
    """

    def arrange(number, *, keeps):
        fit, begun = methods.Method.fit, []

        def interrupted(self, model, X):
            begun.append(len(X))
            if len(begun) - 1 != number:
                return fit(self, model, X)
            if not keeps:
                raise KeyboardInterrupt
            labels = fit(self, model, X)
            model.interrupted_ = True
            warnings.warn("Interrupted: the best clustering so far is kept.", stacklevel=2)
            return labels

        monkeypatch.setattr(methods.Method, "fit", interrupted)
        return begun

    return arrange


def test_an_interrupted_run_is_not_refitted(interrupt_at):
    begun = interrupt_at(0, keeps=True)
    with pytest.warns(UserWarning, match="best clustering so far"):
        run = cluster(X, "kmeans", 3, n_resamples=2)
    assert begun == [150]
    assert run.about.interrupted
    assert STABILITY not in run.metrics


@pytest.mark.filterwarnings("ignore:Interrupted")
@pytest.mark.parametrize("keeps", [True, False])
def test_an_interrupted_refit_does_not_count(interrupt_at, keeps):
    begun = interrupt_at(1, keeps=keeps)
    with pytest.raises(KeyboardInterrupt):
        stability(X, Setting("kmeans", 3), n_resamples=6, n_jobs=1)
    assert len(begun) == 2


@pytest.mark.filterwarnings("ignore:Interrupted. the best")
@pytest.mark.parametrize("keeps", [True, False])
def test_an_interrupt_during_the_refits_keeps_the_run(interrupt_at, keeps, tmp_path):
    begun = interrupt_at(2, keeps=keeps)
    with pytest.warns(UserWarning, match="during the refits: the run is kept"):
        run = cluster(X, "kmeans", 3, n_resamples=4, out=tmp_path / "run")
    assert begun == [150, 120, 120]
    kept = Run.load(tmp_path / "run")
    for one in (run, kept):
        assert not one.about.interrupted
        assert STABILITY not in one.metrics
        assert any("without its stability" in note for note in one.about.notes)
    assert "without its stability" in (tmp_path / "run" / "summary.txt").read_text()


@pytest.mark.filterwarnings("ignore:Interrupted")
@pytest.mark.parametrize("on_disk", [False, True])
def test_an_interrupt_during_the_refits_ends_a_sweep_after_the_run(interrupt_at, on_disk, tmp_path):
    begun = interrupt_at(5, keeps=True)  # a run and two refits, then a run and its second refit
    out = tmp_path / "runs" if on_disk else None
    settings = grid("kmeans", (2, 3, 4))
    with pytest.raises(Interrupted, match="2 of 3 runs") as stop:
        sweep(X, settings, out, n_resamples=2)
    assert len(begun) == 6
    assert [STABILITY in run.metrics for run in stop.value.finished] == [True, False]
    if on_disk:
        resumed = sweep(X, settings, out, n_resamples=2)
        assert len(begun) == 9
        assert [STABILITY in run.metrics for run in resumed] == [True, False, True]


def test_command_interrupted_during_the_refits(kindset, folder, interrupt_at):
    np.save("iris.npy", X)
    interrupt_at(1, keeps=False)
    code, out, _ = kindset("cluster", "iris.npy", "-m", "kmeans", "-k", 3, "--resamples", 2)
    assert code == 130
    assert "without its stability" in out
    assert len(Run.load(folder / "iris-kmeans")) == 150


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
