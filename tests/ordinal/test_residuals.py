import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, bivariate_residuals, god_pmf
from kindset.ordinal._residuals import pair_residuals


def plain_residual(codes, weights, member, n_levels, pmf, a, b):
    """Return one residual and excess correlation, written out."""
    m, n = n_levels[a], n_levels[b]
    observed, expected = np.zeros((m, n)), np.zeros((m, n))
    for i in range(len(codes)):
        x, y = codes[i, a], codes[i, b]
        if x < m and y < n:
            observed[x, y] += weights[i]
            for k in range(member.shape[1]):
                expected += weights[i] * member[i, k] * np.outer(pmf[a][k], pmf[b][k])
    if observed.sum() == 0:
        return 0.0, 0.0
    for _ in range(400):
        expected *= (observed.sum(axis=1) / expected.sum(axis=1))[:, None]
        column = expected.sum(axis=0)
        expected *= np.divide(observed.sum(axis=0), column, out=np.zeros(n), where=column > 0)
        row = expected.sum(axis=1)
        expected[row == 0] = 1e-300
    inside = expected > 1e-200
    chi2 = ((observed - expected)[inside] ** 2 / expected[inside]).sum()
    x, y = np.arange(m)[:, None], np.arange(n)
    share = observed / observed.sum()
    mean_x, mean_y = (share * x).sum(), (share * y).sum()
    spread = ((share * (x - mean_x) ** 2).sum()) * ((share * (y - mean_y) ** 2).sum())
    moment = ((observed - expected) * (x - mean_x) * (y - mean_y)).sum() / observed.sum()
    return chi2 / (m - 1) / (n - 1), moment / np.sqrt(spread) if spread > 1e-12 else 0.0


@given(
    seed=st.integers(0, 10_000),
    n_levels=st.lists(st.integers(2, 5), min_size=2, max_size=4),
    n_segments=st.integers(1, 3),
    gaps=st.sampled_from([0.0, 0.2, 0.9]),
)
@settings(max_examples=20)
def test_plain_reference(seed, n_levels, n_segments, gaps):
    rng = np.random.default_rng(seed)
    n_levels = np.array(n_levels)
    codes = rng.integers(n_levels, size=(30, len(n_levels)))
    codes = np.where(rng.random(codes.shape) < gaps, n_levels, codes).astype(np.uint8)
    weights = rng.uniform(0, 2, 30)
    member = rng.dirichlet(np.ones(n_segments), 30)
    pmf = [rng.dirichlet(np.ones(m), n_segments) for m in n_levels]
    starts = np.concatenate([[0], np.cumsum(n_levels)])
    flat = np.concatenate(pmf, axis=1)
    residuals, excess = pair_residuals(codes, weights, member, n_levels, starts, flat)
    pairs = np.column_stack(np.triu_indices(len(n_levels), k=1))
    for pair, (a, b) in enumerate(pairs):
        plain = plain_residual(codes, weights, member, n_levels, pmf, a, b)
        assert_allclose((residuals[pair], excess[pair]), plain, rtol=1e-5, atol=1e-6)


def _survey(n, seed, dependent=0.0):
    """Draw two segments; a share of the people gives the same answer to the first and last."""
    rng = np.random.default_rng(seed)
    z = (rng.random(n) < 0.5).astype(int)
    cumulative = np.cumsum([god_pmf(4, 1, 0.8), god_pmf(4, 3, 0.85)], axis=1)
    X = (rng.random((n, 6, 1)) >= cumulative[z][:, None]).sum(axis=2) + 1
    X = np.minimum(X, 4)
    copied = rng.random(n) < dependent
    X[copied, 5] = X[copied, 0]
    return X


def _fit(X, n_components=2, **options):
    return OrdinalMixture(
        n_components, distribution="god", n_init=6, random_state=0, **options
    ).fit(X)


