"""Exceptions that callers may want to tell apart."""


class InputError(ValueError):
    """What was given cannot be used; the message is one sentence that says what would be right.

    It is a `ValueError`, so code written for scikit-learn catches it as it is. The command line
    shows the sentence and ends with exit code 2.

    Parameters
    ----------
    message : str, default=""
    parameter : str, optional
        Name of the parameter that the sentence is about.

    Examples
    --------
    >>> from kindset.exceptions import InputError
    >>> InputError("metric='taxi' is unknown.", parameter="metric").parameter
    'metric'
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
