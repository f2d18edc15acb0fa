"""Words on the terminal: options in the place of parameters, nothing that a terminal would obey."""

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kindset._shown import shown as shown
from kindset.exceptions import Interrupted

OPTIONS = {
    "colours": "--colours", "columns": "--columns", "criterion": "--criterion", "crop": "--crop",
    "decimal": "--decimal", "header_rows": "--header-rows", "ignore_case": "--no-ignore-case",
    "names": "--names", "sheet": "--sheet", "trim": "--no-trim", "types": "--types",
    "embedding": "--embedding", "exclude": "--exclude", "force": "--force", "ids": "--id-column",
    "index": "--index", "indices": "--index", "k": "-k", "labels": "--label-column",
    "levels": "--levels", "method": "--method", "metric": "--metric", "missing": "--missing",
    "n_bootstrap": "--bootstrap", "n_init": "--starts", "n_jobs": "--jobs", "noise": "--noise",
    "n_resamples": "--resamples", "judge": "--judge",
    "out": "--out", "parameters": "--param", "random_state": "--seed", "raw": "--raw",
    "same_rows": "--same-rows", "sample_size": "--sample-size", "scale": "--scale",
    "seed": "--seed", "size": "--size", "truth": "--truth", "weights": "--weight-column",
}  # fmt: skip
"""The option that sets each parameter of the library."""


def as_options(sentence: str) -> str:
    """Name options where a sentence of the library names parameters in backticks."""
    return re.sub(r"`(\w+)`", lambda found: OPTIONS.get(found[1], found[0]), sentence)


def explained(error: Any) -> str:
    """Return the sentence of an `InputError`, with the option at fault."""
    sentence = as_options(str(error))
    option = OPTIONS.get(getattr(error, "parameter", None) or "")
    return sentence if option is None or option in sentence else f"{option}: {sentence}"


def lines_of(text: str) -> str:
    """Escape what a terminal would obey; lines stay lines."""
    return "\n".join(map(shown, text.split("\n")))


def say(sentence: str, *, mark: str, style: str) -> None:
    """Print one sentence on standard error behind a mark, on one line."""
    from rich.console import Console
    from rich.markup import escape

    words = escape(shown(as_options(sentence)))
    Console(stderr=True, highlight=False).print(f"[{style}]{mark}[/] {words}", soft_wrap=True)


def echo(text: str, *, err: bool = False) -> None:
    """Print words."""
    stream = sys.stderr if err else sys.stdout
    stream.write(lines_of(as_options(text)) + "\n")
    stream.flush()


def echo_data(text: str) -> None:
    """Print JSON or CSV as it is; only a terminal gets it with escapes."""
    sys.stdout.write((lines_of(text) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()


class _Lines(logging.Handler):
    """Prints what the library logs, line by line."""

    def __init__(self, *, err: bool) -> None:
        super().__init__(logging.INFO)
        self._err = err

    def emit(self, record: logging.LogRecord) -> None:
        echo(shown(record.getMessage()), err=self._err)


@contextmanager
def logged_lines(*, err: bool = True) -> Iterator[None]:
    """Show what the library logs; an interrupted sweep ends with its sentence and exit code 130."""
    logger, handler = logging.getLogger("kindset"), _Lines(err=err)
    level, passed_on = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    except Interrupted as interrupt:
        import typer

        echo(str(interrupt), err=err)
        raise typer.Exit(130) from None
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = passed_on


class _Pipe:
    """A stream whose reader may go away (`kindset … | head`): that is no error.

    Any other failure, such as a full disk, is one if the stream has a name to tell.
    """

    def __init__(self, stream: Any, name: str | None = None) -> None:
        self._stream = stream
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, if anybody still reads."""
        with self._watched():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, if anybody still reads."""
        with self._watched():
            self._stream.flush()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._to_nobody()  # what is left is not tried again when Python ends
            if self._name is not None and not isinstance(error, BrokenPipeError):
                raise OSError(error.errno, error.strerror, self._name) from error

    def _to_nobody(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def _opened(stream: Any) -> Any:
    """Return a stream to write to: one that was closed before we began is None."""
    if stream is not None:
        return stream
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


@contextmanager
def patient_streams() -> Iterator[None]:
    """Let output end early, and show what an old terminal cannot as escapes."""
    before = sys.stdout, sys.stderr
    out, err = map(_opened, before)
    for stream in (out, err):
        if hasattr(stream, "reconfigure"):  # not where tests put another stream
            stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = _Pipe(out, "standard output"), _Pipe(err)
    try:
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        sys.stdout, sys.stderr = before
