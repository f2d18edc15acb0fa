import numpy as np
import pandas as pd
import pytest

import kindset.evaluation
from kindset._arrays import check_range, check_space
from kindset.evaluation import (
    INDICES,
    EvidenceWarning,
    adjusted_rand,
    calinski_harabasz,
    score_matrix,
    silhouette,
)
from kindset.evaluation._labels import Partitions, encode_labels
from kindset.evaluation._spaces import Space
from kindset.exceptions import InputError
from kindset.runs import Run

X = np.random.default_rng(0).normal(size=(8, 2))
LABELS = np.array([0, 0, 0, 1, 1, 1, 2, 2])


@pytest.mark.parametrize(
    "labels", [[3, 3, 7], ["b", "b", "c"], [1.0, 1.0, 2.0], [True, True, False]]
)
def test_any_kind_of_label_is_encoded(labels):
    codes, k = encode_labels(labels)
    assert k == 2
    assert codes[0] == codes[1] != codes[2]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, np.nan], "NaN"),
        ([0.5, 1, 2], "fractions"),
        (np.array([0, None, 1], dtype=object), "missing"),
        ([[0, 1], [1, 0]], "shape"),
        ([], "shape"),
        ([0, 1], "2 labels .* 3 points"),
        ([0, -1, -1], "2 noise points .*drop.*singletons"),
        ([0, -1, -2], "noise"),
        (np.array([0, -1, 1], dtype=object), "1 noise points"),
        (["0", "-1", "1"], "1 noise points"),
        (np.array([0, "a", 1], dtype=object), "several kinds"),
        ([0, 1j, 1], "complex"),
    ],
)
def test_bad_labels_are_named(labels, message):
    with pytest.raises(InputError, match=f"run 7.*{message}"):
        encode_labels(labels, n_samples=3, name="run 7")


def test_labels_below_minus_one_are_refused():
    with pytest.raises(InputError, match="below -1"):
        encode_labels([0, -1, -2], noise="drop")


def test_noise_is_dropped_or_made_singletons():
    labels = [4, -1, 4, 6, -1]
    dropped, k = encode_labels(labels, noise="drop")
    assert k == 2
    assert dropped.tolist() == [0, -1, 0, 1, -1]
    alone, k = encode_labels(labels, noise="singletons")
    assert k == 4
    assert len(set(alone[[1, 4]]) | {alone[0], alone[3]}) == 4


def test_unknown_noise_option():
    with pytest.raises(InputError, match="noise='ignore'"):
        silhouette(X, LABELS, noise="ignore")


@pytest.mark.parametrize("index", ["silhouette", "calinski_harabasz", "dunn", "c_index", "cd_bw"])
def test_dropping_noise_equals_leaving_the_points_out(index, blobs):
    X, labels = blobs(n=50)
    other = (labels + (np.arange(50) % 7 == 0)) % 3
    noisy = np.where(np.arange(50) % 5 == 0, -1, labels)
    got = score_matrix([X], [noisy, other], index=index, noise="drop")[0]
    keep = noisy >= 0
    assert got[0] == pytest.approx(score_matrix([X[keep]], [labels[keep]], index=index)[0, 0])
    assert got[1] == pytest.approx(score_matrix([X], [other], index=index)[0, 0])


def test_noise_as_singletons_adds_clusters():
    noisy = LABELS.copy()
    noisy[[0, 7]] = -1
    renamed = LABELS.copy()
    renamed[[0, 7]] = [8, 9]
    assert calinski_harabasz(X, noisy, noise="singletons") == calinski_harabasz(X, renamed)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (np.where(np.arange(16).reshape(8, 2) == 5, np.nan, X), "row 2"),
        (np.where(np.arange(16).reshape(8, 2) == 9, np.inf, X), "row 4"),
        (X[:5], "5 points where 8 are expected"),
        (X[None], "shape"),
        (X[:, :0], "shape"),
        (np.array([["a", "b"]] * 8), "not numeric"),
        (np.array([["1", "2"]] * 8), "not numeric but holds text"),
        (np.array([["1", 2]] * 8, dtype=object), "not numeric but holds text"),
        (X * 1j, "complex"),
    ],
)
def test_bad_spaces_are_named(space, message):
    with pytest.raises(InputError, match=f"space 1 .*{message}"):
        score_matrix([X, space], [LABELS])


def test_one_point_is_refused():
    with pytest.raises(InputError, match="1 point"):
        score_matrix([X[:1]], [LABELS[:1]])


def test_one_array_is_not_a_list_of_spaces():
    with pytest.raises(InputError, match=r"\[X\]"):
        score_matrix(X, [LABELS])


