"""Reading files that anybody may have written: never a hang, a bomb, code or a traceback."""

import io
import json
import os
import pickle
import random
import socket
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kindset import _reading
from kindset._reading import (
    FACTOR,
    open_regular,
    read_archive,
    read_array,
    read_content,
    read_json,
    read_toml,
    regular_file,
)
from kindset._table_files import read_parquet
from kindset.exceptions import InputError
from kindset.runs import Run, load_runs
from kindset.workbench import Codebook
from kindset.workbench._tables import read_table

READERS = {
    "npy": read_array,
    "npz": read_archive,
    "json": read_json,
    "toml": read_toml,
    "parquet": read_parquet,
}
ARRAY = np.arange(12.0).reshape(3, 4)


def refused(read, path):
    """Return the sentence with which a file is refused."""
    with pytest.raises(InputError) as caught:
        read(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert not text.endswith("..")
    assert len(text) < 400 + len(str(path))
    assert "allow_pickle" not in text
    return text


@pytest.fixture
def small_limits(monkeypatch):
    for kind in ("JSON", "TOML", "expanded"):
        monkeypatch.setitem(_reading.LIMITS, kind, 1000)
    monkeypatch.setitem(_reading.LIMITS, "ratio", 2)


# --- Only regular files ---------------------------------------------------------------------------

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")


@pytest.fixture(params=["pipe", "link to a pipe", "socket", "device", "folder"])
def special(request, tmp_path):
    path = tmp_path / "special"
    with socket.socket(socket.AF_UNIX) as server:
        if request.param.endswith("pipe"):
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to("pipe")
        elif request.param == "socket":
            server.bind(str(path))
        elif request.param == "device":
            path.symlink_to("/dev/zero")
        else:
            path.mkdir()
        yield path


@needs_pipes
@pytest.mark.parametrize("kind", READERS)
def test_readers_open_regular_files_only(special, kind):
    expected = "is a folder" if special.is_dir() else "is not a regular file"
    assert expected in refused(READERS[kind], special)
    assert expected in refused(read_table, special)
    assert expected in refused(Codebook.read, special)


@needs_pipes
def test_what_a_path_leads_to_may_change(tmp_path, monkeypatch):
    """Between the look at a path and its opening, somebody puts a pipe there."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(_reading, "regular_file", lambda path: None)
    assert "is not a regular file" in refused(open_regular, tmp_path / "pipe")


@needs_pipes
@pytest.mark.parametrize("name", ["run.json", "labels.npy", "space.npy", "exhibits.npz"])
def test_run_files_that_are_none(tmp_path, name):
    Run([0, 1], [[0.0], [1.0]], exhibits={"a": ARRAY}).save(tmp_path / "run")
    for target in ("/dev/zero", tmp_path / "pipe"):
        (tmp_path / "run" / name).unlink()
        (tmp_path / "run" / name).symlink_to(target)
        if not (tmp_path / "pipe").exists():
            os.mkfifo(tmp_path / "pipe")
        assert "is not a regular file" in refused(Run.load, tmp_path / "run")


@needs_pipes
@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "data.xlsx", "data.sav"])
def test_tables_that_are_none(tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "is not a regular file" in refused(read_table, tmp_path / name)


@needs_pipes
@pytest.mark.parametrize("name", ["labels.csv", "labels.npz"])
def test_foreign_runs_that_are_none(tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "is not a regular file" in refused(lambda path: load_runs([path]), tmp_path / name)


def test_links_to_files_are_followed(tmp_path):
    np.save(tmp_path / "real.npy", ARRAY)
    (tmp_path / "link.npy").symlink_to("real.npy")
    assert regular_file(tmp_path / "link.npy").st_size == (tmp_path / "real.npy").stat().st_size
    assert_array_equal(read_array(tmp_path / "link.npy"), ARRAY)


@pytest.mark.parametrize("read", [read_array, read_archive, read_parquet])
def test_missing_file(tmp_path, read):
    assert refused(read, tmp_path / "a\nb") == rf"there is no file {tmp_path}/a\nb."


def test_unreadable_file(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.npy").touch()
    monkeypatch.setattr(_reading.os, "open", denied)
    assert refused(read_array, tmp_path / "a.npy").endswith("a.npy: Permission denied.")


# --- npy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        ARRAY,
        np.asfortranarray(ARRAY),
        ARRAY.astype(">i2"),
        np.array(["ä", "bcd"]),
        np.array([True, False]),
        np.array(3.5),
        np.zeros((0, 5)),
        np.array(["2024-01-31"], dtype="datetime64[D]"),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    ],
    ids=str,
)
def test_arrays_come_back(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", a=array, b=array)
    for found in (read_array(tmp_path / "a.npy"), read_archive(tmp_path / "a.npz")["b"]):
        assert_array_equal(found, array)
        assert found.dtype == array.dtype
        assert found.flags.writeable
        assert found.flags.f_contiguous == array.flags.f_contiguous


def test_arrays_of_several_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(_reading, "_CHUNK", 1000)
    array = np.random.default_rng(0).normal(size=(123, 7))
    np.save(tmp_path / "a.npy", array)
    np.savez_compressed(tmp_path / "a.npz", a=array)
    assert_array_equal(read_array(tmp_path / "a.npy"), array)
    assert_array_equal(read_archive(tmp_path / "a.npz")["a"], array)


def npy_bytes(header, values=b"", version=1):
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(text)) + text + values


def header(shape="(3,)", descr="'<f8'"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it does not begin like one"),
        (b"\x93NUMPY\x09\x00", "it does not begin like one"),
        (pickle.dumps([1, 2]), "it does not begin like one"),
        (npy_bytes(header("(-1,)")), "its shape (-1,) does not fit"),
        (npy_bytes(header("(2, -1)"), bytes(16)), "does not fit"),
        (npy_bytes(header(f"({2**62}, 16)")), "does not fit"),
        (npy_bytes(header(f"({10**400}, 0)")), "does not fit"),
        (npy_bytes(header("(1000000000000000, 0)")), "does not fit"),
        (npy_bytes(header("(999999999999,)", "'<U0'")), "does not fit"),
        (npy_bytes(header("(1e999,)")), "its header is damaged"),
        (npy_bytes(header("(float('inf'),)")), "its header is damaged"),
        (npy_bytes(header("3")), "its header is damaged"),
        (npy_bytes("[" * 5000), "its header is damaged"),
        (npy_bytes("{" * 60000), "its header is damaged or too long"),
        (npy_bytes(" " * 20000 + header(), bytes(24)), "its header is damaged or too long"),
        (npy_bytes(header("(3L,)"), bytes(24)), "its header is damaged"),
        (npy_bytes(header("(3,)", "'|O'"), bytes(24)), "it holds Python objects"),
        (npy_bytes(header("(1,)", "[('a', '|O')]"), bytes(8)), "it holds Python objects"),
        (npy_bytes(header(), bytes(20)), "it is truncated (24 bytes of values expected, 20 found)"),
        (npy_bytes(header(), bytes(25)), "it is longer than it declares"),
        (npy_bytes(header(str((1,) * 70)), bytes(8)), "it is damaged"),
    ],
)
def test_damaged_arrays(tmp_path, content, message):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    assert message in refused(read_array, path)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", content)
    assert message in refused(read_archive, tmp_path / "a.npz")


def test_objects_are_not_read(tmp_path):
    objects = np.array([{"a": 1}], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", a=objects, allow_pickle=True)
    for read, name in ((read_array, "a.npy"), (read_archive, "a.npz")):
        assert "Python objects, which could run code" in refused(read, tmp_path / name)


def test_a_file_that_shrinks_while_it_is_read(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", ARRAY)
    whole = (tmp_path / "a.npy").read_bytes()
    monkeypatch.setattr(_reading, "open_regular", lambda path: ShorterFile(whole, path))
    assert "it is truncated" in refused(read_array, tmp_path / "a.npy")


class ShorterFile(io.BytesIO):
    """What a file of another size than its status says."""

    def __init__(self, content, path):
        super().__init__(content[:-8])
        self.file = path.open("rb")

    def fileno(self):
        return self.file.fileno()

    def close(self):
        self.file.close()
        super().close()


def test_a_large_plain_array_is_no_bomb(tmp_path, monkeypatch):
    """What is as large as it says is read, whatever the limits are."""
    monkeypatch.setitem(_reading.LIMITS, "expanded", 1)
    np.save(tmp_path / "a.npy", ARRAY)
    assert_array_equal(read_array(tmp_path / "a.npy"), ARRAY)


def test_ten_million_rows_are_within_the_limits():
    """Of labels, which pack well, and of ten answers on a scale of seven."""
    labels = zipfile_sizes(np.zeros(10_000_000, dtype=np.int64))
    assert labels[1] < _reading.LIMITS["expanded"]
    answers = zipfile_sizes(np.random.default_rng(0).integers(7, size=100_000))
    assert answers[1] < _reading.LIMITS["ratio"] * answers[0] / 2


def zipfile_sizes(array):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=array)
    return buffer.getbuffer().nbytes, array.nbytes


# --- npz ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_limits")
def test_archives_that_expand_too_far(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros(200), b=np.zeros(200))
    read = []
    monkeypatch.setattr(_reading, "_read_npy", lambda *_: read.append(1))
    assert "expands to 3.46 kB, more than the limit of 1 kB" in refused(read_archive, path)
    assert read == [], "refused before anything is read"
    monkeypatch.setenv(FACTOR, "10")
    assert set(read_archive(path)) == {"a", "b"}


@pytest.mark.usefixtures("small_limits")
def test_archives_that_do_not_expand(tmp_path):
    array = np.random.default_rng(0).normal(size=1000)
    np.savez_compressed(tmp_path / "a.npz", a=array)
    assert_array_equal(read_archive(tmp_path / "a.npz")["a"], array)


@pytest.mark.parametrize("text", ["many", "0", "-1", "nan", ""])
def test_wrong_factor(tmp_path, monkeypatch, text):
    np.savez(tmp_path / "a.npz", a=ARRAY)
    monkeypatch.setenv(FACTOR, text)
    assert f"{FACTOR} must be a number above 0" in refused(read_archive, tmp_path / "a.npz")


def lying_archive(path, content, declared):
    """Write an archive whose directory declares another size than its member unpacks to."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content)
    whole = path.read_bytes()
    size = struct.pack("<I", len(content))
    assert whole.count(size) == 2
    path.write_bytes(whole.replace(size, struct.pack("<I", declared)))


def test_archives_that_lie_about_a_size(tmp_path):
    """A member that unpacks to 40 MB, declares 104 bytes, and has a header that agrees."""
    head = npy_bytes(header("(1,)"))
    lying_archive(tmp_path / "a.npz", head + bytes(40_000_000), len(head) + 8)
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from kindset._reading import read_archive\n"
        "from kindset.exceptions import InputError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: read_archive(Path(sys.argv[1]))\n"
        "except InputError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.npz")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [
        f"{tmp_path / 'a.npz'} is not a readable npz file: it is damaged, or of another kind.",
        "True",
    ]


