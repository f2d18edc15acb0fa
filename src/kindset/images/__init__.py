"""Clustering of images by prototypes that are aligned to every image (DTI clustering)."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise ImportError(
        'kindset.images needs torch, which is not installed: pip install "kindset[images]"'
    ) from error

from kindset.exceptions import DivergedError
from kindset.images._displays import (
    AlignmentDisplay,
    ClusterDisplay,
    ElbowDisplay,
    EvolutionDisplay,
    PrototypeDisplay,
    TrainingDisplay,
)
from kindset.images._estimators import DTIGaussianMixture, DTIKMeans
from kindset.images._selection import ClusterSelection, elbow, select_n_clusters
from kindset.images._storage import load_clustering, save_clustering
from kindset.images._transforms import (
    TRANSFORMATIONS,
    Transformation,
    Warp,
    register_transformation,
)

__all__ = [
    "TRANSFORMATIONS",
    "AlignmentDisplay",
    "ClusterDisplay",
    "ClusterSelection",
    "DTIGaussianMixture",
    "DTIKMeans",
    "DivergedError",
    "ElbowDisplay",
    "EvolutionDisplay",
    "PrototypeDisplay",
    "TrainingDisplay",
    "Transformation",
    "Warp",
    "elbow",
    "load_clustering",
    "register_transformation",
    "save_clustering",
    "select_n_clusters",
]
