"""Deep clustering of images: networks whose embeddings and clusters are learnt together."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise ImportError(
        'kindset.deep needs torch, which is not installed: pip install "kindset[images]"'
    ) from error

from kindset.deep._deepcluster import DeepCluster
from kindset.deep._depict import DEPICT
from kindset.deep._idec import IDEC
from kindset.deep._jule import JULE
from kindset.deep._outcome import Snapshot
from kindset.deep._storage import load_deep, save_deep
from kindset.exceptions import DivergedError

__all__ = [
    "DEPICT",
    "IDEC",
    "JULE",
    "DeepCluster",
    "DivergedError",
    "Snapshot",
    "load_deep",
    "save_deep",
]
