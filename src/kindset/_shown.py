"""Names of files and numbers of things as a message can show them."""

import os
import unicodedata

_HIDDEN = ("Cc", "Cs", "Zl", "Zp")
_REORDERING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def shown(name: object) -> str:
    r"""Return a path, a name or a text with everything escaped that would change a terminal.

    Parameters
    ----------
    name : path-like or str
        What to show.

    Returns
    -------
    text : str
        On one line. Control characters, line breaks, characters that change the direction of
        writing and bytes that are no text are escaped.

    Examples
    --------
    >>> from kindset._shown import shown
    >>> print(shown("a\nb\x1b[31m"), shown("über.png"))
    a\nb\x1b[31m über.png
    """
    text = os.fsdecode(name) if isinstance(name, (bytes, os.PathLike)) else str(name)
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN
    if hidden or unicodedata.bidirectional(character) in _REORDERING:
        return character.encode("unicode_escape").decode("ascii")
    return character


def counted(n: int, thing: str) -> str:
    """Return a number with the right form of a noun.

    Examples
    --------
    >>> from kindset._shown import counted
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
