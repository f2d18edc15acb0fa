"""What all estimators share: constraints on their parameters, and what a refused fit leaves.

An estimator lists what its parameters may be in a table, `_parameter_constraints`, and calls
`check_parameters(self)` first thing in `fit`. To add a kind of constraint, write a frozen dataclass
with a `description` that completes "name must be …" and a method `allows`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import validate_data

from kindset.exceptions import InputError


class Constraint(Protocol):
    """What the value of a parameter may be."""

    @property
    def description(self) -> str:
        """The end of the sentence "name must be …"."""
        ...

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        ...


@dataclass(frozen=True)
class Whole:
    """A whole number that is not too small; truth values are no numbers."""

    least: int = 1

    @property
    def description(self) -> str:
        """The end of the sentence."""
        return f"a whole number from {self.least}"

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return is_whole and value >= self.least


@dataclass(frozen=True)
class Number:
    """A finite number from `least` on, or above `above`, and below `below`; not a truth value."""

    least: float | None = None
    above: float | None = None
    below: float | None = None

    @property
    def description(self) -> str:
        """The end of the sentence."""
        words = [
            f"{word} {bound:g}"
            for word, bound in (
                ("from", self.least), ("above", self.above), ("below", self.below)
            )
            if bound is not None
        ]  # fmt: skip
        return " ".join(["a number", " and ".join(words)]).strip()

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        number = float(value)
        return bool(
            np.isfinite(number)
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


class Choice:
    """One of some names."""

    def __init__(self, *names: str) -> None:
        self.names = names

    @property
    def description(self) -> str:
        """The end of the sentence."""
        return f"one of {', '.join(map(repr, self.names))}"

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        return isinstance(value, str) and value in self.names


@dataclass(frozen=True)
class Values:
    """A list or array, one entry for each of something; text is none."""

    description: str

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        return hasattr(value, "__len__") and not isinstance(value, (str, bytes))


@dataclass(frozen=True)
class Flag:
    """True or False."""

    description: str = "True or False"

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        return isinstance(value, (bool, np.bool_)) or (
            isinstance(value, Integral) and value in (0, 1)
        )


@dataclass(frozen=True)
class Seed:
    """What `sklearn.utils.check_random_state` takes."""

    description: str = "a whole number from 0 to 4294967295, a numpy RandomState or None"

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        if value is None or value is np.random or isinstance(value, np.random.RandomState):
            return True
        return Whole(0).allows(value) and value < 2**32


@dataclass(frozen=True)
class Workers:
    """A number of workers as joblib takes it."""

    description: str = "a number of workers other than 0, or None"

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        return value is None or (Whole(-(2**31)).allows(value) and value != 0)


@dataclass(frozen=True)
class Optional:
    """None, or what another constraint allows."""

    constraint: Constraint

    @property
    def description(self) -> str:
        """The end of the sentence."""
        return f"{self.constraint.description} or None"

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        return value is None or self.constraint.allows(value)


class Either:
    """What any of some constraints allows."""

    def __init__(self, *constraints: Constraint) -> None:
        self.constraints = constraints

    @property
    def description(self) -> str:
        """The end of the sentence."""
        return ", or ".join(constraint.description for constraint in self.constraints)

    def allows(self, value: Any) -> bool:
        """Tell whether the value is right."""
        return any(constraint.allows(value) for constraint in self.constraints)


def check_value(name: str, value: Any, constraint: Constraint) -> None:
    """Refuse a value that its constraint does not allow, in one sentence.

    Examples
    --------
    >>> check_value("n_init", 0, Whole(1))
    Traceback (most recent call last):
    ...
    kindset.exceptions.InputError: n_init must be a whole number from 1, got 0.
    """
    if not constraint.allows(value):
        raise InputError(f"{name} must be {constraint.description}, got {value!r}.", parameter=name)


def check_values(values: Mapping[str, Any], constraints: Mapping[str, Constraint]) -> None:
    """Refuse the first of some named values that its constraint does not allow."""
    for name, constraint in constraints.items():
        check_value(name, values[name], constraint)


def check_parameters(estimator: Any) -> None:
    """Refuse an estimator whose parameters are not what `_parameter_constraints` says."""
    check_values(vars(estimator), estimator._parameter_constraints)


def validated(estimator: Any, X: Any, **options: Any) -> Any:
    """Call scikit-learn's `validate_data`, and say in one sentence what it says in many.

    Parameters
    ----------
    estimator : estimator
    X : array-like
    **options
        Of `sklearn.utils.validation.validate_data`.
    """
    try:
        return validate_data(estimator, X, **options)
    except ValueError as error:
        raise in_one_sentence(error, X) from error


def in_one_sentence(error: ValueError, X: Any) -> ValueError:
    """Return a short form of what scikit-learn says of missing numbers, text and wrong shapes."""
    message = str(error)
    if message.startswith("Expected 2D array"):
        # scikit-learn's own checks look for the words "Reshape your data".
        return InputError(
            f"X has shape {np.shape(X)}: Reshape your data to (n_samples, n_features)."
        )
    if message.startswith("Input ") and "contains" in message:
        first = message.partition("\n")[0].rstrip(".")
        return InputError(f"{first}; drop or fill it.")
    if message.startswith("could not convert string"):
        return InputError("X holds text where numbers are needed.")
    return error


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Fit an estimator anew within this context; if that fails, leave it as it was.

    What an earlier fit has found is set aside first, so that nothing of it is mistaken for the
    new fit. Whatever ends the context early (a refusal, an error, an interrupt) brings it back.
    Only references are kept: a fit must replace the arrays of an earlier one, not write into them.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(labels_=[0, 1])
    >>> with all_or_nothing(model):
    ...     model.labels_ = [1, 1]
    ...     raise InputError("a column holds text.")
    Traceback (most recent call last):
    ...
    kindset.exceptions.InputError: a column holds text.
    >>> model
    namespace(labels_=[0, 1])
    """
    state = vars(estimator)
    before = dict(state)
    for name in before:
        if name.endswith("_") and not name.startswith("__"):
            del state[name]
    try:
        yield
    except BaseException:
        state.clear()
        state.update(before)
        raise
