"""Images in memory: bytes stay bytes, and results are those of numbers."""

import numpy as np
import pytest
import torch

from kindset._torch import image_set
from kindset._torch.image_set import ImageSet
from kindset._torch.input import read_images
from kindset.images import DTIGaussianMixture, DTIKMeans
from kindset.images._model import resize_images

QUICK = {"transforms": ("affine",), "n_init": 2, "max_epochs": 8, "batch_size": 16,
         "random_state": 0}  # fmt: skip


@pytest.fixture(scope="module")
def bytes_(shapes):
    """Images of 30 × 30, large enough for coarse stages."""
    return np.kron((shapes[0] * 255).astype(np.uint8), np.ones((3, 3), dtype=np.uint8))


@pytest.fixture
def largest_reading(monkeypatch):
    """Return a list of the numbers of images that were turned into numbers in one go."""
    sizes = []
    read = ImageSet.__getitem__

    def watch(images, rows):
        found = read(images, rows)
        if images.stored.dtype == torch.uint8:
            sizes.append(len(found))
        return found

    monkeypatch.setattr(ImageSet, "__getitem__", watch)
    return sizes


def test_bytes_become_the_numbers_they_would_have_become_at_once(bytes_):
    for low, high in ((0.0, 255.0), (0.0, 1.0), (17.0, 203.5)):
        expected = (bytes_.astype(np.float32) - np.float32(low)) / np.float32(high - low)
        images = ImageSet(torch.from_numpy(bytes_)[:, None], low, high)
        np.testing.assert_array_equal(images[:], expected[:, None])
        rows = torch.tensor([5, 3, 5])
        np.testing.assert_array_equal(images[rows], expected[rows][:, None])
        np.testing.assert_array_equal(torch.cat(list(images.split(7))), expected[:, None])


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_resized_in_parts(bytes_, kind, monkeypatch):
    images, _ = read_images(bytes_.astype(kind))
    expected = resize_images(images[:], 15, 15)
    monkeypatch.setattr(image_set, "_AT_A_TIME", 7 * 900)
    assert torch.equal(images.resized(15, 15)[:], expected)
    assert images.resized(30, 30) is images


def test_bytes_are_kept_as_bytes_and_apart_from_the_array(bytes_):
    given = bytes_.copy()
    given.flags.writeable = False  # as of a file that is mapped into memory
    images, _ = read_images(given)
    assert images.stored.dtype == torch.uint8
    assert not np.shares_memory(images.stored.numpy(), given)
    numbers, _ = read_images(bytes_ / 255)
    assert numbers.stored.dtype == torch.float32


@pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])
def test_no_method_makes_numbers_of_all_bytes(kind, bytes_, largest_reading, monkeypatch):
    """Each looks at a few at a time, and comes to what it comes to with numbers."""
    monkeypatch.setattr(image_set, "_AT_A_TIME", 20 * 900)
    for module in ("_alignment._BATCH", "_population._PART", "_applying._PART"):
        monkeypatch.setattr(f"kindset.images.{module}", 20)
    many = np.concatenate([bytes_, bytes_[:, ::-1]])
    model = kind(3, **QUICK, n_reviews=1)
    with pytest.warns(UserWarning, match="too short"):
        model.fit(many)
    for method in (model.predict, model.transform, model.score, model.align,
                   model.transform_parameters):  # fmt: skip
        method(many)
    assert len(largest_reading) > 100
    assert max(largest_reading) <= 20
    with pytest.warns(UserWarning, match="too short"):
        other = kind(3, **QUICK, n_reviews=1).fit(many.astype(np.float32) / 255)
    np.testing.assert_array_equal(model.history_.loss, other.history_.loss)
    np.testing.assert_array_equal(model.transform(many), other.transform(many))


def test_parts_change_nothing(bytes_, monkeypatch):
    """Neither first prototypes nor smaller images depend on how many are read in one go."""
    options = {**QUICK, "transforms": ("colour", "affine")}
    whole = DTIKMeans(3, **options).fit(bytes_)
    monkeypatch.setattr(image_set, "_AT_A_TIME", 7 * 900)
    parts = DTIKMeans(3, **options).fit(bytes_)
    np.testing.assert_array_equal(parts.prototypes_, whole.prototypes_)
    assert parts.inertia_ == whole.inertia_
