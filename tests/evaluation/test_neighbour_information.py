import numpy as np
import pytest
from evaluation import plain_neighbours as plain
from sklearn import config_context
from sklearn.datasets import load_iris

from kindset.evaluation import neighbour_information
from kindset.evaluation._label_pairs import _sorted_information, label_information
from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._null_clouds import null_curve, spectrum
from kindset.evaluation._small_k_means import k_means_centres
from kindset.exceptions import InputError


@pytest.fixture
def pool(blobs):
    """Three spaces, six partitions (noise, one cluster and chance among them), their owners."""
    X, labels = blobs(n=150, d=4, k=5, spread=2.5)
    rng = np.random.default_rng(1)
    spaces = [X, X[:, :2], np.tanh(X)]
    merged = np.where(labels == 1, 0, labels)
    noisy = np.where(rng.random(150) < 0.3, -1, labels)
    chance = rng.permutation(labels)
    partitions = [
        labels,
        merged,
        noisy,
        chance,
        np.zeros(150, dtype=int),
        labels * 2 + (X[:, 0] > 0),
    ]
    return spaces, partitions, [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (40, 1), (700, 3), (300, 40), (20, 60)])
def test_neighbours_are_exact(shape):
    X = np.random.default_rng(0).normal(size=shape)
    k = min(10, shape[0] - 1)
    np.testing.assert_array_equal(nearest_neighbours(X, k), plain.neighbours(X, k))


def test_neighbours_of_copies_come_in_the_order_of_the_index():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 7))[rng.integers(0, 40, size=1500)] * 1e3 + 1.0
    X[:30] = 0.1
    np.testing.assert_array_equal(nearest_neighbours(X, 10), plain.neighbours(X, 10))


def test_neighbours_do_not_depend_on_blocks(blobs):
    X, _ = blobs(n=2100)
    whole = nearest_neighbours(X, 10)
    with config_context(working_memory=0.1):
        np.testing.assert_array_equal(nearest_neighbours(X, 10), whole)
    np.testing.assert_array_equal(nearest_neighbours(X, 10, n_queries=300), whole[:300])


def test_sorted_and_tabulated_pairs_agree():
    rng = np.random.default_rng(0)
    near = nearest_neighbours(rng.normal(size=(500, 2)), 10)
    codes = rng.integers(-1, 40, size=500).astype(np.int32)
    np.testing.assert_allclose(
        _sorted_information(near, codes, 40), label_information(near, codes, 40), rtol=1e-12
    )


def test_information_and_q_equal_the_plain_ones_given_the_null(pool):
    spaces, partitions, owners = pool
    found = neighbour_information(spaces, partitions, owners=owners)
    q, weights, scores, strength = plain.scores(
        spaces, partitions, owners, found.null_information, k=10
    )
    near = plain.neighbours(spaces[1], 10)
    expected = [plain.information(near, p) for p in partitions[:4]]
    np.testing.assert_allclose(found.information[1, :4], expected, atol=1e-9)
    np.testing.assert_allclose(found.q, q, atol=1e-9)
    np.testing.assert_allclose(found.weights, weights, atol=1e-9)
    np.testing.assert_allclose(found.scores, scores, atol=1e-9)
    assert found.strength == pytest.approx(strength, abs=1e-9)
    np.testing.assert_allclose(found.entropies, [plain.entropy(p) for p in partitions], atol=1e-12)


