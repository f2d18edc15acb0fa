"""Parameters that are lists of sizes."""

from collections.abc import Iterable
from typing import Any

from kindset._validation import Whole
from kindset.exceptions import InputError


def check_sizes(name: str, sizes: Iterable[Any], n_sizes: int | None = None) -> tuple[int, ...]:
    """Return sizes of layers as whole numbers from 1, or say what is wrong with them.

    Examples
    --------
    >>> from kindset.deep._parameters import check_sizes
    >>> check_sizes("hidden", [500, 0])
    Traceback (most recent call last):
    ...
    kindset.exceptions.InputError: hidden must be whole numbers from 1, got [500, 0].
    """
    chosen = tuple(sizes)
    if not all(Whole(1).allows(size) for size in chosen) or len(chosen) != (n_sizes or len(chosen)):
        number = {None: "", 2: "two "}[n_sizes]
        raise InputError(
            f"{name} must be {number}whole numbers from 1, got {sizes!r}.", parameter=name
        )
    return tuple(int(size) for size in chosen)
