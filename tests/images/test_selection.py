"""The choice of the number of clusters: what is kept of it on the way."""

import numpy as np
import pytest

from kindset.images import DTIKMeans, select_n_clusters

QUICK = DTIKMeans(transforms=(), n_init=1, max_epochs=5, random_state=0)


def test_checkpoints_have_a_folder_for_each_number(shapes, tmp_path):
    estimator = DTIKMeans(**QUICK.get_params()).set_params(checkpoint_dir=tmp_path)
    selection = select_n_clusters(shapes[0], [2, 3, 4], estimator=estimator)
    assert sorted(selection.models) == [2, 3, 4]
    assert len(list(tmp_path.iterdir())) == 3
    again = select_n_clusters(shapes[0], [2, 3, 4], estimator=estimator)
    np.testing.assert_array_equal(again.path, selection.path)
    assert "The loss bends most" in selection._repr_html_()


@pytest.mark.parametrize(("last", "kept"), [(2, [2]), (5, [2, 3, 4])])
def test_half_trained_models_are_left_out_if_there_are_others(shapes, monkeypatch, last, kept):
    fit = DTIKMeans.fit

    def fit_until_the_last(model, X):
        fit(model, X)
        model.interrupted_ = model.n_clusters == last
        return model

    monkeypatch.setattr(DTIKMeans, "fit", fit_until_the_last)
    selection = select_n_clusters(shapes[0], range(2, 7), estimator=QUICK)
    assert selection.interrupted
    assert list(selection.models) == list(selection.path.index) == kept


def test_interrupt_before_a_number_has_begun(shapes, monkeypatch):
    fit, last = DTIKMeans.fit, 4

    def fit_or_stop(model, X):
        if model.n_clusters == last:
            raise KeyboardInterrupt
        return fit(model, X)

    monkeypatch.setattr(DTIKMeans, "fit", fit_or_stop)
    selection = select_n_clusters(shapes[0], range(2, 7), estimator=QUICK)
    assert selection.interrupted
    assert list(selection.models) == [2, 3]
    last = 2
    with pytest.raises(KeyboardInterrupt):
        select_n_clusters(shapes[0], range(2, 7), estimator=QUICK)
