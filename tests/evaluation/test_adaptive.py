import warnings

import numpy as np
import pandas as pd
import pytest
from evaluation.test_grouping import same_groups
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import rankdata, spearmanr
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
)

from kindset.evaluation import AdaptiveEvaluation, EvidenceWarning, score_matrix
from kindset.evaluation._ace import AceSettings, evaluate, varying_rows
from kindset.exceptions import InputError

RUNS = {
    "default": {},
    "alpha0.05": {"alpha": 0.05},
    "dbscan0.1": {"grouping": "dbscan", "eps": 0.1},
    "dbscan0.2": {"grouping": "dbscan", "eps": 0.2},
    "with_outlier": {"include_outliers": True},
}
quiet = pytest.mark.filterwarnings("ignore::kindset.evaluation.EvidenceWarning")


@pytest.fixture
def runs(blobs):
    """Six noisy views of three clusters, and a partition made in each."""
    X, labels = blobs(n=150, d=3, k=3, spread=3.0)
    rng = np.random.default_rng(0)
    spaces = [X @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(150, d)) for d in range(2, 8)]
    wrong = [rng.random(150) < share for share in np.linspace(0, 0.5, 6)]
    return spaces, [np.where(w, rng.integers(0, 3, 150), labels) for w in wrong]


def selected_of(run):
    """Positions of the selected spaces among those kept, as the reference file has them."""
    if isinstance(run["weights"], dict):
        return sorted(map(int, run["weights"]))
    return [run["kept"].index(run["weights"])]


def settings_of(name, compat=None):
    return AceSettings(compat=compat, **RUNS[name])


@pytest.mark.parametrize("name", RUNS)
def test_paper_mode_reproduces_the_reference_cases(name, read_reference):
    n_cases = 0
    for case in read_reference("ace_cases.json"):
        if name not in case["runs"]:
            continue
        run, scores = case["runs"][name], np.array(case["scores"])
        where = f"case {case['case']}"
        kept = np.flatnonzero(varying_rows(scores))
        assert [f"s{row:03d}" for row in kept] == run["kept"], where
        found = evaluate(scores[kept], settings_of(name, "paper"))
        np.testing.assert_allclose(found.scores, run["ace"], rtol=0, atol=1e-9, err_msg=where)
        assert same_groups(found.groups, run["phase1"]), where
        if case["case"] != 54:
            assert same_groups(found.subgroups, run["phase2"]), where
        assert sorted(found.selected) == selected_of(run), where
        if isinstance(run["weights"], dict):
            expected = [run["weights"][str(i)] for i in found.selected]
            np.testing.assert_allclose(found.weights[found.selected], expected, atol=1e-9)
        n_cases += 1
    assert n_cases >= 27


@pytest.mark.parametrize("name", RUNS)
def test_default_mode_does_not_depend_on_the_order(name, read_reference):
    rng = np.random.default_rng(0)
    for case in read_reference("ace_cases.json"):
        scores = np.array(case["scores"])
        scores = scores[varying_rows(scores)]
        rows, columns = (rng.permutation(n) for n in scores.shape)
        found = evaluate(scores, settings_of(name))
        shuffled = evaluate(scores[rows][:, columns], settings_of(name))
        where = f"case {case['case']}"
        np.testing.assert_allclose(shuffled.scores, found.scores[columns], rtol=1e-9, err_msg=where)
        assert same_groups(shuffled.groups, found.groups[rows]), where
        assert same_groups(shuffled.subgroups, found.subgroups[rows]), where
        np.testing.assert_allclose(shuffled.weights, found.weights[rows], atol=1e-9)


def test_default_mode_mostly_selects_as_the_paper_does(read_reference):
    agreed = []
    for case in read_reference("ace_cases.json"):
        scores = np.array(case["scores"])
        for name, run in case["runs"].items():
            found = evaluate(scores[varying_rows(scores)], settings_of(name))
            agreed.append(sorted(found.selected) == selected_of(run))
    assert len(agreed) == 145
    assert sum(agreed) == 129


@quiet
def test_estimator_equals_the_functions(read_reference):
    for case in read_reference("ace_cases.json")[::6]:
        scores = np.array(case["scores"])
        for name, parameters in RUNS.items():
            expected = evaluate(scores[varying_rows(scores)], settings_of(name, "paper"))
            found = AdaptiveEvaluation(compat="paper", **parameters).fit_scores(scores)
            np.testing.assert_array_equal(found.scores_, expected.scores)
            assert found.kept_.sum() == len(expected.groups)


