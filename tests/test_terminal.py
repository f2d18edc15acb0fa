"""What reaches a terminal, a pipe or a log, and what a full disk or a closed stream does to it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kindset.runs import Run

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="the system has no full device")


@pytest.fixture
def rows(folder):
    """Rows in two groups, with an id that means something to a spreadsheet and to messages."""
    X = np.r_[np.zeros((6, 2)), np.full((6, 2), 9.0)] + np.arange(12)[:, None] / 100
    ids = ["=1+1", "say `k`", *(f"r{i}" for i in range(10))]
    pd.DataFrame({"who": ids, "a": X[:, 0], "b": X[:, 1]}).to_csv("rows.csv", index=False)
    return folder / "rows.csv"


@pytest.fixture
def run_folder(kindset, rows):
    code, _, err = kindset(
        "cluster", rows, "-m", "kmeans", "-k", 2, "--id-column", "who", "-o", "run"
    )
    assert code == 0, err
    return rows.parent / "run"


def in_a_shell(line, **variables):
    """Run a line of shell; `kindset` in it is the command line."""
    command = f'kindset() {{ "{sys.executable}" -m kindset "$@"; }}; {line}'
    environment = {**os.environ, **variables}
    ended = subprocess.run(["bash", "-c", command], capture_output=True, env=environment)
    return ended.returncode, ended.stdout.decode(), ended.stderr.decode()


def test_a_reader_that_goes_away_is_no_error():
    """The pipe has no reader any more when the command begins to write."""
    code, _, err = in_a_shell("(sleep 0.2; kindset --help) | true; exit ${PIPESTATUS[0]}")
    assert (code, err) == (0, "")


@needs_full
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_full_disk_behind_the_output_is_named(option):
    code, _, err = in_a_shell(f"kindset {option} > {FULL}")
    assert code == 2
    assert err == "kindset: standard output: No space left on device.\n"


@needs_full
def test_a_full_disk_behind_the_messages_changes_nothing():
    assert in_a_shell(f"kindset --nonsense 2> {FULL}")[0] == 2
    assert in_a_shell(f"kindset --version 2> {FULL}")[0] == 0


def test_closed_streams():
    assert in_a_shell("kindset --help >&-") == (0, "", "")
    assert in_a_shell("kindset --nonsense 2>&- >&-") == (2, "", "")
    assert in_a_shell("kindset --version 2>&-")[1].startswith("kindset ")


def test_a_terminal_of_plain_ascii(folder):
    table = pd.DataFrame({"größe": [0.0, 0.1, 5.0, 5.1], "b": [1.0, 2.0, 1.0, 2.0]})
    table.to_csv(folder / "a.csv", index=False)
    code, out, err = in_a_shell(
        "kindset cluster a.csv -m kmeans -k 2",
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )
    assert code == 0, err
    assert r"gr\xf6\xdfe" in out


def test_names_of_files_that_are_no_text(kindset, folder):
    """Such names are part of the command that a run writes down."""
    table = pd.DataFrame({"a": [0.0, 0.1, 5.0, 5.1], "b": [1.0, 2.0, 1.0, 2.0]})
    table.to_csv(folder / "a\udcff.csv", index=False)
    code, _, err = kindset("cluster", "a\udcff.csv", "-m", "kmeans", "-k", 2, "-o", "run")
    assert code == 0, err
    assert "a\udcff.csv" in Run.load(folder / "run").command


def test_names_with_control_characters_stay_on_one_line(kindset, folder, rows):
    nasty = folder / "a\x1b[31m\nb"
    nasty.mkdir()
    rows.rename(nasty / "rows.csv")
    arguments = ("-m", "kmeans", "-k", 2, "--id-column", "who", "-o", nasty / "run")
    for source in (nasty / "rows.csv", nasty / "missing.csv", nasty):
        _, out, err = kindset("cluster", source, *arguments)
        for stream in (out, err):
            assert "\x1b" not in stream
            assert not any(line.startswith("b") for line in stream.splitlines())
    _, out, _ = kindset("report", nasty / "run", "-o", nasty / "page.html")
    assert r"a\x1b[31m\nb" in out


def test_data_are_printed_as_they_are(kindset, run_folder):
    """A word in backticks is a parameter in a message, but not in somebody's data."""
    code, out, _ = kindset("predict", "run", "rows.csv", "--json")
    assert code == 0
    assert [row["who"] for row in json.loads(out)["rows"]][:2] == ["=1+1", "say `k`"]


def test_cells_on_the_screen_are_as_safe_as_in_a_file(kindset, run_folder):
    _, out, _ = kindset("predict", "run", "rows.csv")
    assert kindset("predict", "run", "rows.csv", "-o", "new.csv")[0] == 0
    assert out == (run_folder.parent / "new.csv").read_text()
    assert out.splitlines()[1].startswith("'=1+1,")


@pytest.mark.parametrize("content", ["fifo", "deep", "bytes"])
def test_options_in_a_file_that_is_none(kindset, rows, content):
    path = rows.parent / "options.toml"
    if content == "fifo":
        os.mkfifo(path)
    else:
        path.write_bytes(b"\xff" if content == "bytes" else b"a = " + b"[" * 10**5)
    code, _, err = kindset("cluster", rows, "-m", "kmeans", "-k", 2, "--config", path)
    assert code == 2
    assert err.count("\n") == 1
    assert "options.toml" in err


@pytest.mark.parametrize("number", ["²", "9" * 5000, "1:99999999999999999999"])
def test_digits_that_are_no_numbers(kindset, rows, number):
    code, _, err = kindset("cluster", rows, "-m", "kmeans", "-k", number)
    assert code == 2
    assert "-k takes a number of clusters" in err


def test_parameters_of_too_many_digits(kindset, rows):
    parameter = f"max_iter={'9' * 5000}"
    code, _, err = kindset(
        "cluster", rows, "-m", "kmeans", "-k", 2, "--exclude", "who", "-p", parameter
    )
    assert code == 2
    assert "--param" in err
