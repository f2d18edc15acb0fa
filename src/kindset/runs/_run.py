"""What a run is, and how it stands on disk."""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kindset._arrays import as_whole_labels, check_space
from kindset._files import named_errors, output_folder, write_text
from kindset._reading import read_archive, read_array, read_json
from kindset._replacing import put_back
from kindset._shown import counted, shown
from kindset.exceptions import InputError
from kindset.runs._details import RunDetails
from kindset.runs._fingerprint import Fingerprint
from kindset.runs._html import run_table
from kindset.runs._models import read_model, write_model
from kindset.runs._source import Source, read_source

FORMAT = "kindset-run"
VERSION = 1
RUN_FILE = "run.json"
STABILITY = "stability"
"""The name in `Run.metrics` of the agreement of refits on resampled data."""
_EXHIBITS = "exhibits.npz"

_PACKAGES = ("kindset", "numpy", "scipy", "scikit-learn", "numba", "pandas", "torch")


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide a result."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, eq=False)
class Run:
    """A partition of some data, the space it was made in, and where it came from.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The group of each sample. Names and truth values are numbered in sorted order.
    space : array-like of shape (n_samples, n_dimensions) or None
        The embedding or the features that the partition lives in.
    name : str
        What to call it in rankings and reports.
    method : str
        How the partition was made.
    parameters : dict
        Its parameters, as far as JSON can hold them.
    seed : int or None
        The seed of its random numbers.
    data : Fingerprint or None
        What it was made on: the values that the method used.
    source : Source or None
        Where its samples were read from.
    timings : dict of str to float
        Seconds by stage.
    metrics : dict of str to float
        Whatever was measured.
    command : list of str or None
        The command that made it.
    versions : dict of str to str
        Versions of the packages involved.
    created : str
        When, in UTC.
    details : dict
        What there is to say about the groups, as plain values: `RunDetails.to_dict`. The
        attribute `about` reads it back.
    exhibits : dict of str to ndarray
        Arrays that a report shows: typical images, prototypes, a merge tree.
    model : estimator or None
        The fitted model.

    Examples
    --------
    >>> import tempfile
    >>> from kindset.runs import Run
    >>> run = Run([0, 0, 1], space=[[0.0], [0.1], [5.0]], name="by hand")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/first")
    ...     Run.load(f"{folder}/first").labels
    array([0, 0, 1])
    """

    labels: NDArray[np.int64]
    space: NDArray[np.floating[Any]] | None = None
    name: str = "run"
    method: str = "unknown"
    parameters: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    data: Fingerprint | None = None
    source: Source | None = None
    timings: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    command: list[str] | None = None
    versions: dict[str, str] = field(default_factory=package_versions)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    exhibits: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    model: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "labels", as_whole_labels(self.labels, f"the list of labels of {self.name!r}")
        )
        if self.space is not None:
            name = f"the space of {self.name!r}"
            space = check_space(self.space, name=name, n_samples=len(self.labels), minimum=1)
            object.__setattr__(self, "space", space)

    def __repr__(self) -> str:
        clusters, samples = counted(self.n_clusters, "cluster"), counted(len(self), "sample")
        return f"Run({self.name!r}, {clusters} of {samples})"

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of groups; the label -1 (noise) is not one."""
        return len(set(self.labels.tolist()) - {-1})

    @property
    def coverage(self) -> float:
        """Share of the samples that are in a group, not left out as noise (-1)."""
        return float(np.mean(self.labels != -1)) if len(self) else 1.0

    @cached_property
    def about(self) -> RunDetails:
        """The details and exhibits in types of their own; what is damaged is left out."""
        return RunDetails.from_run(self, strict=False)

    def _repr_html_(self) -> str:
        return run_table(self)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the run to a new folder in one step.

        Parameters
        ----------
        path : path-like
            The folder. It appears when the run is whole; a crash leaves nothing that loads.
        force : bool, default=False
            Whether to replace an earlier run.
        """
        with output_folder(Path(path), force=force) as stage:
            self.write(stage)

    def write(self, folder: Path) -> None:
        """Write the run's files into a folder that is being filled; `save` does that and more."""
        arrays = {"labels.npy": self.labels, "space.npy": self.space}
        for name, array in arrays.items():
            with named_errors(folder / name):
                if array is not None:
                    np.save(folder / name, array, allow_pickle=False)
        if self.exhibits:
            with named_errors(folder / _EXHIBITS):
                np.savez_compressed(folder / _EXHIBITS, allow_pickle=False, **self.exhibits)
        document = {
            "format": FORMAT,
            "version": VERSION,
            "has_space": self.space is not None,
            "exhibits": sorted(self.exhibits),
            "model": None if self.model is None else write_model(self.model, folder / "model"),
            "data": None if self.data is None else asdict(self.data),
            "source": None if self.source is None else asdict(self.source),
            **{name: getattr(self, name) for name in _PLAIN},
        }
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
        write_text(folder / RUN_FILE, text + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, strict: bool = True) -> Self:
        """Read a run folder.

        Parameters
        ----------
        path : path-like
            The folder.
        strict : bool, default=True
            Whether damaged exhibits are an error; otherwise they are left out, and the run's
            ``details["notes"]`` say so.

        Returns
        -------
        run : Run

        Raises
        ------
        InputError
            If it is not a run, is damaged, or has a version this release cannot read.
        """
        folder = Path(path)
        put_back(folder)
        document = _read_document(folder)
        try:
            plain = {name: document[name] for name in _PLAIN}
            for name, kinds in _KINDS.items():
                if not isinstance(document[name], kinds):
                    raise KeyError(name)
            data = _read_fingerprint(document["data"], folder)
            source = read_source(document.get("source"))
            space = read_array(folder / "space.npy") if document["has_space"] else None
            exhibits, notes = _read_exhibits(folder, document["exhibits"], strict=strict)
            plain["details"] = _with_notes(plain["details"], notes)
            model = document["model"]
        except (KeyError, TypeError) as error:
            raise InputError(
                f"the run {shown(folder)} is damaged: {error} is missing or wrong."
            ) from error
        return cls(
            labels=read_array(folder / "labels.npy"),
            space=space,
            data=data,
            source=source,
            exhibits=exhibits,
            model=None if model is None else read_model(model, folder / "model"),
            **plain,
        )


