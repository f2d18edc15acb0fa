"""The small pieces: networks, targets, triplets, whitening, augmentation, assignments."""

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from kindset._torch.image_set import ImageSet
from kindset.deep._assignment import (
    CentreAssignment,
    NeighbourAssignment,
    SoftmaxAssignment,
    largest_first,
)
from kindset.deep._augmentation import augmented
from kindset.deep._deepcluster import _balanced
from kindset.deep._jule import _padding
from kindset.deep._networks import (
    SCALINGS,
    ConvolutionalAutoencoder,
    DenseAutoencoder,
    Noise,
    Scaling,
    convolutions,
    draw_weights,
)
from kindset.deep._targets import TARGETS, sharpened, student_probabilities
from kindset.deep._triplets import draw_triplets, triplet_loss
from kindset.deep._whitening import Whitening

SHAPES = [(1, 1, 2), (1, 8, 8), (3, 9, 13), (1, 28, 23)]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


class TestNetworks:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("kind", ["convolutional", "dense"])
    def test_autoencoders(self, shape, kind):
        if kind == "dense":
            network = DenseAutoencoder(shape, 4, (6, 5))
        else:
            network = ConvolutionalAutoencoder(shape, 4, (2, 3))
        draw_weights(network, generator(), None)
        images = torch.rand(5, *shape, generator=generator())
        loss, disturbed, clean = network.reconstruct(images, Noise(0.3, generator()))
        assert disturbed.shape == clean.shape == network(images).shape == (5, 4)
        if kind == "convolutional":
            torch.testing.assert_close(network(images), clean)
        loss.backward()
        assert all(one.grad is not None for one in network.parameters())

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("padding", [0, 2])
    def test_convolutions(self, shape, padding):
        body = convolutions(Scaling(shape).shape, (2, 3), 6, kernel=5, padding=padding)
        assert body(torch.rand(4, *Scaling(shape).shape)).shape == (4, 6)

    @pytest.mark.parametrize(("shape", "n_blocks", "padding"), [
        ((1, 16, 16), 1, 0), ((1, 28, 28), 2, 0), ((1, 28, 23), 2, 2), ((3, 64, 64), 2, 0),
    ])  # fmt: skip
    def test_a_border_only_where_little_would_be_left(self, shape, n_blocks, padding):
        assert _padding(shape, n_blocks) == padding

    def test_noise_keeps_the_mean_and_can_be_none(self):
        values = torch.ones(200, 200)
        noisy = Noise(0.25, generator())(values)
        assert noisy.unique().tolist() == pytest.approx([0, 4 / 3])
        assert noisy.mean().item() == pytest.approx(1, abs=0.02)
        assert Noise(0, generator())(values) is values

    @pytest.mark.parametrize("name", SCALINGS)
    def test_scalings(self, name):
        pixels = torch.rand(50, 1, 10, 12, generator=generator()) ** 2
        scaling = Scaling((1, 10, 12))
        scaling.adapt(ImageSet(pixels), name)
        scaled = scaling(pixels)
        expected = {
            "centred": (scaled.mean(dim=0).abs().max(), scaled.square().mean(), 1),
            "power": (scaled.min() - pixels.min() / scaling.width, scaled.square().mean(), 1),
            "symmetric": (scaled.min() + 1 - 2 * pixels.min(), scaled.max(), 2 * pixels.max() - 1),
            "unit": (scaled.min() - pixels.min(), scaled.max(), pixels.max()),
        }[name]
        assert float(expected[0]) == pytest.approx(0, abs=1e-5)
        assert float(expected[1]) == pytest.approx(float(expected[2]), rel=1e-4)

    def test_small_images_get_a_border(self):
        scaling = Scaling((1, 3, 9))
        assert scaling.shape == (1, 8, 9)
        assert scaling(torch.ones(2, 1, 3, 9)).sum() == 2 * 27

    def test_weights_come_from_the_generator_alone(self):
        body = convolutions((1, 8, 8), (2,), 3, kernel=5, padding=0)
        draw_weights(body, generator(1), 0.01)
        first = body[-1].weight.clone()
        torch.manual_seed(5)
        draw_weights(body, generator(1), 0.01)
        assert torch.equal(body[-1].weight, first)


