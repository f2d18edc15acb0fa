"""A second network that learns the transformations from the assignments of the first."""

import copy
import os
import signal
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from kindset.evaluation import clustering_accuracy
from kindset.exceptions import InputError
from kindset.images import DTIGaussianMixture, DTIKMeans, load_clustering, save_clustering
from kindset.images import _restarts as restarts
from kindset.images import _training as training
from kindset.images._encoders import build_encoder, count_features
from kindset.images._model import all_energies
from kindset.images._schedule import plan_stages
from kindset.images._transforms import transformation_classes

# On few and simple images the first network is often the better one.
pytestmark = pytest.mark.filterwarnings("ignore:The student came to no lower loss")

QUICK = {"transforms": ("affine",), "n_init": 2, "max_epochs": 600, "random_state": 0}
BOTH = pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])
AMT = ("affine", "morphological", "tps")


def plan(names, n_restarts, **options):
    kinds = transformation_classes(names)
    return plan_stages(names, kinds, (1, 28, 28), n_restarts=n_restarts, n_steps=6000, **options)


@pytest.mark.parametrize("n_restarts", [1, 4])
@pytest.mark.parametrize("names", [("affine",), AMT, ("colour", "affine", "tps")])
@pytest.mark.parametrize("curriculum", [False, True])
def test_a_student_is_not_at_the_cost_of_the_search(names, n_restarts, curriculum):
    without = plan(names, n_restarts, curriculum=curriculum)
    stages = plan(names, n_restarts, curriculum=curriculum, student=True)
    *search, student, refine = stages
    assert [stage.max_steps for stage in search] == [stage.max_steps for stage in without[:-1]]
    assert not any(stage.by_student or stage.held for stage in search)
    assert (student.name, student.by_student, refine.by_student) == ("student", True, True)
    assert 0 < student.held < student.max_steps / 4
    assert refine.held == 0
    assert sum(stage.share for stage in stages) == pytest.approx(1)


def test_a_limit_holds_with_a_student_as_well():
    stages = plan(AMT, 4, student=True, limited=True)
    assert sum(stage.max_steps for stage in stages) == pytest.approx(6000, abs=3)


