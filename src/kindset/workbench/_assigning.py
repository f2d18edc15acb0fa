"""Assigning new samples to the groups of an earlier run."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from kindset._arrays import check_range
from kindset._replacing import put_back
from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, load_mixture
from kindset.runs import RUN_FILE, Run
from kindset.workbench._dataset import COUNTED, Dataset
from kindset.workbench._methods import METHODS
from kindset.workbench._reading import ARRAYS, ReadingOptions, read_with
from kindset.workbench._scaling import Scaling
from kindset.workbench._surveys import memberships
from kindset.workbench._tables import Codebook, check_levels, column_names

_NEEDED = ("kind", "columns", "scaling", "crop", "id_column")
"""The details of a run that decide how new samples are read."""


def assign(
    run: Run | OrdinalMixture | str | os.PathLike[str],
    new_data: Any,
    *,
    ids: Any = None,
    missing: Sequence[str] = (),
    verbose: bool = False,
) -> pd.DataFrame:
    """Assign new samples to the groups of an earlier run.

    Parameters
    ----------
    run : Run, OrdinalMixture or path-like
        A run, its folder, or a survey's model.
    new_data : path-like, DataFrame or array-like
        New samples of the same kind, as `read_data` takes them.
    ids : str or array-like, optional
        The column that identifies the rows; by default the one of the run, if it is there.
    missing : sequence of str, optional
        Further marks of a missing answer, for surveys.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    table : DataFrame
        One row for each sample: its id, and its `cluster` from 1; for surveys its `segment` from
        1 and the probability of each segment.

    Raises
    ------
    InputError
        If the run holds no model, or the data are not of its kind.

    Examples
    --------
    >>> import kindset
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> run = kindset.cluster(X, "kmeans", 3)
    >>> kindset.assign(run, X[:2])
       row  cluster
    0    1        2
    1    2        2
    """
    found = load_run(Path(run)) if isinstance(run, (str, os.PathLike)) else run
    model = found.model if isinstance(found, Run) else found
    if model is None:
        assert isinstance(found, Run)
        where = f"the run {run if not isinstance(run, Run) else run.name}"
        raise InputError(f"{where} cannot predict: {_why_not(found)}.")
    if isinstance(found, Run):
        _check_details(found)
    if ids is None and isinstance(found, Run):
        ids = _known_ids(found, new_data)
    if isinstance(model, OrdinalMixture):
        return _assign_answers(model, new_data, ids, missing)
    assert isinstance(found, Run)
    if missing:
        raise InputError(
            "`missing` is for surveys; this method takes no gaps.", parameter="missing"
        )
    return _assign_samples(found, new_data, ids, verbose=verbose)


def _check_details(run: Run) -> None:
    """Refuse a run that does not say how its samples were read and scaled."""
    about = run.about
    damage = [about.damaged[name] for name in _NEEDED if name in about.damaged]
    if not damage and about.kind == "images" and _takes_rows(run) and about.scaling is None:
        damage = ["the scaling of its pixels is missing."]
    if not damage and about.kind == "images" and (run.data is None or len(run.data.shape) < 3):
        damage = ["the shape of its images is missing."]
    if damage:
        raise InputError(f"the run {run.name} is damaged: {damage[0]}")


def load_run(path: Path) -> Run | OrdinalMixture:
    """Read a run folder, or the model file of a survey."""
    put_back(path)
    if not path.is_dir():
        return load_mixture(path)
    inside = sorted(folder.parent for folder in path.glob(f"*/{RUN_FILE}"))
    if inside and not (path / RUN_FILE).exists():
        raise InputError(f"{path} holds {len(inside)} runs; give one of them: {inside[0]}.")
    return Run.load(path, strict=False)


def _known_ids(run: Run, new_data: Any) -> str | None:
    """Return the column that named the rows of the run, if the new table has it too."""
    name = run.about.id_column
    if name in (None, COUNTED):
        return None
    if isinstance(new_data, (str, os.PathLike)):
        path = Path(new_data)
        if not path.is_file() or path.suffix.lower() in ARRAYS:
            return None
        return name if name in column_names(path) else None
    return name if name in getattr(new_data, "columns", ()) else None


def _why_not(run: Run) -> str:
    """Say why a run holds no model, and what to do instead."""
    method = METHODS.get(run.method)
    if method is not None and not method.predicts:
        return (
            f"{run.method} groups the samples it was given and no others; cluster with kmeans, "
            "gmm or unmasking instead, or old and new samples together"
        )
    if run.parameters.get("embedding") is not None:
        return "the model of an embedding is not kept; cluster without `embedding`"
    return "it holds no model; make it with `kindset cluster`"


def _assign_answers(
    mixture: OrdinalMixture, new_data: Any, ids: Any, missing: Sequence[str]
) -> pd.DataFrame:
    names = list(getattr(mixture, "feature_names_in_", []))
    words = {
        str(name): [str(level) for level in levels]
        for name, levels in zip(names, mixture.categories_, strict=False)
        if levels.dtype == object
    }
    data = read_with(new_data, ReadingOptions(ids=ids, levels=_AsRead(words), missing=missing))
    table = data.content
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"{data.name} holds no table of answers.")
    names = names or list(table.columns)
    if len(names) != len(mixture.categories_):
        raise InputError(
            f"{data.name} has {len(names)} columns of answers, but the model, which has no names "
            f"of columns, needs {len(mixture.categories_)} (`ids` sets one apart)."
        )
    for name, levels in zip(names, mixture.categories_, strict=True):
        if name not in table:
            raise InputError(f"{_called(new_data)} has no column {name!r}, which the model needs.")
        check_levels(
            name, table[name], levels.tolist(), "cluster again with the whole scale in `levels`"
        )
    silent = int(table[names].isna().all(axis=1).sum())
    if silent:
        warnings.warn(
            f"{silent} rows hold no answer at all: they are assigned by the segments' sizes alone.",
            stacklevel=3,
        )
    return memberships(mixture, table[names], data.ids)


class _AsRead(Codebook):
    """Levels that only say how cells are read: the model itself checks the answers."""

    def check(self, table: pd.DataFrame) -> None:
        """Let columns be absent here: who needs one names it."""


def _called(new_data: Any) -> str:
    return str(new_data) if isinstance(new_data, (str, os.PathLike)) else "the table"


def _assign_samples(run: Run, new_data: Any, ids: Any, *, verbose: bool) -> pd.DataFrame:
    """Bring new samples into the form of the old ones, and assign them."""
    shape = () if run.data is None else run.data.shape[1:]
    is_images = run.about.kind == "images"
    from_folder = isinstance(new_data, (str, os.PathLike)) and Path(new_data).is_dir()
    options = ReadingOptions(
        columns=run.about.columns,
        ids=None if from_folder else ids,
        size=(shape[0], shape[1]) if is_images else None,
        crop=bool(run.about.crop),
        colours="colour" if len(shape) == 3 else "grey",
        verbose=verbose,
    )
    data = read_with(new_data, options)
    X = data.samples
    if X.shape[1:] != shape:
        raise InputError(
            f"{_called(new_data)} holds samples of shape {X.shape[1:]}, but the run was made on "
            f"samples of shape {shape}."
        )
    if X.dtype.kind == "f":
        check_range(X.reshape(len(X), -1), data.name, spread=False, first=1)
    labels = run.model.predict(_as_trained(data, X, run))
    return pd.DataFrame({str(data.ids.name): data.ids.to_numpy(), "cluster": labels + 1})


def _takes_rows(run: Run) -> bool:
    """Whether the method lays images out as rows of pixels."""
    method = METHODS.get(run.method)
    return method is None or method.takes != "images"


def _as_trained(data: Dataset, X: NDArray[Any], run: Run) -> Any:
    """Bring new samples to the scale and precision of the old ones."""
    if not _takes_rows(run):  # scales images itself
        return X
    stored = run.about.scaling
    scaling = None if stored is None else Scaling(stored.mean, stored.spread)
    if scaling is not None and data.kind == "images":
        return scaling.rows(X)
    X = X if scaling is None else scaling(X)
    return X if run.space is None else X.astype(run.space.dtype)
