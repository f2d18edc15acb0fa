"""The verdict: which run to trust, how sure that is, and what is said about it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs

from kindset.comparison import _weighing as weighing
from kindset.comparison import compare_runs, reproduced
from kindset.evaluation import agreement, neighbour_information, verdict_scores
from kindset.exceptions import InputError
from kindset.runs import STABILITY, Run

X, TRUTH = make_blobs(240, n_features=5, centers=4, cluster_std=0.6, random_state=3)


def runs_of(X, counts=(2, 3, 4, 5, 7), widths=(5, 3), seed=0):
    rng = np.random.default_rng(seed)
    runs = []
    for width in widths:
        space = X @ rng.normal(size=(X.shape[1], width))
        for k in counts:
            labels = KMeans(k, n_init=2, random_state=seed).fit_predict(space)
            runs.append(Run(labels, space, name=f"K={k} in {width}"))
    return runs


RUNS = runs_of(X)
COMPARISON = compare_runs(RUNS)
VERDICT = COMPARISON.verdict


def test_the_score_is_the_rule_of_the_evaluation():
    spaces = [RUNS[0].space, RUNS[5].space]
    partitions = [run.labels for run in RUNS]
    found = neighbour_information(spaces, partitions, owners=[0] * 5 + [1] * 5)
    expected = verdict_scores(found.scores, agreement(partitions).adjusted_rand)
    table = VERDICT.table.loc[[run.name for run in RUNS]]
    np.testing.assert_allclose(table["score"], expected, atol=1e-11)
    np.testing.assert_allclose(table["neighbours"], found.scores)
    assert VERDICT.strength == pytest.approx(found.strength)


def test_clear_groups_are_found_and_trusted():
    assert COMPARISON.leader().n_clusters == 4
    assert VERDICT.level in ("fair", "good")
    assert VERDICT.test is None
    assert VERDICT.table["score"].is_monotonic_decreasing
    assert VERDICT.table["place"].is_monotonic_increasing
    assert VERDICT.shortlist[0] == VERDICT.leader
    assert ("shortlist" in VERDICT.advice) == (VERDICT.level == "fair")
    assert VERDICT.headline.startswith(f"“{VERDICT.leader}”")


def test_near_copies_are_a_family_and_the_rival_is_none_of_them():
    runs = [replace(RUNS[2], name="first"), replace(RUNS[2], name="second"), *RUNS[3:5]]
    verdict = compare_runs(runs).verdict
    family = verdict.table["family"]
    assert family["first"] == family["second"] == 1
    assert verdict.runner_up not in ("first", "second")
    assert "“first” and “second” share the first place" in verdict.sentence
    copies = compare_runs(runs[:2]).verdict
    assert copies.runner_up is None
    assert "near-copies of each other" in copies.why


@settings(max_examples=8, deadline=None)
@given(order=st.permutations(range(10)), shift=st.integers(1, 9))
def test_order_and_names_change_nothing(order, shift):
    runs = [replace(RUNS[i], labels=(RUNS[i].labels + shift) % 10) for i in order]
    other = compare_runs(runs, n_jobs=2)
    pd.testing.assert_frame_equal(other.verdict.table, VERDICT.table, check_exact=True)
    pd.testing.assert_frame_equal(other.verdict.spaces, VERDICT.spaces, check_exact=True)
    assert other.verdict.why == VERDICT.why


@pytest.mark.parametrize("kind", ["Gaussian", "square", "exponential"])
def test_a_cloud_has_no_structure(kind):
    rng = np.random.default_rng(1)
    draw = {"Gaussian": rng.normal, "square": rng.uniform, "exponential": rng.exponential}[kind]
    verdict = compare_runs(runs_of(draw(size=(400, 4)))).verdict
    assert verdict.level == "no structure"
    assert verdict.headline == "No structure found"
    assert verdict.test.p_value > 0.1 or verdict.strength < 0.12
    assert "report that no groups were found" in verdict.advice
    assert "Cuts of clouds without groups reach" in verdict.why


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize(("width", "n"), [(1, 100), (2, 100), (2, 600), (5, 600)])
def test_groups_that_do_not_touch_are_structure(width, n, n_groups):
    groups = np.arange(n) % n_groups
    X = np.random.default_rng(n + width).normal(size=(n, width))
    X[:, 0] += 12 * groups
    runs = [Run(KMeans(k, n_init=4, random_state=0).fit_predict(X), X, name=f"{k}") for k in (2, 3)]
    verdict = compare_runs(runs).verdict
    assert verdict.n_parts == n_groups
    assert verdict.leader == f"{n_groups}"
    assert verdict.level == "fair"
    assert verdict.test is None
    assert f"{n_groups} parts that do not touch" in verdict.why


def test_a_run_that_ignores_the_parts_is_not_trusted():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:, 0] += 30 * (np.arange(200) % 2)
    across = [Run((X[:, 1] > cut).astype(int), X, name=f"cut {cut}") for cut in (0, 1)]
    verdict = compare_runs(across).verdict
    assert verdict.level == "undecided"
    assert verdict.headline == (
        "Undecided: the data have 2 parts that do not touch, and the first run others"
    )


def test_few_samples_are_undecided():
    X = np.concatenate([np.zeros((6, 2)), np.full((6, 2), 100.0)])
    X += np.random.default_rng(0).normal(scale=0.05, size=X.shape)
    runs = [Run(np.arange(12) // 6, X, name="halves"), Run(np.arange(12) % 2, X, name="odd")]
    verdict = compare_runs(runs).verdict
    assert verdict.level == "undecided"
    assert "12 samples are too few to tell" in verdict.sentence
    assert "Look at the whole shortlist" in verdict.advice


def test_weak_groups_are_undecided():
    rng = np.random.default_rng(3)
    groups = np.arange(400) % 8
    weak = rng.normal(size=(400, 8)) + 1.5 * rng.normal(size=(8, 8))[groups]
    verdict = compare_runs(runs_of(weak, counts=(6, 8, 10), widths=(8, 6))).verdict
    assert verdict.level == "undecided"
    assert verdict.headline == "Undecided: the groups are weak"
    assert verdict.test.p_value <= 0.1
    again = compare_runs(runs_of(weak, counts=(6, 8, 10), widths=(8, 6))[::-1], n_jobs=2).verdict
    assert again.sentence == verdict.sentence
    assert again.test.p_values == verdict.test.p_values
    assert again.why == verdict.why


class TestWithoutGroups:
    """Runs that cut nothing: one group, or noise only."""

    def runs(self, labels):
        X = np.random.default_rng(0).normal(size=(60, 3))
        named = {"all noise": np.full(60, -1), "all one": np.zeros(60, dtype=int), **labels}
        return [Run(values, X, name=name) for name, values in named.items()]

    def test_they_rank_behind_every_cut(self):
        odd = np.random.default_rng(1).integers(0, 3, size=60)
        verdict = compare_runs(self.runs({"random": odd})).verdict
        assert verdict.leader == "random"
        assert verdict.table["family"].nunique() == 3

    def test_alone_they_are_no_structure(self):
        comparison = compare_runs(self.runs({}))
        assert comparison.evaluations == {}
        assert comparison.verdict.level == "no structure"
        assert comparison.sentence.startswith("No structure: no run finds two groups.")
        assert any("no index has a score" in note for note in comparison.notes)
        assert comparison.to_dict()["consensus"] == []
        assert "all one" in comparison._repr_html_()
        with pytest.raises(InputError, match="no index has a score"):
            compare_runs(self.runs({}), judge="ace")


class TestNoise:
    def sparse(self, share):
        """The right groups, but only of the points that are nearest to their centres."""
        centres = np.array([X[k == TRUTH].mean(axis=0) for k in range(4)])
        near = np.argsort(((X - centres[TRUTH]) ** 2).sum(axis=1))
        labels = np.full(len(X), -1)
        kept = near[: round(share * len(X))]
        labels[kept] = TRUTH[kept]
        return Run(labels, X, name="sparse")

    def test_a_run_of_a_third_of_the_points_does_not_lead(self):
        comparison = compare_runs([self.sparse(1 / 3), *runs_of(X, widths=(5,))])
        assert comparison.leader().name != "sparse"
        assert comparison.verdict.table.loc["sparse", "coverage"] == pytest.approx(1 / 3)
        assert any("sparse (33% labelled)" in note for note in comparison.notes)

    def test_only_noise_comes_last(self):
        nothing = Run(np.full(len(X), -1), X, name="nothing")
        verdict = compare_runs([nothing, *RUNS]).verdict
        assert verdict.table.index[-1] == "nothing"


def test_the_blend_is_named_where_it_prefers_another_run():
    table = VERDICT.table.copy()
    table["blend"] = np.arange(len(table), 0, -1.0)
    other = replace(VERDICT, table=table)
    assert f"agreement prefers “{table.index[-1]}”" in other.sentence
    table["blend"] = np.arange(1.0, len(table) + 1)
    assert "prefers" not in replace(VERDICT, table=table).sentence


def test_many_samples_are_judged_by_a_sample(monkeypatch):
    monkeypatch.setattr(weighing, "SAMPLED_FROM", 150)
    sampled = compare_runs(RUNS)
    assert "The verdict rests on 150 of the 240 samples, drawn at random." in sampled.notes
    assert sampled.evidence.neighbours.coverage.shape == (10,)
    assert len(sampled.evidence.partitions[0]) == 150
    assert sampled.leader().n_clusters == 4
    assert compare_runs(RUNS).verdict.leader == sampled.verdict.leader


def test_cosine_looks_at_directions_only():
    stretch = np.random.default_rng(0).uniform(0.1, 10.0, size=(len(X), 1))
    runs = [replace(run, space=run.space * stretch) for run in RUNS]
    plain = compare_runs(RUNS, metric="cosine").verdict
    other = compare_runs(runs, metric="cosine").verdict
    np.testing.assert_allclose(other.table["score"], plain.table["score"], atol=1e-9)


def test_two_runs_and_one_group():
    whole = Run(np.zeros(len(X), dtype=int), X, name="whole")
    verdict = compare_runs([whole, Run(TRUTH, X, name="parts")]).verdict
    assert list(verdict.table.index) == ["parts", "whole"]
    assert verdict.table["score"]["whole"] < verdict.table["score"]["parts"] - 0.1


class TestReproducibility:
    def seeds(self):
        iris = load_iris().data
        return [
            Run(
                KMeans(3, n_init=1, random_state=s).fit_predict(iris),
                iris,
                name=f"kmeans s{s}",
                method="kmeans",
                seed=s,
            )
            for s in range(3)
        ]

    def test_seeds(self):
        runs = self.seeds()
        (group,) = reproduced(runs)
        pairs = agreement([run.labels for run in runs]).adjusted_rand[np.triu_indices(3, 1)]
        assert group.name == "kmeans"
        assert group.agreement == pytest.approx(pairs.mean())
        assert group.lowest == pytest.approx(pairs.min())
        table = compare_runs(runs).verdict.table
        np.testing.assert_allclose(table["reproducibility"], pairs.mean())

    def test_refits_say_more_than_seeds(self):
        first, *others = self.seeds()
        runs = [replace(first, metrics={STABILITY: 0.25}), *others]
        table = compare_runs(runs).verdict.table
        assert table.loc[first.name, "reproducibility"] == 0.25
        assert (table.loc[[run.name for run in others], "reproducibility"] > 0.25).all()

    def test_seeds_that_find_other_numbers_count(self):
        first, *others = (replace(run, parameters={"n_clusters": "auto"}) for run in self.seeds())
        halves = replace(first, labels=np.arange(150) // 75)
        (group,) = reproduced([halves, *others])
        assert group.n_clusters == [2, 3]
        assert len(group.runs) == 3
        assert group.agreement < 0.9

    def test_nothing_is_claimed_where_nothing_was_tried(self):
        assert VERDICT.table["reproducibility"].isna().all()
        assert reproduced(RUNS) == []


def test_it_shows_itself():
    assert repr(VERDICT).startswith(f"Verdict({VERDICT.level!r}, leader ")
    shown = VERDICT._repr_html_()
    assert VERDICT.sentence in shown
    assert "<th>shortlist</th>" in shown
    assert "–" in shown  # no reproducibility
