"""Another network that reviews the assignments."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from kindset._torch import callbacks
from kindset.evaluation import clustering_accuracy
from kindset.exceptions import InputError
from kindset.images import DTIGaussianMixture, DTIKMeans, load_clustering, save_clustering
from kindset.images import _reviewing as reviewing
from kindset.images import _training as training
from kindset.images._schedule import plan_stages
from kindset.images._transforms import TRANSFORMATIONS, transformation_classes

QUICK = {
    "transforms": ("affine",), "n_init": 2, "max_epochs": 600, "random_state": 0, "n_reviews": 2,
}  # fmt: skip
BOTH = pytest.mark.parametrize("kind", [DTIKMeans, DTIGaussianMixture])
AMT = ("affine", "morphological", "tps")


def plan(names, n_restarts, **options):
    kinds = transformation_classes(names)
    return plan_stages(names, kinds, (1, 28, 28), n_restarts=n_restarts, n_steps=6000, **options)


@pytest.mark.parametrize("n_restarts", [1, 4])
@pytest.mark.parametrize("names", [("affine",), AMT, ("colour", "affine", "tps")])
@pytest.mark.parametrize("curriculum", [False, True])
def test_reviews_are_not_at_the_cost_of_the_search(names, n_restarts, curriculum):
    without = plan(names, n_restarts, curriculum=curriculum)
    stages = plan(names, n_restarts, curriculum=curriculum, n_reviews=3)
    *search, one, two, three, refine = stages
    assert [stage.max_steps for stage in search] == [stage.max_steps for stage in without[:-1]]
    assert not any(stage.reviewed for stage in (*search, refine))
    assert one == two == three
    assert one.reviewed
    assert one.n_active == refine.n_active
    assert refine.max_steps == without[-1].max_steps
    assert sum(stage.share for stage in stages) == pytest.approx(1)


def test_a_limit_holds_with_reviews_as_well():
    stages = plan(AMT, 4, n_reviews=3, limited=True)
    assert sum(stage.max_steps for stage in stages) == pytest.approx(6000, abs=4)


@pytest.mark.parametrize("shape", [
    (1, 28, 28), (3, 8, 8), (1, 1, 50), (1, 40, 17), (4, 5, 5), (1, 300, 200)
])  # fmt: skip
def test_reviewers_take_images_of_any_size(shape):
    network = reviewing.build_reviewer(shape, 5, 7, seed=3).network
    again = reviewing.build_reviewer(shape, 5, 7, seed=3).network
    images = torch.rand(2, *shape, generator=torch.Generator().manual_seed(0))
    assert network(images).shape == (2, 7)
    assert torch.equal(again(images), network(images))
    assert sum(one.numel() for one in network.parameters()) < 500_000


@pytest.mark.parametrize("names", [("affine",), ("projective", "tps"), ()])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_distortions(names, n_channels, monkeypatch):
    shape = (n_channels, 12, 9)
    warps = [TRANSFORMATIONS[name](shape) for name in names]
    images = torch.rand(5, *shape, generator=torch.Generator().manual_seed(0))

    def distorted(seed):
        return reviewing.distorted(images, warps, torch.Generator().manual_seed(seed))

    assert distorted(0).shape == images.shape
    assert torch.equal(distorted(0), distorted(0))
    assert torch.equal(distorted(0), distorted(1)) == (not names)
    monkeypatch.setattr(reviewing, "_DISTORTION", 0.0)
    torch.testing.assert_close(distorted(0), images, rtol=0, atol=1e-5)


def test_one_warp_distorts_as_it_transforms():
    warp = TRANSFORMATIONS["tps"]((2, 7, 11))
    images = torch.rand(3, 2, 7, 11, generator=torch.Generator().manual_seed(0))
    found = reviewing.distorted(images, [warp], torch.Generator().manual_seed(5))
    noise = torch.randn(3, warp.n_parameters, generator=torch.Generator().manual_seed(5))
    parameters = warp.identity + reviewing._DISTORTION * noise
    torch.testing.assert_close(found, warp(images[None], parameters[None])[0])


def noisy_review(monkeypatch, labels, images, **options):
    """Return what a review makes of labels."""
    energies = 1 - torch.eye(int(labels.max()) + 1)[labels]
    monkeypatch.setattr(reviewing, "all_energies", lambda *_: energies)
    warp = TRANSFORMATIONS["affine"](tuple(images.shape[1:]))
    model = SimpleNamespace(active=lambda: [(warp, None)], solved=[])
    reviewer = reviewing.build_reviewer(tuple(images.shape[1:]), *energies.shape, seed=0)
    settings = {"n_steps": 200, "batch_size": 64, "progress": lambda: 0.0, "least": 1, **options}
    found, n_changed = reviewing.review(
        reviewer, model, None, images, generator=torch.Generator().manual_seed(0), **settings
    )
    assert n_changed == (found != labels).sum()
    return found


@pytest.fixture(scope="module")
def digits():
    """Images of scikit-learn's digits, their labels, and labels of which a tenth is wrong."""
    data = load_digits()
    images = torch.from_numpy(data.images).float()[:, None] / 16
    true = torch.from_numpy(data.target).long()
    generator = torch.Generator().manual_seed(0)
    wrong = torch.rand(len(true), generator=generator) < 0.1
    return images, true, torch.where(wrong, (true + 1) % 10, true)


