import os
import signal
import time

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kindset import deep
from kindset._torch.checkpoint import Checkpoint
from kindset.deep import (
    DEPICT,
    IDEC,
    JULE,
    DeepCluster,
    DivergedError,
    load_deep,
    save_deep,
)
from kindset.deep._training import Training
from kindset.evaluation import clustering_accuracy
from kindset.exceptions import InputError


def same(one, other, X):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
    for name, column in one.history_.items():
        np.testing.assert_array_equal(column, other.history_[name])


class TestEveryMethod:
    def test_stripes_are_found(self, quick, stripes):
        images, labels = stripes
        longer = {"JULE": {}, "DEPICT": {"pretrain_epochs": 8}, "IDEC": {"pretrain_epochs": 20}}
        quick.set_params(**longer.get(type(quick).__name__, {"max_epochs": 8})).fit(images)
        assert clustering_accuracy(labels, quick.labels_) > 0.9
        np.testing.assert_array_equal(quick.predict(images), quick.labels_)

    def test_what_is_fitted(self, quick, stripes):
        images, _ = stripes
        model = quick.set_params(n_snapshots=2).fit(images)
        n_epochs = len(model.history_.epoch)
        assert model.history_.epoch.tolist() == list(range(1, n_epochs + 1))
        assert all(len(column) == n_epochs for column in model.history_.values())
        assert np.isfinite(model.history_.loss).any()
        assert model.n_iter_ > 0
        assert not model.interrupted_
        assert [type(one.epoch) for one in model.snapshots_] == [int, int]
        last = model.snapshots_[-1]
        np.testing.assert_array_equal(last.labels, model.labels_)
        np.testing.assert_allclose(last.embedding, model.transform(images), rtol=1e-6)
        assert model.cluster_centers_.shape == (3, last.embedding.shape[1])
        assert len(model.get_feature_names_out()) == last.embedding.shape[1]

    def test_seeds(self, quick, stripes):
        images, _ = stripes
        torch.manual_seed(1)
        one = clone(quick).fit(images)
        state = torch.get_rng_state()
        same(one, clone(quick).fit(images), images)
        assert torch.equal(state, torch.get_rng_state())
        other = quick.set_params(random_state=1).fit(images)
        assert not np.array_equal(one.transform(images), other.transform(images))

    def test_snapshots_change_nothing(self, quick, stripes):
        images, _ = stripes
        same(clone(quick).fit(images), quick.set_params(n_snapshots=2).fit(images), images)

    @pytest.mark.parametrize("shape", [(20, 6, 5, 3), (20, 3, 6, 5), (20, 4)])
    def test_colours_and_rows(self, quick, shape):
        images = np.random.default_rng(0).random(shape)
        model = quick.fit(images)
        np.testing.assert_array_equal(model.predict(images), model.labels_)
        assert model.n_features_in_ == np.prod(shape[1:])
        one = model.transform(images[:1])
        np.testing.assert_allclose(one, model.transform(images)[:1], rtol=1e-5, atol=1e-6)

    def test_equal_images_share_a_cluster(self, quick, stripes):
        images = np.concatenate([stripes[0], stripes[0][:30], stripes[0][:30]])
        model = quick.fit(images)
        np.testing.assert_array_equal(model.labels_[90:120], model.labels_[:30])
        np.testing.assert_array_equal(model.predict(images), model.labels_)

    def test_as_many_clusters_as_images(self, quick):
        images = np.random.default_rng(0).random((4, 8, 8))
        model = quick.set_params(n_clusters=4).fit(images)
        assert len(model.history_.loss) == len(model.history_.epoch)
        np.testing.assert_array_equal(model.predict(images), model.labels_)

    def test_one_cluster(self, quick, stripes):
        assert quick.set_params(n_clusters=1).fit(stripes[0]).labels_.max() == 0

    def test_too_few_or_equal_images(self, quick, stripes):
        with pytest.raises(InputError, match="too few for n_clusters=3"):
            quick.fit(stripes[0][:2])
        with pytest.raises(InputError, match="are equal"):
            quick.fit(np.ones((5, 8, 8)))

    def test_a_rate_that_is_too_high(self, quick, stripes):
        quick.set_params(learning_rate=1e30)
        if isinstance(quick, JULE):  # unit rows keep the loss finite, but not the weights
            quick.set_params(epochs_per_period=3)
        with np.errstate(all="ignore"), pytest.raises(DivergedError, match="lower learning_rate"):
            quick.fit(stripes[0])

    def test_progress(self, quick, stripes, capsys):
        quick.set_params(verbose=1).fit(stripes[0])
        assert type(quick).__name__ in capsys.readouterr().err

    @pytest.mark.filterwarnings("ignore:Only:sklearn.exceptions.ConvergenceWarning")
    def test_a_budget_ends_it_early(self, quick, stripes):
        epochs = "epochs_per_period" if isinstance(quick, JULE) else "max_epochs"
        quick.set_params(time_budget=0.2, **{epochs: 10_000})
        begun = time.monotonic()
        model = quick.fit(stripes[0])
        assert time.monotonic() - begun < 30
        np.testing.assert_array_equal(model.predict(stripes[0]), model.labels_)


