"""What is clustered, and what is known about it."""

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kindset._arrays import check_range
from kindset._centering import far_mean
from kindset.exceptions import InputError
from kindset.runs import Fingerprint, Source, fingerprint
from kindset.workbench._checking import check_answers, note_doubtful
from kindset.workbench._codebook import Codebook
from kindset.workbench._notes import collected_notes
from kindset.workbench._scaling import SCALES, Scaling
from kindset.workbench._types import ColumnType, column_types, typed_table, usable_types

Kind = Literal["table", "features", "images"]

COUNTED = "row"
"""Name of the ids of samples that have none of their own."""
FILES = "file"
"""Name of the ids of images that were read from a folder."""

# Spreads of columns that differ by more than this factor let a few of them decide.
_UNEQUAL = 30.0
# Characters of a cell that a message quotes.
_SHOWN = 60


@dataclass(frozen=True)
class Answers:
    """A table as answers, the type of each column, and what was noted about them.

    Attributes
    ----------
    table : DataFrame
        Ordered categoricals or whole numbers, categoricals without an order, and floats.
    types : dict of str to ColumnType
        Which of these each column is, and how we know.
    notes : tuple of str
    """

    table: pd.DataFrame
    types: Mapping[str, ColumnType]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """Samples as rows of numbers, how they were scaled, and what was noted about them."""

    X: NDArray[Any]
    scaling: Scaling | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples to cluster, and what is known about them; made by `read_data`.

    Attributes
    ----------
    content : DataFrame or ndarray
        A table; an array of shape (n, d); or images of shape (n, height, width[, channels]).
    ids : Series
        What tells the samples apart: a column, file names, or numbers from 1.
    name : str
        What to call the data.
    source : Source
        A fingerprint of where it came from, whatever columns are used.
    labels : Series or None
        Known labels, to compare with only.
    weights : Series or None
        Weights of the rows, with a mean of 1.
    codebook : Codebook
        The order of answers, the words of codes, and the words of questions.
    column_types : dict of str to ColumnType
        What each column of a table holds, as declared or guessed, and why.
    about : str
        A sentence on the data, for reports.
    notes : tuple of str
        Cautions from reading.
    crop : bool
        Whether images were cropped to their size.
    unused : tuple of (str, str)
        The files of a folder that are not among the samples, each with the reason.
    """

    content: pd.DataFrame | NDArray[Any]
    ids: "pd.Series[Any]"
    name: str
    source: Source
    labels: "pd.Series[Any] | None" = None
    weights: "pd.Series[Any] | None" = None
    codebook: Codebook = field(default_factory=Codebook)
    column_types: Mapping[str, ColumnType] = field(default_factory=dict, repr=False)
    about: str = ""
    notes: tuple[str, ...] = ()
    crop: bool = False
    unused: tuple[tuple[str, str], ...] = ()
    _rows: dict[str, Rows] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.content)

    def __repr__(self) -> str:
        shape = " × ".join(str(n) for n in self.content.shape)
        return f"Dataset({self.name!r}, {self.kind}, {shape})"

    def take(self, rows: NDArray[np.intp]) -> "Dataset":
        """Return some of the samples, with all that is known about them."""

        def some(column: "pd.Series[Any] | None") -> "pd.Series[Any] | None":
            return None if column is None else column.iloc[rows].reset_index(drop=True)

        if isinstance(self.content, pd.DataFrame):
            content: Any = self.content.iloc[rows].reset_index(drop=True)
        else:
            content = self.content[rows]
        return replace(
            self,
            content=content,
            ids=self.ids.iloc[rows].reset_index(drop=True),
            labels=some(self.labels),
            weights=some(self.weights),
            _rows={},
        )

    @property
    def kind(self) -> Kind:
        """Whether the samples are rows of a table, rows of numbers, or images."""
        if isinstance(self.content, pd.DataFrame):
            return "table"
        return "features" if self.content.ndim == 2 else "images"

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns; None if there are none."""
        if isinstance(self.content, pd.DataFrame):
            return [str(name) for name in self.content.columns]
        return None

    @cached_property
    def identity(self) -> dict[str, str]:
        """What an earlier run must share to stand for a new one, in words and as hashes."""
        facts = {
            "ids": [self.ids.name, *self.ids],
            "known labels": None if self.labels is None else self.labels.tolist(),
            "names of columns": self.columns,
            "cropping": self.crop,
            "weights": None if self.weights is None else self.weights.tolist(),
            "levels": [self.codebook, {n: t.kind for n, t in self.column_types.items()}],
        }
        return {what: _short_hash(repr(fact)) for what, fact in facts.items()}

    @cached_property
    def answers(self) -> Answers:
        """The table as answers; a column that does not hold what its type says is refused."""
        if not isinstance(self.content, pd.DataFrame):
            raise InputError(f"{self.name} holds no table of answers.", parameter="method")
        table = self.content
        types = self.column_types or column_types(table, self.codebook, {})
        with collected_notes() as notes:
            types = usable_types(types, self.codebook)
            check_answers(table, types, self.codebook)
            note_doubtful(table, types, self.codebook)
        return Answers(typed_table(table, self.codebook, types), types, tuple(notes))

    @cached_property
    def answers_fingerprint(self) -> Fingerprint:
        """What a clustering of the answers is made on."""
        return fingerprint(self.answers.table)

    @cached_property
    def numbers_fingerprint(self) -> Fingerprint:
        """What a clustering of rows or images is made on, whatever their scale."""
        return fingerprint(self.numbers)

    @cached_property
    def images(self) -> NDArray[Any]:
        """The samples as images."""
        if self.kind != "images":
            raise InputError(f"{self.name} holds no images.", parameter="method")
        return np.asarray(self.content)

    @cached_property
    def pixels(self) -> Scaling:
        """What brings the pixels of the images to the range from 0 to 1."""
        return Scaling.pixels(self.images)

    @cached_property
    def samples(self) -> NDArray[Any]:
        """The samples as numbers, as they were read; text and gaps are refused."""
        if not isinstance(self.content, pd.DataFrame):
            return self.content
        for name in self.content.columns:
            _check_numbers(str(name), self.content[name])
        return self.content.to_numpy(dtype=np.float64)

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The samples as numbers that can be clustered: at least two, not all equal.

        Numbers whose squares cannot be computed are refused too.
        """
        X = self.samples
        if len(X) < 2:
            raise InputError(f"{self.name} holds {len(X)} sample; clusters need at least two.")
        if (X[:1] == X).all():
            raise InputError(f"all samples of {self.name} are equal; there is nothing to cluster.")
        if X.dtype.kind == "f":
            check_range(X.reshape(len(X), -1), self.name, first=1)
        return X

    def rows(self, scale: str = "none") -> Rows:
        """Return the samples as rows of numbers; pixels from 0 to 1, in single precision."""
        if scale not in SCALES:
            raise InputError(
                f"`scale` must be one of {', '.join(SCALES)}, not {scale!r}.", parameter="scale"
            )
        if self.kind == "images" and scale != "none":
            raise InputError(
                f"`scale` {scale} is for rows of numbers; {self.name} holds images, of shape "
                f"{self.content.shape[1:]}.",
                parameter="scale",
            )
        if scale not in self._rows:
            self._rows[scale] = self._make_rows(scale)
        return self._rows[scale]

    def _make_rows(self, scale: str) -> Rows:
        X = self.numbers
        if self.kind == "images":
            return Rows(self.pixels.rows(X), self.pixels, ())
        X = X.astype(np.float64) if X.dtype.kind != "f" else X
        if scale == "standard":
            scaling = Scaling.standard(X)
            return Rows(scaling(X), scaling, ())
        with collected_notes() as notes:
            _note_unequal_spreads(X, self.columns)
        offset = far_mean(X)
        if not offset.any():
            return Rows(X, None, tuple(notes))
        # Distances between samples that are far from the origin would lose their digits.
        scaling = Scaling(offset.tolist(), [1.0] * len(offset))
        return Rows(scaling(X).astype(X.dtype), scaling, tuple(notes))


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _check_numbers(name: str, column: "pd.Series[Any]") -> None:
    if not pd.api.types.is_numeric_dtype(column):
        text = column[column.map(lambda value: isinstance(value, str))]
        example = f", {_short(text.iloc[0])} in row {text.index[0] + 1}" if len(text) else ""
        raise InputError(
            f"column {name!r} holds text{example}; this method needs numbers: name the column with "
            "`ids` or `labels`, or leave it out with `exclude`.",
            parameter="exclude",
        )
    gaps = ~np.isfinite(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if gaps.any():
        raise InputError(
            f"column {name!r} has no number in row {int(gaps.argmax()) + 1}; this method takes no "
            "gaps (methods for surveys do): fill them, or leave the column or the rows out."
        )


def _short(text: str) -> str:
    """Quote a text, or the beginning of a long one."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _note_unequal_spreads(X: NDArray[Any], columns: list[str] | None) -> None:
    spread = X.std(axis=0, dtype=np.float64)
    if not columns or spread[spread > 0].max() <= _UNEQUAL * spread[spread > 0].min():
        return
    widest = columns[int(spread.argmax())]
    narrowest = columns[int(np.where(spread > 0, spread, np.inf).argmin())]
    warnings.warn(
        f"The columns have very different spreads ({widest} the largest, {narrowest} the "
        "smallest), so a few decide; `scale` standard weighs all alike.",
        UserWarning,
        stacklevel=2,
    )
