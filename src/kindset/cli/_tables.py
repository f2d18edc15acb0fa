"""Reading survey tables, and what a user says about their columns."""

import csv
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

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
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is not a valid TOML file: {error}.") from error
        questions = document.pop("questions", {})
        if not isinstance(questions, dict):
            raise InputError(f"{path}: [questions] must be a table of texts.")
        book.questions = {name: str(text) for name, text in questions.items()}
        scales = document.pop("scale", [])
        for scale in scales if isinstance(scales, list) else [scales]:
            if not isinstance(scale, dict) or set(scale) != {"columns", "levels"}:
                raise InputError(f"{path}: each [[scale]] needs just `columns` and `levels`.")
            document.update(dict.fromkeys(scale["columns"], scale["levels"]))
        for name, levels in document.items():
            if not isinstance(levels, list) or len(levels) < 1:
                raise InputError(f"{path}: {name} must be a list of answers in order.")
            book.levels[name] = levels
        return book

    def apply(self, table: pd.DataFrame) -> pd.DataFrame:
        """Make ordered categoricals of the columns whose levels are known."""
        table = table.copy()
        for name, levels in self.levels.items():
            if name not in table:
                continue
            known = pd.Index(levels)
            if not known.is_unique:
                raise InputError(f"the levels given for column {name!r} repeat an answer.")
            column = table[name]
            unknown = column[column.notna() & ~column.isin(levels)]
            if len(unknown):
                raise InputError(
                    f"column {name!r} holds {unknown.iloc[0]!r} in row {unknown.index[0] + 1}, "
                    "which is not among its levels."
                )
            table[name] = pd.Categorical(column, categories=levels, ordered=True)
        return table


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV or Parquet file."""
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a CSV or Parquet file.")
    table = _read_parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _read_csv(path)
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise InputError(f"{path} holds no rows.")
    names = pd.Index([str(name) for name in table.columns])
    if not names.is_unique:
        raise InputError(f"{path} has two columns named {names[names.duplicated()][0]!r}.")
    table.columns = names
    return table


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = _separator(file.read(65_536))
            file.seek(0)
            header = next(csv.reader(file, delimiter=separator), [])
        repeated = [name for name in header if header.count(name) > 1]
        if repeated:
            raise InputError(f"{path} has two columns named {repeated[0]!r}.")
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            return pd.read_csv(
                path, sep=separator, encoding="utf-8-sig", index_col=False, low_memory=False
            )
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{path} is not a readable CSV table: rows have more cells than the header."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason}.") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise InputError(f"{path} is not a readable CSV table: {reason}.") from error


def _separator(head: str) -> str:
    try:
        return csv.Sniffer().sniff(head, delimiters=",;\t|").delimiter
    except csv.Error:
        return ","


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise InputError(
            "reading Parquet needs pyarrow: pip install 'kindset[parquet]'."
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable Parquet file: {error}.") from error


def take_column(table: pd.DataFrame, name: str | None, option: str) -> "pd.Series[Any] | None":
    """Take a column out of the table, by the option that names it."""
    if name is None:
        return None
    if name not in table:
        raise InputError(f"{option}: there is no column {name!r}; {_columns_of(table)}.")
    column: pd.Series[Any] = table.pop(name)
    return column


def take_ids(table: pd.DataFrame, name: str | None) -> "pd.Series[Any]":
    """Take out the column that identifies the rows; without one, count them from 1."""
    ids = take_column(table, name, "--id-column")
    if ids is None:
        return pd.Series(range(1, len(table) + 1), index=table.index, name="row")
    if ids.isna().any():
        raise InputError(f"column {name!r} has no value in row {ids.isna().argmax() + 1}.")
    if ids.duplicated().any():
        raise InputError(f"column {name!r} repeats the id {ids[ids.duplicated()].iloc[0]!r}.")
    return ids


def keep_columns(table: pd.DataFrame, names: Sequence[str] | None) -> pd.DataFrame:
    """Keep the named columns; without names, all."""
    for name in names or ():
        if name not in table:
            raise InputError(f"--columns: there is no column {name!r}; {_columns_of(table)}.")
    return table if names is None else table[list(names)]


def check_answers(table: pd.DataFrame) -> None:
    """Explain, in the command line's terms, a column whose answers have no order."""
    for name in table.columns:
        column = table[name]
        ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
        if not ordered and not pd.api.types.is_numeric_dtype(column) and column.notna().any():
            raise InputError(
                f"column {name!r} holds text such as {column.dropna().iloc[0]!r}: give the order "
                "of its answers with --levels, or leave it out with --columns."
            )


def _columns_of(table: pd.DataFrame) -> str:
    names = [str(name) for name in table.columns]
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"the table has {shown}"
