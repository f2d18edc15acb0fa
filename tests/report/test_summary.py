"""What a report says about runs, before anything is drawn."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_runs import feature_run, image_run, merging_run, survey_run
from sklearn.datasets import load_digits

from kindset.comparison import known_measures
from kindset.evaluation import project
from kindset.exceptions import InputError
from kindset.report._page import render
from kindset.report._prose import enumerate_words, how_ranked, tell
from kindset.report._summary import Ranking, in_words, summarise
from kindset.runs import BORDERLINE, TYPICAL, Run, fingerprint


def told(summary):
    return dict(tell(summary))


def blobs(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return labels, rng.normal(size=(n, 2)) + 8 * labels[:, None]


def test_runs_are_grouped_by_their_data():
    a, b = np.zeros((4, 1)), np.ones((4, 1))
    runs = [
        Run([0, 0, 1, 1], name="a1", data=fingerprint(a)),
        Run([0, 0, 1, 1], name="b1", data=fingerprint(b)),
        Run([0, 1], name="short"),
        Run([0, 1, 1, 1], name="a2", data=fingerprint(a)),
        Run([0, 1, 1, 1], name="unknown"),
    ]

    def grouped(runs, **ranking):
        summaries = summarise(runs, Ranking(**ranking))
        return [[run.run.name for run in summary.runs] for summary in summaries]

    assert grouped(runs) == [["a1", "a2"], ["b1"], ["short"], ["unknown"]]
    assert grouped([runs[0], runs[2], runs[4]]) == [["a1", "unknown"], ["short"]]
    assert grouped(runs, same_rows=True) == [["a1", "b1", "a2", "unknown"], ["short"]]


def test_a_run_of_unknown_data_is_named():
    labels, space = blobs()
    runs = [Run(labels, space, name="ours", data=fingerprint(space)), Run(labels, name="theirs")]
    (summary,) = summarise(runs, Ranking())
    assert any("theirs has no data fingerprint" in note for note in summary.notes)


def test_the_comparison_decides_which_run_leads():
    labels, space = blobs()
    worse = np.where(np.arange(60) < 20, labels, (labels + 1) % 3)
    other = np.column_stack([space, np.random.default_rng(1).normal(size=60)])
    runs = [Run(worse, space, name="worse"), Run(labels, other, name="right")]
    (summary,) = summarise(runs, Ranking())
    assert summary.lead.run.name == "right"
    assert told(summary)["Found"] == "“right”: 3 groups of 20."
    assert told(summary)["How sure"].startswith(summary.comparison.sentence)
    assert "“right” comes first" in summary.comparison.headline
    assert any("only 2 clusterings" in note for note in summary.notes)


def test_the_words_on_the_spaces_follow_what_happened():
    labels, heaps = blobs(n=300)
    cloud = np.random.default_rng(1).normal(size=(300, 2))
    runs = [Run(labels, heaps, name="heaps"), Run(labels % 2, cloud, name="cloud")]
    (one_dropped,) = summarise(runs, Ranking())
    words = how_ranked(one_dropped.comparison)
    assert "Dropped were 1 space without visible groups. Those that rank" in words
    assert "This was done by 3 indices" in words
    (by_one,) = summarise(runs, Ranking(["silhouette"]))
    assert "indices" not in how_ranked(by_one.comparison)
    runs[1] = replace(runs[1], space=heaps**3)
    (all_kept,) = summarise(runs, Ranking())
    assert "All spaces were kept. Those that rank" in how_ranked(all_kept.comparison)
    runs[1] = replace(runs[1], space=heaps)
    (one,) = summarise(runs, Ranking())
    assert "share one space" in how_ranked(one.comparison)
    same = [replace(run, labels=labels, space=heaps**i) for i, run in enumerate(runs, start=1)]
    (no_telling,) = summarise(same, Ranking())
    assert "Dropped were 2 spaces in which all runs score the same. No space was left" in (
        how_ranked(no_telling.comparison)
    )


def test_the_verdict_is_told_with_its_advice():
    cloud = np.random.default_rng(0).normal(size=(200, 2))
    halves = [Run((cloud[:, i] > 0).astype(int), cloud, name=f"cut {i}") for i in range(2)]
    (summary,) = summarise(halves, Ranking())
    verdict = summary.comparison.verdict
    assert verdict.level == "no structure"
    assert told(summary)["How sure"].startswith(f"{verdict.sentence} {verdict.advice}")
    html = render([summary])
    assert '<p class="finding no-structure"><b>No structure found</b></p>' in html
    assert "a cloud without groups" in html


def plain_places(means):
    """Places from 1 by brute force; those that tie share the mean of theirs."""
    return [
        (means < mean - 1e-9).sum() + ((means - mean).abs() < 1e-9).sum() / 2 + 0.5
        for mean in means
    ]


@pytest.mark.parametrize("n_bootstrap", [0, 8])
def test_ace_decides_by_the_mean_of_the_ranks(n_bootstrap):
    runs = [image_run(k, 0, d) for k in (8, 10, 12) for d in (10, 20)]
    (summary,) = summarise(runs, Ranking(judge="ace", n_bootstrap=n_bootstrap))
    comparison = summary.comparison
    table = comparison.consensus()
    evaluations = comparison.evaluations
    assert list(evaluations) == ["silhouette", "calinski_harabasz", "davies_bouldin"]
    assert [run.run.name for run in summary.runs] == list(table.index)
    names = [run.name for run in runs]
    ranks = pd.DataFrame({name: comparison.ranking(name)["rank"] for name in evaluations})
    ranks = ranks.loc[names]
    places = plain_places(ranks.mean(axis=1))
    varied = [places, *(plain_places(ranks.drop(columns=one).mean(axis=1)) for one in ranks)]
    for space in range(len(comparison.spaces)):
        means = np.mean([one.left_out_ranks_[space] for one in evaluations.values()], axis=0)
        varied.append(plain_places(pd.Series(means)))
    low, high = np.min(varied, axis=0), np.max(varied, axis=0)
    assert table.loc[names, "place"].tolist() == places
    if n_bootstrap:
        assert (table.loc[names, "place_low"] <= low).all()
        assert (table.loc[names, "place_high"] >= high).all()
    else:
        assert table.loc[names, "place_low"].tolist() == low.tolist()
        assert table.loc[names, "place_high"].tolist() == high.tolist()
    sentence = told(summary)["How sure"]
    assert f"“{table.index[0]}” comes first of 6 runs by the mean of its ACE ranks" in sentence
    assert "a second opinion" in sentence


def test_one_index_has_its_own_range_of_places():
    runs = [image_run(k, 0, d) for k in (8, 10, 12) for d in (10, 20)]
    (summary,) = summarise(runs, Ranking(["silhouette"]))
    table = summary.comparison.consensus()
    own = summary.comparison.ranking("silhouette").loc[table.index]
    assert table["place_low"].tolist() == own["rank_low"].tolist()
    assert table["place_high"].tolist() == own["rank_high"].tolist()


def test_a_shared_first_place_is_called_one():
    labels, space = blobs()
    runs = [Run(labels, space, name="b"), Run((labels + 1) % 3, space**3, name="a")]
    (summary,) = summarise(runs, Ranking())
    assert summary.lead.run.name == "a"
    assert "“a” and “b” share the first place" in told(summary)["How sure"]


def test_the_likelihood_decides_among_mixtures():
    runs = [survey_run("god", 2), survey_run("god", 3)]
    (summary,) = summarise(runs, Ranking())
    assert summary.by_likelihood
    assert summary.lead.run.name == "god-k3"
    words = told(summary)
    assert words["What"].startswith("944 respondents, 6 questions. 944 voters")
    icl, next_icl = (survey_run("god", k).metrics["icl"] for k in (3, 2))
    best = f"its ICL is {icl:,.0f}, that of the next, “god-k2”, is {next_icl:,.0f}"
    assert best in words["How sure"]
    assert "The verdict, a second opinion, " in words["How sure"]
    assert "probability of" in words["How sure"]
    own = [note for run in runs for note in run.about.notes]
    assert all(note.split("”: ")[-1] in own for note in summary.notes)


def with_notes(run, *notes):
    return replace(run, details={**run.details, "notes": list(notes)})


def test_what_a_run_says_against_itself_is_among_the_cautions():
    gaps, seldom = "51 answers missing (6.8%).", "1 of 20 starts came near."
    runs = [with_notes(survey_run("god", 2), gaps), with_notes(survey_run("god", 3), gaps, seldom)]
    (summary,) = summarise(runs, Ranking())
    assert summary.notes == [gaps, f"“god-k3”: {seldom}"]
    (alone,) = summarise(runs[1:], Ranking())
    assert alone.notes == [gaps, seldom]
    damaged = replace(feature_run(), details={"notes": [["?"]]})
    (summary,) = summarise([damaged], Ranking())
    assert summary.notes == ["Its cautions are left out, because notes [0] is not text."]


def test_known_labels_are_told_and_not_used():
    truth = load_digits().target
    runs = [image_run(10, 0), image_run(10, 1)]
    (without,) = summarise(runs, Ranking())
    (given,) = summarise(runs, Ranking(truth=truth))
    assert [run.run.name for run in without.runs] == [run.run.name for run in given.runs]
    assert set(without.lead.known) == set(given.lead.known) == {"NMI", "ACC", "ARI"}
    assert given.lead.known == pytest.approx(without.lead.known)
    (alone,) = summarise([replace(runs[0], metrics={})], Ranking(truth=truth))
    measured = {name: runs[0].metrics[name] for name in ("NMI", "ACC", "ARI")}
    assert alone.lead.known == pytest.approx(measured)
    assert "They were not used" in told(without)["Known labels"]


def summary_with(*known):
    """Summarise runs of which the first ranks highest, with these agreements with known labels."""
    labels, space = blobs()
    worse = [np.where(np.arange(60) < 5 * i, (labels + 1) % 3, labels) for i in range(len(known))]
    known_data = {"space": space, "data": fingerprint(space)}
    runs = [
        Run(partition, name=f"run {i}", metrics={} if nmi is None else {"NMI": nmi}, **known_data)
        for i, (partition, nmi) in enumerate(zip(worse, known, strict=True))
    ]
    (summary,) = summarise(runs, Ranking())
    assert [run.run.name for run in summary.runs] == [run.name for run in runs]
    return summary


def ranked_with(*known):
    return summary_with(*known).notes


@pytest.mark.parametrize(
    ("known", "end"),
    [
        ((0.5, None, None), "reaches NMI 0.50."),
        ((0.5, 0.4, None), "No other run with known labels has a higher NMI."),
        ((0.5, 0.4, 0.5), "No other run has a higher NMI."),
        ((0.5, 0.4, 0.6), "“run 2” has the highest NMI, 0.60."),
    ],
)
def test_a_run_is_called_the_best_only_of_those_that_were_measured(known, end):
    assert told(summary_with(*known))["Known labels"].endswith(end)


def test_known_labels_are_measured_once_for_each_run(monkeypatch):
    calls = []

    def counted(truth, labels):
        calls.append(labels)
        return known_measures(truth, labels)

    monkeypatch.setattr("kindset.comparison._known.known_measures", counted)
    monkeypatch.setattr("kindset.report._summary.known_measures", counted)
    runs = [image_run(k, 0) for k in (8, 9, 10, 11)]
    render(summarise(runs, Ranking(truth=load_digits().target)))
    assert len(calls) == len(runs)


def half_covered():
    """Three runs of which one leaves out most samples and is right about the rest."""
    labels, space = blobs()
    some = np.where(np.arange(60) < 18, labels, -1)
    mixed = np.where(np.arange(60) < 20, (labels + 1) % 3, labels)
    runs = [("some", some), ("most", np.where(np.arange(60) < 3, -1, labels)), ("mixed", mixed)]
    return labels, [Run(partition, space, name=name) for name, partition in runs]


def test_known_labels_count_all_samples_and_coverage_is_named():
    labels, runs = half_covered()
    (summary,) = summarise(runs, Ranking(truth=labels))
    some = summary.named("some")
    assert some.known_covered["NMI"] == pytest.approx(1)
    assert some.known["NMI"] < 0.8
    assert summary.has_noise
    assert summary.named("mixed").known_covered == {}
    (note,) = [note for note in summary.notes if "some (30% labelled)" in note]
    assert "most" not in note
    html = render([summary])
    assert html.count(">Coverage</button>") == 6
    assert re.search(r'coverage" data-value="0.3">30%</td>', html)
    cell = f'{some.known["NMI"]:.2f} <small title="only the samples that the run does not leave'
    assert cell in html
    (alone,) = summarise(runs[:1], Ranking(truth=labels))
    assert alone.notes == ["“some” leaves out 70% of the samples as noise."]
    assert "On the 30% of the samples that it does not leave out, it" in told(alone)["Known labels"]


def test_no_coverage_where_all_samples_are_covered():
    labels, runs = half_covered()
    (summary,) = summarise([runs[2], Run(labels, runs[0].space)], Ranking(truth=labels))
    assert not summary.has_noise
    assert "Coverage" not in render([summary])


def test_known_labels_that_speak_against_the_ranking():
    against, low = ranked_with(0.1, 0.2, 0.3, 0.4)
    assert "less it tends to agree with them (rank correlation with NMI −1.00)" in against
    assert low == (
        "“run 3” agrees most with the known labels (NMI 0.40), but is only number 4 of 4 in the "
        "ranking."
    )
    assert ["number 3 of 4" in note for note in ranked_with(0.7, 0.3, 0.8, 0.1)] == [True]
    assert ranked_with(0.7, 0.8, 0.2, 0.1) == []
    assert ranked_with(0.1, 0.2) == ranked_with(0.1, 0.2, None) == []
    assert ranked_with(0.5, 0.5, 0.5) == []


def test_known_labels_that_speak_against_the_likelihood():
    runs = [
        replace(run, metrics={**run.metrics, "NMI": nmi})
        for nmi, run in enumerate(
            [survey_run("god", 3), survey_run("bos", 3), survey_run("god", 2)]
        )
    ]
    (summary,) = summarise(runs, Ranking())
    assert "speak against the order by ICL" in summary.notes[0]


def test_known_labels_of_another_length_are_refused():
    with pytest.raises(InputError, match="3 known labels for 80 samples"):
        summarise([feature_run()], Ranking(truth=np.array([0, 1, 1])))


def test_seeds_are_compared():
    (summary,) = summarise([image_run(10, 0), image_run(10, 1), image_run(8, 0)], Ranking())
    (stability,) = summary.stability
    assert stability.n_clusters == [10]
    assert len(stability.runs) == 2
    assert 0.3 < stability.lowest <= stability.agreement <= 1


def test_seeds_of_other_spaces_are_not_mixed_up():
    labels, space = blobs()
    runs = [Run(labels, space, name="kmeans K=3 s0", method="kmeans", seed=0)]
    runs += [
        Run(np.roll(labels, seed), space**3, name=f"pca5 kmeans K=3 s{seed}", method="kmeans",
            seed=seed, parameters={"embedding": "pca:5"})
        for seed in (0, 1)
    ]  # fmt: skip
    (summary,) = summarise(runs, Ranking())
    (stability,) = summary.stability
    assert stability.name == "pca5 kmeans K=3"
    assert stability.runs == ("pca5 kmeans K=3 s0", "pca5 kmeans K=3 s1")
    assert summary.lead.run.name == "kmeans K=3 s0"
    assert "only in their seed" not in told(summary)["How sure"]


def test_different_numbers_of_groups_are_a_caution():
    labels, space = blobs()
    runs = [Run(labels, space, name="three"), Run(labels // 2, space**2, name="two")]
    (summary,) = summarise(runs, Ranking())
    assert any("no ranking chooses a number reliably" in note for note in summary.notes)
    (summary,) = summarise([runs[0], replace(runs[1], labels=labels)], Ranking())
    assert not any("chooses a number" in note for note in summary.notes)


def test_runs_that_cannot_be_ranked_are_shown_all_the_same():
    runs = [Run([0, 1, 1], name="a"), Run([0, 0, 1], name="b")]
    (summary,) = summarise(runs, Ranking())
    assert summary.comparison is None
    assert any("are not ranked: none of the runs has a space" in note for note in summary.notes)
    (alone,) = summarise(runs[:1], Ranking())
    assert "says nothing about how sure" in told(alone)["How sure"]


@pytest.mark.parametrize("labels", [[0] * 60, list(range(60)), [-1] * 60, [-1, *[0] * 59]])
def test_odd_partitions(labels):
    usual, space = blobs()
    runs = [Run(usual, space, name="usual"), Run(labels, space, name="odd")]
    (summary,) = summarise(runs, Ranking())
    assert len(summary.runs) == 2
    assert told(summary)["Found"]


def test_noise_is_counted():
    labels, space = blobs()
    (summary,) = summarise([Run(np.where(labels == 2, -1, labels), space)], Ranking())
    assert summary.lead.n_noise == 20
    assert "2 groups of 20, and 20 left out as noise" in told(summary)["Found"]


def test_many_samples_are_scored_by_some(monkeypatch):
    monkeypatch.setattr("kindset.comparison._indices._SAMPLED_FROM", 50)
    monkeypatch.setattr("kindset.comparison._indices._SAMPLE", 20)
    labels, space = blobs()
    runs = [Run(labels, space, name="a"), Run(labels % 2, space**2, name="b")]
    (summary,) = summarise(runs, Ranking())
    assert "Silhouettes are estimated from 20 of the 60 samples." in summary.notes
    sizes = {name: one.sample_size for name, one in summary.comparison.evaluations.items()}
    assert sizes == {"silhouette": 20, "calinski_harabasz": None, "davies_bouldin": None}
    (no_pairs,) = summarise(runs, Ranking(indices=["davies_bouldin"]))
    assert not any("estimated" in note for note in no_pairs.notes)
    (exact,) = summarise(runs, Ranking(indices=["dunn"]))
    assert not any("estimated" in note for note in exact.notes)


def test_names_are_told_apart():
    runs = [replace(feature_run(), name="same"), replace(feature_run(), name="same")]
    (summary,) = summarise(runs, Ranking())
    assert {run.run.name for run in summary.runs} == {"same #1", "same #2"}
    runs = [replace(run, seed=i) for i, run in enumerate(runs)]
    (summary,) = summarise(runs, Ranking())
    assert {run.run.name for run in summary.runs} == {"same (seed 0)", "same (seed 1)"}


def test_sections():
    survey = summarise([survey_run("god", 3)], Ranking())[0].lead.parts["survey"]
    assert len(survey.segments) == 3
    assert survey.segments[0].typical[0].probability > 0.9
    best = survey.segments[0].traits[0]
    assert best.share > best.overall
    assert survey.criterion == "icl"
    headlines = [segment.headline for segment in survey.segments]
    assert any("Strong Republican (With which party do you identify?)" in h for h in headlines)
    assert not any("(PID)" in headline for headline in headlines)

    images = summarise([image_run()], Ranking())[0].lead.parts["images"]
    assert len(images.members(0, TYPICAL)) == 8
    assert len(images.members(9, BORDERLINE)) == 4
    assert sum(images.sizes) == 1797

    merging = summarise([merging_run()], Ranking())[0].lead.parts["merging"]
    assert (merging.n_cells, merging.n_groups, merging.n_made) == (60, 10, 50)
    assert len(merging.merges) == 59

    features = summarise([feature_run()], Ranking())[0].lead.parts["features"]
    top = [one.z for group in features.groups for one in group.top]
    assert features.reach == max(map(abs, top)) > 0.5
    assert features.groups[0].share == 0.5


def test_energies_are_not_called_distances():
    run = image_run(3, 0, 5)

    def measure(run):
        return summarise([run], Ranking())[0].lead.parts["images"].measure

    assert measure(run) == "distance"
    assert measure(replace(run, method="dti-gmm")) == "energy"
    pictures = run.details["images"]
    below = [[value - 1e3 for value in row] for row in pictures["distances"]]
    details = {**run.details, "images": {**pictures, "distances": below}}
    assert measure(replace(run, details=details)) == "energy"


def test_words():
    assert enumerate_words(["a"]) == "a"
    assert enumerate_words(["a", "b", "c"]) == "a, b and c"
    assert enumerate_words(list("abcdefg"), 4) == "a, b, c and 4 more"
    assert in_words("There are 3 partitions.") == "There are 3 clusterings."


def test_raw_data_of_another_length_are_refused():
    labels, space = blobs()
    runs = [Run(labels, space, name="a"), Run(labels % 2, space**3, name="b")]
    with pytest.raises(InputError, match="50 rows of raw data for 60 samples"):
        summarise(runs, Ranking(raw=space[:50]))


def test_the_words_on_the_indices_do_not_say_that_they_decide():
    labels, space = blobs()
    runs = [Run(labels, space, name="a"), Run(labels % 2, space**3, name="b")]
    (summary,) = summarise(runs, Ranking())
    assert summary.comparison.by_verdict
    assert "decide" not in how_ranked(summary.comparison)


@pytest.mark.parametrize("judge", ["verdict", "ace"])
def test_the_first_by_the_verdict_leads_only_where_the_verdict_decides(judge):
    labels, space = blobs()
    runs = [Run(labels, space, name="a"), Run(labels % 2, space**3, name="b")]
    html = render(summarise(runs, Ranking(judge=judge)))
    assert ("(leads)" in html) == (judge == "verdict")
    assert ("(first by the verdict)" in html) == (judge == "ace")
    assert ("is first by the verdict.</b>" in html) == (judge == "ace")


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_spaces_of_any_size_are_drawn(size):
    space = blobs()[1] @ np.random.default_rng(0).normal(size=(2, 4))
    flat = project(space * size, "pca", 0)
    assert np.isfinite(flat).all()
    np.testing.assert_allclose(flat, project(space, "pca", 0), atol=1e-9)
