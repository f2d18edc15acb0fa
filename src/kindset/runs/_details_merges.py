"""What a run says and shows of an agglomeration by unmasking."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kindset._checked import listed, numbers, record, text, whole
from kindset.exceptions import InputError
from kindset.runs._details_arrays import Arrays, WithArrays

if TYPE_CHECKING:
    from kindset.runs._run import Run


@dataclass(frozen=True, eq=False)
class MergeDetails(WithArrays):
    """How small cells were merged into clusters.

    Attributes
    ----------
    n_cells : int
        Number of cells at the start.
    merge_tree : ndarray of shape (n_merges, 4)
        The merges in scipy's linkage form. They may go on beyond the clusters to a single tree.
    merge_scores : ndarray of shape (n_merges,)
        How well the two sides of each merge could be told apart.
    curves : ndarray of shape (n_curves, n_rounds)
        Accuracies of telling two sides apart, round by round, of some merges.
    curve_names : list of str
        Which merges these are.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.runs import MergeDetails
    >>> tree = np.array([[0, 1, 0.5, 2.0]])
    >>> merges = MergeDetails(2, tree, tree[:, 2], curves=np.array([[0.9, 0.6]]),
    ...                       curve_names=["merge 1 of 1"])
    >>> MergeDetails.from_dict(merges.to_dict(), merges.arrays()) == merges
    True
    """

    n_cells: int
    merge_tree: NDArray[np.float64]
    merge_scores: NDArray[np.float64]
    curves: NDArray[np.float64]
    curve_names: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return what is not an array as plain values, as JSON holds them."""
        return {"curve_names": self.curve_names, "n_cells": self.n_cells}

    @classmethod
    def from_dict(cls, value: Any, arrays: Arrays, what: str = "unmasking") -> Self:
        """Check and read what `to_dict` and `arrays` returned.

        Raises
        ------
        InputError
            If something is wrong, or the merges are no tree.
        """
        fields = record(value, what)
        tree = numbers(arrays.get("merge_tree", np.empty((0, 4))), "merge_tree", ndim=2)
        n_cells = whole(fields.get("n_cells", len(tree) + 1), "n_cells")
        _check_forest(tree, n_cells)
        curves = numbers(arrays.get("curves", np.empty((0, 0))), "curves", ndim=2)
        scores = numbers(arrays.get("merge_scores", tree[:, 2]), "merge_scores", ndim=1)
        if len(scores) != len(tree):
            raise InputError(f"there are {len(scores)} merge_scores for {len(tree)} merges.")
        names = fields.get("curve_names") or [f"pair {i + 1}" for i in range(len(curves))]
        return cls(
            n_cells=n_cells,
            merge_tree=tree,
            merge_scores=scores,
            curves=curves,
            curve_names=listed(names, "curve_names", text, length=len(curves)),
        )

    @classmethod
    def from_stored(cls, details: Mapping[str, Any], arrays: Arrays, n_samples: int) -> Self | None:
        """Return the merges among the details and exhibits of a run, None if there are none.

        Raises
        ------
        InputError
            If they are damaged, or there are more cells than samples.
        """
        if "merge_tree" not in arrays and "curves" not in arrays:
            return None
        found = cls.from_dict(details.get("unmasking") or {}, arrays)
        if found.n_cells > max(n_samples, 1):
            raise InputError(f"n_cells is {found.n_cells}, but there are {n_samples} samples.")
        return found

    @classmethod
    def from_run(cls, run: "Run") -> Self | None:
        """Return the merges of a run; see `from_stored`."""
        return cls.from_stored(run.details, run.exhibits, len(run))


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
