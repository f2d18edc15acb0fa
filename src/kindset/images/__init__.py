"""Clustering of images by prototypes that are aligned to every image (DTI clustering)."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise ImportError(
        'kindset.images needs torch, which is not installed: pip install "kindset[images]"'
    ) from error

from kindset.images._estimators import DTIGaussianMixture, DTIKMeans
from kindset.images._training import DivergedError
from kindset.images._transforms import (
    TRANSFORMATIONS,
    Transformation,
    Warp,
    register_transformation,
)

__all__ = [
    "TRANSFORMATIONS",
    "DTIGaussianMixture",
    "DTIKMeans",
    "DivergedError",
    "Transformation",
    "Warp",
    "register_transformation",
]
