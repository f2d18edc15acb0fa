import numpy as np
import pandas as pd
import pytest

from kindset import datasets
from kindset.exceptions import InputError


@pytest.mark.parametrize(("load", "n"), [(datasets.load_anes96, 944), (datasets.load_fair, 6366)])
def test_bundled_surveys(load, n):
    survey = load()
    assert survey.data.shape == (n, 6)
    assert set(survey.questions) == set(survey.data.columns)
    assert len(survey.target) == n
    assert survey.DESCR
    for name in survey.data:
        assert survey.data[name].cat.ordered
        assert survey.data[name].notna().all()


def test_anes96_words_stand_for_the_codes():
    from statsmodels.datasets import anes96

    raw, survey = anes96.load_pandas().data, datasets.load_anes96().data
    assert (survey["PID"].cat.codes == raw["PID"]).all()
    for name in ("selfLR", "ClinLR", "DoleLR", "educ"):
        assert (survey[name].cat.codes + 1 == raw[name]).all()
    assert (survey["TVnews"].cat.codes == raw["TVnews"]).all()


def test_missing_data_folder(monkeypatch):
    monkeypatch.delenv("KINDSET_DATA", raising=False)
    with pytest.raises(InputError, match="set the environment variable KINDSET_DATA"):
        datasets.load_zoo()


def test_missing_file(monkeypatch, tmp_path):
    monkeypatch.setenv("KINDSET_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"holds no file zoo\.csv"):
        datasets.load_zoo()


def test_local_table(monkeypatch, tmp_path):
    monkeypatch.setenv("KINDSET_DATA", str(tmp_path))
    (tmp_path / "zoo.csv").write_text("hair,legs,label\n1,4,1\n0,2,2\n")
    zoo = datasets.load_zoo()
    assert list(zoo.data.columns) == ["hair", "legs"]
    assert list(zoo.target) == [1, 2]


def test_local_images(monkeypatch, tmp_path):
    monkeypatch.setenv("KINDSET_DATA", str(tmp_path))
    images = np.zeros((3, 4, 4), dtype=np.uint8)
    np.savez(tmp_path / "dots.npz", images=images, labels=[0, 1, 0])
    dots = datasets.load_images("dots")
    assert dots.images.shape == (3, 4, 4)
    assert list(dots.target) == [0, 1, 0]
    assert dots.split is None
    np.savez(tmp_path / "bare.npz", images=images)
    with pytest.raises(InputError, match="no array 'labels'"):
        datasets.load_images("bare")
    with pytest.raises(InputError, match=r"no file none\.npz"):
        datasets.load_images("none")


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name", [n for n in datasets.__all__ if n.startswith("load_") and n != "load_images"]
)
def test_every_loader(name):
    table = getattr(datasets, name)()
    assert isinstance(table.data, pd.DataFrame)
    assert len(table.data) > 20
