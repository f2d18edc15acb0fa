"""What a report tells about unmasking: the merge tree and some accuracy curves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kindset.exceptions import InputError
from kindset.report._checked import listed, number, numbers, record, text
from kindset.runs import Run


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


def read_merging(run: Run) -> MergingSummary | None:
    """Return what there is to show of an unmasking run, None if there is nothing.

    Raises
    ------
    InputError
        If the run's exhibits are damaged.
    """
    if "merge_tree" not in run.exhibits and "curves" not in run.exhibits:
        return None
    told = record(run.details.get("unmasking") or {}, "unmasking")
    merges = numbers(run.exhibits.get("merge_tree", np.empty((0, 4))), "merge_tree", ndim=2)
    n_cells = int(number(told.get("n_cells", len(merges) + 1), "n_cells"))
    _check_forest(merges, n_cells)
    curves = numbers(run.exhibits.get("curves", np.empty((0, 0))), "curves", ndim=2)
    names = told.get("curve_names") or [f"pair {i + 1}" for i in range(len(curves))]
    return MergingSummary(
        n_cells=n_cells,
        n_groups=min(max(run.n_clusters, n_cells - len(merges)), n_cells),
        merges=merges,
        curves=curves,
        curve_names=listed(names, "curve_names", text, length=len(curves)),
    )


def _check_forest(merges: NDArray[np.float64], n_cells: int) -> None:
    """Refuse what is no linkage: every merge joins two nodes that exist and are still free."""
    if merges.shape[1] != 4:
        raise InputError("merge_tree does not have four columns.")
    if len(merges) >= max(n_cells, 1):
        raise InputError(f"merge_tree has {len(merges)} merges of {n_cells} cells.")
    used: set[int] = set()
    for i, (a, b) in enumerate(merges[:, :2]):
        for node in (a, b):
            if node != int(node) or not 0 <= node < n_cells + i or int(node) in used:
                raise InputError(f"row {i} of merge_tree joins what is not there.")
            used.add(int(node))
