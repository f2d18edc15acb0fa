"""Tables that other programs wrote: Parquet, Excel, SPSS and Stata files.

The rules are those of `kindset._reading`: regular files only, no more than a file may hold, no
code, and one sentence for every refusal. What the cells mean is for others to say.
"""

import json
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
from numpy.typing import NDArray

from kindset import _statistics_reader
from kindset._reading import (
    DamagedError,
    check_expansion,
    most_expanded,
    open_regular,
    read_archive,
    readable,
    size_of,
)
from kindset._shown import shown
from kindset._statistics_reader import VALUE
from kindset.exceptions import InputError

PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
STATISTICS = {".sav": "SPSS", ".zsav": "SPSS", ".dta": "Stata"}
OTHERS = (".xls", ".xlsb", ".ods", ".numbers", ".por", ".sas7bdat", ".xpt", ".rds", ".rdata")
"""Endings of tables that are not read."""

_SHEET_ROWS = 2**20
_ERRORS = {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}
_FORMULA = re.compile(rb"<(?:\w+:)?f[ />]")
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")  # Excel before 2007, or a file with a password


def load_package(package: str, work: str) -> Any:
    """Import a package of the extra `tables`, or say how to install it; `work` needs it."""
    try:
        return import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise InputError(f'{work} needs {name}: pip install "kindset[tables]".') from error


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    table : DataFrame

    Raises
    ------
    InputError
        If it is no such file, is damaged, or expands too far; or if pyarrow is not installed.
    """
    parquet = load_package("pyarrow.parquet", "reading Parquet")
    with readable(path, "Parquet"), open_regular(path) as file:
        size = size_of(file)
        check_expansion(path, _declared_size(parquet.ParquetFile(file).metadata), size)
        for length in _lengths_of_texts(file):
            check_expansion(path, length, size)
        file.seek(0)
        return pd.read_parquet(file)


def _declared_size(metadata: Any) -> int:
    """Return the bytes that the values of a Parquet file take, going by its metadata."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    packed = sum(group.total_byte_size for group in groups)
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    held = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    # Repeated values are packed further than the sizes tell: a value takes some bytes in memory.
    return int(max(packed, VALUE * max(rows * max(metadata.num_columns, 1), held)))


def _lengths_of_texts(file: BinaryIO) -> Iterator[int]:
    """Yield how long the texts of a Parquet file are, added up batch by batch.

    A text that repeats stands only once in the file, so that no size in it tells. It is unpacked
    only once here too.
    """
    import pyarrow.compute as pc
    from pyarrow.parquet import ParquetFile

    file.seek(0)
    schema = ParquetFile(file).schema
    leaves = [schema.column(i) for i in range(len(schema.names))]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    if not texts:
        return
    file.seek(0)
    total = 0
    for batch in ParquetFile(file, read_dictionary=texts).iter_batches(columns=texts):
        for column in batch.columns:
            if hasattr(column, "dictionary"):
                lengths = pc.binary_length(column.dictionary)
                total += pc.sum(lengths.take(column.indices)).as_py() or 0
        yield total


@dataclass(frozen=True)
class Sheet:
    """The cells of one sheet of an Excel file.

    Attributes
    ----------
    cells : list of list
        Rows of numbers, texts, truth values and dates, each up to its last cell that is not empty.
        None is an empty cell.
    name : str
    notes : list of str
        What a user should know of how it was read.
    """

    cells: list[list[Any]]
    name: str
    notes: list[str] = field(default_factory=list)


def read_excel(path: Path, sheet: str | int | None = None) -> Sheet:
    """Read one sheet of an Excel file.

    Parameters
    ----------
    path : Path
        The file.
    sheet : str or int, optional
        The name of the sheet, or its number from 1; by default the first.

    Returns
    -------
    sheet : Sheet
        Of formulas the results that were saved with them.

    Raises
    ------
    InputError
        If it is no such file, is damaged, expands too far, or has no such sheet; or if openpyxl is
        not installed.
    """
    openpyxl = load_package("openpyxl", "reading Excel files")
    with readable(path, "Excel"), open_regular(path) as file, warnings.catch_warnings():
        # Its warnings are about fonts, charts and the like, of which nothing is used.
        warnings.simplefilter("ignore")
        _check_workbook(path, file)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        found = _chosen_sheet(path, book, sheet)
        notes = []
        if sheet is None and len(book.worksheets) > 1:
            notes.append(
                f"{shown(path)} has {len(book.worksheets)} sheets; the first, "
                f"{found.title!r}, is read (`sheet`)."
            )
        most = most_expanded(size_of(file)) // VALUE
        cells = list(_rows(found.iter_rows(values_only=True), most))
        notes += _drop_errors(cells)
        if _has_formulas(file):
            plain = openpyxl.load_workbook(file, read_only=True, keep_links=False)
            notes += _check_formulas(plain[found.title], cells)
        return Sheet(cells, str(found.title), notes)


