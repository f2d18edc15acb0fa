"""Ctrl-C while compiled code runs."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C always show as KeyboardInterrupt.

    One that arrives while Numba hands a result back to Python shows as a SystemError.
    """
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
