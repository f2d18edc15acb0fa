"""Reading survey tables, and what a user says about their columns."""

import csv
import os
import re
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kindset._files import csv_separator
from kindset._reading import read_parquet, read_toml, regular_file
from kindset._shown import shown
from kindset.exceptions import InputError


@dataclass
class Codebook:
    """The order of text answers, and the words of the questions.

    As a TOML file::

        satisfaction = ["poor", "fair", "good"]     # one column

        [[scale]]                                   # several columns at once
        columns = ["q1", "q2"]
        levels = ["never", "sometimes", "always"]

        [questions]                                 # optional: words for the summary
        q1 = "How often do you travel by train?"
    """

    levels: dict[str, list[Any]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | None) -> "Codebook":
        """Read the TOML file; no file, nothing said."""
        book = cls()
        if path is None:
            return book
        document = read_toml(path)
        questions = document.pop("questions", {})
        if not isinstance(questions, dict):
            raise InputError(f"{path}: [questions] must be a table of texts.")
        book.questions = {name: str(text) for name, text in questions.items()}
        scales = document.pop("scale", [])
        for scale in scales if isinstance(scales, list) else [scales]:
            if not isinstance(scale, dict) or set(scale) != {"columns", "levels"}:
                raise InputError(f"{path}: each [[scale]] needs just `columns` and `levels`.")
            if not isinstance(scale["columns"], list):
                raise InputError(f"{path}: `columns` of a [[scale]] must be a list of names.")
            document.update(dict.fromkeys(map(str, scale["columns"]), scale["levels"]))
        for name, levels in document.items():
            if not isinstance(levels, list) or len(levels) < 1:
                raise InputError(f"{path}: {name} must be a list of answers in order.")
            book.levels[name] = levels
        return book

    @classmethod
    def of(
        cls,
        levels: "str | os.PathLike[str] | Mapping[str, Sequence[Any]] | Codebook | None",
        questions: Mapping[str, str] | None = None,
    ) -> "Codebook":
        """Make a codebook from a TOML file or from lists, with further words of questions."""
        if isinstance(levels, Codebook):
            return levels
        if levels is None or isinstance(levels, (str, os.PathLike)):
            book = cls.read(None if levels is None else Path(levels))
        else:
            book = cls({str(name): list(answers) for name, answers in levels.items()})
        return cls(book.levels, {**book.questions, **(questions or {})})

    def check(self, table: pd.DataFrame) -> None:
        """Refuse a name that is not in the table: most likely it is misspelt."""
        for name in (*self.levels, *self.questions):
            if name not in table:
                raise InputError(
                    f"`levels` names the column {name!r}; {columns_of(table)}.", parameter="levels"
                )

    def apply(self, table: pd.DataFrame) -> pd.DataFrame:
        """Make ordered categoricals of the columns whose levels are known."""
        table = table.copy()
        for name, levels in self.levels.items():
            if name not in table:
                continue
            if not pd.Index(levels).is_unique:
                raise InputError(f"the levels given for column {name!r} repeat an answer.")
            check_levels(name, table[name], levels, "add it to them")
            table[name] = pd.Categorical(table[name], categories=levels, ordered=True)
        return table

    @property
    def text_levels(self) -> dict[str, list[str]]:
        """The columns whose levels are words, which must not be read as numbers."""
        return {
            name: levels
            for name, levels in self.levels.items()
            if all(isinstance(level, str) for level in levels)
        }


MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>")
"""What stands for a missing answer in a CSV file, unless it is one of a column's levels."""


@dataclass
class Reading:
    """How the cells of a CSV file are to be read.

    Attributes
    ----------
    text_levels : dict
        Columns that hold these words, even where they look like numbers or like a gap.
    text_columns : list of str
        Other columns to leave as text, such as ids with leading zeros.
    missing : list of str
        Further marks of a missing answer, such as -9.
    """

    text_levels: dict[str, list[str]] = field(default_factory=dict)
    text_columns: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def missing_in(self, column: str) -> list[str]:
        """Return the marks of a missing answer in one column."""
        levels = self.text_levels.get(column, [])
        return [mark for mark in (*MISSING, *self.missing) if mark not in levels]


