"""What is known about the columns of a survey: the order of answers, and words."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd

from kindset._reading import read_toml
from kindset.exceptions import InputError
from kindset.workbench._missing import as_float, looks_missing

_MANY = 20
"""Codes without a word that a labelled scale may have."""


@dataclass(frozen=True)
class Codebook:
    """The order of answers, the words of codes, and the words of the questions.

    As a TOML file::

        satisfaction = ["poor", "fair", "good"]     # one column

        [[scale]]                                   # several columns at once
        columns = ["q1", "q4:q9"]
        levels = ["never", "sometimes", "always"]

        [[scale]]                                   # all other columns
        levels = ["disagree", "neither", "agree"]

        [questions]                                 # optional: words for the summary
        q1 = "How often do you travel by train?"

    Attributes
    ----------
    levels : dict of str to list
        The answers in order, by column.
    questions : dict of str to str
        The words of the questions.
    every : list
        The answers in order of all other columns; empty if nothing is said of them.
    labels : dict of str to dict
        The words of codes, by column, as a statistics program holds them.
    """

    levels: dict[str, list[Any]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    every: list[Any] = field(default_factory=list)
    labels: dict[str, dict[Any, str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | None) -> "Codebook":
        """Read the TOML file; no file, nothing said."""
        if path is None:
            return cls()
        document = read_toml(path)
        questions = document.pop("questions", {})
        if not isinstance(questions, dict):
            raise InputError(f"{path}: [questions] must be a table of texts.")
        every: list[Any] = []
        scales = document.pop("scale", [])
        for scale in scales if isinstance(scales, list) else [scales]:
            if not isinstance(scale, dict) or not {"levels"} <= set(scale) <= {"columns", "levels"}:
                raise InputError(f"{path}: each [[scale]] needs `levels`, and may name `columns`.")
            if "columns" not in scale:
                every = _in_order(scale["levels"], f"{path}: the scale of all columns")
            elif not isinstance(scale["columns"], list):
                raise InputError(f"{path}: `columns` of a [[scale]] must be a list of names.")
            else:
                document.update(dict.fromkeys(map(str, scale["columns"]), scale["levels"]))
        levels = {name: _in_order(listed, f"{path}: {name}") for name, listed in document.items()}
        return cls(levels, {name: str(text) for name, text in questions.items()}, every)

    @classmethod
    def of(cls, levels: Any, questions: Mapping[str, str] | None = None) -> "Codebook":
        """Make a codebook from a TOML file or from lists, with further words of questions."""
        if isinstance(levels, Codebook):
            return levels
        if levels is None or isinstance(levels, (str, os.PathLike)):
            book = cls.read(None if levels is None else Path(levels))
        elif isinstance(levels, Mapping):
            book = cls({str(name): list(answers) for name, answers in levels.items()})
        else:
            book = cls(every=_in_order(list(levels), "`levels`"))
        return replace(book, questions={**book.questions, **(questions or {})})

    def for_table(self, table: pd.DataFrame) -> "Codebook":
        """Write ranges of columns out; refuse a name that is not in the table, likely misspelt."""
        levels = {
            name: listed
            for given, listed in self.levels.items()
            for name in expand_ranges([given], table.columns)
        }
        for name in (*levels, *self.questions):
            if name not in table:
                raise InputError(
                    f"`levels` names the column {name!r}; {columns_of(table)}.", parameter="levels"
                )
        return replace(self, levels=levels)

    def extended(self, questions: Mapping[str, str], labels: Mapping[str, Any]) -> "Codebook":
        """Add what a file says; what the user says comes first."""
        return replace(self, questions={**questions, **self.questions}, labels=dict(labels))

    def in_words(self, table: pd.DataFrame, *, but: Iterable[str] = ()) -> pd.DataFrame:
        """Turn labelled codes into ordered categoricals of words, in the order of the codes."""
        table = table.copy(deep=False)
        left = set(but)
        for name, words in self.labels.items():
            if name in table and name not in left:
                table[name] = _in_words(table[name], words)
        return table

    def levels_for(self, name: str, column: "pd.Series[Any]") -> list[Any] | None:
        """Return the order of a column's answers that the user gives; None if there is none."""
        if name in self.levels:
            return self.levels[name]
        if not self.every or name in self.labels:
            return None
        if isinstance(column.dtype, pd.CategoricalDtype):
            return None
        if not pd.api.types.is_numeric_dtype(column):
            return self.every
        known = {as_float(level) for level in self.every}
        fits = known >= {as_float(value) for value in column.dropna().unique()}
        return self.every if fits else None

    @property
    def text_levels(self) -> dict[str, list[str]]:
        """The columns whose levels are words, which must not be read as numbers."""
        return {
            name: levels
            for name, levels in self.levels.items()
            if all(isinstance(level, str) for level in levels)
        }