@quiet
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from(sorted(RUNS)),
    st.sampled_from(["pagerank", "hits"]),
)
def test_any_matrix_has_a_ranking_that_does_not_depend_on_order(seed, n, m, name, link):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 1)) * rng.random((n, m)) + rng.normal(size=m)
    rows, columns = rng.permutation(n), rng.permutation(m)
    found = AdaptiveEvaluation(link=link, **RUNS[name]).fit_scores(scores)
    shuffled = AdaptiveEvaluation(link=link, **RUNS[name]).fit_scores(scores[rows][:, columns])
    np.testing.assert_allclose(shuffled.scores_, found.scores_[columns], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(shuffled.rank_intervals_, found.rank_intervals_[columns])
    np.testing.assert_allclose(shuffled.weights_, found.weights_[rows], atol=1e-9)
    for name in vars(found):
        value = getattr(found, name)
        if name.endswith("_") and getattr(value, "dtype", np.dtype("O")).kind == "f":
            assert np.isfinite(value).all(), name


@quiet
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["silhouette", "davies_bouldin", "s_dbw"]))
def test_copies_and_renamed_copies_tie_in_any_order(seed, index):
    rng = np.random.default_rng(seed)
    spaces = [rng.normal(size=(30, d)) for d in (2, 3, 3, 4, 2)]
    partitions = [rng.integers(0, k, size=30) for k in (2, 3, 4, 3, 2)]
    spaces += [spaces[0], spaces[1]]
    partitions += [partitions[0], 5 - partitions[1]]
    names = list("abcdefg")
    order = rng.permutation(len(names))
    found = AdaptiveEvaluation(index=index).fit(spaces, partitions, names=names).to_frame()
    shuffled = AdaptiveEvaluation(index=index).fit(
        [spaces[i] for i in order], [partitions[i] for i in order], names=[names[i] for i in order]
    )
    for frame in (found, shuffled.to_frame()):
        for copy in ("af", "bg"):
            one, two = (frame.loc[name].drop("paired") for name in copy)
            assert (one == two).all(), (one, two)
    np.testing.assert_allclose(
        shuffled.to_frame().loc[names], found.loc[names], rtol=1e-9, atol=1e-12
    )


@quiet
def test_a_space_that_is_given_twice_counts_once(runs):
    spaces, partitions = runs
    once = AdaptiveEvaluation().fit(spaces, partitions)
    again = AdaptiveEvaluation().fit([*spaces, spaces[2], spaces[2]], partitions)
    np.testing.assert_array_equal(again.scores_, once.scores_)
    np.testing.assert_array_equal(again.pooled_, once.pooled_)
    assert again.status_[-2:].tolist() == ["copy", "copy"]
    np.testing.assert_array_equal(again.score_matrix_[-1], once.score_matrix_[2])
    paper = AdaptiveEvaluation(compat="paper").fit([*spaces, spaces[2]], partitions)
    assert "copy" not in paper.status_


@quiet
def test_names_decide_ties():
    scores = np.array([[1.0, 2.0, 2.0], [0.5, 3.0, 3.0]])
    assert AdaptiveEvaluation().fit_scores(scores).best_ == 1
    found = AdaptiveEvaluation().fit_scores(scores[:, ::-1], names=["z", "y", "x"])
    assert found.partition_names_[found.best_] == "y"


@quiet
def test_groups_that_tie_decide_together():
    one, two = np.array([3.0, 2.0, 1.0, 0.5]), np.array([1.0, 2.0, 3.0, 0.5])
    scores = np.array([one, one + 1e-13, two, two + 1e-13])
    expected = (one + two) / 2
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        found = AdaptiveEvaluation(grouping="dbscan").fit_scores(scores[order])
        np.testing.assert_allclose(found.scores_, expected)
        assert sorted(found.selected_) == [0, 1, 2, 3]
    first = AdaptiveEvaluation(grouping="dbscan", compat="paper").fit_scores(scores)
    assert sorted(first.selected_) == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.fit_scores([["a", 1]]), "score_matrix is not .*numbers"),
        (lambda a: a.fit_scores([[1, 2], [3]]), "score_matrix is not .*numbers"),
        (lambda a: a.fit_scores(np.eye(2), names=["a", "a"]), "called 'a'"),
        (lambda a: a.fit_scores(np.eye(2), ["x", "y"]), "dip_pvalues is not"),
    ],
)
def test_wrong_scores_and_names(call, message):
    with pytest.raises(InputError, match=message):
        call(AdaptiveEvaluation())


