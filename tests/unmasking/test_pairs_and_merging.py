import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindset.unmasking import _cells, _graph, _merging, _pairs


def test_scorings_by_hand():
    tests = _pairs.Tests(
        hits=np.array([[[3.0, 1.0]]]),
        margins=np.array([[[2.0, 0.5]]]),
        sizes=np.array([[[4.0, 1]]]),
    )
    want = {
        "accuracy": 4 / 5,
        "balanced": (3 / 4 + 1) / 2,
        "shrunk": (3.5 / 5 + 1.5 / 2) / 2,
        "margin": (2.5 / 5 + 1 / 2) / 2,
    }
    assert {name: score(tests)[0, 0] for name, score in _pairs.SCORINGS.items()} == want


def test_scores_are_one_minus_the_mean_of_the_curves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9))
    rows = np.split(np.arange(60), 3)
    groups = [_pairs.split(part, np.random.RandomState(0)) for part in rows]
    pairs = np.array([[0, 2], [1, 2]])
    unmasking = _pairs.Unmasking(n_iterations=4)
    curves = unmasking.curves(X, groups, pairs)
    np.testing.assert_allclose(unmasking.scores(X, groups, pairs), 1 - curves.mean(axis=1))
    assert unmasking.curves(X, groups, pairs[:0]).shape == (0, 4)


@given(st.integers(2, 40), st.one_of(st.none(), st.integers(4, 12)), st.integers(0, 99))
def test_halves_share_nothing(n, most, seed):
    first, second = _pairs.split(np.arange(n), np.random.RandomState(seed), most)
    assert len(first) - len(second) in (0, 1)
    together = np.concatenate([first, second])
    assert len(np.unique(together)) == len(together) == min(n, most or n)


# Edges from the strongest to the weakest.
EDGES = np.array([[0, 1], [1, 2], [3, 4], [2, 3], [4, 5]])


def test_merge_rules():
    assert _merging.nearest_partners(EDGES).tolist() == [0, 1, 2, 4]
    assert _merging.matched_partners(EDGES).tolist() == [0, 2]
    assert _merging.mutual_partners(EDGES).tolist() == [0, 2]


def test_candidates_are_near_and_never_twice():
    centers = np.array([[0.0], [1.0], [2.1], [10.0]])
    assert _merging.candidate_pairs(centers, 1).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert len(_merging.candidate_pairs(centers, None)) == 6
    assert len(_merging.candidate_pairs(centers, 50)) == 6


def test_only_new_pairs_are_scored_again(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)) + np.repeat(np.arange(8), 10)[:, None] * 2
    members = np.split(np.arange(80), 8)
    seen = []
    real = _pairs.Unmasking.scores

    def spy(self, X, groups, pairs, title=""):
        names = [tuple(np.sort(np.concatenate(group)).tolist()) for group in groups]
        seen.append({(names[i], names[j]) for i, j in pairs})
        return real(self, X, groups, pairs, title)

    monkeypatch.setattr(_pairs.Unmasking, "scores", spy)
    result = _merging.agglomerate(
        X, members, _pairs.Unmasking(n_iterations=2), merging="mutual", n_candidates=None,
        max_size=None, rng=np.random.RandomState(0),
    )  # fmt: skip
    assert len(result.tree) == 7
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_fall_of_the_score():
    scores = np.array([0.5] * 90 + [0.48, 0.47, 0.49, 0.45, 0.44, 0.44, 0.2, 0.19, 0.18])
    assert _merging.largest_fall(scores) == 4
    assert _merging.largest_fall(np.array([0.4])) == 1
    assert _merging.largest_fall(np.empty(0)) == 1


def planted(n_groups=4, size=25, inside=0.4, outside=0.02, seed=0):
    graph = nx.planted_partition_graph(n_groups, size, inside, outside, seed=seed)
    edges = np.array(list(graph.edges))
    scores = np.random.default_rng(seed).uniform(0.2, 0.4, len(edges))
    return _graph.build_graph(n_groups * size, edges, scores), np.repeat(np.arange(n_groups), size)


