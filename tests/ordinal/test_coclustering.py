from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.metrics import adjusted_rand_score

from kindset.exceptions import InputError
from kindset.ordinal import (
    OrdinalCoclustering,
    bos_pmf,
    god_pmf,
    load_coclustering,
    save_coclustering,
    select_coclusters,
)
from kindset.ordinal._block_laws import BLOCK_LAWS
from kindset.ordinal._block_starts import _first_model, run_start
from kindset.ordinal._blocks import BlockData, climb, expect, score_rows


def draw_blocks(n, n_columns, modes, seed, *, m=5, precision=0.6, law=bos_pmf):
    """Draw rows and columns at random, and each block from its law."""
    rng = np.random.default_rng(seed)
    modes = np.asarray(modes)
    z = rng.choice(len(modes), size=n, p=np.arange(len(modes), 0, -1) / sum(range(len(modes) + 1)))
    w = np.arange(n_columns) % modes.shape[1]
    X = np.empty((n, n_columns), dtype=int)
    for k, g in product(range(modes.shape[0]), range(modes.shape[1])):
        where = np.ix_(z == k, w == g)
        X[where] = rng.choice(m, size=X[where].shape, p=law(m, modes[k, g], precision)) + 1
    return X, z, w


def _data(codes, n_levels, cluster_levels, n_row_clusters, law="bos", weights=None):
    n_levels = np.array(n_levels)
    return BlockData(
        codes.astype(np.uint8), np.ones(len(codes)) if weights is None else weights, n_levels,
        np.concatenate([[0], np.cumsum(n_levels + 1)]), np.array(cluster_levels), n_row_clusters,
        BLOCK_LAWS[law],
    )  # fmt: skip


def plain_bound(data, model):
    """Return the bound written out: expected joint log-probability plus both entropies."""
    log_pmf = [
        data.law.log_pmf(parameters, m)
        for parameters, m in zip(model.parameters, data.cluster_levels.tolist(), strict=True)
    ]
    t = model.memberships
    scores = np.zeros((len(data.codes), data.n_row_clusters))
    for i, row in enumerate(data.codes):
        for k in range(data.n_row_clusters):
            scores[i, k] = np.log(model.row_weights[k])
            for j, x in enumerate(row):
                for g in range(t.shape[1]):
                    if x < data.n_levels[j] and t[j, g] > 0:
                        scores[i, k] += t[j, g] * log_pmf[g][k, x]
    s = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    value = 0.0
    for i in range(len(s)):
        value += data.weights[i] * (s[i] @ scores[i] - s[i] @ np.log(s[i]))
    for j, g in product(range(t.shape[0]), range(t.shape[1])):
        if t[j, g] > 0:
            value += t[j, g] * (np.log(model.column_weights[g]) - np.log(t[j, g]))
    return value


def exact_log_likelihood(data, model):
    """Sum over all partitions of rows and columns."""
    log_pmf = [
        data.law.log_pmf(parameters, m)
        for parameters, m in zip(model.parameters, data.cluster_levels.tolist(), strict=True)
    ]
    n_clusters = len(data.cluster_levels)
    terms = []
    for w in product(range(n_clusters), repeat=data.codes.shape[1]):
        value = sum(np.log(model.column_weights[g]) for g in w)
        for row in data.codes:
            joint = np.log(model.row_weights).copy()
            for j, x in enumerate(row):
                if x < data.n_levels[j]:
                    joint += log_pmf[w[j]][:, x]
            value += logsumexp(joint)
        terms.append(value)
    return logsumexp(terms)


class TestBound:
    @given(
        seed=st.integers(0, 10_000),
        law=st.sampled_from(sorted(BLOCK_LAWS)),
        n_row_clusters=st.integers(1, 3),
    )
    @settings(max_examples=25)
    def test_plain_reference_and_never_falling(self, seed, law, n_row_clusters):
        rng = np.random.default_rng(seed)
        n_levels = np.array([3, 3, 4, 3, 4, 1])
        codes = rng.integers(n_levels + 1, size=(12, 6))  # some missing
        weights = rng.uniform(0.1, 2, 12)
        data = _data(codes, n_levels, [1, 3, 3, 4], n_row_clusters, law, weights)
        model = _first_model(data, np.random.RandomState(seed), kmeans=bool(seed % 2))
        fit = climb(data, model, max_iter=30, tol=0)
        assert np.diff(fit.history).min(initial=0) > -1e-8
        value, counts = expect(data, fit.model)
        assert_allclose(value, plain_bound(data, fit.model), rtol=1e-10)
        assert_allclose(counts[: data.starts[1]].sum(), weights.sum())
        assert_allclose(fit.model.memberships.sum(axis=1), 1)
        assert (fit.model.memberships[n_levels[:, None] != data.cluster_levels] == 0).all()

    @pytest.mark.parametrize("seed", range(5))
    def test_the_bound_is_below_the_exact_likelihood(self, seed):
        rng = np.random.default_rng(seed)
        data = _data(rng.integers(3, size=(5, 4)), [3] * 4, [3, 3], 2)
        fit = run_start(data, seed, kmeans=True, max_iter=50, tol=1e-9)
        exact = exact_log_likelihood(data, fit.model)
        assert fit.objective <= exact + 1e-9
        assert exact - fit.objective < 4

    def test_one_cluster_on_either_side_is_exact(self):
        rng = np.random.default_rng(0)
        data = _data(rng.integers(3, size=(6, 4)), [3] * 4, [3], 2)
        fit = run_start(data, 0, kmeans=True, max_iter=200, tol=1e-9)
        assert_allclose(fit.objective, exact_log_likelihood(data, fit.model))


