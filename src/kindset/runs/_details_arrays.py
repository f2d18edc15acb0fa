"""What details with arrays have in common."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kindset._checked import numbers
from kindset.exceptions import InputError

Arrays = Mapping[str, NDArray[Any]]


class WithArrays:
    """Details of which some fields are arrays: two are equal if all values are.

    A dataclass that inherits from this must be made with ``eq=False``.
    """

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fields that are arrays by name, as the exhibits of a run hold them."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = [(getattr(self, one.name), getattr(other, one.name)) for one in fields(self)]  # type: ignore[arg-type]
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a is b or bool(np.all(a == b))
            for a, b in pairs
        )

    __hash__ = None  # type: ignore[assignment]


def whole_numbers(value: Any, what: str, n: int, high: int) -> NDArray[np.int64]:
    """Check n whole numbers from 0 to below `high`."""
    found = numbers([] if value is None else value, what, ndim=1)
    if len(found) != n:
        raise InputError(f"{what} has {len(found)} elements for {n} samples.")
    if ((found < 0) | (found >= high) | (found % 1 != 0)).any():
        raise InputError(f"{what} holds something other than whole numbers from 0 to {high - 1}.")
    return found.astype(np.int64)
