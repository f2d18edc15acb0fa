"""The front door: the commands, and what happens when one fails."""

import inspect
import os
import sys
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from kindset._version import __version__
from kindset.cli._cluster import cluster
from kindset.cli._compare import compare
from kindset.cli._demo import demo
from kindset.cli._predict import predict
from kindset.cli._report import report
from kindset.exceptions import InputError

app = typer.Typer(
    help="Find groups in unlabelled data, see what each group is, and which grouping to trust.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kindset {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find groups in unlabelled data, see what each group is, and which grouping to trust."""


def _unwrapped(words: str | None) -> str:
    """Put each paragraph on one line: the help breaks lines where the terminal ends."""
    paragraphs = inspect.cleandoc(words or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for command in (cluster, compare, report, predict, demo):
    app.command(help=_unwrapped(command.__doc__))(command)


def run() -> None:
    """Run the command line; wrong input ends with one sentence and exit code 2."""
    with warnings.catch_warnings():
        # Notes for the user, not for developers, and only once each.
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        sys.exit(_run(debug="--debug" in sys.argv))


def _run(*, debug: bool) -> int:
    try:
        code = app(standalone_mode=False)
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # The reader of our output went away (`kindset ... | head`): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail("interrupted before anything was finished.", 130)
    except Exception as error:
        if debug:
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    show = getattr(error, "show", None)
    if show is not None:  # a wrong option: the parser's own words and usage
        show()
        return 2
    if isinstance(error, InputError):
        return _fail(str(error), 2)
    if isinstance(error, OSError) and error.filename:
        return _fail(f"{error.filename}: {error.strerror}.", 2)
    return _fail(f"{type(error).__name__}: {error} (run again with --debug for the details)", 1)


def _fail(sentence: str, code: int) -> int:
    Console(stderr=True, highlight=False).print(
        f"[bold red]kindset:[/] {escape(sentence)}", soft_wrap=True
    )
    return code


def _show_warning(message: Warning | str, *_: Any) -> None:
    Console(stderr=True, highlight=False).print(
        f"[yellow]note:[/] {escape(str(message))}", soft_wrap=True
    )
