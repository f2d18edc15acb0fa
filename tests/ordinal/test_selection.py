import numpy as np
import pytest

from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, bos_pmf, select_components


def _two_groups(n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(2, size=n)
    pmf = np.array([bos_pmf(5, mu, 0.8) for mu in (1, 5)]).cumsum(axis=1)
    return np.stack([(rng.random(n)[:, None] > pmf[z]).sum(axis=1) + 1 for _ in range(4)], axis=1)


def test_finds_the_number_of_groups():
    X = _two_groups()
    selection = select_components(X, range(2, 5), random_state=0, n_init=5)
    assert selection.n_components == 2
    assert selection.found_structure
    assert selection.model is selection.models[2]
    assert list(selection.path.index) == [1, 2, 3, 4]
    assert str(selection) == "2 components have the lowest ICL."
    best = selection.models[2]
    assert selection.path.loc[2, "bic"] == pytest.approx(best.bic(X))
    assert selection.path.loc[2, "icl"] == pytest.approx(best.icl(X))
    assert selection.path.loc[2, "aic"] == pytest.approx(best.aic(X))


@pytest.mark.parametrize("criterion", ["icl", "bic"])
def test_says_so_when_there_is_no_structure(criterion):
    """A full factorial design: every combination of answers just once."""
    X = np.stack(np.meshgrid(*[np.arange(1, 5)] * 4), axis=-1).reshape(-1, 4)
    selection = select_components(X, range(2, 5), criterion=criterion, random_state=0, n_init=5)
    assert selection.n_components == 1
    assert not selection.found_structure
    assert "No cluster structure found" in str(selection)


def test_weights_count():
    X = _two_groups()
    weights = np.full(len(X), 2.0)
    plain = select_components(np.vstack([X, X]), [2], random_state=0, n_init=4)
    weighted = select_components(X, [2], sample_weight=weights, random_state=0, n_init=4)
    np.testing.assert_allclose(weighted.path["icl"], plain.path["icl"])


def test_interrupt_keeps_what_was_finished(monkeypatch):
    original = OrdinalMixture.fit

    def fit(self, X, y=None, sample_weight=None):
        if self.n_components == 3:
            raise KeyboardInterrupt
        return original(self, X, y, sample_weight)

    monkeypatch.setattr(OrdinalMixture, "fit", fit)
    selection = select_components(_two_groups(), range(1, 6), random_state=0, n_init=2)
    assert selection.interrupted
    assert list(selection.models) == [1, 2]


@pytest.mark.parametrize("numbers", [[], [0, 2], 3, [-1]])
def test_wrong_range(numbers):
    with pytest.raises(InputError, match="n_components must be a range or list"):
        select_components(_two_groups(), numbers)


def test_wrong_criterion():
    with pytest.raises(InputError, match="criterion must be one of 'icl', 'bic', 'aic'"):
        select_components(_two_groups(), [2], criterion="gap")


def test_shows_itself_in_a_notebook():
    selection = select_components(_two_groups(), [2], n_init=2, random_state=0)
    shown = selection._repr_html_()
    assert f"<caption>{selection}</caption>" in shown
    assert shown.count("<tr") == 1 + len(selection.path)
    assert f'<tr style="font-weight: bold"><th>{selection.n_components}</th>' in shown
