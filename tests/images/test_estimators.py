"""The estimators: what they find, what they promise, what they refuse."""

import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kindset._torch import callbacks
from kindset._torch.callbacks import Interrupt
from kindset.evaluation import clustering_accuracy
from kindset.exceptions import InputError
from kindset.images import (
    TRANSFORMATIONS,
    DivergedError,
    DTIGaussianMixture,
    DTIKMeans,
    Transformation,
    Warp,
    register_transformation,
)
from kindset.images import _alignment as alignment
from kindset.images import _restarts as restarts
from kindset.images import _training as training
from kindset.images._encoders import build_encoder, count_features
from kindset.images._model import DTIModel
from kindset.images._optimiser import laid_out
from kindset.images._setup import choose_transforms

QUICK = {"transforms": ("affine",), "n_init": 2, "max_epochs": 250, "random_state": 0}
BOTH = pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])


@pytest.fixture(scope="module")
def fitted(shapes):
    images, _ = shapes
    kinds = (DTIKMeans, DTIGaussianMixture)
    return {kind: kind(3, **QUICK, stiffness=0.01).fit(images) for kind in kinds}


@BOTH
def test_finds_shapes_wherever_they_are(kind, shapes, fitted):
    _, labels = shapes
    assert clustering_accuracy(labels, fitted[kind].labels_) > 0.8


@BOTH
def test_labels_are_predictions_and_largest_first(kind, shapes, fitted):
    images, _ = shapes
    model = fitted[kind]
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    sizes = np.bincount(model.labels_, minlength=3)
    assert (np.diff(sizes) <= 0).all()


@BOTH
def test_shapes_of_what_is_returned(kind, shapes, fitted):
    images, _ = shapes
    model = fitted[kind]
    assert model.prototypes_.shape == (3, 10, 10)
    assert model.transform(images).shape == (90, 3)
    assert model.align(images).shape == (90, 3, 10, 10)
    assert model.align(images, model.labels_).shape == (90, 1, 10, 10)
    assert model.transform_parameters(images)["affine"].shape == (90, 3, 6)
    assert model.n_features_in_ == 100
    assert model.history_.loss.shape == model.history_.step.shape
    assert model.history_.shares.shape == (len(model.history_.step), 3)
    assert model.history_.prototypes.shape[1:] == (3, 10, 10)
    np.testing.assert_array_equal(model.history_.prototypes[-1], model.prototypes_)
    assert model.n_reassigned_ == model.history_.n_reassigned.sum()
    assert not model.interrupted_


def effort(model, images):
    """How far an affine map is from the identity, for each image and prototype."""
    theta = model.transform_parameters(images)["affine"]
    return ((theta - [1, 0, 0, 0, 1, 0]) ** 2).mean(axis=2)


def test_distances_are_those_of_the_aligned_prototypes(shapes, fitted):
    images, _ = shapes
    model = fitted[DTIKMeans]
    plain = ((model.align(images) - images[:, None]) ** 2).mean(axis=(2, 3))
    whole = plain + model.stiffness * effort(model, images)
    np.testing.assert_allclose(model.transform(images), whole, atol=1e-6)
    np.testing.assert_array_equal(model.labels_, whole.argmin(axis=1))
    assert model.inertia_ == pytest.approx(whole.min(axis=1).mean(), rel=1e-5)
    assert model.score(images) == pytest.approx(-model.inertia_)
    own = model.align(images, model.labels_)[:, 0]
    np.testing.assert_allclose(own, model.align(images)[np.arange(90), model.labels_], atol=1e-6)


def test_mixture_is_a_mixture_of_gaussians(shapes, fitted):
    """Weights, densities and memberships agree with scipy's normal distribution."""
    from scipy.stats import norm

    images, _ = shapes
    model = fitted[DTIGaussianMixture]
    assert model.weights_.sum() == pytest.approx(1, abs=1e-6)
    assert model.variances_.shape == (3, 10, 10)
    assert (model.variances_ >= 0.25**2).all()
    module = TRANSFORMATIONS["affine"]((1, 10, 10))
    theta = torch.from_numpy(model.transform_parameters(images)["affine"])
    deviations = torch.from_numpy(model.variances_ - 0.25**2)[:, None]
    moved = module(deviations, theta)[:, :, 0].numpy() + 0.25**2
    log_density = norm.logpdf(images[:, None], model.align(images), np.sqrt(moved)).sum(axis=(2, 3))
    # The effort counts like squared differences where the variance is least.
    log_density -= 100 * model.stiffness * effort(model, images) / (2 * 0.25**2)
    joint = log_density + np.log(model.weights_)
    expected = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(model.score_samples(images), expected, rtol=1e-3)
    np.testing.assert_allclose(
        model.predict_proba(images), np.exp(joint - expected[:, None]), atol=1e-2
    )
    assert model.score(images) == pytest.approx(expected.mean(), rel=1e-4)


