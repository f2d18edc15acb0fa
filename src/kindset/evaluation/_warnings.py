"""The warning category of this package."""


class EvidenceWarning(UserWarning):
    """The result stands, but the evidence behind it is thinner than it looks."""
