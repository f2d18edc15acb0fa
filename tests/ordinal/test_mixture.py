import os
import pickle
import signal
import threading

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from ordinal_reference import log_likelihood
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from kindset import OrdinalMixture
from kindset.datasets import load_anes96
from kindset.exceptions import InputError
from kindset.ordinal import _search, bos_pmf, god_pmf
from kindset.ordinal._rows import Rows

PMF = {"bos": bos_pmf, "god": god_pmf}
MODES = np.array([[1, 5, 2, 3], [5, 1, 4, 1], [3, 3, 1, 5]])
PRECISIONS = np.array([[0.8, 0.9, 0.7, 0.85], [0.9, 0.75, 0.8, 0.9], [0.85, 0.8, 0.9, 0.7]])


def make_answers(n=600, distribution="bos", seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    z = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    X = np.empty((n, 4))
    for j in range(4):
        pmf = np.array([PMF[distribution](5, MODES[k, j], PRECISIONS[k, j]) for k in range(3)])
        X[:, j] = (rng.random(n)[:, None] > pmf.cumsum(axis=1)[z]).sum(axis=1) + 1
    X[rng.random(X.shape) < missing] = np.nan
    return X, z


@pytest.fixture(scope="module")
def fitted():
    X, z = make_answers()
    return OrdinalMixture(3, distribution="bos", n_categories=5, random_state=0).fit(X), X, z


@pytest.mark.parametrize("distribution", ["bos", "god"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_recovers_the_truth(distribution, missing):
    X, z = make_answers(4000, distribution, missing=missing)
    model = OrdinalMixture(3, distribution=distribution, n_categories=5, random_state=0).fit(X)
    assert_array_equal(model.modes_, MODES)
    assert_allclose(model.weights_, [0.5, 0.3, 0.2], atol=0.03)
    assert_allclose(model.precisions_, PRECISIONS, atol=0.05)
    assert adjusted_rand_score(z, model.labels_) > 0.65
    errors = model.standard_errors_
    assert (np.abs(model.precisions_ - PRECISIONS) < 5 * errors.precisions).all()
    assert (np.abs(model.weights_ - [0.5, 0.3, 0.2]) < 5 * errors.weights).all()


def test_likelihood_is_that_of_the_parameters(fitted):
    model, X, _ = fitted
    direct = log_likelihood(
        X.astype(int) - 1, [5] * 4, model.weights_, model.modes_, model.precisions_, "bos"
    )
    assert_allclose(model.log_likelihood_, direct, rtol=1e-12)
    assert_allclose(model.score(X) * len(X), direct, rtol=1e-12)
    assert_allclose(model.score_samples(X).sum(), direct, rtol=1e-12)
    assert model.history_[-1] == model.log_likelihood_
    assert (np.diff(model.history_) > -1e-8).all()


def test_prediction(fitted):
    model, X, _ = fitted
    assert_array_equal(model.predict(X), model.labels_)
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1)
    assert_array_equal(probability.argmax(axis=1), model.labels_)
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all()
    assert_array_equal(model.fit_predict(X), model.labels_)


def test_criteria(fitted):
    model, X, _ = fitted
    assert model.n_parameters_ == 2 + 3 * 4
    log_l = model.log_likelihood_
    assert_allclose(model.aic(X), -2 * log_l + 2 * 14)
    assert_allclose(model.bic(X), -2 * log_l + np.log(600) * 14)
    unclear = -2 * np.log(model.predict_proba(X).max(axis=1)).sum()
    assert_allclose(model.icl(X), model.bic(X) + unclear)


def test_order_of_rows_does_not_matter(fitted):
    model, X, _ = fitted
    order = np.random.default_rng(1).permutation(len(X))
    again = OrdinalMixture(3, distribution="bos", n_categories=5, random_state=0).fit(X[order])
    assert_allclose(again.log_likelihood_, model.log_likelihood_, rtol=1e-12)
    assert_array_equal(again.labels_, model.labels_[order])


def test_weights_stand_for_repetition(fitted):
    _, X, _ = fitted
    weights = np.random.default_rng(2).integers(0, 4, size=len(X))
    weighted = OrdinalMixture(3, distribution="bos", n_categories=5, random_state=0).fit(
        X, sample_weight=weights
    )
    repeated = OrdinalMixture(3, distribution="bos", n_categories=5, random_state=0).fit(
        np.repeat(X, weights, axis=0)
    )
    assert_allclose(weighted.precisions_, repeated.precisions_, rtol=1e-9)
    assert_allclose(weighted.bic(X, weights), repeated.bic(np.repeat(X, weights, axis=0)))


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_give_bit_identical_results(fitted, n_jobs):
    model, X, _ = fitted
    again = OrdinalMixture(
        3, distribution="bos", n_categories=5, random_state=0, n_jobs=n_jobs
    ).fit(X)
    for name in ("weights_", "modes_", "precisions_", "labels_", "history_"):
        assert_array_equal(getattr(again, name), getattr(model, name))


def test_auto_has_the_lowest_bic():
    X = load_anes96().data
    names = ("bos", "god", "categorical", "adjacent", "tilted", "auto")
    fits = {
        name: OrdinalMixture(2, distribution=name, random_state=0, n_init=4).fit(X)
        for name in names
    }
    bic = {name: model.bic(X) for name, model in fits.items()}
    assert bic["auto"] <= min(bic.values())
    assert len(set(fits["auto"].distributions_)) > 1
    chosen = fits["auto"].distributions_
    mixed = OrdinalMixture(2, distribution=chosen, random_state=0, n_init=4).fit(X)
    assert_allclose(mixed.log_likelihood_, fits["auto"].log_likelihood_, rtol=1e-4)


@pytest.mark.slow
def test_election_survey_reaches_the_known_criteria():
    X = load_anes96().data
    for name, known in (("god", 19_353), ("bos", 19_573)):
        model = OrdinalMixture(7, distribution=name, n_init=200, random_state=0).fit(X)
        assert model.bic(X) < known + 1


def test_row_without_answers_has_the_weights(fitted):
    model, _, _ = fitted
    nothing = np.full((1, 4), np.nan)
    assert_allclose(model.predict_proba(nothing)[0], model.weights_)
    assert_allclose(model.score_samples(nothing), 0, atol=1e-12)


def test_text_answers_in_a_data_frame():
    X, _ = make_answers(400)
    words = np.array(["never", "seldom", "sometimes", "often", "always"], dtype=object)
    frame = pd.DataFrame(words[X.astype(int) - 1], columns=list("abcd"))
    frame.iloc[3, 2] = None
    by_list = OrdinalMixture(3, categories=[words] * 4, random_state=0).fit(frame)
    ordered = frame.astype(pd.CategoricalDtype(list(words), ordered=True))
    by_type = OrdinalMixture(3, random_state=0).fit(ordered)
    assert_array_equal(by_list.labels_, by_type.labels_)
    assert_array_equal(by_list.feature_names_in_, list("abcd"))
    assert_array_equal(by_list.predict(ordered), by_list.labels_)
    with pytest.raises(InputError, match="column 'b' holds 'perhaps'"):
        by_list.predict(frame.assign(b="perhaps"))
    with pytest.raises(ValueError, match="feature names"):
        by_list.predict(frame.rename(columns={"a": "z"}))


def test_impute(fitted):
    model, X, _ = fitted
    holes = X.copy()
    rng = np.random.default_rng(0)
    gaps = rng.random(X.shape) < 0.2
    holes[gaps] = np.nan
    for strategy in ("mode", "median"):
        filled = model.impute(holes, strategy=strategy)
        assert not np.isnan(filled).any()
        assert_array_equal(filled[~gaps], X[~gaps])
        guess = np.broadcast_to(np.median(X, axis=0), X.shape)
        assert np.abs(filled - X)[gaps].mean() < np.abs(guess - X)[gaps].mean()
    assert np.isnan(holes[gaps]).all()
    with pytest.raises(InputError, match="strategy"):
        model.impute(holes, strategy="mean")


def test_impute_keeps_the_frame():
    survey = load_anes96()
    model = OrdinalMixture(2, random_state=0, n_init=2).fit(survey.data)
    holes = survey.data.copy()
    holes.iloc[:5, 1] = None
    filled = model.impute(holes)
    assert filled.isna().sum().sum() == 0
    assert (filled.dtypes == survey.data.dtypes).all()
    assert_array_equal(filled.iloc[5:], survey.data.iloc[5:])


def test_sample(fitted):
    model, _, _ = fitted
    X, labels = model.sample(20_000, random_state=0)
    assert X.shape == (20_000, 4)
    assert_allclose(np.bincount(labels) / 20_000, model.weights_, atol=0.02)
    for k in range(3):
        share = np.bincount(X[labels == k, 1], minlength=6)[1:] / (labels == k).sum()
        assert_allclose(share, model.pmf(1)[k], atol=0.03)
    assert_array_equal(model.sample(5)[0], model.sample(5)[0])
    with pytest.raises(InputError, match="n_samples"):
        model.sample(0)


def test_sample_of_a_frame_can_be_fitted_again():
    survey = load_anes96()
    model = OrdinalMixture(2, random_state=0, n_init=2).fit(survey.data)
    drawn, _ = model.sample(300)
    assert (drawn.dtypes == survey.data.dtypes).sum() >= 5
    OrdinalMixture(2, random_state=0, n_init=1).fit(drawn)


def test_standard_errors_equal_the_numerical_information():
    X, _ = make_answers(500, missing=0.1)
    model = OrdinalMixture(
        2, distribution="bos", n_categories=5, random_state=0, tol=1e-12, max_iter=5000
    ).fit(X)
    codes = np.where(np.isnan(X), 0, X).astype(int) - 1
    n_precisions = model.precisions_.size

    def f(theta):
        weights = np.array([theta[0], 1 - theta[0]])
        precisions = theta[1:].reshape(2, 4)
        logs = np.zeros((len(X), 2))
        for j in range(4):
            for k in range(2):
                pmf = bos_pmf(5, model.modes_[k, j], precisions[k, j])
                logs[:, k] += np.where(codes[:, j] >= 0, np.log(pmf[codes[:, j]]), 0)
        return np.log(np.exp(logs) @ weights).sum()

    theta = np.concatenate([model.weights_[:1], model.precisions_.ravel()])
    h = 1e-4
    size = 1 + n_precisions
    hessian = np.empty((size, size))
    for a in range(size):
        for b in range(size):
            ea, eb = h * np.eye(size)[a], h * np.eye(size)[b]
            hessian[a, b] = (
                f(theta + ea + eb) - f(theta + ea - eb) - f(theta - ea + eb) + f(theta - ea - eb)
            ) / (4 * h * h)
    expected = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    errors = model.standard_errors_
    assert_allclose(errors.weights, expected[0], rtol=1e-3)
    assert_allclose(errors.precisions.ravel(), expected[1:], rtol=1e-3)


def test_prior_keeps_precisions_away_from_one():
    X = np.tile([[1, 2, 3]], (20, 1))
    sure = OrdinalMixture(1, distribution="bos", n_categories=4).fit(X)
    careful = OrdinalMixture(1, distribution="bos", n_categories=4, prior_count=1.0).fit(X)
    assert sure.precisions_.min() > 0.999999
    assert careful.precisions_.max() < 0.99
    assert careful.log_likelihood_ < sure.log_likelihood_
    assert_allclose(careful.log_likelihood_, careful.score_samples(X).sum())


def test_god_reports_its_actual_peak():
    """At a low precision the most probable answer is not the position."""
    pmf = god_pmf(5, 3, 0.52)
    X = np.repeat(np.arange(1, 6), np.round(pmf * 2000).astype(int))[:, None]
    model = OrdinalMixture(1, distribution="god").fit(X)
    assert model.modes_[0, 0] == 3
    assert model.peaks_[0, 0] in (1, 5)
    assert_allclose(model.pmf(0)[0], pmf, atol=0.01)


def test_long_table_starts_on_a_part_of_it():
    rng = np.random.default_rng(0)
    X, _ = make_answers(60_000)
    noise = rng.integers(1, 8, size=(60_000, 4))
    wide = np.hstack([X, noise])
    model = OrdinalMixture(3, random_state=0, n_init=6).fit(wide)
    assert_array_equal(model.modes_[:, :4], MODES)
    threaded = OrdinalMixture(3, random_state=0, n_init=6, n_jobs=2).fit(wide)
    assert_array_equal(threaded.labels_, model.labels_)
    assert threaded.history_ == model.history_


class TestDegenerate:
    def test_one_component(self, fitted):
        _, X, _ = fitted
        model = OrdinalMixture(1, distribution="bos").fit(X)
        assert_array_equal(model.labels_, 0)
        assert_allclose(model.weights_, [1])
        assert_allclose(model.icl(X), model.bic(X))
        assert np.isfinite(model.standard_errors_.precisions).all()

    def test_one_row(self):
        model = OrdinalMixture(1, n_categories=5).fit([[1, 5]])
        assert_array_equal(model.modes_, [[1, 5]])
        assert_array_equal(model.predict([[1, 5], [np.nan, np.nan]]), [0, 0])

    def test_one_category_says_nothing(self, fitted):
        model, X, _ = fitted
        wider = np.hstack([X, np.full((len(X), 1), 7)])
        again = OrdinalMixture(
            3, distribution="bos", n_categories=[5, 5, 5, 5, None], random_state=0
        ).fit(wider)
        assert_allclose(again.log_likelihood_, model.log_likelihood_, rtol=1e-6)
        assert again.n_parameters_ == model.n_parameters_
        assert again.n_categories_[-1] == 1

    def test_constant_column_with_declared_categories(self, fitted):
        _, X, _ = fitted
        wider = np.hstack([X, np.full((len(X), 1), 2)])
        model = OrdinalMixture(3, distribution="bos", n_categories=5, random_state=0).fit(wider)
        assert_array_equal(model.modes_[:, -1], 2)
        assert np.isnan(model.standard_errors_.precisions[:, -1]).all()
        assert np.isfinite(model.score_samples([[1, 1, 1, 1, 5]])).all()

    def test_binary(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, size=(200, 3))
        bos = OrdinalMixture(2, distribution="bos", random_state=0)
        god = OrdinalMixture(2, distribution="god", random_state=0)
        assert_allclose(bos.fit(X).log_likelihood_, god.fit(X).log_likelihood_, rtol=1e-3)

    def test_nothing_but_gaps(self):
        X = pd.DataFrame({"a": [np.nan] * 4, "b": [None] * 4})
        model = OrdinalMixture(2, random_state=0)
        with pytest.warns(UserWarning, match="describe these questions equally well|distinct rows"):
            model.fit(X)
        assert_allclose(model.log_likelihood_, 0, atol=1e-12)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert_array_equal(model.n_categories_, [0, 0])
        assert model.impute(X).isna().all(axis=None)

    def test_more_components_than_distinct_rows(self):
        X = np.repeat([[1, 1, 4], [4, 4, 1]], 10, axis=0)
        with pytest.warns(UserWarning, match="2 distinct rows for 4 components"):
            model = OrdinalMixture(4, distribution="bos", n_categories=4, random_state=0).fit(X)
        assert_allclose(model.weights_.sum(), 1)
        assert_allclose(model.log_likelihood_, 20 * np.log(0.5), rtol=1e-6)
        assert len(set(model.labels_)) == 2

    def test_not_identifiable(self):
        X = np.random.default_rng(0).integers(1, 3, size=(50, 2))
        with pytest.warns(UserWarning, match="8 parameters for tables of 4 cells"):
            OrdinalMixture(3, random_state=0).fit(X)

    def test_no_convergence(self, fitted):
        _, X, _ = fitted
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = OrdinalMixture(3, max_iter=1, n_init=1, random_state=0).fit(X)
        assert model.n_iter_ == 1
        assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number from 1, got 0"),
        ({"n_components": 2.5}, "n_components"),
        ({"n_init": True}, "n_init"),
        ({"max_iter": "many"}, "max_iter"),
        ({"tol": -1}, "tol must be a number from 0"),
        ({"prior_count": np.inf}, "prior_count"),
        ({"init": "magic"}, "init must be one of 'mixed'"),
        ({"distribution": "gauss"}, "distribution must be one of 'bos', 'god', 'categorical'"),
        ({"distribution": {"q9": "bos"}}, "distribution names 'q9', but X has no such column"),
        ({"distribution": ["bos"]}, "distribution names 1 distributions for 4 columns"),
    ],
)
def test_wrong_parameters(fitted, parameters, message):
    with pytest.raises(InputError, match=message):
        OrdinalMixture(**parameters).fit(fitted[1])


