"""The training loop: its state, its hooks, and checkpoints that can be trusted."""

import json
import os
import re
from functools import partial

import numpy as np
import pytest
import torch

from kindset._torch import checkpoint as checkpoints
from kindset._torch import clock as clocks
from kindset._torch.callbacks import Callback, Callbacks, Checkpointing, Interrupt, Progress
from kindset._torch.checkpoint import Checkpoint
from kindset._torch.clock import StageClock
from kindset.exceptions import InputError
from kindset.images import DTIGaussianMixture, DTIKMeans
from kindset.images._restarts import _start
from kindset.images._setup import choose_transforms, make_groups, make_problem

OPTIONS = {"transforms": ("affine", "tps"), "n_init": 2, "max_epochs": 30, "batch_size": 32,
           "random_state": 0}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    """Compute as `fit` does, and leave torch as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def new_trainer(images, kind=DTIKMeans, **options):
    """Return a trainer as `fit` would set it up."""
    model = kind(3, **{**OPTIONS, **options})
    read = model._read_training(images)
    model.transforms_ = choose_transforms(model.transforms, read.shape[1:])
    problem = make_problem(model, read)
    return _start(problem, make_groups(model, problem)[0])


def same(one, other):
    """Whether two states are equal to the last bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


class Watch(Callback):
    """Notes what happens."""

    def __init__(self):
        self.events = []

    def on_step_begin(self, training):
        self.events.append(("step", training.step))

    def on_window_end(self, training):
        self.events.append(("window", training.step))

    def on_stage_end(self, training):
        self.events.append(("stage", training.stage))


@pytest.mark.parametrize("options", [
    {}, {"kind": DTIGaussianMixture, "n_reviews": 1},
    {"alignment": "optimized", "transforms": ("affine",), "max_epochs": 8},
])  # fmt: skip
def test_state_dict_round_trip(shapes, options):
    """A trainer that takes over the state of another goes on like it."""
    n_stop = 15
    trainer = new_trainer(shapes[0], **options)
    states = []

    class Keep(Callback):
        def on_stage_end(self, training):
            if training.step >= n_stop:
                states.append(training.state_dict())
                training.stop()

    trainer.run([Keep()])
    state = checkpoints._without_tensors(trainer.state_dict(), "", tensors := {})
    copies = {name: one.clone() for name, one in tensors.items()}
    other = new_trainer(shapes[0], **options)
    other.load_state_dict(checkpoints._with_tensors(json.loads(json.dumps(state)), copies))
    assert same(other.state_dict(), trainer.state_dict())
    assert trainer.run()
    assert other.run()
    assert len(states) == 1
    assert same(other.state_dict(), trainer.state_dict())


def test_hooks_are_called_in_order(shapes, monkeypatch):
    monkeypatch.setattr("kindset.images._training.WINDOW", 10)
    watch = Watch()
    trainer = new_trainer(shapes[0])
    assert trainer.run([watch])
    steps = [n for name, n in watch.events if name == "step"]
    assert steps == list(range(trainer.step))
    ends = [n for name, n in watch.events if name == "stage"]
    assert ends == list(range(1, len(trainer.recipe.stages) + 1))
    n_windows = sum(name == "window" for name, _ in watch.events)
    assert n_windows + len(ends) == len(trainer.history.step)  # never both for one window
    assert watch.events[-1] == ("stage", len(ends))


def test_an_interrupt_ends_the_training_before_the_next_step(shapes):
    trainer = new_trainer(shapes[0])
    assert not trainer.run([Interrupt(lambda: trainer.step >= 7)])
    assert (trainer.step, trainer.stopped, trainer.finished) == (7, True, False)


def test_progress_moves_with_every_stage(shapes):
    notes = []
    trainer = new_trainer(shapes[0])
    trainer.run([Progress(notes.append)])
    assert [note.split(":")[0] for note in notes] == [one.name for one in trainer.recipe.stages]
    assert notes[-1] == f"refine: loss {trainer.history.loss[-1].min():.5f}"


def test_progress_is_counted_in_stages(shapes, capsys):
    DTIKMeans(3, transforms=(), n_init=1, max_epochs=2, random_state=0, verbose=1).fit(shapes[0])
    line = capsys.readouterr().err.splitlines()[-1]
    assert re.match(r"Training stages \(3 clusters\): (\d+)/\1, \d+ s ", line)


def test_several_callbacks_are_one():
    first, second = Watch(), Watch()
    both, trainer = Callbacks([first, second]), type("Training", (), {"step": 1, "stage": 2})()
    both.on_step_begin(trainer)
    both.on_window_end(trainer)
    both.on_stage_end(trainer)
    assert first.events == second.events == [("step", 1), ("window", 1), ("stage", 2)]


def test_checkpoints_within_a_stage_wait_for_their_time(tmp_path, monkeypatch):
    saved, now = [], [0.0]
    monkeypatch.setattr("kindset._torch.callbacks.time.monotonic", lambda: now[0])
    monkeypatch.setattr(Checkpoint, "save", lambda self, training: saved.append(now[0]))
    callback = Checkpointing(Checkpoint(tmp_path / "x", "identity"))
    for now[0] in (10.0, 31.0, 50.0, 62.0):
        callback.on_window_end(None)
    callback.on_stage_end(None)
    assert saved == [31.0, 62.0, 62.0]


