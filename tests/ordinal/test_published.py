"""The best likelihoods known for published tables; the authors of the method report less."""

import numpy as np
import pytest

from kindset import OrdinalMixture, datasets
from kindset.ordinal import select_components

pytestmark = pytest.mark.realdata


@pytest.mark.parametrize(
    ("load", "n_components", "distribution", "known"),
    [
        (datasets.load_zoo, 7, "bos", -503.75),
        (datasets.load_zoo, 7, "god", -505.96),
        (datasets.load_hayes_roth, 3, "bos", -610.03),
        (datasets.load_hayes_roth, 3, "god", -613.92),
        (datasets.load_caesarian, 2, "bos", -396.41),
        (datasets.load_caesarian, 2, "god", -396.82),
        (datasets.load_dataqol, 4, "bos", -2972.1),
    ],
)
def test_best_known_likelihood(load, n_components, distribution, known):
    model = OrdinalMixture(n_components, distribution=distribution, n_init=100, random_state=0)
    assert model.fit(load().data).log_likelihood_ >= known


@pytest.mark.parametrize("load", [datasets.load_car, datasets.load_nursery])
def test_factorial_designs_have_no_structure(load):
    selection = select_components(load().data, range(1, 5), n_init=4, random_state=0)
    assert not selection.found_structure


def test_many_gaps():
    ratings = datasets.load_movielens().data
    model = OrdinalMixture(4, n_init=4, random_state=0).fit(ratings)
    assert np.isfinite(model.log_likelihood_)
    assert model.impute(ratings).notna().all(axis=None)
