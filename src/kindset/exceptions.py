"""Exceptions that callers may want to tell apart."""

from typing import Any


class InputError(ValueError):
    """What was given cannot be used; the message is one sentence that says what would be right.

    It is a `ValueError`, so code written for scikit-learn catches it as it is. The command line
    shows the sentence and ends with exit code 2. Names of parameters stand in backticks, so that
    the command line can show its options in their place.

    Parameters
    ----------
    message : str
        The sentence.
    parameter : str, optional
        The parameter at fault.

    Attributes
    ----------
    parameter : str or None

    Examples
    --------
    >>> from kindset.exceptions import InputError
    >>> InputError("`k` 9: there are only 5 rows.", parameter="k").parameter
    'k'
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.parameter)


def _restore(kind: type[InputError], args: tuple[Any, ...], parameter: str | None) -> InputError:
    return kind(*args, parameter=parameter)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended work on several runs; those that were finished are kept.

    Attributes
    ----------
    finished : list
        The runs that were finished.
    """

    def __init__(self, message: str, finished: list[Any]) -> None:
        super().__init__(message)
        self.finished = finished


class DivergedError(ArithmeticError):
    """The training left the numbers; the message says what to lower."""