@BOTH
def test_same_seed_same_result_for_any_number_of_jobs(kind, shapes):
    images, _ = shapes
    options = {**QUICK, "n_init": 5, "max_epochs": 40}
    one, two = (kind(3, **options, n_jobs=n_jobs).fit(images) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.prototypes_, two.prototypes_)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.inertia_ == two.inertia_


def test_joblib_settings_are_heeded(shapes, monkeypatch):
    """Both groups run at the same time, though only `parallel_config` says so."""
    together, run = threading.Barrier(2, timeout=30), training.Trainer.run

    def run_together(trainer, *others):
        together.wait()
        return run(trainer, *others)

    monkeypatch.setattr(training.Trainer, "run", run_together)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        DTIKMeans(3, **{**QUICK, "n_init": 8, "max_epochs": 1}).fit(shapes[0])


@pytest.mark.slow
def test_processes_give_the_same(shapes, monkeypatch):
    images, _ = shapes
    options = {**QUICK, "n_init": 8, "max_epochs": 5, "verbose": 1}
    here = DTIKMeans(3, **options).fit(images)
    monkeypatch.setattr(training.Trainer, "run", None)  # only in this process
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = DTIKMeans(3, **options).fit(images)
    np.testing.assert_array_equal(there.prototypes_, here.prototypes_)
    np.testing.assert_array_equal(there.history_.loss, here.history_.loss)


@pytest.mark.usefixtures("ctrl_c")
def test_a_process_of_its_own_leaves_ctrl_c_to_the_one_that_waits():
    with restarts._ctrl_c_left_to_others():
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may take a moment
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)


def test_threads_of_torch_are_as_before(shapes, monkeypatch):
    """Also if the first group ends before the second, which began when there was one thread."""
    train, begun = restarts._train, []

    def one_after_the_other(*arguments):
        begun.append(1)
        if len(begun) == 2:
            time.sleep(0.5)
        return train(*arguments)

    monkeypatch.setattr(restarts, "_train", one_after_the_other)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        DTIKMeans(3, **{**QUICK, "n_init": 8, "max_epochs": 5}, n_jobs=2).fit(shapes[0])
        with ThreadPoolExecutor() as pool:  # new threads have their own number
            assert pool.submit(torch.get_num_threads).result() == torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_kinds_of_input_give_the_same(shapes):
    images, _ = shapes
    quick = {**QUICK, "max_epochs": 20, "n_init": 1}
    bytes_ = (images * 255).astype(np.uint8)
    reference = DTIKMeans(3, **quick).fit(bytes_).prototypes_
    for other in (
        bytes_[..., None],
        bytes_[:, None],
        torch.from_numpy(bytes_),
        list(bytes_),
        bytes_.astype(np.float32) / 255,
        bytes_.reshape(90, 100),
    ):
        np.testing.assert_array_equal(DTIKMeans(3, **quick).fit(other).prototypes_, reference)
    rows = DTIKMeans(3, **quick, image_shape=(10, 10)).fit(bytes_.reshape(90, 100))
    np.testing.assert_array_equal(rows.prototypes_, reference)
    np.testing.assert_array_equal(rows.predict(bytes_), rows.predict(bytes_.reshape(90, 100)))


def test_colour_images(shapes):
    images, labels = shapes
    rng = np.random.default_rng(0)
    front, back = rng.uniform(0.6, 1, (90, 1, 1, 3)), rng.uniform(0, 0.4, (90, 1, 1, 3))
    coloured = images[..., None] * front + (1 - images[..., None]) * back
    model = DTIKMeans(3, transforms=("colour", "affine"), n_init=2, max_epochs=200, random_state=0)
    model.fit(coloured)
    assert model.prototypes_.shape == (3, 10, 10, 3)
    assert model.align(coloured[:4]).shape == (4, 3, 10, 10, 3)
    assert clustering_accuracy(labels, model.labels_) > 0.6
    assert choose_transforms("auto", (3, 32, 32))[0] == "colour"


