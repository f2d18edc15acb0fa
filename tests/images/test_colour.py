"""Colours, which no network predicts: least squares, no slope, and clusters that ignore them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from kindset import DTIGaussianMixture, DTIKMeans
from kindset.evaluation import clustering_accuracy
from kindset.images import TRANSFORMATIONS
from kindset.images import _model as network
from kindset.images._model import DTIModel
from kindset.images._objectives import GaussianObjective, KMeansObjective

SHAPE = (3, 6, 5)


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64)


def model_of(objective, transforms=("colour", "affine"), stiffness=0.0):
    """Return a network in double precision whose predictions are not the identity."""
    shape = SHAPE
    torch.manual_seed(0)
    encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(90, 8), torch.nn.Tanh())
    kinds = [TRANSFORMATIONS[name](shape) for name in transforms]
    weight = draw(*shape[1:], seed=3).float()
    criterion = objective(shape, weight / weight.sum(), stiffness)
    model = DTIModel(
        draw(2, *shape).float(), 2, kinds, criterion, encoder,
        torch.Generator().manual_seed(0),
    ).double()  # fmt: skip
    for heads in model.heads:
        torch.nn.init.normal_(heads.outer, std=0.05)
    return model


@pytest.mark.parametrize("by_pair", [False, True])
def test_colours_are_those_of_least_squares(by_pair):
    module = TRANSFORMATIONS["colour"](SHAPE)
    images, x = draw(4, 2, *SHAPE), draw(4, 1, *SHAPE, seed=1)
    weight = draw(4, 2, *SHAPE, seed=2) if by_pair else draw(*SHAPE[1:], seed=2)
    values = module.solve(images, x, weight)
    assert values.shape == (4, 2, 6)
    every = weight.expand(4, 2, *SHAPE).numpy()
    for b, k, c in np.ndindex(4, 2, 3):
        root = np.sqrt(every[b, k, c]).ravel()
        columns = np.stack([images[b, k, c].numpy().ravel(), np.ones(root.size)], axis=1)
        expected, *_ = np.linalg.lstsq(
            root[:, None] * columns, root * x[b, 0, c].numpy().ravel(), rcond=None
        )
        # The ridge that keeps flat images from dividing by nothing is 1e-6 of about 0.08.
        np.testing.assert_allclose(values[b, k, [c, c + 3]], expected, atol=1e-4)


def test_flat_images_have_no_gain():
    module = TRANSFORMATIONS["colour"](SHAPE)
    flat, x = torch.full((1, 1, *SHAPE), 0.3), draw(1, 1, *SHAPE).float()
    values = module.solve(flat, x, torch.ones(SHAPE[1:]))
    assert values.isfinite().all()
    means = x.mean(dim=(-2, -1), keepdim=True).expand_as(x)
    np.testing.assert_allclose(module(flat, values), means, atol=1e-5)
    assert module.reduce(flat[0]).abs().max() < 1e-3


@settings(deadline=None)
@given(gain=st.floats(0.2, 3), offset=st.floats(-1, 1))
def test_what_is_reduced_is_brightness_and_contrast(gain, offset):
    module = TRANSFORMATIONS["colour"](SHAPE)
    x = draw(2, *SHAPE)
    shifted = gain * x + offset * draw(2, 3, 1, 1, seed=1)
    np.testing.assert_allclose(module.reduce(shifted), module.reduce(x), atol=1e-3)


@pytest.mark.parametrize("objective", [KMeansObjective, GaussianObjective])
def test_no_other_colours_are_better(objective):
    model, x = model_of(objective), draw(3, *SHAPE, seed=5)
    model.requires_grad_(requires_grad=False)
    parameters = [one.identity + heads(model.encoder(x)) for one, heads in model.active()]
    energies = model.energies(x, parameters)
    _, (values,) = model.align(x[:, None], model.images(), parameters)
    module = TRANSFORMATIONS["colour"](SHAPE)
    moved = model.transform(model.images(), parameters)
    for i in range(values.shape[-1]):
        for step in (-0.01, 0.01):
            other = values.clone()
            other[..., i] += step
            changed = torch.cat([module(moved[:, :, :3], other), moved[:, :, 3:]], dim=2)
            worse = model.objective.energies(x[:, None], changed, model.prior())
            assert (worse > energies).all()


@pytest.mark.parametrize("objective", [KMeansObjective, GaussianObjective])
def test_gradients_agree_with_finite_differences(objective):
    """Colours count as constants, and the slope is still that of the loss, effort and all."""
    model, x = model_of(objective, stiffness=0.5), draw(3, *SHAPE, seed=5)
    b, g = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1])

    def loss():
        features = model.encoder(x)
        parameters = [one.identity + heads(features) for one, heads in model.active()]
        return model.pair_energies(x, parameters, b, g).sum()

    loss().backward()
    for parameter in (model.prototypes, model.heads[0].outer, *model.extra.values()):
        flat, slope = parameter.data.view(-1), parameter.grad.view(-1)
        for i in range(0, len(flat), max(1, len(flat) // 7)):
            before = float(flat[i])
            values = []
            for step in (-1e-5, 1e-5):
                flat[i] = before + step
                values.append(float(loss().detach()))
            flat[i] = before
            # The ridge leaves a trace of slope.
            assert float(slope[i]) == pytest.approx((values[1] - values[0]) / 2e-5, abs=2e-6)


@pytest.fixture(scope="module")
def coloured(shapes):
    """Stamps of any colour on a ground of any colour."""
    images, labels = shapes
    rng = np.random.default_rng(0)
    front, back = rng.uniform(0, 1, (2, 90, 1, 1, 3))
    return images[..., None] * front + (1 - images[..., None]) * back, labels


@pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])
def test_clusters_do_not_depend_on_colours(kind, coloured):
    images, labels = coloured
    by_colour = KMeans(3, n_init=10, random_state=0).fit_predict(images.reshape(90, -1))
    assert clustering_accuracy(labels, by_colour) < 0.5
    model = kind(3, transforms=("colour", "affine"), n_init=2, max_epochs=200, random_state=0)
    assert clustering_accuracy(labels, model.fit(images).labels_) > 0.65


def test_predictions_do_not_depend_on_gain_and_offset(coloured):
    images, _ = coloured
    model = DTIKMeans(3, transforms=("affine", "colour"), n_init=1, max_epochs=60, random_state=0)
    model.fit(images)
    moved = 0.2 + 0.6 * images
    assert (model.predict(moved) == model.labels_).mean() > 0.97
    np.testing.assert_allclose(model.transform(moved), 0.36 * model.transform(images), atol=2e-4)


def test_parameters_of_colours_are_told(coloured):
    images, _ = coloured
    model = DTIKMeans(3, transforms=("colour", "affine"), n_init=1, max_epochs=20, random_state=0)
    values = model.fit(images).transform_parameters(images[:4])
    assert [one.shape for one in values.values()] == [(4, 3, 6), (4, 3, 6)]
    warped = TRANSFORMATIONS["affine"]((3, 10, 10))(
        torch.from_numpy(model.prototypes_).permute(0, 3, 1, 2), torch.from_numpy(values["affine"])
    )
    aligned = TRANSFORMATIONS["colour"]((3, 10, 10))(warped, torch.from_numpy(values["colour"]))
    np.testing.assert_allclose(model.align(images[:4]), aligned.permute(0, 1, 3, 4, 2), atol=1e-4)


def test_colours_alone(coloured):
    images, _ = coloured
    model = DTIKMeans(3, transforms=("colour",), n_init=2, max_epochs=60, random_state=0)
    model.fit(images)
    assert dict.fromkeys(model.history_.stage) == {"identity": None, "refine": None}
    assert list(model.transform_parameters(images[:2])) == ["colour"]
    np.testing.assert_array_equal(model.predict(images), model.labels_)


@pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])
def test_pure_colours_on_black(kind, shapes):
    """A channel in which a seed is flat must be able to take on a form."""
    images, labels = shapes
    rng = np.random.default_rng(0)
    pure = images[..., None] * np.eye(3)[rng.integers(3, size=90)][:, None, None]
    model = kind(3, transforms=("colour",), n_init=2, max_epochs=100, random_state=0).fit(pure)
    assert model.prototypes_.std(axis=(1, 2)).min() > 0.01
    by_colour = KMeans(3, n_init=10, random_state=0).fit_predict(pure.reshape(90, -1))
    found = clustering_accuracy(labels, model.labels_)
    assert found > clustering_accuracy(labels, by_colour)


def test_work_in_chunks_changes_nothing(monkeypatch):
    model, x = model_of(GaussianObjective, stiffness=0.5), draw(7, *SHAPE, seed=5)
    model.requires_grad_(requires_grad=False)
    parameters = [one.identity + heads(model.encoder(x)) for one, heads in model.active()]
    b, g = torch.arange(7), torch.tensor([0, 1, 1, 0, 0, 1, 0])
    whole, pairs = model.energies(x, parameters), model.pair_energies(x, parameters, b, g)
    monkeypatch.setattr(network, "how_many_at_a_time", lambda images: 3)
    np.testing.assert_allclose(model.energies(x, parameters), whole, rtol=1e-12)
    np.testing.assert_allclose(model.pair_energies(x, parameters, b, g), pairs, rtol=1e-12)
    np.testing.assert_allclose(pairs, whole[b, g], rtol=1e-12)


@pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])
def test_colours_with_optimised_alignment(kind, coloured):
    images = coloured[0][:30]
    model = kind(2, transforms=("affine", "colour"), alignment="optimized", n_init=1, max_epochs=2,
                 random_state=0).fit(images)  # fmt: skip
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    shapes_ = {name: one.shape for name, one in model.transform_parameters(images).items()}
    assert shapes_ == {"affine": (30, 2, 6), "colour": (30, 2, 6)}


@pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])
def test_one_cluster_of_any_colour(kind, coloured):
    images = coloured[0]
    model = kind(1, transforms=("colour",), n_init=1, max_epochs=20, random_state=0).fit(images)
    assert model.inertia_ < kind(1, transforms=(), n_init=1, max_epochs=20).fit(images).inertia_