_PLAIN = ("name", "method", "parameters", "seed", "timings", "metrics", "command", "versions",
          "created", "details")  # fmt: skip


_KINDS: dict[str, Any] = {
    "name": str,
    "method": str,
    "parameters": dict,
    "timings": dict,
    "metrics": dict,
    "versions": dict,
    "details": dict,
    "exhibits": list,
    "model": (str, type(None)),
}


def _read_fingerprint(value: Any, folder: Path) -> Fingerprint | None:
    try:
        return None if value is None else Fingerprint.from_dict(value)
    except InputError as error:
        raise InputError(f"the run {shown(folder)} is damaged: {error}") from error


def _read_exhibits(
    folder: Path, names: list[str], *, strict: bool
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Return the exhibits, and what is to be said of them if they had to be left out."""
    path = folder / _EXHIBITS
    try:
        found = read_archive(path) if names else {}
        for name in names:
            if name not in found:
                raise InputError(f"{path} is damaged: {name!r} is missing in it.")
    except InputError as error:
        if strict:
            raise
        return {}, [f"The pictures and trees are left out, because {error}"]
    return {name: found[name] for name in names}, []


def _with_notes(details: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    if not notes:
        return details
    told = details.get("notes")
    return {**details, "notes": [*(told if isinstance(told, list) else []), *notes]}


def _read_document(folder: Path) -> dict[str, Any]:
    try:
        document = read_json(folder / RUN_FILE)
    except OSError as error:
        raise InputError(f"{shown(folder)} is not a run: cannot read {RUN_FILE} in it.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(f"{shown(folder)} is not a run: {RUN_FILE} is something else.")
    if document.get("version") != VERSION:
        raise InputError(
            f"the run {shown(folder)} has version {document.get('version')!r}, but this release of "
            f"Kindset reads version {VERSION}."
        )
    return document


def _plain(value: Any) -> Any:
    """Turn numpy's numbers and arrays into JSON's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)
