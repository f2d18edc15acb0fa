import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.cluster import HDBSCAN
from statsmodels.stats.multitest import multipletests

from kindset.evaluation._correlation import (
    holm_rejects,
    positive_pvalues,
    rank_correlation,
    significant_edges,
)
from kindset.evaluation._grouping import correlation_groups, density_groups, score_subgroups
from kindset.evaluation._links import authority, link_weights, pagerank
from kindset.evaluation._tree import multiway_tree, mutual_reachability, tree_labels


def same_groups(a, b):
    """Equal as partitions, with the same outliers."""
    a, b = np.asarray(a), np.asarray(b)
    return bool(((a[:, None] == a) == (b[:, None] == b)).all() and ((a < 0) == (b < 0)).all())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(3, 15), st.booleans())
def test_correlation_and_pvalues_equal_scipy(seed, n_rows, n_columns, tied):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_rows, n_columns))
    if tied:
        scores = np.round(scores, 0) + 0.5 * (np.arange(n_columns) == 0)
    found = rank_correlation(scores)
    pvalues = positive_pvalues(found, n_columns)
    for i in range(n_rows):
        for j in range(n_rows):
            if i == j or np.ptp(scores[i]) == 0 or np.ptp(scores[j]) == 0:
                continue
            expected = spearmanr(scores[i], scores[j], alternative="greater")
            assert found[i, j] == pytest.approx(expected.statistic, abs=1e-12)
            assert pvalues[i, j] == pytest.approx(expected.pvalue, abs=1e-7)


def test_constant_rows_correlate_with_nothing():
    scores = np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    for compat in (None, "paper"):
        assert rank_correlation(scores, compat)[0, 1] == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from([0.01, 0.05, 0.1, 0.5]))
def test_holm_equals_statsmodels(pvalues, alpha):
    expected = multipletests(pvalues, alpha=alpha, method="holm")[0]
    np.testing.assert_array_equal(holm_rejects(np.array(pvalues), alpha), expected)


def test_edges_are_significant_positive_and_symmetric():
    rng = np.random.default_rng(0)
    base = rng.normal(size=30)
    scores = np.stack([base, base + 0.1 * rng.normal(size=30), -base, rng.normal(size=30)])
    edges = significant_edges(rank_correlation(scores), 30, 0.1)
    assert edges[0, 1] > 0.9
    assert np.count_nonzero(edges) == 2
    np.testing.assert_array_equal(edges, edges.T)


def test_two_observations_prove_nothing():
    assert not significant_edges(np.ones((3, 3)), 2, 0.1).any()


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 30))
def test_tree_equals_scikit_learn_where_nothing_ties(seed, n):
    """Random heights without ties: mutual reachability with one sample is the distance itself."""
    rng = np.random.default_rng(seed)
    distances = rng.permutation(np.linspace(0.1, 1.0, n * n)).reshape(n, n)
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    expected = HDBSCAN(
        min_cluster_size=2, min_samples=1, metric="precomputed", copy=True
    ).fit_predict(distances)
    assert same_groups(tree_labels(multiway_tree(mutual_reachability(distances, 1))), expected)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 25), st.booleans())
def test_groups_do_not_depend_on_the_order(seed, n, coarse):
    """Also with heavy ties, where a binary tree does."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    distances = cdist(
        np.round(points) if coarse else points, np.round(points) if coarse else points
    )
    order = rng.permutation(n)
    shuffled = density_groups(distances[np.ix_(order, order)])
    assert same_groups(shuffled, density_groups(distances)[order])


def test_groups_of_identical_spaces():
    """Distances of zero: two heaps are two groups, one heap is one."""
    heaps = np.abs(np.subtract.outer([0, 0, 0, 1, 1, 1.0], [0, 0, 0, 1, 1, 1.0]))
    assert density_groups(heaps).tolist() == [0, 0, 0, 1, 1, 1]
    assert density_groups(np.zeros((5, 5))).tolist() == [0] * 5
    assert density_groups(np.zeros((1, 1))).tolist() == [0]


def test_where_all_is_noise_the_fence_finds_the_outlier():
    """A ring, in which no part is denser than another, and one point far away."""
    angle = 2 * np.pi * np.arange(12) / 12
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.vstack([ring, [[40.0, 0.0]]])
    groups = density_groups(cdist(points, points))
    assert groups.tolist() == [0] * 12 + [-1]


def test_dbscan_has_no_fence():
    correlation = np.eye(4)
    assert correlation_groups(correlation, method="dbscan").tolist() == [-1] * 4
    correlation[0, 1] = correlation[1, 0] = 0.95
    assert correlation_groups(correlation, method="dbscan", eps=0.1).tolist() == [0, 0, -1, -1]


def test_small_groups_stay_whole_and_large_ones_divide():
    levels = np.r_[np.zeros(4), np.full(4, 50.0), 1000.0]
    scores = levels[:, None] + np.random.default_rng(0).normal(size=(9, 3))
    assert len(set(score_subgroups(scores, np.zeros(9, dtype=int)))) == 3
    assert set(score_subgroups(scores[:5], np.zeros(5, dtype=int))) == {0}
    mixed = score_subgroups(scores, np.array([0, 0, 0, 0, 1, 1, 1, 1, -1]))
    assert mixed.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, -1]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12))
def test_pagerank_equals_networkx_iterated_to_the_end(seed, n):
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    edges += edges.T
    found = nx.pagerank(nx.from_numpy_array(edges), alpha=0.9, tol=1e-14, max_iter=10_000)
    np.testing.assert_allclose(pagerank(edges), [found[i] for i in range(n)], atol=1e-10)
    # The authors' iteration stops early, or gives up and weighs all alike.
    early = link_weights(edges, compat="paper")
    gave_up = np.allclose(early, 1 / n)
    assert gave_up or np.abs(early - pagerank(edges)).sum() < n * 1e-5


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12))
def test_authority_is_the_limit_of_the_iteration(seed, n):
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((n, n)), 1)
    edges += edges.T
    # Squaring the step forty times is a thousand thousand million iterations.
    steps = edges @ edges
    for _ in range(40):
        steps = steps @ steps
        steps /= steps.sum()
    value = steps.sum(axis=1) / steps.sum()
    np.testing.assert_allclose(authority(edges), value, atol=1e-6)


def test_weights_without_edges_are_equal():
    for link in ("pagerank", "hits"):
        np.testing.assert_allclose(link_weights(np.zeros((4, 4)), link), 0.25)
        np.testing.assert_allclose(link_weights(np.zeros((1, 1)), link), 1.0)
