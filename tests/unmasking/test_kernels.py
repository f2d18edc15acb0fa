import numpy as np
import pytest
import unmasking_reference as plain
from hypothesis import given
from hypothesis import strategies as st

from kindset.unmasking import _kernels
from kindset.unmasking._pairs import CLASSIFIERS


def groups_of(X, sizes, middles):
    """Return the blocks and bounds of consecutive groups."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    middles = starts[:-1] + middles
    members = np.arange(starts[-1])
    return _kernels.build_blocks(X, members, starts, middles), starts, middles


def unmask_two(A, B, *, n_iterations=5, n_removed=0, C=1.0, kind=0, cross_fit=False):
    """Unmask two groups whose first halves are for training."""
    middles = np.array([(len(A) + 1) // 2, (len(B) + 1) // 2])
    blocks, starts, middles = groups_of(np.concatenate([A, B]), [len(A), len(B)], middles)
    pair = np.array([[0, 1]])
    hits, margins = _kernels.unmask_pairs(
        blocks, starts, middles, pair, n_iterations, n_removed, C, kind, cross_fit
    )
    return hits[0], margins[0]


def halves(group):
    middle = (len(group) + 1) // 2
    return group[:middle], group[middle:]


def plain_two(A, B, **options):
    (train_a, test_a), (train_b, test_b) = halves(A), halves(B)
    return plain.unmask(train_a, train_b, test_a, test_b, **options)


def draw(seed, n=24, d=40, shift=0.7):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    B = rng.normal(size=(n + 6, d)) + shift * (rng.random(d) < 0.3)
    return A, B


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("shape", [(30, 50), (60, 12)])
@pytest.mark.parametrize("C", [0.03, 1.0, 20.0])
def test_both_solvers_find_the_optimum(name, shape, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = np.where(X[:, 0] + rng.normal(size=shape[0]) > 0.3, 1.0, -1.0)
    w, bias = plain.FITS[name](X, y, C)
    kind, n = CLASSIFIERS[name], len(y)
    beta = np.zeros(n)
    got = _kernels._fit_in_samples(X @ X.T, y, C, kind, beta, np.full(n, -1.0), np.zeros(n))
    np.testing.assert_allclose(X.T @ beta, w, atol=2e-5)
    np.testing.assert_allclose(got, bias, atol=2e-5)
    weights = np.zeros(X.shape[1])
    features = np.ascontiguousarray(X.T)
    got = _kernels._fit_in_features(features, y, C, kind, weights, 0.0)
    np.testing.assert_allclose(weights, w, atol=2e-5)
    np.testing.assert_allclose(got, bias, atol=2e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [12, 90])
def test_curves_are_those_of_linear_svc(seed, d):
    A, B = draw(seed, d=d)
    hits, _ = unmask_two(A, B)
    np.testing.assert_array_equal(hits, plain_two(A, B, n_iterations=5))


@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_curves_of_other_classifiers(name):
    A, B = draw(3)
    hits, _ = unmask_two(A, B, kind=CLASSIFIERS[name])
    want = plain_two(A, B, n_iterations=5, fit=plain.FITS[name])
    np.testing.assert_array_equal(hits, want)


def test_single_precision_is_close():
    A, B = draw(5, n=60, d=200)
    exact, _ = unmask_two(A, B)
    single, _ = unmask_two(A.astype(np.float32), B.astype(np.float32))
    assert np.abs(exact - single).max() <= 2


def test_cross_fit_adds_both_directions():
    A, B = draw(1)
    there = plain_two(A, B, n_iterations=5)
    (train_a, test_a), (train_b, test_b) = halves(A), halves(B)
    back = plain.unmask(test_a, test_b, train_a, train_b, n_iterations=5)
    np.testing.assert_array_equal(unmask_two(A, B, cross_fit=True)[0], there + back)


def test_number_of_removed_features_can_be_given():
    A, B = draw(2)
    hits, _ = unmask_two(A, B, n_removed=3)
    np.testing.assert_array_equal(hits, plain_two(A, B, n_iterations=5, n_removed=3))


def test_constant_features_change_nothing():
    A, B = draw(4)
    padded = [np.insert(group, (0, 7, 20), (5.0, 0.0, -3.0), axis=1) for group in (A, B)]
    np.testing.assert_array_equal(unmask_two(*padded)[0], unmask_two(A, B)[0])


@pytest.mark.parametrize("d", [1, 3, 8])
def test_fewer_features_than_iterations(d):
    A, B = draw(0, d=d, shift=3.0)
    hits, margins = unmask_two(A, B, n_iterations=8)
    np.testing.assert_array_equal(hits, plain_two(A, B, n_iterations=8))
    assert np.isfinite(margins).all()


def test_without_features_the_majority_decides():
    A, B = draw(0, d=3, shift=3.0)
    hits, _ = unmask_two(A, B, n_iterations=5, n_removed=1)
    np.testing.assert_array_equal(hits, plain_two(A, B, n_iterations=5, n_removed=1))
    assert hits[3:].tolist() == [[0, 15]] * 2  # B is the larger group


def test_no_live_feature():
    hits, _ = unmask_two(np.ones((5, 4)), np.ones((8, 4)))
    assert hits.tolist() == [[0, 4]] * 5


def test_identical_groups_cannot_be_told_apart():
    A, _ = draw(0)
    hits, _ = unmask_two(np.tile(A[:1], (20, 1)), np.tile(A[:1], (20, 1)))
    assert (hits.sum(axis=1) == 10).all()
    same = np.concatenate([A[:12], A[:12]])
    hits, _ = unmask_two(same, same)
    assert (hits.sum(axis=1) == 12).all()


def test_duplicates_and_two_samples():
    A, B = draw(0, shift=5.0)
    doubled, _ = unmask_two(np.repeat(A, 2, axis=0), np.repeat(B, 2, axis=0))
    assert np.isfinite(doubled).all()
    tiny, _ = unmask_two(A[:2], B[:2])
    assert tiny.shape == (5, 2)
    assert tiny.max() <= 1


def test_nearly_all_of_the_variance_may_go():
    """What is left after the strong features is told apart as if they had never been."""
    A, B = draw(6)
    scale = 10.0 ** np.linspace(0.5, -1, A.shape[1])
    hits, _ = unmask_two(A * scale, B * scale)
    np.testing.assert_array_equal(hits, plain_two(A * scale, B * scale, n_iterations=5))


@given(st.integers(0, 10**6), st.integers(2, 14), st.integers(2, 14), st.integers(1, 20),
       st.booleans())  # fmt: skip
def test_counts_are_counts(seed, n, m, d, cross_fit):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(0, 3, (n, d)).astype(float), rng.integers(0, 3, (m, d)).astype(float)
    hits, margins = unmask_two(A, B, n_iterations=4, cross_fit=cross_fit)
    most = np.array([n, m]) if cross_fit else np.array([n // 2, m // 2])
    assert ((hits >= 0) & (hits <= most)).all()
    assert ((margins >= 0) & (margins <= most)).all()
    again, _ = unmask_two(A, B, n_iterations=4, cross_fit=cross_fit)
    np.testing.assert_array_equal(hits, again)


@given(st.integers(0, 10**6), st.integers(3, 25), st.integers(1, 25), st.sampled_from([0, 1, 2]))
def test_solutions_are_stationary(seed, n, d, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    beta, C = np.zeros(n), 0.7
    bias = _kernels._fit_in_samples(X @ X.T, y, C, kind, beta, np.full(n, -1.0), np.zeros(n))
    w = np.append(X.T @ beta, bias)
    wide = np.column_stack([X, np.ones(n)])
    margin = y * (wide @ w)
    slope = {
        0: -2 * np.maximum(1 - margin, 0),
        1: -2 * (1 - margin),
        2: -1 / (1 + np.exp(np.clip(margin, -500, 500))),
    }[kind]
    gradient = w + C * wide.T @ (y * slope)
    assert np.abs(gradient).max() <= 1e-3 * (1 + np.abs(C * wide).sum())