def _check_workbook(path: Path, file: BinaryIO) -> None:
    """Refuse what is no archive, or declares to expand too far."""
    if file.read(len(_OLE)) == _OLE:
        raise DamagedError(
            "it has a password, or is of Excel before 2007; save it as .xlsx without a password"
        )
    with zipfile.ZipFile(file) as archive:
        check_expansion(path, sum(m.file_size for m in archive.infolist()), size_of(file))


def _chosen_sheet(path: Path, book: Any, sheet: str | int | None) -> Any:
    sheets = {found.title: found for found in book.worksheets}
    if not sheets:
        raise DamagedError("it has no sheet of cells")
    number = 1 if sheet is None else int(sheet) if str(sheet).isdigit() else 0
    if sheet in sheets:
        found = sheets[sheet]
    elif 1 <= number <= len(sheets):
        found = list(sheets.values())[number - 1]
    else:
        raise InputError(
            f"`sheet`: {shown(path)} has no sheet {sheet!r}; it has "
            f"{', '.join(map(repr, list(sheets)[:12]))}.",
            parameter="sheet",
        )
    found.reset_dimensions()  # a declared size can be anything
    return found


def _rows(rows: Iterable[Sequence[Any]], most: float) -> Iterator[list[Any]]:
    """Yield rows without the empty cells at their end; refuse more than a sheet can hold."""
    blank: int = 0
    held = 0
    for number, row in enumerate(rows):
        held += len(row)
        if number >= _SHEET_ROWS or held > most:
            raise DamagedError("it declares more cells than a sheet can hold")
        cells = list(row)
        while cells and cells[-1] is None:
            cells.pop()
        if not cells:
            blank += 1
            continue
        yield from ([] for _ in range(blank))
        blank = 0
        yield cells


def _drop_errors(cells: list[list[Any]]) -> list[str]:
    """Empty the cells whose formula failed; return a note if there are any."""
    failed = [
        (row, number, value)
        for row in cells
        for number, value in enumerate(row)
        if isinstance(value, str) and value in _ERRORS
    ]
    for row, number, _ in failed:
        row[number] = None
    n = len(failed)
    if not n:
        return []
    kinds = ", ".join(dict.fromkeys(value for _, _, value in failed))
    cell = "cell holds" if n == 1 else "cells hold"
    return [f"{n:,} {cell} an error of the spreadsheet ({kinds}): taken as missing."]


def _has_formulas(file: BinaryIO) -> bool:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if "worksheets/" not in member.filename or not member.filename.endswith(".xml"):
                continue
            with archive.open(member) as inside:
                end = b""
                while part := inside.read(2**20):
                    if _FORMULA.search(end + part):
                        return True
                    end = part[-40:]
    return False


def _check_formulas(sheet: Any, cells: list[list[Any]]) -> list[str]:
    """Refuse a column of formulas without any saved result; return a note on the others."""
    sheet.reset_dimensions()
    first: dict[int, int] = {}
    calculated: set[int] = set()
    count = 0
    for i, row in enumerate(sheet.iter_rows()):
        if i >= len(cells) and i > _SHEET_ROWS:
            break
        for j, cell in enumerate(row):
            if cell.data_type == "f":
                count += 1
                first.setdefault(j, i)
                if i < len(cells) and j < len(cells[i]) and cells[i][j] is not None:
                    calculated.add(j)
    for j in first.keys() - calculated:
        raise InputError(
            f"cell {column_letters(j)}{first[j] + 1} of sheet {sheet.title!r} holds a formula "
            "without a saved result: open the file in a spreadsheet program and save it there."
        )
    if not count:
        return []
    word = "formula: its saved result is" if count == 1 else "formulas: their saved results are"
    return [f"Sheet {sheet.title!r} holds {count:,} {word} used."]


