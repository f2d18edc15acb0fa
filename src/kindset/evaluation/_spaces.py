"""Checking the spaces (data or embeddings) that partitions are scored in."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset._arrays import check_space
from kindset.exceptions import InputError

Metric = Literal["euclidean", "cosine"]
METRICS = ("euclidean", "cosine")


Arrays = Sequence[ArrayLike] | Mapping[str, ArrayLike]
"""Several arrays, in order or by name."""


def split_names(arrays: Arrays) -> tuple[Sequence[ArrayLike], list[str] | None]:
    """Return arrays in order, and their names if they come in a mapping.

    Examples
    --------
    >>> split_names({"a": [0, 1], "b": [1, 1]})
    ([[0, 1], [1, 1]], ['a', 'b'])
    """
    if isinstance(arrays, Mapping):
        return list(arrays.values()), [str(name) for name in arrays]
    return arrays, None


def in_same_order(spaces: Arrays, partitions: Arrays) -> tuple[Arrays, Arrays]:
    """Put spaces in the order of the partitions, where both are mappings with the same keys."""
    if not (isinstance(spaces, Mapping) and isinstance(partitions, Mapping)):
        return spaces, partitions
    if spaces.keys() == partitions.keys():
        spaces = {name: spaces[name] for name in partitions}
    return spaces, partitions


def check_spaces(
    spaces: Sequence[ArrayLike], names: Sequence[str] | None = None
) -> list[NDArray[np.floating]]:
    """Check several spaces of the same points."""
    if len(spaces) == 0:
        raise InputError("There is no space to score in; give at least one.")
    if getattr(spaces, "ndim", 3) == 2:
        raise InputError("spaces is one (N, d) array; give a list of such arrays, [X] for one.")
    given = names or [f"space {i}" for i in range(len(spaces))]
    first = check_space(spaces[0], name=given[0])
    rest = [
        check_space(X, name=name, n_samples=len(first))
        for X, name in zip(spaces[1:], given[1:], strict=True)
    ]
    return [first, *rest]


def first_copies(spaces: Sequence[NDArray[np.floating]]) -> NDArray[np.intp]:
    """For each space, the number of the first that holds the same numbers."""
    seen: dict[tuple[tuple[int, ...], bytes], int] = {}
    first = []
    for number, X in enumerate(spaces):
        digest = hashlib.sha256(np.ascontiguousarray(X, dtype=np.float64).tobytes()).digest()
        first.append(seen.setdefault((X.shape, digest), number))
    return np.array(first, dtype=np.intp)


def check_metric(metric: str) -> Metric:
    """Return `metric` if it is one we have."""
    if metric not in METRICS:
        raise InputError(
            f"metric={metric!r} is unknown; choose one of {', '.join(METRICS)}.", parameter="metric"
        )
    return metric  # type: ignore[return-value]


def _power_of_two(sizes: Any) -> Any:
    """Return the largest powers of two up to `sizes`; 1 for 0."""
    return np.ldexp(1.0, np.where(sizes > 0, np.frexp(sizes)[1] - 1, 0))


@dataclass(frozen=True)
class Space:
    """One space, ready for the kernels.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        Centred points, in a unit that keeps squares from over- and underflowing; for the cosine
        metric the points scaled to length one, not centred.
    square_norms : ndarray of shape (n_samples,)
        Squared length of each point.
    metric : {"euclidean", "cosine"}
    unit : float
        The unit of `X`, a power of two, so that nothing is rounded.
    """

    X: NDArray[np.float64]
    square_norms: NDArray[np.float64]
    metric: Metric = "euclidean"
    unit: float = 1.0

    @classmethod
    def prepare(cls, X: NDArray[np.floating], metric: Metric = "euclidean") -> "Space":
        """Centre or scale a checked array."""
        points = np.array(X, dtype=np.float64, order="C")
        unit = 1.0
        if metric == "cosine":
            points /= _power_of_two(np.abs(points).max(axis=1, keepdims=True))
            lengths = np.linalg.norm(points, axis=1, keepdims=True)
            points /= np.where(lengths > 0, lengths, 1.0)
        else:
            whole = _power_of_two(np.abs(points).max())
            points /= whole
            # Distances are taken from dot products, whose error grows with the distance to 0.
            points -= points.mean(axis=0)
            spread = _power_of_two(np.abs(points).max())
            points /= spread
            unit = float(whole * spread)
        return cls(points, np.einsum("ij,ij->i", points, points), metric, unit)

    @property
    def max_distance(self) -> float:
        """An upper bound of all distances in this space."""
        if self.metric == "cosine":
            return 2.0
        return 2.0 * float(np.sqrt(self.square_norms.max()))