class TestDependentPairs:
    def test_the_dependent_pair_is_named(self):
        X = pd.DataFrame(_survey(600, 0, 0.5), columns=[f"q{j}" for j in range(1, 7)])
        found = bivariate_residuals(_fit(X), X, n_bootstrap=40, random_state=0)
        first = found.to_frame().iloc[0]
        assert (first["question"], first["other"]) == ("q1", "q6")
        assert first["p_value"] == first["p_adjusted"] == pytest.approx(1 / 41)
        assert first["excess"] > 0.1
        assert str(found).startswith("q1 and q6 go together more than the segments explain")
        assert "<table>" in found._repr_html_()

    def test_gaps_and_weights_are_no_trouble(self):
        X = _survey(800, 1, 0.5).astype(float)
        rng = np.random.default_rng(0)
        X[rng.random(X.shape) < 0.2] = np.nan
        weights = rng.uniform(0.3, 2, len(X))
        model = _fit(X, n_categories=4)
        found = bivariate_residuals(model, X, sample_weight=weights, n_bootstrap=30, random_state=0)
        first = found.to_frame().iloc[0]
        assert (first["question"], first["other"]) == ("column 0", "column 5")
        assert first["p_adjusted"] < 0.05
        assert 0.5 < found.expected.mean() < 2  # weights make chance residuals larger

    def test_without_dependence_nothing_stands_out(self):
        X = _survey(500, 7)
        found = bivariate_residuals(_fit(X), X, n_bootstrap=40, random_state=0)
        assert found.p_adjusted.min() > 0.05
        assert found.sentences() == []
        assert str(found).endswith("no pair stands out.")
        assert 0.6 < found.residuals.mean() < 1.6

    @pytest.mark.slow
    def test_p_values_are_uniform_without_dependence(self):
        p_values, smallest = [], []
        for seed in range(25):
            X = _survey(300, 100 + seed)
            found = bivariate_residuals(_fit(X), X, n_bootstrap=40, random_state=seed)
            p_values.append(found.p_values)
            smallest.append(found.p_adjusted.min())
        assert 0.01 < np.mean(np.array(p_values) <= 0.1) < 0.2
        assert np.mean(np.array(smallest) <= 0.1) < 0.3

    def test_zero_weights_drop_rows(self):
        X = _survey(300, 3)
        weights = (np.arange(300) < 200).astype(float)
        model = _fit(X[:200], n_categories=4)
        one = bivariate_residuals(model, X, sample_weight=weights, n_bootstrap=0)
        other = bivariate_residuals(model, X[:200], n_bootstrap=0)
        assert_allclose(one.residuals, other.residuals)


class TestBootstrap:
    def test_the_result_does_not_depend_on_the_workers(self):
        X = _survey(150, 4)
        model = _fit(X)
        one = bivariate_residuals(model, X, n_bootstrap=6, random_state=3, n_jobs=1)
        two = bivariate_residuals(model, X, n_bootstrap=6, random_state=3, n_jobs=2)
        assert_array_equal(one.expected, two.expected)
        assert_array_equal(one.p_values, two.p_values)

    def test_text_answers_and_levels_that_nobody_chose(self):
        words = np.array(["no", "rather no", "rather yes", "yes"])
        levels = pd.CategoricalDtype([*words, "always"], ordered=True)
        X = pd.DataFrame(words[_survey(200, 5, 0.6) - 1], columns=list("abcdef")).astype(levels)
        X.loc[::7, "b"] = None
        found = bivariate_residuals(_fit(X), X, n_bootstrap=20, random_state=0)
        assert str(found).startswith("a and f go together more")

    def test_without_bootstrap_there_are_no_p_values(self):
        X = _survey(200, 0, 0.5)
        found = bivariate_residuals(_fit(X), X, n_bootstrap=0)
        assert found.p_values is None
        assert "Without bootstrap tables there is no p-value." in str(found)
        assert found.to_frame()["residual"].is_monotonic_decreasing


class TestDegenerate:
    def test_one_segment(self):
        X = _survey(200, 0)
        found = bivariate_residuals(_fit(X, 1), X, n_bootstrap=20, random_state=0)
        assert found.p_adjusted.max() < 0.1  # two segments lie behind all pairs

    def test_questions_that_say_nothing_are_left_out(self):
        X = _survey(100, 0).astype(float)
        X[:, 1], X[:, 2] = 3, np.nan
        found = bivariate_residuals(_fit(X), X, n_bootstrap=5, random_state=0)
        assert found.questions == ["column 0", "column 3", "column 4", "column 5"]
        assert len(found.residuals) == 6

    def test_a_single_question(self):
        X = _survey(50, 0)[:, :1]
        found = bivariate_residuals(_fit(X), X, n_bootstrap=5)
        assert str(found) == "There are no two questions to compare."
        assert len(found.to_frame()) == 0

    def test_two_questions_never_answered_together(self):
        X = _survey(60, 0).astype(float)
        X[:30, 0], X[30:, 1] = np.nan, np.nan
        found = bivariate_residuals(_fit(X), X, n_bootstrap=5, random_state=0)
        assert found.residuals[0] == 0
        assert found.p_values[0] == 1

    @pytest.mark.parametrize(
        "wrong", [{"n_bootstrap": -1}, {"n_jobs": 0}, {"random_state": "x"}, {"sample_weight": [1]}]
    )
    def test_refusals(self, wrong):
        X = _survey(50, 0)
        with pytest.raises(InputError, match=next(iter(wrong))):
            bivariate_residuals(_fit(X), X, **wrong)