def test_a_review_corrects_mistakes(digits, monkeypatch):
    images, true, given = digits
    found = noisy_review(monkeypatch, given, images)
    before, after = ((labels != true).double().mean() for labels in (given, found))
    assert before > 0.08
    assert after < before / 3


def test_a_reviewer_that_knows_nothing_is_not_asked(digits, monkeypatch):
    images, _, given = digits
    assert torch.equal(noisy_review(monkeypatch, given, images, n_steps=1), given)
    assert torch.equal(noisy_review(monkeypatch, given, images, progress=lambda: 1.0), given)


def judged(labels, opinions, heard=None, least=0.0):
    """Return what a reviewer says that has heard of the first images and thinks them in a class."""
    labels = torch.tensor(labels)
    reviewer = reviewing.Reviewer((1, 8, 8), len(labels), 3)
    reviewer.opinions[:] = torch.eye(3)[torch.tensor(opinions)]
    n_heard = len(labels) if heard is None else heard
    return reviewer.judge(labels, torch.arange(len(labels)) < n_heard, least).tolist()


def test_images_that_a_reviewer_has_not_seen_stay_where_they_are():
    given, thought = [0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 0, 0]
    assert judged(given, thought, heard=5) == [0, 1, 2, 0, 0, 2]
    assert judged(given, thought, heard=0) == given


def test_only_images_that_were_seen_say_whether_a_reviewer_is_trusted():
    thought = [1, 0, *[0] * 18]
    assert judged([0] * 20, thought, heard=10) == thought
    assert judged([0] * 20, thought, heard=4) == [0] * 20


def test_no_cluster_is_emptied():
    given = [0] * 10 + [1] * 2 + [2] * 2
    thought = [0] * 12 + [2] * 2
    assert judged(given, thought) == thought
    assert judged(given, thought, least=2) == given
    assert judged(given, thought, least=0.5) == given


def test_a_review_ends_in_time(digits, monkeypatch):
    images, true, given = digits
    clock = iter(np.linspace(0, 1.01, 120))
    found = noisy_review(
        monkeypatch, given, images, n_steps=10**9, progress=lambda: float(next(clock))
    )
    assert (found != true).double().mean() < (given != true).double().mean()