def test_a_clock_shares_out_the_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(clocks.time, "monotonic", lambda: now[0])
    clock = StageClock(20.0)
    clock.start()
    clock.open_stage(0.25)
    now[0] += 4
    assert clock.taken() == 0.8
    assert not clock.is_over()
    now[0] += 2
    assert clock.is_over()
    assert clock.is_behind(0.25)
    assert not clock.is_behind(0.5)
    unlimited = StageClock(None)
    now[0] += 1e9
    assert not unlimited.is_over()
    assert not unlimited.is_behind(0.0)


@pytest.fixture(scope="module")
def saved(shapes, tmp_path_factory):
    """Return the files of a checkpoint, by name, and what can be asked to resume from them."""
    folder = tmp_path_factory.mktemp("checkpoint")
    model = partial(DTIKMeans, 3, **{**OPTIONS, "transforms": (), "max_epochs": 3})
    model(checkpoint_dir=folder).fit(shapes[0])
    return {path.name: path.read_bytes() for path in folder.iterdir()}, model


@pytest.fixture
def attempt(saved, tmp_path, shapes):
    """Return the folder of a copy, and a function that resumes from it."""
    files, model = saved
    folder = tmp_path / "inside"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder, lambda: model(checkpoint_dir=folder).fit(shapes[0])


def tensor_file(folder):
    (path,) = folder.glob("*.safetensors")
    return path


@pytest.mark.parametrize("name", [
    "../outside.safetensors", "../group-0-1.safetensors", "/{outside}", "sub/group-0-1.safetensors",
    "sub\\group-0-1.safetensors", "..", ".", "", "group-0-1.safetensors\n", "group-1-1.safetensors",
    "group-0-x.safetensors", "group-0-1.json", 7, None, ["group-0-1.safetensors"],
])  # fmt: skip
def test_names_in_a_checkpoint_cannot_leave_its_folder(attempt, name):
    folder, resume = attempt
    outside = folder.parent / "outside.safetensors"
    outside.write_bytes(tensor_file(folder).read_bytes())
    outside.with_name("group-0-1.safetensors").write_bytes(outside.read_bytes())
    document = json.loads((folder / "group-0.json").read_text())
    document["tensors"] = str(outside) if name == "/{outside}" else name
    (folder / "group-0.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged: it names a file that is not its own"):
        resume()


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
@pytest.mark.parametrize("which", ["json", "tensors"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "dangling"])
def test_only_regular_files_are_read(attempt, which, kind):
    folder, resume = attempt
    path = folder / "group-0.json" if which == "json" else tensor_file(folder)
    outside = folder.parent / "outside"
    path.rename(outside)
    if kind == "dangling":
        outside.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(outside)
    with pytest.raises(InputError, match=f"damaged: {path.name} is not a regular file"):
        resume()


def test_a_missing_file_is_named(attempt):
    folder, resume = attempt
    path = tensor_file(folder)
    path.unlink()
    with pytest.raises(InputError, match=f"cannot read .*{path.name}: No such file"):
        resume()


def test_changed_tensors_are_noticed(attempt):
    folder, resume = attempt
    path = tensor_file(folder)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged: its files have changed since"):
        resume()


def forge(folder, change):
    """Change the state in a checkpoint, so that the digest says nothing."""
    path = folder / "group-0.json"
    document = json.loads(path.read_text())
    document = change(document) or document
    content = tensor_file(folder).read_bytes()
    document["sha256"] = checkpoints._digest(document["state"], content)
    path.write_text(json.dumps(document))


def swap_tensors(document):
    state = document["state"]
    model, search = state["model"], state["search"]
    model["prototypes"], search["memory"] = search["memory"], model["prototypes"]


@pytest.mark.parametrize("change", [
    lambda document: document["state"].pop("model"),
    lambda document: document["state"]["counts"].update(stage=99),
    lambda document: document["state"]["counts"].update(stage=-1),
    lambda document: document["state"]["counts"].update(step="many"),
    lambda document: document["state"]["counts"].update(step=None),
    lambda document: document["state"].update(model=[1]),
    lambda document: document["state"].update(generator=document["state"]["search"]["memory"]),
    lambda document: document["state"]["search"]["memory"].update({"$tensor": "/elsewhere"}),
    lambda document: document["state"]["search"].update(memory=document["state"]["generator"]),
    lambda document: document["state"]["batches"].update(queue=document["state"]["generator"]),
    lambda document: document.update(state=[]),
    swap_tensors,
])  # fmt: skip
def test_a_damaged_state_is_one_sentence(attempt, change):
    """Torch's own words have many lines, of which a user sees the first."""
    folder, resume = attempt
    forge(folder, lambda document: change(document) and None)
    with pytest.raises(InputError, match=r"is damaged: .*; remove .* to start anew\.$") as caught:
        resume()
    assert "\n" not in str(caught.value)
    assert "frame #" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "7", "{", "[" * 100_000, '{"identity": 1e999}', "\0"])
def test_a_damaged_document_is_one_sentence(attempt, text):
    folder, resume = attempt
    (folder / "group-0.json").write_text(text)
    with pytest.raises(InputError) as caught:
        resume()
    assert "\n" not in str(caught.value)


def test_an_undamaged_checkpoint_is_resumed(attempt, saved, shapes):
    """What the tests above change is fine unchanged."""
    folder, resume = attempt
    forge(folder, lambda document: None)
    again = resume()
    np.testing.assert_array_equal(again.prototypes_, saved[1]().fit(shapes[0]).prototypes_)
