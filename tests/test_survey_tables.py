"""Tables as analysts have them: spellings, codes, header rows, types, profiles."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import kindset
from kindset.exceptions import InputError
from kindset.runs import Run
from kindset.workbench import profile_table, read_data
from kindset.workbench._codebook import expand_ranges
from kindset.workbench._headers import read_header
from kindset.workbench._missing import codes_outside, looks_missing

LIKERT = ["disagree", "neither agree", "agree"]


def written(folder, text, name="t.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


# --- Spellings and numbers ------------------------------------------------------------------------


def test_spellings_are_joined_with_the_level_or_the_usual_one(tmp_path):
    path = written(tmp_path, "a,b\nAgree ,x\nagree,X\nAGREE,X\n disagree,y\nagree,x\nagree,x\n")
    with pytest.warns(UserWarning, match=r"Column a: .* such as 'Agree ', 'AGREE' with 'agree', "):
        data = read_data(path)
    assert data.content["a"].tolist() == ["agree"] * 3 + ["disagree"] + ["agree"] * 2
    assert data.content["b"].tolist() == ["x", "x", "x", "y", "x", "x"]
    assert "in 1 more column" in data.notes[0]
    with pytest.warns(UserWarning, match="are joined"):
        data = read_data(path, levels={"a": ["Disagree", "Agree"]}, columns=["a"])
    assert set(data.answers.table["a"]) == {"Agree", "Disagree"}
    exact = read_data(path, trim=False, ignore_case=False)
    assert exact.content["a"].nunique() == 4
    only_case = read_data(pd.DataFrame({"a": ["no", "No", "no"]}), ignore_case=False)
    assert only_case.content["a"].nunique() == 2


def test_levels_that_differ_only_in_case_stay_apart(tmp_path):
    path = written(tmp_path, "a\nx\nX\nx\n")
    data = read_data(path, levels={"a": ["x", "X"]})
    assert data.answers.table["a"].tolist() == ["x", "X", "x"]
    assert data.notes == ()


def test_new_answers_are_joined_like_the_old_ones():
    table = pd.DataFrame({"a": ["no", "yes"] * 10, "b": ["no", "yes"] * 10})
    run = kindset.cluster(read_data(table, levels=["no", "yes"]), "god", 1)
    with pytest.warns(UserWarning, match="are joined"):
        found = kindset.assign(run, pd.DataFrame({"a": ["NO ", "yes"], "b": ["Yes", "no"]}))
    assert len(found) == 2


@pytest.mark.parametrize(
    ("cells", "decimal", "expected"),
    [
        (["1,5", "2", "-0,25"], "auto", [1.5, 2, -0.25]),
        (["1,500", "2,250"], "auto", None),  # thousands or fractions?
        (["1,500", "2,250"], ",", [1.5, 2.25]),
        (["1.234,5", "7"], ",", [1234.5, 7]),
        (["1,5", "2"], ".", None),
        (["1,5", "2.5"], "auto", None),
        (["1", " 2 ", "NA"], "auto", [1, 2, np.nan]),
        (["1e999", "1"], "auto", [np.inf, 1]),
    ],
)
def test_numbers_as_text(cells, decimal, expected):
    frame = pd.DataFrame({"a": cells, "b": 1})
    with warnings.catch_warnings(action="ignore"):
        found = read_data(frame, decimal=decimal).content["a"]
    if expected is None:
        assert found.tolist() == cells
    else:
        np.testing.assert_array_equal(found, expected)


def test_decimal_commas_of_a_file(tmp_path):
    path = written(tmp_path, "q;w\n1;0,5\n2;1,25\n1;1.000,5\n")
    with pytest.raises(InputError, match=r"no usable weight in row 1: it holds '0,5'; if that is"):
        read_data(path, weights="w")
    weights = read_data(path, weights="w", decimal=",").weights
    assert (weights / weights[0]).tolist() == pytest.approx([1, 2.5, 2001])
    path = written(tmp_path, "q;w\n1;0,5\n2;1,25\n")
    with pytest.warns(UserWarning, match="Column w: commas"):
        assert read_data(path, weights="w").weights.tolist() == pytest.approx([4 / 7, 10 / 7])
    with pytest.raises(InputError, match="`decimal` must be auto, a point or a comma"):
        read_data(path, decimal="x")


# --- Missing answers ------------------------------------------------------------------------------


def test_only_true_missing_words_are_offered_as_missing_first():
    frame = pd.DataFrame({"a": ["AGREE", "NEITHER AGREE"] * 4})
    with pytest.raises(InputError) as refused:
        _ = read_data(frame).answers
    assert "give the order of its answers with `levels`" in str(refused.value)
    assert "missing" not in str(refused.value)
    odd = pd.DataFrame({"a": ["1", "2", "NEITHER AGREE"] * 3})
    with pytest.raises(InputError) as refused:
        _ = read_data(odd).answers
    assert str(refused.value).index("levels") < str(refused.value).index("missing")
    mixed = pd.DataFrame({"a": ["1", "2", "NEITHER AGREE", "Refused"] * 3})
    with pytest.raises(InputError, match=r"'Refused' in row 4: if it stands for a missing answer"):
        _ = read_data(mixed).answers


@pytest.mark.parametrize(
    "word", ["Don't know", "REFUSED", "n/a", "k.A.", "No answer.", "-", "-9", 99]
)
def test_words_for_missing_answers(word):
    assert looks_missing(word)


@pytest.mark.parametrize(
    "word", ["NEITHER AGREE", "no", "none", "never", "5", "☹", 10, "unknown X"]
)
def test_words_for_answers(word):
    assert not looks_missing(word)


@pytest.mark.parametrize(
    ("seen", "outside"),
    [
        ([1, 2, 3, 4, 5, 99], [99]),
        ([0, 1, 77, 88, 99], [77, 88, 99]),
        ([1, 2, 3, 9], []),  # perhaps a scale from 1 to 9
        ([18, 40, 66, 99], []),
        ([1, 2, 3, 50], []),
        ([1, 99], []),
        ([], []),
    ],
)
def test_codes_outside(seen, outside):
    assert codes_outside(seen) == outside


def test_a_code_outside_the_scale_is_refused_with_its_remedy(kindset, folder):
    rows = "".join(f"{i % 5 + 1},{99 if i == 7 else i % 3 + 1}\n" for i in range(30))
    written(folder, "q1,q2\n" + rows)
    code, _, err = kindset("cluster", "t.csv", "-m", "god", "-k", 1)
    assert code == 2
    assert "column 'q2' holds 99, far outside its scale, first in row 8" in err
    assert "--missing=99" in err
    code, out, _ = kindset("cluster", "t.csv", "-m", "god", "-k", 1, "--missing", "99")
    assert (code, "1 answer missing" in out) == (0, True)


def test_marks_apply_to_frames_too():
    frame = pd.DataFrame({"a": [1, 2, -9, 0], "b": ["no", "yes", "DK", "dk"]})
    data = read_data(frame, missing=["-9", "0", "DK"])
    assert data.content["a"].isna().tolist() == [False, False, True, True]
    assert data.content["b"].isna().sum() == 2


# --- Header rows, ranges, levels ------------------------------------------------------------------

QUALTRICS = (
    "id,q1,q2,w\n"
    '"Response ID","How, exactly?\nTell us","Why?","Weight"\n'
    '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{}"\n'
)
ROWS = "".join(f"r{i},{i % 3 + 1},{i % 2 + 1},{1 + i % 2}\n" for i in range(12))


def test_header_rows_of_qualtrics(tmp_path):
    path = written(tmp_path, QUALTRICS + ROWS)
    with pytest.warns(UserWarning, match="Two more header rows were recognised; the texts"):
        data = read_data(path, ids="id", weights="w")
    assert len(data) == 12
    assert data.codebook.questions["q1"] == "How, exactly? Tell us"
    assert data.content["q1"].dtype.kind == "i"
    assert data.ids[0] == "r0"


def test_a_second_header_row_over_numbers(tmp_path):
    text = "id,q1,q2,w\nWho,How?,Why?,Weight\n" + ROWS
    with pytest.warns(UserWarning, match=r"A second header row was .* words of the questions"):
        data = read_data(written(tmp_path, text), ids="id", weights="w")
    assert data.codebook.questions["q2"] == "Why?"
    assert len(data) == 12
    with pytest.raises(InputError, match=r"row 1: it holds the text 'Weight'; .* `header_rows`=2"):
        read_data(tmp_path / "t.csv", weights="w", header_rows=1)
    words = "id,a\nWho,How?\nx,no\ny,yes\n"
    data = read_data(written(tmp_path, words), header_rows=2)
    assert (len(data), data.codebook.questions["a"]) == (2, "How?")
    with pytest.raises(InputError, match="`header_rows` must be 1, 2 or 3"):
        read_data(tmp_path / "t.csv", header_rows=4)


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "b"], ["refused", "n/a"], [1, 2], [2, 3], [3, 4]],
        [["a", "b"], ["x", "x"], [1, 2], [2, 3], [3, 4]],
        [["a", "b"], ["x", 3], [1, 2], [2, 3], [3, 4]],
        [["a", "b"], ["x", "y"], [1, 2]],
        [["a"], ["x"], [1], [2], [3]],
        [["a", "b"], ["no", "yes"], ["yes", "no"], ["no", "no"], ["no", "yes"]],
        [[]],
        [],
    ],
)
def test_answers_are_no_header(rows):
    assert read_header(rows).n_rows == 1


def test_ranges_of_columns(tmp_path):
    frame = pd.DataFrame([[1, 2, 1, 2, 1], [2, 1, 2, 1, 2]], columns=["a", "q1", "q2", "q3", "x:y"])
    assert read_data(frame, columns=["q1:q3", "x:y"]).columns == ["q1", "q2", "q3", "x:y"]
    assert read_data(frame, exclude=["q1:q3"]).columns == ["a", "x:y"]
    with pytest.raises(InputError, match="no column 'q1:q9'"):
        read_data(frame, columns=["q1:q9"])
    with pytest.raises(InputError, match="'q3:q1' is empty: column 'q3' comes after 'q1'"):
        read_data(frame, columns=["q3:q1"])
    toml = written(tmp_path, '[[scale]]\ncolumns = ["q1:q3"]\nlevels = [0, 1, 2]\n', "l.toml")
    data = read_data(frame, levels=toml)
    assert list(data.codebook.levels) == ["q1", "q2", "q3"]
    assert list(data.answers.table["q1"].cat.categories) == [0, 1, 2]


@given(st.lists(st.text("abc:", min_size=1, max_size=3), unique=True, min_size=1))
def test_every_column_can_be_named(names):
    assert expand_ranges(names, names) == names


def test_one_list_of_levels_for_all_columns(kindset, folder):
    rows = "".join(f"{LIKERT[i % 3]},{LIKERT[i % 2]},{i % 9}\n" for i in range(30))
    written(folder, "q1,q2,age\n" + rows)
    data = read_data("t.csv", levels=LIKERT)
    assert list(data.answers.table["q2"].cat.categories) == LIKERT
    assert data.answers.table["age"].dtype.kind == "i"
    with pytest.raises(
        InputError, match=r"column 'q1' holds 'neither agree'.*not among its levels"
    ):
        _ = read_data("t.csv", levels=["disagree", "agree"]).answers
    written(folder, f"[[scale]]\nlevels = {LIKERT}\n", "l.toml")
    assert read_data("t.csv", levels="l.toml").codebook.every == LIKERT
    code, out, err = kindset("cluster", "t.csv", "-m", "god", "-k", 1, "--levels",
                             "disagree,neither agree,agree", "--exclude", "age")  # fmt: skip
    assert code == 0, err
    assert "q1, q2   ordinal  its levels are given" in out


def test_text_levels_that_look_like_numbers(tmp_path):
    path = written(tmp_path, "a,b\n2,2\n3,5more\n")
    data = read_data(path, levels=["2", "3", "5more"])
    assert data.answers.table["a"].tolist() == ["2", "3"]
    assert data.answers.table["b"].tolist() == ["2", "5more"]


# --- Types ----------------------------------------------------------------------------------------


def mixed(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "q": rng.integers(1, 5, n),
            "age": np.arange(18, 18 + n),
            "income": rng.random(n) * 100,
            "town": np.array(["Oslo", "Rome", "Lima"])[rng.integers(3, size=n)],
            "likes": rng.random(n) > 0.5,
            "code": [f"p{i}" for i in range(n)],
        }
    )


def test_types_are_guessed_with_reasons():
    data = read_data(mixed(), ids="code")
    told = {name: (found.kind, found.reason) for name, found in data.column_types.items()}
    assert told == {
        "q": ("ordinal", "4 different whole numbers"),
        "age": ("numeric", "40 different whole numbers"),
        "income": ("numeric", "numbers with fractions"),
        "town": ("nominal", "3 texts without a given order"),
        "likes": ("ordinal", "yes or no"),
    }


def test_the_typed_table_that_mixtures_of_all_kinds_take(monkeypatch):
    monkeypatch.setattr("kindset.workbench._types.USABLE", ("ordinal", "nominal", "numeric"))
    data = read_data(mixed(), ids="code", types={"age": "numeric", "likes": "nominal"})
    table = data.answers.table
    assert table["q"].cat.ordered
    assert table["q"].cat.categories.tolist() == [1, 2, 3, 4]
    assert table["age"].dtype == table["income"].dtype == np.float64
    assert not table["town"].cat.ordered
    assert not table["likes"].cat.ordered
    assert {name: told.kind for name, told in data.answers.types.items()} == {
        "q": "ordinal", "age": "numeric", "income": "numeric", "town": "nominal",
        "likes": "nominal",
    }  # fmt: skip
    assert data.answers.notes == ()
    with pytest.raises(InputError, match=r"column 'code' .* name it with `ids`"):
        _ = read_data(mixed()).answers


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"town": "nominal"}, "column 'town' is nominal .declared., but the methods for surveys"),
        ({"q": "numeric"}, "column 'q' is numeric"),
        ({"q": "scale"}, "must be one of ordinal, nominal, numeric, not 'scale'"),
        ({"p": "nominal"}, "there is no column 'p'; there are q, age"),
    ],
)
def test_types_that_cannot_be_used(types, message):
    with pytest.raises(InputError, match=message) as refused:
        _ = read_data(mixed(), types=types, ids="code", columns=["q", "town"]).answers
    assert refused.value.parameter == "types"


def test_types_on_the_command_line(kindset, folder):
    mixed().to_csv("t.csv", index=False)
    arguments = ("cluster", "t.csv", "-m", "god", "-k", 1, "--id-column", "code")
    code, _, err = kindset(*arguments, "--types", "town=nominal,age=numeric")
    assert (code, "--types" in err) == (2, True)
    code, _, err = kindset(*arguments, "--types", "town")
    assert (code, "--types takes column=type, such as region=nominal, not 'town'" in err) == (
        2,
        True,
    )
    code, out, err = kindset(*arguments, "--columns", "q,likes", "--types", "q:likes=ordinal")
    assert (code, "q, likes  ordinal  declared" in out) == (0, True), err


def test_columns_like_ids_get_the_hint(kindset, folder):
    mixed()[["code", "q"]].to_csv("t.csv", index=False)
    code, _, err = kindset("cluster", "t.csv", "-m", "god", "-k", 1)
    assert code == 2
    assert "if it identifies the rows, name it with --id-column" in err.replace("\n", " ")


def test_columns_and_rows_without_answers_are_noted(kindset, folder):
    written(folder, "a,b,c\n1,,2\n2,,2\n,,\n1,,2\n")
    code, _, err = kindset("cluster", "t.csv", "-m", "god", "-k", 1)
    assert code == 0, err
    assert "note: Column b: no answer at all, so it has no effect." in err
    assert "note: Column c: one and the same answer in all rows, so it has no effect." in err
    assert "note: 1 row holds no answer at all" in err


def test_one_is_singular(kindset, folder):
    written(folder, "a\n1\n")
    code, out, err = kindset("cluster", "t.csv", "-m", "god", "-k", 1, "--starts", 1)
    assert code == 0
    assert out.lstrip().startswith("1 row, 1 question\n")
    code, out, _ = kindset("predict", "t-god", "t.csv", "--out", "o.csv")
    assert out == "1 row written to o.csv\n"
    assert "1 components" not in err
    assert "1 cluster of 1 sample" in repr(Run.load("t-god"))


# --- Profiles -------------------------------------------------------------------------------------


def plain_profile(x, membership, weights):
    """Mean score in each segment, difference from all rows and its error, row by row."""
    held = [i for i in range(len(x)) if not np.isnan(x[i])]
    total = sum(weights[i] for i in held)
    everyone = sum(weights[i] * x[i] for i in held) / total
    out = []
    for k in range(membership.shape[1]):
        size = sum(weights[i] * membership[i, k] for i in held)
        mean = sum(weights[i] * membership[i, k] * x[i] for i in held) / size
        parts = [
            weights[i] * (membership[i, k] * (x[i] - mean) / size - (x[i] - everyone) / total)
            for i in held
        ]
        error = np.sqrt(sum(part**2 for part in parts) * len(held) / max(len(held) - 1, 1))
        out.append((mean, everyone, mean - everyone, error))
    return np.array(out)


def draw(rng, n, k):
    membership = rng.dirichlet(np.ones(k), size=n)
    words = pd.Categorical.from_codes(rng.integers(-1, 3, n), LIKERT, ordered=True)
    names = pd.Categorical.from_codes(rng.integers(0, 2, n), ["x", "y"])
    numbers = np.where(rng.random(n) < 0.2, np.nan, rng.random(n))
    table = pd.DataFrame({"words": words, "names": names, "numbers": numbers})
    return table.assign(codes=rng.integers(1, 4, n)), membership, rng.random(n) + 0.1


@given(st.integers(0, 10_000), st.integers(6, 40), st.integers(1, 4))
def test_profiles_agree_with_the_plain_way(seed, n, k):
    table, membership, weights = draw(np.random.default_rng(seed), n, k)
    table.loc[0, ["words", "numbers"]] = ["agree", 0.5]
    found = profile_table(table, membership, weights=weights)
    scores = {("words", "mean", ""): table["words"].cat.codes.replace(-1, np.nan) + 1.0}
    scores["numbers", "mean", ""] = table["numbers"]
    scores["codes", "mean", ""] = table["codes"].astype(float)
    for name, levels in (
        ("words", LIKERT),
        ("names", ["x", "y"]),
        ("codes", table["codes"].unique()),
    ):
        for level in levels:
            share = (table[name] == level).astype(float).where(table[name].notna())
            scores[name, "share", str(level)] = share
    assert len(found) == k * len(scores)
    reach = norm.ppf(0.975)
    keys = ["question", "measure", "answer"]
    for key, x in scores.items():
        rows = found[(found[keys] == list(key)).all(axis=1)]
        expected = plain_profile(x.to_numpy(dtype=float), membership, weights)
        np.testing.assert_allclose(rows[["value", "all", "difference"]], expected[:, :3], atol=1e-9)
        np.testing.assert_allclose(
            rows["high"] - rows["difference"], reach * expected[:, 3], atol=1e-7
        )


def test_intervals_of_differences_cover_the_truth():
    """95 of 100 intervals, drawn with known memberships, hold the true difference."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        kind = rng.random(200) < 0.4
        answer = np.where(rng.random(200) < np.where(kind, 0.7, 0.3), "yes", "no")
        table = pd.DataFrame({"q": pd.Categorical(answer, categories=["no", "yes"], ordered=True)})
        found = profile_table(table, np.stack([kind, ~kind], axis=1).astype(float))
        row = found.query("segment == 1 and answer == 'yes'").iloc[0]
        inside += row["low"] <= 0.7 - (0.4 * 0.7 + 0.6 * 0.3) <= row["high"]
    assert 0.91 <= inside / 300 <= 0.985


