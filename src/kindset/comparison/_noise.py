"""Samples without a label: how many a run leaves, and what the ranking does about it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kindset.evaluation import Noise
from kindset.runs import Run

DEFAULT_NOISE: Noise = "penalise"
"""How runs with samples labelled -1 are scored, unless a user chooses otherwise."""

LOW_COVERAGE = 0.8
"""A run that labels a smaller share of the samples is named in the notes."""

_MOST_NAMED = 4
_CONSEQUENCE = {
    "penalise": "The indices lower their scores in proportion.",
    "drop": "The indices judge them only by the samples that they label.",
    "singletons": "The indices take each of those samples for a group of its own.",
}


def coverage_of(runs: Sequence[Run]) -> "pd.Series[float]":
    """Return the share of the samples that each run gives a label, by the name of the run."""
    shares = [float(np.mean(run.labels != -1)) for run in runs]
    return pd.Series(
        shares, index=pd.Index([run.name for run in runs], name="run"), name="coverage"
    )


def note_low_coverage(coverage: "pd.Series[float]", noise: Noise) -> list[str]:
    """Name the runs that leave many samples without a label, the lowest coverage first."""
    low = coverage[coverage < LOW_COVERAGE].sort_index().sort_values(kind="stable")
    if low.empty:
        return []
    # Rounded down, so that no run is said to reach the share that it misses.
    listed = [f"{name} ({int(100 * share + 1e-9)}% labelled)" for name, share in low.items()]
    more = f" and {len(low) - _MOST_NAMED} more" if len(low) > _MOST_NAMED else ""
    named = f"{', '.join(listed[:_MOST_NAMED])}{more}"
    counted = "The verdict counts those samples against them."
    return [
        f"Some runs leave many samples without a label: {named}. {counted} {_CONSEQUENCE[noise]}"
    ]