def test_unfitted_table():
    with pytest.raises(NotFittedError):
        AdaptiveEvaluation().to_frame()


@quiet
def test_raw_is_checked_first_and_sampled_too(runs):
    spaces, partitions = runs
    with pytest.raises(InputError, match="in raw"):
        AdaptiveEvaluation(index="c_index").fit(
            spaces, partitions, raw=np.ones((len(spaces[0]), 2))
        )
    raw = np.hstack(spaces)
    sampled = AdaptiveEvaluation(sample_size=20, random_state=0).fit(spaces, partitions, raw=raw)
    whole = AdaptiveEvaluation().fit(spaces, partitions, raw=raw)
    assert (sampled.raw_ != whole.raw_).any()


@quiet
def test_simulation_outcome(simulation_scores, read_reference):
    outputs = read_reference("simulation_sigma1_outputs.json")
    for entry, expected in outputs["metrics"].items():
        found = AdaptiveEvaluation(compat="paper").fit_scores(
            simulation_scores[f"S_{entry}"], outputs["pvalues"]
        )
        np.testing.assert_allclose(found.scores_, expected["ace"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.pooled_, expected["pool"], atol=1e-12)
        np.testing.assert_allclose(found.paired_, expected["pair"], atol=1e-12)
        assert same_groups(found.groups_, expected["phase1"])
        if entry != "cosine":
            assert same_groups(found.subgroups_, expected["phase2"])
        nmi = simulation_scores["nmi"]
        for strategy, values in (("ace", found.scores_), ("pool", found.pooled_)):
            correlation = spearmanr(values, nmi).statistic
            assert correlation == pytest.approx(
                expected["corr"][f"{strategy}_vs_nmi"]["rs"], abs=6e-4
            )


def test_dip_test_that_keeps_none_keeps_all_and_says_so(simulation_scores, read_reference):
    pvalues = read_reference("simulation_sigma1_dip.json")["pvalue"]
    with pytest.warns(EvidenceWarning, match="none of the 40 spaces multimodal"):
        found = AdaptiveEvaluation().fit_scores(simulation_scores["S_euclidean"], pvalues)
    assert found.kept_.all()


@quiet
def test_dip_test_drops_spaces_but_no_partition(simulation_scores):
    scores = simulation_scores["S_euclidean"]
    pvalues = np.where(np.arange(40) < 10, 1e-5, 0.3)
    found = AdaptiveEvaluation().fit_scores(scores, pvalues)
    alone = AdaptiveEvaluation().fit_scores(scores[:10])
    np.testing.assert_allclose(found.scores_, alone.scores_)
    assert (found.status_[10:] == "unimodal").all()
    assert (found.groups_[10:] == -2).all()
    np.testing.assert_allclose(found.pooled_, scores[:10].mean(axis=0))
    np.testing.assert_allclose(found.paired_, scores.diagonal())


@quiet
def test_fit_puts_the_parts_together(runs):
    spaces, partitions = runs
    raw = np.hstack(spaces)
    found = AdaptiveEvaluation().fit(spaces, partitions, raw=raw, names=list("abcdef"))
    matrix = score_matrix(spaces, partitions)
    np.testing.assert_array_equal(found.score_matrix_, matrix)
    np.testing.assert_array_equal(found.raw_, score_matrix([raw], partitions)[0])
    np.testing.assert_array_equal(found.paired_, matrix.diagonal())
    kept = matrix[found.kept_]
    np.testing.assert_allclose(found.rank_average_, rankdata(kept, axis=1).mean(axis=0))
    assert found.weights_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.scores_, found.weights_ @ matrix)
    assert found.best_ == found.ranking_[0] == 0
    assert found.to_frame().index[0] == "a"
    assert set(found.to_frame().columns) >= {"ace", "pooled", "paired", "raw", "rank_average"}


@quiet
def test_spaces_and_partitions_need_not_pair_up(runs):
    spaces, partitions = runs
    found = AdaptiveEvaluation().fit(spaces[:4], partitions, names=list("abcdef"))
    assert not hasattr(found, "paired_")
    assert found.space_names_ == [f"space {i}" for i in range(4)]
    assert "paired" not in found.to_frame()


@quiet
def test_a_second_fit_forgets_the_first(runs):
    spaces, partitions = runs
    found = AdaptiveEvaluation().fit(spaces, partitions, raw=spaces[0])
    found.fit(spaces[:3], partitions)
    assert not hasattr(found, "raw_")
    assert not hasattr(found, "paired_")


