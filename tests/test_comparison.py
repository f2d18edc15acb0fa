"""The one place that judges runs, from Python."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import survey_run
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from kindset.comparison import (
    DEFAULT_NOISE,
    KNOWN_MEASURES,
    STRATEGIES,
    _known,
    compare_runs,
    correlation,
    known_measures,
)
from kindset.evaluation import AdaptiveEvaluation, score_matrix
from kindset.exceptions import InputError
from kindset.runs import Run, Source, fingerprint

X, TRUTH = make_blobs(90, n_features=4, centers=3, random_state=1)


def make_runs():
    rng = np.random.default_rng(0)
    runs = []
    for k in (2, 3, 4, 6):
        space = X @ rng.normal(size=(4, 3))
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(space)
        runs.append(Run(labels, space, name=f"k{k}", data=fingerprint(X)))
    return runs


RUNS = make_runs()
COMPARISON = compare_runs(RUNS, truth=TRUTH)


def test_the_verdict_decides():
    assert COMPARISON.by_verdict
    assert not COMPARISON.by_likelihood
    names = [run.name for run in COMPARISON.order()]
    assert names == list(COMPARISON.verdict.table.index)
    assert COMPARISON.leader() is COMPARISON.order()[0]
    assert COMPARISON.leader().name == COMPARISON.verdict.leader == "k3"
    assert any(run is COMPARISON.leader() for run in RUNS)
    assert COMPARISON.judge.scores[names].is_monotonic_decreasing
    assert COMPARISON.sentence == COMPARISON.verdict.sentence


def test_ace_can_be_asked_to_decide():
    comparison = compare_runs(RUNS, judge="ace")
    names = [run.name for run in comparison.order()]
    assert not comparison.by_verdict
    assert names == list(comparison.consensus().index)
    scores = comparison.judge.scores
    assert scores.max() == 4 - comparison.consensus()["mean_rank"].min()
    assert f"“{names[0]}” comes first of 4 runs by the mean of its ACE ranks" in comparison.sentence
    assert "a second opinion" in comparison.sentence
    single = compare_runs(RUNS, ["dunn"], judge="ace")
    best = single.evaluations["dunn"].ranking_[0]
    assert single.leader().name == RUNS[best].name


@pytest.mark.parametrize(
    ("judge", "message"),
    [("best", "judge='best' is unknown; choose from auto"), ("likelihood", "not all models of")],
)
def test_a_judge_that_cannot_judge_is_refused(judge, message):
    with pytest.raises(InputError, match=message) as error:
        compare_runs(RUNS, judge=judge)
    assert error.value.parameter == "judge"


def test_raw_data_can_stand_in_for_spaces():
    bare = [replace(run, space=None) for run in RUNS]
    with pytest.raises(InputError, match="give the raw data"):
        compare_runs(bare)
    comparison = compare_runs(bare, raw=X)
    assert comparison.leader().name == "k3"
    assert comparison.space_names[0] == "the raw data"
    assert list(comparison.verdict.spaces.index) == ["the raw data"]
    with pytest.raises(InputError, match="the raw data"):
        compare_runs(bare, raw=X[:5])


def test_a_table_can_be_changed_without_changing_the_comparison():
    table = COMPARISON.consensus()
    table["place"] = 0
    assert COMPARISON.consensus()["place"].min() >= 1


@settings(max_examples=12)
@given(order=st.permutations(range(4)), names=st.permutations(range(10)))
def test_the_order_of_runs_and_the_names_of_labels_change_nothing(order, names):
    renamed = np.array(names)
    runs = [replace(RUNS[i], labels=renamed[RUNS[i].labels]) for i in order]
    other = compare_runs(runs, truth=np.array(list("abcdefghij"))[renamed[TRUTH]])
    assert [run.name for run in other.order()] == [run.name for run in COMPARISON.order()]
    pd.testing.assert_frame_equal(other.consensus(), COMPARISON.consensus())
    pd.testing.assert_frame_equal(other.known.sort_index(), COMPARISON.known.sort_index())
    pd.testing.assert_frame_equal(other.summary(), COMPARISON.summary())
    pd.testing.assert_frame_equal(other.verdict.table, COMPARISON.verdict.table)
    pd.testing.assert_frame_equal(other.verdict.spaces, COMPARISON.verdict.spaces)
    assert other.sentence == COMPARISON.sentence
    for index in COMPARISON.evaluations:
        pd.testing.assert_frame_equal(other.ranking(index), COMPARISON.ranking(index))


class TestLikelihood:
    def survey_runs(self):
        return [survey_run(kind, k) for kind, k in (("god", 3), ("bos", 3), ("god", 2))]

    def test_the_smallest_icl_leads(self):
        runs = self.survey_runs()
        runs = [replace(run, name=f"r{i}") for i, run in enumerate(runs)]
        comparison = compare_runs(runs)
        expected = sorted(runs, key=lambda run: run.metrics["icl"])
        assert comparison.by_likelihood
        assert comparison.order() == expected
        assert comparison.leader() is expected[0]
        assert comparison.summary()["ICL"].tolist() == [run.metrics["icl"] for run in expected]
        assert set(comparison.consensus().index) == {"r0", "r1", "r2"}

    @pytest.mark.parametrize(
        "change",
        [
            {"metrics": {}},
            {"metrics": {"icl": float("nan")}},
            {"metrics": {"icl": "3"}},
            {"metrics": {"icl": True}},
            {"metrics": {"icl": 10**400}},
            {"details": {"kind": "features"}},
            {"data": fingerprint(np.ones((944, 2)))},
        ],
    )
    def test_it_decides_only_between_models_of_the_same_answers(self, change):
        first, *others = (
            replace(run, name=f"r{i}", source=Source("survey.csv", "abc"))
            for i, run in enumerate(self.survey_runs())
        )
        comparison = compare_runs([replace(first, **change), *others])
        assert not comparison.by_likelihood
        assert comparison.by_verdict

    def test_names_decide_ties(self):
        runs = [
            replace(run, name=name, metrics={"icl": 5.0})
            for run, name in zip(self.survey_runs(), "cab", strict=True)
        ]
        assert [run.name for run in compare_runs(runs).order()] == ["a", "b", "c"]


def plain_measures(truth, labels):
    """Known-label measures with every sample without a label renamed by hand."""
    alone = [f"alone {i}" if label == -1 else f"{label}" for i, label in enumerate(labels)]
    some = [i for i, label in enumerate(labels) if label != -1]
    found = {name: measure(truth, alone) for name, measure in KNOWN_MEASURES.items()}
    for name, measure in KNOWN_MEASURES.items():
        value = measure([truth[i] for i in some], [labels[i] for i in some]) if some else np.nan
        found[f"{name}_covered"] = value
    return found


class TestKnown:
    @given(
        pairs=st.lists(
            st.tuples(st.integers(0, 4), st.integers(-1, 5)), min_size=1, max_size=40
        )
    )  # fmt: skip
    def test_samples_without_a_label_are_clusters_of_their_own(self, pairs):
        truth, labels = zip(*pairs, strict=True)
        found = known_measures(truth, labels)
        expected = plain_measures(truth, labels)
        assert list(found) == list(expected)
        assert found == pytest.approx(expected, nan_ok=True)

    def test_table(self):
        table = COMPARISON.known
        assert list(table.index) == [run.name for run in RUNS]
        assert table.loc["k3"].to_dict() == pytest.approx(known_measures(TRUTH, RUNS[1].labels))
        empty = compare_runs(RUNS).known
        assert len(empty) == 0
        assert list(empty.columns) == list(table.columns)

    def test_each_run_is_measured_once(self, monkeypatch):
        measured = []

        def counted(truth, labels):
            measured.append(labels)
            return known_measures(truth, labels)

        monkeypatch.setattr(_known, "known_measures", counted)
        comparison = compare_runs(RUNS, truth=TRUTH)
        for _ in range(2):
            for index in comparison.evaluations:
                comparison.ranking(index)
            comparison.agreement()
            comparison.summary()
            comparison._repr_html_()
        assert len(measured) == len(RUNS)

    def test_agreement_is_that_of_the_rankings(self):
        agreement = COMPARISON.agreement()
        ranking = COMPARISON.ranking("silhouette")
        assert {"nmi", "acc", "ari"} == set(agreement.columns)
        for strategy in STRATEGIES:
            assert agreement.loc[("silhouette", strategy), "ari"] == pytest.approx(
                correlation(ranking[strategy], ranking["ari"]), nan_ok=True
            )
        assert compare_runs(RUNS).agreement() is None
        assert compare_runs(RUNS[:2], truth=TRUTH).agreement() is None

    @pytest.mark.parametrize(
        ("truth", "message"),
        [
            (TRUTH[:5], "5 known labels for 90 samples"),
            (TRUTH + 0.5, "holds fractions"),
            (X, "the list of known labels has shape"),
        ],
    )
    def test_wrong_known_labels(self, truth, message):
        with pytest.raises(InputError, match=message):
            compare_runs(RUNS, truth=truth)


def with_noise(share):
    """Runs in one space: one right but for noise, one right but for a few, one that is wrong."""
    rng = np.random.default_rng(0)
    centre = np.array([X[k == TRUTH].mean(axis=0) for k in range(3)])
    near = np.argsort(((X - centre[TRUTH]) ** 2).sum(axis=1))
    sparse = np.full(90, -1)
    kept = near[: round(share * 90)]
    sparse[kept] = TRUTH[kept]
    nearly = TRUTH.copy()
    nearly[:6] = rng.permutation(3).repeat(2)
    return [
        Run(sparse, X, name="sparse", data=fingerprint(X)),
        Run(nearly, X, name="nearly", data=fingerprint(X)),
        Run(rng.integers(0, 3, size=90), X, name="wrong", data=fingerprint(X)),
    ]


class TestNoise:
    def test_coverage_is_told_everywhere(self):
        comparison = compare_runs(with_noise(1 / 3), truth=TRUTH)
        assert comparison.coverage.to_dict() == {"sparse": 1 / 3, "nearly": 1, "wrong": 1}
        assert comparison.summary().loc["sparse", "coverage"] == 1 / 3
        assert "33%" in comparison._repr_html_()
        for index in comparison.evaluations:
            row = comparison.ranking(index).loc["sparse"]
            assert row["coverage"] == 1 / 3
            assert row["noise"] == 60
            assert row["nmi"] < row["nmi_covered"] == 1
        assert "nmi_covered" not in COMPARISON.ranking("silhouette")

    @pytest.mark.parametrize(
        ("n_labelled", "named"), [(63, "sparse (70%"), (71, "sparse (78%"), (72, None)]
    )
    def test_low_coverage_is_named(self, n_labelled, named):
        comparison = compare_runs(with_noise(n_labelled / 90), noise="drop")
        expected = [
            f"Some runs leave many samples without a label: {named} labelled). "
            "The verdict counts those samples against them. "
            "The indices judge them only by the samples that they label."
        ]
        found = [note for note in comparison.notes if "without a label" in note]
        assert found == (expected if named else [])

    def test_many_runs_are_not_all_named(self):
        runs = [replace(with_noise(0.5)[0], name=f"run {i}") for i in range(6)]
        runs.append(with_noise(0.5)[1])
        (note,) = (note for note in compare_runs(runs).notes if "without a label" in note)
        assert "run 3 (50% labelled) and 2 more." in note

    def test_noise_can_be_refused(self):
        with pytest.raises(InputError, match="60 noise points"):
            compare_runs(with_noise(1 / 3), noise="error")
        with pytest.raises(InputError, match="noise='keep' is unknown"):
            compare_runs(RUNS, noise="keep")

    def test_by_default_a_run_pays_for_what_it_leaves_out(self):
        runs = with_noise(1 / 3)
        assert DEFAULT_NOISE == "penalise"
        assert compare_runs(runs, noise="drop", judge="ace").leader().name == "sparse"
        assert compare_runs(runs, judge="ace").leader().name == "nearly"
        comparison = compare_runs(runs)
        assert comparison.leader().name == "nearly"
        assert any("lower their scores in proportion" in note for note in comparison.notes)
        partitions = [run.labels for run in runs]
        for index in comparison.evaluations:
            plain = score_matrix([X], partitions, index=index, noise="drop")[0]
            share = comparison.coverage.to_numpy()
            expected = share * plain + (1 - share) * plain.min()
            np.testing.assert_allclose(comparison.evaluations[index].score_matrix_[0], expected)


class TestNotes:
    def test_silhouettes_of_many_samples_are_estimated(self, monkeypatch):
        monkeypatch.setattr("kindset.comparison._indices._SAMPLED_FROM", 50)
        monkeypatch.setattr("kindset.comparison._indices._SAMPLE", 20)
        note = "Silhouettes are estimated from 20 of the 90 samples."
        comparison = compare_runs(RUNS)
        assert note in comparison.notes
        sizes = {name: one.sample_size for name, one in comparison.evaluations.items()}
        assert sizes == {"silhouette": 20, "calinski_harabasz": None, "davies_bouldin": None}
        for parameters in ({"indices": ["dunn"]}, {"n_bootstrap": 2}, {"sample_size": 90}):
            exact = compare_runs(RUNS, **parameters)
            assert note not in exact.notes
            assert not hasattr(next(iter(exact.evaluations.values())), "std_errors_")

    def test_runs_without_a_record_are_named(self):
        runs = [replace(RUNS[0], data=None), *RUNS[1:]]
        note = (
            "k2 has no data fingerprint; we assume the same data because the sample counts match."
        )
        assert note in compare_runs(runs).notes
        assert note not in compare_runs(runs, same_rows=True).notes
        assert note not in COMPARISON.notes

    def test_rows_can_be_stated_to_be_the_same(self):
        runs = [replace(RUNS[0], data=fingerprint(X + 1)), *RUNS[1:]]
        with pytest.raises(InputError, match="state it with `same_rows`"):
            compare_runs(runs)
        stated = compare_runs(runs, same_rows=True)
        assert stated.leader().name == COMPARISON.leader().name

    def test_warnings_for_developers_are_passed_on(self, monkeypatch):
        fit = AdaptiveEvaluation.fit

        def warn(evaluation, *arguments, **names):
            np.float64(1) / np.float64(0)
            return fit(evaluation, *arguments, **names)

        monkeypatch.setattr(AdaptiveEvaluation, "fit", warn)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            comparison = compare_runs(RUNS)
        assert not any("divide" in note for note in comparison.notes)

    @pytest.mark.parametrize("indices", [["silhouette", "dunn"], ["davies_bouldin"]])
    def test_a_sample_that_is_of_no_use_is_refused(self, indices):
        with pytest.raises(InputError, match="cannot be estimated from") as error:
            compare_runs(RUNS, indices, sample_size=9)
        assert error.value.parameter == "sample_size"
        assert "--" not in str(error.value)


class TestShown:
    def test_in_a_notebook(self):
        shown = COMPARISON._repr_html_()
        assert f"<b>“{COMPARISON.leader().name}” comes first of 4 runs" in shown
        for heading in ("score", "shortlist", "clusters", "coverage", "nmi", "acc", "ari"):
            assert f"<th>{heading}</th>" in shown
        places = [shown.index(f"<tr><th>{run.name}</th>") for run in COMPARISON.order()]
        assert places == sorted(places)
        assert "nmi" not in compare_runs(RUNS)._repr_html_()

    def test_names_are_escaped(self):
        runs = [replace(run, name=f"<script>{run.name}&") for run in RUNS]
        runs[0] = replace(runs[0], data=None)
        shown = compare_runs(runs)._repr_html_()
        assert "<script>" not in shown
        assert "&lt;script&gt;k2&amp; has no data fingerprint" in shown

    def test_many_runs_stay_small(self):
        runs = [replace(RUNS[i % 4], name=f"run {i:03}") for i in range(60)]
        shown = compare_runs(runs, ["davies_bouldin"])._repr_html_()
        assert "40 more runs follow" in shown
        assert len(shown) < 6000

    def test_in_a_terminal(self):
        leader = COMPARISON.leader().name
        assert repr(COMPARISON) == f"Comparison(4 runs, 4 spaces, leader {leader!r})"