def test_archives_that_promise_more_than_they_hold(tmp_path):
    head = npy_bytes(header("(1000,)"))
    lying_archive(tmp_path / "a.npz", head + bytes(16), len(head) + 8000)
    refused(read_archive, tmp_path / "a.npz")


def test_other_ways_of_packing(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, ARRAY)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", buffer.getvalue())
    assert "packed in a way" in refused(read_archive, tmp_path / "a.npz")


def test_members_that_are_no_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", a=ARRAY)
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("readme.txt", "hello")
    assert list(read_archive(tmp_path / "a.npz")) == ["a"]


# --- JSON and TOML --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "is not valid JSON"),
        (b"\xff\xfe", "it is not text in UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a": ' * 100_000, "it is nested too deeply"),
        (b"[1e999]", "the number 1e999 is too large"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"[NaN]", "NaN is not a number"),
        (b"[" + b"9" * 400 + b"]", "is too large"),
        (b"[" + b"9" * 5000 + b"]", "is too large"),
    ],
)
def test_damaged_json(tmp_path, text, message):
    (tmp_path / "a.json").write_bytes(text)
    assert message in refused(read_json, tmp_path / "a.json")
    Run([0, 1]).save(tmp_path / "run")
    (tmp_path / "run" / "run.json").write_bytes(text)
    assert message in refused(Run.load, tmp_path / "run")


