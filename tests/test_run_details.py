"""What runs say about themselves: written by the real producers, read back, or refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import (
    aligned_run,
    cluster,
    digits,
    feature_run,
    image_run,
    merging_run,
    survey_run,
)

import kindset
from kindset.exceptions import InputError
from kindset.runs import TYPICAL, FeatureDetails, Run, RunDetails, SurveyDetails

MAKERS = [survey_run, image_run, aligned_run, merging_run, feature_run]
JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just([])


def read(details, arrays, run):
    return RunDetails.from_dict(details, arrays, n_samples=len(run))


@pytest.mark.parametrize("make", MAKERS)
def test_details_of_the_producers_come_back_from_disk(make, tmp_path):
    run = make()
    details = RunDetails.from_run(run)
    assert details.damaged == {}
    assert read(details.to_dict(), details.arrays(), run) == details
    assert details.to_dict() == run.details
    assert set(details.arrays()) == set(run.exhibits)
    run.save(tmp_path / "run")
    assert Run.load(tmp_path / "run").about == details


def test_every_part_has_a_producer():
    found = [make().about for make in MAKERS]
    for part in ("survey", "images", "features", "merges"):
        assert any(getattr(details, part) is not None for details in found)
    assert survey_run().about.survey.selection.path[0].criteria["icl"] > 0
    assert aligned_run().about.images.aligned is not None


def leaves(value, prefix=()):
    """Every place in a nested structure that holds no further structure."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*prefix, key))
    elif isinstance(value, list) and value:
        for i, inner in enumerate(value):
            yield from leaves(inner, (*prefix, i))
    else:
        yield prefix


def changed(value, place, change):
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(place) > 1:
        copy[place[0]] = changed(value[place[0]], place[1:], change)
    else:
        change(copy, place[0])
    return copy


@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("make", MAKERS)
def test_damage_is_refused_or_read_as_it_stands(make, data):
    run = make()
    place = data.draw(st.sampled_from(list(leaves(run.details))))
    if data.draw(st.booleans()):
        details = changed(run.details, place, lambda inner, key: inner.pop(key))
    else:
        junk = data.draw(JUNK)
        details = changed(run.details, place, lambda inner, key: inner.__setitem__(key, junk))
    try:
        found = read(details, run.exhibits, run)
    except InputError:
        lenient = replace(run, details=details).about
        assert len(lenient.damaged) == 1
    else:
        assert read(found.to_dict(), found.arrays(), run) == found


@settings(max_examples=40)
@given(data=st.data())
@pytest.mark.parametrize("make", [aligned_run, merging_run])
def test_damaged_arrays_are_refused_or_read_as_they_stand(make, data):
    run = make()
    name = data.draw(st.sampled_from(sorted(run.exhibits)))
    shape = data.draw(st.lists(st.integers(0, 3), max_size=5))
    kind = data.draw(st.sampled_from(["u1", "i8", "f8", "U3", "?"]))
    arrays = {**run.exhibits, name: np.full(shape, data.draw(st.integers(0, 1)), dtype=kind)}
    try:
        found = read(run.details, arrays, run)
    except InputError:
        return
    assert read(found.to_dict(), found.arrays(), run) == found


def test_damage_leaves_the_rest():
    run = survey_run()
    damaged = replace(run, details={**run.details, "title": ["?"], "survey": 3, "kind": "fish"})
    assert damaged.about.damaged == {
        "kind": "kind must be one of survey, images, features.",
        "title": "title is not text.",
        "survey": "survey is not an object with names.",
    }
    assert (damaged.about.title, damaged.about.kind, damaged.about.survey) == ("", None, None)
    assert damaged.about.data == run.about.data
    odd = replace(run, details=None, exhibits=5)
    assert odd.about.notes == []
    with pytest.raises(InputError, match="details is not an object"):
        RunDetails.from_run(odd)


def test_runs_of_earlier_releases_are_read():
    segment = {"headline": "", "size": 2.0, "share": 1.0, "certainty": 0.5}
    found = SurveyDetails.from_dict({"segments": [segment], "questions": []})
    assert found.segments[0].n_rows == 2
    assert found.typical == found.uncertain == []
    assert FeatureDetails.from_dict({"clusters": [{"size": 3.0, "top": []}]}).clusters[0].size == 3


@pytest.mark.parametrize("contrast", [0.0, 0.3])
def test_flat_images_are_never_the_most_typical(contrast):
    plain = digits()
    images = plain.images.copy()
    rng = np.random.default_rng(0)
    # Of the mean brightness, so that they are nearer to the centre than any digit.
    images[::3] = images.mean() + contrast * rng.uniform(-0.5, 0.5, images[::3].shape)
    data = kindset.read_data(images, name="digits, a third of them flat")
    for k in (1, 5):
        run = cluster(data, "kmeans", k)
        shown = run.about.images
        flat = np.isin(np.arange(len(shown.samples)), shown.flat)
        np.testing.assert_array_equal(flat, shown.sample_index % 3 == 0)
        for number in range(k):
            members = np.flatnonzero(run.labels == number)
            typical = flat[(shown.sample_cluster == number) & (shown.sample_role == TYPICAL)]
            n_pictures = min((members % 3 != 0).sum(), len(typical))
            assert typical.tolist() == [False] * n_pictures + [True] * (len(typical) - n_pictures)


def test_one_bright_pixel_is_a_picture():
    images = np.zeros((6, 5, 5), dtype=np.uint8)
    images[3:, 2, 2] = 200
    run = cluster(kindset.read_data(images, name="dots"), "kmeans", 1)
    shown = run.about.images
    assert set(shown.sample_index[shown.flat].tolist()) == {0, 1, 2}


EVIL = "<script>alert('1')</script>\x00"


def test_a_run_shows_itself_in_a_notebook():
    html = survey_run()._repr_html_()
    assert "god-k3" in html
    assert "3 clusters of 944 samples" in html
    assert survey_run().about.survey.segments[0].headline in html
    assert "covered" not in html
    run = survey_run()
    headed = {**run.details["survey"]["segments"][0], "headline": EVIL}
    segments = [headed, *run.details["survey"]["segments"][1:]]
    details = {**run.details, "title": EVIL, "survey": {**run.details["survey"]}}
    details["survey"]["segments"] = segments
    html = replace(run, name=EVIL, details=details)._repr_html_()
    assert html.count("&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;\ufffd") == 3
    assert "<script" not in html


def test_a_run_with_noise_shows_its_coverage():
    html = Run([0, 0, 0, -1, 7], name="a", method="by hand")._repr_html_()
    assert "2 clusters of 5 samples, 80% of the samples covered" in html
    assert "<td>8</td><td>1</td><td>20%</td>" in html
    assert Run([-1, -1]).coverage == 0
    assert "0 clusters of 2 samples" in Run([-1, -1])._repr_html_()
    assert len(Run(np.arange(5000))._repr_html_()) < 3000
