import diptest
import numpy as np
import pytest
from evaluation import plain
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kindset.evaluation import dip_statistic, dip_test
from kindset.evaluation._dip import principal_projection
from kindset.exceptions import InputError

SAMPLES = st.one_of(
    arrays(np.float64, st.integers(4, 60), elements=st.floats(-1e3, 1e3, width=32)),
    arrays(np.float64, st.integers(4, 60), elements=st.integers(0, 6)),
)


@settings(max_examples=200, deadline=None)
@given(SAMPLES)
def test_equals_the_oracle(x):
    if x.min() < x.max():
        # The oracle gives 0 for evenly spaced points; no dip is below 1 / (2n).
        expected = max(diptest.dipstat(x), 1 / (2 * len(x)))
        assert dip_statistic(x) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 12), st.booleans())
def test_equals_the_definition(seed, n, tied):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, n).astype(float) if tied else rng.normal(size=n)
    if len(np.unique(x)) > 2:
        assert dip_statistic(x) == pytest.approx(max(plain.dip(x), 1 / (2 * n)), abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.floats(-5, 5), st.floats(0.1, 10))
def test_does_not_depend_on_order_shift_scale_or_sign(seed, shift, scale):
    rng = np.random.default_rng(seed)
    x = np.r_[rng.normal(size=30), rng.normal(4, 1, 20)]
    expected = dip_statistic(x)
    assert dip_statistic(rng.permutation(x)) == expected
    assert dip_statistic(-x) == pytest.approx(expected, abs=1e-12)
    assert dip_statistic(shift + scale * x) == pytest.approx(expected, abs=1e-9)


def test_large_sample_equals_the_oracle():
    rng = np.random.default_rng(0)
    for x in (rng.random(70_000), np.r_[rng.normal(size=35_000), rng.normal(4, 1, 35_000)]):
        assert dip_statistic(x) == pytest.approx(diptest.dipstat(x), abs=1e-12)


@pytest.mark.parametrize(
    ("x", "expected"), [([1.0], 0.5), ([2, 2, 2, 2], 0.125), ([0, 0, 1, 1], 0.25), ([3, 4], 0.25)]
)
def test_small_and_constant_samples(x, expected):
    assert dip_statistic(x) == expected


@pytest.mark.parametrize("x", [[], [[1.0, 2.0]], [1.0, np.nan], [np.inf, 0.0]])
def test_bad_samples(x):
    with pytest.raises(InputError, match="dip needs"):
        dip_statistic(x)


@pytest.mark.parametrize("n", [10, 73, 1000, 30_000])
@pytest.mark.parametrize("factor", [0.9, 1.1, 1.3, 1.6, 2.0])
def test_pvalues_agree_with_another_table(n, factor):
    """Interpolated p-values against the oracle's table, made by other people's simulation."""
    x = np.random.default_rng(n).random(n)
    target = factor * 0.33 / np.sqrt(n)
    # Pulling a gap open raises the dip of a uniform sample continuously.
    gaps = np.linspace(0, 0.5, 200)
    dips = np.array([dip_statistic(np.where(x > 0.5, x + gap, x)) for gap in gaps])
    sample = np.where(x > 0.5, x + gaps[np.argmin(np.abs(dips - target))], x)
    expected = diptest.diptest(sample)[1]
    assert dip_test(sample)[1] == pytest.approx(expected, abs=0.015)


def test_pvalue_is_uniform_under_the_null():
    rng = np.random.default_rng(0)
    pvalues = np.array([dip_test(rng.random(123))[1] for _ in range(2000)])
    for level in (0.05, 0.25, 0.5, 0.9):
        assert (pvalues <= level).mean() == pytest.approx(level, abs=0.035)


def test_direct_simulation_agrees_with_the_table():
    x = np.r_[np.random.default_rng(3).normal(size=40), np.random.default_rng(4).normal(3, 1, 40)]
    dip, table = dip_test(x)
    again, simulated = dip_test(x, n_boot=5000, random_state=0)
    assert dip == again
    assert simulated == pytest.approx(table, abs=0.02)
    assert dip_test(x, n_boot=200, random_state=1) == dip_test(x, n_boot=200, random_state=1)


def test_pvalue_is_never_zero_and_small_samples_say_nothing():
    clear = np.r_[np.zeros(500), np.ones(500)] + 1e-3 * np.random.default_rng(0).random(1000)
    assert 0 < dip_test(clear)[1] < 1e-4
    assert dip_test([0.0, 5.0, 9.0])[1] == 1.0
    assert dip_test([2.0] * 10)[1] == 1.0
    with pytest.raises(InputError, match="n_boot=0"):
        dip_test(clear, n_boot=0)


@pytest.mark.parametrize("shape", [(50, 3), (5, 40)])
def test_projection_is_the_first_principal_component(shape):
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import scale

    X = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1)
    expected = PCA(1).fit_transform(scale(X)).ravel()
    got = principal_projection(X)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-8)


def test_projection_is_unscaled_if_a_column_is_constant():
    X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 100.0]
    got = principal_projection(np.column_stack([X, np.full(40, 7.0)]))
    assert abs(np.corrcoef(got, X[:, 1])[0, 1]) > 0.999


@pytest.mark.parametrize("kind", ["components", "whitened", "single precision"])
def test_projection_of_columns_that_are_not_correlated(kind):
    """Scaled to unit variance they have no first component; order and units must not choose one."""
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [5, 3, 2, 1, 1] + rng.normal(size=(300, 1))
    Z = PCA(3, whiten=kind == "whitened").fit_transform(X)
    if kind == "single precision":
        Z = Z.astype(np.float32)
    order = rng.permutation(300)
    here = principal_projection(Z)
    for other, rows in (
        (Z[order], order),
        (Z * 1e6, slice(None)),
        (np.asfortranarray(Z), slice(None)),
    ):
        there = principal_projection(other)
        assert abs(np.corrcoef(here[rows], there)[0, 1]) == pytest.approx(1, abs=1e-6)
    assert abs(np.corrcoef(here, Z[:, 0])[0, 1]) > 0.999


@pytest.mark.realdata
def test_simulation_dips(simulation_inputs, read_reference):
    reference = read_reference("simulation_sigma1_dip.json")
    found = [dip_test(principal_projection(space)) for space in simulation_inputs["embeddings"]]
    np.testing.assert_allclose([dip for dip, _ in found], reference["dip"], atol=1e-6)
    np.testing.assert_allclose([p for _, p in found], reference["pvalue"], atol=0.02)