@BOTH
def test_fit_with_reviews(kind, shapes):
    images, labels = shapes
    model = kind(3, **QUICK).fit(images)
    assert list(dict.fromkeys(model.history_.stage)) == ["identity", "affine", "review", "refine"]
    assert clustering_accuracy(labels, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    assert np.isfinite(model.history_.loss).all()
    again = kind(3, **QUICK).fit(images)
    np.testing.assert_array_equal(again.prototypes_, model.prototypes_)


def test_colours_are_not_seen(shapes, monkeypatch):
    learn, fed = reviewing.Reviewer.learn, []

    def watch(reviewer, *given, **options):
        reviewer.network.register_forward_pre_hook(lambda _, inputs: fed.append(inputs[0]))
        return learn(reviewer, *given, **options)

    monkeypatch.setattr(reviewing.Reviewer, "learn", watch)
    options = {**QUICK, "transforms": ("colour", "affine"), "max_epochs": 30, "n_reviews": 1}
    DTIKMeans(3, **options).fit(0.3 + 0.4 * shapes[0])
    assert fed
    assert all(abs(float(images.mean())) < 1e-5 for images in fed)


def test_colours(shapes):
    images, labels = shapes
    rng = np.random.default_rng(0)
    tinted = images[..., None] * rng.uniform(0.3, 1, size=(len(images), 1, 1, 3))
    model = DTIKMeans(3, **{**QUICK, "transforms": ("colour", "affine")}).fit(tinted)
    assert "review" in model.history_.stage
    assert clustering_accuracy(labels, model.labels_) > 0.9


@BOTH
def test_assignments_are_held_between_reviews(kind, shapes, monkeypatch):
    """Images stay in their clusters, whatever the energies; prototypes and network learn."""
    images, _ = shapes
    odd = torch.arange(len(images)) % 3
    monkeypatch.setattr(training, "review", lambda *_, **__: (odd, 7))
    seen = []
    step = training.Trainer._step

    def watch(trainer):
        stage = trainer.recipe.stages[trainer.stage]
        before = {name: one.clone() for name, one in trainer.model.state_dict().items()}
        memory, shares = trainer.search.memory.clone(), trainer.tally.shares.clone()
        step(trainer)
        if stage.name == "review":
            after = trainer.model.state_dict()
            moved = {name for name in before if not torch.equal(before[name], after[name])}
            assert "prototypes" in moved
            assert any(name.startswith("encoder") for name in moved)
            assert torch.equal(memory, trainer.search.memory)
            counted = torch.bincount(odd, minlength=3) / len(odd)
            torch.testing.assert_close(trainer.tally.shares - shares, counted[None])
        else:
            assert trainer.held is None
        seen.append(stage.name)

    monkeypatch.setattr(training.Trainer, "_step", watch)
    kind(3, **{**QUICK, "batch_size": 90}).fit(images)
    assert seen.count("review") > 50


def test_tiny_clusters_are_left_while_assignments_are_held(shapes, monkeypatch):
    """Nor does the stage converge."""
    images, _ = shapes
    everything = torch.zeros(len(images), dtype=torch.int64)
    monkeypatch.setattr(training, "review", lambda *_, **__: (everything, 50))
    monkeypatch.setattr(training, "WINDOW", 5)
    monkeypatch.setattr(training, "_TOLERANCE", 1e9)
    model = DTIKMeans(3, **QUICK).fit(images)
    stages = np.array(model.history_.stage)
    assert not model.history_.n_reassigned[stages == "review"].any()
    assert (model.history_.shares[stages == "review"].max(axis=1) == 1).all()
    planned = plan_stages(
        ("affine",), transformation_classes(("affine",)), (1, 10, 10),
        n_steps=600, n_restarts=2, n_reviews=2, limited=True,
    )  # fmt: skip
    taken = 5 * (stages == "review").sum()
    assert taken == pytest.approx(sum(one.max_steps for one in planned if one.reviewed), abs=10)


@pytest.mark.parametrize("transforms", [[], ["colour"]])
def test_where_nothing_is_predicted_there_are_no_reviews(transforms, shapes):
    model = DTIKMeans(3, transforms=transforms, n_reviews=2, n_init=1, max_epochs=60)
    assert "review" not in model.fit(shapes[0]).history_.stage


def phase_of(trainer):
    if trainer.finished:
        return "finished"
    stage = trainer.recipe.stages[trainer.stage]
    if stage.reviewed:
        return "held" if trainer.stage_step else "between"
    return stage.name


@pytest.fixture
def verdicts(monkeypatch):
    """A list of what each review came to: labels, whether they are others, and the weights."""
    found = []
    review = training.review

    def note(reviewer, model, aligner, images, **options):
        before = reviewing.all_energies(model, aligner, images).argmin(dim=1)
        labels, n_changed = review(reviewer, model, aligner, images, **options)
        state = {name: one.clone() for name, one in reviewer.state_dict().items()}
        assert n_changed == (labels != before).sum()
        found.append((labels, n_changed > 0, state))
        return labels, n_changed

    monkeypatch.setattr(training, "review", note)
    return found


@pytest.mark.parametrize(("kind", "phase", "times"), [
    (DTIKMeans, "affine", 2), (DTIGaussianMixture, "held", 2), (DTIKMeans, "held", 9),
    (DTIKMeans, "between", 2), (DTIGaussianMixture, "refine", 2),
])  # fmt: skip
def test_checkpoints_change_nothing(
    kind, phase, times, shapes, tmp_path, monkeypatch, power_cut, verdicts
):
    rng = np.random.default_rng(0)
    images = np.clip(shapes[0][::2] + rng.normal(scale=0.3, size=(45, 10, 10)), 0, 1)
    options = {**QUICK, "max_epochs": 190}
    monkeypatch.setattr(training, "WINDOW", 3)
    monkeypatch.setattr(callbacks, "_SAVE_EVERY", -1.0)
    monkeypatch.setattr(reviewing, "_TRUSTED", 0.0)
    whole = kind(3, **options).fit(images)
    expected = list(verdicts)
    assert any(changed for _, changed, _ in expected)
    model = kind(3, **options, checkpoint_dir=tmp_path)
    with power_cut(times, when=lambda trainer: phase_of(trainer) == phase):
        model.fit(images)
    verdicts.clear()
    model.fit(images)
    for (labels, _, state), (wanted, _, known) in zip(
        reversed(verdicts), reversed(expected), strict=False
    ):
        assert torch.equal(labels, wanted)
        assert all(torch.equal(state[name], known[name]) for name in known)
    np.testing.assert_array_equal(model.prototypes_, whole.prototypes_)
    np.testing.assert_array_equal(model.history_.loss, whole.history_.loss)
    np.testing.assert_array_equal(model.history_.n_changed, whole.history_.n_changed)
    assert len(whole.history_.n_changed) == 2
    assert model.inertia_ == whole.inertia_


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_in_a_review(shapes, monkeypatch):
    images, labels = shapes
    begun = threading.Event()
    distorted = reviewing.distorted
    n_calls = 0

    def slow(*given):
        nonlocal n_calls
        n_calls += 1
        begun.set()
        time.sleep(0.05)
        return distorted(*given)

    def press():
        if begun.wait(timeout=60):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(reviewing, "distorted", slow)
    threading.Thread(target=press, daemon=True).start()
    with pytest.warns(UserWarning, match="Interrupted"):
        model = DTIKMeans(3, **QUICK).fit(images)
    assert n_calls < 60
    assert "review" not in model.history_.stage
    assert clustering_accuracy(labels, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(images), model.labels_)


def test_a_time_budget_holds_with_reviews(shapes):
    options = {**QUICK, "max_epochs": None}
    DTIKMeans(3, **options, time_budget=0.5).fit(shapes[0])  # what is loaded late is now loaded
    begin = time.monotonic()
    model = DTIKMeans(3, **options, time_budget=2.0).fit(shapes[0])
    assert time.monotonic() - begin < 4
    assert model.history_.stage[-1] == "refine"
    assert "review" in model.history_.stage


def test_reviews_that_there_is_no_time_for_are_left_out(shapes, monkeypatch):
    look = reviewing.all_energies
    monkeypatch.setattr(reviewing, "all_energies", lambda *given: time.sleep(0.5) or look(*given))
    options = {**QUICK, "max_epochs": None, "n_reviews": 20}
    begin = time.monotonic()
    model = DTIKMeans(3, **options, time_budget=2.0).fit(shapes[0])
    assert time.monotonic() - begin < 5
    assert 0 < len(model.history_.n_changed) < 6


def test_groups_of_restarts_do_not_depend_on_workers(shapes):
    options = {**QUICK, "n_init": 5, "max_epochs": 100}
    one, two = (DTIKMeans(3, **options, n_jobs=n).fit(shapes[0]) for n in (1, 2))
    np.testing.assert_array_equal(one.prototypes_, two.prototypes_)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 3), (1, 12)])