@BOTH
def test_student_takes_over(kind, shapes):
    images, labels = shapes
    model = kind(3, **QUICK, student="mlp").fit(images)
    assert list(dict.fromkeys(model.history_.stage)) == ["identity", "affine", "student", "refine"]
    assert clustering_accuracy(labels, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    assert model.history_.loss[-1] < model.history_.loss[0]
    again = kind(3, **QUICK, student="mlp").fit(images)
    np.testing.assert_array_equal(again.prototypes_, model.prototypes_)


def prefer(monkeypatch, *, students):
    """Let students, or their teachers, have the lower loss."""
    monkeypatch.setattr(
        training.Trainer,
        "_jury_losses",
        lambda trainer, model=None: torch.full(
            (trainer.model.n_restarts,), float((model is None) != students)
        ),
    )


@pytest.mark.parametrize("students", [False, True])
def test_the_lower_loss_is_kept(shapes, monkeypatch, students):
    images, _ = shapes
    prefer(monkeypatch, students=students)
    said = pytest.warns(ConvergenceWarning, match="no lower loss than the first network")
    with nullcontext() if students else said:
        model = DTIKMeans(3, **QUICK, student="mlp").fit(images)
    assert model._model.by_student == students
    np.testing.assert_array_equal(model.history_.prototypes[-1], model.prototypes_)


def test_a_student_that_diverges_does_no_harm(shapes, monkeypatch):
    images, labels = shapes
    step = training.Trainer._step

    def diverge(trainer):
        if trainer.teacher is not None:
            trainer.model.prototypes.data.fill_(np.nan)
        step(trainer)

    monkeypatch.setattr(training.Trainer, "_step", diverge)
    with pytest.warns(ConvergenceWarning, match="no lower loss than the first network"):
        model = DTIKMeans(3, **QUICK, student="mlp").fit(images)
    assert clustering_accuracy(labels, model.labels_) > 0.9
    assert np.isfinite(model.inertia_)


@pytest.mark.parametrize("transforms", [[], ["colour"]])
def test_where_nothing_is_predicted_there_is_no_student(transforms, shapes):
    model = DTIKMeans(3, transforms=transforms, student="mlp", n_init=1, max_epochs=60)
    assert "student" not in model.fit(shapes[0]).history_.stage


def test_tiny_clusters_are_left_while_clusters_are_held(shapes, monkeypatch):
    """Nor does the stage converge before the student is free."""
    hand_over = training.Trainer.hand_over

    def forget_one(trainer):
        hand_over(trainer)
        trainer.memory[:, 0] = trainer.memory.max() + 1

    monkeypatch.setattr(training.Trainer, "hand_over", forget_one)
    monkeypatch.setattr(training, "WINDOW", 5)
    monkeypatch.setattr(training, "_TOLERANCE", 1e9)
    seen = []
    refill, release = training.Trainer._refill, training.Trainer._release

    def watch(trainer, shares):
        if trainer.teacher is not None:
            seen.append("refill")
        return refill(trainer, shares)

    def note(trainer):
        seen.append("release")
        release(trainer)

    monkeypatch.setattr(training.Trainer, "_refill", watch)
    monkeypatch.setattr(training.Trainer, "_release", note)
    options = {**QUICK, "max_epochs": 3000}
    DTIKMeans(3, **options, student="mlp").fit(shapes[0][:20])
    assert seen[0] == "release"
    assert seen.count("release") == 1
    assert len(seen) > 8


@BOTH
def test_clusters_stay_as_they_are_while_they_are_held(kind, shapes, monkeypatch):
    """Prototypes do not move, the network does, and what is fitted are the teacher's answers."""
    images, _ = shapes
    seen = []
    step = training.Trainer._step

    def watch(trainer):
        stage = trainer.recipe.stages[trainer.stage]
        before = copy.deepcopy(trainer.model.state_dict())
        held = trainer.stage_step < stage.held
        expected = trainer.memory.clone()
        step(trainer)
        if stage.name == "student":
            after = trainer.model.state_dict()
            moved = {name for name in before if not torch.equal(before[name], after[name])}
            seen.append((held, "prototypes" in moved, any("heads" in name for name in moved)))
            assert not held or torch.equal(expected, trainer.memory)
            if len(seen) == 1:
                teacher = all_energies(trainer.teacher, trainer.aligner, trainer.images)
                torch.testing.assert_close(expected, teacher, rtol=1e-5, atol=1e-6)

    monkeypatch.setattr(training.Trainer, "_step", watch)
    kind(3, **QUICK, student="mlp").fit(images)
    assert len(seen) > sum(held for held, *_ in seen) > 3
    assert all(moved != held and learnt for held, moved, learnt in seen)


def phase_of(trainer):
    if trainer.finished:
        return "finished"
    stage = trainer.recipe.stages[trainer.stage]
    if not stage.by_student:
        return "search"
    if trainer.stage_step == 0:
        return "between"
    return "held" if trainer.stage_step < stage.held else "free" if stage.held else "refine"


@pytest.mark.parametrize(("kind", "student", "phase"), [
    (DTIKMeans, "mlp", "search"), (DTIGaussianMixture, "mlp", "held"),
    (DTIKMeans, "resnet8", "free"), (DTIKMeans, "mlp", "between"),
    (DTIGaussianMixture, "mlp", "refine"),
])  # fmt: skip
def test_checkpoints_change_nothing(kind, student, phase, shapes, tmp_path, monkeypatch, power_cut):
    images = shapes[0][:32]
    options = {**QUICK, "max_epochs": 190, "student": student}
    monkeypatch.setattr(training, "WINDOW", 3)
    monkeypatch.setattr(restarts, "_SAVE_EVERY", -1.0)
    whole = kind(3, **options).fit(images)
    model = kind(3, **options, checkpoint_dir=tmp_path)
    with power_cut(2, when=lambda trainer: phase_of(trainer) == phase):
        model.fit(images)
    model.fit(images)
    np.testing.assert_array_equal(model.prototypes_, whole.prototypes_)
    np.testing.assert_array_equal(model.history_.loss, whole.history_.loss)
    assert model.inertia_ == whole.inertia_


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_keeps_the_teacher_while_it_is_better(shapes, monkeypatch):
    images, _ = shapes
    begun = threading.Event()
    step = training.Trainer._step
    teachers = []

    def slow_step(trainer):
        step(trainer)
        if trainer.teacher is not None:
            teachers.append(trainer.teacher)
            begun.set()
            time.sleep(0.05)

    def press():
        if begun.wait(timeout=60):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(training.Trainer, "_step", slow_step)
    threading.Thread(target=press, daemon=True).start()
    with pytest.warns(UserWarning, match="Interrupted"):
        model = DTIKMeans(3, **QUICK, student="mlp").fit(images)
    assert not model._model.by_student
    assert model._model is teachers[0]
    np.testing.assert_array_equal(model.predict(images), model.labels_)


@pytest.mark.parametrize("by_student", [False, True])
def test_saved_and_loaded(shapes, tmp_path, monkeypatch, by_student):
    images, _ = shapes
    prefer(monkeypatch, students=by_student)
    model = DTIKMeans(3, **QUICK, student="mlp").fit(images)
    assert model._model.by_student == by_student
    save_clustering(model, tmp_path / "model.json")
    again = load_clustering(tmp_path / "model.json")
    assert again.student == "mlp"
    assert again._model.by_student == by_student
    np.testing.assert_array_equal(again.transform(images), model.transform(images))


def test_a_student_of_ones_own_cannot_be_saved(shapes, tmp_path):
    own = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(100, 8))
    model = DTIKMeans(3, **{**QUICK, "max_epochs": 20}, student=own).fit(shapes[0])
    with pytest.raises(InputError, match="cannot be saved"):
        save_clustering(model, tmp_path / "model.json")