@pytest.mark.parametrize("encoder", ["mlp", "conv", "resnet20", "resnet18"])
def test_every_encoder(encoder, shapes):
    images, _ = shapes
    model = DTIKMeans(3, transforms=("affine",), encoder=encoder, n_init=1, max_epochs=1,
                      batch_size=16, random_state=0).fit(images)  # fmt: skip
    np.testing.assert_array_equal(model.predict(images), model.labels_)


@pytest.mark.parametrize(("name", "n_features"), [("resnet20", 64), ("resnet18", 512)])
def test_residual_networks(name, n_features):
    shape = (3, 32, 32)
    encoder = build_encoder(name, shape, seed=0)
    assert count_features(encoder, shape) == n_features
    n_convolutions = sum(isinstance(one, torch.nn.Conv2d) for one in encoder.modules())
    assert n_convolutions == {"resnet20": 19 + 2, "resnet18": 17 + 3}[name]  # with shortcuts


def test_own_encoder(shapes):
    images, _ = shapes
    own = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(100, 16), torch.nn.Tanh())
    before = own[1].weight.clone()
    model = clone(DTIKMeans(3, transforms=("affine",), encoder=own, n_init=1, max_epochs=2))
    model.fit(images)
    assert torch.equal(own[1].weight, before)
    with pytest.raises(InputError, match=r"into features \(n, D\)"):
        DTIKMeans(3, encoder=torch.nn.Identity()).fit(images)


def test_optimised_alignment(shapes):
    images, labels = shapes
    model = DTIKMeans(3, transforms=("affine",), alignment="optimized", n_init=1, max_epochs=100,
                      random_state=0).fit(images)  # fmt: skip
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    assert clustering_accuracy(labels, model.labels_) > 0.5


def test_optimised_alignment_in_parts_that_fit_in_memory(shapes, monkeypatch):
    images, _ = shapes
    model = DTIKMeans(3, transforms=("affine",), alignment="optimized", n_init=1, max_epochs=1,
                      random_state=0).fit(images)  # fmt: skip
    whole = model.transform_parameters(images)["affine"]
    sizes, energies = [], type(model._model.objective).energies

    def watch(objective, x, transformed, prior):
        sizes.append(len(transformed))
        return energies(objective, x, transformed, prior)

    monkeypatch.setattr(type(model._model.objective), "energies", watch)
    monkeypatch.setattr(alignment, "how_many_at_a_time", lambda images: 7)
    parts = model.transform_parameters(images)["affine"]
    assert max(sizes) == 7
    np.testing.assert_allclose(parts, whole, atol=1e-6)


def test_pixel_weights(shapes):
    images, _ = shapes
    dirty = images.copy()
    dirty[:, 0, 0] = np.random.default_rng(0).random(90)
    weight = np.ones((10, 10))
    weight[0, 0] = 0
    quick = {**QUICK, "transforms": (), "max_epochs": 30}
    with_weight = DTIKMeans(3, **quick, pixel_weight=weight).fit(dirty)
    distances = ((dirty[:, None] - with_weight.prototypes_) ** 2 * weight).sum((2, 3)) / 99
    np.testing.assert_allclose(with_weight.transform(dirty), distances, atol=1e-6)
    DTIKMeans(3, **quick, pixel_weight="gaussian").fit(images)
    for wrong in ("round", np.ones(3), -weight):
        with pytest.raises(InputError, match="pixel_weight"):
            DTIKMeans(3, pixel_weight=wrong).fit(images)


def test_tiny_clusters_start_again_beside_the_largest():
    rng = np.random.default_rng(0)
    images = np.concatenate([rng.random((200, 6, 6)) * 0.2, np.ones((2, 6, 6))])
    options = {"transforms": (), "n_init": 1, "max_epochs": 200, "random_state": 0}
    assert DTIKMeans(3, **options).fit(images).n_reassigned_ > 0

    class Without(DTIKMeans):
        _tiny = 0.0

    assert Without(3, **options).fit(images).n_reassigned_ == 0


