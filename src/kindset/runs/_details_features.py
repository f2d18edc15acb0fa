"""What a run says about clusters of rows of numbers."""

from dataclasses import asdict, dataclass
from typing import Any, Self

from kindset._checked import listed, number, record, text, whole


@dataclass(frozen=True)
class FeatureMean:
    """The mean of one column in a cluster and overall; `z` is the difference in deviations."""

    name: str
    mean: float
    overall: float
    z: float

    @classmethod
    def from_dict(cls, value: Any, what: str = "feature") -> Self:
        """Check and read what `to_dict` of the features wrote."""
        fields = record(value, what)
        return cls(
            text(fields.get("name"), f"{what} name"),
            *(number(fields.get(name), f"{what} {name}") for name in ("mean", "overall", "z")),
        )


@dataclass(frozen=True)
class FeatureCluster:
    """One cluster: its number of rows, and its most unusual columns, the most unusual first."""

    size: int
    top: list[FeatureMean]

    @classmethod
    def from_dict(cls, value: Any, what: str = "cluster") -> Self:
        """Check and read what `to_dict` of the features wrote."""
        fields = record(value, what)
        return cls(
            whole(fields.get("size"), f"{what} size"),
            listed(fields.get("top"), f"{what} top", FeatureMean.from_dict),
        )


@dataclass(frozen=True)
class FeatureDetails:
    """The columns in which each cluster differs most from all rows.

    Attributes
    ----------
    clusters : list of FeatureCluster
        In the order of the labels.

    Examples
    --------
    >>> from kindset.runs import FeatureCluster, FeatureDetails, FeatureMean
    >>> cluster = FeatureCluster(40, [FeatureMean("age", 61.0, 42.5, 1.3)])
    >>> FeatureDetails([cluster]).to_dict()["clusters"][0]["top"][0]["z"]
    1.3
    """

    clusters: list[FeatureCluster]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Any, what: str = "features") -> Self:
        """Check and read what `to_dict` wrote.

        Raises
        ------
        InputError
            If something is missing or wrong, naming it.
        """
        fields = record(value, what)
        return cls(listed(fields.get("clusters"), "clusters", FeatureCluster.from_dict))