class TestCheckpoints:
    def test_a_resumed_training_comes_to_the_same(self, quick, stripes, tmp_path, monkeypatch):
        images, _ = stripes
        quick.set_params(n_snapshots=2)
        whole = clone(quick).fit(images)
        n_epochs = len(whole.history_.epoch)
        monkeypatch.setattr("kindset._torch.callbacks._SAVE_EVERY", -1.0)
        save = Checkpoint.save

        def die(checkpoint, training):
            save(checkpoint, training)
            if len(training.history) == cut:
                raise RuntimeError("power cut")

        for cut in range(1, n_epochs):
            quick.set_params(checkpoint_dir=tmp_path / str(cut))
            with monkeypatch.context() as patch:
                patch.setattr(Checkpoint, "save", die)
                with pytest.raises(RuntimeError, match="power cut"):
                    quick.fit(images)
            same(quick.fit(images), whole, images)
            for one, other in zip(quick.snapshots_, whole.snapshots_, strict=True):
                assert one.epoch == other.epoch
                np.testing.assert_array_equal(one.labels, other.labels)
                np.testing.assert_array_equal(one.embedding, other.embedding)

    def test_a_finished_training_is_not_repeated(self, quick, stripes, tmp_path, monkeypatch):
        first = clone(quick).set_params(checkpoint_dir=tmp_path).fit(stripes[0])
        monkeypatch.setattr(Training, "_run_epoch", lambda *_: pytest.fail("trained again"))
        same(quick.set_params(checkpoint_dir=tmp_path).fit(stripes[0]), first, stripes[0])

    def test_other_data_or_parameters(self, stripes, tmp_path, quick):
        quick.set_params(checkpoint_dir=tmp_path).fit(stripes[0])
        with pytest.raises(InputError, match="other data or parameters"):
            quick.fit(stripes[0][1:])
        with pytest.raises(InputError, match="other data or parameters"):
            quick.set_params(batch_size=77).fit(stripes[0])


class TestInterrupts:
    @pytest.mark.parametrize("n_steps", [1, 4])
    def test_what_there_is_is_kept(self, quick, stripes, n_steps, monkeypatch, ctrl_c):
        images, _ = stripes
        minimise = Training.minimise

        def press(training, loss):
            minimise(training, loss)
            if training.step == n_steps - 1:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(Training, "minimise", press)
        with pytest.warns(UserWarning, match="Interrupted: the clustering so far is kept"):
            model = quick.fit(images)
        assert model.interrupted_
        assert model.n_iter_ == n_steps
        np.testing.assert_array_equal(model.predict(images), model.labels_)
        assert len(np.unique(model.labels_)) == 3

    def test_before_the_first_step(self, quick, stripes, monkeypatch, ctrl_c):
        def press(training):
            os.kill(os.getpid(), signal.SIGINT)
            return plan(training)

        kind = type(quick)._training
        plan = kind.plan
        monkeypatch.setattr(kind, "plan", press)
        with pytest.raises(KeyboardInterrupt):
            quick.fit(stripes[0])
        assert not hasattr(quick, "labels_")


