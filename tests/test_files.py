"""Writing files: in one step, to the disk, never over something that is no file."""

import errno
import os
import pickle

import numpy as np
import pandas as pd
import pytest

from kindset import _files, _replacing
from kindset._files import (
    check_output_file,
    check_output_folder,
    csv_text,
    output_folder,
    shown,
    write_bytes,
    write_csv,
    write_text,
)
from kindset.exceptions import InputError
from kindset.runs import Run


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def synced(monkeypatch):
    """What reaches the disk and what is renamed, in order."""
    events = []
    fsync, replace = os.fsync, _files.Path.replace

    def watched_fsync(handle):
        events.append(("sync", os.path.realpath(f"/proc/self/fd/{handle}").rsplit("/", 1)[-1]))
        fsync(handle)

    def watched_replace(path, target):
        events.append(("rename", target.name))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(_files.Path, "replace", watched_replace)
    return events


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")  # noqa: PTH112


@needs_proc
def test_a_file_is_on_the_disk_before_it_is_renamed(tmp_path, synced):
    write_bytes(tmp_path / "a.txt", b"new")
    kinds = [kind for kind, _ in synced]
    assert kinds == ["sync", "rename", "sync"]
    assert synced[0][1].endswith(".part")
    assert synced[1:] == [("rename", "a.txt"), ("sync", tmp_path.name)]


@needs_proc
def test_a_folder_is_on_the_disk_before_it_is_renamed(tmp_path, synced):
    with output_folder(tmp_path / "run", force=False) as stage:
        (stage / "below").mkdir()
        (stage / "below" / "a.npy").write_bytes(b"a")
        (stage / "run.json").write_text("{}")
        (stage / "link").symlink_to("nowhere")
    at = synced.index(("rename", "run"))
    before = {name for kind, name in synced[:at]}
    assert {"a.npy", "run.json", "below"} <= before
    assert synced[at + 1 :] == [("sync", tmp_path.name)]


def test_folders_that_cannot_be_synced(tmp_path, monkeypatch):
    def fails(handle):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fails)
    _replacing.sync_folder(tmp_path)


@pytest.fixture
def full_disk(monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)


@pytest.mark.usefixtures("full_disk")
def test_full_disk_names_the_file(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(tmp_path / "a.txt", "new")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("failing", ["write_text", "np.save"])
def test_full_disk_names_the_folder_or_the_file_in_it(tmp_path, monkeypatch, failing):
    def full_text(path, text):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    def full_array(*_, **__):
        raise OSError("96 requested and 0 written")  # numpy's words

    if failing == "write_text":
        monkeypatch.setattr("kindset.runs._run.write_text", full_text)
    else:
        monkeypatch.setattr(np, "save", full_array)
    with pytest.raises(OSError, match=r"No space left|the disk may be full") as caught:
        Run([0, 1]).save(tmp_path / "run")
    expected = "run.json" if failing == "write_text" else "labels.npy"
    assert caught.value.filename == str(tmp_path / "run" / expected)
    assert caught.value.strerror
    assert names_in(tmp_path) == []


def test_a_folder_that_cannot_be_written_names_the_file(tmp_path, monkeypatch):
    def denied(**_):
        raise PermissionError(errno.EACCES, "Permission denied", "/x/.a.txt.abc.part")

    monkeypatch.setattr(_files.tempfile, "mkstemp", denied)
    with pytest.raises(PermissionError) as caught:
        write_text(tmp_path / "a.txt", "new")
    assert caught.value.filename == str(tmp_path / "a.txt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to a pipe"])
def test_only_regular_files_are_replaced(tmp_path, kind):
    path = tmp_path / "out"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/null")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to("pipe")
    before = path.lstat()
    for write in (
        lambda: write_bytes(path, b"x"),
        lambda: write_csv(path, pd.DataFrame({"a": [1]})),
        lambda: check_output_file(path, force=True),
        lambda: check_output_file(path, force=False),
    ):
        with pytest.raises(InputError, match="is a folder" if kind == "folder" else "regular"):
            write()
    assert path.lstat().st_ino == before.st_ino