def test_own_transformation():
    """The time warp of docs/images.md, on bumps that come early or late, once or twice."""

    class TimeWarp(Warp):
        def __init__(self, image_shape):
            super().__init__(image_shape, torch.zeros(4))
            t = self.pixels[0]
            waves = [torch.sin(torch.pi * k * (t + 1) / 2) / (2 * k) for k in range(1, 5)]
            self.register_buffer("waves", torch.stack(waves))

        def points(self, parameters):
            x = self.pixels[0] + parameters @ self.waves
            return torch.stack([x, self.pixels[1].expand_as(x)], dim=1)

    rng = np.random.default_rng(0)
    times, labels = np.linspace(0, 1, 30), np.repeat([0, 1], 60)
    centre = rng.uniform(0.35, 0.65, size=120)[:, None]
    bump = np.exp(-(((times - centre) / 0.08) ** 2))
    series = np.where(labels[:, None] == 0, bump, 1 - bump)
    register_transformation("time warp", TimeWarp)
    try:
        options = {**QUICK, "transforms": ("time warp",), "max_epochs": 120}
        model = DTIKMeans(2, **options).fit(series)
        assert model.transform_parameters(series)["time warp"].shape == (120, 2, 4)
        assert clustering_accuracy(labels, model.labels_) > 0.95
        still = DTIKMeans(2, **{**options, "transforms": ()}).fit(series)
        assert model.inertia_ < 0.5 * still.inertia_
    finally:
        del TRANSFORMATIONS["time warp"]


def test_time_budget_ends_the_training(shapes):
    images, _ = shapes
    model = DTIKMeans(3, transforms=("affine",), n_init=1, time_budget=1e-6, random_state=0)
    model.fit(images)
    assert model.n_iter_ == 3  # a step in each stage
    assert model.history_.stage == ["identity", "affine", "refine"]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_epochs": 2}, "'affine' had 1 step where .* raise max_epochs"),
        ({"time_budget": 1e-6}, "'affine' had 1 step where .* raise time_budget"),
        ({"max_epochs": 9, "transforms": ()}, "'identity' had 4 steps"),
    ],
)
def test_a_training_too_short_to_learn_is_remarked(shapes, limit, message):
    options = {"transforms": ("affine",), "n_init": 1, "random_state": 0, **limit}
    with pytest.warns(ConvergenceWarning, match=message):
        DTIKMeans(3, **options).fit(shapes[0])


@pytest.mark.parametrize("max_epochs", [None, 60])
def test_a_training_of_some_length_is_not(shapes, max_epochs):
    model = DTIKMeans(3, transforms=(), n_init=1, max_epochs=max_epochs, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(shapes[0])


@BOTH
def test_graphs_that_live_longer_do_no_harm(kind, monkeypatch):
    """Frames that a compiler holds keep old graphs alive while restarts are dropped."""
    held = []
    plain = DTIModel.pair_energies

    def hold(*arguments):
        held.append(plain(*arguments))
        return held[-1]

    monkeypatch.setattr(DTIModel, "pair_energies", hold)
    images = np.random.default_rng(0).random((60, 24, 24))
    model = kind(3, transforms=("affine", "morphological"), n_init=4, max_epochs=9, random_state=0)
    model.fit(images)
    assert set(model.history_.n_restarts) == {4, 2, 1}
    assert model.predict(images).shape == (60,)


@BOTH
@pytest.mark.parametrize(("every", "saves"), [(30.0, 2), (30.0, 3), (-1.0, 3), (-1.0, 9)])
def test_checkpoints_change_nothing(kind, shapes, tmp_path, monkeypatch, power_cut, every, saves):
    """A training that died on the way and was taken up again ends in the same bits.

    The images are large enough for coarse stages, and restarts are dropped on the way.
    """
    images = np.kron(shapes[0], np.ones((3, 3), dtype=np.float32))
    options = {"transforms": ("affine", "colour", "tps"), "n_init": 4, "max_epochs": 60,
               "batch_size": 32, "random_state": 0}  # fmt: skip
    monkeypatch.setattr(training, "WINDOW", 10)  # so that restarts also swap clusters
    monkeypatch.setattr(callbacks, "_SAVE_EVERY", every)  # -1: within stages as well
    whole = kind(3, **options).fit(images)
    model = kind(3, **options, checkpoint_dir=tmp_path / "new")
    with power_cut(saves):
        model.fit(images)
    steps = []
    step = training.Trainer._step
    monkeypatch.setattr(training.Trainer, "_step", lambda self: (steps.append(1), step(self)))
    model.fit(images)
    assert 0 < len(steps) < whole.n_iter_
    np.testing.assert_array_equal(model.prototypes_, whole.prototypes_)
    np.testing.assert_array_equal(model.history_.loss, whole.history_.loss)
    assert model.inertia_ == whole.inertia_
    with pytest.raises(InputError, match="other data or parameters"):
        model.set_params(learning_rate=1e-4).fit(images)


def test_checkpoint_of_another_training_is_refused(shapes, tmp_path):
    """Weights and encoders of one's own count to the last number."""
    images = np.kron(shapes[0], np.ones((4, 4), dtype=np.float32))
    weights = np.ones((2, 40, 40))
    weights[1, 20, 20] = 0
    encoders = [torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(1600, 8)) for _ in "ab"]
    for name, pair in (("pixel_weight", weights), ("encoder", encoders)):
        options = {**QUICK, "max_epochs": 1, "checkpoint_dir": tmp_path / name}
        DTIKMeans(3, **options, **{name: pair[0]}).fit(images)
        with pytest.raises(InputError, match="other data or parameters"):
            DTIKMeans(3, **options, **{name: pair[1]}).fit(images)


