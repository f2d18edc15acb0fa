"""A run folder is a file anybody may have written: what is damaged is left out, and said so."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import feature_run, image_run, merging_run, survey_run

from kindset.report import write_report
from kindset.report._page import render
from kindset.report._sections import show_parts
from kindset.report._summary import Ranking, summarise
from kindset.runs import Fingerprint, Run

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def paths_into(value, prefix=()):
    """Every place in a nested structure, only the first of a list."""
    yield prefix
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_into(inner, (*prefix, key))
    elif isinstance(value, list) and value:
        yield from paths_into(value[0], (*prefix, 0))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@settings(max_examples=30)
@given(data=st.data())
@pytest.mark.parametrize("make", [survey_run, lambda: image_run(3, 0, 5), merging_run, feature_run])
def test_any_detail_may_be_wrong(make, data):
    run = make()
    place = data.draw(st.sampled_from(list(paths_into(run.details))))
    run = replace(run, details=replaced(run.details, place, data.draw(JUNK)))
    render(summarise([run], Ranking()))


@settings(max_examples=25)
@given(data=st.data())
def test_any_exhibit_may_be_wrong(data):
    images, merging = image_run(3, 0, 5), merging_run()
    exhibits = {**images.exhibits, **merging.exhibits}
    name = data.draw(st.sampled_from(sorted(exhibits)))
    shape = data.draw(st.lists(st.integers(0, 3), max_size=5))
    kind = data.draw(st.sampled_from(["u1", "i8", "f8", "U3", "?"]))
    exhibits[name] = np.full(shape, data.draw(st.integers(0, 1)), dtype=kind)
    run = replace(images, exhibits=exhibits)
    render(summarise([run], Ranking()))


FIELDS = ("name", "method", "parameters", "seed", "timings", "metrics", "command", "versions",
          "created", "details")  # fmt: skip


@settings(max_examples=30)
@given(st.fixed_dictionaries(dict.fromkeys(FIELDS, JUNK)))
def test_any_field_may_be_wrong(fields):
    space = np.arange(6.0)[:, None]
    data = Fingerprint(("a", 1), [], {})
    runs = [Run([0, 0, 0, 1, 1, 1], space, data=data, **fields), Run([0, 1, 0, 1, 0, 1], space**2)]
    render(summarise(runs, Ranking()))


@pytest.mark.parametrize(
    ("make", "section", "where", "value", "reason"),
    [
        (survey_run, "survey", ("survey", "segments", 0, "share"), 1.5, "not between 0 and 1"),
        (survey_run, "survey", ("survey", "questions", 0, "shares"), [[1.0]], "1 elements"),
        (survey_run, "survey", ("survey", "typical"), "nobody", "typical is not a list"),
        (survey_run, "survey", ("survey",), [1], "survey is not an object"),
        (image_run, "images", ("images", "distances"), [[1.0]], "distances has 1 elements"),
        (merging_run, "merging", ("unmasking", "n_cells"), 5, "59 merges of 5 cells"),
        (feature_run, "features", ("features", "clusters", 0, "top", 0, "z"), float("nan"),
         "z is not a finite number"),
    ],
)  # fmt: skip
def test_what_is_left_out_and_why(make, section, where, value, reason):
    run = make()
    parts, notes = show_parts(replace(run, details=replaced(run.details, where, value)))
    assert section not in parts
    assert reason in notes[0]
    assert section in show_parts(run)[0]


def test_a_tree_that_is_none():
    run = merging_run()
    tree = run.exhibits["merge_tree"].copy()
    tree[3, 0] = tree[2, 0]
    _, notes = show_parts(replace(run, exhibits={"merge_tree": tree}))
    assert "row 3 of merge_tree joins what is not there" in notes[0]


def test_everything_may_be_missing(tmp_path):
    path = tmp_path / "r.html"
    write_report([Run([0, 1, 1])], path)
    html = path.read_text()
    assert "1 to 2" in html
    assert "does not tell the command" in html