class TestRecovery:
    MODES = ((1, 4, 2), (4, 1, 5), (3, 5, 4))

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("law", ["bos", "god", "categorical"])
    def test_separated_blocks(self, seed, law):
        pmf, precision = (god_pmf, 0.85) if law == "god" else (bos_pmf, 0.6)
        X, z, w = draw_blocks(150, 24, self.MODES, seed, precision=precision, law=pmf)
        model = OrdinalCoclustering(
            3, 3, distribution=law, n_categories=5, n_init=8, random_state=0
        ).fit(X)
        assert adjusted_rand_score(z, model.labels_) >= 0.9
        assert adjusted_rand_score(w, model.column_labels_) >= 0.9
        assert model.converged_

    def test_groups_of_columns_gaps_and_one_missing_row(self):
        X, z, w = draw_blocks(200, 16, self.MODES, 1)
        Y, _, _ = draw_blocks(200, 6, [[1], [2], [2]], 1, m=2, precision=0.7)
        rng = np.random.default_rng(0)
        both = np.hstack([Y, X]).astype(float)
        both[rng.random(both.shape) < 0.15] = np.nan
        both[0] = np.nan
        model = OrdinalCoclustering(
            3, {5: 3, 2: 1}, n_categories=[2] * 6 + [5] * 16, n_init=8, random_state=0
        ).fit(both)
        assert model.column_levels_.tolist() == [5, 5, 5, 2]
        assert (model.column_labels_[:6] == 3).all()
        assert adjusted_rand_score(w, model.column_labels_[6:]) >= 0.9
        assert adjusted_rand_score(z[1:], model.labels_[1:]) >= 0.9
        assert_allclose(model.predict_proba(both)[0], model.row_weights_)

    def test_icl_chooses_both_numbers(self):
        X, _, _ = draw_blocks(150, 20, self.MODES, 2)
        selection = select_coclusters(
            X, [1, 2, 3, 4], [2, 3, 4], n_categories=5, n_init=6, random_state=0
        )
        assert selection.n_clusters == (3, 3)
        assert str(selection) == "3 row clusters and 3 column clusters have the lowest ICL."
        assert selection.model.icl_ == selection.path["icl"].min()
        assert "<table>" in selection._repr_html_()

    def test_no_structure(self):
        X = np.random.default_rng(0).integers(1, 5, size=(100, 10))
        selection = select_coclusters(X, [1, 2], [1, 2], n_init=3, random_state=0)
        assert str(selection) == "No block structure found: a single block has the lowest ICL."


