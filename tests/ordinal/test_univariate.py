import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from kindset.ordinal._distributions import DISTRIBUTIONS, law
from kindset.ordinal._univariate import (
    best_parameters,
    binomial_weights,
    log_likelihood_derivatives,
    log_pmf,
)

names = pytest.mark.parametrize("name", DISTRIBUTIONS)


@pytest.mark.parametrize("p", [0.0, 1e-12, 0.3, 0.5, 0.8, 1 - 1e-12, 1.0])
def test_binomial_weights(p):
    for n in (0, 1, 7, 99):
        assert_allclose(binomial_weights(n, p), binom.pmf(range(n + 1), n, p), rtol=1e-11)


@names
@pytest.mark.parametrize("pi", [0.55, 0.8, 0.97])
def test_derivatives_by_finite_differences(name, pi):
    rng = np.random.default_rng(0)
    R = law(name, 6).coefficients[2]
    counts = rng.random(6) * 10
    value, score, curvature = log_likelihood_derivatives(R, counts, pi)

    def at(p):
        return counts @ log_pmf(R, p)

    h = 1e-5
    assert_allclose(value, at(pi), rtol=1e-12)
    assert_allclose(score, (at(pi + h) - at(pi - h)) / (2 * h), rtol=1e-6)
    assert_allclose(curvature, (at(pi + h) - 2 * at(pi) + at(pi - h)) / h**2, rtol=1e-3)


def _best_by_search(rule, counts):
    """Maximise over a fine grid for every position, then polish."""
    best = -np.inf
    fine = np.linspace(rule.grid[0], rule.grid[-1], 200)
    for R in rule.coefficients:
        values = [counts @ log_pmf(R, pi) for pi in fine]
        i = int(np.argmax(values))
        bounds = fine[max(i - 1, 0)], fine[min(i + 1, len(fine) - 1)]
        polished = minimize_scalar(
            lambda pi, R=R: -(counts @ log_pmf(R, pi)),
            bounds=bounds,
            method="bounded",
            options={"xatol": 1e-12},
        )
        best = max(best, max(values), -polished.fun)
    return best


@names
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_best_parameters_is_the_global_maximum(name, data):
    m = data.draw(st.integers(2, 8))
    element = st.one_of(st.just(0.0), st.floats(1e-6, 1e4))
    counts = data.draw(arrays(np.float64, m, elements=element).filter(lambda a: a.sum() > 0))
    rule = law(name, m)
    start = (data.draw(st.integers(0, m - 1)), 0.7)
    mu, pi, value = best_parameters(rule.coefficients, rule.grid, rule.log_pmf_grid, counts, start)
    assert rule.grid[0] <= pi <= rule.grid[-1]
    assert_allclose(value, counts @ log_pmf(rule.coefficients[mu], pi), rtol=1e-9, atol=1e-9)
    best = _best_by_search(rule, counts)
    assert value >= best - 1e-9 * max(1, abs(best))


@names
def test_one_answer_only_gives_the_largest_precision(name):
    rule = law(name, 5)
    counts = np.array([0.0, 0, 7, 0, 0])
    mu, pi, _ = best_parameters(rule.coefficients, rule.grid, rule.log_pmf_grid, counts, (0, 0.6))
    assert (mu, pi) == (2, rule.grid[-1])


def test_uniform_answers_give_bos_precision_zero():
    rule = law("bos", 5)
    _, pi, value = best_parameters(
        rule.coefficients, rule.grid, rule.log_pmf_grid, np.full(5, 3.0), (2, 0.5)
    )
    assert pi == 0
    assert_allclose(value, 15 * np.log(1 / 5))


@names
def test_many_categories(name):
    rng = np.random.default_rng(1)
    rule = law(name, 60)
    R = rule.coefficients[40]
    counts = rng.multinomial(5000, np.exp(log_pmf(R, 0.8))).astype(float)
    mu, pi, value = best_parameters(
        rule.coefficients, rule.grid, rule.log_pmf_grid, counts, (3, 0.6)
    )
    assert abs(mu - 40) <= 1
    assert abs(pi - 0.8) < 0.02
    assert value >= _best_by_search(rule, counts) - 1e-6
