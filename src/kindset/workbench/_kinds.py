"""Which function clusters what; a new kind of data is one entry."""

from collections.abc import Callable
from pathlib import Path

from kindset.workbench._clustering import cluster_samples
from kindset.workbench._dataset import Dataset
from kindset.workbench._methods import Takes
from kindset.workbench._outcome import Execution, Outcome
from kindset.workbench._settings import Setting
from kindset.workbench._surveys import cluster_survey

Clusterer = Callable[[Dataset, Setting, Execution, Path | None], Outcome]

CLUSTERERS: dict[Takes, Clusterer] = {
    "answers": cluster_survey,
    "rows": cluster_samples,
    "images": cluster_samples,
}


def cluster_once(
    data: Dataset, setting: Setting, execution: Execution, work: Path | None = None
) -> Outcome:
    """Make one run; `work` is where it may keep its state to resume from."""
    return CLUSTERERS[setting.described.takes](data, setting, execution, work)
