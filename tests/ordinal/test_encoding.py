import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kindset import OrdinalMixture
from kindset.exceptions import InputError
from kindset.ordinal._encoding import encode, infer_levels, read_table


def _both(X, n_categories=None, categories=None):
    X = read_table(X)
    levels = infer_levels(X, n_categories, categories)
    return levels, encode(X, levels)


def test_levels_are_the_sorted_numbers_seen():
    levels, codes = _both([[4, 0], [2, 1], [9, 0]])
    assert_array_equal(levels[0], [2, 4, 9])
    assert_array_equal(levels[1], [0, 1])
    assert_array_equal(codes, [[1, 0], [0, 1], [2, 0]])


def test_declared_numbers_of_categories():
    levels, codes = _both([[1, 3], [2, 3]], n_categories=[5, 3])
    assert [len(found) for found in levels] == [5, 3]
    assert_array_equal(codes, [[0, 2], [1, 2]])
    assert len(_both([[1, 3]], n_categories=7)[0][1]) == 7
    assert [len(found) for found in _both([[1, 3]], n_categories=[None, 4])[0]] == [1, 4]


@pytest.mark.parametrize("gap", [np.nan, None, pd.NA])
def test_missing_answers_get_the_last_code(gap):
    frame = pd.DataFrame({"a": [1, gap, 3], "b": ["x", "y", gap]})
    levels, codes = _both(frame, categories={"b": ["y", "x"]})
    assert_array_equal(codes, [[0, 1], [2, 0], [1, 2]])
    assert_array_equal(levels[1], ["y", "x"])


def test_pandas_extension_types():
    frame = pd.DataFrame(
        {
            "int": pd.array([1, None, 2], dtype="Int64"),
            "bool": pd.array([True, False, None], dtype="boolean"),
            "plain": [False, True, True],
        }
    )
    _, codes = _both(frame)
    assert_array_equal(codes, [[0, 1, 0], [2, 0, 1], [1, 2, 1]])


def test_ordered_categorical_keeps_declared_but_unseen_levels():
    kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"q": pd.Series(["high", None, "low"], dtype=kind)})
    levels, codes = _both(frame)
    assert_array_equal(levels[0], ["low", "mid", "high"])
    assert_array_equal(codes[:, 0], [2, 3, 0])


def test_given_categories_win_over_a_categorical_without_order():
    frame = pd.DataFrame({"q": pd.Categorical(["b", "a"])})
    _, codes = _both(frame, categories=[["b", "a"]])
    assert_array_equal(codes[:, 0], [0, 1])


def test_half_stars_need_given_levels():
    X = [[0.5], [5.0], [np.nan]]
    _, codes = _both(X, categories=[np.arange(1, 11) / 2])
    assert_array_equal(codes[:, 0], [0, 9, 10])


def test_numbers_in_an_object_array():
    X = np.array([[1, None], [3, 2.0]], dtype=object)
    _, codes = _both(X)
    assert_array_equal(codes, [[0, 1], [1, 0]])


def test_column_without_answers_has_no_levels():
    levels, codes = _both(pd.DataFrame({"a": [np.nan, np.nan], "b": [1, 2]}))
    assert len(levels[0]) == 0
    assert_array_equal(codes[:, 0], [0, 0])


def test_whole_numbers_beyond_float_precision_stay_apart():
    frame = pd.DataFrame({"a": pd.array([2**53 - 1, 2**53 - 2, None], dtype="Int64")})
    levels, codes = _both(frame)
    assert_array_equal(levels[0], [2**53 - 2, 2**53 - 1])
    assert_array_equal(codes[:, 0], [1, 0, 2])


def test_small_integers_against_large_levels():
    levels = [np.array([1, 100, 200])]
    assert_array_equal(encode(np.array([[1], [100]], dtype=np.int8), levels), [[0], [1]])


def test_unknown_answers_of_any_kind_are_named():
    for column in (pd.cut(np.arange(6), 2), pd.to_datetime(["2020-01-01"] * 6).astype(object)):
        frame = pd.DataFrame({"a": pd.Categorical(column, ordered=True)})
        levels = infer_levels(frame, None, None)
        other = pd.DataFrame({"a": pd.Categorical(["x"] * 6, ordered=True)})
        with pytest.raises(InputError, match="column 'a' holds 'x'"):
            encode(other, levels)


def test_large_codes():
    levels, codes = _both(np.array([[2_000_000_000], [7], [2_000_000_000]]))
    assert_array_equal(levels[0], [7, 2_000_000_000])
    assert_array_equal(codes[:, 0], [1, 0, 1])


