import numpy as np
import pandas as pd
import pytest
import three_step_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax
from scipy.stats import kstest
from sklearn.exceptions import ConvergenceWarning

from kindset.exceptions import InputError
from kindset.ordinal import (
    WaldTest,
    membership_regression,
    outside_profile,
    outside_profiles,
)

SEPARATIONS = [pytest.param(0.7, marks=pytest.mark.slow), 0.8, 0.9]
MEANS = np.array([-1.0, 1.0, 0.0])
SHARES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
BETA = np.array([[0.0, 0.0], [1.0, -0.8], [-0.5, 1.2]])  # intercept and slope


def _numeric(n=800, seed=0, separation=0.8):
    z, P, rng = reference.simulate(n, seed, separation)
    return P, MEANS[z] + rng.normal(size=n) * np.array([0.5, 1.0, 1.5])[z], z, rng


def _nominal(n=800, seed=0, separation=0.8):
    z, P, rng = reference.simulate(n, seed, separation)
    chance = SHARES[z].cumsum(axis=1)
    return P, (rng.random((n, 1)) >= chance).sum(axis=1), z, rng


def _covariate(n=1000, seed=0, separation=0.8):
    """Draw a covariate, the segments that it predicts, and their membership probabilities."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    chance = softmax(BETA[:, 0] + x[:, None] * BETA[:, 1], axis=1)
    z = (rng.random((n, 1)) >= chance.cumsum(axis=1)).sum(axis=1)
    pis = np.where(reference.PIS == 1, separation, 1 - separation)
    X = rng.random((n, 6)) < pis[z]
    return reference.posteriors_for(X, chance.mean(axis=0), pis), x, z


class TestPlainReference:
    @pytest.mark.parametrize("assignment", ["modal", "proportional"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_bch_of_a_numeric_variable(self, assignment, weighted):
        P, y, _, rng = _numeric()
        weights = rng.uniform(0.2, 3, len(y)) if weighted else np.ones(len(y))
        profile = outside_profile(P, y, assignment=assignment, sample_weight=weights)
        means, covariance = reference.bch_mean(P, y, weights, assignment == "proportional")
        assert_allclose(profile.estimates[:, 0], means, rtol=1e-10)
        assert_allclose(profile.covariance, covariance, rtol=1e-8, atol=1e-14)

    def test_bch_of_a_nominal_variable_is_that_of_its_indicators(self):
        P, codes, _, rng = _nominal()
        weights = rng.uniform(0.2, 3, len(codes))
        profile = outside_profile(P, codes, kind="nominal", sample_weight=weights)
        for level in range(3):
            means, covariance = reference.bch_mean(P, 1.0 * (codes == level), weights)
            assert_allclose(profile.estimates[:, level], means, atol=1e-12)
            assert_allclose(profile.covariance[level::3, level::3], covariance, atol=1e-12)
        assert_allclose(profile.estimates.sum(axis=1), 1)

    @pytest.mark.parametrize("assignment", ["modal", "proportional"])
    def test_ml_of_a_numeric_variable(self, assignment):
        P, y, _, rng = _numeric(500)
        weights = rng.uniform(0.2, 3, len(y))
        options = {"assignment": assignment, "sample_weight": weights}
        profile = outside_profile(P, y, correction="ml", **options)
        rows = reference.ml_objective(
            P, weights, reference.normal_density(y, 3), assignment == "proportional"
        )
        best = reference.maximise(
            rows, np.concatenate([profile.estimates[:, 0] + 0.05, np.zeros(3)])
        )
        assert_allclose(profile.estimates[:, 0], best[:3], atol=1e-5)
        plain = reference.numeric_sandwich(rows, best)[:3, :3]
        assert_allclose(profile.covariance, plain, rtol=2e-3, atol=1e-6)

    def test_ml_of_a_nominal_variable(self):
        P, codes, _, rng = _nominal(500)
        weights = rng.uniform(0.2, 3, len(codes))
        profile = outside_profile(P, codes, kind="nominal", correction="ml", sample_weight=weights)
        rows = reference.ml_objective(P, weights, reference.share_density(codes, 3, 3))
        best = reference.maximise(rows, np.zeros(6))

        def shares(parameters):
            logits = np.column_stack([parameters.reshape(3, 2), np.zeros(3)])
            return np.exp(log_softmax(logits, axis=1)).ravel()

        assert_allclose(profile.estimates.ravel(), shares(best), atol=1e-5)
        slopes = reference.jacobian(shares, best)
        plain = slopes @ reference.numeric_sandwich(rows, best) @ slopes.T
        assert_allclose(profile.covariance, plain, rtol=2e-3, atol=2e-6)

    @pytest.mark.parametrize("correction", ["ml", "bch", None])
    def test_regression(self, correction):
        P, x, _ = _covariate(600)
        rng = np.random.default_rng(1)
        weights = rng.uniform(0.2, 3, len(x))
        found = membership_regression(P, 10 * x + 50, correction=correction, sample_weight=weights)
        W, D = reference.assigned_and_errors(P, weights, False)
        own = W @ np.linalg.inv(D) if correction == "bch" else W

        def rows(parameters):
            scores = np.column_stack(
                [np.zeros(len(x)), parameters[:2] + x[:, None] * parameters[2:]]
            )
            log_p = log_softmax(scores, axis=1)
            if correction == "ml":
                return weights * np.log((np.exp(log_p) * (W @ D.T)).sum(axis=1))
            return weights * (own * log_p).sum(axis=1)

        best = reference.maximise(rows, np.zeros(4))
        slope, intercept = best[2:] / 10, best[:2] - 5 * best[2:]
        assert_allclose(found.coefficients[1:, 1], slope, atol=1e-5)
        assert_allclose(found.coefficients[1:, 0], intercept, atol=1e-4)
        errors = np.sqrt(np.diag(reference.numeric_sandwich(rows, best)))[2:] / 10
        assert_allclose(found.standard_errors[1:, 1], errors, rtol=1e-3)
        assert_allclose(found.log_likelihood, rows(best).sum(), rtol=1e-8)


@pytest.mark.filterwarnings("ignore")
class TestStepMix:
    """The same estimates as the reference program, on the examples of its documentation."""

    @pytest.fixture(scope="class")
    def stepmix(self):
        pytest.importorskip("stepmix.datasets")
        return pytest.importorskip("stepmix")

    def _fit(self, stepmix, X, Y, *, correction, structural, measurement="bernoulli", **options):
        model = stepmix.StepMix(
            options.pop("n_components", 3), n_steps=3, correction=correction,
            measurement=measurement, structural=structural, random_state=1, abs_tol=1e-13,
            max_iter=20_000, progress_bar=0, **options,
        )  # fmt: skip
        model.fit(X, Y)
        return model.predict_proba_class(X), model.get_parameters()["structural"]

    @pytest.mark.parametrize("separation", SEPARATIONS)
    @pytest.mark.parametrize("correction", ["BCH", "ML"])
    @pytest.mark.parametrize(
        ("structural", "variance"), [("gaussian_unit", 1.0), ("gaussian_diag", "segment")]
    )
    def test_response(self, stepmix, separation, correction, structural, variance):
        X, Y, _ = stepmix.datasets.data_bakk_response(2000, separation, random_state=1)
        P, found = self._fit(stepmix, X, Y, correction=correction, structural=structural)
        ours = outside_profile(P, Y[:, 0], correction=correction.lower(), variance=variance)
        assert_allclose(ours.estimates[:, 0], found["means"][:, 0], atol=1e-4)

    @pytest.mark.parametrize("separation", SEPARATIONS)
    @pytest.mark.parametrize("correction", ["BCH", "ML"])
    def test_covariate(self, stepmix, separation, correction):
        X, Y, _ = stepmix.datasets.data_bakk_covariate(2000, separation, random_state=1)
        newton = {"method": "newton-raphson", "max_iter": 100 if correction == "BCH" else 1}
        P, found = self._fit(
            stepmix, X, Y, correction=correction, structural="covariate",
            structural_params={**newton, "tol": 1e-10},
        )  # fmt: skip
        ours = membership_regression(P, Y, correction=correction.lower())
        assert_allclose(ours.coefficients, found["beta"] - found["beta"][0], atol=1e-4)

    @pytest.mark.parametrize("correction", ["BCH", "ML"])
    def test_nominal(self, stepmix, correction):
        X, Y, _ = stepmix.datasets.data_gaussian_categorical(500, random_state=1)
        P, found = self._fit(
            stepmix, X, Y[:, :1], correction=correction, structural="categorical",
            measurement="gaussian_full", n_components=4,
        )  # fmt: skip
        ours = outside_profile(P, Y[:, 0], kind="nominal", correction=correction.lower())
        assert_allclose(ours.estimates, found["pis"], atol=1e-4)

    def test_covariate_and_response_with_gaps(self, stepmix):
        X, Y, _ = stepmix.datasets.data_bakk_complete(2000, 0.8, nan_ratio=0.25, random_state=42)
        newton = {"method": "newton-raphson", "max_iter": 100, "tol": 1e-10}
        structural = {
            "covariate": {"model": "covariate", "n_columns": 1, **newton},
            "response": {"model": "gaussian_unit_nan", "n_columns": 1},
        }
        P, found = self._fit(
            stepmix, X, Y, correction="BCH", structural=structural, measurement="bernoulli_nan"
        )
        response = outside_profile(P, Y[:, 1])
        covariate = membership_regression(P, Y[:, 0], correction="bch")
        assert_allclose(response.estimates, found["response"]["means"], atol=1e-4)
        beta = found["covariate"]["beta"]
        assert_allclose(covariate.coefficients, beta - beta[0], atol=1e-4)
        assert response.n_rows == np.isfinite(Y[:, 1]).sum()


class TestTruth:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("correction", ["bch", "ml"])
    @pytest.mark.parametrize("assignment", ["modal", "proportional"])
    def test_corrected_means_are_right_where_others_are_biased(self, seed, correction, assignment):
        P, y, _, _ = _numeric(20_000, seed, separation=0.75)
        plain = outside_profile(P, y, correction=None, assignment=assignment)
        ours = outside_profile(P, y, correction=correction, assignment=assignment)
        assert np.abs(plain.estimates[:, 0] - MEANS).max() > 0.15
        assert (np.abs(ours.estimates[:, 0] - MEANS) < 4 * ours.standard_errors[:, 0]).all()
        assert ours.standard_errors.max() < 0.05

    @pytest.mark.parametrize("correction", ["bch", "ml"])
    def test_corrected_shares(self, correction):
        P, codes, _, _ = _nominal(20_000, 1, separation=0.75)
        plain = outside_profile(P, codes, kind="nominal", correction=None)
        ours = outside_profile(P, codes, kind="nominal", correction=correction)
        assert np.abs(plain.estimates - SHARES).max() > 0.1
        assert (np.abs(ours.estimates - SHARES) < 4 * ours.standard_errors).all()

    @pytest.mark.parametrize("correction", ["bch", "ml"])
    @pytest.mark.parametrize("assignment", ["modal", "proportional"])
    def test_corrected_coefficients(self, correction, assignment):
        P, x, _ = _covariate(20_000, 1)
        options = {"assignment": assignment}
        plain = membership_regression(P, x, correction=None, **options)
        ours = membership_regression(P, x, correction=correction, **options)
        assert np.abs(plain.coefficients - BETA).max() > 0.2
        away = np.abs(ours.coefficients - BETA)[1:] / ours.standard_errors[1:]
        assert away.max() < 4.5

    @pytest.mark.slow
    @pytest.mark.parametrize("correction", ["bch", "ml"])
    def test_intervals_cover_and_the_test_keeps_its_level(self, correction):
        covered, p_values = [], []
        for seed in range(300):
            P, y, _, rng = _numeric(600, seed)
            weights = rng.uniform(0.3, 2, len(y))
            profile = outside_profile(P, y, correction=correction, sample_weight=weights)
            lower, upper = profile.interval()
            covered.append((lower[:, 0] <= MEANS) & (upper[:, 0] >= MEANS))
            same = outside_profile(
                P, rng.normal(size=len(y)), correction=correction, sample_weight=weights
            )
            p_values.append(same.test.p_value)
        assert 0.91 < np.mean(covered) < 0.98
        assert kstest(p_values, "uniform").pvalue > 0.001


class TestWeights:
    @given(seed=st.integers(0, 1000), correction=st.sampled_from(["bch", "ml", None]))
    @settings(max_examples=15)
    def test_whole_weights_repeat_rows_and_zero_drops_them(self, seed, correction):
        P, y, _, rng = _numeric(200, seed, separation=0.9)
        weights = rng.integers(0, 3, len(y))
        weighted = outside_profile(P, y, correction=correction, sample_weight=weights)
        rows = np.repeat(np.arange(len(y)), weights)
        repeated = outside_profile(P[rows], y[rows], correction=correction)
        assert_allclose(weighted.estimates, repeated.estimates, atol=1e-7)

    def test_the_unit_of_the_weights_does_not_matter(self):
        P, y, _, rng = _numeric()
        weights = rng.uniform(0.5, 2, len(y))
        for correction in ("bch", "ml"):
            one = outside_profile(P, y, correction=correction, sample_weight=weights)
            other = outside_profile(P, y, correction=correction, sample_weight=1000 * weights)
            assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-6)

    def test_the_unit_of_the_variable_does_not_matter(self):
        P, y, _, _ = _numeric()
        for correction in ("bch", "ml"):
            one = outside_profile(P, y, correction=correction)
            other = outside_profile(P, 1e6 + 100 * y, correction=correction)
            assert_allclose(other.estimates, 1e6 + 100 * one.estimates, rtol=1e-9)
            assert_allclose(other.standard_errors, 100 * one.standard_errors, rtol=1e-5)


class TestDegenerate:
    @pytest.mark.parametrize("correction", ["bch", "ml", None])
    def test_one_segment(self, correction):
        y = np.array([1.0, 2.0, 6.0])
        profile = outside_profile(np.ones((3, 1)), y, correction=correction)
        assert_allclose(profile.estimates, [[3.0]])
        assert profile.test == WaldTest(0.0, 0, 1.0)
        assert len(profile.compare_pairs()) == 0
        regression = membership_regression(np.ones((3, 1)), y, correction=correction)
        assert_allclose(regression.coefficients, 0)
        assert regression.tests["p_value"].tolist() == [1.0]

    @pytest.mark.parametrize("correction", ["bch", "ml", None])
    def test_an_empty_segment_is_left_out(self, correction):
        P, y, _, _ = _numeric()
        wider = np.insert(P, 1, 0.0, axis=1)
        profile = outside_profile(wider, y, correction=correction)
        same = outside_profile(P, y, correction=correction)
        assert np.isnan(profile.estimates[1]).all()
        assert_allclose(profile.estimates[[0, 2, 3]], same.estimates)
        assert_allclose(profile.test.statistic, same.test.statistic)
        assert len(profile.compare_pairs()) == 3
        regression = membership_regression(wider, y, correction=correction)
        assert np.isnan(regression.coefficients[1]).all()
        assert np.isfinite(regression.coefficients[[0, 2, 3]]).all()

    @pytest.mark.parametrize("correction", ["bch", "ml", None])
    @pytest.mark.parametrize("value", [7.0, "same"])
    def test_a_constant_variable(self, correction, value):
        P, y, _, _ = _numeric(100)
        profile = outside_profile(P, [value] * len(y), correction=correction)
        assert_allclose(profile.estimates, 7.0 if value == 7.0 else 1.0, rtol=1e-6)
        assert profile.test.p_value == 1.0
        assert_allclose(profile.standard_errors, 0, atol=1e-6)

    @pytest.mark.parametrize("correction", ["bch", "ml"])
    def test_missing_values_are_left_out(self, correction):
        P, codes, _, rng = _nominal(2000)
        series = pd.Series(np.array(["a", "b", "c"])[codes], name="region", dtype=object)
        series[rng.random(2000) < 0.3] = None
        profile = outside_profile(P, series, correction=correction)
        assert (profile.name, profile.levels) == ("region", ["a", "b", "c"])
        assert profile.n_rows == series.notna().sum()
        assert np.abs(profile.estimates - SHARES).max() < 0.15

    def test_a_certain_difference_has_p_zero(self):
        P = np.repeat(np.eye(2), 10, axis=0)
        profile = outside_profile(P, ["a"] * 10 + ["b"] * 10)
        assert_allclose(profile.estimates, np.eye(2))
        assert profile.test.p_value == 0

    def test_a_level_that_a_segment_lacks(self):
        P, codes, z, _ = _nominal(1000)
        codes = np.where(z == 0, 0, codes)
        profile = outside_profile(P, codes, kind="nominal", correction="ml")
        assert (profile.estimates >= 0).all()
        assert profile.estimates[0, 0] > 0.95
        assert np.isfinite(profile.covariance).all()
        assert profile.test.p_value < 1e-6

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"variable": [np.nan] * 100}, "no value in a row with a weight"),
            ({"variable": np.ones(99)}, "99 values for 100 rows"),
            ({"variable": np.full(100, np.inf)}, "infinite"),
            ({"variable": ["a"] * 100, "kind": "numeric"}, "no numbers"),
            ({"kind": "ordinal"}, "kind must be"),
            ({"correction": "x"}, "correction must be"),
            ({"assignment": "x"}, "assignment must be"),
            ({"variance": -1.0}, "variance must be"),
            ({"sample_weight": np.zeros(100)}, "not all zero"),
            ({"sample_weight": np.ones(7)}, "there are 100 rows"),
            ({"posteriors": np.ones((100, 2))}, "row 0 of the membership probabilities"),
            ({"posteriors": np.ones(100)}, "one column for each segment"),
            ({"posteriors": np.tile([0.6, 0.4], (100, 1))}, "no row is assigned to segment 2"),
            (
                {"posteriors": np.full((100, 2), 0.5), "assignment": "proportional"},
                "overlap too much",
            ),
        ],
    )
    def test_refusals(self, given, message):
        P, y, _, _ = _numeric(100)
        with pytest.raises(InputError, match=message):
            outside_profile(**{"posteriors": P, "variable": y, **given})

    @pytest.mark.parametrize(
        ("covariates", "message"),
        [
            (np.ones(100), "only one value"),
            (["x"] * 100, "only one value"),
            (np.column_stack([np.arange(100), 2 * np.arange(100) + 1]), "follows from the others"),
            (np.full(100, np.nan), "no row with a weight"),
            (np.arange(99), "99 rows for 100"),
            (np.r_[np.inf, np.arange(99)], "infinite"),
        ],
    )
    def test_refused_covariates(self, covariates, message):
        P, _, _, _ = _numeric(100)
        with pytest.raises(InputError, match=message):
            membership_regression(P, covariates)

    def test_refused_reference(self):
        P, y, _, _ = _numeric(100)
        with pytest.raises(InputError, match="reference"):
            membership_regression(P, y, reference=4)

    def test_a_covariate_that_tells_the_segment_with_certainty(self):
        P = np.repeat(np.eye(2), 20, axis=0)
        with pytest.warns(ConvergenceWarning, match="with certainty"):
            found = membership_regression(P, np.repeat([0.0, 1.0], 20))
        assert found.coefficients[1, 1] > 10


class TestResults:
    def test_tables_and_words(self):
        P, y, _, _ = _numeric()
        profile = outside_profile(P, y, name="income")
        assert str(profile).startswith("income differs between the segments (Wald ")
        assert str(profile).endswith("df 2, p < 0.001).")
        frame = profile.to_frame()
        assert frame.index.names == ["segment", "income"]
        assert_allclose(frame["estimate"], profile.estimates[:, 0])
        assert (frame["lower"] < frame["estimate"]).all()
        assert "<table>" in profile._repr_html_()
        pairs = profile.compare_pairs()
        assert pairs[["segment", "other"]].to_numpy().tolist() == [[1, 2], [1, 3], [2, 3]]
        assert (pairs["p_holm"] >= pairs["p_value"]).all()

    def test_pairs_differ_by_the_wald_test_of_two_means(self):
        P, y, _, _ = _numeric()
        profile = outside_profile(P, y)
        pair = profile.compare_pairs().iloc[1]
        gap = profile.estimates[0, 0] - profile.estimates[2, 0]
        V = profile.covariance
        variance = V[0, 0] + V[2, 2] - 2 * V[0, 2]
        assert_allclose(pair["statistic"], gap**2 / variance)

    def test_a_share_below_zero_is_told(self):
        z, P, _ = reference.simulate(40, 5, separation=0.7)
        profile = outside_profile(P, np.where(z == 0, "a", "b"))
        assert profile.out_of_range
        assert "correction='ml' does." in str(profile)
        assert not outside_profile(P, np.where(z == 0, "a", "b"), correction="ml").out_of_range

    def test_several_variables(self):
        P, y, _, rng = _numeric()
        table = pd.DataFrame({"income": y, "code": rng.integers(1, 4, len(y))})
        profiles = outside_profiles(P, table, kinds={"code": "nominal"}, correction="ml")
        assert [profile.kind for profile in profiles.values()] == ["numeric", "nominal"]
        assert profiles["code"].test.df == 4
        with pytest.raises(InputError, match="kinds names 'x'"):
            outside_profiles(P, table, kinds={"x": "nominal"})

    def test_regression_on_names_and_numbers(self):
        P, x, _ = _covariate(2000)
        rng = np.random.default_rng(1)
        table = pd.DataFrame({"age": x, "sex": rng.choice(["f", "m", "x"], len(x))})
        found = membership_regression(P, table, reference=2)
        assert found.terms == ["intercept", "age", "sex: m", "sex: x"]
        assert found.tests["df"].tolist() == [2, 4]
        assert found.tests["p_value"].iloc[0] < 1e-6 < found.tests["p_value"].iloc[1]
        assert str(found) == "age predicts membership (reference: segment 2)."
        assert_allclose(found.coefficients[1], 0)
        other = membership_regression(P, table, reference=1)
        assert_allclose(other.coefficients - other.coefficients[1], found.coefficients, atol=1e-8)
        assert len(found.to_frame()) == 8
        assert "<table>" in found._repr_html_()

    def test_a_series_and_rows_with_gaps(self):
        P, x, _ = _covariate(500)
        gaps = pd.Series(x, name="age").mask(np.arange(500) < 100)
        found = membership_regression(P, gaps)
        assert found.terms == ["intercept", "age"]
        assert found.n_rows == 400
        unnamed = membership_regression(P, pd.Series(x))
        assert unnamed.terms == ["intercept", "covariate"]

    def test_nothing_predicts(self):
        P, _, _, _ = _numeric()
        found = membership_regression(P, np.random.default_rng(3).normal(size=len(P)))
        assert str(found) == "No variable clearly predicts membership."