def read_table(path: Path, reading: Reading | None = None) -> pd.DataFrame:
    """Read a CSV or Parquet file."""
    if not path.exists():
        raise InputError(f"there is no file {shown(path)}.")
    if path.is_dir():
        raise InputError(f"{shown(path)} is a folder; give a CSV or Parquet file.")
    if regular_file(path).st_size == 0:
        raise InputError(f"{shown(path)} is empty.")
    reading = reading or Reading()
    if path.suffix.lower() in (".parquet", ".pq"):
        table = _without_marks(read_parquet(path), reading)
    else:
        table = _read_csv(path, reading)
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise InputError(f"{path} holds no rows.")
    names = pd.Index([str(name) for name in table.columns])
    if not names.is_unique:
        raise InputError(f"{path} has two columns named {names[names.duplicated()][0]!r}.")
    return table.set_axis(names, axis=1).reset_index(drop=True)


def column_names(path: Path) -> list[str]:
    """Return the names of a table's columns, of a CSV file from its first line alone."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return [str(name) for name in read_parquet(path).columns]
    with _explained(path):
        return _read_header(path)[1]


def _read_header(path: Path) -> tuple[str, list[str]]:
    regular_file(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        separator = csv_separator(file.readline())
        file.seek(0)
        return separator, next(csv.reader(file, delimiter=separator), [])


def _read_csv(path: Path, reading: Reading) -> pd.DataFrame:
    with _explained(path):
        separator, header = _read_header(path)
        repeated = [name for name in header if header.count(name) > 1]
        if repeated:
            raise InputError(f"{path} has two columns named {repeated[0]!r}.")
        as_text = [*reading.text_levels, *reading.text_columns]
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            return pd.read_csv(
                path,
                sep=separator,
                encoding="utf-8-sig",
                index_col=False,
                low_memory=False,
                keep_default_na=False,
                na_values={name: reading.missing_in(name) for name in header},
                dtype={name: str for name in as_text if name in header},
            )


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


def _without_marks(table: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """Turn further marks of missing answers, in words or numbers, into gaps."""
    if not reading.missing:
        return table
    table = table.copy()
    for name in table.columns:
        levels = reading.text_levels.get(str(name), [])
        marks = [mark for mark in reading.missing if mark not in levels]
        gaps = [*marks, *map(float, filter(_is_number, marks))]
        if isinstance(table[name].dtype, pd.CategoricalDtype):
            scale = table[name].cat.categories
            table[name] = table[name].cat.remove_categories(scale[scale.isin(gaps)])
        elif table[name].isin(gaps).any():
            table[name] = table[name].mask(table[name].isin(gaps))
    return table


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d*)?", text) is not None


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
    weights = pd.to_numeric(weights, errors="coerce")
    wrong = (weights.isna() | (weights < 0) | (weights == float("inf"))).to_numpy()
    if wrong.any():
        raise InputError(f"column {name!r} has no usable weight in row {int(wrong.argmax()) + 1}.")
    if weights.sum() <= 0:
        raise InputError(f"column {name!r} gives no row a positive weight.")
    return weights / weights.mean()


def keep_columns(
    table: pd.DataFrame, names: Sequence[str] | None, excluded: Sequence[str] | None
) -> pd.DataFrame:
    """Keep the named columns (without names, all) but the excluded ones."""
    for parameter, listed in (("columns", names), ("exclude", excluded)):
        for name in listed or ():
            if name not in table:
                raise InputError(
                    f"`{parameter}`: there is no column {name!r}; {columns_of(table)}.",
                    parameter=parameter,
                )
    kept = dict.fromkeys(table.columns if names is None else names)
    return table[[name for name in kept if name not in (excluded or ())]]


def check_levels(name: str, column: "pd.Series[Any]", levels: Sequence[Any], remedy: str) -> None:
    """Refuse an answer that is not one of the levels; say what it may be, or the remedy."""
    unknown = column[column.notna() & ~column.isin(levels)]
    if unknown.empty:
        return
    value = _odd_first(unknown).iloc[:1]
    shown = f"{value.iloc[0]:g}" if isinstance(value.iloc[0], float) else str(value.iloc[0])
    known = ", ".join(map(str, levels[:8])) + (", ..." if len(levels) > 8 else "")
    mark = "" if "," in shown else f"={shlex.quote(shown)}"
    raise InputError(
        f"column {name!r} holds {shown!r} in row {value.index[0] + 1}, which is not among its "
        f"levels ({known}){_nearest(shown, levels)}{_further(unknown, value.iloc[0])}: if it "
        f"stands for a missing answer, say so with `missing`{mark}; else correct it, or {remedy}."
    )


def _nearest(answer: str, levels: Sequence[Any]) -> str:
    """Name the level that an answer may be a misspelling of."""
    plain = {str(level).strip().casefold(): str(level) for level in levels}
    close = get_close_matches(answer.strip().casefold(), plain, n=1, cutoff=0.7)
    return f"; {plain[close[0]]!r} may be meant" if close else ""


def _further(unknown: "pd.Series[Any]", named: Any) -> str:
    """Name other answers of a column that are not among its levels either."""
    others = [str(value) for value in pd.unique(unknown) if value != named]
    shown = ", ".join(map(repr, others[:5])) + (", ..." if len(others) > 5 else "")
    return f"; nor are {shown}" if len(others) > 1 else f"; nor is {shown}" if others else ""


def _odd_first(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Among numbers, which one word turns into text, return the words; else all values."""
    words = values[pd.to_numeric(values.astype(object), errors="coerce").isna()]
    return words if len(words) else values


