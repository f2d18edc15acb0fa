"""Runs: a partition, the space it was made in, the model, and where it all came from."""

from kindset._reading import read_archive, read_array
from kindset.runs._fingerprint import Fingerprint, fingerprint
from kindset.runs._foreign import load_runs
from kindset.runs._models import can_store
from kindset.runs._names import distinct_names
from kindset.runs._run import RUN_FILE, Run, check_same_data
from kindset.runs._sharing import SharedSpaces

__all__ = [
    "RUN_FILE",
    "Fingerprint",
    "Run",
    "SharedSpaces",
    "can_store",
    "check_same_data",
    "distinct_names",
    "fingerprint",
    "load_runs",
    "read_archive",
    "read_array",
]
