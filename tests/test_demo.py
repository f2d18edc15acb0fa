"""The demo: a small version in every run of the tests, the whole of it among the slow ones."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from kindset.cli import _demo
from kindset.runs import Run, load_runs
from kindset.workbench import Setting, _methods


@pytest.fixture
def small(monkeypatch):
    """Few segments and quick methods."""
    monkeypatch.setattr(_demo, "_SEGMENTS", [1, 2])
    settings = [Setting("kmeans", 10), Setting("kmeans", 9), Setting("ward", 10)]
    monkeypatch.setattr(_demo, "SETTINGS", settings)


def test_from_survey_and_digits_to_a_page(kindset, folder, small):
    code, out, err = kindset("demo")
    assert code == 0, err
    assert re.search(r"describes them best, with [23] segments", out)
    assert "Verdict" in out
    assert "comes first" in out or "share the first place" in out
    page = folder / "demo-output" / "report.html"
    assert out.rstrip().endswith(str(page))
    text = page.read_text()
    assert "Election survey" in text
    assert "Handwritten digits" in text
    assert len(load_runs([folder / "demo-output"])) == 6
    code, out, _ = kindset("demo")
    assert code == 0
    assert out.count("there already") == 6
    assert page.read_text() == text


def test_without_the_extra_for_images(kindset, folder, small, monkeypatch):
    """Those methods are left out with a note, and the page is written all the same."""
    monkeypatch.setattr(_demo, "SETTINGS", [*_demo.SETTINGS, Setting("dti-kmeans", 10)])
    absent = ("torch", "safetensors")
    monkeypatch.setattr(_methods, "find_spec", lambda name: None if name in absent else True)
    code, out, err = kindset("demo")
    assert code == 0, err
    assert "`kindset[images]` is not installed: dti-kmeans." in out
    assert len(load_runs([folder / "demo-output"])) == 6
    assert (folder / "demo-output" / "report.html").exists()


def test_never_over_something_else(kindset, folder, small):
    (folder / "demo-output").mkdir()
    (folder / "demo-output" / "thesis.tex").write_text("years of work")
    code, _, err = kindset("demo")
    assert code == 2
    assert "did not write" in err
    assert (folder / "demo-output" / "thesis.tex").exists()


@pytest.mark.slow
def test_whole_demo_killed_and_finished(folder):
    command = [sys.executable, "-m", "kindset", "demo"]
    rng = random.Random(0)
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(8 + 30 * rng.random())
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for path in folder.glob("demo-output/*/run.json"):
            Run.load(path.parent)
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "there already" in finished.stdout
    assert len(load_runs([folder / "demo-output"])) == 3 + len(_demo.SETTINGS)
    assert (folder / "demo-output" / "report.html").stat().st_size < 2_000_000