def test_single_images_as_batches(shape):
    images = np.random.default_rng(0).random((6, *shape))
    model = DTIKMeans(2, transforms=("affine",), n_reviews=1, batch_size=1, n_init=1, max_epochs=30)
    assert "review" in model.fit(images).history_.stage


def test_what_a_review_says_is_learnt(shapes, verdicts, monkeypatch):
    """Mistakes that are made before each review are gone after it."""
    images, labels = shapes
    energies = reviewing.all_energies
    rng = np.random.default_rng(1)
    wrong = torch.from_numpy(rng.random(len(images)) < 0.1)

    def mistaken(*given):
        found = energies(*given)
        found[wrong] = found[wrong].roll(1, dims=1)
        return found

    monkeypatch.setattr(reviewing, "all_energies", mistaken)
    model = DTIKMeans(3, **{**QUICK, "max_epochs": 1500}).fit(images)
    assert all(changed for _, changed, _ in verdicts)
    for found, _, _ in verdicts:
        assert clustering_accuracy(labels, found.numpy()) > 1 - wrong.double().mean() / 2
    assert clustering_accuracy(labels, model.labels_) > 0.95


def test_saved_and_loaded(shapes, tmp_path):
    images, _ = shapes
    model = DTIKMeans(3, **QUICK).fit(images)
    save_clustering(model, tmp_path / "model.json")
    again = load_clustering(tmp_path / "model.json")
    assert again.n_reviews == 2
    np.testing.assert_array_equal(again.transform(images), model.transform(images))
    np.testing.assert_array_equal(again.history_.n_changed, model.history_.n_changed)