def _in_order(levels: Any, where: str) -> list[Any]:
    if not isinstance(levels, list) or len(levels) < 1:
        raise InputError(f"{where} must be a list of answers in order.", parameter="levels")
    return levels


def as_levels(name: str, column: "pd.Series[Any]", levels: list[Any]) -> "pd.Series[Any]":
    """Return a column as an ordered categorical of these levels; others become missing."""
    if not pd.Index(levels).is_unique:
        raise InputError(f"the levels given for column {name!r} repeat an answer.")
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    return pd.Series(
        pd.Categorical(column, categories=levels, ordered=True), index=column.index, name=name
    )


def as_spelt(column: "pd.Series[Any]", levels: Sequence[Any]) -> "pd.Series[Any]":
    """Write the numbers of a column as text if all of its levels are texts."""
    texts = all(isinstance(level, str) for level in levels)
    if not texts or not pd.api.types.is_numeric_dtype(column):
        return column
    return column.astype(object).where(column.isna(), column.map(lambda value: f"{value:.15g}"))


def _in_words(column: "pd.Series[Any]", words: Mapping[Any, str]) -> "pd.Series[Any]":
    """Name every code; one without a word is its own name, equal words get their code.

    If some answers have no word, the scale has all whole numbers between its ends.
    """
    seen = [code for code in pd.unique(column.dropna()) if code not in words]
    known = {*words, *seen}
    if seen and all(isinstance(code, Real) and code % 1 == 0 for code in known):
        low, high = int(min(known)), int(max(known))
        known |= set(range(low, high + 1)) if high - low <= _MANY else set()
    codes = sorted(known, key=lambda code: (isinstance(code, str), code))
    names = [words.get(code) or _plain(code) for code in codes]
    names = [
        f"{name} ({_plain(code)})" if names.count(name) > 1 else name
        for name, code in zip(names, codes, strict=True)
    ]
    spelt = column.map(dict(zip(codes, names, strict=True)))
    return pd.Series(
        pd.Categorical(spelt, categories=names, ordered=True), index=column.index, name=column.name
    )


def _plain(code: Any) -> str:
    return code if isinstance(code, str) else f"{code:g}"


def scales_only(table: pd.DataFrame, labels: Mapping[str, Any]) -> dict[str, dict[Any, str]]:
    """Return the labels of columns that are scales: few codes are left without a word.

    Words for a missing answer that nobody gave are no part of a scale.
    """
    found = {}
    for name, words in labels.items():
        seen = set(pd.unique(table[name].dropna())) if name in table else set()
        kept = {
            code: word
            for code, word in words.items()
            if code in seen or as_float(word) is not None or not looks_missing(word)
        }
        if kept and name in table and len(seen - set(kept)) <= _MANY:
            found[name] = kept
    return found


def expand_ranges(names: Sequence[str], available: Iterable[Any]) -> list[str]:
    """Write out ranges of columns, such as ``q1:q8``, in the order of the table.

    Examples
    --------
    >>> from kindset.workbench._codebook import expand_ranges
    >>> expand_ranges(["who", "q1:q3"], ["who", "q1", "q2", "q3", "q4"])
    ['who', 'q1', 'q2', 'q3']
    """
    known = [str(name) for name in available]
    found: list[str] = []
    for name in names:
        first, colon, last = (part.strip() for part in name.partition(":"))
        if name in known or not colon or not {first, last} <= set(known):
            found.append(name)
            continue
        begin, end = known.index(first), known.index(last)
        if begin > end:
            raise InputError(f"the range {name!r} is empty: column {first!r} comes after {last!r}.")
        found += known[begin : end + 1]
    return found


def columns_of(table: pd.DataFrame) -> str:
    """Name the columns of a table, the first of many."""
    names = [str(name) for name in table.columns]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"there are {', '.join(names[:12])}{more}"
