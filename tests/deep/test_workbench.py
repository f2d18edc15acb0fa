"""Deep methods by their names: runs with an embedding, models that predict, snapshots as runs."""

import numpy as np
import pytest

import kindset
from kindset.exceptions import InputError
from kindset.workbench import METHODS, snapshot_runs

QUICK = {
    "jule": {"epochs_per_period": 1, "widths": [4], "n_features": 8},
    "depict": {"pretrain_epochs": 2, "warmup_epochs": 1, "max_epochs": 3, "widths": [4, 4]},
    "idec": {"hidden": [20], "pretrain_epochs": 2, "max_epochs": 4},
    "deepcluster": {"max_epochs": 4, "widths": [4], "n_features": 8, "n_components": 4},
}


@pytest.mark.parametrize("method", QUICK)
def test_a_run_holds_embedding_and_model(stripes, tmp_path, method):
    images, _ = stripes
    data = kindset.read_data(images, name="stripes")
    kindset.cluster(data, method, 3, parameters=QUICK[method], out=tmp_path / "run")
    run = kindset.Run.load(tmp_path / "run")
    np.testing.assert_allclose(run.space, run.model.transform(images), rtol=1e-6)
    np.testing.assert_array_equal(run.model.predict(images), run.labels)
    np.testing.assert_array_equal(kindset.assign(run, images)["cluster"] - 1, run.labels)
    assert run.about.title == METHODS[method].title
    assert len(run.about.images.loss) > 0


@pytest.mark.parametrize("method", ["depict", "idec", "deepcluster"])
def test_snapshots_are_runs(stripes, method):
    data = kindset.read_data(stripes[0], name="stripes")
    tolerance = {} if method == "deepcluster" else {"tol": 0}
    parameters = {**QUICK[method], **tolerance, "n_snapshots": 2}
    run = kindset.cluster(data, method, 3, parameters=parameters)
    first, last = snapshot_runs(run)
    np.testing.assert_array_equal(last.labels, run.labels)
    assert (first.data, first.seed) == (run.data, run.seed)
    assert first.parameters["epoch"] < last.parameters["epoch"]
    assert first.name.endswith(f"epoch {first.parameters['epoch']}")
    assert len(kindset.compare_runs([first, last]).runs) == 2


def test_a_run_without_snapshots(stripes):
    run = kindset.cluster(kindset.read_data(stripes[0]), "kmeans", 3)
    with pytest.raises(InputError, match="holds no snapshots"):
        snapshot_runs(run)
