"""What a report tells about unmasking: the merge tree and some accuracy curves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kindset.exceptions import InputError
from kindset.report._checked import listed, number, numbers, record, text
from kindset.runs import Run


@dataclass(frozen=True)
class MergingSummary:
    """A forest of merges in scipy's linkage form, and named curves of accuracies."""

    n_cells: int
    merges: NDArray[np.float64]
    curves: NDArray[np.float64]
    curve_names: list[str]

    @property
    def n_trees(self) -> int:
        """What was left standing when the merging stopped."""
        return self.n_cells - len(self.merges)


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
        n_cells, merges, curves, listed(names, "curve_names", text, length=len(curves))
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