@pytest.mark.parametrize(("options", "message"), [
    ({"student": "vgg"}, "student must be one of"),
    ({"student": torch.nn.Linear(7, 3)}, "student cannot take images"),
    ({"encoder": None, "student": "mlp"}, "encoder must be one of"),
    ({"student": "mlp", "alignment": "optimized"}, "a student predicts"),
])  # fmt: skip
def test_wrong_students_are_refused_before_the_work(options, message, shapes, monkeypatch):
    monkeypatch.setattr(training.Trainer, "run", lambda *_: pytest.fail("too late"))
    with pytest.raises(InputError, match=message):
        DTIKMeans(3, **{**QUICK, **options}).fit(shapes[0])


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 8, 8), (1, 40, 17)])
def test_resnet8(shape):
    encoder = build_encoder("resnet8", shape, seed=0)
    assert count_features(encoder, shape) == 128
    layers = [one for one in encoder.modules() if isinstance(one, torch.nn.Conv2d)]
    assert layers[0].stride == ((1, 1) if min(shape[1:]) <= 16 else (2, 2))


@pytest.mark.parametrize(("n_init", "n_threads"), [(2, 2), (5, 1)])
def test_threads(shapes, monkeypatch, n_init, n_threads):
    """A student has all of them if it is the only one; nothing else has more than one."""
    seen = {False: set(), True: set()}
    step = training.Trainer._step

    def watch(trainer):
        seen[trainer.model.by_student].add(torch.get_num_threads())
        step(trainer)

    monkeypatch.setattr(training.Trainer, "_step", watch)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        DTIKMeans(3, **{**QUICK, "n_init": n_init, "max_epochs": 40}, student="mlp").fit(shapes[0])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {False: {1}, True: {n_threads}}