@pytest.mark.parametrize("shape", [(2,), ()])
def test_moments_go_to_the_device_of_their_parameter(shape):
    """A fused optimizer wants its step there as well, which has another shape."""
    assert laid_out(torch.ones(shape), torch.empty(2, device="meta")).device.type == "meta"


def test_damaged_checkpoint(shapes, tmp_path):
    images, _ = shapes
    model = DTIKMeans(3, **{**QUICK, "max_epochs": 5}, checkpoint_dir=tmp_path).fit(images)
    (tmp_path / "group-0.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        model.fit(images)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_keeps_the_best_so_far(shapes, monkeypatch):
    images, _ = shapes
    started = threading.Event()
    step = training.Trainer._step

    def slow_step(trainer):
        step(trainer)
        if trainer.step == 60:
            started.set()
        if started.is_set():
            time.sleep(0.02)

    monkeypatch.setattr(training.Trainer, "_step", slow_step)

    def press():
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.warns(UserWarning, match="Interrupted"):
        model = DTIKMeans(3, **QUICK).fit(images)
    assert model.interrupted_
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    assert model.align(images[:2]).shape == (2, 3, 10, 10)
    assert list(model.transform_parameters(images)) == ["affine"]


def test_interrupt_before_the_first_step(shapes, monkeypatch):
    images, _ = shapes
    model = DTIKMeans(3, **QUICK)
    pressed, start = threading.Event(), restarts._start

    def press(done, stop):
        stop.touch()
        pressed.set()
        done.wait()
        return True

    def wait_and_start(problem, group):
        pressed.wait()
        return start(problem, group)

    monkeypatch.setattr(restarts, "_wait", press)
    monkeypatch.setattr(restarts, "_start", wait_and_start)
    with pytest.raises(KeyboardInterrupt):
        model.fit(images)
    assert not hasattr(model, "labels_")

    # A group that has not begun is no match for one that has, whatever its loss.
    run, runs = training.Trainer.run, []

    def run_the_second_only(trainer, callbacks):
        runs.append(trainer)
        n_steps = 5 if len(runs) == 2 else 0
        return run(trainer, [Interrupt(lambda: trainer.step >= n_steps)])

    monkeypatch.setattr(training.Trainer, "run", run_the_second_only)
    with pytest.warns(UserWarning, match="Interrupted"):
        model.set_params(n_init=8).fit(images)
    assert model.n_iter_ == 5


def test_parameters_of_stages_not_reached_are_those_of_the_identity(shapes, monkeypatch):
    images, _ = shapes
    run = training.Trainer.run
    monkeypatch.setattr(
        training.Trainer, "run", lambda self, _: run(self, [Interrupt(lambda: self.step >= 5)])
    )
    model = DTIKMeans(3, **{**QUICK, "transforms": ("affine", "tps")}).fit(images)
    parameters = model.transform_parameters(images)
    assert parameters["tps"].shape == (90, 3, 32)
    assert (parameters["affine"] == [1, 0, 0, 0, 1, 0]).all()
    assert (parameters["tps"] == 0).all()


def test_refused_refit_leaves_the_model_alone(shapes):
    images, _ = shapes
    model = DTIKMeans(3, **{**QUICK, "max_epochs": 2}).fit(images)
    with pytest.raises(InputError, match="equal"):
        model.fit(np.ones((9, 8, 8)))
    with pytest.raises(DivergedError):
        model.set_params(prototype_learning_rate=1e30, transforms=()).fit(images[:, :9])
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    assert model.transforms_ == ("affine",)
    with pytest.raises(InputError, match="from 0 to 2"):
        model.set_params(n_clusters=5).align(images[:2], [4, 4])


def test_refit_on_pictures_forgets_the_names_of_columns(shapes):
    images, _ = shapes
    frame = pd.DataFrame(images.reshape(90, 100)).add_prefix("p")
    model = DTIKMeans(3, **{**QUICK, "max_epochs": 1}).fit(frame)
    assert model.feature_names_in_[0] == "p0"
    assert not hasattr(model.fit(images), "feature_names_in_")


def test_divergence_of_some_groups_is_told(shapes, monkeypatch):
    images, _ = shapes
    run, runs = training.Trainer.run, []

    def fail_second(trainer, *others):
        runs.append(trainer)
        if len(runs) == 2:
            raise DivergedError("it has gone to the dogs")
        return run(trainer, *others)

    monkeypatch.setattr(training.Trainer, "run", fail_second)
    with pytest.warns(UserWarning, match="1 of 2 groups of restarts diverged: it has gone"):
        DTIKMeans(3, **{**QUICK, "max_epochs": 1, "n_init": 8}).fit(images)


def test_divergence_is_told(shapes):
    images, _ = shapes
    model = DTIKMeans(3, **QUICK, prototype_learning_rate=1e6)
    with pytest.raises(DivergedError, match="lower learning_rate"):
        model.fit(images)


@pytest.mark.parametrize(("X", "message"), [
    (np.ones((5, 4, 4)), "images are equal"),
    (np.full((5, 4, 4), 7.0), "images are equal"),
    (np.full((5, 4, 4), -1e30), "images are equal"),
    (np.zeros((2, 4, 4)) + np.arange(2)[:, None, None], "too few for n_clusters=3"),
    ([np.ones((4, 4)), np.ones((4, 5)), np.ones((4, 4))], "different shapes"),
    (np.full((5, 4, 4), np.nan), "NaN"),
    (np.eye(80).reshape(20, 5, 8, 8), "no axis of 1, 3 or 4 channels"),
    (np.ones((5, 4, 4, 3, 2)), "got the shape"),
    ("folder", "not a path"),
    (np.full((5, 4, 4), "a"), "real numbers"),
])  # fmt: skip
def test_wrong_images(X, message):
    with pytest.raises(InputError, match=message):
        DTIKMeans(3).fit(X)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"n_clusters": 0}, "n_clusters must be a whole number"),
    ({"n_init": 1.5}, "n_init must be a whole number"),
    ({"learning_rate": -1}, "learning_rate must be a number above 0"),
    ({"time_budget": 0}, "time_budget must be a number above 0"),
    ({"transforms": "affine"}, "list of names"),
    ({"transforms": ("afine",)}, "names among"),
    ({"encoder": "vgg"}, "encoder must be one of"),
    ({"alignment": "manual"}, "alignment must be"),
    ({"device": "abacus"}, "device must be"),
    ({"device": None}, "device must be"),
    ({"device": "cuda:77"}, "device must be"),
    ({"transforms": None}, "list of names"),
    ({"transforms": (["affine"],)}, "names among"),
    ({"encoder": ["mlp"]}, "encoder must be one of"),
    ({"encoder": torch.nn.Linear(7, 3)}, "encoder cannot take images"),
    ({"pixel_weight": {}}, "pixel_weight must be"),
    ({"stiffness": -1}, "stiffness must be a number from 0"),
    ({"stiffness": "high"}, "stiffness must be a number from 0"),
    ({"stiffness": np.nan}, "stiffness must be a number from 0"),
    ({"pixel_weight": [["a"]]}, "pixel_weight must be"),
    ({"pixel_weight": [[1], [1, 2]]}, "pixel_weight must be"),
    ({"image_shape": (4, 4)}, "image_shape is for rows"),
])  # fmt: skip
def test_wrong_parameters(parameters, message, shapes):
    with pytest.raises(InputError, match=message):
        DTIKMeans(**{"n_clusters": 3, **parameters}).fit(shapes[0])


