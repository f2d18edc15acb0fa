"""Reading tables of any kind of file, and taking their columns apart."""

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from kindset._files import csv_separator
from kindset._reading import open_regular, regular_file
from kindset._shown import shown
from kindset._table_files import (
    EXCEL,
    OTHERS,
    PARQUET,
    STATISTICS,
    column_letters,
    read_excel,
    read_parquet,
    read_statistics,
)
from kindset.exceptions import InputError
from kindset.workbench._cleaning import Reading, clean_table
from kindset.workbench._codebook import columns_of, expand_ranges, scales_only
from kindset.workbench._headers import SAMPLED, Header, read_header

TABLES = "CSV, Excel, SPSS, Stata or Parquet"
"""Files that tables are read from."""


@dataclass(frozen=True)
class Table:
    """A table, and what its file says about the columns.

    Attributes
    ----------
    frame : DataFrame
        Cleaned; codes where there are labels.
    questions : dict of str to str
        The words of questions.
    labels : dict of str to dict
        The words of codes, by column.
    measures : dict of str to str
        What a statistics program calls the columns.
    """

    frame: pd.DataFrame
    questions: dict[str, str] = field(default_factory=dict)
    labels: dict[str, dict[Any, str]] = field(default_factory=dict)
    measures: dict[str, str] = field(default_factory=dict)


def read_table(path: Path, reading: Reading | None = None) -> Table:
    """Read a CSV, Excel, SPSS, Stata or Parquet file; what was changed is told in warnings."""
    if not path.exists():
        raise InputError(f"there is no file {shown(path)}.")
    if path.is_dir():
        raise InputError(f"{shown(path)} is a folder; give a {TABLES} file.")
    if regular_file(path).st_size == 0:
        raise InputError(f"{shown(path)} is empty.")
    reading = reading or Reading()
    found = _read_any(path, reading)
    if found.frame.shape[0] == 0 or found.frame.shape[1] == 0:
        raise InputError(f"{path} holds no rows.")
    names = pd.Index([str(name) for name in found.frame.columns])
    if not names.is_unique:
        raise InputError(f"{path} has two columns named {names[names.duplicated()][0]!r}.")
    return cleaned(
        Table(
            found.frame.set_axis(names, axis=1).reset_index(drop=True),
            found.questions,
            found.labels,
            found.measures,
        ),
        reading,
    )


def cleaned(table: Table, reading: Reading) -> Table:
    """Turn marks into gaps and spellings into one, and keep the labels of scales only."""
    frame = clean_table(table.frame, reading, table.labels)
    marks = {reading.key(mark) for mark in reading.missing}
    labels = {
        name: {code: word for code, word in words.items() if reading.key(word) not in marks}
        for name, words in table.labels.items()
    }
    return Table(frame, table.questions, scales_only(frame, labels), table.measures)


def _read_any(path: Path, reading: Reading) -> Table:
    ending = path.suffix.lower()
    if reading.sheet is not None and ending not in EXCEL:
        raise InputError(f"`sheet` is for Excel files, not for {shown(path)}.", parameter="sheet")
    if ending in PARQUET:
        return Table(read_parquet(path))
    if ending in EXCEL:
        return _read_sheet(path, reading)
    if ending in STATISTICS:
        found = read_statistics(path)
        return Table(found.frame, found.questions, found.labels, found.measures)
    if ending in OTHERS:
        raise InputError(f"{shown(path)}: {ending} files are not read; save it as .xlsx or CSV.")
    _refuse_binary(path)
    return _read_csv(path, reading)


_BEGINNINGS = {
    b"PK\x03\x04": "an Excel file; its name must end with .xlsx",
    b"$FL2": "an SPSS file; its name must end with .sav",
    b"$FL3": "an SPSS file; its name must end with .zsav",
    b"<stata_dta>": "a Stata file; its name must end with .dta",
    b"PAR1": "a Parquet file; its name must end with .parquet",
}


def _refuse_binary(path: Path) -> None:
    """Refuse a table of another kind that is called like a CSV file."""
    with open_regular(path) as file:
        begin = file.read(16)
    for mark, kind in _BEGINNINGS.items():
        if begin.startswith(mark):
            raise InputError(f"{shown(path)} looks like {kind}.")


def _read_sheet(path: Path, reading: Reading) -> Table:
    sheet = read_excel(path, reading.sheet)
    for note in sheet.notes:
        warnings.warn(note, UserWarning, stacklevel=4)
    cells = sheet.cells[next((i for i, row in enumerate(sheet.cells) if row), 0) :]
    if not cells:
        raise InputError(f"sheet {sheet.name!r} of {shown(path)} is empty.")
    header = _noted(read_header(cells[: SAMPLED + 1], reading.header_rows))
    body = cells[header.n_rows :]
    width = max(map(len, [header.names, *body]), default=0)
    names = [*header.names, *[""] * (width - len(header.names))]
    columns = [[row[j] if j < len(row) else None for row in body] for j in range(width)]
    held = [
        (name or f"column {column_letters(j)}", values)
        for j, (name, values) in enumerate(zip(names, columns, strict=True))
        if name or any(value is not None for value in values)
    ]
    frame = pd.concat(
        [pd.Series(values, dtype=object, name=name) for name, values in held], axis=1
    ).infer_objects()
    return Table(frame, header.questions)


