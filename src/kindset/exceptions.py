"""Exceptions that callers may want to tell apart."""


class InputError(ValueError):
    """What was given cannot be used; the message is one sentence that says what would be right.

    It is a `ValueError`, so code written for scikit-learn catches it as it is. The command line
    shows the sentence and ends with exit code 2.

    Parameters
    ----------
    message : str
        The sentence.
    parameter : str, optional
        The name of the parameter that is wrong, as the library calls it.
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
