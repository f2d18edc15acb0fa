"""`kindset compare` as a user meets it."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from kindset import cluster, read_data
from kindset.comparison import compare_runs
from kindset.evaluation import INDICES, AdaptiveEvaluation, EvidenceWarning
from kindset.runs import Run, fingerprint, load_runs
from kindset.workbench import read_raw

X, TRUTH = make_blobs(150, n_features=5, centers=4, random_state=3)


@pytest.fixture
def runs(folder):
    rng = np.random.default_rng(0)
    for number, k in enumerate((2, 3, 4, 5, 6, 8)):
        space = X @ rng.normal(size=(5, 3 + number % 2)) + 0.1 * rng.normal(size=(150, 1))
        labels = KMeans(k, n_init=2, random_state=0).fit_predict(space)
        Run(labels, space, name=f"k{k}", data=fingerprint(X)).save(folder / "runs" / f"{number}")
    pd.DataFrame({"label": TRUTH}).to_csv("truth.csv", index=False)
    return folder / "runs"


def test_ranking_equals_the_library(kindset, runs):
    code, out, err = kindset("compare", runs, "--json")
    assert code == 0, err
    ranking = pd.DataFrame(json.loads(out)["rankings"]["silhouette"])
    loaded = [Run.load(path) for path in sorted(runs.iterdir())]
    with pytest.warns(EvidenceWarning):
        evaluation = AdaptiveEvaluation(random_state=0).fit(
            [run.space for run in loaded], [run.labels for run in loaded]
        )
    assert list(ranking["run"]) == [loaded[i].name for i in evaluation.ranking_]
    np.testing.assert_allclose(ranking["ace"], evaluation.scores_[evaluation.ranking_])
    np.testing.assert_allclose(ranking["paired"], evaluation.paired_[evaluation.ranking_])


def test_truth_is_shown_beside(kindset, runs, folder):
    code, out, err = kindset(
        "compare", runs, "--truth", "truth.csv", "--index", "silhouette,davies_bouldin",
        "--out", "result",
    )  # fmt: skip
    assert code == 0, err
    for word in (
        "Silhouette",
        "Davies-Bouldin",
        "Verdict",
        "Rank by each index",
        "NMI",
        "Rank correlation",
    ):
        assert word in out
    table = pd.read_csv(folder / "result" / "ranking-silhouette.csv", index_col="run")
    labels = Run.load(runs / "2").labels
    assert table.loc["k4", "nmi"] == pytest.approx(normalized_mutual_info_score(TRUTH, labels))
    assert table.loc["k4", "ari"] == pytest.approx(adjusted_rand_score(TRUTH, labels))
    names = {path.name for path in (folder / "result").iterdir()}
    assert {"consensus.csv", "agreement.csv", "compare.json", "spaces.png", "assignment.svg",
            "graph-silhouette.png", "scores-davies_bouldin.svg"} <= names  # fmt: skip
    consensus = pd.read_csv(folder / "result" / "consensus.csv")
    assert list(consensus.columns) == [
        "run", "silhouette", "davies_bouldin", "mean_rank", "place", "place_low", "place_high",
    ]  # fmt: skip
    agreement = pd.read_csv(folder / "result" / "agreement.csv", index_col=["index", "strategy"])
    known = table["nmi"].reindex(consensus["run"])
    expected = spearmanr(-consensus["mean_rank"], known).statistic
    assert agreement.loc[("all", "mean_rank"), "nmi"] == pytest.approx(expected)
    assert kindset("compare", runs, "--out", "result")[0] == 2
    assert kindset("compare", runs, "--out", "result", "--force")[0] == 0


def test_shared_spaces_count_once(kindset, folder):
    for k in (2, 3, 4):
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(X)
        np.savez(folder / f"k{k}.npz", labels=labels, embedding=X)
    np.savez(folder / "pc.npz", labels=TRUTH, embedding=X[:, :2])
    code, out, err = kindset("compare", "k2.npz", "k3.npz", "k4.npz", "pc.npz")
    assert code == 0, err
    assert "2 spaces for 4 runs" in out
    assert "own" in out


def test_partitions_without_a_space_are_ranked_too(kindset, folder):
    np.savez(folder / "a.npz", labels=TRUTH, embedding=X)
    pd.DataFrame({"cluster": TRUTH % 2}).to_csv("b.csv", index=False)
    code, out, err = kindset("compare", "a.npz", "b.csv", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["best"] == "a"
    assert [row["paired"] is None for row in told["rankings"]["silhouette"]] == [False, True]
    assert [space["status"] for space in told["spaces"]["silhouette"]] == ["selected"]


def test_known_labels_in_a_survey(kindset, folder):
    codes = 1 + (TRUTH[:, None] + np.random.default_rng(0).integers(0, 2, size=(150, 4))) % 4
    table = pd.DataFrame(codes, columns=list("abcd")).assign(kind=TRUTH)
    table.to_csv("s.csv", index=False)
    code, out, err = kindset("cluster", "s.csv", "-m", "bos", "-k", 4, "--label-column", "kind")
    assert code == 0, err
    assert "4 questions" in out
    assert "Against the known labels (kind): NMI" in out
    assert (folder / "s-bos" / "assignment.png").exists()
    assert 0 < Run.load(folder / "s-bos").metrics["ARI"] <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "there is no file or folder none"),
        (["runs/0"], "at least two runs"),
        (["runs", "other.npz"], "cannot be compared: they have 150 and 3 samples"),
        (["runs", "--index", "gap"], "index='gap' is unknown"),
        (["runs", "--metric", "taxi"], "metric"),
        (["runs", "--index", "davies_bouldin", "--sample-size", 9], "cannot be estimated from"),
        (["runs", "--index", "silhouette,dunn", "--sample-size", 9], "cannot be estimated from"),
        (["runs", "--metric", "cosine", "--index", "dunn,s_dbw"], "'s_dbw' has no metric='cosine'"),
        (["runs", "--truth", "short.csv"], "3 known labels for 150 samples"),
        (["runs", "--truth", "runs/0/space.npy"], "one label for each point"),
        (["bare.csv", "bare2.csv"], "none of the runs has a space"),
        (["runs", "--bootstrap", "-5"], "Invalid value for '--bootstrap'"),
        (["runs", "--jobs", "0"], "--jobs must be a number of threads"),
        (["runs", "--truth", "runs/0/run.json"], "labels are read from a .csv, .npy or .npz file"),
        (["runs", "--raw", "short.csv"], "the raw data has 3 points where 150 are expected"),
    ],
)
def test_wrong_input(kindset, runs, folder, arguments, message):
    np.savez(folder / "other.npz", labels=[0, 1, 1], embedding=np.eye(3))
    for name in ("short.csv", "bare.csv", "bare2.csv"):
        pd.DataFrame({"label": [0, 1, 1]}).to_csv(name, index=False)
    code, _, err = kindset("compare", *arguments)
    assert code == 2
    assert message in err.replace("\n", " ")
    assert "Traceback" not in err


def test_runs_on_other_data_are_refused(kindset, runs):
    Run(TRUTH, X, name="odd", data=fingerprint(X + 1)).save(runs / "odd")
    code, _, err = kindset("compare", runs)
    assert code == 2
    assert "made on different data" in err.replace("\n", " ")


@pytest.mark.parametrize("noise", ["drop", "singletons"])
def test_truth_is_compared_on_all_points_and_on_those_with_a_label(kindset, folder, noise):
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(150) < 0.3, -1, TRUTH)
    space = rng.normal(size=(150, 2)) + TRUTH[:, None] * 4
    np.savez(folder / "a.npz", labels=labels, embedding=space)
    np.savez(folder / "b.npz", labels=rng.permutation(TRUTH), embedding=space)
    pd.DataFrame({"label": TRUTH}).to_csv("truth.csv", index=False)
    arguments = ("compare", "a.npz", "b.npz", "--truth", "truth.csv", "--json", "--noise", noise)
    code, out, err = kindset(*arguments)
    assert code == 0
    row = {row["run"]: row for row in json.loads(out)["rankings"]["silhouette"]}["a"]
    covered = (labels != -1).mean()
    assert row["acc_covered"] == 1
    assert row["acc"] == pytest.approx(covered)
    assert row["nmi"] < row["nmi_covered"] == 1
    assert row["noise"] == (labels == -1).sum()
    assert row["coverage"] == pytest.approx(covered)
    assert f"a ({int(100 * covered)}% labelled)" in err.replace("\n", " ")


def test_survey_models_are_ranked_by_likelihood_as_in_the_report(kindset, folder):
    codes = 1 + (TRUTH[:, None] + np.random.default_rng(0).integers(0, 2, size=(150, 4))) % 4
    pd.DataFrame(codes, columns=list("abcd")).to_csv("s.csv", index=False)
    for k in (2, 3, 4):
        assert kindset("cluster", "s.csv", "-m", "god", "-k", k, "--out", f"runs/{k}")[0] == 0
    runs = load_runs([folder / "runs"])
    expected = sorted(runs, key=lambda run: run.metrics["icl"])
    comparison = compare_runs(runs)
    assert comparison.by_likelihood
    assert [run.name for run in comparison.order()] == [run.name for run in expected]
    code, out, _ = kindset("compare", "runs", "--json")
    assert code == 0
    assert json.loads(out)["best"] == expected[0].name


def test_bootstrap_beside_an_index_that_has_none(kindset, runs):
    code, _, err = kindset("compare", runs, "--index", "silhouette,dunn", "--bootstrap", 5)
    assert code == 0
    assert "Dunn is not a sum over points" in err.replace("\n", " ")


def test_raw_data_beside(kindset, runs, folder):
    np.save("raw.npy", X)
    code, out, _ = kindset("compare", runs, "--raw", "raw.npy", "--sample-size", 100)
    assert code == 0
    assert " raw" in out


def test_one_cluster_is_marked(kindset, runs, folder):
    np.savez("one.npz", labels=np.zeros(150, dtype=int), embedding=X)
    code, out, _ = kindset("compare", runs, "one.npz", "--index", "silhouette,davies_bouldin")
    assert code == 0
    assert "*: has no score in some space" in out
    assert [line for line in out.splitlines() if " one " in line and "*" in line]


def test_one_space_leaves_no_choice_to_be_fragile(kindset, folder):
    for k in (2, 3):
        labels = KMeans(k, n_init=1, random_state=0).fit_predict(X)
        np.savez(folder / f"k{k}.npz", labels=labels, embedding=X)
    code, _, err = kindset("compare", "k2.npz", "k3.npz")
    assert code == 0
    assert "choice of spaces" not in err
    assert "dip test" not in err


def test_same_run_twice_is_noted(kindset, runs):
    code, _, err = kindset("compare", runs, runs / "0")
    assert code == 0
    assert "are the same partition in the same space" in err.replace("\n", " ")


def test_notes_name_their_index_unless_all_say_them(kindset, runs):
    _, _, err = kindset("compare", runs, "--index", "silhouette,davies_bouldin")
    err = err.replace("\n", " ")
    assert err.count("There are only") == 1
    assert "Bouldin: There are only" not in err
    labels = [KMeans(k, n_init=1, random_state=0).fit_predict(X) for k in (2, 3, 4)]
    loaded = [Run(one, X[:, : 2 + i], name=f"{i}") for i, one in enumerate(labels)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdaptiveEvaluation, "fit", warn_by_index)
        comparison = compare_runs(loaded, ["silhouette", "dunn", "c_index"], same_rows=True)
    assert comparison.notes == ["all", "Silhouette, C-index: some"]


def warn_by_index(evaluation, *arguments, **parameters):
    warnings.warn("all", EvidenceWarning, stacklevel=1)
    if evaluation.index != "dunn":
        for _ in range(3):  # as some do in every space
            warnings.warn("some", EvidenceWarning, stacklevel=1)


def test_three_indices_rank_runs_unless_others_are_named(kindset, runs):
    told = json.loads(kindset("compare", runs, "--json")[1])
    assert set(told["rankings"]) == {"silhouette", "calinski_harabasz", "davies_bouldin"}
    assert told["best"] == told["consensus"][0]["run"]
    assert set(json.loads(kindset("compare", runs, "--metric", "cosine", "--json")[1])
               ["rankings"]) == {"silhouette"}  # fmt: skip


def test_all_indices_fit_a_terminal(kindset, runs, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    _, out, _ = kindset("compare", runs, "--index", ",".join(INDICES))
    consensus = out[out.index("Rank by each index") :]
    for name in (run.name for run in load_runs([runs])):
        assert name[:12] in consensus


@pytest.mark.parametrize("width", [60, 80, 140])
def test_a_narrow_terminal_cuts_no_number_and_no_name(kindset, folder, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    rng = np.random.default_rng(0)
    names = [f"method-with-name-{number}" for number in range(4)]
    for number, name in enumerate(names):
        labels = np.where(rng.random(150) < 0.1 * number, -1, TRUTH % (number + 2))
        space = X @ rng.normal(size=(5, 3))
        Run(labels, space, name=name).save(folder / "r" / name)
    pd.DataFrame({"label": TRUTH}).to_csv("truth.csv", index=False)
    np.save("raw.npy", X)
    code, out, err = kindset("compare", "r", "--truth", "truth.csv", "--raw", "raw.npy")
    assert code == 0, err
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width
    out = "\n".join(line.rstrip() for line in out.splitlines())
    for title in ("Verdict\n", "Silhouette\n", "Rank by each index"):
        table = out[out.index(title) :].split("\n\n")[0].splitlines()
        head = next(line for line in table if " run" in line)
        assert head.split()[1:3] == ["run", "K"]
        assert "NMI" in head
        assert len([line for line in table if "method-with-name" in line]) == len(names)
        assert ("ARI" in head) == (width > 60)
    assert ("(0." in out.split("\n\n")[0]) == (width == 140)
    assert ("family" in out.splitlines()[1]) == (width == 140)
    assert ("Too narrow to show: values in brackets" in out) == (width < 140)


def test_what_cannot_be_measured_is_a_dash(kindset, folder):
    np.savez("a.npz", labels=np.full(150, -1), embedding=X)
    np.savez("b.npz", labels=TRUTH, embedding=X[:, :3])
    np.savez("c.npz", labels=TRUTH % 2, embedding=X[:, 1:])
    pd.DataFrame({"label": np.zeros(150, dtype=int)}).to_csv("truth.csv", index=False)
    code, out, err = kindset("compare", "a.npz", "b.npz", "c.npz", "--truth", "truth.csv")
    assert code == 0, err
    assert "nan" not in out
    assert "–" in out[out.index("Rank correlation") :]


@pytest.mark.parametrize("command", ["compare", "report"])
def test_raw_data_are_the_samples_of_the_runs(kindset, folder, command):
    table = pd.DataFrame(X, columns=list("abcde")).assign(who=range(1000, 1150), kind=TRUTH)
    table.to_csv("t.csv", index=False)
    data = read_data("t.csv", ids="who", labels="kind")
    for k in (2, 3, 4):
        cluster(data, "kmeans", k, embedding="pca:2").save(folder / "r" / str(k))
    np.testing.assert_array_equal(read_raw("t.csv", load_runs(["r"])), data.rows().X)
    table.iloc[::-1].to_csv("turned.csv", index=False)
    assert kindset(command, "r", "--raw", "t.csv")[0] == 0
    code, _, err = kindset(command, "r", "--raw", "turned.csv", "--out", "no.html")
    assert code == 2
    assert "turned.csv does not show that it holds the samples" in err.replace("\n", " ")
    table.drop(columns=["a", "kind"]).to_csv("other.csv", index=False)
    assert read_raw("other.csv", load_runs(["r"])).shape == (150, 4)
