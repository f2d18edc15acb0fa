"""From a file or an array to runs: reading, methods by name, sweeps, describing, predicting."""

from kindset.workbench._assigning import assign
from kindset.workbench._dataset import Dataset
from kindset.workbench._embeddings import EMBEDDINGS
from kindset.workbench._figures import save_figure
from kindset.workbench._methods import METHODS, Method, get_method
from kindset.workbench._outcome import Execution, Outcome
from kindset.workbench._reading import ARRAYS, FOLDERS, read_data
from kindset.workbench._running import cluster, make_single, sweep
from kindset.workbench._settings import AUTO, Setting, grid
from kindset.workbench._snapshots import snapshot_runs
from kindset.workbench._sweep import Job, check_single_output, is_sweep
from kindset.workbench._tables import Codebook

__all__ = [
    "ARRAYS",
    "AUTO",
    "EMBEDDINGS",
    "FOLDERS",
    "METHODS",
    "Codebook",
    "Dataset",
    "Execution",
    "Job",
    "Method",
    "Outcome",
    "Setting",
    "assign",
    "check_single_output",
    "cluster",
    "get_method",
    "grid",
    "is_sweep",
    "make_single",
    "read_data",
    "save_figure",
    "snapshot_runs",
    "sweep",
]