def test_null_information_is_close_to_that_of_scikit_learns_k_means():
    """Two k-means differ by chance: at N = 600 the mean of five draws by about 0.02 nats."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6)) * [3, 2, 1, 1, 0.5, 0.1]
    partitions = [rng.integers(0, k, size=600) for k in (2, 5, 12, 30)]
    found = neighbour_information([X], partitions)
    expected = plain.null_information(X, partitions, 10, range(5))
    np.testing.assert_allclose(found.null_information[0], expected, atol=0.05)
    assert abs((found.null_information[0] - expected).mean()) < 0.025
    assert (found.null_std_error[0] < 0.02).all()


def test_large_clouds_are_measured_by_a_part_of_their_points():
    """At N = 6,000 neighbours of 2,000 points are looked up, among all."""
    widths = (1.0, 0.7, 0.3)
    found = null_curve(widths, 6000, 10, 2.0, seed=0)
    cloud = np.random.RandomState(0).randn(6000, 3) * widths
    near = nearest_neighbours(cloud, 10)
    for n_clusters, entropy, value in zip(
        plain.CUTS, found.entropies[1:], found.information[1:], strict=False
    ):
        centres = k_means_centres(cloud, n_clusters)
        labels = ((cloud[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        expected = plain.information(near, labels) * entropy / plain.entropy(labels)
        assert value == pytest.approx(expected, abs=0.06)


def test_k_means_reaches_a_local_optimum(blobs):
    X, _ = blobs(n=300, k=6, spread=1.0)
    centres = k_means_centres(X, 6, max_iter=500, tol=0.0)
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    means = np.stack([X[nearest == k].mean(axis=0) for k in range(6)])
    np.testing.assert_allclose(centres, means, atol=1e-12)


@pytest.mark.parametrize("shape", [(50, 8), (8, 50), (300, 200)])
def test_spectrum_holds_the_relative_singular_values(shape):
    X = np.random.default_rng(0).normal(size=shape)
    X -= X.mean(axis=0)
    expected = np.linalg.svd(X, compute_uv=False)[:120]
    np.testing.assert_allclose(spectrum(X), expected / expected[0], atol=1e-6)


def test_order_of_runs_label_names_and_threads_change_no_digit(pool):
    spaces, partitions, owners = pool
    found = neighbour_information(spaces, partitions, owners=owners)
    order = [3, 5, 0, 4, 2, 1]
    space_order = [2, 0, 1]
    renamed = [np.where(partitions[p] < 0, -1, (partitions[p] * 7 + 3) % 101) for p in order]
    other = neighbour_information(
        [spaces[s] for s in space_order],
        renamed,
        owners=[space_order.index(owners[p]) for p in order],
        n_jobs=2,
    )
    np.testing.assert_array_equal(other.scores, found.scores[order])
    np.testing.assert_array_equal(other.weights, found.weights[space_order])
    assert other.strength == found.strength
    np.testing.assert_array_equal(other.shortlist(), found.shortlist()[order])


def test_order_of_points_hardly_matters(pool):
    spaces, partitions, owners = pool
    order = np.random.default_rng(0).permutation(150)
    found = neighbour_information(spaces, partitions, owners=owners)
    other = neighbour_information(
        [X[order] for X in spaces], [p[order] for p in partitions], owners=owners
    )
    np.testing.assert_allclose(other.scores, found.scores, atol=1e-9)


def test_unit_and_place_of_a_space_do_not_matter(pool):
    spaces, partitions, owners = pool
    found = neighbour_information(spaces, partitions, owners=owners)
    other = neighbour_information([X * 1e-3 + 5.0 for X in spaces], partitions, owners=owners)
    np.testing.assert_allclose(other.scores, found.scores, atol=1e-5)


def test_copies_of_a_space_count_once_and_share_the_home(pool):
    spaces, partitions, owners = pool
    found = neighbour_information(spaces, partitions, owners=owners)
    copied = neighbour_information([*spaces, spaces[0].copy()], partitions, owners=[3, *owners[1:]])
    np.testing.assert_array_equal(copied.scores, found.scores)
    np.testing.assert_array_equal(copied.homes, found.homes)
    np.testing.assert_array_equal(copied.spaces, [0, 1, 2])


def test_raw_data_counts_four_times(pool):
    spaces, partitions, owners = pool
    without = neighbour_information(spaces, partitions, owners=owners)
    same = neighbour_information(spaces, partitions, owners=owners, raw=spaces[2])
    share = without.weights * [1, 1, 4]
    np.testing.assert_allclose(same.weights, share / share.sum(), atol=1e-12)
    new = neighbour_information(spaces, partitions, owners=owners, raw=spaces[0] ** 3)
    np.testing.assert_array_equal(new.spaces, [0, 1, 2, 3])


def test_the_true_groups_lead_and_chance_comes_last(blobs):
    X, labels = blobs(n=300, d=4, k=5, spread=6.0)
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(300) < 0.3, -1, labels)
    halves = np.where(labels == 1, 0, labels)
    found = neighbour_information([X, X[:, :3]], [rng.permutation(labels), halves, labels, noisy])
    assert found.scores.argsort().tolist() == [0, 3, 1, 2]
    np.testing.assert_allclose(found.coverage, [1, 1, 1, (noisy >= 0).mean()])
    assert found.shortlist()[2]
    assert not found.shortlist()[0]


def test_one_cluster_with_or_without_noise_has_the_lowest_place():
    X, y = load_iris(return_X_y=True)
    one_with_noise = np.where(np.arange(150) < 20, -1, 0)
    found = neighbour_information(
        [X], [y, np.zeros(150), one_with_noise, np.full(150, -1), np.arange(150)]
    )
    lowest = min(found.q[0, [0, 4]].min(), 0.0)
    np.testing.assert_array_equal(found.q[0, 1:4], lowest)
    assert found.q[0, 4] < 0.05


def test_a_single_partition_has_a_strength():
    X, y = load_iris(return_X_y=True)
    found = neighbour_information([X], [y], owners=[0])
    assert found.strength == found.scores[0] > 0.05
    assert found.shortlist().tolist() == [True]


@pytest.mark.parametrize(
    ("X", "partitions"),
    [
        (np.array([[0.0], [1.0]]), [[0, 1], [0, 0]]),
        (np.array([[0.0], [1.0], [5.0]]), [[0, 0, 1]]),
        (np.ones((12, 3)), [np.arange(12) % 2, np.arange(12) // 6]),
        (np.random.default_rng(0).normal(size=(9, 50)), [np.arange(9) % 3]),
        (np.arange(30.0)[:, None], [np.arange(30) // 10, np.zeros(30)]),
        (np.repeat([[0.0, 1.0], [2.0, 5.0]], 20, axis=0), [np.repeat([0, 1], 20)]),
        (np.arange(30.0)[:, None] * 1e200, [np.arange(30) // 10]),
    ],
)
def test_degenerate_input_gives_finite_numbers(X, partitions):
    found = neighbour_information([X], partitions)
    assert np.isfinite(found.scores).all()
    assert found.strength >= 0.0
    assert found.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"owners": [0]}, "owners has shape"),
        ({"owners": [0, 7]}, "owners names space 7"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"raw": np.ones((3, 2))}, "raw has 3 points"),
    ],
)
def test_wrong_input_is_refused(options, message):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(InputError, match=message):
        neighbour_information([X], [[0, 0, 1, 1], [0, 1, 0, 1]], **options)
