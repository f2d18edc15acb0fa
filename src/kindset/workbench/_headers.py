"""Tables with more than one header row, as Qualtrics writes them: names, question texts, ids."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kindset.workbench._missing import looks_missing

SAMPLED = 100
"""Rows that are looked at to recognise a second header row."""

_IMPORT = re.compile(r'\s*\{\s*"ImportId"')
_NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)\s*")


@dataclass(frozen=True)
class Header:
    """The header of a table.

    Attributes
    ----------
    names : list of str
        Of the columns.
    n_rows : int
        Rows of the table that are no answers.
    questions : dict of str to str
        The words of questions from the second row.
    recognised : bool
        Whether the number of rows is a guess.
    """

    names: list[str]
    n_rows: int = 1
    questions: dict[str, str] = field(default_factory=dict)
    recognised: bool = False

    @property
    def note(self) -> str:
        """What a user should know of it; nothing if it is a single row, or as declared."""
        if self.n_rows == 1 or not self.recognised:
            return ""
        rows = "A second header row was" if self.n_rows == 2 else "Two more header rows were"
        used = (
            "; the texts of the second row are the words of the questions" if self.questions else ""
        )
        return f"{rows} recognised{used} (if they are answers, say so with `header_rows`=1)."


def read_header(rows: Sequence[Sequence[Any]], n_rows: int | None = None) -> Header:
    """Read the header from the first rows of a table.

    Parameters
    ----------
    rows : sequence of rows
        The first rows, from that of the names.
    n_rows : {1, 2, 3}, optional
        How many of them are no answers; by default recognised.

    Returns
    -------
    header : Header
    """
    names = ["" if cell is None else str(cell) for cell in rows[0]] if rows else []
    below = rows[1:]
    n = n_rows or _recognised(below)
    texts = below[0] if n > 1 and below and not _are_ids(below[0]) else []
    questions = {
        name: " ".join(str(text).split())
        for name, text in zip(names, texts, strict=False)
        if isinstance(text, str) and text.strip() and name
    }
    return Header(names, n, questions, recognised=n_rows is None)


def _recognised(below: Sequence[Sequence[Any]]) -> int:
    if below and _are_ids(below[0]):
        return 2
    if len(below) > 1 and _are_ids(below[1]):
        return 3
    return 2 if _are_texts_over_numbers(below) else 1


def _are_ids(row: Sequence[Any]) -> bool:
    """Whether a row holds the ids that Qualtrics gives its columns."""
    filled = [cell for cell in row if cell not in (None, "")]
    marked = [cell for cell in filled if isinstance(cell, str) and _IMPORT.match(cell)]
    return bool(marked) and 2 * len(marked) > len(filled)


def _are_texts_over_numbers(below: Sequence[Sequence[Any]]) -> bool:
    """Whether the first row holds different texts over at least two columns of numbers."""
    if len(below) < 4:
        return False
    first, texts = below[0], []
    if any(_is_number(cell) for cell in first):
        return False
    for j, cell in enumerate(first):
        others = [row[j] for row in below[1:] if j < len(row) and row[j] not in (None, "")]
        if len(others) >= 3 and all(map(_is_number, others)):
            texts.append(cell)
    written = all(isinstance(text, str) and text and not looks_missing(text) for text in texts)
    return len(texts) >= 2 and written and len(set(texts)) == len(texts)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, (int, float)) or (
        isinstance(cell, str) and _NUMBER.fullmatch(cell) is not None
    )
