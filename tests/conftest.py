import os
import signal

import pytest
from hypothesis import settings

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