_LARGEST = 2**53
"""The largest answer; a float cannot tell larger whole numbers from each other."""


def check_answers(table: pd.DataFrame) -> None:
    """Explain a column that holds no ordered answers."""
    if table.shape[1] == 0:
        raise InputError("there is no column left to cluster by.")
    for name in table.columns:
        column = table[name]
        if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
            continue
        _refuse(name, column, column.map(lambda value: isinstance(value, str)), "text")
        if column.dtype == object:  # whole numbers that no type of numpy holds
            huge = column.map(lambda value: isinstance(value, int) and abs(value) > _LARGEST)
            _refuse(name, column, huge, "a large number")
        numbers = pd.to_numeric(column, errors="coerce")
        _refuse(name, column, (numbers.abs() > _LARGEST).fillna(False), "a large number")
        _refuse(name, column, (numbers % 1 > 0).fillna(False), "a fraction")
        if (numbers < 0).any():
            raise InputError(
                f"column {name!r} holds {numbers.min():g}: if that stands for a missing answer, "
                f"say so with `missing`={numbers.min():g}."
            )
    _note_doubtful_scales(table)


def _refuse(name: str, column: "pd.Series[Any]", wrong: "pd.Series[Any]", what: str) -> None:
    if not wrong.any():
        return
    value = (_odd_first(column[wrong]) if what == "text" else column[wrong]).iloc[:1]
    shown = repr(value.iloc[0]) if what == "text" else f"{_clipped(value.iloc[0]):g}"
    raise InputError(
        f"column {name!r} holds {what}, {shown} in row {value.index[0] + 1}: give the "
        "order of its answers with `levels`, leave the column out with `exclude`, or say with "
        "`missing` that it stands for a missing answer."
    )


def _clipped(value: Any) -> float:
    """Return a number as a float, also a whole number that is too large to be one."""
    return float(min(max(value, -1e300), 1e300))


def _note_doubtful_scales(table: pd.DataFrame) -> None:
    """Say which columns look like ids or measurements, and which scales have gaps."""
    numeric = [name for name in table.columns if pd.api.types.is_numeric_dtype(table[name])]
    seen = {name: np.unique(table[name].dropna().astype(int)) for name in numeric}
    many = [name for name in numeric if len(seen[name]) > 20]
    if many:
        warnings.warn(
            f"{_list(many)}: more than 20 different answers. An id, an age? Leave it out with "
            "`exclude`, name it with `ids`, or group its values first.",
            stacklevel=2,
        )
    gaps = [
        name
        for name in numeric
        if name not in many and len(seen[name]) and np.ptp(seen[name]) >= len(seen[name])
    ]
    if gaps:
        warnings.warn(
            f"{_list(gaps)}: nobody gave some answers between the lowest and the highest, so the "
            "scale is taken to have none there. Declare the whole scale with `levels`, or the "
            "codes of missing answers with `missing`.",
            stacklevel=2,
        )


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(map(str, names[:8]))
    return f"{'Column' if len(names) == 1 else 'Columns'} {shown}" + (
        f" and {len(names) - 8} more" if len(names) > 8 else ""
    )


def columns_of(table: pd.DataFrame) -> str:
    """Name the columns of a table, the first of many."""
    names = [str(name) for name in table.columns]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"there are {', '.join(names[:12])}{more}"
