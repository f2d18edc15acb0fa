from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kindset.datasets import load_anes96
from kindset.ordinal import (
    OrdinalMixture,
    SegmentProfileDisplay,
    SelectionDisplay,
    describe_segments,
    profile_segments,
    select_components,
)
from kindset.ordinal._profiles import _sentence


@pytest.fixture(scope="module")
def survey():
    return load_anes96()


@pytest.fixture(scope="module")
def model(survey):
    return OrdinalMixture(3, distribution="god", n_init=4, random_state=0).fit(survey.data)


def test_shares_are_those_of_the_weighted_answers(model, survey):
    weights = np.random.default_rng(0).random(len(survey.data))
    profiles = profile_segments(model, survey.data, sample_weight=weights)
    membership = model.predict_proba(survey.data) * weights[:, None]
    question = profiles.questions[3]
    for k in range(3):
        for x, level in enumerate(question.levels):
            gave_it = (survey.data["PID"] == level).to_numpy()
            expected = membership[gave_it, k].sum() / membership[:, k].sum()
            assert_allclose(question.shares[k, x], expected)
    assert_allclose(question.answered, 1)
    assert_allclose(profiles.sizes.sum(), weights.sum())
    assert_array_equal(profiles.n_rows, np.bincount(model.labels_))
    assert ((question.distinctness >= 0) & (question.distinctness <= 1)).all()


def test_weighted_counts_are_not_called_rows(model, survey):
    weights = np.where(model.labels_ == 0, 2.0, 0.5)
    text = describe_segments(model, survey.data, sample_weight=weights)
    sizes = np.bincount(model.labels_)
    total = weights.sum()
    for k, n in enumerate(sizes):
        share = (2.0 if k == 0 else 0.5) * n / total
        assert f"weighted share {share:.0%} ({n} rows), assigned" in text
    assert f"{sizes[0] / sizes.sum():.0%} of the rows ({sizes[0]})" in describe_segments(
        model, survey.data
    )
    for given, legend in ((weights, True), (None, False)):
        display = SegmentProfileDisplay.from_estimator(model, survey.data, sample_weight=given)
        assert ("All shares are weighted." in display.figure_.get_supxlabel()) is legend


def test_interval_holds_the_middle_of_the_answers(model, survey):
    question = profile_segments(model, survey.data).questions[0]
    low, high = question.interval(0.8)
    for k in range(3):
        assert question.shares[k, : low[k]].sum() <= 0.1 + 1e-9
        assert question.shares[k, high[k] + 1 :].sum() <= 0.1 + 1e-9


def test_interval_of_a_mirrored_question_is_mirrored(model, survey):
    question = profile_segments(model, survey.data).questions[0]
    shares = np.array([[0.25] * 4, [0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]])
    one = replace(question, shares=shares)
    other = replace(question, shares=shares[:, ::-1])
    assert_array_equal(one.interval()[0], 3 - other.interval()[1])
    assert_array_equal(one.interval()[0], [1, 0, 1])


def test_an_answer_given_less_often_than_by_all_is_called_seldom(model, survey):
    question = profile_segments(model, survey.data).questions[0]
    shares = np.array([[0.2, 0.3, 0.5]] * 3)
    odd = replace(question, shares=shares, overall=np.array([0.05, 0.25, 0.7]), levels=np.arange(3))
    assert_array_equal(odd.typical, 2)
    assert_array_equal(odd.telling, 0)
    assert "0 (20%, all rows 5%), seldom 2 (50%, all rows 70%)" in _sentence(odd, 0)


def test_description_names_segments_questions_and_answers(model, survey):
    text = describe_segments(model, survey.data, questions=survey.questions)
    assert text.count("Segment") == 3
    assert "With which party do you identify? Strong Republican" in text
    assert "Education: High school graduate" in text
    short = describe_segments(model, survey.data, max_questions=2)
    assert "... and 4 more questions" in short
    display = SegmentProfileDisplay.from_estimator(model, survey.data, max_questions=2)
    assert len(display.axes_) == 2


def test_question_without_answers():
    X = pd.DataFrame({"a": [1, 2, 3] * 5, "b": [np.nan] * 15})
    model = OrdinalMixture(1).fit(X)
    assert "b (no answers)" in describe_segments(model, X)
    display = SegmentProfileDisplay.from_estimator(model, X)
    assert "no answers" in [text.get_text() for text in display.axes_[1].texts]


def test_profile_display(model, survey, tmp_path):
    display = SegmentProfileDisplay.from_estimator(
        model, survey.data, questions=survey.questions, n_columns=3
    )
    assert display.axes_[0].get_title(loc="left").startswith("Where would you")
    image = display.axes_[0].images[0].get_array()
    assert_allclose(np.asarray(image), display.profiles.questions[0].shares)
    assert len(display.axes_[0].patches) == 3
    display.figure_.savefig(tmp_path / "profiles.png")
    assert (tmp_path / "profiles.png").stat().st_size > 10_000


def test_profile_display_of_a_long_scale(tmp_path):
    X = np.random.default_rng(0).integers(0, 101, size=(300, 2))
    model = OrdinalMixture(2, n_init=2, random_state=0).fit(X)
    display = SegmentProfileDisplay.from_estimator(model, X)
    labels = [label.get_text() for label in display.axes_[0].get_xticklabels()]
    assert labels[0] == "0"
    assert labels[-1] == "100"
    assert set(labels[1:-1]) == {""}


def test_selection_display(survey):
    from matplotlib.figure import Figure

    selection = select_components(survey.data, [2, 3], n_init=2, random_state=0)
    axes = Figure().subplots()
    display = SelectionDisplay(selection).plot(ax=axes)
    assert display.ax_ is axes
    assert_array_equal(axes.lines[0].get_ydata(), selection.path["icl"])
    assert f"{selection.n_components} segments" in [text.get_text() for text in axes.texts]
