"""What a report tells about groups of feature rows: what is unusual about each."""

from dataclasses import dataclass
from typing import Any

from kindset.report._checked import listed, number, record, text
from kindset.runs import Run


@dataclass(frozen=True)
class Feature:
    """A feature whose mean in a group differs from the mean of all; z in standard deviations."""

    name: str
    mean: float
    overall: float
    z: float


@dataclass(frozen=True)
class FeatureGroup:
    """One group and its most unusual features."""

    size: float
    share: float
    top: list[Feature]


@dataclass(frozen=True)
class FeatureSummary:
    """All groups; `reach` is the largest absolute z among them."""

    groups: list[FeatureGroup]
    reach: float


def read_features(run: Run) -> FeatureSummary | None:
    """Return what there is to show of groups of feature rows, None if there is nothing.

    Raises
    ------
    InputError
        If the run's details are damaged.
    """
    told = run.details.get("features")
    if told is None:
        return None
    told = record(told, "features")
    groups = listed(told.get("clusters"), "clusters", lambda c, what: _group(c, what, len(run)))
    if not groups:
        return None
    reach = max((abs(feature.z) for group in groups for feature in group.top), default=0.0)
    return FeatureSummary(groups, reach)


def _group(value: Any, what: str, n: int) -> FeatureGroup:
    told = record(value, what)
    size = number(told.get("size"), f"{what} size")
    return FeatureGroup(size, size / n, listed(told.get("top"), f"{what} top", _feature))


def _feature(value: Any, what: str) -> Feature:
    told = record(value, what)
    mean, overall, z = (
        number(told.get(name), f"{what} {name}") for name in ("mean", "overall", "z")
    )
    return Feature(text(told.get("name"), f"{what} name"), mean, overall, z)
