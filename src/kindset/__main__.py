"""The command line as ``python -m kindset``."""

from kindset.cli import main

main()
