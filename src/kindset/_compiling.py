"""Compiled functions that are kept on disk where there is a place for them."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache

_Cache: Any = FunctionCache  # numba gives it no types


class _OptionalCache(_Cache):
    """A cache of compiled code whose files may turn out unreadable or unwritable at any time."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was kept for a signature, if it can be read."""
        try:
            return super().load_overload(sig, target_context)
        except OSError:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature, if it can be written."""
        try:
            super().save_overload(sig, data)
        except OSError:
            self.disable()


def njit(*, cache: bool, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator of that name, which here works without a cache too.

    numba refuses ``cache=True`` where it finds no folder to write to, for example in a read-only
    container without a home folder. Here the function is then compiled in every process.

    Parameters
    ----------
    cache : bool
        Whether to keep what was compiled on disk, if that is possible.
    **options : Any
        Of `numba.njit`.

    Returns
    -------
    decorator : callable

    Examples
    --------
    >>> from kindset._compiling import njit
    >>> @njit(cache=True, nogil=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled: Any = numba.njit(**options)(function)
        if cache and compiled is not function:  # numba can be switched off
            with suppress(RuntimeError, OSError):  # no place for files, or no source to read
                compiled._cache = _OptionalCache(function)
        return compiled

    return decorate