class TestTargets:
    @pytest.mark.parametrize("name", TARGETS)
    def test_rows_sum_to_one_and_small_clusters_gain(self, name):
        probabilities = torch.tensor([[0.8, 0.2], [0.8, 0.2], [0.5, 0.5]])
        target = sharpened(probabilities, name)
        torch.testing.assert_close(target.sum(dim=1), torch.ones(3))
        assert target[2, 1] > 0.5

    def test_by_the_formula(self):
        probabilities = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
        weights = probabilities**2 / probabilities.sum(axis=0)
        plain = weights / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(sharpened(torch.from_numpy(probabilities)).numpy(), plain)

    def test_a_dead_cluster_stays_out(self):
        target = sharpened(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
        assert target.tolist() == [[1, 0], [1, 0]]

    def test_student(self):
        q = student_probabilities(torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [2.0]]))
        torch.testing.assert_close(q, torch.tensor([[5 / 6, 1 / 6], [0.5, 0.5]]))


class TestTriplets:
    def test_all_pairs_with_members_of_others(self):
        labels = torch.tensor([0, 0, 0, 1, 1, 2])
        anchors, positives, negatives = draw_triplets(labels, 20, 1000, generator())
        pairs = set(zip(anchors.tolist(), positives.tolist(), strict=True))
        assert pairs == {(0, 1), (0, 2), (1, 2), (3, 4)}
        assert negatives.shape == (4, 2)
        assert (labels[negatives] != labels[anchors][:, None]).all()
        assert all(len(set(row)) == 2 for row in negatives.tolist())

    def test_no_more_pairs_than_asked(self):
        anchors, _, negatives = draw_triplets(torch.arange(40) % 2, 3, 7, generator())
        assert len(anchors) == 7
        assert negatives.shape == (7, 1)

    @pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
    def test_nothing_to_learn(self, labels):
        assert draw_triplets(torch.tensor(labels), 3, 7, generator())[2].numel() == 0

    def test_loss_by_the_formula(self):
        points = torch.nn.functional.normalize(torch.randn(12, 3, generator=generator()))
        a, p, n = draw_triplets(torch.arange(12) % 3, 2, 100, generator())
        near = (points[a] - points[p]).square().sum(dim=1, keepdim=True)
        far = (points[a][:, None] - points[n]).square().sum(dim=2)
        plain = (near - far + 0.2).clamp(min=0).mean()
        torch.testing.assert_close(triplet_loss(points, a, p, n, 0.2), plain)


class TestWhitening:
    def test_as_scikit_learn_up_to_signs(self):
        features = np.random.default_rng(0).normal(size=(60, 5)) @ np.diag([5, 3, 2, 1, 0.5])
        layer = Whitening(5, 3)
        layer.adapt(features)
        ours = layer(torch.from_numpy(features)).numpy()
        theirs = PCA(3, whiten=True).fit_transform(features)
        theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-6)

    def test_no_variance_is_no_trouble(self):
        features = np.zeros((10, 4))
        features[:, 0] = np.arange(10)
        layer = Whitening(4, 9)
        layer.adapt(features)
        assert layer.components.shape == (4, 4)
        assert torch.isfinite(layer(torch.from_numpy(features))).all()


class TestAugmentation:
    def test_shapes_stay_and_images_differ(self):
        images = torch.rand(4, 3, 9, 13, generator=generator())
        changed = augmented(images, generator())
        assert changed.shape == images.shape
        assert (changed != images).flatten(1).any(dim=1).all()
        assert torch.equal(changed, augmented(images, generator()))

    def test_a_blank_image_stays_blank(self):
        blank = torch.full((2, 1, 8, 8), 0.4)
        torch.testing.assert_close(augmented(blank, generator()), blank)


def test_balanced_rows():
    labels = torch.tensor([0] * 90 + [1] * 8 + [2] * 2)
    rows = _balanced(labels, generator())
    assert len(rows) == 100
    assert min(torch.bincount(labels[rows])) >= 32
    assert len(rows[labels[rows] == 0].unique()) == (labels[rows] == 0).sum()


class TestAssignments:
    points = np.array([[0.0, 0.1], [1.0, 0.9], [0.9, 1.1]])

    @pytest.mark.parametrize("kind", [
        SoftmaxAssignment(weights=np.array([[-1.0, -1], [1, 1]]), bias=np.array([1.0, 0])),
        CentreAssignment(points=np.array([[0.0, 0], [1, 1]])),
        NeighbourAssignment(points=points, clusters=np.array([0, 1, 1])),
    ])  # fmt: skip
    def test_order_and_state(self, kind):
        assert kind.labels(self.points).tolist() == [0, 1, 1]
        kind.check(2, 2)
        kind.take(largest_first(kind.labels(self.points), 2))
        assert kind.labels(self.points).tolist() == [1, 0, 0]
        assert type(kind)(**kind.state()).labels(self.points).tolist() == [1, 0, 0]
        with pytest.raises(ValueError, match="do not fit"):
            kind.check(1, 2)
