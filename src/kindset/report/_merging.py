"""What a report shows of unmasking: the merge tree and some accuracy curves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kindset.runs import MergeDetails, Run


@dataclass(frozen=True)
class MergingSummary:
    """Merges in scipy's linkage form, the number of groups, and named curves of accuracies.

    The merges may go on to a single tree; the last of them are then beyond the groups.
    """

    n_cells: int
    n_groups: int
    merges: NDArray[np.float64]
    curves: NDArray[np.float64]
    curve_names: list[str]

    @property
    def n_made(self) -> int:
        """How many merges lead to the groups."""
        return min(len(self.merges), self.n_cells - self.n_groups)


def show_merges(run: Run, details: MergeDetails) -> MergingSummary:
    """Return what there is to show of an agglomeration."""
    n_cells, merges = details.n_cells, details.merge_tree
    return MergingSummary(
        n_cells=n_cells,
        n_groups=min(max(run.n_clusters, n_cells - len(merges)), n_cells),
        merges=merges,
        curves=details.curves,
        curve_names=details.curve_names,
    )
