"""Kindset finds groups in unlabelled data, shows what each is, and says which grouping to trust.

The estimators are loaded when they are first used, so that ``import kindset`` stays quick and
needs no optional dependency.
"""

import logging
from importlib import import_module
from typing import Any

from kindset._version import __version__

# Public name -> the package that holds it.
_LAZY = {
    "AdaptiveEvaluation": "kindset.evaluation",
    "Comparison": "kindset.comparison",
    "DEPICT": "kindset.deep",
    "DTIGaussianMixture": "kindset.images",
    "DTIKMeans": "kindset.images",
    "DeepCluster": "kindset.deep",
    "IDEC": "kindset.deep",
    "JULE": "kindset.deep",
    "OrdinalMixture": "kindset.ordinal",
    "Run": "kindset.runs",
    "UnmaskingClustering": "kindset.unmasking",
    "assign": "kindset.workbench",
    "cluster": "kindset.workbench",
    "compare_runs": "kindset.comparison",
    "grid": "kindset.workbench",
    "load_runs": "kindset.runs",
    "read_data": "kindset.workbench",
    "sweep": "kindset.workbench",
    "write_report": "kindset.report",
    "comparison": None,
    "datasets": None,
    "deep": None,
    "evaluation": None,
    "images": None,
    "ordinal": None,
    "report": None,
    "runs": None,
    "unmasking": None,
    "workbench": None,
}

logging.getLogger(__name__).addHandler(logging.NullHandler())

__all__ = ["__version__", *sorted(_LAZY)]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'kindset' has no attribute {name!r}")
    package = _LAZY[name]
    if package is None:
        return import_module(f"kindset.{name}")
    return getattr(import_module(package), name)


def __dir__() -> list[str]:
    return sorted(__all__)