@pytest.mark.parametrize(
    ("X", "kwargs", "message"),
    [
        (pd.DataFrame({"age": [1.5, 2]}), {}, r"column 'age' holds 1.5: .*whole numbers"),
        (pd.DataFrame({"q": [1, -9]}), {}, r"Negative values in data: column 'q' holds -9"),
        (pd.DataFrame({"q": [1.0, np.inf]}), {}, r"column 'q' holds an infinite"),
        (pd.DataFrame({"q": ["no", "yes"]}), {}, r"column 'q' holds text such as 'no'"),
        (pd.DataFrame({"q": pd.Categorical(["a", "b"])}), {}, r"'q' is a categorical without an"),
        (pd.DataFrame({"q": [1, "yes"]}), {}, r"column 'q' mixes numbers and text"),
        (pd.DataFrame({"q": pd.to_datetime(["2020-01-01"])}), {}, r"column 'q' has the type"),
        (pd.DataFrame({"q": range(400)}), {}, r"column 'q' has 400 categories"),
        ([[1], [7]], {"n_categories": [5]}, r"column 0 holds 7, which is not one of its categ"),
        ([[0], [2]], {"n_categories": [5]}, r"column 0 holds 0, which is not one of its categ"),
        ([["a"], ["z"]], {"categories": [["a", "b"]]}, r"column 0 holds 'z'.*\('a', 'b'\)"),
        ([[1, 2]], {"n_categories": [5]}, r"n_categories must have one entry for each of the 2"),
        ([[1]], {"n_categories": [0]}, r"n_categories for column 0 must be a whole number"),
        ([[1]], {"categories": [[1, 1]]}, r"repeat a level"),
        (pd.DataFrame({"q": [1]}), {"categories": {"z": [1]}}, r"names 'z', but X has no such"),
        ([["a"]], {"categories": ["abc"]}, r"must be a list of levels, got 'abc'"),
        ([["a"]], {"categories": [["a", None]]}, r"hold a missing value"),
        ([[1]], {"categories": [5]}, r"must be a list of levels, got 5"),
        ([[1]], {"n_categories": [np.nan]}, r"must be a whole number"),
        ([[1]], {"n_categories": ["x"]}, r"must be a whole number"),
        ([[1e20]], {}, r"too large a number"),
        (pd.DataFrame([[1, 2]], columns=["q", "q"]), {}, r"two columns named 'q'"),
    ],
)
def test_wrong_input_gets_one_clear_sentence(X, kwargs, message):
    with pytest.raises(InputError, match=message):
        _both(X, **kwargs)


class TestPolars:
    @pytest.fixture
    def frame(self):
        polars = pytest.importorskip("polars")
        pytest.importorskip("pyarrow")
        opinion = polars.Enum(["bad", "fair", "good"])
        return polars.DataFrame(
            {
                "food": polars.Series(["good", "bad", None, "fair"] * 20, dtype=opinion),
                "price": polars.Series(["bad", "good", "fair", "fair"] * 20, dtype=opinion),
            }
        )

    def test_an_enum_is_an_ordered_categorical(self, frame):
        model = OrdinalMixture(2, n_init=2, random_state=0).fit(frame)
        same = OrdinalMixture(2, n_init=2, random_state=0).fit(frame.to_pandas())
        assert [levels.tolist() for levels in model.categories_] == [["bad", "fair", "good"]] * 2
        assert model.feature_names_in_.tolist() == ["food", "price"]
        assert_array_equal(model.labels_, same.labels_)
        assert_array_equal(model.predict(frame), model.labels_)

    def test_a_category_without_order_is_refused(self, frame):
        polars = pytest.importorskip("polars")
        unordered = frame.with_columns(polars.col("food").cast(polars.String))
        with pytest.raises(InputError, match="column 'food' holds text"):
            OrdinalMixture(2).fit(unordered)


class Foreign:
    """A table of a library that needs pyarrow to become pandas'."""

    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        if self.frame is None:
            raise ImportError
        return self.frame


def test_tables_of_other_libraries():
    answers = pd.Categorical(["no", "yes"] * 9, categories=["no", "yes"], ordered=True)
    frame = pd.DataFrame({"a": answers, "b": [1, 2] * 9})
    assert read_table(Foreign(frame)) is frame
    with pytest.raises(InputError, match=r"pyarrow must convert: pip install"):
        read_table(Foreign(None))