def test_wrong_images_later(shapes, fitted):
    model = fitted[DTIKMeans]
    with pytest.raises(InputError, match="10 × 10"):
        model.predict(np.zeros((2, 9, 10)))
    with pytest.raises(InputError, match="from 0 to 2"):
        model.align(shapes[0][:2], [0, 3])
    rows = np.random.default_rng(0).random((9, 100))
    for wrong in ((9, 10), "a", (12.5, 8), (), (100,), ((10, 10),), {}, (-10, -10)):
        with pytest.raises(InputError, match="image_shape must be"):
            DTIKMeans(3, image_shape=wrong).fit(rows)


@BOTH
def test_pixel_weights_survive_coarse_stages(kind):
    images = np.random.default_rng(0).random((40, 24, 24))
    weight = np.ones((24, 24))
    weight[:, 12:], weight[5, 20] = 0, 50
    model = kind(3, **{**QUICK, "max_epochs": 2}, pixel_weight=weight).fit(images)
    used = model._model.objective.weight.numpy()
    np.testing.assert_allclose(used, weight / weight.sum(), rtol=1e-6)


class Shades(Transformation):
    """One offset for each row: their number depends on the shape of the images."""

    def __init__(self, image_shape):
        super().__init__(image_shape, torch.zeros(image_shape[1]))

    def forward(self, images, parameters):
        return images + parameters[:, :, None, :, None]