def test_profiles_of_degenerate_tables():
    table = pd.DataFrame({"none": [np.nan, np.nan], "one": [1, 1], "age": [20, 30]})
    found = profile_table(table, [[1.0, 0.0], [1.0, 0.0]], numeric=["age"])
    assert set(found["question"]) == {"one", "age"}
    assert found.query("question == 'age'")["measure"].unique().tolist() == ["mean"]
    assert found.query("segment == 1")["difference"].abs().max() == 0
    assert found.query("segment == 2")["value"].isna().all()


def test_the_figure_says_which_questions_it_leaves_out(kindset, folder):
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=60)[:, None]
    answers = 1 + 2 * kind + rng.integers(0, 2, size=(60, 26))
    answers[:, 3] = rng.integers(1, 5, 60)
    answers[:, 7] = rng.integers(1, 5, 60)
    pd.DataFrame(answers, columns=[f"q{j}" for j in range(26)]).to_csv("t.csv", index=False)
    code, out, err = kindset("cluster", "t.csv", "-m", "god", "-k", 2, "--starts", 2)
    assert code == 0, err
    assert "The figure of the profiles leaves out q3, q7; profiles.csv has all" in out
    assert "Not shown: q3, q7 (see profiles.csv)" in (folder / "t-god" / "profiles.svg").read_text()
    assert pd.read_csv(folder / "t-god" / "profiles.csv")["question"].nunique() == 26


CELLS = st.one_of(
    st.none(),
    st.integers(-3, 99),
    st.floats(-5, 5),
    st.booleans(),
    st.text("aA bB1,.é-", max_size=4),
    st.sampled_from(["1,5", "2", "NA", "Refused", "1e3", "ﬀ", "İ", "ß", "SS"]),
)


@given(st.lists(CELLS, min_size=1, max_size=12), st.sampled_from(["auto", ".", ","]))
def test_cleaning_twice_is_cleaning_once(cells, decimal):
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": 1})
    with warnings.catch_warnings(action="ignore"):
        once = read_data(frame, decimal=decimal, missing=["-1", "refused"])
        twice = read_data(once.content, decimal=decimal, missing=["-1", "refused"])
        try:
            _ = once.answers
        except InputError as error:
            assert str(error).endswith(".")  # noqa: PT017
    pd.testing.assert_frame_equal(once.content, twice.content)
    assert once.content["a"].nunique() <= frame["a"].map(repr).nunique()
