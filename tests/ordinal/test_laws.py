"""Every law against a plain version of itself, and the mixtures against other programs."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm, poisson
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, load_mixture, profile_segments, save_mixture
from kindset.ordinal._em import Parameters, Problem, run_em
from kindset.ordinal._laws import LAWS
from kindset.ordinal._loglinear import improve_tables, score_basis
from kindset.ordinal._rows import Rows, number_statistics
from kindset.ordinal._squarem import accelerate
from kindset.ordinal._starts import STARTS, random_parameters, run_splits

CATEGORY_LAWS = [name for name, law in LAWS.items() if law.takes == "categories"]


def log_linear_logs(base, own):
    """Log-probabilities of answers: base[x] + own[a][k] s^(a+1), by the formula."""
    m = len(base)
    s = np.linspace(-1, 1, m)
    logs = base[:, None] + sum(own[a] * s[:, None] ** (a + 1) for a in range(len(own)))
    return log_softmax(logs, axis=0)


def best_by_search(counts, degree):
    """Maximise over the base and all coefficients with a general optimiser."""
    m, K = counts.shape

    def loss(theta):
        return -(counts * log_linear_logs(theta[:m], theta[m:].reshape(degree, K))).sum()

    found = minimize(loss, np.zeros(m + degree * K), method="BFGS", options={"gtol": 1e-7})
    return -found.fun


@pytest.mark.parametrize("degree", [1, 2])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_newton_steps_find_the_maximum(degree, data):
    m, K = data.draw(st.integers(degree + 2, 7)), data.draw(st.integers(1, 4))
    counts = data.draw(arrays(np.float64, (1, m, K), elements=st.floats(0.01, 50)))
    logs = np.full((1, m, K), -np.log(m))
    history = [improve_tables(counts, logs, score_basis(m, degree), 1)[0] for _ in range(60)]
    assert (np.diff(history) >= -1e-9).all()
    assert_allclose(np.exp(logs).sum(axis=1), 1)
    assert history[-1] >= best_by_search(counts[0], degree) - 1e-6 * counts.sum()


@pytest.mark.parametrize("name", ["adjacent", "tilted"])
def test_newton_survives_nasty_counts(name):
    rng = np.random.default_rng(0)
    for _ in range(60):
        m, K = rng.integers(4, 12), rng.integers(1, 6)
        counts = np.exp(rng.normal(0, 6, size=(1, m, K))) * (rng.random((1, m, K)) < 0.5) + 1e-4
        values = LAWS[name].estimate(counts)
        before = (counts * values).sum()
        for _ in range(20):
            values, (reached,) = LAWS[name].improve(counts, values)
            assert np.isfinite(values).all()
            assert reached >= before - 1e-9 * abs(before)
            before = reached


@pytest.mark.parametrize(("name", "m"), [("tilted", 2), ("tilted", 3), ("adjacent", 2)])
def test_short_scales_are_free(name, m):
    counts = np.random.default_rng(0).random((2, m, 3)) * 9
    free, _ = LAWS["categorical"].improve(counts, np.zeros((2, m, 3)))
    assert_allclose(LAWS[name].estimate(counts), free)
    assert LAWS[name].n_parameters(m, 3) == LAWS["categorical"].n_parameters(m, 3)


def test_parameters_in_words_give_the_probabilities():
    rng = np.random.default_rng(0)
    values = log_linear_logs(rng.normal(size=6), rng.normal(size=(2, 3)))
    told = LAWS["tilted"].parameters(values, 6)
    again = log_linear_logs(np.log(told["base"]), [told["tilts"], told["spreads"]])
    assert_allclose(again, values, atol=1e-10)


def mixed_table(rng, n, missing=0.15):
    """Return codes (five questions, then two numeric columns), their levels and the numbers."""
    n_levels = np.array([2, 5, 4, 7, 3, 1, 1])
    codes = rng.integers(n_levels, size=(n, 7)).astype(np.uint8)
    gaps = rng.random(codes.shape) < missing
    numbers = np.column_stack([rng.normal(size=n), rng.poisson(3.0, size=n)])
    codes[gaps] = np.broadcast_to(n_levels, codes.shape)[gaps]
    numbers[gaps[:, 5:]] = np.nan
    return codes, n_levels, numbers


def mixed_problem(rng, n, n_components, names, prior_count=None, weights=None):
    codes, n_levels, numbers = mixed_table(rng, n)
    weights = np.ones(n) if weights is None else weights
    rows = Rows.build(codes, weights, n_levels, number_statistics(numbers, np.array([2.0, 1.0])))
    candidates = (*((name,) for name in names), ("gaussian",), ("poisson",))
    return Problem(rows, n_components, candidates, prior_count), numbers


def dense_log_density(problem, numbers, parameters):
    """Add up log-densities row by row, column by column."""
    codes, n_levels = problem.rows.codes, problem.rows.layout.n_levels
    out = np.tile(np.log(parameters.weights), (len(codes), 1))
    for i, j, k in np.ndindex(len(codes), 5, len(parameters.weights)):
        if codes[i, j] < n_levels[j]:
            law = LAWS[parameters.distributions[j]]
            table = law.log_terms(parameters.columns[j][None], n_levels[j])[0]
            assert_allclose(np.exp(table[:, k]).sum(), 1)
            out[i, k] += table[codes[i, j], k]
    for i, k in np.ndindex(len(codes), len(parameters.weights)):
        x, count = numbers[i]
        if not np.isnan(x):  # in units of 2
            mean, log_sd = parameters.columns[5][:, k]
            out[i, k] += norm.logpdf(2 * x, 2 * mean, 2 * np.exp(log_sd))
        if not np.isnan(count):
            out[i, k] += poisson.logpmf(count, np.exp(parameters.columns[6][0, k]))
    return out


@pytest.mark.parametrize("n_rows", [6, 200])
def test_e_step_equals_a_dense_one(n_rows):
    rng = np.random.default_rng(0)
    problem, numbers = mixed_problem(rng, n_rows, 3, CATEGORY_LAWS, prior_count=0.0)
    parameters = random_parameters(problem, np.random.RandomState(1))
    objective, sizes, counts = problem.expect(parameters)
    joint = dense_log_density(problem, numbers, parameters)
    prior = (problem.prior[:, None] * problem.tables(parameters)[1]).sum()
    assert_allclose(objective, logsumexp(joint, axis=1).sum() + prior, rtol=1e-10)
    membership = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    assert_allclose(sizes, membership.sum(axis=0), rtol=1e-9)
    at = problem.rows.layout.starts[-1]
    known = ~np.isnan(numbers)
    filled = np.where(known, numbers, 0.0)
    for i in range(2):
        assert_allclose(counts[at + 4 * i], membership.T @ known[:, i], atol=1e-9)
        assert_allclose(counts[at + 4 * i + 1], membership.T @ filled[:, i], atol=1e-9)
        assert_allclose(counts[at + 4 * i + 2], membership.T @ filled[:, i] ** 2, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_objective_never_decreases(data):
    names = data.draw(st.lists(st.sampled_from(CATEGORY_LAWS), min_size=5, max_size=5))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n = data.draw(st.integers(1, 40))
    prior = data.draw(st.sampled_from([None, 0.0, 1.0]))
    weights = data.draw(arrays(np.float64, n, elements=st.floats(0.01, 20)))
    problem, _ = mixed_problem(rng, n, data.draw(st.integers(1, 4)), names, prior, weights)
    kind = data.draw(st.sampled_from(sorted(STARTS)))
    start = STARTS[kind](problem, np.random.RandomState(0))
    fit = run_em(problem, start, max_iter=40, tol=0)
    history = np.array(fit.history)
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-7 * (1 + np.abs(history[1:]))).all()
    for j, name in enumerate(fit.parameters.distributions):
        m = int(problem.rows.layout.n_levels[j])
        assert LAWS[name].valid(fit.parameters.columns[j], m)
    if all(LAWS[name].smooth for name in names):
        long = run_em(problem, start, max_iter=3, tol=0)
        accelerate(problem, long, max_iter=60, tol=0)
        assert (np.diff(long.history) >= -1e-7 * (1 + np.abs(long.history[1:]))).all()


def test_laws_in_competition_never_lower_the_objective():
    problem, _ = mixed_problem(np.random.default_rng(0), 80, 2, CATEGORY_LAWS)
    choice = (*(tuple(CATEGORY_LAWS) for _ in range(5)), ("gaussian",), ("poisson",))
    rivals = Problem(problem.rows, 2, choice)
    fit = run_em(rivals, random_parameters(rivals, np.random.RandomState(0)), max_iter=60, tol=0)
    assert (np.diff(fit.history) >= -1e-7).all()


def test_splitting_keeps_the_likelihood():
    rng = np.random.default_rng(0)
    problem, _ = mixed_problem(rng, 300, 2, ["tilted"] * 5)
    two = run_em(problem, random_parameters(problem, np.random.RandomState(0)),
                 max_iter=200, tol=1e-8)  # fmt: skip
    three = Problem(problem.rows, 3, problem.candidates)
    split = run_splits(three, two.parameters, max_iter=200, tol=1e-8)
    assert split.objective > two.objective


def test_equals_stepmix():
    """The same latent class model from the same start, ten iterations on."""
    stepmix = pytest.importorskip("stepmix")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(300, 5))
    X[:150] = np.minimum(X[:150], 1)

    def after(n_iter):
        with warnings.catch_warnings(action="ignore"):
            return stepmix.StepMix(
                3, measurement="categorical", max_iter=n_iter, n_init=1, random_state=0,
                abs_tol=0, rel_tol=0, verbose=0, progress_bar=0,
            ).fit(X)  # fmt: skip

    early, late = after(3), after(13)
    pis = early.get_parameters()["measurement"]["pis"].reshape(3, 5, 4)
    start = Parameters(
        early.get_parameters()["weights"],
        tuple(np.log(pis[:, j].T) for j in range(5)),
        ("categorical",) * 5,
    )
    rows = Rows.merge(X.astype(np.uint8), np.ones(300), np.full(5, 4))
    problem = Problem(rows, 3, (("categorical",),) * 5, prior_count=0.0)
    fit = run_em(problem, start, max_iter=10, tol=-1)
    assert_allclose(fit.objective, late.score(X) * 300, atol=1e-6)


def test_equals_the_gaussian_mixture_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal([0, 5], [1, 2], (80, 2)), rng.normal([3, 0], [2, 1], (70, 2))])
    means = X[[0, 100]]
    peer = GaussianMixture(
        2, covariance_type="diag", reg_covar=0, tol=1e-12, max_iter=3000, means_init=means,
        weights_init=[0.5, 0.5], precisions_init=1 / np.tile(X.var(axis=0), (2, 1)),
    ).fit(X)  # fmt: skip
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = Rows.build(np.zeros((150, 2), dtype=np.uint8), np.ones(150), np.ones(2, dtype=int),
                      number_statistics(standard, X.std(axis=0)))  # fmt: skip
    problem = Problem(rows, 2, (("gaussian",),) * 2, prior_count=0.0)
    at = (means - X.mean(axis=0)) / X.std(axis=0)
    columns = tuple(np.stack([at[:, j], np.zeros(2)]) for j in range(2))
    start = Parameters(np.full(2, 0.5), columns, ("gaussian",) * 2)
    fit = run_em(problem, start, max_iter=3000, tol=1e-12)
    assert_allclose(fit.objective, peer.score(X) * 150, atol=1e-6)
    model = OrdinalMixture(2, distribution="gaussian", random_state=0, n_init=5, tol=1e-12,
                           max_iter=3000, prior_count=0).fit(X)  # fmt: skip
    assert_allclose(model.score(X), peer.score(X), atol=1e-6)
    order = np.argsort(peer.means_[:, 0])
    told = model.parameters_[0]
    mine = np.argsort(told["means"])
    assert_allclose(told["means"][mine], peer.means_[order, 0], atol=1e-3)
    assert_allclose(told["deviations"][mine] ** 2, peer.covariances_[order, 0], rtol=1e-3)


def mixed_frame(n=500, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "agree": pd.Categorical.from_codes(
                np.clip(np.rint(rng.normal(1 + 2 * z, 1, n)), 0, 4).astype(int),
                ["never", "seldom", "sometimes", "often", "always"], ordered=True,
            ),
            "region": rng.choice(["north", "south", "west"], n),
            "income": np.round(rng.normal(20 + 15 * z, 5, n), 2),
            "visits": rng.poisson(np.where(z == 1, 6.0, 1.0)),
        }
    )  # fmt: skip
    frame.loc[3, "agree"] = frame.loc[4, "region"] = None
    frame.loc[5, "income"] = np.nan
    return frame, z


LAWS_OF_FRAME = {"region": "categorical", "income": "gaussian", "visits": "poisson"}


@pytest.fixture(scope="module")
def mixed():
    frame, z = mixed_frame()
    model = OrdinalMixture(2, distribution=LAWS_OF_FRAME, random_state=0, n_init=4).fit(frame)
    return model, frame, z


class TestMixedColumns:
    def test_finds_the_groups(self, mixed):
        model, frame, z = mixed
        assert model.distributions_ == ["tilted", "categorical", "gaussian", "poisson"]
        assert adjusted_rand_score(z, model.labels_) > 0.9
        assert model.n_parameters_ == 1 + (4 + 2) + 2 * 2 + 2 * 2 + 2
        assert_array_equal(model.predict(frame), model.labels_)
        assert_allclose(np.sort(model.parameters_[2]["means"]), [20, 35], atol=1)
        assert_allclose(np.sort(model.parameters_[3]["rates"]), [1, 6], atol=0.5)

    def test_units_do_not_matter(self, mixed):
        model, frame, _ = mixed
        other = frame.assign(income=frame["income"] * 1000 + 5)
        again = OrdinalMixture(2, distribution=LAWS_OF_FRAME, random_state=0, n_init=4).fit(other)
        assert_array_equal(again.labels_, model.labels_)
        n_known = frame["income"].notna().sum()
        moved = model.log_likelihood_ - n_known * np.log(1000)
        assert_allclose(again.log_likelihood_, moved, rtol=1e-6)

    def test_order_of_rows_and_weights(self, mixed):
        model, frame, _ = mixed
        order = np.random.default_rng(1).permutation(len(frame))
        again = OrdinalMixture(2, distribution=LAWS_OF_FRAME, random_state=0, n_init=4)
        again.fit(frame.iloc[order].reset_index(drop=True))
        assert_allclose(again.log_likelihood_, model.log_likelihood_, rtol=1e-6)
        weights = np.where(np.arange(len(frame)) % 3 == 0, 2, 1)
        weighted = OrdinalMixture(2, distribution=LAWS_OF_FRAME, random_state=0, n_init=4)
        weighted.fit(frame, sample_weight=weights)
        repeated = OrdinalMixture(2, distribution=LAWS_OF_FRAME, random_state=0, n_init=4)
        repeated.fit(frame.loc[np.repeat(frame.index, weights)].reset_index(drop=True))
        assert_allclose(weighted.log_likelihood_, repeated.log_likelihood_, rtol=1e-6)

    def test_sample_impute_profile_and_save(self, mixed, tmp_path):
        model, frame, _ = mixed
        drawn, labels = model.sample(4000, random_state=0)
        assert_allclose(drawn["income"][labels == 0].mean(), model.parameters_[2]["means"][0],
                        atol=0.6)  # fmt: skip
        assert (drawn["visits"] % 1 == 0).all()
        filled = model.impute(frame)
        assert filled.notna().all(axis=None)
        means = model.parameters_[2]["means"]
        assert means.min() <= filled.loc[5, "income"] <= means.max()
        profiles = profile_segments(model, frame)
        for question in profiles.questions:
            assert_allclose(question.shares.sum(axis=1), 1)
        save_mixture(model, tmp_path / "m.json")
        again = load_mixture(tmp_path / "m.json")
        assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert again.parameters_[2]["means"].tolist() == means.tolist()

    def test_auto_reads_the_columns(self, mixed):
        _, frame, z = mixed
        model = OrdinalMixture(2, distribution="auto", random_state=0, n_init=2).fit(frame)
        assert model.distributions_[1:3] == ["categorical", "gaussian"]
        assert adjusted_rand_score(z, model.labels_) > 0.9

    @pytest.mark.parametrize(
        ("column", "law", "message"),
        [
            ("region", "gaussian", "'region' holds 'north'.* no number"),
            ("region", "tilted", "'region' holds text"),
            ("income", "poisson", "'income' has a distribution of counts"),
        ],
    )
    def test_wrong_law_for_a_column(self, mixed, column, law, message):
        with pytest.raises(InputError, match=message):
            OrdinalMixture(2, distribution={**LAWS_OF_FRAME, column: law}).fit(
                mixed[1].sort_values("region")
            )

    def test_numbers_have_no_pmf(self, mixed):
        with pytest.raises(InputError, match="holds numbers"):
            mixed[0].pmf(2)


@pytest.mark.parametrize("name", ["categorical", "adjacent", "tilted"])
def test_standard_errors_equal_the_spread_of_many_samples(name):
    """The probabilities of fits to samples vary as much as the errors say."""
    rng = np.random.default_rng(0)
    p = np.exp(log_linear_logs(rng.normal(0, 0.3, 5), np.array([[-3.0, 3.0], [-0.5, -0.5]])))

    def fit(seed):
        rng = np.random.RandomState(seed)
        z = rng.randint(2, size=400)
        X = np.column_stack([(rng.random_sample(400)[:, None] > p.T.cumsum(axis=1)[z]).sum(axis=1)
                             for _ in range(4)])  # fmt: skip
        model = OrdinalMixture(2, distribution=name, n_categories=5, random_state=0, n_init=1)
        model.fit(np.minimum(X, 4) + 1)
        order = np.argsort(model.pmf(0)[:, 0])
        return model.pmf(0)[order], model.standard_errors_.answers[0][order], model

    fits = [fit(seed) for seed in range(60)]
    spread = np.std([pmf for pmf, _, _ in fits], axis=0)
    told = np.mean([errors for _, errors, _ in fits], axis=0)
    assert_allclose(told, spread, rtol=0.45, atol=0.004)
    assert np.isfinite(fits[0][2].standard_errors_.weights).all()


def test_standard_errors_of_one_component_are_the_known_ones():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=200)
    y = rng.normal(5, 3, 200)
    counts = rng.poisson(4, 200)
    frame = pd.DataFrame({"x": x, "y": y, "n": counts})
    model = OrdinalMixture(1, distribution=["categorical", "gaussian", "poisson"], prior_count=0)
    errors = model.fit(frame).standard_errors_.answers
    p = np.bincount(x) / 200
    assert_allclose(errors[0][0], np.sqrt(p * (1 - p) / 200), rtol=1e-6)
    assert_allclose(errors[1][0, 0], y.std() / np.sqrt(200), rtol=1e-6)
    assert_allclose(errors[2][0, 0], np.sqrt(counts.mean() / 200), rtol=1e-6)


def test_more_starts_are_not_worse_on_a_long_table():
    rng = np.random.default_rng(0)
    z = rng.integers(4, size=40_000)
    centers = rng.uniform(0, 6, size=(4, 8))
    X = np.clip(np.rint(rng.normal(centers[z], 1.5)), 0, 6)
    few = OrdinalMixture(4, random_state=0, n_init=2).fit(X)
    many = OrdinalMixture(4, random_state=0, n_init=8).fit(X)
    assert many.log_likelihood_ >= few.log_likelihood_ - 0.5
    assert (np.diff(many.history_) >= -1e-6).all()
