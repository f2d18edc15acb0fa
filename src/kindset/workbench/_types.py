"""What the columns of a survey hold: ordered answers, names, or measurements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from kindset._shown import counted
from kindset.exceptions import InputError
from kindset.workbench._codebook import Codebook, as_levels, as_spelt, columns_of, expand_ranges
from kindset.workbench._missing import as_float

Kind = Literal["ordinal", "nominal", "numeric"]
TYPES: tuple[Kind, ...] = ("ordinal", "nominal", "numeric")

USABLE: tuple[Kind, ...] = ("ordinal",)
"""Types that the survey methods can use."""

MANY = 20
"""Different whole numbers that a scale may have."""


@dataclass(frozen=True)
class ColumnType:
    """What a column holds, and how we know.

    Attributes
    ----------
    kind : {"ordinal", "nominal", "numeric"}
    reason : str
        Why, in words.
    declared : bool
        Whether the user said so.
    """

    kind: Kind
    reason: str
    declared: bool = False


def check_types(given: Mapping[str, str] | None, table: pd.DataFrame) -> dict[str, Kind]:
    """Write ranges of columns out; refuse types and columns that there are not."""
    found: dict[str, Kind] = {}
    for names, kind in (given or {}).items():
        if kind not in TYPES:
            raise InputError(
                f"`types` {names}: must be one of {', '.join(TYPES)}, not {kind!r}.",
                parameter="types",
            )
        for name in expand_ranges([str(names)], table.columns):
            if name not in table:
                raise InputError(
                    f"`types`: there is no column {name!r}; {columns_of(table)}.",
                    parameter="types",
                )
            found[name] = kind
    return found


def column_types(
    table: pd.DataFrame,
    book: Codebook,
    declared: Mapping[str, Kind],
    measures: Mapping[str, str] | None = None,
) -> dict[str, ColumnType]:
    """Return the type of each column: as declared, else as it looks.

    Parameters
    ----------
    table : DataFrame
    book : Codebook
    declared : dict of str to str
        What the user says.
    measures : dict of str to str, optional
        What a statistics program calls the columns.

    Returns
    -------
    types : dict of str to ColumnType
    """
    # Programs call everything nominal until somebody says otherwise.
    careful = "ordinal" in (measures or {}).values()
    found = {}
    for name in map(str, table.columns):
        measure = (measures or {}).get(name, "") if careful else ""
        if name in declared:
            found[name] = ColumnType(declared[name], "declared", declared=True)
        elif book.levels_for(name, table[name]) is not None:
            found[name] = ColumnType("ordinal", "its levels are given")
        elif name in book.labels and measure == "nominal":
            found[name] = ColumnType("nominal", "the file calls it nominal, and others ordinal")
        elif name in book.labels:
            found[name] = ColumnType("ordinal", "value labels, in the order of their codes")
        else:
            found[name] = _guess(table[name])
    return found


def _guess(column: "pd.Series[Any]") -> ColumnType:
    if isinstance(column.dtype, pd.CategoricalDtype):
        if column.cat.ordered:
            return ColumnType("ordinal", "an ordered categorical")
        return ColumnType("nominal", "a categorical without an order")
    seen = pd.unique(column.dropna())
    if pd.api.types.is_bool_dtype(column) or not len(seen):
        return ColumnType("ordinal", "yes or no" if len(seen) else "no answers")
    if pd.api.types.is_numeric_dtype(column):
        if (np.asarray(seen, dtype=float) % 1 != 0).any():
            return ColumnType("numeric", "numbers with fractions")
        if len(seen) > MANY:
            return ColumnType("numeric", f"{len(seen)} different whole numbers")
        return ColumnType("ordinal", counted(len(seen), "different whole number"))
    words = [value for value in seen if isinstance(value, str) and as_float(value) is None]
    if not words or 2 * len(words) <= len(seen):  # numbers, with a word or a date among them
        return ColumnType("ordinal", "mostly whole numbers")
    return ColumnType("nominal", f"{counted(len(seen), 'text')} without a given order")


def typed_table(
    table: pd.DataFrame, book: Codebook, types: Mapping[str, ColumnType]
) -> pd.DataFrame:
    """Return a table whose columns say by themselves what they are.

    Ordered answers are ordered categoricals, names are categoricals without an order, measurements
    are floats. Whole numbers stay as they are if all columns are ordered answers.
    """
    kinds = {name: found.kind for name, found in types.items()}
    mixed = set(kinds.values()) != {"ordinal"}
    table = book.in_words(table, but=(name for name in kinds if kinds[name] == "numeric"))
    for name, kind in kinds.items():
        column = table[name]
        if kind == "numeric":
            if pd.api.types.is_numeric_dtype(column):
                table[name] = column.astype(np.float64)
            continue
        levels = book.levels_for(name, column)
        if levels is not None:
            column = as_levels(name, as_spelt(column, levels), levels)
        if kind == "nominal":
            column = column.astype("category").cat.as_unordered()
        elif mixed and pd.api.types.is_numeric_dtype(column):
            seen = sorted(pd.unique(column.dropna()))
            column = as_levels(name, column, [_whole(value) for value in seen])
        table[name] = column
    return table


def _whole(value: Any) -> Any:
    number = float(value)
    return int(number) if number == int(number) else number


def usable_types(types: Mapping[str, ColumnType], book: Codebook) -> dict[str, ColumnType]:
    """Return the types that the survey methods will use; refuse what they cannot use yet.

    This is the one place that knows it. Whole numbers that look like measurements are then taken
    for ordered answers; texts without an order are for `check_answers` to explain.
    """
    found = {}
    for name, told in types.items():
        if told.kind in USABLE:
            found[name] = told
        elif told.declared or (told.kind == "nominal" and name in book.labels):
            raise InputError(
                f"column {name!r} is {told.kind} ({told.reason}), but the methods for surveys use "
                "ordered answers only: leave it out with `exclude`, or say with `types` that it "
                "is ordinal.",
                parameter="types",
            )
        else:
            found[name] = ColumnType("ordinal", told.reason)
    return found


def describe_types(types: Mapping[str, ColumnType], most: int = 6) -> list[str]:
    """Return a small table of what each column was taken for and why, as lines of text."""
    groups: dict[ColumnType, list[str]] = {}
    for name, told in types.items():
        groups.setdefault(told, []).append(name)
    rows = [("Columns", "type", "why")]
    rows += [(name_few(names, most), told.kind, told.reason) for told, names in groups.items()]
    width = max(len(row[0]) for row in rows)
    return [f"{names:<{width}}  {kind:<7}  {why}" for names, kind, why in rows]


def name_few(names: Sequence[str], most: int) -> str:
    """Name the first of many, and how many more there are."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return ", ".join(shown)


def read_types(pairs: Iterable[str]) -> dict[str, Kind]:
    """Read texts such as ``region=nominal``."""
    found: dict[str, Kind] = {}
    for pair in pairs:
        names, equals, kind = pair.rpartition("=")
        if not equals or not names.strip():
            raise InputError(
                f"`types` takes column=type, such as region=nominal, not {pair!r}.",
                parameter="types",
            )
        found[names.strip()] = cast(Kind, kind.strip())
    return found
