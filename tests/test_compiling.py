"""Compiled functions: kept on disk where that is possible, and working where it is not."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import IndexDataCacheFile

import kindset
from kindset import _compiling
from kindset._compiling import njit

USE = (
    "import numpy as np; from kindset.evaluation import silhouette\n"
    "print(silhouette([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1]) > 0.9)\n"
)


def double(x):
    return 2 * x


def test_what_is_compiled_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    first = njit(cache=True, nogil=True)(double)
    assert first(2) == 4
    assert list(tmp_path.rglob("*.nbc"))
    again = njit(cache=True, nogil=True)(double)
    assert again(2) == 4
    assert sum(again.stats.cache_hits.values()) == 1


def test_no_place_for_a_cache(monkeypatch):
    monkeypatch.setattr(_compiling.FunctionCache._impl_class, "_locator_classes", [])
    assert njit(cache=True)(double)(2) == 4


@pytest.mark.parametrize("action", ["_save_data", "_load_index"])
def test_files_that_fail_later(tmp_path, monkeypatch, action):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(IndexDataCacheFile, action, full)
    compiled = njit(cache=True)(double)
    assert (compiled(2), compiled(2.5)) == (4, 5.0)


def test_nothing_can_be_written(tmp_path):
    """A package in a folder that cannot be written, no home, a cache folder that is a file."""
    copy = tmp_path / "lib"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(kindset.__file__).parent, copy / "kindset", ignore=ignored)
    for folder in sorted({path.parent for path in copy.rglob("*.py")}):
        (folder / "__pycache__").write_text("not a folder, so that nobody can write into it")
    (tmp_path / "file").touch()
    blocked = str(tmp_path / "file" / "none")
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": blocked,
        "XDG_CACHE_HOME": blocked,
        "NUMBA_CACHE_DIR": blocked,
    }
    found = subprocess.run(
        [sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=False
    )
    assert (found.stdout.strip(), found.stderr) == ("True", "")


def test_every_compiled_function_is_ours():
    """No module asks numba itself, whose cache can be missing."""
    modules = Path(kindset.__file__).parent.rglob("*.py")
    direct = [
        path.name
        for path in modules
        if re.search(r"^\s*(import numba|from numba)", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert direct == ["_compiling.py"]
