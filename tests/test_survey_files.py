"""The analyst's files: Excel, SPSS and Stata in, with labels and missing codes; Excel out."""

import random
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import kindset
from kindset import _reading, _table_files
from kindset._excel import write_excel, write_table
from kindset._table_files import read_excel, read_statistics
from kindset.exceptions import InputError
from kindset.workbench import read_data
from kindset.workbench._tables import read_table

openpyxl = pytest.importorskip("openpyxl")
pyreadstat = pytest.importorskip("pyreadstat")

SCALE = {1.0: "disagree", 2.0: "neither", 3.0: "agree", 8.0: "Don't know", 99.0: "refused"}


def workbook(path, *rows, **more):
    """Write rows of cells to the first sheet, and further sheets by name."""
    book = openpyxl.Workbook()
    for sheet, cells in (
        (book.active, rows),
        *((book.create_sheet(n), c) for n, c in more.items()),
    ):
        for row in cells:
            sheet.append(row)
    book.save(path)
    return path


@pytest.fixture
def panel():
    """Codes of 60 people, 99 declared missing, and 8 for don't know that is not."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=60)
    codes = {f"q{j}": np.clip(1 + 2 * kind + rng.integers(-1, 2, 60), 1, 3) for j in (1, 2, 3)}
    table = pd.DataFrame({"who": np.arange(101, 161), **codes, "region": rng.integers(1, 4, 60)})
    table = table.astype(float)
    table.loc[4, "q1"] = 99
    return table


def write_sav(table, path, **how):
    pyreadstat.write_sav(
        table,
        path,
        column_labels={"q1": "Do you like trains?"},
        variable_value_labels={
            **{f"q{j}": SCALE for j in (1, 2, 3)},
            "region": {1.0: "north", 2.0: "south", 3.0: "west"},
        },
        missing_ranges={f"q{j}": [99] for j in (1, 2, 3)},
        variable_measure={"q1": "ordinal", "region": "nominal"},
        **how,
    )
    return path


# --- SPSS and Stata -------------------------------------------------------------------------------


def test_spss_labels_questions_and_missing_codes(panel, tmp_path):
    data = read_data(write_sav(panel, tmp_path / "panel.sav"), ids="who", exclude=["region"])
    assert data.content["q1"].isna().sum() == 1
    assert data.codebook.questions["q1"] == "Do you like trains?"
    answers = data.answers.table
    assert list(answers["q1"].cat.categories) == ["disagree", "neither", "agree"]
    assert answers["q1"].cat.ordered
    expected = panel["q1"].map(SCALE).where(panel["q1"] < 9)
    assert answers["q1"].dropna().tolist() == expected.dropna().tolist()
    assert data.ids.tolist() == list(range(101, 161)), "whole numbers look like ids"
    assert "value labels" in data.column_types["q1"].reason


def test_spss_codes_are_numbers_for_other_methods(panel, tmp_path):
    panel["q1"] = panel["q2"]
    data = read_data(write_sav(panel, tmp_path / "panel.sav"), columns=["q1:q3"], labels="region")
    assert data.rows().X.max() == 3
    assert set(data.labels) == {"north", "south", "west"}


def test_a_nominal_column_of_spss_is_not_taken_for_a_scale(panel, tmp_path):
    data = read_data(write_sav(panel, tmp_path / "panel.sav"), ids="who")
    assert data.column_types["region"].kind == "nominal"
    with pytest.raises(InputError, match=r"'region' is nominal .the file calls it nominal") as no:
        _ = data.answers
    assert no.value.parameter == "types"


def test_undeclared_words_for_missing_answers_are_refused(panel, tmp_path):
    panel.loc[7, "q2"] = 8
    path = write_sav(panel, tmp_path / "panel.sav")
    data = read_data(path, columns=["q1:q3"])
    with pytest.raises(InputError, match=r"Don't know.*code 8.*`missing`=.Don't know"):
        _ = data.answers
    for mark in ("don't know ", "8"):
        data = read_data(path, columns=["q1:q3"], missing=[mark])
        assert data.answers.table["q2"].isna().sum() == 1
        assert len(data.answers.table["q2"].cat.categories) == 3


def test_stata_file(panel, tmp_path):
    path = tmp_path / "panel.dta"
    panel.loc[4, "q1"] = np.nan
    pyreadstat.write_dta(
        panel,
        path,
        column_labels={"q1": "Do you like trains?"},
        variable_value_labels={"q1": {1: "disagree", 2: "neither", 3: "agree"}},
    )
    data = read_data(path, columns=["q1", "q2"])
    assert data.answers.table["q1"].dropna().isin(["disagree", "neither", "agree"]).all()
    assert data.answers.table["q1"].isna().sum() == 1
    assert data.codebook.questions == {"q1": "Do you like trains?"}


def test_partly_labelled_scales_and_equal_words(tmp_path):
    table = pd.DataFrame(
        {"a": [0.0, 5.0, 10.0, 5.0], "b": [1.0, 2.0, 1.0, 2.0], "c": ["m", "f", "", "f"]}
    )
    pyreadstat.write_sav(
        table,
        tmp_path / "t.sav",
        variable_value_labels={
            "a": {0.0: "worst", 10.0: "best"},
            "b": {1.0: "yes", 2.0: "yes"},
            "c": {"m": "male", "f": "female"},
        },
    )
    answers = read_data(tmp_path / "t.sav").answers.table
    assert list(answers["a"].cat.categories) == ["worst", *map(str, range(1, 10)), "best"]
    assert list(answers["b"].cat.categories) == ["yes (1)", "yes (2)"]
    assert answers["c"].tolist()[:2] == ["male", "female"]
    assert pd.isna(answers["c"][2])


def test_measurements_with_a_few_labels_stay_numbers(tmp_path):
    table = pd.DataFrame({"age": np.arange(20.0, 60), "when": pd.to_datetime(["2024-01-05"] * 40)})
    pyreadstat.write_sav(table, tmp_path / "t.sav", variable_value_labels={"age": {20.0: "young"}})
    data = read_data(tmp_path / "t.sav")
    assert data.codebook.labels == {}
    assert data.column_types["age"].kind == "numeric"
    with pytest.raises(InputError, match=r"'when' holds dates, 2024-01-05.* in row 1"):
        _ = data.answers


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_damaged_statistics_files(panel, tmp_path, ending):
    """The parser may crash: its process ends, and ours says one sentence."""
    path = tmp_path / f"panel.{ending}"
    write_sav(panel, path) if ending == "sav" else pyreadstat.write_dta(panel, path)
    whole, rng = path.read_bytes(), random.Random(0)
    damaged = [b"not one", whole[:-400], whole[: len(whole) // 3]]
    damaged.append(bytes(rng.randrange(256) if i % 40 == 7 else b for i, b in enumerate(whole)))
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is not a readable (SPSS|Stata) file: it is damaged"):
            read_statistics(path)


def test_a_process_that_crashes_is_one_sentence(panel, tmp_path, monkeypatch):
    def crashed(*_, **__):
        return subprocess.CompletedProcess([], -11, b"", b"Segmentation fault")

    monkeypatch.setattr(_table_files.subprocess, "run", crashed)
    with pytest.raises(InputError, match="is damaged, or of another kind"):
        read_statistics(write_sav(panel, tmp_path / "panel.sav"))


def test_statistics_files_that_expand_too_far(panel, tmp_path, monkeypatch):
    long = pd.concat([panel] * 200, ignore_index=True)
    path = write_sav(long, tmp_path / "panel.zsav", compress=True)
    for limit in ("expanded", "ratio"):
        monkeypatch.setitem(_reading.LIMITS, limit, 1)
    with pytest.raises(InputError, match=r"expands to .* more than the limit"):
        read_statistics(path)


@pytest.mark.parametrize(
    ("package", "name", "work"),
    [
        ("openpyxl", "t.xlsx", "reading Excel files"),
        ("pyreadstat", "t.sav", "reading SPSS files"),
        ("pyreadstat", "t.dta", "reading Stata files"),
        ("pyarrow.parquet", "t.parquet", "reading Parquet"),
    ],
)
def test_without_the_extra(tmp_path, monkeypatch, package, name, work):
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(InputError) as refused:
        read_data(tmp_path / name)
    needs = package.partition(".")[0]
    assert str(refused.value) == f'{work} needs {needs}: pip install "kindset[tables]".'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.xls", b"x", r"t.xls: .xls files are not read; save it as .xlsx or CSV"),
        ("t.csv", b"PK\x03\x04rest", "looks like an Excel file; its name must end with .xlsx"),
        ("t.csv", b"$FL2@(#) SPSS", "looks like an SPSS file; its name must end with .sav"),
        ("t.xlsx", b"a,b\n1,2\n", "t.xlsx is not a readable Excel file"),
        ("t.xlsx", bytes.fromhex("d0cf11e0a1b11ae1") + b"x" * 600, "it has a password, or is of"),
        ("t.csv", b"a\n1\n", None),
    ],
)
def test_other_kinds_of_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    if message is None:
        assert len(read_data(tmp_path / name)) == 1
        with pytest.raises(InputError, match="`sheet` is for Excel files"):
            read_data(tmp_path / name, sheet="Data")
        return
    with pytest.raises(InputError, match=message):
        read_data(tmp_path / name)


# --- Excel ----------------------------------------------------------------------------------------


def test_excel_cells_become_answers(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx",
        [None, None, None, None, None],
        ["who", "q", "text", "yes", None, "extra"],
        ["007", 1, " Agree", True, None, "1,5"],
        ["008", 2.0, "agree", False, None, "2"],
        ["009", "3", "NA", True, None, None],
        ["010", None, "Disagree", True, None, "3"],
        [None],
    )
    with warnings.catch_warnings(record=True, action="always") as notes:
        data = read_data(path, ids="who")
    assert data.ids.tolist() == ["007", "008", "009", "010"]
    assert data.columns == ["q", "text", "yes", "extra"]
    np.testing.assert_array_equal(data.content["q"], [1, 2, 3, np.nan])
    assert data.content["text"].tolist()[:2] == ["Agree", "Agree"]
    assert pd.isna(data.content["text"][2])
    assert data.content["yes"].dtype == bool
    np.testing.assert_array_equal(data.content["extra"], [1.5, 2, np.nan, 3])
    told = " ".join(str(note.message) for note in notes)
    assert "Column extra: commas in numbers are read as decimal ones" in told
    assert "Column text: answers that differ only in case or in blanks are joined" in told


def test_sheets(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a"], [1], More=[["b"], [2]])
    with pytest.warns(UserWarning, match=r"has 2 sheets; the first, 'Sheet', is read \(`sheet`\)"):
        assert read_data(path).columns == ["a"]
    for sheet in ("More", 2, "2"):
        assert read_data(path, sheet=sheet).columns == ["b"]
    with pytest.raises(InputError, match="has no sheet 'Data'; it has 'Sheet', 'More'") as refused:
        read_data(path, sheet="Data")
    assert refused.value.parameter == "sheet"
    with pytest.raises(InputError, match="holds no rows"):
        read_data(workbook(tmp_path / "head.xlsx", ["a"]))
    with pytest.raises(InputError, match=r"sheet 'Sheet' of .* is empty"):
        read_data(workbook(tmp_path / "none.xlsx"))


def test_formulas_without_a_result_are_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a", "b"], [1, "=A2+1"], [2, "=A3+1"])
    with pytest.raises(InputError, match="cell B2 of sheet 'Sheet' holds a formula without"):
        read_excel(path)


def test_formulas_with_a_result_are_used(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a", "b"], [1, "=A2+1"], [2, "=1/0"])
    changed = tmp_path / "u.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member.endswith("sheet1.xml"):
                content = content.replace(b"<f>A2+1</f><v />", b"<f>A2+1</f><v>2</v>")
                content = content.replace(b'r="B3"', b'r="B3" t="e"')
                content = content.replace(b"<f>1/0</f><v />", b"<f>1/0</f><v>#DIV/0!</v>")
            new.writestr(member, content)
    sheet = read_excel(changed)
    assert sheet.cells == [["a", "b"], [1, 2], [2, None]]
    assert any("2 formulas: their saved results are used" in note for note in sheet.notes)
    assert any("1 cell holds an error of the spreadsheet (#DIV/0!)" in n for n in sheet.notes)


def test_dates_are_refused_where_answers_are_needed(tmp_path):
    path = workbook(tmp_path / "t.xlsx", ["a", "b"], [1, pd.Timestamp("2024-02-01")], [2, 3])
    data = read_data(path)
    with pytest.raises(InputError, match=r"column 'b' holds dates, 2024-02-01.* in row 1"):
        _ = data.answers


def repacked(path, target, member, change):
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name.endswith(member) else content)
    return target


def test_workbooks_that_declare_too_much(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx", ["a", "b"], [1, 2], [3, 4])
    huge = repacked(
        path, tmp_path / "d.xlsx", "sheet1.xml",
        lambda xml: xml.replace(b'ref="A1:B3"', b'ref="A1:XFD1048576"'),
    )  # fmt: skip
    assert read_excel(huge).cells == [["a", "b"], [1, 2], [3, 4]]
    far = repacked(
        path, tmp_path / "far.xlsx", "sheet1.xml",
        lambda xml: xml.replace(b'<row r="3"', b'<row r="999999999"').replace(b'r="A3"', b"")
        .replace(b'r="B3"', b""),
    )  # fmt: skip
    with pytest.raises(InputError, match="more cells than a sheet can hold"):
        read_excel(far)
    bomb = repacked(
        path, tmp_path / "bomb.xlsx", "sheet1.xml", lambda xml: xml + b" " * 3_000_000
    )  # fmt: skip
    monkeypatch.setitem(_reading.LIMITS, "expanded", 100_000)
    with pytest.raises(InputError, match=r"expands to 3.* MB, more than the limit"):
        read_excel(bomb)


def test_entities_do_not_explode(tmp_path):
    entities = b"".join(
        b'<!ENTITY e%d "%s">' % (i, b"&e%d;" % (i - 1) * 20 if i else b"lol") for i in range(12)
    )
    path = repacked(
        workbook(tmp_path / "t.xlsx", ["a"], ["text"]), tmp_path / "lol.xlsx", "sheet1.xml",
        lambda xml: b"<!DOCTYPE worksheet [" + entities + b"]>" + xml.replace(b"text", b"&e11;"),
    )  # fmt: skip
    with pytest.raises(InputError, match="is not a readable Excel file"):
        read_excel(path)


def test_flipped_bytes_of_a_workbook(tmp_path):
    whole = workbook(tmp_path / "t.xlsx", ["a", "b"], *([i, f"text {i}"] for i in range(20)))
    content, rng, path = whole.read_bytes(), random.Random(0), tmp_path / "damaged.xlsx"
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        try:
            read_table(path)
        except InputError:
            with pytest.raises(InputError, match=r"^[^\n]*\.$"):
                read_table(path)


# --- Excel out ------------------------------------------------------------------------------------


def test_nothing_that_is_written_becomes_a_formula(tmp_path):
    words = ["=1+1", "+cmd", "-5", "@x", "\tx", "plain", "a\x01b", None]
    frame = pd.DataFrame({"=head": words, "n": [0.25, np.nan, 1, 2, 3, 4, 5, np.inf]})
    write_table(tmp_path / "t.xlsx", frame)
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert sheet["A1"].value == "=head"
    for row, word in enumerate(words[:6], 2):
        cell = sheet.cell(row, 1)
        assert (cell.value, cell.data_type) == (word, "s")
        assert cell.quotePrefix == (word != "plain")
    assert sheet["A8"].value == r"a\x01b"
    assert (sheet["B2"].value, sheet["B3"].value, sheet["B9"].value) == (0.25, None, None)
    write_table(tmp_path / "t.csv", frame)
    assert "'=1+1," in (tmp_path / "t.csv").read_text()


def test_tables_of_other_kinds_are_not_written(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(InputError, match=r"written as .csv or .xlsx, not as .sav"):
        write_table(tmp_path / "t.sav", frame)
    monkeypatch.setattr("kindset._excel._MOST_ROWS", 0)
    with pytest.raises(InputError, match="do not fit on a sheet"):
        write_excel(tmp_path / "t.xlsx", {"a": frame})
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match="writing Excel files needs openpyxl"):
        write_table(tmp_path / "t.xlsx", frame)
    assert list(tmp_path.iterdir()) == []


# --- The whole way --------------------------------------------------------------------------------


def test_from_spss_to_a_report_and_a_workbook(kindset, panel, folder):
    write_sav(panel, "panel.sav")
    arguments = ("-m", "god", "-k", 2, "--starts", 2, "--columns", "q1:q3", "--id-column", "who")
    code, out, err = kindset("cluster", "panel.sav", *arguments)
    assert code == 0, err
    assert "q1, q2, q3  ordinal  value labels, in the order of their codes" in out
    (folder / "names.toml").write_text('1 = "Fans"\n2 = "Others"\n')
    assert kindset("report", "panel-god", "--names", "names.toml")[0] == 0
    page = (folder / "report.html").read_text()
    assert page.count("Segment 1: Fans") == 2
    assert "Do you like trains?" in page
    sheets = pd.read_excel(folder / "panel-god" / "profiles.xlsx", sheet_name=None)
    assert list(sheets) == ["Segments", "Shares", "Means", "Differences"]
    assert sheets["Segments"]["rows"].sum() == 60
    assert list(sheets["Shares"]["answer"][:3]) == ["disagree", "neither", "agree"]
    code, out, err = kindset("predict", "panel-god", "panel.sav", "--out", "m.xlsx",
                             "--names", "names.toml")  # fmt: skip
    assert code == 0, err
    assert out == "60 rows written to m.xlsx\n"
    found = pd.read_excel(folder / "m.xlsx")
    assert list(found.columns) == ["who", "segment", "name", "p1", "p2"]
    assert set(found["name"]) == {"Fans", "Others"}
    held = pd.read_csv(folder / "panel-god" / "segments.csv")
    pd.testing.assert_frame_equal(found.drop(columns="name"), held, atol=1e-6)
    (folder / "names.toml").write_text('3 = "Nobody"\n')
    code, _, err = kindset("predict", "panel-god", "panel.sav", "--names", "names.toml")
    assert (code, "names segment 3, but there are 2 segments" in err) == (2, True)
    code, _, err = kindset("predict", "panel-god", "panel.sav", "--out", "m.ods")
    assert (code, "written as .csv or .xlsx" in err) == (2, True)


def test_names_are_for_one_run(panel):
    data = read_data(panel[["q2", "q3"]])
    run = kindset.cluster(data, "god", 2, parameters={"n_init": 1})
    named = kindset.runs.name_segments(run, ["Fans", "Others"])
    assert kindset.assign(named, data.content)["name"].isin(["Fans", "Others"]).all()
    assert kindset.runs.Run(named.labels, details=named.details).about.survey.segments[0].name
    with pytest.raises(InputError, match="of one survey run, but there are 2"):
        kindset.runs.name_only_survey([run, run], {1: "a"})
    with pytest.raises(InputError, match="name of segment 1 must be a text"):
        kindset.runs.name_segments(run, {1: 5})