def test_json_as_it_should_be(tmp_path):
    document = {"a": [1, -2.5e-300, 1e308, "ü"], "b": None, "c": 10**200}
    (tmp_path / "a.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    assert read_json(tmp_path / "a.json") == document
    (tmp_path / "a.json").write_text("[Infinity]")
    assert read_json(tmp_path / "a.json", finite=False) == [np.inf]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a =", "is not a valid TOML file"),
        (b"\xff\xfe", "it is not text in UTF-8"),
        (b"a = " + b"[" * 100_000, "it is nested too deeply"),
        (b"a = " + b"9" * 5000, "is not a valid TOML file"),
    ],
)
def test_damaged_toml(tmp_path, text, message):
    (tmp_path / "a.toml").write_bytes(text)
    assert message in refused(read_toml, tmp_path / "a.toml")
    assert message in refused(Codebook.read, tmp_path / "a.toml")


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("kind", ["json", "toml"])
def test_documents_that_are_too_large(tmp_path, kind, monkeypatch):
    path = tmp_path / f"a.{kind}"
    path.write_text(" " * 2000 if kind == "toml" else "{}" + " " * 2000)
    assert "has 2 kB, more than the limit of 1 kB" in refused(READERS[kind], path)
    monkeypatch.setenv(FACTOR, "3")
    assert READERS[kind](path) == {}


