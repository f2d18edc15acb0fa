import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from kindset.evaluation import agreement, families
from kindset.evaluation._agreement import _pairs_from_sorted, _pairs_from_table
from kindset.exceptions import InputError


@pytest.fixture
def partitions():
    rng = np.random.default_rng(0)
    found = [rng.integers(0, k, size=80) for k in (2, 3, 3, 7, 20)]
    noisy = np.where(rng.random(80) < 0.4, -1, found[1])
    return [*found, noisy, np.zeros(80, dtype=int), np.arange(80)]


def test_agreement_equals_scikit_learns_pair_by_pair(partitions):
    found = agreement(partitions)
    expected = [[adjusted_rand_score(a, b) for b in partitions] for a in partitions]
    np.testing.assert_allclose(found.adjusted_rand, expected, atol=1e-12)
    others = [np.delete(row, p).mean() for p, row in enumerate(expected)]
    np.testing.assert_allclose(found.mean, others, atol=1e-12)


def test_order_and_label_names_change_no_digit(partitions):
    found = agreement(partitions)
    other = agreement([np.where(p < 0, -1, 90 - p) for p in partitions[::-1]])
    np.testing.assert_array_equal(other.mean, found.mean[::-1])
    np.testing.assert_array_equal(other.adjusted_rand, found.adjusted_rand[::-1, ::-1])


def test_large_tables_are_counted_alike():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 30, size=(2, 400)).astype(np.int32)
    assert _pairs_from_sorted(one, other, 30, 30) == _pairs_from_table(one, other, 30, 30)
    both = agreement([np.arange(3000), np.arange(3000) // 2]).adjusted_rand[0, 1]
    assert both == pytest.approx(adjusted_rand_score(np.arange(3000), np.arange(3000) // 2))


def test_families_are_chains_of_near_copies():
    base = np.repeat(np.arange(4), 25)
    near, farther = base.copy(), base.copy()
    near[:2] = 1
    farther[:4] = 1
    other = np.arange(100) % 4
    np.testing.assert_array_equal(
        families([other, base, near, farther, 3 - base], 0.94), [0, 1, 1, 1, 1]
    )
    np.testing.assert_array_equal(families([other, base, near, 3 - base], 1.0), [0, 1, 2, 1])


def test_a_single_partition_agrees_with_nobody():
    found = agreement([[0, 1, 1]])
    assert found.adjusted_rand.tolist() == [[1.0]]
    assert np.isnan(found.mean).all()


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="no partition"):
        agreement([])
    with pytest.raises(InputError, match="threshold=0"):
        families([[0, 1]], 0)
    with pytest.raises(InputError, match="3 labels"):
        agreement([[0, 1], [0, 1, 1]])


def test_one_point_is_the_same_partition():
    assert agreement([[0], [3]]).adjusted_rand.tolist() == [[1.0, 1.0], [1.0, 1.0]]
