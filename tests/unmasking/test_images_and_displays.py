import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.pipeline import make_pipeline

from kindset.evaluation import clustering_accuracy
from kindset.exceptions import InputError
from kindset.unmasking import (
    AUGMENTATIONS,
    BagOfVisualWords,
    CellDendrogramDisplay,
    ClusterImageDisplay,
    MergeScoreDisplay,
    UnmaskingClustering,
    UnmaskingCurveDisplay,
    augment_images,
)


@pytest.fixture(autouse=True)
def close_figures():
    mpl.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def model():
    X, _ = make_blobs(200, n_features=16, centers=3, random_state=0)
    return UnmaskingClustering(3, n_iterations=3, random_state=0).fit(X)


@pytest.mark.parametrize("name", AUGMENTATIONS)
@pytest.mark.parametrize("shape", [(9, 12), (9, 12, 3)])
def test_every_transformation_keeps_the_shape(name, shape):
    image = np.random.default_rng(0).random(shape)
    out = AUGMENTATIONS[name](image, np.random.RandomState(0))
    assert out.shape == shape
    assert np.isfinite(out).all()
    assert not np.array_equal(out, image)


def test_a_flat_image_stays_flat_but_for_its_brightness():
    for name in ("noise", "rotation", "crop", "horizontal_flip", "vertical_flip"):
        out = AUGMENTATIONS[name](np.full((6, 6), 2.0), np.random.RandomState(0))
        np.testing.assert_allclose(out, 2.0)


def test_copies_follow_their_image():
    images = load_digits().images[:4]
    out, origin = augment_images(images, 5, transformations=("noise", "crop"), random_state=0)
    assert out.shape == (24, 8, 8)
    np.testing.assert_allclose(out[::6], images)
    assert origin.tolist() == np.repeat(np.arange(4), 6).tolist()
    again, _ = augment_images(images, 5, transformations=("noise", "crop"), random_state=0)
    np.testing.assert_array_equal(out, again)


def test_wrong_images():
    with pytest.raises(InputError, match="must have shape"):
        augment_images(np.zeros((3, 4)))
    with pytest.raises(InputError, match="names among"):
        augment_images(np.zeros((3, 4, 4)), transformations=("blur",))
    with pytest.raises(InputError, match="too small"):
        BagOfVisualWords().fit(np.zeros((3, 8, 8)))
    with pytest.raises(InputError, match="needs images with channels"):
        BagOfVisualWords(color=True).fit(np.zeros((3, 40, 40)))
    with pytest.raises(InputError, match="too few for 500 words"):
        BagOfVisualWords().fit(np.zeros((3, 20, 20)))
    with pytest.raises(InputError, match="NaN"):
        BagOfVisualWords(5).fit(np.full((3, 20, 20), np.nan))


def textures(n=12):
    rng = np.random.default_rng(0)
    rows = np.tile([[0.0], [0.0], [1.0], [1.0]], (n, 10, 40))
    return np.concatenate([rows, rows.transpose(0, 2, 1), rng.random((n, 40, 40))]) + 0.1 * (
        rng.random((3 * n, 40, 40))
    )


def test_visual_words_tell_textures_apart_in_a_pipeline():
    pipeline = make_pipeline(
        BagOfVisualWords(30, random_state=0),
        UnmaskingClustering(3, random_state=0),
    )
    labels = pipeline.fit_predict(textures(32))
    assert clustering_accuracy(np.repeat(np.arange(3), 32), labels) > 0.9


def test_visual_words():
    images = (255 * np.clip(textures(4), 0, 1)).astype(np.uint8)
    words = BagOfVisualWords(20, root=False, random_state=0)
    shares = words.fit_transform(images)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(words.transform(images), shares)
    np.testing.assert_allclose(words.transform(images / 255), shares)
    assert list(words.get_feature_names_out())[:1] == ["bagofvisualwords0"]
    np.testing.assert_array_equal(
        BagOfVisualWords(20, root=False, random_state=0).fit(images).transform(images), shares
    )
    colors = np.stack([images] * 3, axis=-1)
    assert BagOfVisualWords(20, color=True, random_state=0).fit_transform(colors).shape == (12, 30)


def test_curves():
    display = UnmaskingCurveDisplay({"a $1": np.array([0.9, 0.4]), "b": np.array([1.0, 0.9])})
    axes = display.plot().ax_
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a \\$1", "b"]
    assert axes.get_ylim()[0] < 0.4


def test_dendrogram_colours_follow_the_clusters(model):
    display = CellDendrogramDisplay.from_estimator(model)
    colors = display._node_colors()
    assert len(colors) == 2 * model.division_sizes_[0] - 1
    assert colors[-1] == "#8a94a6"  # where clusters meet
    names = {text.get_text() for text in display.ax_.texts}
    assert names == {"0", "1", "2"}


def test_mean_images(model):
    display = ClusterImageDisplay.from_estimator(model)
    assert [axes.get_title().split()[0] for axes in display.axes_] == ["0", "1", "2"]
    wide = ClusterImageDisplay.from_estimator(model, shape=(2, 8))
    assert wide.images.shape == (3, 2, 8)
    with pytest.raises(InputError, match="does not hold 16 features"):
        ClusterImageDisplay.from_estimator(model, shape=(3, 5))


def test_merge_scores(model):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots()
    display = MergeScoreDisplay.from_estimator(model, ax=axes)
    assert display.ax_ is axes
    assert "3 clusters" in axes.texts[0].get_text()
    assert axes.xaxis_inverted()


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_a_refused_vocabulary_changes_nothing(method):
    images = np.random.default_rng(0).random((6, 32, 32))
    words = BagOfVisualWords(n_words=10, random_state=0).fit(images)
    words.set_params(n_words=10_000)
    before = dict(vars(words))
    with pytest.raises(InputError, match="too few for 10000 words"):
        getattr(words, method)(images)
    assert list(vars(words)) == list(before)
    assert all(vars(words)[name] is value for name, value in before.items())
