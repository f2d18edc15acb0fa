"""Telling whether two runs were made on the same data, without keeping the data."""

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from kindset._checked import listed, record, text, whole


@dataclass(frozen=True)
class Fingerprint:
    """Shape, type and hash of a table, array or stack of images."""

    shape: tuple[int, ...]
    dtype: str
    sha256: str

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """Check and read plain values, as JSON holds them."""
        fields = record(value, "data")
        shape = listed(fields.get("shape"), "data shape", whole)
        dtype = text(fields.get("dtype"), "data dtype")
        return cls(tuple(shape), dtype, text(fields.get("sha256"), "data sha256"))

    def differs_from(self, other: "Fingerprint") -> str | None:
        """Say in words how two data sets differ; None if they do not."""
        if self.shape != other.shape:
            return f"their shapes are {self.shape} and {other.shape}"
        if self.dtype != other.dtype:
            return f"their types are {self.dtype} and {other.dtype}"
        return None if self.sha256 == other.sha256 else "they have the same shape, other values"


def fingerprint(X: Any) -> Fingerprint:
    """Return the fingerprint of an array or a data frame.

    Parameters
    ----------
    X : array-like or DataFrame
        The data; for a data frame the column names count, the index does not.

    Returns
    -------
    fingerprint : Fingerprint

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.runs import fingerprint
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> fingerprint(X) == fingerprint(np.asfortranarray(X))
    True
    >>> fingerprint(X).differs_from(fingerprint(X + 1))
    'they have the same shape, other values'
    """
    digest = hashlib.sha256()
    if isinstance(X, pd.DataFrame):
        kinds = [str(kind) for kind in X.dtypes]
        digest.update("\0".join(map(str, X.columns)).encode())
        digest.update(pd.util.hash_pandas_object(X, index=False).to_numpy().tobytes())
        dtype = kinds[0] if len(set(kinds)) == 1 else "mixed"
    else:
        X = np.asarray(X)
        # Rows in blocks, so that a transposed or memory-mapped array is never copied whole.
        for start in range(0, len(X), 4096):
            digest.update(np.ascontiguousarray(X[start : start + 4096]).tobytes())
        dtype = str(X.dtype)
    return Fingerprint(tuple(int(n) for n in X.shape), dtype, digest.hexdigest())