@quiet
def test_result_does_not_depend_on_workers(runs):
    one = AdaptiveEvaluation(n_bootstrap=20, random_state=3).fit(*runs)
    two = AdaptiveEvaluation(n_bootstrap=20, random_state=3, n_jobs=2).fit(*runs)
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.rank_intervals_, two.rank_intervals_)
    np.testing.assert_array_equal(one.win_shares_, two.win_shares_)


@quiet
def test_one_space_is_its_own_row(runs):
    spaces, partitions = runs
    found = AdaptiveEvaluation().fit(spaces[:1], partitions)
    np.testing.assert_array_equal(found.scores_, found.score_matrix_[0])


@quiet
def test_all_scores_equal():
    assert "all of them come out equal" in messages_of(np.ones((3, 4)))
    found = AdaptiveEvaluation().fit_scores(np.ones((3, 4)))
    assert (found.status_ == "constant").all()
    assert (found.scores_ == 1).all()
    np.testing.assert_allclose(found.win_shares_, 0.25)


@quiet
def test_outlier_space_may_replace_the_group():
    rng = np.random.default_rng(0)
    base = np.linspace(0, 1, 25)
    group = base + 0.01 * rng.normal(size=(4, 25))
    outlier = 5 + rng.normal(size=25)
    scores = np.vstack([group, outlier])
    without = AdaptiveEvaluation(grouping="dbscan").fit_scores(scores)
    assert without.selected_.tolist() == [0, 1, 2, 3]
    assert without.status_[4] == "outlier"
    including = AdaptiveEvaluation(grouping="dbscan", include_outliers=True).fit_scores(scores)
    assert including.selected_.tolist() == [4]
    np.testing.assert_array_equal(including.scores_, outlier)


@quiet
def test_without_any_group_the_best_outlier_decides():
    scores = np.random.default_rng(1).normal(size=(4, 30)) + np.array([[0], [3], [1], [2]])
    found = AdaptiveEvaluation(grouping="dbscan", eps=0.01).fit_scores(scores)
    assert found.selected_.tolist() == [1]


