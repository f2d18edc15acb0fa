"""Clustering by unmasking: groups that cannot be told apart once the best features are gone."""

from kindset.unmasking._augment import AUGMENTATIONS, augment_images
from kindset.unmasking._clustering import UnmaskingClustering, unmask

__all__ = ["AUGMENTATIONS", "UnmaskingClustering", "augment_images", "unmask"]
