"""What a table of answers may not hold, and what a user should know about it."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from kindset._shown import counted
from kindset.exceptions import InputError
from kindset.workbench._cleaning import name_columns
from kindset.workbench._codebook import Codebook, as_spelt
from kindset.workbench._missing import as_float, codes_outside, looks_missing
from kindset.workbench._types import MANY, ColumnType

_MANY_TEXTS, _FEW_ROWS = 50, 10
"""Texts from which a column looks like one of ids; rows from which that can be told."""
_LARGEST = 2**53
"""The largest answer; a float cannot tell larger whole numbers from each other."""


def check_levels(name: str, column: "pd.Series[Any]", levels: Sequence[Any], remedy: str) -> None:
    """Refuse an answer that is not one of the levels; say what it may be, or the remedy."""
    if pd.Index(pd.unique(column.dropna())).isin(levels).all():
        return
    unknown = column[column.notna() & ~column.isin(levels)]
    value = _odd_first(unknown).iloc[:1]
    shown = f"{value.iloc[0]:g}" if isinstance(value.iloc[0], float) else str(value.iloc[0])
    known = ", ".join(map(str, levels[:8])) + (", ..." if len(levels) > 8 else "")
    raise InputError(
        f"column {name!r} holds {shown!r} in row {value.index[0] + 1}, which is not among its "
        f"levels ({known}){_nearest(shown, levels)}{_further(unknown, value.iloc[0])}: "
        f"{_remedies(shown, f'correct it, or {remedy}')}."
    )


def _remedies(answer: str, remedy: str) -> str:
    """Say what can be done; that it stands for a missing answer first if it looks so."""
    mark = "" if "," in answer else f"={_quoted(answer)}"
    missing = f"if it stands for a missing answer, say so with `missing`{mark}"
    if looks_missing(answer):
        return f"{missing}; else {remedy}"
    return f"{remedy}; {missing}"


def _quoted(answer: str) -> str:
    """Write an answer as a shell takes it."""
    if "'" in answer and not set(answer) & set('"$`\\!'):
        return f'"{answer}"'
    return shlex.quote(answer)


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
    """Return the words among numbers, which one word turns into text; true missing words first."""
    words = values[pd.to_numeric(values.astype(object), errors="coerce").isna()]
    words = words if len(words) else values
    gaps = words[words.map(looks_missing).astype(bool)]
    return gaps if len(gaps) else words


def check_answers(table: pd.DataFrame, types: Mapping[str, ColumnType], book: Codebook) -> None:
    """Explain a column that does not hold what its type says.

    Parameters
    ----------
    table : DataFrame
        As it was read: codes where there are value labels.
    types : dict of str to ColumnType
    book : Codebook
    """
    if table.shape[1] == 0:
        raise InputError("there is no column left to cluster by.")
    for name, told in types.items():
        column = table[name]
        _refuse_dates(name, column)
        levels = book.levels_for(name, column)
        if levels is not None:
            check_levels(name, as_spelt(column, levels), levels, "add it to them")
        elif name in book.labels and told.kind != "numeric":
            if told.kind == "ordinal":
                _refuse_missing_words(name, column, book.labels[name])
        elif isinstance(column.dtype, pd.CategoricalDtype):
            if told.kind == "numeric" or (told.kind == "ordinal" and not column.cat.ordered):
                _refuse(name, column, column.notna(), "text")
        else:
            _check_plain(name, column, told)


def _check_plain(name: str, column: "pd.Series[Any]", told: ColumnType) -> None:
    """Check a column of numbers or texts without levels or labels."""
    if not pd.api.types.is_numeric_dtype(column):
        texts = column.map(lambda value: isinstance(value, str)).astype(bool)
        _refuse_ids(name, column, texts)
        if told.kind != "nominal":
            _refuse(name, column, texts, "text")
    if told.kind != "ordinal":
        return
    if column.dtype == object:  # whole numbers that no type of numpy holds
        huge = column.map(lambda value: isinstance(value, int) and abs(value) > _LARGEST)
        _refuse(name, column, huge, "a large number")
    numbers = pd.to_numeric(column, errors="coerce")
    _refuse(name, column, (numbers.abs() > _LARGEST).fillna(False), "a large number")
    _refuse(name, column, (numbers % 1 > 0).fillna(False), "a fraction")
    if (numbers < 0).any():
        raise InputError(
            f"column {name!r} holds {numbers.min():g}: if that stands for a missing answer, "
            f"say so with `missing`={numbers.min():g}.",
            parameter="missing",
        )
    outside = codes_outside(np.unique(numbers.dropna()).tolist())
    if outside:
        codes = ",".join(f"{code:g}" for code in outside)
        row = int((numbers == outside[0]).to_numpy().argmax()) + 1
        raise InputError(
            f"column {name!r} holds {codes.replace(',', ', ')}, far outside its scale, first in "
            f"row {row}: if that stands for a missing answer, say so with `missing`={codes}; else "
            "declare the whole scale with `levels`.",
            parameter="missing",
        )


def _refuse_missing_words(name: str, column: "pd.Series[Any]", words: Mapping[Any, str]) -> None:
    """Refuse a labelled code that stands for no answer but is not declared missing."""
    for code in pd.unique(column.dropna()):
        word = words.get(code)
        if word is not None and as_float(word) is None and looks_missing(word):
            number = code if isinstance(code, str) else f"{code:g}"
            raise InputError(
                f"column {name!r} has the answer {word!r} (code {number}), which the file does not "
                f"declare missing: say so with `missing`={_quoted(word)}, or give the order of "
                "all answers with `levels`.",
                parameter="missing",
            )


def _refuse_dates(name: str, column: "pd.Series[Any]") -> None:
    dates = column if column.dtype.kind == "M" else None
    if dates is None and pd.api.types.is_object_dtype(column):
        held = column[column.map(lambda value: hasattr(value, "isoformat")).astype(bool)]
        dates = held if len(held) else None
    if dates is None or not dates.notna().any():
        return
    first = dates.dropna().iloc[:1]
    raise InputError(
        f"column {name!r} holds dates, {first.iloc[0]} in row {first.index[0] + 1}: leave it out "
        "with `exclude`, or write numbers or words in its place.",
        parameter="exclude",
    )


def _refuse_ids(name: str, column: "pd.Series[Any]", texts: "pd.Series[bool]") -> None:
    """Refuse texts that are nearly all different: ids, names or free text."""
    held = column[texts]
    n, n_different = len(held), held.nunique()
    alike = n_different < 0.9 * n and (n_different <= _MANY_TEXTS or n_different < 0.5 * n)
    if n < _FEW_ROWS or alike:
        return
    raise InputError(
        f"column {name!r} holds text, {held.iloc[0]!r} in row {held.index[0] + 1}, and nearly "
        "every row another one: if it identifies the rows, name it with `ids`; else leave it out "
        "with `exclude`.",
        parameter="ids",
    )


def _clipped(value: Any) -> float:
    """Return a number as a float, also a whole number that is too large to be one."""
    return float(min(max(value, -1e300), 1e300))


def _refuse(name: str, column: "pd.Series[Any]", wrong: "pd.Series[Any]", what: str) -> None:
    if not wrong.any():
        return
    value = (_odd_first(column[wrong]) if what == "text" else column[wrong]).iloc[:1]
    shown = repr(value.iloc[0]) if what == "text" else f"{_clipped(value.iloc[0]):g}"
    remedies = "give the order of its answers with `levels`, or leave the column out with `exclude`"
    answer = str(value.iloc[0]) if what == "text" else shown
    # Where no answer is a number, a text hardly stands for a missing one.
    numbers = any(as_float(seen) is not None for seen in pd.unique(column.dropna()))
    if looks_missing(answer) or numbers:
        remedies = _remedies(answer, remedies)
    raise InputError(
        f"column {name!r} holds {what}, {shown} in row {value.index[0] + 1}: {remedies}."
    )


def note_doubtful(table: pd.DataFrame, types: Mapping[str, ColumnType], book: Codebook) -> None:
    """Say which columns and rows tell nothing, look like ids, or have gaps in their scale."""
    different = {name: table[name].nunique() for name in types}
    for number, what in ((0, "no answer at all"), (1, "one and the same answer in all rows")):
        names = [name for name in types if different[name] == number]
        if names:
            _note(f"{name_columns(names)}: {what}, so {_it(names)} no effect.")
    silent = int(table.isna().all(axis=1).sum())
    if silent:
        note_silent_rows(silent)
    plain = [
        name
        for name, told in types.items()
        if told.kind == "ordinal"
        and name not in book.labels
        and book.levels_for(name, table[name]) is None
    ]
    _note_scales(table[plain])


def note_silent_rows(n: int) -> None:
    """Say that rows hold no answer."""
    verb, they = ("holds", "it is") if n == 1 else ("hold", "they are")
    _note(
        f"{counted(n, 'row')} {verb} no answer at all: {they} assigned by the segments' sizes "
        "alone."
    )


def _note_scales(table: pd.DataFrame) -> None:
    numeric = [name for name in table.columns if pd.api.types.is_numeric_dtype(table[name])]
    seen = {name: np.unique(table[name].dropna().astype(int)) for name in numeric}
    many = [name for name in numeric if len(seen[name]) > MANY]
    if many:
        _note(
            f"{name_columns(many)}: more than {MANY} different answers. An id, an age? Leave it "
            "out with `exclude`, name it with `ids`, or group its values first."
        )
    gaps = [
        name
        for name in numeric
        if name not in many and len(seen[name]) and np.ptp(seen[name]) >= len(seen[name])
    ]
    if gaps:
        _note(
            f"{name_columns(gaps)}: nobody gave some answers between the lowest and the highest, "
            "so the scale is taken to have none there. Declare the whole scale with `levels`, or "
            "the codes of missing answers with `missing`."
        )


def _it(names: Sequence[str]) -> str:
    return "it has" if len(names) == 1 else "they have"


def _note(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=3)
