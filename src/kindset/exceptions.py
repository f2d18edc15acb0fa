"""Exceptions that callers may want to tell apart."""


class InputError(ValueError):
    """What was given cannot be used; the message is one sentence that says what would be right.

    It is a `ValueError`, so code written for scikit-learn catches it as it is. The command line
    shows the sentence and ends with exit code 2.
    """
