import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from kindset.exceptions import InputError
from kindset.images import (
    AlignmentDisplay,
    ClusterDisplay,
    ClusterSelection,
    DTIGaussianMixture,
    DTIKMeans,
    ElbowDisplay,
    EvolutionDisplay,
    PrototypeDisplay,
    TrainingDisplay,
    elbow,
    select_n_clusters,
)

mpl.use("agg")
QUICK = {"transforms": ("affine",), "n_init": 1, "max_epochs": 10, "random_state": 0}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    mpl.pyplot.close("all")


@pytest.fixture(scope="module")
def model(shapes):
    return DTIKMeans(3, **QUICK).fit(shapes[0])


def pictures(figure):
    return sum(len(axes.images) for axes in figure.axes)


def test_prototypes(model):
    display = PrototypeDisplay.from_estimator(model)
    assert pictures(display.figure_) == 3
    assert display.axes_[0].get_title().startswith("1 ")


def test_prototypes_of_a_mixture_have_variances(shapes):
    display = PrototypeDisplay.from_estimator(DTIGaussianMixture(3, **QUICK).fit(shapes[0]))
    assert pictures(display.figure_) == 6


@pytest.mark.parametrize(("most", "words"), [(0.5, "bright where"), (0.0625, "the least allowed")])
def test_variances_that_are_all_the_least_are_said_to_be(most, words):
    variances = np.full((2, 4, 4), 0.0625)
    variances[0, 0, 0] = most
    display = PrototypeDisplay(np.zeros((2, 4, 4)), [1, 2], variances).plot()
    assert words in display.figure_._supxlabel.get_text()


def test_evolution(model):
    display = EvolutionDisplay.from_estimator(model)
    assert display.names[0].startswith("seeds")
    assert display.names[-1].startswith("refine")
    assert pictures(display.figure_) == 3 * len(display.names)


def test_alignment(model, shapes):
    display = AlignmentDisplay.from_estimator(model, shapes[0], n_images=4)
    assert pictures(display.figure_) == 4 * 4
    framed = [axes for axes in display.figure_.axes if axes.axison]
    assert len(framed) == 4
    np.testing.assert_allclose(display.images[[0, -1]], model.pictures(shapes[0][[0, -1]]))
    few = AlignmentDisplay.from_estimator(model, list(shapes[0][:2]))
    assert pictures(few.figure_) == 2 * 4


@pytest.mark.parametrize("which", ["nearest", "farthest", "random"])
def test_clusters(model, shapes, which):
    images, _ = shapes
    display = ClusterDisplay.from_estimator(model, images, which=which, n_examples=5)
    assert pictures(display.figure_) == 3 * (1 + 2 * 5)
    nearest = model.transform(images)[:, 0][model.labels_ == 0]
    errors = ((display.images[0] - display.aligned[0]) ** 2).mean(axis=(1, 2))
    expected = {"nearest": np.sort(nearest)[:5], "farthest": np.sort(nearest)[::-1][:5]}
    if which in expected:
        np.testing.assert_allclose(errors, expected[which], atol=1e-6)


def test_examples_of_lists_and_frames(shapes):
    images, _ = shapes
    frame = pd.DataFrame(images.reshape(90, 100)).add_prefix("p")
    model = DTIKMeans(3, transforms=(), n_init=1, max_epochs=5, random_state=0).fit(frame)
    expected = ClusterDisplay.from_estimator(model, frame, n_examples=2)
    display = ClusterDisplay.from_estimator(model, list(images), n_examples=2)
    np.testing.assert_array_equal(display.images, expected.images)
    np.testing.assert_array_equal(display.aligned, expected.aligned)


def test_unknown_examples(model, shapes):
    with pytest.raises(InputError, match="which must be"):
        ClusterDisplay.from_estimator(model, shapes[0], which="middle")


def test_training(model):
    display = TrainingDisplay.from_estimator(model)
    assert display.axes_[1].get_xlabel() == "step"


def test_elbow_display():
    path = pd.DataFrame({"loss": [9.0, 3.0, 2.8, 2.7]}, index=[1, 2, 3, 4])
    selection = ClusterSelection(path, dict.fromkeys([1, 2, 3, 4]))
    assert selection.n_clusters == 2
    assert ElbowDisplay(selection).plot().ax_.get_xlabel() == "Number of clusters"


def test_select_n_clusters(shapes):
    selection = select_n_clusters(
        shapes[0], [2, 3, 4], estimator=DTIKMeans(**{**QUICK, "transforms": ()})
    )
    assert list(selection.path.index) == [2, 3, 4]
    assert selection.model is selection.models[selection.n_clusters]
    assert "clusters" in str(selection)
    with pytest.raises(InputError, match="at least three"):
        select_n_clusters(shapes[0], [2, 3])


def test_elbow_without_a_bend():
    assert elbow([2, 3, 4], [1.0, 1.0, 1.0]) == 2


@pytest.mark.parametrize("display", [PrototypeDisplay, EvolutionDisplay, TrainingDisplay])
def test_unfitted_models_are_refused(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(DTIKMeans(3))