class TestLeaves:
    @pytest.mark.parametrize("model", [
        DEPICT(3, pretrain_epochs=2, max_epochs=1, widths=(4, 4), random_state=0),
        IDEC(3, hidden=(20,), pretrain_epochs=2, max_epochs=1, random_state=0),
    ])  # fmt: skip
    def test_probabilities(self, stripes, model):
        proba = model.fit(stripes[0]).predict_proba(stripes[0])
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(proba.argmax(axis=1), model.labels_)

    @pytest.mark.parametrize("init", ["graph", "k-means"])
    @pytest.mark.parametrize("target", ["squared", "rooted"])
    def test_depict(self, stripes, init, target):
        model = DEPICT(
            3, init=init, target=target, pretrain_epochs=4, max_epochs=3, tol=0, widths=(4, 4),
            scaling="symmetric", n_features=5, random_state=0,
        ).fit(stripes[0])  # fmt: skip
        stages = model.history_.stage
        assert stages == ["pretraining"] * 4 + ["warm-up"] * 3 + ["clustering"] * 3
        assert np.isnan(model.history_.clustering[:4]).all()
        assert model.transform(stripes[0]).shape == (90, 5)

    @pytest.mark.parametrize("name", ["DEPICT", "IDEC"])
    def test_an_autoencoder_is_shared(self, stripes, tmp_path, name, quick_model):
        images, _ = stripes
        first = quick_model(name).fit(images)
        second = quick_model(name).set_params(pretrained=first.autoencoder_)
        second = clone(second).set_params(checkpoint_dir=tmp_path, pretrain_epochs=99).fit(images)
        assert "pretraining" not in second.history_.stage
        for key, values in first.autoencoder_.items():
            np.testing.assert_array_equal(second.autoencoder_[key], values)
        same(clone(second).fit(images), second, images)
        save_deep(second, tmp_path / "model.json")
        back = load_deep(tmp_path / "model.json")
        np.testing.assert_array_equal(back.predict(images), second.labels_)
        other = {key: values + 1 for key, values in first.autoencoder_.items()}
        with pytest.raises(InputError, match="other data or parameters"):
            clone(second).set_params(pretrained=other).fit(images)
        with pytest.raises(InputError, match="pretrained must be the autoencoder_"):
            clone(second).set_params(pretrained={"x": np.ones(1)}).fit(images)

    def test_depict_converges(self, stripes):
        model = DEPICT(3, pretrain_epochs=2, max_epochs=9, tol=1.0, widths=(4, 4), random_state=0)
        assert model.fit(stripes[0]).converged_
        assert model.history_.stage.count("clustering") == 1

    def test_idec_converges(self, stripes):
        model = IDEC(3, hidden=(20,), max_epochs=99, tol=0.5, update_interval=2, random_state=0)
        assert model.fit(stripes[0]).converged_
        assert model.history_.stage.count("clustering") < 99

    def test_clusters_without_images_are_told(self, stripes, monkeypatch):
        monkeypatch.setattr(
            deep.DEPICT._training, "_first_labels", lambda *_: np.zeros(90, dtype=np.int64)
        )
        model = DEPICT(3, pretrain_epochs=1, max_epochs=0, widths=(4, 4), random_state=0)
        with pytest.warns(ConvergenceWarning, match="of n_clusters=3 clusters have images"):
            model.fit(stripes[0])

    def test_jule_merges_from_period_to_period(self, stripes):
        model = JULE(
            3, unfolding_rate=0.3, epochs_per_period=1, widths=(4,), n_features=8, random_state=0
        ).fit(stripes[0])
        numbers = [int(stage.split()[0]) for stage in model.history_.stage]
        assert numbers == sorted(numbers, reverse=True)
        assert numbers[-1] > 3
        np.testing.assert_allclose(
            np.linalg.norm(model.transform(stripes[0]), axis=1), 1, rtol=1e-6
        )

    def test_deepcluster_without_augmentation(self, stripes):
        model = DeepCluster(3, augment=False, max_epochs=2, n_components=3, random_state=0)
        embedding = model.fit(stripes[0]).transform(stripes[0])
        np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1, rtol=1e-6)

    @pytest.mark.parametrize(("model", "sentence"), [
        (DEPICT(widths=(3,)), "widths must be two whole numbers from 1"),
        (DEPICT(widths=5), "widths must be a list of two whole numbers, got 5"),
        (IDEC(hidden=(5, 0)), "hidden must be whole numbers from 1"),
        (JULE(widths="x"), "widths must be one of 'auto', or a list of whole numbers"),
        (DeepCluster(widths=(2.5,)), "widths must be whole numbers from 1"),
        (DEPICT(device="x"), "device must be 'auto'"),
        (JULE(batch_size=1), "batch_size must be a whole number from 2"),
    ])  # fmt: skip
    def test_refused_parameters(self, model, sentence, stripes):
        with pytest.raises(InputError, match=sentence):
            model.set_params(n_clusters=3).fit(stripes[0])
