from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from ordinal_reference import bos_by_search, god_by_enumeration

from kindset.exceptions import InputError
from kindset.ordinal import bos_coefficients, bos_pmf, god_coefficients, god_pmf
from kindset.ordinal._distributions import DISTRIBUTIONS, law

precision = st.floats(0, 1)


@st.composite
def positions(draw, max_m=12):
    m = draw(st.integers(1, max_m))
    return m, draw(st.integers(1, m))


@pytest.mark.parametrize("m", range(1, 8))
@pytest.mark.parametrize("pi", [0.0, 0.05, 0.3, 0.5, 0.77, 0.999, 1.0])
def test_pmf_equals_brute_force(m, pi):
    for mu in range(1, m + 1):
        assert_allclose(bos_pmf(m, mu, pi), bos_by_search(m, mu, pi), atol=1e-12)
        assert_allclose(god_pmf(m, mu, pi), god_by_enumeration(m, mu, pi), atol=1e-12)


@pytest.mark.parametrize("m", [9, 11])
def test_god_equals_brute_force_beyond_the_usual_sizes(m):
    for mu in (1, m // 2, m):
        assert_allclose(god_pmf(m, mu, 0.7), god_by_enumeration(m, mu, 0.7), atol=1e-12)


@pytest.mark.parametrize("pmf", [bos_pmf, god_pmf])
@pytest.mark.parametrize("m", [20, 50, 100])
def test_probabilities_sum_to_one_for_many_categories(pmf, m):
    for mu in (1, m // 3, m):
        for pi in (0.0, 0.2, 0.5, 0.9, 1.0):
            p = pmf(m, mu, pi)
            assert abs(p.sum() - 1) < 1e-12
            assert p.min() >= 0


@pytest.mark.parametrize("coefficients", [bos_coefficients, god_coefficients])
@pytest.mark.parametrize("m", [1, 2, 5, 13, 40])
def test_every_slice_of_the_tensor_is_a_distribution(coefficients, m):
    R = coefficients(m)
    assert R.shape == (m, m, m)
    assert R.min() >= 0
    assert_allclose(R.sum(axis=2), 1, atol=1e-13)
    assert_allclose(R, R[::-1, :, ::-1], atol=1e-13)
    assert R is coefficients(m)
    with pytest.raises(ValueError, match="read-only"):
        R[0] = 0


def test_god_counts_every_outcome_once():
    m = 9
    ways = np.array([comb(m - 1, d) for d in range(m)])
    counted = (god_coefficients(m) * ways[:, None]).sum(axis=2)
    assert_allclose(counted, np.broadcast_to(ways, (m, m)))


@given(positions(), precision)
def test_mirrored_scale_mirrors_the_distribution(position, pi):
    m, mu = position
    for pmf in (bos_pmf, god_pmf):
        assert_allclose(pmf(m, mu, pi), pmf(m, m + 1 - mu, pi)[::-1], atol=1e-13)


@given(positions())
def test_certain_at_precision_one(position):
    m, mu = position
    for pmf in (bos_pmf, god_pmf):
        assert_allclose(pmf(m, mu, 1.0), np.arange(1, m + 1) == mu, atol=1e-15)


@given(positions())
def test_bos_is_uniform_at_precision_zero(position):
    m, mu = position
    assert_allclose(bos_pmf(m, mu, 0.0), 1 / m)


@given(positions(), st.floats(0.01, 1))
def test_bos_falls_on_both_sides_of_its_mode(position, pi):
    m, mu = position
    step = np.diff(bos_pmf(m, mu, pi))
    assert (step[: mu - 1] > -1e-15).all()
    assert (step[mu - 1 :] < 1e-15).all()


@given(st.integers(1, 2), precision)
def test_two_categories_make_the_distributions_coincide(mu, pi):
    assert_allclose(bos_pmf(2, mu, pi), god_pmf(2, mu, (1 + pi) / 2), atol=1e-15)


def test_god_is_u_shaped_at_one_half():
    assert_allclose(god_pmf(5, 1, 0.5), [0.271, 0.156, 0.146, 0.156, 0.271], atol=1e-3)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("m", [3, 6, 11])
def test_log_probabilities_are_concave_in_the_precision(name, m):
    """The pruning in the M-step takes this for granted; it has no proof."""
    grid = np.linspace(DISTRIBUTIONS[name].min_precision, 1, 201)[1:-1]
    pmf = {"bos": bos_pmf, "god": god_pmf}[name]
    for mu in range(1, m + 1):
        log_p = np.log([pmf(m, mu, pi) for pi in grid])
        bend = log_p[2:] - 2 * log_p[1:-1] + log_p[:-2]
        assert (bend < 1e-11).all()


def test_grid_of_a_law_is_finite_where_probabilities_underflow():
    rule = law("god", 100)
    assert np.isfinite(rule.log_pmf_grid).all()
    assert rule.log_pmf_grid.min() < -750  # exp of it is zero


@pytest.mark.parametrize("m", [0, -1, 2.5, 151, True])
def test_wrong_number_of_categories(m):
    with pytest.raises(InputError, match="number of categories"):
        bos_coefficients(m)


@pytest.mark.parametrize(("mu", "pi", "word"), [(0, 0.5, "mu"), (6, 0.5, "mu"), (1, 1.5, "pi")])
def test_wrong_parameters_of_a_pmf(mu, pi, word):
    for pmf in (bos_pmf, god_pmf):
        with pytest.raises(InputError, match=word):
            pmf(5, mu, pi)