@pytest.mark.parametrize(("options", "message"), [
    ({"n_reviews": -1}, "n_reviews must be a whole number from 0, got -1"),
    ({"n_reviews": 1.5}, "n_reviews must be a whole number from 0, got 1.5"),
    ({"n_reviews": True}, "n_reviews must be a whole number from 0, got True"),
    ({"alignment": "optimized"}, "n_reviews must be 0 with alignment='optimized'"),
])  # fmt: skip
def test_wrong_numbers_of_reviews_are_refused(options, message, shapes):
    with pytest.raises(InputError, match=message):
        DTIKMeans(3, **{**QUICK, **options}).fit(shapes[0])


@pytest.mark.parametrize(("n_init", "n_threads"), [(2, 2), (5, 1)])
def test_threads(shapes, monkeypatch, n_init, n_threads):
    """A review has all of them if it is the only one; nothing else has more than one."""
    seen = {"step": set(), "review": set()}
    step, distorted = training.Trainer._step, reviewing.distorted

    def watch_step(trainer):
        seen["step"].add(torch.get_num_threads())
        step(trainer)

    def watch_review(*given):
        seen["review"].add(torch.get_num_threads())
        return distorted(*given)

    monkeypatch.setattr(training.Trainer, "_step", watch_step)
    monkeypatch.setattr(reviewing, "distorted", watch_review)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        DTIKMeans(3, **{**QUICK, "n_init": n_init, "max_epochs": 40}).fit(shapes[0])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {"step": {1}, "review": {n_threads}}
