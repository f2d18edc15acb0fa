import numpy as np
import pytest
import three_step_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit

from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, classification_quality


def plain_quality(P, weights):
    """Return table, certainty, entropy R² and error, written out."""
    n, K = P.shape
    table = np.zeros((K, K))
    entropy = 0.0
    for i in range(n):
        for c in range(K):
            table[np.argmax(P[i]), c] += weights[i] * P[i, c]
            if P[i, c] > 0:
                entropy -= weights[i] * P[i, c] * np.log(P[i, c])
    share = table.sum(axis=0) / weights.sum()
    before = -sum(p * np.log(p) for p in share if p > 0)
    certainty = [table[k, k] / table[k].sum() if table[k].sum() else np.nan for k in range(K)]
    r2 = 1 - entropy / weights.sum() / before if before > 1e-12 else 1.0
    return table, certainty, r2, 1 - np.trace(table) / weights.sum()


@given(
    raw=arrays.arrays(
        float, st.tuples(st.integers(1, 12), st.integers(1, 4)),
        elements=st.floats(0.01, 1),
    ),
    seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=50)
def test_plain_reference(raw, seed):
    P = raw / raw.sum(axis=1, keepdims=True)
    weights = np.random.default_rng(seed).uniform(0.1, 2, len(P))
    quality = classification_quality(P, sample_weight=weights)
    table, certainty, r2, error = plain_quality(P, weights)
    assert_allclose(quality.table, table, atol=1e-12)
    assert_allclose(quality.certainty, certainty)
    assert_allclose(quality.entropy_r2, max(r2, 0), atol=1e-9)
    assert_allclose(quality.error, error, atol=1e-12)
    assert_allclose(quality.sizes.sum(), 1)
    assert (quality.lower <= quality.sizes + 1e-12).all()
    assert (quality.sizes <= quality.upper + 1e-12).all()


def test_certain_and_uncertain():
    certain = classification_quality(np.repeat(np.eye(3), 4, axis=0))
    assert certain.entropy_r2 == 1
    assert certain.error == 0
    assert_array_equal(certain.table, 4 * np.eye(3))
    blind = classification_quality(np.tile([0.5, 0.3, 0.2], (9, 1)))
    assert blind.entropy_r2 == pytest.approx(0, abs=1e-12)
    assert_allclose(blind.error, 0.5)
    assert np.isnan(blind.certainty[1:]).all()


def test_one_segment_and_an_empty_one():
    one = classification_quality(np.ones((5, 1)))
    assert (one.entropy_r2, one.error, one.lower[0], one.upper[0]) == (1, 0, 1, 1)
    empty = classification_quality(np.repeat([[1.0, 0, 0], [0, 1, 0]], 5, axis=0))
    assert (empty.sizes[2], empty.lower[2], empty.upper[2]) == (0, 0, 0)
    assert np.isnan(empty.certainty[2])
    assert np.isfinite(empty.lower).all()


def test_known_members_have_the_interval_of_a_proportion():
    P = np.repeat(np.eye(2), [30, 70], axis=0)
    quality = classification_quality(P)
    reach = logit(quality.upper[0]) - logit(0.3)
    assert_allclose(reach, 1.959964 / np.sqrt(100 * 0.3 * 0.7), rtol=1e-5)
    assert quality.interval == "weights only"


def test_zero_weights_drop_rows_and_the_unit_does_not_matter():
    _, P, rng = reference.simulate(200, 0)
    weights = rng.uniform(0, 2, 200) * (rng.random(200) < 0.7)
    one = classification_quality(P, sample_weight=weights)
    other = classification_quality(P[weights > 0], sample_weight=50 * weights[weights > 0])
    assert_allclose(one.upper, other.upper)
    assert_allclose(one.entropy_r2, other.entropy_r2)


def _survey(n, seed):
    """Draw two overlapping segments of 60 % and 40 %."""
    rng = np.random.default_rng(seed)
    z = rng.random(n) < 0.4
    return np.clip(rng.binomial(4, np.where(z, 0.7, 0.35)[:, None], size=(n, 6)) + 1, 1, 5)


def test_a_mixture_brings_its_own_standard_errors():
    X = _survey(400, 0)
    model = OrdinalMixture(2, distribution="god", n_categories=5, n_init=4, random_state=0).fit(X)
    quality = classification_quality(model, X)
    alone = classification_quality(model.predict_proba(X))
    assert quality.interval == "information"
    assert_allclose(quality.sizes, model.weights_, atol=1e-3)
    reach = logit(quality.upper) - logit(quality.sizes)
    share = quality.sizes * (1 - quality.sizes)
    assert_allclose(reach, 1.959964 * model.standard_errors_.weights / share, rtol=1e-5)
    assert (quality.upper - quality.lower > alone.upper - alone.lower).all()


@pytest.mark.slow
def test_intervals_cover():
    pmf = np.array([[[0.6, 0.25, 0.1, 0.04, 0.01]] * 6, [[0.05, 0.15, 0.2, 0.25, 0.35]] * 6])
    covered = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        z = (rng.random(300) < 0.35).astype(int)
        P = np.ones((300, 2)) * [0.65, 0.35]
        for j in range(6):
            x = np.array([rng.choice(5, p=pmf[k, j]) for k in z])
            P *= pmf[:, j, x].T
        quality = classification_quality(P / P.sum(axis=1, keepdims=True))
        covered.append(quality.lower[0] <= 0.65 <= quality.upper[0])
    assert 0.9 < np.mean(covered) < 0.99


def test_tables_and_words():
    quality = classification_quality([[0.9, 0.1], [0.2, 0.8]])
    assert str(quality) == (
        "85% of the rows are expected to be in the right segment (entropy R² 0.40)."
    )
    assert quality.to_frame().index.tolist() == [1, 2]
    assert_allclose(quality.table_frame().loc[1, 2], 0.1)
    assert "<table>" in quality._repr_html_()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": [[0.5, 0.6]]}, "row 0 of the membership probabilities"),
        ({"source": [[1.5, -0.5]]}, "row 0 of the membership probabilities"),
        ({"source": [["a", "b"]]}, "must be numbers"),
        ({"source": [[1.0]], "sample_weight": [-1]}, "sample_weight"),
        ({"source": [[1.0]], "confidence": 1.0}, "confidence"),
        ({"source": OrdinalMixture()}, "X is needed"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(InputError, match=message):
        classification_quality(**given)
