"""What stands for a missing answer: marks, words and codes."""

import math
import re
from collections.abc import Sequence

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>")
"""What stands for a missing answer in a file, unless it is one of a column's levels."""

_WORDS = frozenset(
    """
    dk; dk/na; dk/ref; dont know; do not know; cannot say; cant say; no answer; no response;
    not answered; not applicable; not asked; not ascertained; not available; not stated; na; inap;
    inapplicable; refused; refusal; ref; declined; decline to answer; prefer not to say; prefer not
    to answer; rather not say; skipped; missing; system missing; unknown; none given; nan; null;
    weiß nicht; weiss nicht; keine angabe; k a; verweigert; nicht zutreffend; ne sait pas; sans
    réponse; refus; no sabe; no contesta; ns/nc; não sabe; non so; weet niet; vet ej
    """.replace("\n", " ").split(";")
)
_DASHES = frozenset(["", "-", "--", "–", "—", ".", "..", "?", "*"])
_KNOWN_WORDS = frozenset(" ".join(word.split()) for word in _WORDS)
_CODES = frozenset(
    {float(f"{digit}" * n) for digit in (6, 7, 8, 9) for n in (2, 3, 4, 5)}
    | {10.0**n - k for n in (2, 3, 4, 5) for k in range(1, 6)}
)


def looks_missing(answer: object) -> bool:
    """Whether an answer is a usual word or code for a missing one.

    Parameters
    ----------
    answer : object
        A text or a number.

    Returns
    -------
    missing : bool

    Examples
    --------
    >>> from kindset.workbench._missing import looks_missing
    >>> [looks_missing(answer) for answer in ("Don't know", "neither agree", "99", 4)]
    [True, False, True, False]
    """
    number = as_float(answer)
    if number is not None:
        return number < 0 or number in (7, 8, 9) or number in _CODES
    plain = re.sub(r"[^\w/ ]", "", str(answer).casefold().replace(".", " "))
    plain = " ".join(plain.split())
    if not plain:
        return str(answer).strip() in _DASHES
    return not _KNOWN_WORDS.isdisjoint({plain, plain.replace("/", " "), plain.replace("/", "")})


def as_float(answer: object) -> float | None:
    """Return the finite number that an answer is or spells; None for anything else."""
    if isinstance(answer, bool):
        return None
    try:
        number = float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def codes_outside(seen: Sequence[float]) -> list[float]:
    """Return the codes that are usual for missing answers and lie far outside a scale.

    Parameters
    ----------
    seen : sequence of float
        The different answers to a question.

    Returns
    -------
    codes : list of float
        From 66 upwards, and above the other answers by twice the width of their scale.

    Examples
    --------
    >>> from kindset.workbench._missing import codes_outside
    >>> codes_outside([1, 2, 3, 4, 5, 98, 99])
    [98, 99]
    >>> codes_outside([18, 35, 60, 88, 99])
    []
    """
    answers = sorted(seen)
    for last in range(1, len(answers) - 1):
        rest = answers[last + 1 :]
        width = answers[last] - answers[0] + 1
        if rest[0] - answers[last] > 2 * width and all(code in _CODES for code in rest):
            return rest
    return []