def test_modularity_is_that_of_networkx():
    graph, truth = planted()
    other = nx.from_scipy_sparse_array(graph)
    sets = [set(np.flatnonzero(truth == k).tolist()) for k in range(4)]
    want = nx.community.modularity(other, sets, weight="weight")
    assert _graph.modularity(graph, truth) == pytest.approx(want)


@pytest.mark.parametrize("cut", _graph.CUTS)
@pytest.mark.parametrize("n_clusters", [4, None])
def test_cuts_find_planted_groups(cut, n_clusters):
    graph, truth = planted()
    labels = _graph.CUTS[cut](graph, n_clusters, np.random.RandomState(0), None)
    assert len(np.unique(labels)) == 4
    assert len({(a, b) for a, b in zip(truth.tolist(), labels.tolist(), strict=True)}) == 4


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_moving_cells_never_costs_modularity(seed, k):
    graph, _ = planted(3, 8, 0.5, 0.2, seed=seed % 50)
    labels = np.random.default_rng(seed).integers(0, k, graph.shape[0])
    better = _graph._improve(graph, labels, seed)
    assert _graph.modularity(graph, better) >= _graph.modularity(graph, labels) - 1e-12
    assert len(np.unique(better)) == len(np.unique(labels))


def test_tree_of_a_graph_joins_each_cluster_first():
    graph, truth = planted()
    tree = _graph.graph_tree(graph, truth)
    labels = _merging.Hierarchy(tree, tree[:, 2], tree[:, :1]).cut(4)
    assert len({(a, b) for a, b in zip(truth.tolist(), labels.tolist(), strict=True)}) == 4


def test_small_cells_are_dissolved():
    X = np.concatenate([np.zeros((6, 2)), np.ones((5, 2)), [[0.1, 0.1], [0.9, 0.9]]])
    labels = np.array([0] * 6 + [1] * 5 + [2, 3])
    cells = _cells.dissolve_small(X, _cells.given_cells(X, labels), 2)
    assert cells.labels.tolist() == [0] * 6 + [1] * 5 + [0, 1]
    assert [len(rows) for rows in cells.members()] == [7, 6]


def test_tiny_cells_stay_where_too_few_would_be_left():
    X = np.arange(12.0)[:, None]
    cells = _cells.dissolve_small(X, _cells.given_cells(X, np.arange(12) // 2), 6)
    assert len(cells) == 6


def test_divisions_are_held_together_by_shared_samples():
    graph, truth = planted()
    cells = _cells.Cells(np.repeat(np.arange(100), 2), np.zeros((100, 1)))
    joined = _graph.join_graphs([graph, graph], [cells, cells])
    assert joined.shape == (200, 200)
    assert joined.sum() == pytest.approx(2 * graph.sum() * (1 + _graph._OVERLAP))
    labels = _graph.modular_cut(joined, 4, np.random.RandomState(0))
    np.testing.assert_array_equal(labels[:100], labels[100:])
    assert len(set(zip(truth.tolist(), labels[:100].tolist(), strict=True))) == 4


@pytest.mark.parametrize(
    ("n_clusters", "n_cells", "sizes"),
    [
        (6, 1000, [12, 24, 36, 48, 6]),
        (25, 1000, [50, 100, 150, 200, 25]),
        (30, 1000, [60, 120, 180, 200, 30]),
        (100, 1000, [200, 400, 100]),
        (100, 150, [150, 100]),
        (3, 3, [3]),
    ],
)
def test_starts_are_several_times_finer_but_not_for_many_clusters(n_clusters, n_cells, sizes):
    assert _graph._start_sizes(n_clusters, n_cells) == sizes


def test_the_majority_decides_and_the_first_of_equals():
    votes = np.array([[1, 2, 2], [3, 1, 2], [0, 0, 5]])
    assert _cells.vote(votes).tolist() == [2, 3, 0]
    assert _cells.vote(votes[:, :1]).tolist() == [1, 3, 0]
