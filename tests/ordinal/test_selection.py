import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.metrics import adjusted_rand_score

from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, bos_pmf, select_components
from kindset.ordinal._laws import LAWS, ORDERED_LAWS
from kindset.ordinal._path import Survey
from kindset.ordinal._rows import Rows
from kindset.ordinal._selection import _rule
from kindset.ordinal._stability import likelihood_ratio_test
from kindset.ordinal._trait import TraitFit, fit_trait


def _two_groups(n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(2, size=n)
    pmf = np.array([bos_pmf(5, mu, 0.8) for mu in (1, 5)]).cumsum(axis=1)
    return np.stack([(rng.random(n)[:, None] > pmf[z]).sum(axis=1) + 1 for _ in range(4)], axis=1)


def test_finds_the_number_of_groups():
    X = _two_groups()
    selection = select_components(
        X, range(2, 5), criterion="icl", distribution="bos", random_state=0, n_init=5
    )
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
    how = {"criterion": "icl", "random_state": 0, "n_init": 4}
    plain = select_components(np.vstack([X, X]), [2], **how)
    weighted = select_components(X, [2], sample_weight=weights, **how)
    np.testing.assert_allclose(weighted.path["icl"], plain.path["icl"])


def test_interrupt_keeps_what_was_finished(monkeypatch):
    original = OrdinalMixture.fit

    def fit(self, X, y=None, sample_weight=None):
        if self.n_components == 3:
            raise KeyboardInterrupt
        return original(self, X, y, sample_weight)

    monkeypatch.setattr(OrdinalMixture, "fit", fit)
    selection = select_components(
        _two_groups(), range(1, 6), criterion="icl", random_state=0, n_init=2
    )
    assert selection.interrupted
    assert list(selection.models) == [1, 2]


@pytest.mark.parametrize("numbers", [[], [0, 2], 3, [-1]])
def test_wrong_range(numbers):
    with pytest.raises(InputError, match="n_components must be a range or list"):
        select_components(_two_groups(), numbers)


def test_wrong_criterion():
    with pytest.raises(InputError, match="criterion must be one of 'rule', 'icl', 'bic', 'aic'"):
        select_components(_two_groups(), [2], criterion="gap")


def test_shows_itself_in_a_notebook():
    selection = select_components(_two_groups(), [2], criterion="icl", n_init=2, random_state=0)
    shown = selection._repr_html_()
    assert f"<caption>{selection}</caption>" in shown
    assert shown.count("<tr") == 1 + len(selection.path)
    assert f'<tr style="font-weight: bold"><th>{selection.n_components}</th>' in shown


def rounded_normals(n, centers, seed=0, levels=5):
    """Return answers of segments around given centers, and the segments."""
    rng = np.random.default_rng(seed)
    z = rng.integers(len(centers), size=n)
    return np.clip(np.rint(rng.normal(np.asarray(centers)[z], 1)), 1, levels), z


@pytest.fixture(scope="module")
def found():
    centers = [[1, 1, 5, 5, 3, 1], [5, 5, 1, 1, 3, 1], [3, 1, 3, 5, 5, 5]]
    X, z = rounded_normals(600, centers)
    return select_components(X, range(1, 5), random_state=0), X, z


class TestRule:
    """Law and number together, one trait, reproducibility: what is said and why."""

    def test_finds_segments(self, found):
        selection, X, z = found
        assert selection.n_components == 3
        assert selection.defensible == (3, 3)
        assert selection.criterion == "rule"
        assert adjusted_rand_score(z, selection.model.labels_) > 0.8
        assert selection.law in LAWS
        assert str(selection).startswith("3 segments describe the answers best")
        assert np.isfinite(selection.model.score(X))
        assert selection.trait.bic > selection.path["bic"].min()

    def test_reports_everything(self, found):
        selection, X, _ = found
        path = selection.to_frame()
        assert {"sabic", "caic", "entropy_r2", "reproducibility", "seeds", "held_out",
                "held_out_error", "behind", "behind_error"} <= set(path)  # fmt: skip
        best = selection.models[3]
        row, n = path.loc[3], len(X)
        assert row["bic"] == pytest.approx(best.bic(X))
        assert row["caic"] == pytest.approx(row["bic"] + row["n_parameters"])
        penalty = np.log((n + 2) / 24) * row["n_parameters"]
        assert row["sabic"] == pytest.approx(-2 * row["log_likelihood"] + penalty)
        p = best.predict_proba(X)
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum()
        assert row["entropy_r2"] == pytest.approx(1 - entropy / (n * np.log(3)))
        assert (path["held_out"] < path["log_likelihood"] / n).all()
        assert path["behind"].min() == 0
        assert path["reproducibility"].between(-0.1, 1.0).all()
        assert set(selection.laws.columns) == set(ORDERED_LAWS)
        assert selection.laws[selection.law].loc[3] == pytest.approx(row["bic"])
        assert "reproducibility" in selection._repr_html_()

    def test_does_not_depend_on_workers(self, found):
        selection, X, _ = found
        again = select_components(X, range(1, 5), random_state=0, n_jobs=2)
        pd.testing.assert_frame_equal(again.path, selection.path)
        assert again.sentences == selection.sentences

    def test_shuffled_columns_have_no_segments(self, found):
        _, X, _ = found
        rng = np.random.default_rng(0)
        shuffled = np.column_stack([rng.permutation(column) for column in X.T])
        selection = select_components(shuffled, range(1, 4), random_state=0)
        assert selection.n_components == 1
        assert "No cluster structure found" in str(selection)

    def test_one_trait_is_no_segments(self):
        rng = np.random.default_rng(0)
        trait = rng.normal(size=(800, 1))
        X = np.clip(np.rint(3 + trait + rng.normal(0, 0.8, size=(800, 8))), 1, 5)
        selection = select_components(X, range(1, 5), random_state=0)
        assert selection.n_components == 1
        assert selection.sentences[0].startswith("The answers vary along one scale")

    def test_goes_on_where_bic_asks_for_more(self, found):
        _, X, _ = found
        selection = select_components(X, [1, 2], distribution="tilted", random_state=0)
        assert max(selection.path.index) > 2
        assert selection.n_components == 3
        assert list(selection.laws) == ["tilted"]

    def test_likelihood_never_falls_with_the_number(self, found):
        models = found[0].models
        reached = [models[k].log_likelihood_ for k in sorted(models)]
        assert (np.diff(reached) > -0.5).all()

    def test_bootstrap_likelihood_ratio(self):
        X, _ = rounded_normals(200, [[1, 1, 1, 1], [5, 5, 5, 5]])
        survey = Survey.read(X, None, {"distribution": "adjacent", "random_state": 0})
        how = {"n_replicates": 19, "seed": 0}
        assert likelihood_ratio_test(survey, "adjacent", 1, **how)[1] == 0.05
        assert likelihood_ratio_test(survey, "adjacent", 2, **how)[1] > 0.05

    def test_mixed_columns(self):
        rng = np.random.default_rng(0)
        z = rng.integers(2, size=300)
        frame = pd.DataFrame(
            {f"q{j}": np.clip(np.rint(rng.normal(1 + 3 * z, 1)), 0, 4) for j in range(4)}
        ).assign(age=rng.normal(30 + 20 * z, 5), region=rng.choice(["n", "s"], 300))
        selection = select_components(frame, range(1, 4), random_state=0)
        assert selection.n_components == 2
        assert selection.model.distributions_[-2:] == ["gaussian", "categorical"]

    @pytest.mark.parametrize(
        ("by_icl", "by_bic", "stable", "chosen", "said"),
        [
            (2, 3, {2: 0.9, 3: 0.5}, 2, "2 segments reproduce; up to 3 describe"),
            (1, 3, {2: 0.9, 3: 0.8}, 3, "Segments overlap; many people cannot be assigned"),
            (2, 2, {2: 0.3, 3: 0.3}, 1, "No division reproduces"),
            (3, 3, {2: 0.9, 3: 0.6}, 2, "2 segments reproduce; up to 3"),
            (1, 1, {2: 0.9, 3: 0.9}, 1, "No cluster structure found"),
        ],
    )
    def test_sentences(self, by_icl, by_bic, stable, chosen, said):
        path = pd.DataFrame(
            {
                "bic": [float(k != by_bic) for k in (1, 2, 3)],
                "icl": [float(k != by_icl) for k in (1, 2, 3)],
                "reproducibility": [1.0, stable[2], stable[3]],
            },
            index=[1, 2, 3],
        )
        number, sentences = _rule(path, None, "tilted")
        assert number == chosen
        assert said in " ".join(sentences)
        assert _rule(path, TraitFit(0.0, 1, -1.0), "tilted")[0] == 1


def test_trait_of_a_plain_model_by_brute_force():
    """The likelihood of given parameters, summed over nodes, row by row."""
    rng = np.random.default_rng(0)
    X, _ = rounded_normals(150, [[1, 1, 3], [4, 5, 3]])
    codes = (X - 1).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.1] = 5
    rows = Rows.merge(codes, np.ones(150), np.full(3, 5))
    fit = fit_trait(rows, ("tilted",) * 3, max_iter=400, tol=1e-4)
    assert fit.n_parameters == 3 * 2 * 4
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)

    def loss(theta):
        a, b = theta.reshape(2, 3, 5)
        logs = log_softmax(a[..., None] + b[..., None] * nodes, axis=1)
        joint = np.tile(np.log(weights / weights.sum()), (150, 1))
        for j in range(3):
            padded = np.vstack([logs[j], np.zeros(15)])
            joint += padded[codes[:, j]]
        return -logsumexp(joint, axis=1).sum()

    start = np.stack([np.zeros((3, 5)), np.tile(np.linspace(-1, 1, 5), (3, 1))])
    found = minimize(loss, start.ravel(), method="L-BFGS-B", options={"maxiter": 3000})
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=0.5)
