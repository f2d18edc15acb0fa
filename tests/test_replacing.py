"""Replacing a folder: whatever happens in between, the old one or the new one is there."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kindset import _replacing
from kindset.exceptions import InputError
from kindset.runs import Run, load_runs


def save(name, path, **options):
    Run([0, 1], space=[[0.0], [1.0]], name=name).save(path, **options)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def cannot_exchange(monkeypatch):
    monkeypatch.setattr(_replacing, "exchange", lambda one, other: False)


def can_exchange(folder):
    for name in ("one", "other"):
        (folder / name).mkdir()
    able = _replacing.exchange(folder / "one", folder / "other")
    for name in ("one", "other"):
        (folder / name).rmdir()
    return able


KILLED = {
    # The moment in which there is no folder, on a system that cannot exchange two.
    "between the renames": (
        "from kindset import _replacing; _replacing.exchange = lambda one, other: False\n"
        "from pathlib import Path; rename = Path.replace\n"
        "def die(path, target):\n"
        "    if path.suffix == '.new' and not target.exists(): os.kill(os.getpid(), 9)\n"
        "    return rename(path, target)\n"
        "Path.replace = die\n"
    ),
    "before the old one is removed": (
        "import shutil; shutil.rmtree = lambda *_, **__: os.kill(os.getpid(), 9)\n"
    ),
    "while it is written": "Run.write = lambda *_: os.kill(os.getpid(), 9)\n",
}
EXPECTED = {
    "between the renames": "old",
    "before the old one is removed": "new",
    "while it is written": "old",
}


def kill(moment, path):
    code = (
        f"import os, sys; from kindset.runs import Run\n{KILLED[moment]}"
        "Run([0, 1], name='new').save(sys.argv[1], force=True)\n"
    )
    found = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert found.returncode == -signal.SIGKILL


@pytest.mark.parametrize("moment", KILLED)
def test_killed(tmp_path, moment):
    save("old", tmp_path / "run")
    kill(moment, tmp_path / "run")
    assert (tmp_path / "run").exists() == (moment != "between the renames")
    assert len(list(tmp_path.glob(".run.*"))) >= 1
    assert Run.load(tmp_path / "run").name == EXPECTED[moment]
    save("third", tmp_path / "run", force=True)
    assert Run.load(tmp_path / "run").name == "third"
    assert names_in(tmp_path) == ["run"]


def test_killed_among_other_runs(tmp_path):
    for name in ("run", "other"):
        save(name, tmp_path / name)
    kill("between the renames", tmp_path / "run")
    assert sorted(run.name for run in load_runs([tmp_path])) == ["other", "run"]
    kill("between the renames", tmp_path / "run")
    assert load_runs([tmp_path / "run"])[0].name == "run"


def test_killed_output_of_the_command_line(kindset, folder):
    (folder / "t.csv").write_text("a,b\n1,2\n2,1\n1,1\n")
    assert kindset("cluster", "t.csv", "-m", "bos", "-k", 1, "--out", "run")[0] == 0
    kill("between the renames", folder / "run")
    code, _, err = kindset("predict", "run", "t.csv")
    assert code == 0, err
    kill("between the renames", folder / "run")
    code, _, err = kindset("cluster", "t.csv", "-m", "bos", "-k", 1, "--out", "run")
    assert code == 2, "it is there, and not to be replaced unasked"
    assert "exists already" in err


def test_there_is_always_a_folder(tmp_path):
    if not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two folders")
    save("0", tmp_path / "run")
    missed, done = [], threading.Event()

    def watch():
        while not done.is_set():
            if not (tmp_path / "run" / "run.json").exists():
                missed.append(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for i in range(60):
        save(str(i), tmp_path / "run", force=True)
    done.set()
    watcher.join()
    assert missed == []
    assert Run.load(tmp_path / "run").name == "59"


@pytest.mark.usefixtures("cannot_exchange")
def test_without_exchange(tmp_path):
    save("old", tmp_path / "run")
    save("new", tmp_path / "run", force=True)
    assert Run.load(tmp_path / "run").name == "new"
    assert names_in(tmp_path) == ["run"]


@pytest.mark.usefixtures("cannot_exchange")
def test_failed_replacement_keeps_the_old_folder(tmp_path, monkeypatch):
    save("old", tmp_path / "run")
    original = Path.replace

    def fails(self, target):
        if self.suffix == ".new":
            raise OSError("disk on fire")
        return original(self, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="on fire"):
        save("new", tmp_path / "run", force=True)
    assert Run.load(tmp_path / "run").name == "old"
    assert names_in(tmp_path) == ["run"]


def test_only_what_belongs_to_the_place_is_touched(tmp_path):
    others = [
        ".run.work",
        ".run.20240131.old",
        ".run.x.kindset-abcdefgh.new",
        ".runs.kindset-abcdefgh.old",
        ".run.old",
        "run.kindset-abcdefgh.new",
    ]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / ".config.kindset-settings.old").write_text("not a folder")
    others.append(".config.kindset-settings.old")
    save("one", tmp_path / "run")
    save("two", tmp_path / "run", force=True)
    assert names_in(tmp_path) == sorted([*others, "run"])


def test_what_another_process_is_filling_is_left_alone(tmp_path):
    code = (
        "import sys; from pathlib import Path; from kindset._files import output_folder\n"
        "with output_folder(Path(sys.argv[1]), force=True) as stage:\n"
        "    print('begun', flush=True); sys.stdin.readline()\n"
        "    (stage / 'run.json').write_text('{}')\n"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "run")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(arguments, **pipes) as writer:
        assert writer.stdout.readline() == "begun\n"
        save("mine", tmp_path / "run")
        assert len(list(tmp_path.glob(".run.*.new"))) == 1
        writer.communicate("go on\n")
    assert writer.returncode == 0
    assert (tmp_path / "run" / "run.json").read_text() == "{}"
    assert names_in(tmp_path) == ["run"]


@pytest.mark.usefixtures("cannot_exchange")
def test_a_reader_waits_for_a_living_writer(tmp_path):
    """Between two renames there is nothing to read, but nothing is taken from the writer."""
    save("old", tmp_path / "run")
    with _replacing.new_folder(tmp_path / "run") as new:
        (tmp_path / "run").replace(new.with_suffix(".old"))
        with pytest.raises(InputError):
            load_runs([tmp_path / "run"])
        assert new.with_suffix(".old").exists()
    assert load_runs([tmp_path / "run"])[0].name == "old"


def test_a_link_leads_to_the_new_run(tmp_path):
    save("old", tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    save("new", tmp_path / "link", force=True)
    assert (tmp_path / "link").is_symlink()
    assert Run.load(tmp_path / "real").name == "new"
    assert names_in(tmp_path) == ["link", "real"]
