"""From a file or an array to runs: reading, methods by name, sweeps, describing, predicting."""

from kindset.workbench._assigning import assign
from kindset.workbench._codebook import Codebook
from kindset.workbench._dataset import Dataset
from kindset.workbench._embeddings import EMBEDDINGS
from kindset.workbench._facts import assigned_facts, facts_of
from kindset.workbench._methods import METHODS, Method, get_method
from kindset.workbench._outcome import Execution, Outcome
from kindset.workbench._profile_tables import profile_table
from kindset.workbench._raw import read_raw
from kindset.workbench._reading import ARRAYS, FOLDERS, read_data
from kindset.workbench._running import cluster, make_single, sweep
from kindset.workbench._settings import AUTO, Setting, grid
from kindset.workbench._snapshots import snapshot_runs
from kindset.workbench._stability import Stability, stability
from kindset.workbench._sweep import Job, check_single_output, is_sweep
from kindset.workbench._tables import TABLES
from kindset.workbench._types import TYPES, ColumnType, read_types

__all__ = [
    "ARRAYS",
    "AUTO",
    "EMBEDDINGS",
    "FOLDERS",
    "METHODS",
    "TABLES",
    "TYPES",
    "Codebook",
    "ColumnType",
    "Dataset",
    "Execution",
    "Job",
    "Method",
    "Outcome",
    "Setting",
    "Stability",
    "assign",
    "assigned_facts",
    "check_single_output",
    "cluster",
    "facts_of",
    "get_method",
    "grid",
    "is_sweep",
    "make_single",
    "profile_table",
    "read_data",
    "read_raw",
    "read_types",
    "snapshot_runs",
    "stability",
    "sweep",
]
