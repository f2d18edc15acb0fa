"""Drawings: what they show, and that anything can be drawn."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import aligned_run, image_run, merging_run, survey_run
from scipy.cluster.hierarchy import linkage

from kindset.evaluation import AdaptiveEvaluation, EvidenceWarning
from kindset.report._charts import Axis, Line, known_chart, line_chart, point_cloud
from kindset.report._comparison_charts import (
    STATUS,
    _shades,
    agreement_graph,
    rank_interval,
    score_map,
    status_legend,
)
from kindset.report._merging import MergingSummary
from kindset.report._part_charts import answer_colour, loss_chart, selection_chart
from kindset.report._sections import show_parts
from kindset.report._sprites import _mosaic, make_sheet
from kindset.report._svg import Scale, shorten_apart, tag
from kindset.report._tree_chart import merge_tree


def parse(markup):
    return ET.fromstring(f"<all>{markup}</all>")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30))
def test_text_in_drawings_is_escaped(text):
    drawn = parse(tag("text", text, aria_label=text))
    assert (drawn[0].text or "") == text
    if not any(character.isspace() for character in text):
        assert drawn[0].get("aria-label") == text


numbers = st.floats(-1e9, 1e9)


@given(st.lists(numbers, min_size=1, max_size=20))
def test_scales_hold_their_values(values):
    scale = Scale(values, 10, 110)
    assert all(9.99 <= scale(value) <= 110.01 for value in values)
    ticks = scale.ticks(5)
    assert len(ticks) <= 12
    assert all(9.99 <= scale(tick) <= 110.01 for tick in ticks)


def test_ticks_are_round():
    assert Scale([0, 10], 0, 1).ticks(5) == [0, 2, 4, 6, 8, 10]
    assert Scale([0.23, 0.81], 0, 1).ticks(3) == pytest.approx([0.4, 0.6, 0.8])
    assert len(Scale([5, 5], 0, 1).ticks()) >= 2


@pytest.mark.parametrize("n", range(1, 12))
def test_there_is_no_half_a_segment(n):
    survey = survey_run("god", 3)
    path = [{"n_components": k, "icl": 100.0 + k} for k in range(1, n + 1)]
    told = {**survey.details["survey"], "selection": {"criterion": "icl", "path": path}}
    parts, _ = show_parts(replace(survey, details={"survey": told}))
    drawn = parse(selection_chart(parts["survey"]))
    ticks = [e.text for e in drawn.iter("text") if e.get("y") == "226"]
    assert ticks
    assert all(tick.isdigit() and 1 <= int(tick) <= n for tick in ticks)


@given(st.lists(st.text("ab0 =", max_size=40), max_size=12), st.integers(8, 30))
def test_short_names_tell_as_many_apart(names, length):
    labels = shorten_apart(names, length)
    assert all(len(label) <= length for label in labels)
    assert len(set(labels)) >= len(set(names))
    if len(set(names)) == len(names):
        kept = {name for name in names if len(name) <= length}
        assert kept <= set(labels)


def test_short_names_differ_where_the_long_ones_do():
    names = ["k-means k=8 d=10 seed 0 (+3)", "k-means k=8 d=20 seed 0 (+3)", "unmasking"]
    assert shorten_apart(names, 19) == ["k-me…10 seed 0 (+3)", "k-me…20 seed 0 (+3)", "unmasking"]
    alike = [f"{'a' * 20}{i}{'a' * 20}" for i in range(3)]
    assert shorten_apart(alike, 10) == ["aaaaa…a #1", "aaaaa…a #2", "aaaaa…a #3"]
    assert shorten_apart([], 10) == []


def test_lines():
    drawn = parse(
        line_chart(
            [Line("<a>", [1, 2, 3], [4.0, 2.0, 5.0], marked=1), Line("b", [1, 2], [1.0, 1.0])],
            Axis("x & y"), Axis("z"), "label",
        )
    )  # fmt: skip
    titles = [element.text for element in drawn.iter("title")]
    assert titles == ["label", "<a>", "b"]
    assert len([e for e in drawn.iter("circle") if "marked" in e.get("class")]) == 1
    assert [e.tail or "".join(e.itertext()) for e in drawn.iter("li")]
    parse(line_chart([Line("flat", [1], [0.0])], Axis("x"), Axis("y"), "one point"))


def test_points():
    rng = np.random.default_rng(0)
    codes = np.array([0, 1, 1, -1, 13])
    drawn = parse(point_cloud(rng.normal(size=(5, 2)), codes, "cloud"))
    classes = [e.get("class") for e in drawn.iter("path")]
    assert classes == ["cloud none", "cloud c0", "cloud c1", "cloud c1"]
    assert sum(e.get("d").count("M") for e in drawn.iter("path")) == 5
    parse(point_cloud(np.zeros((3, 2)), np.zeros(3, dtype=int), "one place"))


def evaluation(n_spaces, n_partitions, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random((n_spaces, n_partitions))
    names = [f"<run {i}>" for i in range(n_spaces)] if n_spaces == n_partitions else None
    with pytest.warns(EvidenceWarning):
        return AdaptiveEvaluation().fit_scores(scores, rng.random(n_spaces) ** 4, names=names)


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (15, 15), (70, 70)])
def test_comparisons_are_drawn(shape):
    fitted = evaluation(*shape)
    graph = parse(agreement_graph(fitted))
    assert len([e for e in graph.iter("circle") if "node" in e.get("class")]) == shape[0]
    scores = parse(score_map(fitted))
    cells = sum(e.get("d").count("M") for e in scores.iter("path"))
    assert cells == min(shape[0], 60) * min(shape[1], 60)
    legend = "".join(parse(status_legend(fitted)).itertext())
    for status in set(fitted.status_):
        assert STATUS[status] in legend


def test_shades_are_those_of_the_row():
    shades = _shades(np.array([[0.0, 0.5, 1.0], [100.0, 150.0, 200.0], [3.0, 3.0, 3.0]]))
    assert shades.tolist() == [[0, 4, 8], [0, 4, 8], [4, 4, 4]]


def test_intervals_say_what_they_show():
    drawn = rank_interval(1, 2, 4, 9)
    assert "rank 2 of 9, range of ranks 1 to 4" in drawn
    parse(rank_interval(1, 1, 1, 1))


def test_known_chart():
    drawn = parse(known_chart(["a<", "b"], [0.1, 0.2], [0.5, 0.9], ("score", "NMI")))
    marks = [e for e in drawn.iter("circle") if "mark" in e.get("class")]
    assert [("first" in e.get("class")) for e in marks] == [False, True]


@pytest.mark.parametrize("n_cells", [1, 2, 7, 120, 500])
@pytest.mark.parametrize("left", [1, 3])
def test_trees(n_cells, left):
    points = np.random.default_rng(n_cells).normal(size=(n_cells, 2))
    tree = linkage(points, "average") if n_cells > 1 else np.empty((0, 4))
    tree = tree[: max(0, len(tree) + 1 - left)]
    drawn = parse(merge_tree(MergingSummary(n_cells, min(2, n_cells), tree, np.empty((0, 0)), [])))
    joins = [e for e in drawn.iter("path") if "join" in e.get("class")]
    assert len(joins) == min(len(tree), max(0, 120 - n_cells + len(tree)))


def test_a_tree_never_goes_down():
    tree = np.array([[0, 1, 5.0, 2], [3, 2, 1.0, 3]])
    drawn = parse(merge_tree(MergingSummary(3, 1, tree, np.empty((0, 0)), [])))
    heights = [e.get("d").split("V")[1].split("H")[0] for e in drawn.iter("path")]
    assert heights[0] == heights[1]


def test_merges_beyond_the_groups_are_grey():
    points = np.random.default_rng(0).normal(size=(30, 2))
    merging = MergingSummary(30, 4, linkage(points, "ward"), np.empty((0, 0)), [])
    classes = [e.get("class") for e in parse(merge_tree(merging)).iter("path")]
    assert classes[-3:] == ["join none"] * 3
    assert "join none" not in classes[:-3]
    assert {"join c0", "join c1", "join c2", "join c3"} >= set(classes[:-3])
    # A branch has one colour all the way down.
    assert len(set(classes[:-3])) > 1


def test_merging_of_a_run_is_drawn():
    part = show_parts(merging_run())[0]["merging"]
    colours = {e.get("class") for e in parse(merge_tree(part)).iter("path")}
    assert len(colours) > 5


def test_the_loss_is_drawn_over_the_steps_of_the_training():
    images = show_parts(aligned_run())[0]["images"]
    assert len(images.loss) > 1
    assert images.loss[-1] < images.loss[0]
    drawn = parse(loss_chart(images))
    assert "training step" in "".join(drawn.itertext())
    (line,) = [e.get("d") for e in drawn.iter("path") if "line" in e.get("class")]
    assert line.count("L") + 1 == len(images.loss_steps)


def test_answer_colours_span_the_scale():
    assert [answer_colour(i, 3) for i in range(3)] == ["v0", "v4", "v8"]
    assert answer_colour(0, 1) == "v4"
    assert answer_colour(149, 150) == "v8"


def test_mosaic():
    tiles = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
    sheet = _mosaic(tiles, 3)
    assert sheet.shape == (4, 9)
    np.testing.assert_array_equal(sheet[2:, 3:6], tiles[4])
    assert (sheet[2:, 6:] == 0).all()


def test_a_sheet_holds_what_fits():
    images = show_parts(image_run())[0]["images"]
    whole, sheet = make_sheet(images, 10**7)
    assert len(whole.samples) == 120
    assert sheet.first_sample == 10
    assert sheet.first_aligned is None
    _, with_aligned = make_sheet(show_parts(aligned_run())[0]["images"], 10**7)
    assert with_aligned.first_aligned == 3 + len(aligned_run().exhibits["samples"])
    assert sheet.place(sheet.columns + 2) == (2, 1)
    fewer, small = make_sheet(images, 5_000)
    assert 0 < len(fewer.samples) < 120
    assert len(small.uri) <= 5_000
    least, _ = make_sheet(images, 10)
    assert least.samples == []


@pytest.mark.parametrize("shape", [(64, 64, 3), (28, 20), (200, 3), (1, 1)])
def test_pictures_of_any_shape(shape):
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, size=(10, *shape), dtype=np.uint8)
    images = replace(
        show_parts(image_run(10, 0))[0]["images"].thinned(1, keep_aligned=False), prototypes=noise
    )
    images = replace(images, pictures=np.resize(noise, (20, *shape)))
    _, sheet = make_sheet(images, 100_000)
    assert len(sheet.uri) < 100_000
    assert 1 <= sheet.width <= 60
    assert 1 <= sheet.height <= 60
