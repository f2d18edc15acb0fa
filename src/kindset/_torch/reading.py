"""Estimators of images: what they take, and how they read it."""

from typing import Any

from sklearn.utils.validation import validate_data

from kindset._torch.image_set import ImageSet
from kindset._torch.input import ImageFormat, is_picture_stack, read_images
from kindset.exceptions import InputError


class ReadsImages:
    """Reads images for an estimator with the parameters `image_shape` and `n_clusters`."""

    image_shape: Any
    n_clusters: int
    n_features_in_: int
    _format: ImageFormat

    def _read(self, X: Any) -> ImageSet:
        """Read images as those were read that the model was fitted to."""
        if not is_picture_stack(X):
            X = validate_data(self, X, reset=False)
        return self._format.read(X)

    def _read_training(self, X: Any) -> ImageSet:
        """Read images to fit, and keep how they were read."""
        if not is_picture_stack(X):
            X = validate_data(self, X)
        images, self._format = read_images(X, self.image_shape)
        self.n_features_in_ = self._format.n_values
        if len(images) < self.n_clusters:
            raise InputError(
                f"n_samples={len(images)} images are too few for n_clusters={self.n_clusters}."
            )
        if images.are_equal():
            raise InputError(
                f"all n_samples={len(images)} images are equal: there is nothing to tell apart."
            )
        return images
