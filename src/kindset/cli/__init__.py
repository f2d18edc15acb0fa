"""The command line."""

import sys


def main() -> None:
    """Run the command line.

    The commands and what they need are loaded only now, so that ``kindset --version`` is quick and
    Ctrl-C while loading ends quietly.
    """
    if sys.argv[1:] == ["--version"]:
        from kindset._version import __version__

        sys.stdout.write(f"kindset {__version__}\n")
        return
    try:
        from kindset.cli._app import run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


__all__ = ["main"]