@pytest.mark.parametrize(("spaces", "partitions"), [([], [LABELS]), ([X], [])])
def test_nothing_to_score(spaces, partitions):
    with pytest.raises(InputError, match="at least one"):
        score_matrix(spaces, partitions)


def test_select_keeps_clusters_apart():
    stacked = Partitions.stack([[0, 0, 1], [0, 1, 2], [1, 1, 1]], n_samples=3)
    part = stacked.select(np.array([1, 2]))
    assert part.offsets.tolist() == [0, 3, 4]
    assert part.sizes.tolist() == [1, 1, 1, 3]


def test_cosine_space_keeps_the_origin():
    space = Space.prepare(np.array([[0.0, 0.0], [3.0, 4.0]]), "cosine")
    assert space.X.tolist() == [[0, 0], [0.6, 0.8]]


def test_names_of_clusters_do_not_change_a_digit():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 3))
    labels = rng.integers(0, 5, size=60)
    renamed = [np.array(list("qxbma"))[labels], 7 * labels[::-1][::-1] + 3, 4 - labels]
    for index in INDICES:
        scores = score_matrix([points], [labels, *renamed], index=index)[0]
        assert (scores == scores[0]).all(), index


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e200, 1e300])
def test_any_unit_of_measurement(scale):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3)) + 3
    labels = rng.integers(0, 3, size=40)
    for index, metrics in ((index, INDICES[index].metrics) for index in INDICES):
        for metric in metrics:
            here = score_matrix([points], [labels], index=index, metric=metric)
            there = score_matrix([points * scale], [labels], index=index, metric=metric)
            if index == "cd_bw":  # the one index that has a unit
                assert np.isfinite(there).all()
            else:
                np.testing.assert_allclose(there, here, rtol=1e-9, err_msg=f"{index} {metric}")


@pytest.mark.parametrize("index", ["davies_bouldin", "s_dbw", "calinski_harabasz"])
def test_all_points_alone_is_never_the_best(index):
    alone = np.arange(len(X))
    with pytest.warns(EvidenceWarning, match="No score for partition 1"):
        scores = score_matrix([X], [LABELS, alone, LABELS[::-1]], index=index)[0]
    assert scores[1] == scores.min()
    with pytest.raises(InputError, match=r"not defined where .*cluster of its own"):
        getattr(kindset.evaluation, index)(X, alone)


@pytest.mark.parametrize(
    "labels",
    [
        [1, 0, 1], [1.0, 0.0, 1.0], ["b", "a", "b"], [True, False, True],
        np.array([True, False, True], dtype=object), pd.Series([1, 0, 1], dtype="Int64"),
        pd.Series(["b", "a", "b"]), pd.Series(["b", "a", "b"], dtype="category"),
        pd.Categorical(["b", "a", "b"]), pd.Categorical([7, 2, 7]), pd.Series([True, False, True]),
        np.array([np.True_, np.False_, np.True_], dtype=object), np.array([[1], [0], [1]]),
    ],
)  # fmt: skip
def test_labels_of_every_kind_everywhere(labels):
    codes, n_clusters = encode_labels(labels)
    assert (codes.tolist(), n_clusters) == ([0, 1, 0], 2)
    run = Run(labels)
    assert run.labels.dtype == np.int64
    assert run.n_clusters == 2
    assert run.labels[0] == run.labels[2] > run.labels[1]
    assert adjusted_rand(labels, [5, 6, 5]) == 1


@pytest.mark.parametrize(
    "labels", [pd.Categorical(["a", None]), pd.Series([1, None], dtype="Int64")]
)
def test_missing_labels_are_refused(labels):
    with pytest.raises(InputError, match="every point needs a label"):
        Run(labels)


def test_the_number_of_points_that_is_needed():
    with pytest.raises(InputError, match=r"0 point\(s\); at least 1 is needed"):
        check_space(np.empty((0, 2)), minimum=1)
    with pytest.raises(InputError, match=r"1 point\(s\); at least 2 are needed"):
        check_space([[1.0]])


class TestRange:
    @pytest.mark.parametrize("value", [1e151, -1e200, 1e308])
    def test_too_large(self, value):
        X = np.ones((3, 2))
        X[2, 1] = value
        with pytest.raises(InputError, match=r"data holds .* in row 2, column 1; rescale"):
            check_range(X, "data")

    def test_too_close(self):
        X = np.array([[0.0], [1e-160]])
        with pytest.raises(InputError, match="differ by more than 1e-160"):
            check_range(X)
        check_range(X, spread=False)

    @pytest.mark.parametrize(
        "X", [np.ones((3, 2)), np.array([[1e149], [-1e149]]), np.empty((0, 2))]
    )
    def test_all_else_passes(self, X):
        check_range(X)
