"""Data to try things on: what ships inside a dependency, and what `KINDSET_DATA` points to."""

from kindset.datasets._bundled import load_anes96, load_fair
from kindset.datasets._image_folder import load_image_folder
from kindset.datasets._images import load_images
from kindset.datasets._local import (
    data_folder,
    load_beps,
    load_bfi,
    load_breast_cancer_wisconsin,
    load_caesarian,
    load_car,
    load_dataqol,
    load_hayes_roth,
    load_movielens,
    load_nursery,
    load_zoo,
)

__all__ = [
    "data_folder",
    "load_anes96",
    "load_beps",
    "load_bfi",
    "load_breast_cancer_wisconsin",
    "load_caesarian",
    "load_car",
    "load_dataqol",
    "load_fair",
    "load_hayes_roth",
    "load_image_folder",
    "load_images",
    "load_movielens",
    "load_nursery",
    "load_zoo",
]
