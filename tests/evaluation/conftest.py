import json
import os
from pathlib import Path

import numpy as np
import pytest

REFERENCE = Path(__file__).parent / "reference"


@pytest.fixture(scope="session")
def read_reference():
    """Read a JSON file of reference values."""
    return lambda name: json.loads((REFERENCE / name).read_text())


@pytest.fixture(scope="session")
def index_data():
    """Data and labels by name, on which all indices have reference values."""
    return lambda name: np.load(REFERENCE / f"index_data_{name}.npz")


@pytest.fixture(scope="session")
def simulation_scores():
    return np.load(REFERENCE / "simulation_sigma1_scores.npz")


@pytest.fixture(scope="session")
def simulation_inputs():
    """The 40 embeddings of the authors' simulation, too large to be part of the repository."""
    folder = os.environ.get("KINDSET_REFERENCE")
    if folder is None:
        pytest.skip("KINDSET_REFERENCE is not set: the folder of simulation_sigma1_inputs.npz")
    path = Path(folder) / "simulation_sigma1_inputs.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in the folder that KINDSET_REFERENCE names")
    return np.load(path)


@pytest.fixture
def blobs():
    """A function that draws points around centres, with their labels."""

    def draw(n=60, d=4, k=3, spread=4.0, seed=0):
        rng = np.random.default_rng(seed)
        labels = np.arange(n) % k
        return rng.normal(size=(k, d))[labels] * spread + rng.normal(size=(n, d)), labels

    return draw
