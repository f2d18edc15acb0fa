"""Parts of a space that do not touch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll

from kindset.evaluation import separate_parts


def plain_parts(X):
    """Follow neighbours from point to point."""
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, :10]
    joined = np.zeros((len(X), len(X)), dtype=bool)
    joined[np.arange(len(X))[:, None], near] = True
    joined |= joined.T
    found = np.full(len(X), -1)
    for first in range(len(X)):
        reached = [first] if found[first] < 0 else []
        while reached:
            point = reached.pop()
            found[point] = first
            reached.extend(np.flatnonzero(joined[point] & (found < 0)))
    return found


@given(seed=st.integers(0, 1000), gap=st.floats(0, 15), width=st.integers(1, 4))
def test_plain_reference(seed, gap, width):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, width))
    X[25:, 0] += gap
    expected = plain_parts(X)
    sizes = np.unique(expected, return_counts=True)[1]
    found = separate_parts(X)
    assert found.max() + 1 == max(1, (sizes >= 11).sum())
    for part in range(found.max() + 1):
        if found.max() > 0:
            assert len(set(expected[found == part])) == 1


CLOUDS = {
    "Gaussian": lambda rng: rng.normal(size=(300, 3)),
    "square": lambda rng: rng.random((300, 2)),
    "lognormal": lambda rng: rng.lognormal(size=(300, 3)),
    "heavy tails": lambda rng: rng.standard_t(2, size=(300, 3)),
    "answers": lambda rng: rng.integers(1, 6, size=(300, 3)),
    "two answers": lambda rng: rng.integers(0, 2, size=(300, 2)),
    "swiss roll": lambda rng: make_swiss_roll(300, random_state=0)[0],
    "constant": lambda rng: np.ones((300, 2)),
    "few": lambda rng: np.repeat([[0.0], [50.0]], 10, axis=0) + rng.normal(size=(20, 1)),
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_clouds_hold_together(cloud):
    assert not separate_parts(CLOUDS[cloud](np.random.default_rng(0))).any()


def test_outliers_are_no_part():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[:140] += 40
    X[-12:] -= 1000
    found = separate_parts(X)
    assert np.bincount(found + 1).tolist() == [12, 148, 140]


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_the_unit_does_not_matter(unit):
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:40] += 30
    assert separate_parts(unit * X).max() == 1
