"""Transformed copies of images, so that every image is a group of its own."""

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform
from sklearn.utils import check_random_state

from kindset.exceptions import InputError
from kindset.unmasking._pairs import IntArray

Array = NDArray[Any]


def add_noise(image: Array, rng: np.random.RandomState) -> Array:
    """Add Gaussian noise of a twentieth of the image's range."""
    return image + rng.normal(scale=0.05 * np.ptp(image), size=image.shape)


def change_illumination(image: Array, rng: np.random.RandomState) -> Array:
    """Make the image up to a fifth brighter or darker, and its contrast stronger or weaker."""
    gain, offset = rng.uniform(0.8, 1.2), rng.uniform(-0.1, 0.1) * np.ptp(image)
    return gain * image + offset


def crop(image: Array, rng: np.random.RandomState) -> Array:
    """Cut out a part of at least four fifths of the height and width, and enlarge it."""
    part = rng.uniform(0.8, 1.0)
    room = (1 - part) * (np.array(image.shape[:2]) - 1)
    return _warp(image, part * np.eye(2), rng.uniform(size=2) * room)


def rotate(image: Array, rng: np.random.RandomState) -> Array:
    """Turn the image by up to 15 degrees around its middle."""
    angle = np.deg2rad(rng.uniform(-15, 15))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = (np.array(image.shape[:2]) - 1) / 2
    return _warp(image, turn, middle - turn @ middle)


def flip_horizontally(image: Array, rng: np.random.RandomState) -> Array:
    """Swap left and right."""
    return image[:, ::-1]


def flip_vertically(image: Array, rng: np.random.RandomState) -> Array:
    """Swap top and bottom."""
    return image[::-1]


AUGMENTATIONS: dict[str, Callable[[Array, np.random.RandomState], Array]] = {
    "noise": add_noise,
    "rotation": rotate,
    "crop": crop,
    "illumination": change_illumination,
    "horizontal_flip": flip_horizontally,
    "vertical_flip": flip_vertically,
}
"""Transformations of one image of shape (height, width) or (height, width, channels) by name."""


def augment_images(
    images: Any,
    n_copies: int = 8,
    *,
    transformations: Sequence[str] = ("noise", "rotation", "crop", "illumination"),
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Array, IntArray]:
    """Add transformed copies of each image.

    Parameters
    ----------
    images : array-like of shape (n_images, height, width) or (n_images, height, width, channels)
    n_copies : int, default=8
        Number of copies of each image; the transformations take turns.
    transformations : sequence of str
        Names in `AUGMENTATIONS`: "noise", "rotation", "crop", "illumination", "horizontal_flip",
        "vertical_flip". Flips make no sense for digits and letters.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    images : ndarray of shape (n_images * (n_copies + 1), ...)
        Each image, directly followed by its copies.
    origin : ndarray of shape (n_images * (n_copies + 1),)
        The number of the image that each is or was made of. It can serve as `init` of
        `UnmaskingClustering` when features are computed from the images first.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset.unmasking import augment_images
    >>> images, origin = augment_images(load_digits().images[:5], n_copies=4, random_state=0)
    >>> images.shape
    (25, 8, 8)
    >>> origin[:7]
    array([0, 0, 0, 0, 0, 1, 1])
    """
    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise InputError(
            f"images must have shape (n, height, width) or (n, height, width, channels), "
            f"got {images.shape}."
        )
    unknown = [name for name in transformations if name not in AUGMENTATIONS]
    if unknown or not transformations:
        raise InputError(
            f"transformations must be names among {', '.join(map(repr, AUGMENTATIONS))}, "
            f"got {list(transformations)!r}."
        )
    rng = check_random_state(random_state)
    out = np.repeat(images.astype(np.result_type(images, np.float32)), n_copies + 1, axis=0)
    for place in range(len(out)):
        copy = place % (n_copies + 1)
        if copy > 0:
            name = transformations[(copy - 1) % len(transformations)]
            out[place] = AUGMENTATIONS[name](out[place - copy], rng)
    return out, np.repeat(np.arange(len(images)), n_copies + 1)


def image_shape(n_features: int, given: Sequence[int] | None) -> tuple[int, ...]:
    """Return the shape of the images that rows of that length hold."""
    if given is not None:
        shape = tuple(int(length) for length in given)
        if len(shape) not in (2, 3) or np.prod(shape) != n_features:
            raise InputError(f"image_shape {shape} does not hold {n_features} features.")
        return shape
    side = isqrt(n_features)
    if side * side == n_features:
        return side, side
    side = isqrt(n_features // 3)
    if 3 * side * side == n_features:
        return side, side, 3
    raise InputError(
        f"{n_features} features are no square image: say with image_shape what they are."
    )


def _warp(image: Array, matrix: Array, offset: Array) -> Array:
    if image.ndim == 2:
        return affine_transform(image, matrix, offset, order=1, mode="nearest")
    channels = [_warp(image[..., c], matrix, offset) for c in range(image.shape[2])]
    return np.stack(channels, axis=-1)
