import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kindset.deep import _merging as merging
from kindset.deep._agglomeration import agglomerate
from kindset.deep._graph import Graph, cluster_means, first_clusters, neighbor_graph
from kindset.deep._merging import Merges, merge_clusters
from kindset.evaluation import adjusted_rand


def affinities(graph, labels, alive):
    """Return the definition: T = ((W'L) * (WL))' L, over squared sizes, both ways."""
    n = len(labels)
    W = np.zeros((n, n))
    W[np.arange(n)[:, None], graph.neighbors] = graph.weights
    L = (labels[:, None] == alive).astype(float)
    A = ((W.T @ L) * (W @ L)).T @ L / L.sum(axis=0)[:, None] ** 2
    A += A.T
    np.fill_diagonal(A, 0)
    return A


def plain_merging(points, graph, labels, n_merges, n_clusters, n_local=5, local_above=100):
    """Merge by computing everything anew each time."""
    labels = labels.copy()
    for _ in range(n_merges):
        alive, sizes = np.unique(labels, return_counts=True)
        A = affinities(graph, labels, alive)
        top = -np.sort(-A, axis=1)
        score = top[:, 0].copy()
        if len(alive) > local_above:
            top = np.pad(top, ((0, 0), (0, n_local)))
            score += (top[:, :1] - top[:, 1:n_local]).sum(axis=1) / (n_local - 1)
        means = cluster_means(points, np.searchsorted(alive, labels))
        isolated = np.flatnonzero(top[:, 0] == 0)
        if len(isolated) and len(alive) > 20 * n_clusters:
            i = isolated[0]
            j = nearest(means, i)
        elif top.max() == 0:
            i = sizes.argmin()
            j = nearest(means, i)
        else:
            i = score.argmax()
            j = A[i].argmax()
        a, b = (i, j) if (sizes[i], -i) > (sizes[j], -j) else (j, i)
        labels[labels == alive[b]] = alive[a]
    return labels


def nearest(means, i):
    distances = ((means - means[i]) ** 2).sum(axis=1)
    distances[i] = np.inf
    return distances.argmin()


def blobs(seed, n_samples, n_centres=6, n_features=3):
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 3, size=(n_centres, n_features))
    return centres[rng.integers(n_centres, size=n_samples)] + rng.normal(
        size=(n_samples, n_features)
    )


@pytest.mark.parametrize("n_left", [130, 60, 10])
def test_as_by_the_definition(n_left):
    points = blobs(0, 500)
    graph = neighbor_graph(points, 10)
    labels = first_clusters(points, graph, 10)
    n_merges = labels.max() + 1 - n_left
    assert labels.max() + 1 > 130
    merges = merge_clusters(points, graph, labels, n_merges, n_clusters=10)
    plain = plain_merging(points, graph, labels, n_merges, 10)
    assert adjusted_rand(merges.after(n_merges), plain) == 1


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(8, 40), st.integers(1, 6), st.integers(2, 5))
def test_small_graphs_as_by_the_definition(seed, n_samples, n_neighbors, n_local):
    """Few neighbours leave clusters without affinity, and graphs that fall apart."""
    points = blobs(seed, n_samples)
    graph = neighbor_graph(points, n_neighbors)
    labels = np.arange(n_samples)
    n_merges = n_samples - 1
    merges = merge_clusters(points, graph, labels, n_merges, n_clusters=1, n_local=n_local)
    plain = plain_merging(points, graph, labels, n_merges // 2, 1, n_local)
    assert adjusted_rand(merges.after(n_merges // 2), plain) == 1
    assert merges.after(n_merges).max() == 0
    assert (merges.kept != merges.joined).all()


def test_local_structure_counts_among_many(monkeypatch):
    points = blobs(1, 60)
    graph = neighbor_graph(points, 6)
    labels = np.arange(60)
    monkeypatch.setattr(merging, "_LOCAL_ABOVE", 20)
    merges = merge_clusters(points, graph, labels, 50, n_clusters=10)
    plain = plain_merging(points, graph, labels, 50, 10, local_above=20)
    assert adjusted_rand(merges.after(50), plain) == 1


def test_the_table_is_that_of_the_definition():
    points = blobs(2, 80)
    graph = neighbor_graph(points, 7)
    labels = np.random.default_rng(0).integers(9, size=80)
    table = np.zeros((9, 9))
    merging._fill_table(table, labels, graph.neighbors, graph.weights, *graph.reversed())
    sizes = np.bincount(labels)
    both = table / sizes[:, None] ** 2
    both += both.T
    np.fill_diagonal(both, 0)
    np.testing.assert_allclose(both, affinities(graph, labels, np.arange(9)), rtol=1e-12)


def test_replay_of_merges():
    merges = Merges(np.array([1, 2]), np.array([0, 1]), np.array([0, 1, 2, 3]))
    assert merges.after(0).tolist() == [0, 1, 2, 3]
    assert merges.after(1).tolist() == [0, 0, 1, 2]
    assert merges.after(2).tolist() == [0, 0, 0, 1]


class TestAgglomeration:
    def test_blobs_with_outliers(self):
        """Three pairs of outliers must not take the places of clusters."""
        rng = np.random.default_rng(1)
        centres = np.repeat([[0.0, 0], [5, 0], [0, 5]], 60, axis=0)
        outliers = np.repeat([[60.0, 60], [-60, 60], [60, -60]], 2, axis=0)
        points = np.concatenate([centres, outliers])
        points += rng.normal(size=points.shape)
        truth = np.repeat([0, 1, 2], 60)
        ruled = agglomerate(points, 3, n_neighbors=10)
        assert adjusted_rand(ruled[:180], truth) == 1
        assert np.bincount(ruled).min() >= 60
        plain = agglomerate(points, 3, n_neighbors=10, min_cluster_fraction=0)
        assert np.bincount(plain).min() == 2

    @pytest.mark.parametrize("n_clusters", [1, 2, 19, 20])
    def test_any_number(self, n_clusters):
        points = np.random.default_rng(0).normal(size=(20, 3))
        assert len(np.unique(agglomerate(points, n_clusters))) == n_clusters

    def test_equal_points(self):
        labels = agglomerate(np.repeat([[0.0, 0], [1, 1]], 30, axis=0), 2)
        assert labels.tolist() == [0] * 30 + [1] * 30

    def test_a_graph_that_falls_apart(self):
        points = np.array([[0.0], [0.1], [5], [5.1], [6], [6.1], [50], [50.1]])
        labels = agglomerate(points, 2, n_neighbors=1, min_cluster_fraction=0)
        assert labels.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def test_no_merge_at_all():
    points = np.random.default_rng(0).normal(size=(4, 2))
    graph = Graph(np.array([[1], [0], [3], [2]]), np.ones((4, 1)))
    merges = merge_clusters(points, graph, np.arange(4), 0, n_clusters=4)
    assert merges.after(0).tolist() == [0, 1, 2, 3]
