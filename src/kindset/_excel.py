"""Writing Excel files that show what they hold and run nothing."""

import io
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kindset._files import FORMULA, write_bytes, write_csv
from kindset._shown import shown
from kindset._table_files import column_letters, load_package
from kindset.exceptions import InputError

_MOST_ROWS = 2**20 - 1  # below the header
_WIDEST = 60
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TEXT_FILES = ("", ".csv", ".txt")


def check_table_file(path: Path) -> None:
    """Refuse, before any work, a table that `write_table` would not write."""
    if path.suffix.lower() == ".xlsx":
        load_package("openpyxl", "writing Excel files")
    elif path.suffix.lower() not in _TEXT_FILES:
        raise InputError(
            f"tables are written as .csv or .xlsx, not as {path.suffix} ({shown(path.name)}).",
            parameter="out",
        )


def write_table(path: Path, frame: pd.DataFrame, *, name: str = "Table") -> None:
    """Write a table as an Excel file if its name ends so, else as a CSV file.

    Parameters
    ----------
    path : Path
        The file: ``.csv`` or ``.xlsx``.
    frame : DataFrame
        The table.
    name : str, default="Table"
        Of the sheet.
    """
    check_table_file(path)
    if path.suffix.lower() == ".xlsx":
        write_excel(path, {name: frame})
    else:
        write_csv(path, frame, float_format="%.6f")


def write_excel(
    path: Path, sheets: Mapping[str, pd.DataFrame], formats: Mapping[str, str] | None = None
) -> None:
    """Write tables as the sheets of one Excel file, in one step.

    Texts stay texts, also those that a spreadsheet would take for a formula.

    Parameters
    ----------
    path : Path
        The file.
    sheets : dict of str to DataFrame
        The tables by the name of their sheet.
    formats : dict of str to str, optional
        How a sheet shows fractions, such as ``"0%"``.

    Raises
    ------
    InputError
        If a table is longer than a sheet, or openpyxl is not installed.
    """
    openpyxl = load_package("openpyxl", "writing Excel files")
    book = openpyxl.Workbook(write_only=True)
    book.properties.creator = "Kindset"
    for name, frame in sheets.items():
        if len(frame) > _MOST_ROWS:
            raise InputError(
                f"{len(frame):,} rows do not fit on a sheet of {shown(path.name)}; write a .csv "
                "file.",
                parameter="out",
            )
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"
        for j, width in enumerate(_widths(frame)):
            sheet.column_dimensions[column_letters(j)].width = width
        for row in _cells(sheet, frame, (formats or {}).get(name, "0.000")):
            sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    write_bytes(path, content.getvalue())


def _widths(frame: pd.DataFrame) -> Iterator[int]:
    for j, name in enumerate(frame.columns):
        texts = [str(name), *map(str, frame.iloc[:200, j])]
        longest = max(map(len, texts)) if frame.dtypes.iloc[j].kind != "f" else len(str(name))
        yield min(max(longest, 6) + 2, _WIDEST)


def _cells(sheet: Any, frame: pd.DataFrame, fraction: str) -> Iterator[list[Any]]:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    header = [_cell(sheet, str(name), fraction, WriteOnlyCell) for name in frame.columns]
    for cell in header:
        cell.font = Font(bold=True)
    yield header
    columns = [frame.iloc[:, j].astype(object) for j in range(frame.shape[1])]
    for row in zip(*columns, strict=True):
        yield [_cell(sheet, value, fraction, WriteOnlyCell) for value in row]


def _cell(sheet: Any, value: Any, fraction: str, make: Any) -> Any:
    """Return a cell; a text never becomes a formula."""
    if isinstance(value, str):
        text = _FORBIDDEN.sub(lambda found: shown(found[0]), value)
        cell = make(sheet, text)
        cell.data_type = "s"
        cell.quotePrefix = text.startswith(FORMULA)
        return cell
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, float):
        cell = make(sheet, value)
        cell.number_format = fraction
        return cell
    return value if isinstance(value, (bool, int)) or hasattr(value, "isoformat") else str(value)