def test_content_that_does_not_fit_into_memory(tmp_path, monkeypatch):
    class Huge(ShorterFile):
        def read(self, *_):
            raise MemoryError

    (tmp_path / "a").write_bytes(bytes(20))
    monkeypatch.setattr(_reading, "open_regular", lambda path: Huge(bytes(20), path))
    assert "does not fit into memory" in refused(read_content, tmp_path / "a")


# --- Parquet --------------------------------------------------------------------------------------


@pytest.fixture
def table():
    pytest.importorskip("pyarrow")
    names = pd.Categorical(["low", "high"] * 20, categories=["low", "high"], ordered=True)
    return pd.DataFrame({"a": range(40), "b": names, "c": [f"text {i}" for i in range(40)]})


def test_tables_come_back(tmp_path, table):
    table.to_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(read_parquet(tmp_path / "a.parquet"), table)


def test_tables_that_expand_too_far(tmp_path, monkeypatch):
    """Columns of one value are packed to almost nothing, whatever the sizes in the file say."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": np.zeros(500_000, dtype=np.int8), "b": "text"}).to_parquet(path)
    assert len(read_parquet(path)) == 500_000
    monkeypatch.setitem(_reading.LIMITS, "expanded", 1_000_000)
    monkeypatch.setattr(pd, "read_parquet", lambda _: pytest.fail("read before it is refused"))
    assert "expands to 8 MB, more than the limit of 1 MB" in refused(read_parquet, path)


def test_texts_that_repeat(tmp_path, monkeypatch):
    """A text that repeats is in the file only once, and no size in it tells how often."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    table = pd.DataFrame({"a": [None, *["text " * 100] * 2000], "b": "x"})
    for kinds in ({}, {"a": "category"}):
        table.astype(kinds).to_parquet(path)
        assert read_parquet(path)["a"].tolist() == table["a"].tolist()
        with monkeypatch.context() as limited:
            limited.setitem(_reading.LIMITS, "expanded", 100_000)
            limited.setattr(pd, "read_parquet", lambda _: pytest.fail("read before it is refused"))
            assert "expands to 1 MB" in refused(read_parquet, path)


def test_lists_in_tables(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": [[0] * 200_000]}).to_parquet(path)
    monkeypatch.setitem(_reading.LIMITS, "expanded", 1_000_000)
    assert "expands to 1.6 MB" in refused(read_parquet, path)


@pytest.mark.usefixtures("small_limits")
def test_tables_with_long_texts(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": ["text " * 10_000]}).to_parquet(tmp_path / "a.parquet")
    assert "expands to 50" in refused(read_parquet, tmp_path / "a.parquet")


def test_damaged_tables(tmp_path, table):
    table.to_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:-100])
    assert "is not a readable Parquet file" in refused(read_parquet, tmp_path / "a.parquet")


@pytest.mark.parametrize("error", ["ArrowException", OverflowError, MemoryError, OSError])
def test_whatever_pyarrow_raises(tmp_path, table, monkeypatch, error):
    pa = pytest.importorskip("pyarrow")
    kind = pa.ArrowException if error == "ArrowException" else error

    def fails(_):
        raise kind("in\nmany lines")

    table.to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(pd, "read_parquet", fails)
    assert "many lines" not in refused(read_table, tmp_path / "a.parquet")


# --- Damage of any kind ---------------------------------------------------------------------------


def sound(kind, folder):
    """Write a sound file of a kind and return it."""
    path = folder / f"sound.{kind}"
    if kind == "npy":
        np.save(path, ARRAY)
    elif kind == "npz":
        np.savez_compressed(path, a=ARRAY, b=np.array(["x", "yz"]))
    elif kind == "json":
        path.write_text(json.dumps({"a": [1, 2.5, "ü"], "b": {"c": None}}), encoding="utf-8")
    elif kind == "toml":
        path.write_text('a = ["x", "y"]\n[questions]\na = "ü?"\n', encoding="utf-8")
    else:
        frame = pd.DataFrame({"a": range(40), "b": [f"text {i}" for i in range(40)]})
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("kind", READERS)
def test_flipped_bytes_and_cuts(tmp_path, kind):
    """A damaged file is read, or refused in one sentence."""
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    whole = sound(kind, tmp_path).read_bytes()
    rng = random.Random(0)
    path = tmp_path / "damaged"
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
        try:
            READERS[kind](path)
        except InputError:
            refused(READERS[kind], path)
