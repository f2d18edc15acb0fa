from dataclasses import replace

import joblib
import numpy as np
import pytest
import sklearn
from evaluation import plain
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples, silhouette_score

from kindset.evaluation import INDICES, EvidenceWarning, score_matrix
from kindset.evaluation._bootstrap import draw_weights
from kindset.evaluation._labels import Partitions
from kindset.evaluation._registry import Index, get_index
from kindset.evaluation._score_matrix import ScoreTask, score_space
from kindset.evaluation._silhouette import silhouette_values
from kindset.evaluation._spaces import Space
from kindset.exceptions import InputError


@pytest.fixture
def runs(blobs):
    """Three spaces of different width and four partitions with different K, over several tiles."""
    X, labels = blobs(n=700, d=5, k=4)
    rng = np.random.default_rng(1)
    spaces = [X, X[:, :2].astype(np.float32), X @ rng.normal(size=(5, 9))]
    partitions = [labels, labels // 2, (labels + (rng.random(700) < 0.2)) % 4, np.arange(700) % 7]
    return spaces, partitions


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_silhouettes_equal_scikit_learn(runs, metric):
    spaces, partitions = runs
    got = score_matrix(spaces, partitions, metric=metric)
    for row, X in zip(got, spaces, strict=True):
        expected = [silhouette_score(X.astype(float), p, metric=metric) for p in partitions]
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)


def test_silhouette_values_of_each_point(runs):
    spaces, partitions = runs
    stacked = Partitions.stack(partitions, n_samples=700)
    got = silhouette_values(Space.prepare(spaces[0]), stacked)
    for values, labels in zip(got, partitions, strict=True):
        np.testing.assert_allclose(values, silhouette_samples(spaces[0], labels), atol=1e-12)


