import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from kindset.deep._graph import (
    Graph,
    cluster_means,
    first_clusters,
    linked_clusters,
    neighbor_graph,
)


@pytest.mark.parametrize("memory", [1024, 0.01])
def test_neighbours_are_those_of_scikit_learn(memory):
    points = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)
    with config_context(working_memory=memory):
        graph = neighbor_graph(points, 5)
    distances, neighbors = NearestNeighbors(n_neighbors=5).fit(points).kneighbors()
    np.testing.assert_array_equal(graph.neighbors, neighbors)
    squares = distances**2
    np.testing.assert_allclose(graph.weights, np.exp(-squares / squares.mean()), rtol=1e-5)


def test_far_from_the_origin():
    points = np.random.default_rng(0).normal(size=(100, 3))
    near, far = neighbor_graph(points, 4), neighbor_graph(points + 1e4, 4)
    np.testing.assert_array_equal(near.neighbors, far.neighbors)


def test_equal_points_are_linked_in_their_order():
    graph = neighbor_graph(np.zeros((5, 2)), 20)
    np.testing.assert_array_equal(graph.neighbors[0], [1, 2, 3, 4])
    np.testing.assert_array_equal(graph.weights, 1)


def test_reversed_edges():
    graph = Graph(np.array([[1], [2], [1]]), np.array([[0.5], [0.25], [0.125]]))
    first, sources, weights = graph.reversed()
    assert first.tolist() == [0, 0, 2, 3]
    assert sources.tolist() == [0, 2, 1]
    assert weights.tolist() == [0.5, 0.125, 0.25]


def test_links_make_clusters():
    assert linked_clusters(np.array([1, 0, 3, 2, 3])).tolist() == [0, 0, 1, 1, 1]


@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.integers(0, 99))
def test_means(numbers, seed):
    labels = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    points = np.random.default_rng(seed).normal(size=(len(labels), 2))
    plain = [points[labels == k].mean(axis=0) for k in range(labels.max() + 1)]
    np.testing.assert_allclose(cluster_means(points, labels), plain, atol=1e-12)


def test_first_clusters_are_enough():
    points = np.random.default_rng(0).normal(size=(20, 2))
    graph = neighbor_graph(points, 5)
    assert first_clusters(points, graph, 3).max() + 1 >= 3
    assert first_clusters(points, graph, 20).tolist() == list(range(20))


def test_first_clusters_fit_into_memory():
    points = np.random.default_rng(0).normal(size=(2000, 2))
    graph = neighbor_graph(points, 5)
    free = first_clusters(points, graph, 3)
    with config_context(working_memory=0.1):  # a table of 114 by 114
        few = first_clusters(points, graph, 3)
    assert 3 <= few.max() + 1 <= 114 < free.max() + 1
    # What was together stays together.
    assert len(np.unique(np.stack([free, few]), axis=1).T) == free.max() + 1
