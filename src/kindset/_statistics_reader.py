"""A process that reads one SPSS or Stata file and writes what it found as an npz file.

The parser is written in C, and a damaged file can end its process. It runs in a process of its own,
so that such an end is one sentence for the user. Nothing here needs pandas, so that it starts
quickly.

It is called as ``python _statistics_reader.py PROGRAM MOST OUT`` with the file as its standard
input. `MOST` is the number of bytes that the table may take. `OUT` is the npz file: the
columns as ``column 0``, ``column 1``, ..., and under ``about`` a JSON document.
"""

import datetime as dt
import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

VALUE = 8
"""Bytes that a value takes in memory, at least."""


def read(file: Any, program: str, most: float) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return what a file says about its columns, and the columns.

    If the table would take more bytes than `most`, there are no columns, and ``about["bytes"]`` is
    what it would take.
    """
    import pyreadstat

    reader: Any = pyreadstat.read_dta if program == "Stata" else pyreadstat.read_sav
    ranges = {} if program == "Stata" else {"user_missing": True}
    _, told = reader(file, metadataonly=True, output_format="dict", **ranges)
    width = sum(max(int(size), VALUE) for size in told.variable_storage_width.values()) or VALUE
    limit = int(most // width)
    about = {
        "names": [str(name) for name in told.column_names],
        "questions": told.column_names_to_labels,
        "measures": told.variable_measure,
        "labels": {name: list(words.items()) for name, words in told.variable_value_labels.items()},
        "missing": getattr(told, "missing_ranges", None) or {},
        "bytes": (told.number_rows or 0) * width,
    }
    if about["bytes"] > most:
        return about, []
    columns = _columns(reader, file, limit + 1)
    rows = max(map(len, columns), default=0)
    about["bytes"] = rows * width
    return about, columns if rows <= limit else []


def _columns(reader: Any, file: Any, limit: int) -> list[NDArray[Any]]:
    file.seek(0)
    try:
        table, _ = reader(file, output_format="dict", row_limit=limit)
    except (OverflowError, ValueError):  # a date beyond the calendar
        file.seek(0)
        table, _ = reader(
            file, output_format="dict", row_limit=limit, disable_datetime_conversion=True
        )
    return [_plain(np.asarray(column)) for column in table.values()]


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column as numbers, dates or texts; an empty text is a missing one."""
    if column.dtype.kind in "biufM":
        return column
    values = [None if value is None or value != value else value for value in column.tolist()]
    held = [value for value in values if value is not None]
    if held and all(isinstance(value, (int, float)) for value in held):
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    if held and all(isinstance(value, dt.date) for value in held):
        return np.array(values, dtype="datetime64[us]")
    return np.array(["" if value is None else str(value) for value in values], dtype=np.str_)


def main() -> None:
    """Read the file that is the standard input."""
    program, most, out = sys.argv[1:]
    about, columns = read(sys.stdin.buffer, program, float(most))
    text = json.dumps(about, default=str).encode()
    arrays = {f"column {number}": column for number, column in enumerate(columns)}
    np.savez(out, allow_pickle=False, about=np.frombuffer(text, dtype=np.uint8), **arrays)


if __name__ == "__main__":
    main()