@pytest.mark.parametrize("index", ["dunn", "c_index"])
def test_pairs_over_several_tiles(runs, index):
    spaces, partitions = runs
    got = score_matrix(spaces[:1], partitions, index=index)[0]
    expected = [getattr(plain, index)(spaces[0], p) for p in partitions]
    sign = 1 if INDICES[index].larger_is_better else -1
    np.testing.assert_allclose(sign * got, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::kindset.evaluation.EvidenceWarning")
@pytest.mark.parametrize("index", sorted(INDICES))
def test_result_does_not_depend_on_workers_or_memory(runs, index):
    spaces, partitions = runs
    expected = score_matrix(spaces, partitions, index=index)
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(score_matrix(spaces, partitions, index=index, n_jobs=2), expected)
    with sklearn.config_context(working_memory=1):
        np.testing.assert_allclose(
            score_matrix(spaces, partitions, index=index), expected, rtol=1e-12
        )


@pytest.mark.slow
def test_processes_give_the_same(runs):
    spaces, partitions = runs
    with joblib.parallel_config(backend="loky", n_jobs=2):
        got = score_matrix(spaces, partitions)
    np.testing.assert_allclose(got, score_matrix(spaces, partitions), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::kindset.evaluation.EvidenceWarning")
@pytest.mark.parametrize("index", sorted(INDICES))
def test_larger_is_better(blobs, index):
    """Well separated clusters score higher than random ones, whatever the natural direction."""
    X, labels = blobs(n=120, spread=8.0)
    mixed = np.random.default_rng(0).permutation(labels)
    right, wrong = score_matrix([X], [labels, mixed], index=index)[0]
    assert right > wrong


def test_partition_without_score_is_the_worst_and_is_named(runs):
    spaces, partitions = runs
    with pytest.warns(EvidenceWarning, match="No score for partition 4 in 3 of 3 spaces"):
        got = score_matrix(spaces, [*partitions, np.zeros(700)])
    assert (got[:, 4] == got.min()).all()
    assert np.isfinite(got).all()


def test_no_score_at_all_is_an_error():
    with pytest.raises(InputError, match="No partition has a score"):
        score_matrix([np.eye(3)], [[0, 0, 0]])


def test_everything_noise_has_no_score(runs):
    spaces, partitions = runs
    with pytest.warns(EvidenceWarning, match="partition 4"):
        score_matrix(spaces, [*partitions, np.full(700, -1)], noise="drop")


def test_sample_of_points_comes_with_an_honest_error(runs):
    """Estimates from samples scatter about the full value as their standard errors say."""
    spaces, partitions = runs
    full = score_matrix(spaces, partitions)
    z = []
    for seed in range(60):
        got, errors = score_matrix(
            spaces, partitions, sample_size=150, random_state=seed, return_std_error=True
        )
        z.append((got - full) / errors)
    assert 0.8 < np.sqrt(np.mean(np.square(z))) < 1.2


def test_sample_of_all_points_is_exact(runs):
    spaces, partitions = runs
    got, errors = score_matrix(spaces, partitions, sample_size=700, return_std_error=True)
    np.testing.assert_array_equal(got, score_matrix(spaces, partitions))
    assert (errors == 0).all()


@pytest.mark.parametrize(("index", "size"), [("dunn", 50), ("silhouette", 1)])
def test_sample_that_cannot_be(runs, index, size):
    with pytest.raises(InputError, match="sample"):
        score_matrix(*runs, index=index, sample_size=size)


def test_a_new_index_is_one_entry(runs, monkeypatch):
    def balance(space, partitions):
        parts = [partitions.sizes[partitions.clusters(m)] for m in range(partitions.n_partitions)]
        return np.array([part.max() / part.min() for part in parts])

    entry = Index("balance", "Balance", "Bal.", False, "statistics", scores=balance)
    monkeypatch.setitem(INDICES, "balance", entry)
    got = score_matrix(*runs, index="balance")
    assert (got[:, 0] == -1.0).all()


def test_progress_bar_is_shown_only_when_asked(runs, capsys):
    score_matrix(*runs)
    assert capsys.readouterr().err == ""
    score_matrix(*runs, verbose=True)
    assert "Scoring spaces" in capsys.readouterr().err


@pytest.mark.realdata
def test_simulation_matrices(simulation_inputs, simulation_scores):
    spaces, partitions = list(simulation_inputs["embeddings"]), list(simulation_inputs["labels"])
    for index, metric, entry in (
        ("silhouette", "euclidean", "S_euclidean"),
        ("silhouette", "cosine", "S_cosine"),
        ("davies_bouldin", "euclidean", "S_dav"),
        ("calinski_harabasz", "euclidean", "S_ch"),
    ):
        got = score_matrix(spaces, partitions, index=index, metric=metric)
        np.testing.assert_allclose(got, simulation_scores[entry], rtol=1e-6, atol=1e-6)


@pytest.fixture
def covered():
    """Two spaces, and three partitions of which the second covers a part of the points."""
    rng = np.random.default_rng(0)
    X, y = make_blobs(90, centers=3, random_state=0)
    some = np.where(rng.random(90) < 0.6, -1, y)
    return [X, rng.normal(size=(90, 2))], [y, some, rng.integers(2, size=90)]


class TestPenalise:
    """Points that are left out count like those of the worst partition."""

    @pytest.mark.parametrize("index", ["silhouette", "davies_bouldin", "calinski_harabasz", "dunn"])
    def test_by_the_definition(self, covered, index):
        spaces, partitions = covered
        kept = score_matrix(spaces, partitions, index=index, noise="drop")
        found = score_matrix(spaces, partitions, index=index, noise="penalise")
        for row, kept_row in zip(found, kept, strict=True):
            for value, score, labels in zip(row, kept_row, partitions, strict=True):
                cover = np.mean(labels != -1)
                assert value == pytest.approx(cover * score + (1 - cover) * min(kept_row))

    def test_resamples_by_the_definition(self, covered):
        spaces, partitions = covered
        weights = draw_weights(4, 90, np.random.RandomState(0))
        stacked = Partitions.stack(partitions, n_samples=90, noise="penalise")
        index = get_index("silhouette")
        task = ScoreTask(index, "euclidean", weights)
        kept = score_space(spaces[0], stacked, task).resampled
        found = score_space(spaces[0], stacked, replace(task, penalise=True)).resampled
        for row, kept_row, times in zip(found, kept, weights, strict=True):
            for value, score, labels in zip(row, kept_row, partitions, strict=True):
                drawn = np.repeat(labels, times)
                cover = np.mean(drawn != -1)
                assert value == pytest.approx(cover * score + (1 - cover) * min(kept_row))

    def test_sampled_errors_shrink_alike(self, covered):
        spaces, partitions = covered
        options = {"sample_size": 40, "return_std_error": True, "random_state": 0}
        full = score_matrix(spaces, [partitions[0]] * 2, noise="penalise", **options)
        dropped = score_matrix(spaces, [partitions[0]] * 2, noise="drop", **options)
        np.testing.assert_array_equal(full, dropped)

    def test_nothing_is_lost_without_noise(self, covered):
        spaces, partitions = covered
        whole = [partitions[0], partitions[2]]
        np.testing.assert_array_equal(
            score_matrix(spaces, whole, noise="penalise"), score_matrix(spaces, whole)
        )

    def test_a_partition_without_a_score_stays_the_worst(self, covered):
        spaces, partitions = covered
        one = np.where(np.arange(90) < 45, -1, 0)
        with pytest.warns(EvidenceWarning, match="No score for partition 3"):
            found = score_matrix(spaces, [*partitions, one], noise="penalise")
        assert (found[:, 3] == found.min()).all()


def test_mappings(runs):
    spaces, partitions = runs
    by_name = score_matrix(dict(enumerate(spaces)), dict(enumerate(partitions)))
    np.testing.assert_array_equal(by_name, score_matrix(spaces, partitions))