def column_letters(number: int) -> str:
    """Return what a spreadsheet calls a column, counted from 0.

    Examples
    --------
    >>> from kindset._table_files import column_letters
    >>> column_letters(0), column_letters(27)
    ('A', 'AB')
    """
    letters = ""
    number += 1
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


@dataclass(frozen=True)
class LabelledTable:
    """A table of codes, and what a statistics program says about them.

    Attributes
    ----------
    frame : DataFrame
        The codes; user-missing ones are missing.
    labels : dict of str to dict
        The word of each code by column, without those of missing codes.
    questions : dict of str to str
        The words of the questions.
    measures : dict of str to str
        What the program calls columns: nominal, ordinal or scale.
    """

    frame: pd.DataFrame
    labels: dict[str, dict[Any, str]]
    questions: dict[str, str]
    measures: dict[str, str]


def read_statistics(path: Path) -> LabelledTable:
    """Read an SPSS (``.sav``, ``.zsav``) or Stata (``.dta``) file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    table : LabelledTable

    Raises
    ------
    InputError
        If it is no such file, is damaged, or expands too far; or if pyreadstat is not installed.
    """
    program = STATISTICS.get(path.suffix.lower(), "SPSS")
    load_package("pyreadstat", f"reading {program} files")
    with readable(path, program), open_regular(path) as file:
        size = size_of(file)
        about, columns = _read_apart(file, program, most_expanded(size))
        check_expansion(path, about["bytes"], size)
        frame = pd.DataFrame(dict(zip(about["names"], map(_with_gaps, columns), strict=True)))
        labels = {name: dict(map(tuple, pairs)) for name, pairs in about["labels"].items()}
        return LabelledTable(
            frame=_whole_where_possible(frame),
            labels=_value_labels(labels, about["missing"], letters=program == "Stata"),
            questions={
                name: " ".join(text.split())
                for name, text in about["questions"].items()
                if text and text.strip()
            },
            measures=about["measures"],
        )


def _read_apart(
    file: BinaryIO, program: str, most: float
) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Let another process read the file: a damaged one can end it."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "found.npz")
        command = [
            sys.executable,
            "-P",
            _statistics_reader.__file__,
            program,
            str(most),
            str(found),
        ]
        ended = subprocess.run(command, stdin=file, capture_output=True, check=False)
        if ended.returncode or not found.exists():
            raise (
                MemoryError
                if b"MemoryError" in ended.stderr
                else DamagedError("it is damaged, or of another kind")
            )
        arrays = read_archive(found)
    about = json.loads(arrays.pop("about").tobytes())
    return about, [arrays[f"column {number}"] for number in range(len(arrays))]


def _with_gaps(column: NDArray[Any]) -> Any:
    return pd.Series(column).replace("", None) if column.dtype.kind == "U" else column


def _value_labels(
    labels: Mapping[str, Mapping[Any, str]],
    missing: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    letters: bool,
) -> dict[str, dict[Any, str]]:
    """Return the words of codes that stand for an answer; Stata's missing codes are letters."""
    found: dict[str, dict[Any, str]] = {}
    for name, words in labels.items():
        ranges = missing.get(name, [])
        found[str(name)] = {
            code: str(word).strip() or str(code)
            for code, word in words.items()
            if not (letters and isinstance(code, str))
            and not any(_is_within(code, limits) for limits in ranges)
        }
    return {name: words for name, words in found.items() if words}


def _is_within(code: Any, limits: Mapping[str, Any]) -> bool:
    try:
        return bool(limits["lo"] <= code <= limits["hi"])
    except TypeError:  # a number beside a text
        return False


def _whole_where_possible(frame: pd.DataFrame) -> pd.DataFrame:
    """Make whole numbers of columns that hold nothing else, so that ids look like ids."""
    whole = {
        name: "int64"
        for name, kind in frame.dtypes.items()
        if kind == "float64"
        and bool((frame[name].notna() & (frame[name] % 1 == 0)).all())
        and bool((frame[name].abs() < 2**53).all())
    }
    return frame.astype(whole)