def test_check_of_an_output_file(tmp_path, monkeypatch):
    check_output_file(tmp_path / "new.html", force=False)
    (tmp_path / "old.html").touch()
    check_output_file(tmp_path / "old.html", force=True)
    with pytest.raises(InputError, match=r"old\.html exists already") as caught:
        check_output_file(tmp_path / "old.html", force=False)
    assert caught.value.parameter == "force"
    assert "--" not in str(caught.value)
    with pytest.raises(InputError, match=r"there is no folder .*none to write a\.html into"):
        check_output_file(tmp_path / "none" / "a.html", force=True)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot write into"):
        check_output_file(tmp_path / "new.html", force=False)


def test_check_of_an_output_folder_names_no_option(tmp_path):
    Run([0, 1]).save(tmp_path / "run")
    with pytest.raises(InputError, match="exists already") as caught:
        check_output_folder(tmp_path / "run", force=False)
    assert caught.value.parameter == "force"
    assert "--" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_markers_that_are_no_files_do_not_block(tmp_path):
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / "run.json")
    with pytest.raises(InputError, match="did not write"):
        check_output_folder(tmp_path / "run", force=True)


# --- CSV ------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(
    {
        "=cmd": ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "plain", "a=b", None, "-5", "+49 170"],
        "number": [-5.25, 1, 2, 3, 4, 5, 6, 7, 8, np.nan, -0.125],
        "whole": range(-5, 6),
    }
)
SAFE = ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "'\rx", "plain", "a=b", None, "-5", "'+49 170"]


def back(path):
    return pd.read_csv(path, keep_default_na=False, dtype=str)


def test_cells_that_a_spreadsheet_would_run(tmp_path):
    write_csv(tmp_path / "a.csv", FRAME, float_format="%.3f")
    found = back(tmp_path / "a.csv")
    assert list(found.columns) == ["'=cmd", "number", "whole"]
    assert found["'=cmd"].tolist() == [cell or "" for cell in SAFE]
    assert found["number"].tolist()[:2] == ["-5.250", "1.000"]
    assert found["number"].tolist()[-2:] == ["", "-0.125"]
    assert found["whole"].tolist()[0] == "-5"


def test_cells_as_they_are(tmp_path):
    write_csv(tmp_path / "a.csv", FRAME, neutral=False)
    found = back(tmp_path / "a.csv")
    assert found["=cmd"].tolist() == FRAME["=cmd"].fillna("").tolist()


@pytest.mark.parametrize("dtype", ["category", "str", "object", "string"])
def test_text_of_any_type(dtype):
    column = pd.Series(["=x", "y", "=x", None], dtype=dtype, name="a")
    assert csv_text(column.to_frame()) == "a\n'=x\ny\n'=x\n\"\"\n"


def test_cells_of_several_lines():
    """A carriage return inside a cell begins no new line, which could be a formula."""
    frame = pd.DataFrame({"a": ["x\r=1", 'said "\r\n"', "x\n=1"], "b": 1})
    assert csv_text(frame) == 'a,b\n"x\r=1",1\n"said ""\r\n""",1\n"x\n=1",1\n'


def test_mixed_cells_and_repeated_names():
    frame = pd.DataFrame([[-1, "=x"], ["-y", 2.5]], columns=["a", "a"])
    assert csv_text(frame) == "a,a\n-1,'=x\n'-y,2.5\n"


def test_the_index_is_text_too():
    frame = pd.DataFrame({"score": [1.5, -2]}, index=pd.Index(["=a", "b"], name="@run"))
    assert csv_text(frame, index=True) == "'@run,score\n'=a,1.5\nb,-2.0\n"


# --- Names and errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain ü 数.png", "plain ü 数.png"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred\x07\x7f", r"\x1b[31mred\x07\x7f"),
        ("gpj\u202egnp", r"gpj\u202egnp"),
        ("a\u2028b\x85", r"a\u2028b\x85"),
        (os.fsdecode(b"caf\xe9"), r"caf\udce9"),
        (b"caf\xc3\xa9", "café"),
    ],
)
def test_shown(name, expected):
    assert shown(name) == expected


def test_errors_name_their_parameter():
    error = pickle.loads(pickle.dumps(InputError("too small.", parameter="size")))
    assert (str(error), error.parameter) == ("too small.", "size")
    assert InputError("wrong.").parameter is None
    assert isinstance(error, ValueError)
