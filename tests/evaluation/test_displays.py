import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from kindset.evaluation import (
    AdaptiveEvaluation,
    AssignmentDisplay,
    CorrelationGraphDisplay,
    RankingDisplay,
    ScoreHeatmapDisplay,
    SpacesDisplay,
)
from kindset.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore::kindset.evaluation.EvidenceWarning")
FROM_EVALUATION = [CorrelationGraphDisplay, ScoreHeatmapDisplay, RankingDisplay]


@pytest.fixture(autouse=True)
def _no_windows():
    with mpl.rc_context({"backend": "Agg"}):
        yield
        plt.close("all")


def evaluation(n):
    """Two groups of spaces, an outlier, a constant row and spaces dropped by the dip test."""
    rng = np.random.default_rng(0)
    bases = rng.normal(size=(2, n))
    scores = bases[np.arange(n) % 2] + 0.2 * rng.normal(size=(n, n))
    scores[-1] = rng.normal(size=n)
    scores[-2] = 1.0
    pvalues = np.where(np.arange(n) == 1, 0.5, 1e-6)
    return AdaptiveEvaluation().fit_scores(scores, pvalues, names=[f"run {i}" for i in range(n)])


def overlaps(texts, figure):
    """Pairs of upright texts whose boxes meet."""
    renderer = figure.canvas.get_renderer()
    boxes = [t.get_window_extent(renderer) for t in texts if t.get_text()]
    return sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


@pytest.mark.parametrize("n", [6, 40])
@pytest.mark.parametrize("display", FROM_EVALUATION)
def test_draws_few_and_many_runs(display, n):
    drawn = display.from_evaluation(evaluation(n)).plot()
    drawn.figure_.canvas.draw()
    labels = [*drawn.ax_.get_xticklabels(), *drawn.ax_.get_yticklabels()]
    if display is not CorrelationGraphDisplay:
        assert overlaps(labels, drawn.figure_) == 0


@pytest.mark.parametrize("display", FROM_EVALUATION)
def test_uses_the_axes_given(display):
    figure, ax = plt.subplots()
    drawn = display.from_evaluation(evaluation(6)).plot(ax=ax)
    assert drawn.ax_ is ax
    assert drawn.figure_ is figure


@pytest.mark.parametrize("display", FROM_EVALUATION)
def test_needs_a_fitted_evaluation(display):
    with pytest.raises(InputError, match="not fitted"):
        display.from_evaluation(AdaptiveEvaluation())


def test_graph_shows_every_space_by_its_status():
    found = evaluation(12)
    drawn = CorrelationGraphDisplay.from_evaluation(found).plot()
    counts = {text.get_text() for text in drawn.ax_.get_legend().get_texts()}
    assert f"selected ({len(found.selected_)})" in counts
    assert "dropped by the dip test (1)" in counts
    assert "dropped: all scores equal (1)" in counts
    assert sum(len(c.get_offsets()) for c in drawn.ax_.collections[1:]) == 12
    n_edges = int((found.edges_ > 0).sum() / 2)
    assert len(drawn.ax_.collections[0].get_segments()) == n_edges


def test_graph_nodes_stay_apart():
    angles = CorrelationGraphDisplay.from_evaluation(evaluation(40))._angles()
    steps = np.diff(np.sort(angles % (2 * np.pi)))
    assert steps.min() > 2 * np.pi / 60


def test_heat_map_columns_are_in_the_order_of_the_ranking():
    found = evaluation(8)
    drawn = ScoreHeatmapDisplay.from_evaluation(found).plot()
    shown = [label.get_text() for label in drawn.ax_.get_xticklabels()]
    assert shown == [found.partition_names_[i] for i in found.ranking_]
    ranks = ScoreHeatmapDisplay.from_evaluation(found).plot(values="ranks")
    assert ranks.ax_.images[0].get_array().max() == 8
    with pytest.raises(InputError, match="values='z'"):
        ScoreHeatmapDisplay.from_evaluation(found).plot(values="z")


def test_ranking_lists_the_best_on_top():
    found = evaluation(8)
    drawn = RankingDisplay.from_evaluation(found).plot()
    shown = [label.get_text() for label in drawn.ax_.get_yticklabels()]
    assert shown[0] == found.partition_names_[found.best_]
    assert drawn.ax_.yaxis_inverted()


@pytest.mark.parametrize("method", ["pca", pytest.param("tsne", marks=pytest.mark.slow)])
def test_spaces_in_two_dimensions(blobs, method):
    X, labels = blobs(n=90, d=4)
    rng = np.random.default_rng(0)
    spaces = [X[:, :d] + 0.1 * rng.normal(size=(90, d)) for d in (1, 2, 3, 4)]
    partitions = [np.where(rng.random(90) < 0.1 * i, 0, labels) for i in range(4)]
    found = AdaptiveEvaluation().fit(spaces, partitions)
    drawn = SpacesDisplay.from_evaluation(
        found, spaces, labels, method=method, n_each=2, max_points=60
    ).plot()
    assert all(points.shape == (60, 2) for _, _, points in drawn.panels)
    assert len(drawn.panels) == min(2, len(found.selected_)) + min(2, 4 - len(found.selected_))
    with pytest.raises(InputError, match="3 spaces"):
        SpacesDisplay.from_evaluation(found, spaces[:3], labels)
    with pytest.raises(InputError, match="method='umap'"):
        SpacesDisplay.from_evaluation(found, spaces, labels, method="umap")


@pytest.mark.parametrize(("n_classes", "n_clusters"), [(2, 3), (10, 13), (40, 35)])
def test_assignment(n_classes, n_clusters):
    rng = np.random.default_rng(0)
    true = rng.integers(0, n_classes, 500)
    pred = true % n_clusters
    drawn = AssignmentDisplay.from_predictions(true, pred).plot()
    assert drawn.counts.sum() == 500
    assert drawn.figure_ is drawn.ax_.get_figure()
    small = max(n_classes, n_clusters) <= 30
    assert len(drawn.ax_.texts) == (np.count_nonzero(drawn.counts) if small else 0)
    drawn.plot(normalize=False)
    assert drawn.ax_.images[0].get_array().max() == drawn.counts.max()
