"""Assigning new samples to the groups of an earlier run."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from kindset._arrays import check_range
from kindset._replacing import put_back
from kindset._shown import counted
from kindset.exceptions import InputError
from kindset.ordinal import OrdinalMixture, load_mixture
from kindset.runs import RUN_FILE, Run, SegmentNames, read_segment_names
from kindset.workbench._checking import check_levels, note_silent_rows
from kindset.workbench._codebook import Codebook, as_spelt
from kindset.workbench._dataset import COUNTED, FILES, Dataset
from kindset.workbench._methods import METHODS
from kindset.workbench._reading import ReadingOptions, read_with
from kindset.workbench._scaling import Scaling
from kindset.workbench._surveys import memberships

_NEEDED = ("kind", "columns", "scaling", "crop", "id_column")
"""The details of a run that decide how new samples are read."""


def assign(
    run: Run | OrdinalMixture | str | os.PathLike[str],
    new_data: Any,
    *,
    ids: Any = None,
    missing: Sequence[str] = (),
    names: SegmentNames = None,
    decimal: str = "auto",
    header_rows: int | None = None,
    sheet: str | int | None = None,
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
    names : path-like, dict or list, optional
        Names of a survey's segments: a TOML file, or names by number from 1. They are added as a
        column.
    decimal, header_rows, sheet
        As in `read_data`.
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
    known = found.about.id_column if isinstance(found, Run) else None
    options = ReadingOptions(
        ids=ids,
        ids_if_there=None if known in (None, COUNTED, FILES) else known,
        missing=missing,
        decimal=decimal,
        header_rows=header_rows,
        sheet=sheet,
        verbose=verbose,
    )
    if isinstance(model, OrdinalMixture):
        return _named(_assign_answers(model, new_data, options), found, names)
    assert isinstance(found, Run)
    if missing:
        raise InputError(
            "`missing` is for surveys; this method takes no gaps.", parameter="missing"
        )
    return _assign_samples(found, new_data, options)


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
    mixture: OrdinalMixture, new_data: Any, options: ReadingOptions
) -> pd.DataFrame:
    names = list(getattr(mixture, "feature_names_in_", []))
    words = {
        str(name): [str(level) for level in levels]
        for name, levels in zip(names, mixture.categories_, strict=False)
        if levels.dtype == object
    }
    data = read_with(new_data, replace(options, levels=_AsRead(words)))
    if not isinstance(data.content, pd.DataFrame):
        raise InputError(f"{data.name} holds no table of answers.")
    table = data.codebook.in_words(data.content)
    names = names or list(table.columns)
    if len(names) != len(mixture.categories_):
        raise InputError(
            f"{data.name} has {counted(len(names), 'column')} of answers, but the model, which has "
            f"no names of columns, needs {len(mixture.categories_)} (`ids` sets one apart)."
        )
    for name, levels in zip(names, mixture.categories_, strict=True):
        if name not in table:
            raise InputError(f"{_called(new_data)} has no column {name!r}, which the model needs.")
        known = levels.tolist()
        table[name] = as_spelt(table[name], known)
        check_levels(name, table[name], known, "cluster again with the whole scale in `levels`")
    silent = int(table[names].isna().all(axis=1).sum())
    if silent:
        note_silent_rows(silent)
    return memberships(mixture, table[names], data.ids)


def _named(table: pd.DataFrame, found: Run | OrdinalMixture, given: SegmentNames) -> pd.DataFrame:
    """Add the names of the segments, as given or as the run holds them, if there are any."""
    n_segments = sum(1 for name in table.columns if re.fullmatch(r"p\d+", str(name)))
    names = read_segment_names(given, n_segments)
    survey = found.about.survey if isinstance(found, Run) else None
    if survey is not None and len(survey.segments) == n_segments:
        held = [segment.name for segment in survey.segments]
        names = [name or earlier for name, earlier in zip(names, held, strict=True)]
    if any(names):
        table.insert(
            list(table.columns).index("segment") + 1,
            "name",
            [names[k - 1] for k in table["segment"]],
        )
    return table


class _AsRead(Codebook):
    """Levels that only say how cells are read: the model itself checks the answers."""

    def for_table(self, table: pd.DataFrame) -> Codebook:
        """Let columns be absent here: who needs one names it."""
        return Codebook()


def _called(new_data: Any) -> str:
    return str(new_data) if isinstance(new_data, (str, os.PathLike)) else "the table"


def _assign_samples(run: Run, new_data: Any, options: ReadingOptions) -> pd.DataFrame:
    """Bring new samples into the form of the old ones, and assign them."""
    shape = () if run.data is None else run.data.shape[1:]
    is_images = run.about.kind == "images"
    from_folder = isinstance(new_data, (str, os.PathLike)) and Path(new_data).is_dir()
    options = replace(
        options,
        columns=run.about.columns,
        ids=None if from_folder else options.ids,
        size=(shape[0], shape[1]) if is_images else None,
        crop=bool(run.about.crop),
        colours="colour" if len(shape) == 3 else "grey",
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
