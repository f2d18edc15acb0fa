"""Clustering by unmasking: groups that cannot be told apart once the best features are gone."""

from kindset.unmasking._augment import AUGMENTATIONS, augment_images
from kindset.unmasking._clustering import UnmaskingClustering, unmask
from kindset.unmasking._displays import (
    CellDendrogramDisplay,
    ClusterImageDisplay,
    MergeScoreDisplay,
    UnmaskingCurveDisplay,
)
from kindset.unmasking._storage import load_unmasking, save_unmasking
from kindset.unmasking._visual_words import BagOfVisualWords

__all__ = [
    "AUGMENTATIONS",
    "BagOfVisualWords",
    "CellDendrogramDisplay",
    "ClusterImageDisplay",
    "MergeScoreDisplay",
    "UnmaskingClustering",
    "UnmaskingCurveDisplay",
    "augment_images",
    "load_unmasking",
    "save_unmasking",
    "unmask",
]