def _noted(header: Header) -> Header:
    if header.note:
        warnings.warn(header.note, UserWarning, stacklevel=5)
    return header


def _first_rows(path: Path) -> tuple[str, list[list[str]]]:
    """Return the separator of a CSV file, and its first rows."""
    regular_file(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        separator = csv_separator(file.readline())
        file.seek(0)
        return separator, list(islice(csv.reader(file, delimiter=separator), SAMPLED + 1))


def _read_csv(path: Path, reading: Reading) -> Table:
    with _explained(path):
        separator, rows = _first_rows(path)
        header = _noted(read_header([row for row in rows if row], reading.header_rows))
        repeated = [name for name in header.names if header.names.count(name) > 1]
        if repeated:
            raise InputError(f"{path} has two columns named {repeated[0]!r}.")
        reading = reading.for_columns(header.names)
        as_text = [*reading.text_levels, *reading.text_columns]
        comma = {"decimal": ",", "thousands": "."} if reading.decimal == "," else {}
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            frame = pd.read_csv(
                path,
                sep=separator,
                encoding="utf-8-sig",
                index_col=False,
                low_memory=False,
                keep_default_na=False,
                skiprows=range(1, header.n_rows),
                na_values={name: reading.missing_in(name) for name in header.names},
                dtype={name: str for name in as_text if name in header.names},
                **comma,  # type: ignore[call-overload]
            )
    return Table(frame, header.questions)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in a sentence why a file cannot be read as a table."""
    try:
        yield
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{path} is not a readable CSV table: rows have more cells than the header."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not a table in UTF-8 text: if it is a table, save it in that encoding."
        ) from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise InputError(f"{path} is not a readable CSV table: {reason}.") from error


def take_column(table: pd.DataFrame, name: str | None, parameter: str) -> "pd.Series[Any] | None":
    """Take a column out of the table, by the parameter that names it."""
    if name is None:
        return None
    if name not in table:
        raise InputError(
            f"`{parameter}`: there is no column {name!r}; {columns_of(table)}.", parameter=parameter
        )
    column: pd.Series[Any] = table.pop(name)
    return column


def check_ids(ids: "pd.Series[Any]") -> "pd.Series[Any]":
    """Refuse ids that are missing or repeated."""
    if ids.isna().any():
        raise InputError(f"column {ids.name!r} has no value in row {ids.isna().argmax() + 1}.")
    if ids.duplicated().any():
        raise InputError(f"column {ids.name!r} repeats the id {ids[ids.duplicated()].iloc[0]!r}.")
    return ids


def usable_weights(weights: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the rows' weights, scaled to a mean of one so that the criteria count rows."""
    name = weights.name
    numbers = pd.to_numeric(weights, errors="coerce")
    wrong = (numbers.isna() | (numbers < 0) | (numbers == float("inf"))).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        why = _why_not(weights.iloc[row], row)
        raise InputError(
            f"column {name!r} has no usable weight in row {row + 1}: {why}.",
            parameter="weights",
        )
    if numbers.sum() <= 0:
        raise InputError(f"column {name!r} gives no row a positive weight.")
    return numbers / numbers.mean()


def _why_not(value: Any, row: int) -> str:
    """Say what stands in the place of a weight."""
    if pd.isna(value):
        return "the cell is empty"
    if not isinstance(value, str):
        return f"it holds {value:g}"
    if "," in value:
        return f"it holds {value!r}; if that is a decimal comma, say so with `decimal`=,"
    second = "; if that is a second header row, say so with `header_rows`=2" if row == 0 else ""
    return f"it holds the text {value!r}{second}"


def keep_columns(
    table: pd.DataFrame, names: Sequence[str] | None, excluded: Sequence[str] | None
) -> pd.DataFrame:
    """Keep the named columns (without names, all) but the excluded ones; ranges are written out."""
    listed: dict[str, list[str]] = {}
    for parameter, given in (("columns", names), ("exclude", excluded)):
        listed[parameter] = expand_ranges(given or (), table.columns)
        for name in listed[parameter]:
            if name not in table:
                raise InputError(
                    f"`{parameter}`: there is no column {name!r}; {columns_of(table)}.",
                    parameter=parameter,
                )
    kept = dict.fromkeys(table.columns if names is None else listed["columns"])
    return table[[name for name in kept if name not in listed["exclude"]]]
