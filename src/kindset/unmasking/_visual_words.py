"""Images as histograms of visual words: local patterns and colours that occur again and again."""

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kindset._validation import all_or_nothing
from kindset.exceptions import InputError
from kindset.unmasking._cells import nearest
from kindset.unmasking._pairs import FloatArray

Array = NDArray[Any]

_LUMA = np.array([0.299, 0.587, 0.114])


class BagOfVisualWords(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Histograms of visual words, as features of natural images.

    Gradients around the points of a dense grid are described by DAISY, a relative of SIFT;
    k-means over the descriptors of all images gives a vocabulary; an image becomes the shares of
    its words. Needs scikit-image (``pip install "kindset[images]"``).

    Parameters
    ----------
    n_words : int, default=500
        Size of the vocabulary.
    step : int, default=4
        Distance between the grid's points in pixels.
    radius : int, default=8
        Radius of the described surroundings in pixels.
    color : bool, default=False
        Whether colours (mean and spread of each channel around a point) get a vocabulary of their
        own, of half the size.
    root : bool, default=True
        Whether to return the square roots of the shares, which suits linear classifiers.
    max_descriptors : int, default=100_000
        Descriptors that k-means learns the vocabulary from, drawn at random.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, default=None
        Number of workers that describe images.

    Attributes
    ----------
    vocabularies_ : list of ndarray of shape (n_words, n_dimensions)
        The words, of patterns and, with `color`, of colours.
    image_shape_ : tuple of int
        Shape of the images seen in training; others may be larger or smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.unmasking import BagOfVisualWords
    >>> rng = np.random.default_rng(0)
    >>> stripes = np.tile([0.0, 0.0, 1.0, 1.0], (6, 32, 8)) + 0.1 * rng.random((6, 32, 32))
    >>> images = np.concatenate([stripes, rng.random((6, 32, 32))])
    >>> words = BagOfVisualWords(n_words=10, random_state=0).fit_transform(images)
    >>> words.shape
    (12, 10)
    """

    def __init__(
        self,
        n_words: int = 500,
        *,
        step: int = 4,
        radius: int = 8,
        color: bool = False,
        root: bool = True,
        max_descriptors: int = 100_000,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_words = n_words
        self.step = step
        self.radius = radius
        self.color = color
        self.root = root
        self.max_descriptors = max_descriptors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, channels)
        y : None
            Ignored.
        """
        with all_or_nothing(self):
            self._learn(self._describe(X))
            self.image_shape_ = np.asarray(X).shape[1:]
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the shares of the words in each image, of shape (n_images, n_words in all)."""
        check_is_fitted(self)
        return self._count(self._describe(X))

    def fit_transform(self, X: Any, y: Any = None, **parameters: Any) -> FloatArray:
        """Learn the vocabulary and return the shares of its words in each image."""
        with all_or_nothing(self):
            described = self._describe(X)
            self._learn(described)
            self.image_shape_ = np.asarray(X).shape[1:]
            return self._count(described)

    def _learn(self, described: list[list[Array]]) -> None:
        rng = check_random_state(self.random_state)
        sizes = [self.n_words, max(self.n_words // 2, 1)]
        self.vocabularies_ = []
        for kind, size in zip(range(len(described[0])), sizes, strict=False):
            points = np.concatenate([image[kind] for image in described])
            if len(points) > self.max_descriptors:
                points = points[rng.choice(len(points), self.max_descriptors, replace=False)]
            if len(points) < size:
                raise InputError(
                    f"the images give {len(points)} descriptors, too few for {size} words: "
                    "take fewer words or a smaller step."
                )
            seed = rng.randint(np.iinfo(np.int32).max)
            model = MiniBatchKMeans(size, batch_size=4096, n_init=1, max_iter=20, random_state=seed)
            self.vocabularies_.append(model.fit(points).cluster_centers_)
        self._n_features_out = sum(len(words) for words in self.vocabularies_)

    def _count(self, described: list[list[Array]]) -> FloatArray:
        rows = []
        for image in described:
            shares = [
                np.bincount(nearest(points, words), minlength=len(words)) / len(points)
                for points, words in zip(image, self.vocabularies_, strict=True)
            ]
            rows.append(np.concatenate(shares))
        return np.sqrt(rows) if self.root else np.array(rows)

    def _describe(self, X: Any) -> list[list[Array]]:
        """Return the descriptors of each image: of its patterns and, if asked for, its colours."""
        images = np.asarray(X)
        if images.ndim not in (3, 4) or len(images) == 0:
            raise InputError(
                "images must have shape (n, height, width) or (n, height, width, channels), "
                f"got {images.shape}."
            )
        if self.color and images.ndim == 3:
            raise InputError("color=True needs images with channels, got grey ones.")
        if min(images.shape[1:3]) <= 2 * self.radius:
            raise InputError(
                f"images of {images.shape[1]} × {images.shape[2]} pixels are too small for "
                f"radius={self.radius}."
            )
        if not np.isfinite(images).all():
            raise InputError("images must not hold NaN or infinite values.")
        whole = images.dtype.kind in "bui"
        parallel = Parallel(n_jobs=self.n_jobs)
        return parallel(
            delayed(_descriptors)(
                image / 255 if whole else image, self.step, self.radius, self.color
            )
            for image in images
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags


def _descriptors(image: Array, step: int, radius: int, color: bool) -> list[Array]:
    try:
        from skimage.feature import daisy
    except ImportError as error:
        raise InputError(
            'visual words need scikit-image: pip install "kindset[images]".'
        ) from error
    grey = image if image.ndim == 2 else image @ _luma(image.shape[2])
    describe: Any = daisy
    patterns = describe(grey, step=step, radius=radius, rings=2, histograms=6, orientations=8)
    found = [patterns.reshape(-1, patterns.shape[2]).astype(np.float32)]
    if color:
        size = (2 * radius + 1, 2 * radius + 1, 1)
        mean = uniform_filter(image.astype(np.float64), size, mode="nearest")
        spread = uniform_filter(image.astype(np.float64) ** 2, size, mode="nearest") - mean**2
        local = np.concatenate([mean, np.sqrt(np.maximum(spread, 0))], axis=2)
        local = local[radius:-radius:step, radius:-radius:step]
        found.append(local.reshape(-1, local.shape[2]).astype(np.float32))
    return found


def _luma(n_channels: int) -> FloatArray:
    return _LUMA if n_channels == 3 else np.full(n_channels, 1 / n_channels)
