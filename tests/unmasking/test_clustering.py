import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import cut_tree, dendrogram, is_valid_linkage
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kindset.evaluation import adjusted_rand, clustering_accuracy
from kindset.exceptions import InputError
from kindset.unmasking import UnmaskingClustering, _pairs, unmask


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(400, n_features=20, centers=4, cluster_std=3.0, random_state=1)


NAMES = list("abcdefghijklmnopqrst")

WAYS = {
    "default": {},
    "spectral": {"cut": "spectral"},
    "random cells": {"init": "random", "n_initial": 24},
    "matching": {"linkage": "greedy", "scoring": "shrunk"},
    "nearest": {"linkage": "greedy", "merging": "nearest", "scoring": "balanced"},
    "mutual": {"linkage": "greedy", "merging": "mutual", "scoring": "margin"},
    "ridge": {"classifier": "ridge", "C": 0.1},
    "logistic": {"classifier": "logistic", "scoring": "shrunk"},
    "one division": {"n_divisions": 1},
    "one iteration": {"n_iterations": 1, "cross_fit": False},
    "centroid": {"assign": "centroid"},
    "all pairs": {"n_candidates": None, "max_per_cluster": None, "n_removed": 1},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_finds_blobs(way, blobs):
    X, y = blobs
    model = UnmaskingClustering(4, random_state=0, **WAYS[way]).fit(X)
    assert adjusted_rand(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.division_sizes_.sum() == len(model.cell_labels_) == len(model.cell_centers_)
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all()
    n_cells = model.division_sizes_[0]
    assert is_valid_linkage(model.merge_tree_)
    assert model.merge_scores_.shape == (n_cells - 1,)
    assert model.curves_.shape == (n_cells - 1, model.n_iterations)
    assert ((model.curves_ >= 0) & (model.curves_ <= 1)).all()
    assert len(dendrogram(model.merge_tree_, no_plot=True)["leaves"]) == n_cells
    cut = cut_tree(model.merge_tree_, n_clusters=4)[:, 0]
    if len(model.division_sizes_) == 1:
        assert adjusted_rand(cut, model.cell_labels_) == 1
    np.testing.assert_allclose(
        model.transform(X)[:5], np.linalg.norm(X[:5, None] - model.cluster_centers_, axis=2)
    )


@pytest.mark.parametrize("options", [{}, {"linkage": "greedy"}])
def test_result_does_not_depend_on_workers(options, digits):
    X = digits[0][:600]
    one, two = (
        UnmaskingClustering(10, random_state=3, n_jobs=n_jobs, **options).fit(X)
        for n_jobs in (1, 2)
    )
    for name in ("labels_", "merge_tree_", "merge_scores_", "curves_", "cell_centers_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_digits(digits):
    X, y = digits
    model = UnmaskingClustering(10, random_state=0).fit(X.astype(np.float32))
    assert clustering_accuracy(y, model.labels_) > 0.75
    assert model.cluster_centers_.dtype == np.float32


@pytest.mark.parametrize("cut", ["modularity", "spectral"])
def test_number_of_clusters_can_be_found(cut, blobs):
    X, y = blobs
    model = UnmaskingClustering(None, cut=cut, random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand(y, model.labels_) > 0.9


def test_greedy_merging_stops_where_the_score_falls(blobs):
    X, y = blobs
    model = UnmaskingClustering(None, linkage="greedy", random_state=0).fit(X)
    assert 3 <= model.n_clusters_ <= 6
    assert adjusted_rand(y, model.labels_) > 0.6


def test_paper_setting(blobs):
    model = UnmaskingClustering.paper(4, n_initial=20, random_state=0)
    literal = {
        "init": "random", "linkage": "greedy", "merging": "nearest", "scoring": "accuracy",
        "assign": "centroid", "n_candidates": None, "cross_fit": False, "n_initial": 20,
        "n_iterations": 8, "n_clusters": 4,
    }  # fmt: skip
    assert literal.items() <= model.get_params().items()
    assert UnmaskingClustering.paper(4, n_iterations=3).n_iterations == 3
    model.fit(blobs[0])
    np.testing.assert_array_equal(model.predict(blobs[0]), model.labels_)


def test_cells_can_be_given(blobs):
    X, y = blobs
    cells = 10 * y + np.arange(len(y)) % 3  # three cells for each blob
    model = UnmaskingClustering(4, init=cells, random_state=0).fit(X)
    assert len(model.cell_labels_) == 12
    assert adjusted_rand(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    raw = UnmaskingClustering(4, init=cells, consolidate=False, random_state=0).fit(X)
    np.testing.assert_array_equal(raw.labels_, raw.cell_labels_[raw.initial_labels_])
    with pytest.raises(InputError, match="one for each sample"):
        UnmaskingClustering(4, init=cells[:-1]).fit(X)


def test_augmented_images(digits):
    X, y = (part[digits[1] < 3][:90] for part in digits)
    model = UnmaskingClustering(3, init="augment", linkage="greedy", random_state=0).fit(X)
    assert len(model.cell_labels_) == len(model.labels_) == 90
    np.testing.assert_array_equal(model.initial_labels_, np.arange(90))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert clustering_accuracy(y, model.labels_) > 0.6
    with pytest.raises(InputError, match="no square image"):
        UnmaskingClustering(3, init="augment").fit(X[:, :7])
    with pytest.raises(InputError, match="does not hold 64 features"):
        UnmaskingClustering(3, init="augment", image_shape=(7, 9)).fit(X)


def test_curve_of_two_groups(digits):
    X, y = digits
    curve = unmask(X[y == 0], X[y == 1], random_state=0)
    assert curve.shape == (8,)
    assert curve[0] > 0.95 > curve[-1]
    zeros = X[y == 0]
    same = UnmaskingClustering(n_iterations=3, random_state=0).unmask(zeros[::2], zeros[1::2])
    assert np.abs(same - 0.5).max() < 0.2
    with pytest.raises(InputError, match="A has 64 features, B has 63"):
        unmask(X[:5], X[:5, 1:])
    with pytest.raises(ValueError, match="minimum of 2"):
        unmask(X[:1], X[:5])


def test_data_frames_and_pipelines(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=NAMES)
    model = UnmaskingClustering(4, random_state=0).set_output(transform="pandas").fit(frame)
    assert model.feature_names_in_.tolist() == NAMES
    assert list(model.transform(frame).columns) == [f"unmaskingclustering{k}" for k in range(4)]
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert adjusted_rand(y, pipeline.fit_predict(frame)) > 0.9


@pytest.mark.parametrize("options", [{}, {"linkage": "greedy"}, {"init": "random"}])
@pytest.mark.parametrize(
    ("X", "enough"),
    [
        (np.zeros((40, 3)), False),
        (np.repeat(np.eye(3), 9, axis=0), True),
        (np.arange(6.0).reshape(3, 2), False),
        (np.array([[0.0], [1.0]]), False),
        (np.column_stack([np.arange(30) % 2, np.zeros(30)]), True),
    ],
    ids=["constant", "three points", "three samples", "two samples", "one feature"],
)
@pytest.mark.filterwarnings("ignore:There are only")
def test_thin_data(X, enough, options):
    model = UnmaskingClustering(2, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert np.isfinite(model.merge_scores_).all()
    assert model.n_clusters_ == 2 or not enough


def test_too_few_cells_are_reported():
    with pytest.warns(UserWarning, match="only 1 cells .* 1 clusters were found instead of 3"):
        UnmaskingClustering(3, random_state=0).fit(np.zeros((40, 2)))


@pytest.mark.parametrize("linkage", ["graph", "greedy"])
def test_interrupt_leaves_the_model_as_it_was(linkage, blobs, monkeypatch):
    X, _ = blobs
    model = UnmaskingClustering(4, linkage=linkage, random_state=0).fit(X)
    before = model.labels_.copy()
    calls = []

    def stop(*args, **kwargs):
        calls.append(1)
        if len(calls) > (1 if linkage == "greedy" else 0):
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    real = _pairs._kernels.unmask_pairs
    monkeypatch.setattr(_pairs._kernels, "unmask_pairs", stop)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(random_state=1).fit(X)
    np.testing.assert_array_equal(model.labels_, before)
    fresh = UnmaskingClustering(4, linkage=linkage)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X)
    with pytest.raises(AttributeError):
        fresh.labels_  # noqa: B018


def test_progress_goes_to_the_error_stream(blobs, capsys):
    UnmaskingClustering(4, random_state=0, verbose=1).fit(blobs[0])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Cells" in shown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number from 1 or None, got 0"),
        ({"n_clusters": 500}, "n_samples=400 should be >= n_clusters=500"),
        ({"n_initial": 2.5}, "n_initial must be a whole number from 1, got 2.5"),
        ({"n_iterations": 0}, "n_iterations must be a whole number"),
        ({"n_removed": 0}, "n_removed must be a whole number from 1 or None"),
        ({"C": -1}, "C must be a number above 0, got -1"),
        ({"init": "grid"}, "init must be one of 'kmeans', 'random', 'augment', or the cell"),
        ({"classifier": "tree"}, "classifier must be one of 'svm', 'ridge', 'logistic'"),
        ({"scoring": "f1"}, "scoring must be one of"),
        ({"linkage": "ward"}, "linkage must be one of 'graph', 'greedy'"),
        ({"cut": "metis"}, "cut must be one of"),
        ({"merging": "all"}, "merging must be one of"),
        ({"assign": "knn"}, "assign must be one of 'cell', 'centroid'"),
        ({"n_candidates": 0}, "n_candidates must be a whole number from 1 or None"),
        ({"max_per_cluster": 2}, "max_per_cluster must be a whole number from 4 or None"),
        ({"init": "augment", "augmentations": ("mirror",), "image_shape": (4, 5)}, "names among"),
        ({"n_divisions": 0}, "n_divisions must be a whole number from 1, got 0"),
        ({"n_copies": 1}, "n_copies must be a whole number from 3"),
    ],
)
def test_wrong_parameters(options, message, blobs):
    with pytest.raises(InputError, match=message):
        UnmaskingClustering(**{"n_clusters": 4, **options}).fit(blobs[0])


class TestFarFromTheOrigin:
    """Timestamps, coordinates: the offset says nothing, but it takes all digits of a square."""

    @pytest.mark.parametrize(
        "options", [{}, {"assign": "centroid"}, {"linkage": "greedy"}, {"init": "random"}]
    )
    def test_clusters_are_found_all_the_same(self, blobs, options):
        X, y = blobs
        model = UnmaskingClustering(4, random_state=0, **options).fit(X + 1.7e9)
        if "linkage" not in options:  # greedy merging does not find these clusters anywhere
            assert adjusted_rand(y, model.labels_) > 0.95
        assert model.n_clusters_ == len(np.unique(model.labels_))
        np.testing.assert_array_equal(model.predict(X + 1.7e9), model.labels_)
        near = UnmaskingClustering(4, random_state=0, **options).fit(X - X.mean(axis=0))
        np.testing.assert_array_equal(model.labels_, near.labels_)
        np.testing.assert_allclose(
            model.transform(X + 1.7e9), near.transform(X - X.mean(axis=0)), atol=1e-5
        )

    def test_centres_are_points_of_the_data(self, blobs):
        X = blobs[0] + 1.7e9
        model = UnmaskingClustering(4, random_state=0).fit(X)
        for k, center in enumerate(model.cluster_centers_):
            np.testing.assert_allclose(center, X[model.labels_ == k].mean(axis=0), rtol=1e-13)

    def test_one_far_column_among_others(self, blobs):
        X = np.column_stack([blobs[0], np.full(len(blobs[0]), 1.7e9)])
        model = UnmaskingClustering(4, random_state=0).fit(X)
        assert adjusted_rand(blobs[1], model.labels_) > 0.95

    def test_ordinary_data_are_not_moved(self, blobs):
        assert not UnmaskingClustering(4, random_state=0).fit(blobs[0]).offset_.any()

    def test_a_single_pair(self, blobs):
        X, y = blobs
        one, two = X[y == 0], X[y == 1]
        middle = np.concatenate([one, two]).mean(axis=0)
        np.testing.assert_array_equal(
            unmask(one + 1.7e9, two + 1.7e9, random_state=0),
            unmask(one - middle, two - middle, random_state=0),
        )

    def test_images(self):
        images = np.random.default_rng(0).random((12, 16))
        images -= images.mean(axis=0)
        model = UnmaskingClustering(2, init="augment", random_state=0)
        near = model.fit(images).labels_
        np.testing.assert_array_equal(model.fit(images + 2.0**20).labels_, near)
        np.testing.assert_array_equal(model.predict(images + 2.0**20), near)


class TestExtremeNumbers:
    @pytest.mark.parametrize("scale", [1e-140, 1e-20, 1e20, 1e140])
    def test_any_scale_that_can_be_squared(self, blobs, scale):
        model = UnmaskingClustering(4, random_state=0).fit(blobs[0] * scale)
        assert adjusted_rand(blobs[1], model.labels_) > 0.95
        assert np.isfinite(model.curves_).all()

    def test_too_large(self, blobs):
        with pytest.raises(InputError, match=r"X holds .*e\+20\d in row \d+, column \d+; rescale"):
            UnmaskingClustering(4).fit(blobs[0] * 1e200)

    def test_too_large_to_predict(self, blobs):
        model = UnmaskingClustering(4, random_state=0).fit(blobs[0])
        with pytest.raises(InputError, match="rescale it to numbers up to"):
            model.predict(blobs[0] * 1e200)

    def test_too_small(self, blobs):
        with pytest.raises(InputError, match=r"differ by more than .*e-\d+; rescale"):
            UnmaskingClustering(4).fit(blobs[0] * 1e-200)

    def test_single_precision_has_its_own_limits(self, blobs):
        with pytest.raises(InputError, match=r"rescale it to numbers up to 1e\+15"):
            UnmaskingClustering(4).fit((blobs[0] * 1e20).astype(np.float32))


@pytest.mark.filterwarnings("ignore:.*clusters were found")
@pytest.mark.parametrize("assign", ["cell", "centroid"])
@pytest.mark.parametrize("seed", range(8))
def test_no_cluster_is_empty(assign, seed):
    """With few samples and noise, votes and centroids take all samples from some clusters."""
    X = np.random.default_rng(seed).normal(size=(40, 3))
    model = UnmaskingClustering(
        9, assign=assign, init="random", n_initial=20, n_iterations=2, random_state=seed
    ).fit(X)
    sizes = np.bincount(model.labels_)
    assert len(sizes) == model.n_clusters_ == len(model.cluster_centers_)
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()
    assert set(model.cell_labels_) <= set(range(model.n_clusters_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
