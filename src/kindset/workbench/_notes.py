"""Cautions that were said while something was done."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect the sentences that a user is warned with, and pass the warnings on.

    That the work was interrupted is left out: a run has a field of its own for it.
    """
    notes: list[str] = []
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield notes
    finally:
        said = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        notes += dict.fromkeys(words for words in said if not words.startswith("Interrupted"))
        for w in caught:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
