"""The command line."""

import sys


def main() -> None:
    """Run the command line.

    The commands and what they need are loaded only now, so that Ctrl-C while loading ends
    quietly.
    """
    try:
        from kindset.cli._app import run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


__all__ = ["main"]
