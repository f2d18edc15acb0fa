"""From cells as people and programs write them to answers: gaps, numbers, spellings."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from kindset._shown import counted
from kindset.exceptions import InputError
from kindset.workbench._codebook import expand_ranges
from kindset.workbench._missing import MISSING, as_float

DECIMALS = ("auto", ".", ",")

_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d*)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}")


@dataclass(frozen=True)
class Reading:
    """How the cells of a table are to be read.

    Attributes
    ----------
    text_levels : dict
        Columns that hold these words, even where they look like numbers or like a gap.
    every : list
        Words that any column may hold.
    text_columns : list of str
        Other columns to leave as they are, such as ids with leading zeros.
    missing : list of str
        Further marks of a missing answer, such as -9.
    trim, ignore_case : bool
        Whether texts that differ only in blanks around them, or in case, are one answer.
    decimal : {"auto", ".", ","}
        What stands before the fraction of a number.
    header_rows : int or None
        Rows before the answers; None to recognise them.
    sheet : str, int or None
        The sheet of an Excel file.
    """

    text_levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    every: Sequence[Any] = ()
    text_columns: Sequence[str] = ()
    missing: Sequence[str] = ()
    trim: bool = True
    ignore_case: bool = True
    decimal: str = "auto"
    header_rows: int | None = None
    sheet: str | int | None = None

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise InputError(
                f"`decimal` must be auto, a point or a comma, not {self.decimal!r}.",
                parameter="decimal",
            )
        if self.header_rows not in (None, 1, 2, 3):
            raise InputError(
                f"`header_rows` must be 1, 2 or 3, not {self.header_rows!r}.",
                parameter="header_rows",
            )

    def for_columns(self, names: Iterable[str]) -> "Reading":
        """Write the ranges of columns out that have text levels."""
        known = list(names)
        levels = {
            name: words
            for given, words in self.text_levels.items()
            for name in expand_ranges([given], known)
        }
        return replace(self, text_levels=levels)

    def levels_of(self, column: str) -> Sequence[Any]:
        """Return the words that a column may hold, as far as they are known."""
        return self.text_levels.get(column, self.every)

    def missing_in(self, column: str) -> list[str]:
        """Return the marks of a missing answer in one column."""
        levels = self.levels_of(column)
        return [mark for mark in (*MISSING, *self.missing) if mark not in levels]

    def key(self, word: str) -> str:
        """Return what is the same for all spellings of an answer."""
        word = word.strip() if self.trim else word
        return word.casefold() if self.ignore_case else word


def clean_table(
    table: pd.DataFrame, reading: Reading, labels: Mapping[str, Mapping[Any, str]] | None = None
) -> pd.DataFrame:
    """Turn marks into gaps, texts into numbers where all are numbers, and spellings into one.

    Parameters
    ----------
    table : DataFrame
    reading : Reading
    labels : dict of str to dict, optional
        The words of codes by column: a mark may be such a word.

    Returns
    -------
    table : DataFrame
        What was changed is told in warnings.
    """
    table, reading = table.copy(deep=False), reading.for_columns(table.columns)
    commas: list[str] = []
    joined: dict[str, str] = {}
    for name in table.columns:
        column = _without_marks(name, table[name], reading, (labels or {}).get(name, {}))
        if name not in reading.text_columns and _is_text(column):
            words = _Words(column, reading, name)
            column = words.cleaned
            if words.has_commas:
                commas.append(name)
            if words.joined:
                joined[name] = words.joined
        table[name] = column
    if commas:
        _note(f"{name_columns(commas)}: commas in numbers are read as decimal ones.")
    if joined:
        (name, example), more = next(iter(joined.items())), len(joined) - 1
        others = f", and alike in {counted(more, 'more column')}" if more else ""
        _note(
            f"Column {name}: answers that differ only in case or in blanks are joined, {example}"
            f"{others} (`ignore_case`, `trim`)."
        )
    return table


def _note(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=3)


def _is_text(column: "pd.Series[Any]") -> bool:
    return pd.api.types.is_object_dtype(column) or isinstance(column.dtype, pd.StringDtype)


def _without_marks(
    name: str, column: "pd.Series[Any]", reading: Reading, words: Mapping[Any, str]
) -> "pd.Series[Any]":
    """Turn further marks of missing answers, in words or numbers, into gaps."""
    marks = {mark for mark in reading.missing if mark not in reading.levels_of(name)}
    if not marks:
        return column
    keys = {reading.key(mark) for mark in marks}
    gaps: list[Any] = [*marks, *(n for n in map(as_float, marks) if n is not None)]
    gaps += [code for code, word in words.items() if reading.key(word) in keys]
    if isinstance(column.dtype, pd.CategoricalDtype):
        scale = column.cat.categories
        return column.cat.remove_categories(scale[scale.isin(gaps)])
    if _is_text(column):
        text = column.map(lambda value: isinstance(value, str) and reading.key(value) in keys)
        return column.mask(text.astype(bool) | column.isin(gaps))
    return column.mask(column.isin(gaps)) if column.isin(gaps).any() else column


_LARGEST = 2**63
"""Whole numbers beyond this are no answers, and may not fit into a float."""


class _Words:
    """The different texts of a column, and what becomes of them."""

    def __init__(self, column: "pd.Series[Any]", reading: Reading, name: str) -> None:
        self.has_commas = False
        self.joined = ""
        self._reading = reading
        marks = set(reading.missing_in(name))
        cleaned: dict[Any, Any] = {}
        for value in pd.unique(column.dropna()):
            word = value.strip() if isinstance(value, str) and reading.trim else value
            cleaned[value] = None if isinstance(word, str) and word in marks else word
        words = [word for word in cleaned.values() if word is not None]
        numbers = None if name in reading.text_levels else self._numbers(words)
        if numbers is not None:
            cleaned = {
                value: None if word is None else numbers[word] for value, word in cleaned.items()
            }
        elif any(isinstance(word, str) for word in words):
            cleaned = self._joined(column, cleaned, reading.levels_of(name))
        changed = any(value is not word and value != word for value, word in cleaned.items())
        self.cleaned = column
        if changed or numbers is not None:
            self.cleaned = column.astype(object).map(cleaned).infer_objects()
        if numbers is not None:
            self.cleaned = pd.to_numeric(self.cleaned)

    def _numbers(self, words: Sequence[Any]) -> dict[Any, float] | None:
        """Return the number that every word spells; None if one spells none."""
        texts = [word for word in words if isinstance(word, str)]
        others = [word for word in words if not isinstance(word, str)]
        if not words or not all(
            isinstance(word, (int, float)) and not isinstance(word, bool) for word in others
        ):
            return None
        if any(isinstance(word, int) and abs(word) > _LARGEST for word in others):
            return None  # whoever checks the answers refuses it
        decimal = self._reading.decimal
        if decimal != "," and all(map(_POINT.fullmatch, texts)):
            return {word: _whole(float(word)) for word in words}
        commas = [text for text in texts if "," in text]
        if not all(map(_COMMA.fullmatch, texts)) or decimal == ".":
            return None
        if decimal == "auto" and (
            not commas
            or any("." in text for text in texts)
            or all(map(_THOUSANDS.fullmatch, commas))
        ):
            return None
        self.has_commas = bool(commas)
        return {word: _whole(_from_comma(word)) for word in words}

    def _joined(
        self, column: "pd.Series[Any]", cleaned: Mapping[Any, Any], levels: Sequence[Any]
    ) -> dict[Any, Any]:
        """Write every answer as its level is, else as it is written most often."""
        spelt = {
            value: word if word is None or isinstance(word, str) else _text(word)
            for value, word in cleaned.items()
        }
        key = self._reading.key
        known = _unambiguous([level for level in levels if isinstance(level, str)], key)
        counts = column.value_counts()
        often: dict[str, dict[str, int]] = {}
        for value, word in spelt.items():
            if word is not None:
                spellings = often.setdefault(key(word), {})
                spellings[word] = spellings.get(word, 0) + int(counts[value])
        chosen = {
            group: known.get(group) or max(spellings, key=lambda word: spellings[word])
            for group, spellings in often.items()
        }
        literal = {level for level in levels if isinstance(level, str)}
        final = {
            value: word if word is None or word in literal else chosen[key(word)]
            for value, word in spelt.items()
        }
        self.joined = _example(spelt, final)
        return final


def _unambiguous(levels: Iterable[str], key: Any) -> dict[str, str]:
    """Return the level of each spelling, unless several levels have it."""
    found: dict[str, list[str]] = {}
    for level in levels:
        found.setdefault(key(level), []).append(level)
    return {group: same[0] for group, same in found.items() if len(same) == 1}


def _example(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> str:
    """Name one spelling that became another; nothing if there is none."""
    kinds: dict[Any, list[Any]] = {}
    for value, word in after.items():
        if word is not None:
            kinds.setdefault(word, []).append(value)
    for word, values in kinds.items():
        others = [value for value in values if value != word]
        if others and (len(values) > 1 or before[values[0]] != word):
            return f"such as {', '.join(map(repr, others[:2]))} with {word!r}"
    return ""


def _from_comma(word: Any) -> float:
    return float(word.replace(".", "").replace(",", ".")) if isinstance(word, str) else float(word)


def _whole(number: float) -> float:
    return int(number) if abs(number) < 2**53 and number == int(number) else number


def _text(value: Any) -> str:
    number = as_float(value)
    return str(value) if number is None else f"{number:.15g}"


def name_columns(names: Sequence[str]) -> str:
    """Name columns in a sentence, the first of many."""
    shown = ", ".join(map(str, names[:8]))
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{'Column' if len(names) == 1 else 'Columns'} {shown}{more}"