def messages_of(scores, **parameters):
    """Fit and return what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AdaptiveEvaluation(**parameters).fit_scores(scores)
    assert all(w.category is EvidenceWarning for w in caught)
    return " ".join(str(w.message) for w in caught)


def test_thin_evidence_is_reported():
    rng = np.random.default_rng(0)
    assert "only 8 partitions" in messages_of(rng.normal(size=(5, 8)))
    scores = rng.normal(size=(4, 30)) + np.array([[0], [3], [1], [2]])
    messages = messages_of(scores, grouping="dbscan", eps=0.01)
    assert "A single space, space 1, decided" in messages
    assert "strategies disagree" in messages
    assert "partitions;" not in messages


def test_ample_evidence_is_not():
    base = np.linspace(0, 1, 30)
    scores = base + 1e-3 * np.random.default_rng(0).normal(size=(6, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AdaptiveEvaluation().fit_scores(scores)


@quiet
def test_missing_scores_are_named_and_worst():
    scores = np.random.default_rng(0).random((4, 25))
    scores[:, 3] = np.nan
    assert "No score for partition 3 in 4 of 4 spaces" in messages_of(scores)
    found = AdaptiveEvaluation().fit_scores(scores)
    assert found.missing_[:, 3].all()
    assert found.missing_.sum() == 4
    assert found.ranking_[-1] == 3


@quiet
@pytest.mark.parametrize(
    "index", ["silhouette", "silhouette_clusters", "calinski_harabasz", "davies_bouldin",
              "cubic_clustering_criterion"],
)  # fmt: skip
def test_bootstrap_scores_approach_those_of_real_resamples(index, blobs):
    """Contributions weighted by a resample, against the index computed anew on it."""
    from kindset.evaluation._bootstrap import draw_weights
    from kindset.evaluation._labels import Partitions
    from kindset.evaluation._registry import INDICES
    from kindset.evaluation._score_matrix import ScoreTask, score_space

    X, labels = blobs(n=400, spread=1.5)
    worse = np.where(np.random.default_rng(0).random(400) < 0.2, (labels + 1) % 3, labels)
    stacked = Partitions.stack([labels, worse], n_samples=400)
    weights = draw_weights(40, 400, np.random.RandomState(0))
    found = score_space(X, stacked, ScoreTask(INDICES[index], "euclidean", weights)).resampled
    anew = []
    for row in weights:
        points = np.repeat(np.arange(400), row)
        anew.append(score_matrix([X[points]], [labels[points], worse[points]], index=index)[0])
    anew = np.array(anew)
    # Spread and movement agree; the level may differ a little, since duplicates lie at distance 0.
    np.testing.assert_allclose(found.std(axis=0), anew.std(axis=0), rtol=0.15)
    for column in range(2):
        assert np.corrcoef(found[:, column], anew[:, column])[0, 1] > 0.8


@quiet
def test_intervals_hold_the_rank_and_shares_sum_to_one(runs):
    found = AdaptiveEvaluation(n_bootstrap=50, random_state=0).fit(*runs)
    ranks = rankdata(-found.scores_)
    assert (found.rank_intervals_[:, 0] <= ranks).all()
    assert (found.rank_intervals_[:, 1] >= ranks).all()
    assert found.win_shares_.sum() == pytest.approx(1.0)
    again = AdaptiveEvaluation(n_bootstrap=50, random_state=0).fit(*runs)
    np.testing.assert_array_equal(found.win_shares_, again.win_shares_)


@quiet
def test_equal_partitions_share_their_wins(runs):
    spaces, partitions = runs
    twice = [partitions[0], partitions[0], partitions[4]]
    found = AdaptiveEvaluation(n_bootstrap=30, random_state=0).fit(spaces, twice)
    np.testing.assert_allclose(found.win_shares_, [0.5, 0.5, 0.0])
    np.testing.assert_allclose(found.rank_intervals_[:2], 1.5)


@quiet
def test_sample_size_reports_standard_errors(runs):
    found = AdaptiveEvaluation(sample_size=50, random_state=0).fit(*runs)
    assert found.std_errors_.shape == (6, 6)
    assert (found.std_errors_ > 0).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"index": "nothing"}, "index='nothing'"),
        ({"index": ["dunn", "c_index"]}, "index must be one name, .*; compare_runs takes several"),
        ({"noise": "keep"}, "noise='keep'"),
        ({"n_jobs": 0}, "n_jobs must be a number of workers other than 0, or None, got 0"),
        ({"metric": "l1"}, "metric='l1'"),
        ({"index": "s_dbw", "metric": "cosine"}, "no metric='cosine'"),
        ({"grouping": "kmeans"}, "grouping must be .*'kmeans'"),
        ({"link": "degree"}, "link must be .*'degree'"),
        ({"compat": "sklearn"}, "compat must be .*'sklearn'"),
        ({"alpha": 0}, "alpha must be a number above 0 and below 1, got 0"),
        ({"dip_alpha": 1.5}, "dip_alpha must be .* got 1.5"),
        ({"eps": -1}, "eps must be a number above 0, got -1"),
        ({"n_bootstrap": -2}, "n_bootstrap must be a whole number from 0, got -2"),
        ({"index": "dunn", "n_bootstrap": 5}, "cannot be bootstrapped"),
        ({"n_bootstrap": 5, "sample_size": 20}, "needs all points"),
        ({"index": "dunn", "sample_size": 20}, "cannot be estimated"),
    ],
)
def test_bad_parameters_are_named_in_fit(runs, parameters, message):
    with pytest.raises(InputError, match=message):
        AdaptiveEvaluation(**parameters).fit(*runs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, p: ([*s[:1], np.full_like(s[1], np.nan), *s[2:]], p), "run b holds NaN"),
        (lambda s, p: ([*s[:2], s[2][:-1], *s[3:]], p), "run c has 149 points"),
        (lambda s, p: (s, [*p[:4], p[4][:-5], *p[5:]]), "run e has 145 labels"),
        (lambda s, p: (s, [*p[:5], np.where(p[5] == 0, -1, p[5])]), "run f holds .* noise"),
        (lambda s, p: ([x[:1] for x in s], [q[:1] for q in p]), "run a has 1 point"),
    ],
)
def test_bad_runs_are_named(runs, change, message):
    names = [f"run {letter}" for letter in "abcdef"]
    with pytest.raises(InputError, match=message):
        AdaptiveEvaluation().fit(*change(*map(list, runs)), names=names)


def test_wrong_numbers_of_names_and_pvalues(runs):
    with pytest.raises(InputError, match="2 names for 6 partitions"):
        AdaptiveEvaluation().fit(*runs, names=["a", "b"])
    with pytest.raises(InputError, match="3 numbers from 0 to 1"):
        AdaptiveEvaluation().fit_scores(np.eye(3), dip_pvalues=[0.1, 0.2])
    with pytest.raises(InputError, match="shape"):
        AdaptiveEvaluation().fit_scores([1.0, 2.0])


def test_estimator_conventions():
    evaluation = AdaptiveEvaluation(index="dunn", alpha=0.2)
    assert clone(evaluation).get_params() == evaluation.get_params()
    check_get_params_invariance("AdaptiveEvaluation", evaluation)
    check_parameters_default_constructible("AdaptiveEvaluation", AdaptiveEvaluation())
    check_no_attributes_set_in_init("AdaptiveEvaluation", AdaptiveEvaluation())
    with pytest.raises(TypeError):
        AdaptiveEvaluation("silhouette")


class TestMappings:
    @quiet
    def test_keys_are_names(self, runs):
        spaces, partitions = runs
        letters = "abcdef"
        by_name = AdaptiveEvaluation().fit(
            dict(zip(letters, spaces, strict=True)), dict(zip(letters, partitions, strict=True))
        )
        listed = AdaptiveEvaluation().fit(spaces, partitions, names=list(letters))
        assert by_name.partition_names_ == by_name.space_names_ == list(letters)
        pd.testing.assert_frame_equal(by_name.to_frame(), listed.to_frame())

    @quiet
    def test_spaces_of_the_same_names_are_paired(self, runs):
        spaces, partitions = (dict(zip("abcdef", given, strict=True)) for given in runs)
        turned = dict(reversed(spaces.items()))
        found = AdaptiveEvaluation().fit(turned, partitions)
        assert found.space_names_ == list("abcdef")
        assert_array_equal(found.paired_, AdaptiveEvaluation().fit(spaces, partitions).paired_)

    @quiet
    def test_only_one_of_them(self, runs):
        spaces, partitions = runs
        found = AdaptiveEvaluation().fit({"pixels": spaces[0]}, partitions, names=list("abcdef"))
        assert found.space_names_ == ["pixels"]
        assert found.partition_names_ == list("abcdef")

    def test_names_given_twice(self, runs):
        with pytest.raises(InputError, match="names must be left out"):
            AdaptiveEvaluation().fit(runs[0], {"a": runs[1][0]}, names=["b"])


@quiet
def test_shows_itself_in_a_notebook(runs):
    names = ["<b>", *"bcdef"]
    found = AdaptiveEvaluation().fit(*runs, names=names)
    shown = found._repr_html_()
    assert shown == found._repr_mimebundle_()["text/html"]
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr") == 1 + len(names)
    unfitted = AdaptiveEvaluation()
    assert "<table>\n<caption>" not in unfitted._repr_html_()
    assert "AdaptiveEvaluation" in unfitted._repr_html_()


@quiet
def test_a_run_cannot_lead_by_leaving_out_hard_points():
    """The third run keeps the middles of the clusters only."""
    X, y = make_blobs(300, centers=3, cluster_std=1.5, random_state=0)
    far = np.linalg.norm(X - np.array([X[y == k].mean(axis=0) for k in range(3)])[y], axis=1)
    few = np.where(far < np.quantile(far, 1 / 3), y, -1)
    chance = np.random.default_rng(0).integers(3, size=300)
    partitions = {"whole": y, "chance": chance, "few": few}
    drop = AdaptiveEvaluation(noise="drop").fit({"X": X}, partitions)
    assert drop.partition_names_[drop.best_] == "few"
    fair = AdaptiveEvaluation(noise="penalise", n_bootstrap=20, random_state=0)
    fair.fit({"X": X}, partitions)
    assert fair.partition_names_[fair.best_] == "whole"
    assert fair.win_shares_[2] == 0


@pytest.mark.realdata
@quiet
def test_simulation_end_to_end(simulation_inputs, simulation_scores):
    """The default mode on the authors' embeddings: no worse than their program, by NMI."""
    found = AdaptiveEvaluation(n_jobs=2).fit(
        list(simulation_inputs["embeddings"]), list(simulation_inputs["labels"])
    )
    nmi = simulation_scores["nmi"]
    strategies = (found.scores_, found.pooled_, found.paired_, found.rank_average_)
    correlations = [spearmanr(values, nmi).statistic for values in strategies]
    assert correlations == pytest.approx([0.97, 0.99, 0.71, 0.98], abs=0.01)
