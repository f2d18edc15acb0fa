"""Figure: known classes against matched clusters."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kindset._plotting import new_axes
from kindset.evaluation._display_style import DARK, label_size, shorten
from kindset.evaluation._external import Matching, assignment_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AssignmentDisplay:
    """Counts of classes (rows) against clusters (columns), matched pairs on the diagonal.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_clusters)
    class_names, cluster_names : sequence of str

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from kindset.evaluation import AssignmentDisplay
    >>> display = AssignmentDisplay.from_predictions([0, 0, 1, 1, 1], [1, 1, 0, 0, 1])
    >>> display.counts
    array([[2, 0],
           [1, 2]])
    >>> display.plot().figure_  # doctest: +SKIP
    """

    def __init__(
        self, counts: NDArray[np.int64], *, class_names: list[str], cluster_names: list[str]
    ) -> None:
        self.counts = counts
        self.class_names = class_names
        self.cluster_names = cluster_names

    @classmethod
    def from_predictions(
        cls, labels_true: ArrayLike, labels_pred: ArrayLike, *, method: Matching = "optimal"
    ) -> "AssignmentDisplay":
        """Match clusters to classes and count.

        Parameters
        ----------
        labels_true, labels_pred : array-like of shape (n_samples,)
        method : {"optimal", "sorted"}, default="optimal"
            See `match_labels`.
        """
        counts, classes, clusters = assignment_table(labels_true, labels_pred, method=method)
        return cls(
            counts, class_names=[str(c) for c in classes], cluster_names=[str(c) for c in clusters]
        )

    def plot(self, ax: "Axes | None" = None, *, normalize: bool = True) -> "AssignmentDisplay":
        """Draw the matrix.

        Parameters
        ----------
        ax : Axes, optional
            New ones by default.
        normalize : bool, default=True
            Shade by the share of the class rather than by the count; the numbers are counts.

        Returns
        -------
        self : AssignmentDisplay
        """
        n_rows, n_columns = self.counts.shape
        size = (
            float(np.clip(1.9 + 0.5 * n_columns, 3.4, 12)),
            float(np.clip(1.4 + 0.45 * n_rows, 2.8, 11)),
        )
        self.figure_, self.ax_ = new_axes(ax, size)
        totals = np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        shown: NDArray[Any] = self.counts / totals if normalize else self.counts
        image = self.ax_.imshow(shown, cmap="Blues", vmin=0, vmax=1 if normalize else None)
        font = label_size(int(1.6 * max(n_rows, n_columns)))
        if max(n_rows, n_columns) <= 30:
            self._write_counts(shown / max(float(shown.max()), 1e-300), font)
        self.ax_.set_xticks(
            range(n_columns), [shorten(c, 14) for c in self.cluster_names], rotation=90
        )
        self.ax_.set_yticks(range(n_rows), [shorten(c, 18) for c in self.class_names])
        self.ax_.tick_params(labelsize=label_size(max(n_rows, n_columns)))
        self.ax_.set(xlabel="cluster, in the order of the matching", ylabel="class")
        label = "share of the class" if normalize else "points"
        self.figure_.colorbar(image, ax=self.ax_, label=label, fraction=0.045, pad=0.03)
        return self

    def _write_counts(self, shade: NDArray[np.float64], font: float) -> None:
        for (row, column), count in np.ndenumerate(self.counts):
            if count:
                color = "white" if shade[row, column] > 0.55 else DARK
                self.ax_.text(
                    column, row, f"{count}", ha="center", va="center", fontsize=font, color=color
                )
