"""Reading what is clustered by its numbers or its pixels: tables, arrays, folders of pictures."""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset._arrays import as_label_array
from kindset.datasets import load_image_folder
from kindset.exceptions import InputError
from kindset.runs import fingerprint, read_archive, read_array
from kindset.workbench._tables import Reading, keep_columns, read_table, take_column, take_ids

Kind = Literal["features", "images"]
_DATA_NAMES = ("X", "x", "data", "images", "features", "embedding")
_LABEL_NAMES = ("labels", "label", "y", "target")
_SCALES = ("none", "standard")
# Spreads of columns that differ by more than this factor let a few of them decide.
_UNEQUAL = 30.0


@dataclass(frozen=True)
class Scaling:
    """What is taken from each column, and what the rest is divided by."""

    mean: list[float]
    spread: list[float]

    @classmethod
    def standard(cls, X: NDArray[Any]) -> "Scaling":
        """Return what gives columns the mean 0 and the deviation 1; constant ones only the mean."""
        spread = X.std(axis=0, dtype=np.float64)
        return cls(
            X.mean(axis=0, dtype=np.float64).tolist(), np.where(spread > 0, spread, 1).tolist()
        )

    @classmethod
    def pixels(cls, images: NDArray[Any]) -> "Scaling":
        """Return what brings all pixels to the range from 0 to 1."""
        low, high = float(images.min()), float(images.max())
        if images.dtype == np.uint8:
            low, high = 0.0, 255.0
        return cls([low], [high - low if high > low else 1.0])

    def __call__(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Scale rows."""
        return (X - np.array(self.mean)) / np.array(self.spread)

    def rows(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """Scale images, and lay them out as rows, in single precision."""
        rows = images.reshape(len(images), -1).astype(np.float32)
        rows -= np.float32(self.mean[0])
        rows /= np.float32(self.spread[0])
        return rows


@dataclass
class Samples:
    """What is clustered, and what is known about it.

    Attributes
    ----------
    X : ndarray
        (N, d) for features; (N, H, W) or (N, H, W, C) for images.
    ids : Series
        What tells the samples apart: row numbers, a column of the table, or file names.
    name : str
        What to call the data.
    features : list of str or None
        Names of the columns.
    truth : ndarray or None
        Known labels, to compare with only.
    scaling : Scaling or None
        What was done to the columns.
    crop : bool
        Whether images were cropped to their size.
    data : Fingerprint
        Of what was read.
    """

    X: NDArray[Any]
    ids: "pd.Series[Any]"
    name: str
    features: list[str] | None = None
    truth: NDArray[Any] | None = None
    scaling: "Scaling | None" = None
    crop: bool = False

    def __post_init__(self) -> None:
        # Of what was read: runs on the same data in different scales can be compared.
        self.data = fingerprint(self.X)

    @property
    def source(self) -> dict[str, str]:
        """What tells apart samples that look alike, as hashes; what they are called does not."""
        told = {
            "ids": [self.ids.name, *self.ids],
            "known labels": None if self.truth is None else self.truth.tolist(),
            "names of columns": self.features,
            "cropping": self.crop,
        }
        return {what: hashlib.sha256(repr(told[what]).encode()).hexdigest()[:16] for what in told}

    @property
    def kind(self) -> Kind:
        """Whether the samples are images or rows of numbers."""
        return "features" if self.X.ndim == 2 else "images"

    @cached_property
    def rows(self) -> NDArray[Any]:
        """The samples as rows of numbers, (N, d); pixels from 0 to 1, in single precision."""
        if self.kind == "features":
            return self.X
        return Scaling.pixels(self.X).rows(self.X)


@dataclass(frozen=True)
class SampleOptions:
    """What a user says about the data."""

    columns: list[str] | None = None
    excluded: list[str] | None = None
    ids: str | None = None
    truth: str | None = None
    missing: Sequence[str] = ()
    scale: str = "none"
    size: str | None = None
    crop: bool = False
    mode: str = "auto"
    progress: bool = True


def read_samples(path: Path, options: SampleOptions) -> Samples:
    """Read what is to be clustered: a table, an array or a folder of images."""
    if options.scale not in _SCALES:
        raise InputError(f"--scale must be one of {', '.join(_SCALES)}, not {options.scale!r}.")
    samples = read_any(path, options)
    if len(samples.X) < 2:
        raise InputError(f"{path} holds {len(samples.X)} sample; clusters need at least two.")
    return _scaled(samples, options.scale)


def read_any(path: Path, options: SampleOptions) -> Samples:
    """Read samples as they are."""
    if path.is_dir():
        samples = _read_folder(path, options)
    elif path.suffix.lower() in (".npy", ".npz"):
        samples = _read_array(path)
    else:
        samples = _read_table(path, options)
    return samples


def _read_folder(path: Path, options: SampleOptions) -> Samples:
    data = load_image_folder(
        path,
        size=_read_size(options.size),
        crop=options.crop,
        mode=options.mode,  # type: ignore[arg-type]
        verbose=options.progress,
    )
    if data.skipped:
        shown = "; ".join(f"{name} ({reason})" for name, reason in data.skipped[:5])
        more = f"; and {len(data.skipped) - 5} more" if len(data.skipped) > 5 else ""
        warnings.warn(
            f"{len(data.skipped)} file{'s were' if len(data.skipped) > 1 else ' was'} left out: "
            f"{shown}{more}.",
            UserWarning,
            stacklevel=2,
        )
    ids = pd.Series(data.names, name="file")
    truth = data.target if options.truth == "folder" else None
    if options.truth not in (None, "folder"):
        raise InputError("for a folder of images, --label-column can only be `folder`.")
    if options.truth == "folder" and truth is None:
        raise InputError(f"--label-column folder: all images of {path} lie in one folder.")
    return Samples(data.images, ids, path.resolve().name, truth=truth, crop=options.crop)


def _read_size(text: str | None) -> int | tuple[int, int] | None:
    if text is None:
        return None
    try:
        sides = tuple(int(side) for side in text.lower().split("x"))
    except ValueError:
        sides = ()
    if len(sides) == 1:
        return sides[0]
    if len(sides) == 2:
        return sides
    raise InputError(f"--size takes pixels such as 64, or height x width such as 48x64: {text!r}?")


def _read_array(path: Path) -> Samples:
    if not path.exists():
        raise InputError(f"there is no file {path}.")
    truth = None
    if path.suffix.lower() == ".npy":
        X = read_array(path)
    else:
        arrays = read_archive(path)
        X = arrays[_one_of(_DATA_NAMES, arrays, path)]
        known = [name for name in _LABEL_NAMES if name in arrays]
        truth = as_label_array(arrays[known[0]], f"{known[0]} of {path}") if known else None
    if X.dtype.kind not in "iufb" or X.ndim not in (2, 3, 4) or 0 in X.shape:
        raise InputError(
            f"{path} holds {X.dtype} values of shape {X.shape}; give numbers of shape (N, d), "
            "(N, height, width) or (N, height, width, channels)."
        )
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        wrong = int(np.flatnonzero(~np.isfinite(X.reshape(len(X), -1)).all(axis=1))[0])
        raise InputError(f"{path} holds NaN or infinite numbers, first in sample {wrong + 1}.")
    if truth is not None and len(truth) != len(X):
        raise InputError(f"{path} holds {len(truth)} labels for {len(X)} samples.")
    ids = pd.Series(range(1, len(X) + 1), name="row")
    return Samples(X, ids, path.stem, truth=truth)


def _one_of(names: Sequence[str], arrays: dict[str, Any], path: Path) -> str:
    found = [name for name in names if name in arrays] or list(arrays)
    if len(found) == 1 or (found and found[0] in names):
        return found[0]
    held = ", ".join(arrays) or "nothing"
    raise InputError(f"{path} must hold an array called X, data or images; it has {held}.")


def _read_table(path: Path, options: SampleOptions) -> Samples:
    named = [name for name in (options.ids, options.truth) if name]
    table = read_table(path, Reading(text_columns=named, missing=list(options.missing)))
    ids = take_ids(table, options.ids, reserved="cluster")
    truth = take_column(table, options.truth, "--label-column")
    if truth is not None and truth.isna().any():
        raise InputError(
            f"column {options.truth!r} has no label in row {truth.isna().argmax() + 1}."
        )
    table = keep_columns(table, options.columns, options.excluded)
    if table.shape[1] == 0:
        raise InputError("there is no column left to cluster by.")
    for name in table.columns:
        _check_column(name, table[name])
    known = None if truth is None else as_label_array(truth, f"column {options.truth!r}")
    X = table.to_numpy(dtype=np.float64)
    return Samples(X, ids, path.stem, [str(name) for name in table.columns], known)


def _check_column(name: str, column: "pd.Series[Any]") -> None:
    if not pd.api.types.is_numeric_dtype(column):
        text = column[column.map(lambda value: isinstance(value, str))]
        shown = f", {text.iloc[0]!r} in row {text.index[0] + 1}" if len(text) else ""
        raise InputError(
            f"column {name!r} holds text{shown}; this method needs numbers: name the column with "
            "--id-column, or leave it out (`kindset cluster` has --exclude and --label-column)."
        )
    gaps = ~np.isfinite(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if gaps.any():
        raise InputError(
            f"column {name!r} has no number in row {int(gaps.argmax()) + 1}; this method takes no "
            "gaps (bos, god and ordinal do): fill them, or leave the column or the rows out."
        )


def _scaled(samples: Samples, scale: str) -> Samples:
    if (samples.X[:1] == samples.X).all():
        raise InputError(f"all samples of {samples.name} are equal; there is nothing to cluster.")
    if samples.kind == "images":
        if scale != "none":
            raise InputError(
                f"--scale {scale} is for rows of numbers; {samples.name} holds images, of shape "
                f"{samples.X.shape[1:]}."
            )
        return samples
    X = samples.X.astype(np.float64) if samples.X.dtype.kind != "f" else samples.X
    spread = X.std(axis=0, dtype=np.float64)
    if scale == "standard":
        samples.scaling = Scaling.standard(X)
        X = samples.scaling(X)
    elif samples.features and spread[spread > 0].max() > _UNEQUAL * spread[spread > 0].min():
        widest = samples.features[int(spread.argmax())]
        narrowest = samples.features[int(np.where(spread > 0, spread, np.inf).argmin())]
        warnings.warn(
            f"The columns have very different spreads ({widest} the largest, {narrowest} the "
            "smallest), so a few decide; --scale standard weighs all alike.",
            UserWarning,
            stacklevel=2,
        )
    samples.X = X
    return samples