@BOTH
@pytest.mark.parametrize("transforms", [
    ("morphological",), ("morphological", "affine"), ("colour", "morphological", "affine"),
    ("shades",), ("colour", "shades", "affine"), ("affine", "shades"),
])  # fmt: skip
def test_parameters_that_depend_on_the_shape(kind, transforms, monkeypatch):
    monkeypatch.setitem(TRANSFORMATIONS, "shades", Shades)
    images = np.random.default_rng(0).random((40, 28, 28))
    model = kind(3, transforms=transforms, n_init=2, max_epochs=2, random_state=0).fit(images)
    assert list(model.transform_parameters(images[:2])) == list(transforms)
    np.testing.assert_array_equal(model.predict(images), model.labels_)


@BOTH
def test_stiffness_keeps_transformations_small(kind, shapes):
    images, _ = shapes
    free, stiff = (kind(3, **QUICK, stiffness=s).fit(images) for s in (0, 1))
    own = np.arange(len(images))
    loose, tight = (effort(m, images)[own, m.labels_].mean() for m in (free, stiff))
    assert tight < 0.7 * loose


def test_checkpoints_of_another_stiffness_are_refused(shapes, tmp_path):
    images, _ = shapes
    model = DTIKMeans(3, **{**QUICK, "max_epochs": 2}, checkpoint_dir=tmp_path).fit(images)
    with pytest.raises(InputError, match="other data or parameters"):
        model.set_params(stiffness=0.5).fit(images)


def test_an_encoder_that_normalises_batches_sees_no_batch_of_one(shapes):
    """A swap looks at a single image, of which there are no statistics."""
    images, _ = shapes
    encoder = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(100, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU()
    )
    options = {**QUICK, "max_epochs": None, "n_init": 4}
    model = DTIKMeans(3, **options, encoder=encoder).fit(images)
    assert np.isfinite(model.inertia_)


def test_checkpoints_of_a_resnet_change_nothing(shapes, tmp_path, power_cut):
    """Its weights lie in memory with the channels last, and do so again."""
    options = {**QUICK, "n_init": 1, "max_epochs": 4, "encoder": "resnet20"}
    images = shapes[0][:32]
    whole = DTIKMeans(3, **options).fit(images)
    model = DTIKMeans(3, **options, checkpoint_dir=tmp_path)
    with power_cut(saves=2):
        model.fit(images)
    np.testing.assert_array_equal(model.fit(images).prototypes_, whole.prototypes_)


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_blank_images_are_those_that_are_predicted(shapes, seed):
    """A blank image is as near to one prototype as to any other, once colours do not matter."""
    images = shapes[0].copy()
    images[::9] = 0
    options = {"transforms": ("colour",), "n_init": 1, "max_epochs": 5, "random_state": seed}
    model = DTIKMeans(4, **options).fit(images)
    np.testing.assert_array_equal(model.predict(images), model.labels_)


@BOTH
def test_stiffness_with_optimised_alignment(kind, shapes):
    images = shapes[0][:30]
    options = {**QUICK, "n_init": 1, "max_epochs": 3, "alignment": "optimized"}
    free, stiff = (kind(2, **options, stiffness=s).fit(images) for s in (0, 10))
    assert effort(stiff, images).mean() < 0.5 * effort(free, images).mean()
