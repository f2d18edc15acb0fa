import numpy as np
import pytest

from kindset.evaluation import agreement, structure_test, trusted_agreement, verdict_scores
from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._small_k_means import assign, k_means_centres
from kindset.evaluation._structure_test import _intrinsic_dimension
from kindset.exceptions import InputError


def cuts(X, counts=(2, 3, 5, 8)):
    """Partitions of a cloud by k-means."""
    found = []
    for count in counts:
        labels = np.zeros(len(X), dtype=np.int32)
        assign(np.ascontiguousarray(X), k_means_centres(X, count, seed=1), labels)
        found.append(labels)
    return found


def sphere(rng):
    X = rng.normal(size=(400, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def ring(rng):
    angle = 2 * np.pi * rng.random(600)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + 0.1 * rng.normal(size=(600, 1)))


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=(400, 2)),
        lambda rng: rng.random((400, 2)),
        lambda rng: rng.exponential(size=(400, 4)),
        sphere,
        ring,
    ],
)
def test_clouds_without_groups_show_no_structure(draw):
    X = draw(np.random.default_rng(0))
    found = structure_test(X, cuts(X))
    assert found.p_value > 0.05


@pytest.mark.parametrize("width", [3, 70])
def test_groups_show_structure(width):
    rng = np.random.default_rng(0)
    groups = np.arange(300) % 5
    X = rng.normal(size=(300, width)) + rng.normal(size=(5, width))[groups] * 4
    found = structure_test(X, [groups, groups == 0])
    assert found.p_value == 0.05
    assert all((found.strength > null).all() for null in found.null_strengths.values())


def test_order_names_and_threads_change_no_digit(blobs):
    X, labels = blobs(n=120)
    runs = [labels, labels == 0, np.where(labels == 1, -1, labels)]
    one = structure_test(X, runs, n_draws=3)
    other = structure_test(
        X, [np.where(r < 0, -1, 9 - r) for r in (runs[2], runs[0])] + [runs[1]], n_draws=3, n_jobs=2
    )
    assert one.strength == other.strength
    for kind, strengths in one.null_strengths.items():
        np.testing.assert_array_equal(other.null_strengths[kind], strengths)


def test_large_data_are_sampled(blobs):
    X, labels = blobs(n=2500, k=4, spread=5.0)
    found = structure_test(X, [labels, np.arange(2500)], n_draws=2)
    assert found.strength > 0.4


@pytest.mark.parametrize("n", [2, 3, 12])
def test_degenerate_input_shows_no_structure(n):
    for X in (np.ones((n, 2)), np.arange(n, dtype=float)[:, None]):
        found = structure_test(X, [np.arange(n) % 2, np.zeros(n)], n_draws=2)
        assert np.isfinite(found.strength)
        assert found.p_value > 0.05


def test_intrinsic_dimension_of_a_plane_in_space():
    rng = np.random.default_rng(0)
    X = rng.random((800, 2)) @ rng.normal(size=(2, 9))
    assert _intrinsic_dimension(X, nearest_neighbours(X, 10)) == pytest.approx(2.0, abs=0.4)


def test_no_draw_is_refused():
    with pytest.raises(InputError, match="n_draws=0"):
        structure_test(np.eye(4), [[0, 0, 1, 1]], n_draws=0)


def test_trusted_agreement_ignores_a_bad_majority():
    base = np.arange(90) % 3
    near = base.copy()
    near[:5] = 0
    bad = np.arange(90) // 30
    runs = [base, near, bad, bad[::-1].copy(), bad.copy()]
    table = agreement(runs)
    scores = np.array([0.6, 0.58, 0.05, 0.05, 0.05])
    assert table.mean.argmax() >= 2
    assert trusted_agreement(scores, table.adjusted_rand).argmax() < 2
    assert verdict_scores(scores, table.adjusted_rand).argmax() == 0


def test_trusted_agreement_without_any_trust_is_the_mean():
    runs = np.random.default_rng(0).integers(0, 3, size=(4, 50))
    table = agreement(list(runs))
    found = trusted_agreement(np.array([-0.2, -0.1, 0.0, -0.4]), table.adjusted_rand)
    np.testing.assert_allclose(found, table.mean, atol=1e-12)
    order = [2, 0, 3, 1]
    scores = np.array([0.3, 0.2, 0.5, 0.1])
    np.testing.assert_array_equal(
        verdict_scores(scores[order], table.adjusted_rand[np.ix_(order, order)]),
        verdict_scores(scores, table.adjusted_rand)[order],
    )


def test_a_single_partition_keeps_its_score():
    np.testing.assert_array_equal(verdict_scores(np.array([0.4]), np.array([[1.0]])), [0.4])
