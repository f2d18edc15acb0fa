"""From tables as users have them to codes: which answers there are, in which order, and where."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_array

from kindset._validation import in_one_sentence
from kindset.exceptions import InputError
from kindset.ordinal._coefficients import MAX_CATEGORIES, FloatArray
from kindset.ordinal._rows import CodeArray

Table = pd.DataFrame | NDArray[Any]
Levels = NDArray[Any]


@dataclass(frozen=True)
class Column:
    """One question as it stands in a table.

    Attributes
    ----------
    label : str
        How messages call it.
    answers : ndarray
        Numbers, truth values, or objects.
    missing : ndarray of bool
    levels : ndarray or None
        The order that an ordered categorical declares.
    unordered : bool
        Whether it is a categorical that declares no order.
    """

    label: str
    answers: NDArray[Any]
    missing: NDArray[np.bool_]
    levels: Levels | None = None
    unordered: bool = False

    @property
    def present(self) -> NDArray[Any]:
        """The answers that are not missing."""
        return self.answers[~self.missing] if self.missing.any() else self.answers


def read_table(X: Any) -> Table:
    """Check the shape of a table; any data frame becomes pandas', anything else an array."""
    X = _as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        try:
            array: NDArray[Any] = check_array(X, dtype=None, ensure_all_finite=False)
        except ValueError as error:
            raise in_one_sentence(error, X) from error
        return array
    if not X.columns.is_unique:
        raise InputError(f"X has two columns named {X.columns[X.columns.duplicated()][0]!r}.")
    for size, what in zip(X.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise InputError(f"0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def _as_pandas(X: Any) -> Any:
    """Turn data frames of other libraries into pandas', which keeps the order of an `Enum`."""
    convert = getattr(X, "to_pandas", None)
    if isinstance(X, pd.DataFrame) or convert is None:
        return X
    try:
        return convert()
    except ImportError as error:
        raise InputError(
            f"X is a table of {type(X).__module__.partition('.')[0]}, which pyarrow must convert: "
            'pip install "kindset[tables]".'
        ) from error


Kind = Literal["ordered", "nominal", "numbers"]
"""What a column holds: categories in order, categories without one, or numbers."""

_MANY_LEVELS = 20
"""Whole numbers with more distinct values are measurements rather than answers."""


def guess_kinds(
    X: Table,
    n_categories: int | Sequence[int | None] | None,
    categories: Sequence[Any] | Mapping[Any, Any] | None,
) -> list[Kind]:
    """Say what each column seems to hold; levels that were given are in order."""
    if isinstance(n_categories, (int, np.integer)):
        return ["ordered"] * X.shape[1]
    counts = per_column(X, n_categories, "n_categories")
    given = per_column(X, categories, "categories")
    return [
        "ordered" if listed is not None or count is not None else _guess_kind(column)
        for column, listed, count in zip(_columns(X), given, counts, strict=True)
    ]


def _guess_kind(column: Column) -> Kind:
    if column.levels is not None:
        return "ordered"
    values = column.present
    if column.unordered or values.dtype == object:
        return "nominal"
    if values.dtype.kind == "b" or len(values) == 0:
        return "ordered"
    whole = values.dtype.kind in "iu" or bool((np.rint(values) == values).all())
    if not whole or values.min() < 0 or len(np.unique(values)) > _MANY_LEVELS:
        return "numbers"
    return "ordered"


def read_numbers(X: Table, which: Sequence[int], *, counts: Sequence[int] = ()) -> FloatArray:
    """Return some columns as numbers, NaN where missing; those of counts must be whole."""
    out = np.full((X.shape[0], len(which)), np.nan)
    wanted = {j: i for i, j in enumerate(which)}
    for j, column in enumerate(_columns(X)):
        if j not in wanted:
            continue
        values = column.present
        if values.dtype == object:
            raise InputError(
                f"{column.label} holds {_show(values[0])}, which is no number: its distribution "
                "is for numbers."
            )
        values = values.astype(np.float64)
        if j in counts and len(values) and ((values < 0) | (np.rint(values) != values)).any():
            raise InputError(
                f"{column.label} has a distribution of counts: they must be whole numbers from 0."
            )
        out[~column.missing, wanted[j]] = values
    return out


def infer_levels(
    X: Table,
    n_categories: int | Sequence[int | None] | None,
    categories: Sequence[Any] | Mapping[Any, Any] | None,
    kinds: Sequence[Kind] | None = None,
) -> list[Levels]:
    """Return the levels of each column: as declared, else the sorted numbers seen.

    Columns of `kinds` "nominal" need no order: text is sorted. Numbers have no levels.
    """
    if isinstance(n_categories, (int, np.integer)):
        n_categories = [int(n_categories)] * X.shape[1]
    counts = per_column(X, n_categories, "n_categories")
    given = per_column(X, categories, "categories")
    levels = []
    kinds = ["ordered"] * X.shape[1] if kinds is None else kinds
    for column, listed, count, kind in zip(_columns(X), given, counts, kinds, strict=True):
        if kind == "numbers":
            found = np.empty(0, dtype=np.int64)
        elif listed is not None:
            found = _listed_levels(listed, column.label)
        elif count is not None:
            found = _counted_levels(count, column.label)
        elif column.levels is not None:
            found = column.levels
        elif kind == "nominal" and column.present.dtype == object:
            found = np.array(sorted(set(column.present), key=str), dtype=object)
        else:
            found = _seen_levels(column)
        if len(found) > MAX_CATEGORIES:
            raise InputError(
                f"{column.label} has {len(found)} categories, more than the {MAX_CATEGORIES} that "
                "are supported: group them first, for example with pandas.cut."
            )
        levels.append(found)
    return levels


def encode(X: Table, levels: list[Levels], numeric: Collection[int] = ()) -> CodeArray:
    """Return codes from 0 in the order of the levels; the number of levels means missing.

    Numeric columns have the code 0, or 1 where the number is missing.
    """
    codes = np.empty(X.shape, dtype=np.uint8)
    for j, (column, known) in enumerate(zip(_columns(X), levels, strict=True)):
        codes[:, j] = column.missing if j in numeric else _encode_column(column, known)
    return codes


def decode(
    codes: CodeArray,
    levels: list[Levels],
    names: Any = None,
    numbers: Mapping[int, FloatArray] | None = None,
) -> Table:
    """Return the answers that codes stand for, as an array or, given names, a data frame."""
    numbers = numbers or {}
    nothing = np.full(len(codes), np.nan)
    columns = [
        numbers[j] if j in numbers else known[codes[:, j]] if len(known) else nothing
        for j, known in enumerate(levels)
    ]
    if names is None:
        return np.stack(columns, axis=1)
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    for name, known in zip(names, levels, strict=True):
        if known.dtype == object:
            frame[name] = pd.Categorical(frame[name], categories=list(known), ordered=True)
    return frame


def set_answers(X: Table, where: NDArray[np.bool_], j: int, answers: Levels) -> None:
    """Write answers into some rows of column j, in place."""
    if not isinstance(X, pd.DataFrame):
        X[where, j] = answers
        return
    column: Any = X.iloc[:, j]
    if isinstance(column.dtype, pd.CategoricalDtype):
        unknown = [level for level in dict.fromkeys(answers) if level not in column.cat.categories]
        X.isetitem(j, column.cat.add_categories(unknown))
    X.iloc[np.flatnonzero(where), j] = answers


def _columns(X: Table) -> Iterator[Column]:
    if isinstance(X, pd.DataFrame):
        for j, name in enumerate(X.columns):
            yield _read_series(X.iloc[:, j], f"column {name!r}")
    else:
        for j in range(X.shape[1]):
            yield _read_values(np.ascontiguousarray(X[:, j]), f"column {j}")


def _read_series(series: Any, label: str) -> Column:
    if not isinstance(series.dtype, pd.CategoricalDtype):
        plain = isinstance(series.dtype, np.dtype)
        return _read_values(series.to_numpy() if plain else series.to_numpy(dtype=object), label)
    levels = _plain_levels(series.cat.categories)
    codes = series.cat.codes.to_numpy()
    # One more entry for the code -1 of a missing answer to point at.
    values = np.array([*levels, None], dtype=object)[codes]
    if series.cat.ordered:
        return Column(label, values, codes < 0, levels)
    return Column(label, values, codes < 0, unordered=True)


def _read_values(values: NDArray[Any], label: str) -> Column:
    """Recognise missing answers, and numbers that come as objects."""
    if values.dtype.kind in "biu":
        return Column(label, values, np.zeros(len(values), dtype=bool))
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise InputError(f"{label} holds an infinite number, which is no category.")
        return Column(label, values, np.isnan(values))
    if values.dtype.kind not in "OUS":
        raise InputError(
            f"{label} has the type {values.dtype}: categories are whole numbers or text."
        )
    values = values.astype(object)
    missing = np.asarray(pd.isna(values))
    kinds = {_kind(value) for value in values[~missing]}
    for kind, dtype in (({"truth"}, np.bool_), ({"whole"}, np.int64)):
        if kinds == kind:
            plain = np.zeros(len(values), dtype=dtype)
            plain[~missing] = values[~missing].astype(dtype)
            return Column(label, plain, missing)
    if kinds and kinds <= {"truth", "whole", "number"}:
        plain = np.full(len(values), np.nan)
        plain[~missing] = values[~missing].astype(np.float64)
        return _read_values(plain, label)
    if kinds & {"truth", "whole", "number"}:
        raise InputError(f"{label} mixes numbers and text: use one kind of category.")
    return Column(label, values, missing)


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "truth"
    if isinstance(value, (int, np.integer)):
        return "whole" if -(2**63) <= value < 2**63 else "number"
    return "number" if isinstance(value, (float, np.floating)) else "other"


def per_column(X: Table, given: Any, parameter: str) -> list[Any]:
    """Spread a list, or a mapping from column names, over the columns; None where nothing is."""
    if given is None:
        return [None] * X.shape[1]
    if isinstance(given, Mapping):
        names = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
        unknown = [key for key in given if key not in names]
        if unknown:
            raise InputError(
                f"{parameter} names {unknown[0]!r}, but X has no such column.", parameter=parameter
            )
        return [given.get(name) for name in names]
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != X.shape[1]:
        raise InputError(
            f"{parameter} must have one entry for each of the {X.shape[1]} columns, got {given!r}.",
            parameter=parameter,
        )
    return list(given)


def _listed_levels(listed: Any, label: str) -> Levels:
    if isinstance(listed, str) or not hasattr(listed, "__len__") or len(listed) == 0:
        raise InputError(
            f"the categories of {label} must be a list of levels, got {listed!r}.",
            parameter="categories",
        )
    levels = _plain_levels(pd.Index(list(listed)))
    if pd.isna(levels).any():
        raise InputError(
            f"the categories given for {label} hold a missing value.",
            parameter="categories",
        )
    if not pd.Index(levels).is_unique:
        raise InputError(
            f"the categories given for {label} repeat a level: {list(listed)!r}.",
            parameter="categories",
        )
    return levels


def _counted_levels(count: Any, label: str) -> Levels:
    whole = isinstance(count, (int, float, np.number)) and not isinstance(count, bool)
    if not whole or not np.isfinite(count) or count != int(count) or count < 1:
        raise InputError(
            f"n_categories for {label} must be a whole number from 1, got {count!r}.",
            parameter="n_categories",
        )
    return np.arange(1, int(count) + 1)


def _plain_levels(index: "pd.Index[Any]") -> Levels:
    """Return levels as integers, floats or Python objects."""
    if isinstance(index.dtype, np.dtype) and index.dtype.kind in "biuf":
        return index.to_numpy()
    return index.to_numpy(dtype=object)


def _seen_levels(column: Column) -> Levels:
    if column.unordered:
        raise InputError(
            f"{column.label} is a categorical without an order: give its levels in order with "
            "categories=, or make it ordered (Series.cat.set_categories(..., ordered=True))."
        )
    values = column.present
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    if values.dtype == object:
        raise InputError(
            f"{column.label} holds text such as {values[0]!r}: give its levels in order with "
            "categories=, or make it an ordered categorical."
        )
    if values.dtype.kind == "b":
        return np.array([False, True])
    return _distinct_whole(values, column.label)


def _distinct_whole(values: NDArray[Any], label: str) -> Levels:
    """Return the sorted distinct values of whole numbers from 0."""
    low, high = values.min(), values.max()
    if low < 0:
        raise InputError(
            f"Negative values in data: {label} holds {low:g}; if it stands for a missing answer, "
            "replace it with NaN."
        )
    if values.dtype.kind == "f":
        broken = np.rint(values) != values
        if broken.any():
            raise InputError(
                f"{label} holds {values[broken][0]:g}: ordinal codes are whole numbers; for other "
                "levels give them in order with categories=."
            )
    if high > 2**53:
        raise InputError(f"{label} holds {high:g}, too large a number for a category.")
    if high < 65_536:  # counting is far quicker than sorting
        return np.flatnonzero(np.bincount(values.astype(np.int64)))
    return np.unique(values).astype(np.int64)


def _encode_column(column: Column, levels: Levels) -> NDArray[np.int64]:
    codes: NDArray[np.int64] = np.full(len(column.answers), len(levels), dtype=np.int64)
    present = slice(None) if not column.missing.any() else ~column.missing
    values = column.answers[present]
    if values.dtype.kind in "biuf" and levels.dtype.kind in "biu" and len(levels):
        found = _find_numbers(values, levels.astype(np.int64))
    else:
        found = pd.Index(levels).get_indexer(pd.Index(values, dtype=_index_type(values)))
    unknown = found < 0
    if unknown.any():
        known = ", ".join(map(_show, levels[:12])) + (", ..." if len(levels) > 12 else "")
        answer = values[np.argmax(unknown)]
        raise InputError(
            f"{column.label} holds {_show(answer)}, which is not one of its categories "
            f"({known or 'it had no answers in training'})."
        )
    codes[present] = found
    return codes


def _show(level: Any) -> str:
    """Show a level in a message: text in quotes, numbers plainly."""
    if isinstance(level, (float, np.floating)):
        return f"{level:g}"
    return repr(level.item() if isinstance(level, np.generic) else level)


def _index_type(values: NDArray[Any]) -> Any:
    return object if values.dtype == object else None


def _find_numbers(values: NDArray[Any], levels: Levels) -> NDArray[np.int64]:
    """Return the position of each number among sorted or unsorted whole levels, -1 if unknown."""
    if values.dtype.kind != "f":
        values = values.astype(np.int64)
    low, high = int(levels.min()), int(levels.max())
    if high - low > 65_536:
        found: NDArray[np.int64] = pd.Index(levels).get_indexer(pd.Index(values))
        return found
    position = np.full(high - low + 1, -1, dtype=np.int64)
    position[levels - low] = np.arange(len(levels))
    inside = (values >= low) & (values <= high)
    whole = np.where(inside, values, low).astype(np.int64)
    return np.where(inside & (whole == values), position[whole - low], -1)
