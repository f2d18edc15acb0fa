"""What a report shows of groups of feature rows: what is unusual about each."""

from dataclasses import dataclass

from kindset.runs import FeatureDetails, FeatureMean, Run


@dataclass(frozen=True)
class FeatureGroup:
    """One group and its most unusual features."""

    size: int
    share: float
    top: list[FeatureMean]


@dataclass(frozen=True)
class FeatureSummary:
    """All groups; `reach` is the largest absolute z among them."""

    groups: list[FeatureGroup]
    reach: float


def show_features(run: Run, details: FeatureDetails) -> FeatureSummary | None:
    """Return what there is to show of groups of feature rows, None if there is nothing."""
    groups = [FeatureGroup(one.size, one.size / len(run), one.top) for one in details.clusters]
    if not groups:
        return None
    reach = max((abs(feature.z) for group in groups for feature in group.top), default=0.0)
    return FeatureSummary(groups, reach)
