import os
import signal
import sys

import pytest
from hypothesis import settings

from kindset.cli import main

# Examples are drawn anew on a developer's machine, and are the same every time where a landing
# depends on them.
settings.register_profile(
    "kindset", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("kindset")


def pytest_collection_modifyitems(items):
    if not os.environ.get("KINDSET_DATA"):
        skip = pytest.mark.skip(reason="needs KINDSET_DATA, a folder with the real datasets")
        for item in items:
            if item.get_closest_marker("realdata"):
                item.add_marker(skip)


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C raise KeyboardInterrupt, also where the shell has told us to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def kindset(monkeypatch, capsys):
    """Run the command line in this process; return exit code, output and errors."""

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["kindset", *map(str, args)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give an empty folder, and work in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
