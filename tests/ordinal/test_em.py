import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from ordinal_reference import joint_log_density, log_likelihood
from scipy.special import logsumexp

from kindset.ordinal._em import Parameters, Problem, run_em
from kindset.ordinal._expectation import expected_counts, most_probable, posterior
from kindset.ordinal._rows import Layout, Rows
from kindset.ordinal._starts import STARTS, random_parameters


def _problem(codes, n_levels, n_components, names=("bos",), weights=None, prior_count=0.0):
    codes = np.where(np.asarray(codes) < 0, n_levels, codes).astype(np.uint8)
    weights = np.ones(len(codes)) if weights is None else weights
    rows = Rows.merge(codes, weights, np.asarray(n_levels))
    return Problem(rows, n_components, (tuple(names),) * len(n_levels), prior_count)


def _random_codes(rng, n, n_levels, missing=0.15):
    codes = rng.integers(n_levels, size=(n, len(n_levels)))
    codes[rng.random(codes.shape) < missing] = -1
    return codes


@pytest.mark.parametrize("name", ["bos", "god"])
@pytest.mark.parametrize("n_rows", [5, 400])
def test_e_step_equals_a_dense_one(name, n_rows):
    """With few rows the questions stand alone, with many they are packed."""
    rng = np.random.default_rng(0)
    n_levels = np.array([2, 7, 1, 4, 3, 2, 5])
    codes = _random_codes(rng, n_rows, n_levels)
    problem = _problem(codes, n_levels, 3, [name])
    parameters = random_parameters(problem, np.random.RandomState(1))
    objective, sizes, counts = problem.expect(parameters)
    args = (n_levels, parameters.weights, parameters.modes + 1, parameters.precisions, name)
    joint = joint_log_density(codes, *args)
    membership = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    assert_allclose(objective, log_likelihood(codes, *args), rtol=1e-12)
    assert_allclose(sizes, membership.sum(axis=0), rtol=1e-10)
    for j, m in enumerate(n_levels):
        if m > 1:
            expected = np.array([membership[codes[:, j] == x].sum(axis=0) for x in range(m)])
            start = problem.rows.layout.starts[j]
            assert_allclose(counts[start : start + m], expected, atol=1e-9)
    every_row = Rows.build(
        np.where(codes < 0, n_levels, codes).astype(np.uint8), np.ones(n_rows), n_levels
    )
    tables, _ = Problem(every_row, 3, problem.candidates).tables(parameters)
    got, log_density = posterior(every_row, tables)
    assert_allclose(got, membership, atol=1e-10)
    assert_allclose(log_density, logsumexp(joint, axis=1), rtol=1e-11)
    assert_array_equal(most_probable(every_row, tables), joint.argmax(axis=1))


def test_e_step_survives_underflow():
    """Sixty questions on a hundred categories, every one all but impossible in either component."""
    n_levels = np.full(60, 100)
    codes = np.tile([[0], [99]], (1, 60))
    problem = _problem(codes, n_levels, 2, ["god"])
    at = np.where(np.arange(60) % 2, 0, 99)
    parameters = Parameters.from_positions(
        np.array([0.5, 0.5]), np.stack([at, 99 - at]), np.full((2, 60), 0.999), ("god",) * 60
    )
    objective, sizes, counts = problem.expect(parameters)
    assert np.isfinite(objective)
    assert objective < -5000
    assert_allclose(sizes, [1, 1])
    assert np.isfinite(counts).all()


def test_chunks_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    n_levels = np.array([4, 3, 5])
    problem = _problem(_random_codes(rng, 300, n_levels), n_levels, 2)
    parameters = random_parameters(problem, np.random.RandomState(0))
    whole = problem.expect(parameters)
    monkeypatch.setattr("kindset.ordinal._expectation._CHUNK", 7)
    serial, threaded = problem.expect(parameters, 1), problem.expect(parameters, 2)
    for a, b, c in zip(whole, serial, threaded, strict=True):
        assert_allclose(a, b, rtol=1e-12)
        assert_array_equal(b, c)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_likelihood_never_decreases(data):
    n_features = data.draw(st.integers(1, 4))
    n_levels = np.array(data.draw(st.lists(st.integers(1, 6), min_size=n_features,
                                           max_size=n_features)))  # fmt: skip
    n_rows = data.draw(st.integers(1, 25))
    codes = np.stack(
        [data.draw(arrays(np.int64, n_rows, elements=st.integers(-1, m - 1))) for m in n_levels],
        axis=1,
    )
    weights = data.draw(arrays(np.float64, n_rows, elements=st.floats(0.01, 20)))
    n_components = data.draw(st.integers(1, 4))
    names = data.draw(st.sampled_from([("bos",), ("god",), ("bos", "god")]))
    prior = data.draw(st.sampled_from([0.0, 0.5]))
    problem = _problem(codes, n_levels, n_components, names, weights, prior)
    kind = data.draw(st.sampled_from(sorted(STARTS)))
    rng = np.random.RandomState(data.draw(st.integers(0, 99)))
    fit = run_em(problem, STARTS[kind](problem, rng), max_iter=60, tol=0)
    history = np.array(fit.history)
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * (1 + np.abs(history[1:]))).all()
    assert_allclose(fit.parameters.weights.sum(), 1)


def test_empty_component_is_put_to_use():
    n_levels = np.array([5, 5])
    codes = np.repeat([[0, 0], [4, 4]], 20, axis=0)
    problem = _problem(codes, n_levels, 2)
    start = Parameters.from_positions(
        np.array([1.0, 0.0]), np.zeros((2, 2), dtype=np.int64), np.full((2, 2), 0.5), ("bos",) * 2
    )
    fit = run_em(problem, start, max_iter=100, tol=1e-8)
    assert_allclose(fit.parameters.weights, [0.5, 0.5], atol=1e-6)
    assert_allclose(fit.objective, 40 * np.log(0.5), rtol=1e-5)


def test_merging_keeps_weights_and_ignores_order():
    rng = np.random.default_rng(3)
    n_levels = np.array([3, 2])
    codes = rng.integers(n_levels, size=(80, 2)).astype(np.uint8)
    weights = rng.random(80)
    weights[:5] = 0
    rows = Rows.merge(codes, weights, n_levels)
    assert len(rows) <= 6
    assert_allclose(rows.weights.sum(), weights.sum())
    order = rng.permutation(80)
    again = Rows.merge(codes[order], weights[order], n_levels)
    assert_array_equal(rows.codes, again.codes)
    assert_allclose(rows.weights, again.weights)


def test_packs_hold_all_questions_and_stay_small():
    n_levels = np.array([7] * 10 + [1, 2, 100, 3])
    layout = Layout.plan(n_levels, np.zeros(14, dtype=bool), 10**6)
    assert sorted(layout.members) == [j for j, m in enumerate(n_levels) if m > 1]
    assert np.diff(layout.offsets).max() <= 512
    assert len(layout.offsets) - 1 < 8


def test_counts_of_one_pack_sum_to_the_sizes():
    rng = np.random.default_rng(0)
    n_levels = np.array([3, 3])
    problem = _problem(rng.integers(3, size=(50, 2)), n_levels, 2)
    tables, _ = problem.tables(random_parameters(problem, np.random.RandomState(0)))
    _, sizes, counts = expected_counts(problem.rows, tables)
    assert_allclose(counts[:4].sum(axis=0), sizes)
    assert_allclose(sizes.sum(), 50)
