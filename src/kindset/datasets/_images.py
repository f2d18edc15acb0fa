"""Images that a user keeps as ``.npz`` files in the folder that `KINDSET_DATA` names."""

import numpy as np
from sklearn.utils import Bunch

from kindset.datasets._local import data_folder
from kindset.exceptions import InputError


def load_images(name: str) -> Bunch:
    """Load ``name.npz``, with the arrays `images` (uint8), `labels` and perhaps `split`.

    Parameters
    ----------
    name : str
        For instance "mnist", "usps", "fashion_mnist", "coil20" or "flowers17_64".

    Returns
    -------
    images : Bunch
        `images` of shape (n, height, width[, channels]), `target`, and `split` (0 for training, 1
        for test images) where the data has one.
    """
    path = data_folder() / f"{name}.npz"
    if not path.exists():
        raise InputError(f"KINDSET_DATA holds no file {path.name}.")
    with np.load(path, allow_pickle=False) as arrays:
        missing = {"images", "labels"} - set(arrays)
        if missing:
            raise InputError(f"{path.name} holds no array {sorted(missing)[0]!r}.")
        return Bunch(
            images=arrays["images"],
            target=arrays["labels"],
            split=arrays.get("split"),
        )
