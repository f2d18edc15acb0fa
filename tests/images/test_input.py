"""How arrays of all kinds become images."""

import numpy as np
import pytest

from kindset._torch.input import ImageFormat, read_images
from kindset.exceptions import InputError
from kindset.images import DTIKMeans

QUICK = {"transforms": (), "n_init": 1, "max_epochs": 20, "random_state": 0}


@pytest.fixture(scope="module")
def bytes_(shapes):
    return (shapes[0] * 255).astype(np.uint8)


def test_numbers_after_bytes_and_bytes_after_numbers(bytes_):
    numbers = bytes_.astype(np.float32) / 255
    kinds = (bytes_, numbers)
    models = [DTIKMeans(3, **QUICK).fit(images) for images in kinds]
    for model in models:
        for images in kinds:
            np.testing.assert_array_equal(model.predict(images), model.labels_)
    whole = bytes_.astype(np.int64)
    np.testing.assert_array_equal(models[0].predict(whole), models[0].labels_)
    with pytest.raises(InputError, match=r"go from 0 to 2.*from 0 to 1: scale them alike"):
        models[1].predict(whole)


def test_masks_of_every_type_are_alike(shapes):
    masks = shapes[0] > 0.5
    expected, _ = read_images(masks.astype(np.float32))
    for kind in (np.uint8, np.int64, bool):
        images, form = read_images(masks.astype(kind))
        assert images[:].equal(expected[:])
        assert form.read(masks.astype(kind))[:].equal(expected[:])
    _, form = read_images(masks.astype(np.uint8))
    assert form.read(masks.astype(np.uint8) * 255)[:].equal(expected[:])


def test_values_beyond_the_range_are_taken_if_they_are_near():
    _, form = read_images(np.linspace(0, 16, 90).reshape(10, 3, 3))
    assert form.read(np.full((1, 3, 3), 20.0))[:].max() == 1.25
    with pytest.raises(InputError, match="scale them alike"):
        form.read(np.full((1, 3, 3), 255.0))


def test_a_dark_image_is_read_alone_as_among_others(bytes_):
    _, form = read_images(bytes_)
    dark = np.minimum(bytes_[:1], 1)
    assert form.read(dark)[:].max() == np.float32(1 / 255)
    _, form = read_images(bytes_ / 255)
    assert form.read(dark)[:].max() == np.float32(1 / 255)


@pytest.mark.parametrize("n", [3, 4])
def test_channels_are_last_if_they_may_be(n):
    images = np.random.default_rng(0).random((5, n, n, n)).astype(np.float32)
    expected = images.transpose(0, 3, 1, 2)
    read, form = read_images(images)
    np.testing.assert_array_equal(read[:], expected)
    np.testing.assert_array_equal(form.read(images)[:], expected)
    rows, _ = read_images(images.reshape(5, -1), (n, n, n))
    np.testing.assert_array_equal(rows[:], expected)
    first = np.random.default_rng(0).random((5, n, 6, 7)).astype(np.float32)
    np.testing.assert_array_equal(read_images(first)[0][:], first)


def test_a_format_of_two_channels():
    rows = np.random.default_rng(0).random((5, 24)).astype(np.float32)
    images, form = read_images(rows, (3, 4, 2))
    np.testing.assert_array_equal(images[:], rows.reshape(5, 3, 4, 2).transpose(0, 3, 1, 2))
    assert form == ImageFormat((2, 3, 4), 0.0, 1.0)