def test_wrong_weights(fitted):
    _, X, _ = fitted
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        OrdinalMixture().fit(X, sample_weight=-np.ones(len(X)))
    with pytest.raises(ValueError, match=r"positive for at least one row|non-zero"):
        OrdinalMixture().fit(X, sample_weight=np.zeros(len(X)))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_keeps_the_best_start(n_jobs, ctrl_c):
    """Ctrl-C reaches the fit while starts are running."""
    X, _ = make_answers(2000)
    OrdinalMixture(3, n_init=1, random_state=0).fit(X)  # compiled before the clock starts
    clock = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    clock.start()
    with pytest.warns(UserWarning, match=r"Interrupted after \d+ of 20000 starts"):
        model = OrdinalMixture(3, n_init=20_000, random_state=0, n_jobs=n_jobs).fit(X)
    assert model.interrupted_
    assert_array_equal(model.predict(X), model.labels_)


def test_progress_bar_is_silent_by_default(fitted, capfd):
    _, X, _ = fitted
    OrdinalMixture(2, n_init=2, random_state=0).fit(X)
    assert capfd.readouterr().err == ""
    OrdinalMixture(2, n_init=2, random_state=0, verbose=1).fit(X)
    assert "2/2" in capfd.readouterr().err


class TestReviewed:
    """What a strict reader found once."""

    def test_heavy_rows_are_in_the_draw_of_a_long_table(self):
        rng = np.random.default_rng(0)
        light = rng.integers(1, 8, size=(40_000, 8))
        heavy = np.array([[k + 1] * 8 for k in range(3)])
        X = np.vstack([light, heavy])
        weights = np.r_[np.full(40_000, 0.001), np.full(3, 1e5)]
        model = OrdinalMixture(3, random_state=0, n_init=2).fit(X, sample_weight=weights)
        assert_array_equal(np.sort(model.modes_[:, 0]), [1, 2, 3])

    def test_repeats_in_a_long_table_are_found(self):
        rng = np.random.default_rng(0)
        distinct = rng.integers(0, 7, size=(4_000, 6)).astype(np.uint8)
        codes = distinct[rng.integers(4_000, size=80_000)]
        rows = Rows.merge(codes, np.ones(80_000), np.full(6, 7))
        assert len(rows) <= 4_000

    @pytest.mark.parametrize("kind", ["bool", "object", "boolean", "Int64", "float"])
    def test_truth_values_of_all_kinds(self, kind):
        whole = pd.DataFrame({"a": [True, False] * 10, "b": [1, 2, 3, 1] * 5})
        model = OrdinalMixture(1).fit(whole)
        gap = whole.astype({"a": object})
        gap.loc[0, "a"] = None
        new = {
            "bool": whole, "object": gap, "boolean": gap.astype({"a": "boolean"}),
            "Int64": gap.astype({"a": "boolean"}).astype({"a": "Int64"}),
            "float": whole.astype({"a": float}),
        }[kind]  # fmt: skip
        assert_array_equal(model.predict(new), 0)
        assert_array_equal(OrdinalMixture(1).fit(new).predict(whole), 0)
        filled = model.impute(new)
        assert filled.notna().all(axis=None)

    def test_question_without_answers_can_be_sampled(self):
        X = pd.DataFrame({"a": [1, 2, 3] * 5, "b": [np.nan] * 15})
        drawn, _ = OrdinalMixture(1, random_state=0).fit(X).sample(4)
        assert drawn["b"].isna().all()

    def test_constant_question_keeps_its_distribution(self):
        X = np.c_[np.arange(20) % 4, np.ones(20)]
        model = OrdinalMixture(1, distribution=["bos", "god"]).fit(X)
        assert model.distributions_ == ["bos", "god"]

    def test_errors_with_answers_of_vanishing_probability(self):
        X = np.repeat([[1], [2], [149], [150]], 3, axis=0)
        weights = np.repeat([1e6, 1e6, 3, 3], 3)
        model = OrdinalMixture(2, distribution="god", n_categories=150, random_state=0, n_init=3)
        model.fit(X, sample_weight=weights)
        assert np.isfinite(model.standard_errors_.weights).all()

    def test_failed_refit_leaves_the_model_whole(self, fitted):
        _, X, _ = fitted
        model = OrdinalMixture(2, random_state=0, n_init=1).fit(X)
        before = model.predict(X)
        with pytest.raises(InputError):
            model.fit(X + 0.5)
        assert_array_equal(model.predict(X), before)

    def test_interrupt_in_the_last_phase(self, monkeypatch):
        X = np.random.default_rng(0).integers(1, 8, size=(40_000, 8))
        original = _search.run_em

        def interrupted(*args, **kwargs):
            raise KeyboardInterrupt

        monkeypatch.setattr(_search, "run_em", interrupted)
        with pytest.warns(UserWarning, match="finished on all rows"):
            model = OrdinalMixture(2, random_state=0, n_init=1).fit(X)
        assert model.interrupted_
        assert_allclose(model.log_likelihood_, model.score_samples(X).sum())
        assert original is not _search.run_em

    @pytest.mark.parametrize("backend", ["loky", "threading"])
    def test_backends_agree(self, fitted, backend):
        model, X, _ = fitted
        with joblib.parallel_config(backend=backend, n_jobs=2):
            again = OrdinalMixture(3, distribution="bos", n_categories=5, random_state=0).fit(X)
        assert_array_equal(again.precisions_, model.precisions_)
        assert again.history_ == model.history_

    def test_clone_pickle_and_search(self, fitted):
        model, X, _ = fitted
        again = pickle.loads(pickle.dumps(model))
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert_array_equal(clone(model).fit(X).labels_, model.labels_)
        search = GridSearchCV(
            OrdinalMixture(n_categories=5, n_init=1, random_state=0), {"n_components": [1, 3]}, cv=3
        )
        assert search.fit(X).best_params_ == {"n_components": 3}

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda m, X: m.pmf(-1), "feature must be"),
            (lambda m, X: m.pmf("PID"), "feature must be"),
            (lambda m, X: m.sample(2.5), "n_samples must be a whole number"),
            (lambda m, X: m.score(X, sample_weight=np.full(len(X), np.nan)), "NaN"),
            (lambda m, X: m.score(X, sample_weight=-np.ones(len(X))), "Negative"),
        ],
    )
    def test_wrong_calls(self, fitted, call, message):
        with pytest.raises(ValueError, match=message):
            call(fitted[0], fitted[1])

    @pytest.mark.parametrize("distribution", [None, 3, ("bos",)])
    def test_wrong_distribution(self, fitted, distribution):
        with pytest.raises(InputError, match="distribution"):
            OrdinalMixture(distribution=distribution).fit(fitted[1])

    def test_starts_are_told(self, fitted):
        model, _, _ = fitted
        assert len(model.start_objectives_) == 20
        assert_allclose(model.start_objectives_.max(), model.log_likelihood_)
