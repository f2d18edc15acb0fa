"""The command line."""

from kindset.cli._app import main

__all__ = ["main"]
