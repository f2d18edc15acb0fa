"""Ctrl-C at places of our choosing.

A KeyboardInterrupt that arrives while Numba enters or leaves compiled code turns into a chain of
SystemErrors, or is lost. Long work therefore only notes the signal, and looks at the note between
its steps.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class _Note:
    held: bool = False
    requested: bool = False
    seen: bool = False


_note = _Note()


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Note Ctrl-C, for `check_interrupt` to raise; a second one raises at once.

    An interrupt that nobody looked for is raised at the end. Nested uses share the note of the
    outermost one. A program that handles Ctrl-C in its own way is left alone, and so are threads
    other than the main one, which get no signals.
    """
    mine = threading.current_thread() is threading.main_thread() and not _note.held
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _note.held = True
    signal.signal(signal.SIGINT, _take_note)
    try:
        yield
        if _note.requested and not _note.seen:
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _note.held = _note.requested = _note.seen = False


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed since `held_interrupts` began."""
    if _note.requested:
        _note.seen = True
        raise KeyboardInterrupt


def _take_note(number: int, frame: Any) -> None:
    if _note.requested:
        signal.default_int_handler(number, frame)
    _note.requested = True
