from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from sklearn import metrics

from kindset import evaluation as ev
from kindset.evaluation._external import assignment_table
from kindset.exceptions import InputError

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=30)


@settings(max_examples=60, deadline=None)
@given(LABELS)
def test_accuracy_is_the_best_over_all_namings(pairs):
    true, pred = np.array(pairs).T
    best = max(np.mean(np.array(names)[pred] == true) for names in permutations(range(4)))
    assert ev.clustering_accuracy(true, pred) == pytest.approx(best)
    assert np.mean(ev.match_labels(true, pred) == true) == pytest.approx(best)


@settings(max_examples=40, deadline=None)
@given(LABELS)
def test_agreement_does_not_depend_on_names(pairs):
    true, pred = np.array(pairs).T
    renamed = np.array(["q", "c", "z", "a"])[pred]
    assert ev.normalized_mutual_info(true, renamed) == pytest.approx(
        metrics.normalized_mutual_info_score(true, pred)
    )
    assert ev.adjusted_rand(true, renamed) == pytest.approx(metrics.adjusted_rand_score(true, pred))
    assert ev.clustering_accuracy(true, renamed) == ev.clustering_accuracy(true, pred)


def test_f1_after_matching():
    true = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    pred = np.array([7, 7, 5, 5, 5, 3, 3, 3, 7])
    matched = np.array([0, 0, 1, 1, 1, 2, 2, 2, 0])
    for average in ("macro", "weighted"):
        expected = metrics.f1_score(true, matched, average=average)
        assert ev.matched_f1(true, pred, average=average) == pytest.approx(expected)


def test_clusters_left_over_match_nothing():
    true = [0, 0, 0, 0, 1, 1]
    pred = [0, 0, 0, 2, 1, 1]
    assert ev.match_labels(true, pred).tolist() == [0, 0, 0, 2, 1, 1]
    assert ev.matched_f1(true, pred) == pytest.approx((2 * 3 / 7 + 1) / 2)
    assert ev.clustering_accuracy(true, pred) == pytest.approx(5 / 6)
    assert ev.match_labels(list("aaaabb"), pred).tolist()[3] == "unmatched 1"


def test_fewer_clusters_than_classes():
    assert ev.match_labels([0, 1, 1, 2], [9, 9, 9, 9]).tolist() == [1, 1, 1, 1]
    assert ev.clustering_accuracy([0, 1, 1, 2], [9, 9, 9, 9]) == 0.5


def test_sorted_matching_goes_by_size_alone():
    true = ["big"] * 3 + ["small"] * 2
    pred = [1, 1, 2, 2, 2]
    assert ev.match_labels(true, pred, method="sorted").tolist() == ["small"] * 2 + ["big"] * 3


@settings(max_examples=40, deadline=None)
@given(LABELS, st.sampled_from(["optimal", "sorted"]))
def test_wasserstein_equals_scipy_on_matched_labels(pairs, method):
    true, pred = (np.unique(column, return_inverse=True)[1] for column in np.array(pairs).T)
    matched = ev.match_labels(true, pred, method=method)
    expected = wasserstein_distance(true, matched)
    assert ev.label_wasserstein(true, pred, method=method) == pytest.approx(expected, abs=1e-12)


def test_equal_partitions_are_perfect():
    true, pred = [0, 0, 1, 1, 2], ["c", "c", "a", "a", "b"]
    for measure in (
        ev.clustering_accuracy,
        ev.normalized_mutual_info,
        ev.adjusted_rand,
        ev.matched_f1,
    ):
        assert measure(true, pred) == pytest.approx(1.0)
    assert ev.label_wasserstein(true, pred) == 0


@pytest.mark.parametrize("measure", [ev.clustering_accuracy, ev.adjusted_rand, ev.match_labels])
def test_wrong_lengths(measure):
    with pytest.raises(InputError, match="3 labels and labels_pred 2"):
        measure([0, 1, 1], [0, 1])


def test_unknown_options():
    with pytest.raises(InputError, match="method='greedy'"):
        ev.match_labels([0, 1], [0, 1], method="greedy")
    with pytest.raises(InputError, match="average='micro'"):
        ev.matched_f1([0, 1], [0, 1], average="micro")


def test_assignment_table_puts_matches_on_the_diagonal():
    counts, classes, clusters = assignment_table(list("aabbb"), [9, 9, 4, 4, 9])
    assert counts.tolist() == [[2, 0], [1, 2]]
    assert classes.tolist() == ["a", "b"]
    assert clusters.tolist() == [9, 4]
