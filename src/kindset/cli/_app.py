"""The front door: the commands, and what happens when one fails."""

import inspect
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from kindset._version import __version__

_TITLE = "Find groups in unlabelled data, see what each group is, and which grouping to trust."

COMMANDS = {
    "cluster": "Find groups in a table of answers, rows of numbers, or images.",
    "compare": "Rank clusterings of the same data, made in different spaces, without labels.",
    "report": "Write what runs found, what it is and what to trust to one HTML page.",
    "predict": "Assign new samples to the groups of an earlier run.",
    "demo": "Cluster a survey and images in many ways, rank the results, and write a report.",
}
"""Every command with one line on it; the module `kindset.cli._<command>` holds the function.

A command is imported only when it is called, so that help is quick.
"""


def build_app(words: list[str]) -> typer.Typer:
    """Return the command line, with the command that the words call and one line on the others."""
    app = typer.Typer(
        help=_TITLE,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_TITLE)(_options)
    called = next((word for word in words if not word.startswith("-")), None)
    for name, line in COMMANDS.items():
        function: Callable[..., Any] = _not_called
        if name == called:
            function = getattr(import_module(f"kindset.cli._{name}"), name)
            line = _unwrapped(function.__doc__)
        app.command(name=name, help=line)(function)
    return app


def _not_called() -> None:
    """Stand for a command that the words do not call."""


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"kindset {__version__}\n")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def _unwrapped(words: str | None) -> str:
    """Put each paragraph on one line: the help breaks lines where the terminal ends."""
    paragraphs = inspect.cleandoc(words or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def run() -> None:
    """Run the command line; wrong input ends with one sentence and exit code 2."""
    from kindset.cli._terminal import patient_streams

    with warnings.catch_warnings(), patient_streams():
        # Notes for the user, not for developers, and only once each.
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        code = _run(debug="--debug" in sys.argv)
    sys.exit(code)


def _run(*, debug: bool) -> int:
    try:
        code = build_app(sys.argv[1:])(standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except KeyboardInterrupt as interrupt:
        return _fail(str(interrupt) or "interrupted before anything was finished.", 130)
    except Exception as error:
        if debug:
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    from kindset.cli._terminal import explained
    from kindset.exceptions import InputError

    show = getattr(error, "show", None)
    if show is not None:  # a wrong option: the parser's own words and usage
        show()
        return 2
    if isinstance(error, InputError):
        return _fail(explained(error), 2)
    if isinstance(error, OSError) and error.filename:
        return _fail(f"{error.filename}: {error.strerror}.", 2)
    return _fail(f"{type(error).__name__}: {error} (run again with --debug for the details)", 1)


def _fail(sentence: str, code: int) -> int:
    from kindset.cli._terminal import say

    say(sentence, mark="kindset:", style="bold red")
    return code


def _show_warning(message: Warning | str, *_: Any) -> None:
    from kindset.cli._terminal import say

    say(str(message), mark="note:", style="yellow")