class TestEstimator:
    def _table(self, n=80):
        return draw_blocks(n, 12, [[1, 4], [5, 2]], 0)[0]

    def test_icl_is_that_of_the_partitions(self):
        X = self._table()
        model = OrdinalCoclustering(2, 2, n_categories=5, n_init=4, random_state=0).fit(X)
        value = 0.0
        for i, j in product(range(80), range(12)):
            k, g = model.labels_[i], model.column_labels_[j]
            value += np.log(model.probabilities_[g][k, X[i, j] - 1])
        value += np.log(model.row_weights_[model.labels_]).sum()
        value += np.log(model.column_weights_[model.column_labels_]).sum()
        penalty = np.log(80) + np.log(12) + 4 * np.log(80 * 12)
        assert_allclose(model.icl_, -2 * value + penalty)

    def test_whole_weights_repeat_rows(self):
        X = self._table()
        weights = np.random.default_rng(0).integers(0, 3, len(X))
        options = {"n_categories": 5, "n_init": 6, "random_state": 0}
        one = OrdinalCoclustering(2, 2, **options).fit(X, sample_weight=weights)
        other = OrdinalCoclustering(2, 2, **options).fit(np.repeat(X, weights, axis=0))
        assert_allclose(one.bound_, other.bound_, rtol=1e-6)
        assert_allclose(one.icl_, other.icl_, rtol=1e-6)

    def test_the_result_does_not_depend_on_the_workers(self):
        X = self._table()
        one, two = (
            OrdinalCoclustering(2, 2, n_init=6, random_state=1, n_jobs=jobs).fit(X)
            for jobs in (1, 2)
        )
        assert_array_equal(one.start_bounds_, two.start_bounds_)
        assert_array_equal(one.labels_, two.labels_)

    def test_canonical_order(self):
        model = OrdinalCoclustering(2, 2, n_init=4, random_state=0).fit(self._table())
        for labels in (model.labels_, model.column_labels_):
            sizes = np.bincount(labels)
            assert sizes.tolist() == sorted(sizes, reverse=True)

    def test_biclusters(self):
        model = OrdinalCoclustering(2, 2, n_init=4, random_state=0).fit(self._table())
        rows, columns = model.biclusters_
        assert rows.shape == (4, 80)
        assert columns.shape == (4, 12)
        assert_array_equal(rows[2], model.row_labels_ == 1)
        assert_array_equal(columns[2], model.column_labels_ == 0)
        assert model.blocks()["n_rows"].tolist() == rows.sum(axis=1).tolist()

    @pytest.mark.parametrize("distribution", ["god", "categorical"])
    def test_names_are_kept_and_files_bring_back_everything(self, distribution, tmp_path):
        X = pd.DataFrame(self._table(), columns=[f"q{j}" for j in range(12)])
        model = OrdinalCoclustering(
            2, {5: 2}, distribution=distribution, categories={"q0": [1, 2, 3, 4, 5]},
            n_init=2, random_state=0,
        ).fit(X)  # fmt: skip
        save_coclustering(model, tmp_path / "model.json")
        again = load_coclustering(tmp_path / "model.json")
        assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.get_params() == model.get_params()
        assert again.icl_ == model.icl_
        pd.testing.assert_frame_equal(again.blocks(), model.blocks())
        assert again.feature_names_in_.tolist() == X.columns.tolist()

    def test_a_damaged_file_is_refused(self, tmp_path):
        model = OrdinalCoclustering(2, 2, n_init=2, random_state=0).fit(self._table())
        save_coclustering(model, tmp_path / "model.json")
        text = (tmp_path / "model.json").read_text()
        for old, new in (('"row_weights": [', '"row_weights": [2.0,'), ('"blocks"', '"block"')):
            (tmp_path / "broken.json").write_text(text.replace(old, new))
            with pytest.raises(InputError, match="is damaged"):
                load_coclustering(tmp_path / "broken.json")

    def test_more_clusters_than_rows_or_columns(self):
        X = np.array([[1, 2, 1], [2, 1, 2]])
        model = OrdinalCoclustering(3, 5, n_init=2, random_state=0).fit(X)
        assert_array_equal(model.predict(X), model.labels_)
        assert len(model.column_levels_) == 3
        assert np.isfinite([model.icl_, model.bound_]).all()

    def test_questions_that_say_nothing(self):
        X = self._table().astype(float)
        X[:, 0], X[:, 1] = 3, np.nan
        model = OrdinalCoclustering(2, 2, n_init=2, random_state=0).fit(X)
        assert model.column_levels_.tolist() == [5, 5, 1]
        assert (model.column_labels_[:2] == 2).all()

    @pytest.mark.parametrize("wanted", [{5: 2, 7: 1}, {}, {5: 0}, 0, 1.5, "x"], ids=str)
    def test_refused_numbers_of_column_clusters(self, wanted):
        with pytest.raises(InputError, match="n_column_clusters"):
            OrdinalCoclustering(2, wanted).fit(self._table())

    def test_refused_ranges(self):
        with pytest.raises(InputError, match="n_row_clusters"):
            select_coclusters(self._table(), [0, 1], [1])

    def test_score_is_the_mean_density(self):
        X = self._table()
        model = OrdinalCoclustering(2, 2, n_init=2, random_state=0).fit(X)
        data = _data(X - 1, [5] * 12, model.column_levels_, 2)
        assert_allclose(model.score_samples(X), logsumexp(score_rows(data, model._model), axis=1))
        assert_allclose(model.score(X), model.score_samples(X).mean())


@pytest.mark.realdata
def test_quality_of_life_as_published():
    """The column cluster of Selosse, Jacques and Biernacki (2021), section on co-clustering."""
    from kindset.datasets import load_dataqol

    model = OrdinalCoclustering(3, 3, n_categories=4, random_state=0).fit(load_dataqol().data)
    light = model.column_labels_ == model.column_labels_[4]
    assert (np.flatnonzero(light) + 1).tolist() == [3, 5, 8, 15, 17, 25, 28]
