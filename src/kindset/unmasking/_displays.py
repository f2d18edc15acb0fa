"""Pictures of clusterings by unmasking, in the manner of scikit-learn's displays."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kindset._plotting import new_axes, new_grid, plain
from kindset.unmasking._augment import image_shape
from kindset.unmasking._clustering import UnmaskingClustering
from kindset.unmasking._pairs import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _ACCENT, _QUIET = "#1f2430", "#c2410c", "#8a94a6"
_COLORS = ("#1d4ed8", "#c2410c", "#0f766e", "#a16207", "#7c3aed", "#be185d")


class UnmaskingCurveDisplay:
    """How well groups are told apart as the best features go.

    Parameters
    ----------
    curves : mapping from names to ndarray of shape (n_iterations,)
        Accuracies of each pair; see `unmask`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset.unmasking import UnmaskingCurveDisplay, unmask
    >>> X, y = load_digits(return_X_y=True)
    >>> curve = unmask(X[y == 3] / 16, X[y == 5] / 16, random_state=0)
    >>> UnmaskingCurveDisplay({"3 and 5": curve}).plot().ax_.get_ylabel()
    'Accuracy on the other half'
    """

    def __init__(self, curves: Mapping[str, FloatArray]) -> None:
        self.curves = curves

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, on `ax` if given; return the display."""
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        self.figure_, self.ax_ = new_axes(ax, (6.4, 4.0))
        ax = self.ax_
        for (name, curve), color in zip(self.curves.items(), _cycle(len(self.curves)), strict=True):
            places = np.arange(1, len(curve) + 1)
            ax.plot(places, curve, color=color, marker="o", ms=4, lw=1.8, label=plain(name))
        ax.axhline(0.5, color=_QUIET, lw=1, ls=":")
        ax.annotate("chance", (1, 0.5), xytext=(0, 3), textcoords="offset points", fontsize=8,
                    color=_QUIET)  # fmt: skip
        ax.set_xlabel("Iteration (the best features are removed after each)")
        ax.set_ylabel("Accuracy on the other half")
        lowest = min((float(np.min(curve)) for curve in self.curves.values()), default=0.5)
        ax.set_ylim(min(0.42, lowest - 0.03), 1.02)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.legend(frameon=False, fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
        return self


class CellDendrogramDisplay:
    """The merges of the cells as a tree, coloured by cluster.

    Parameters
    ----------
    tree : ndarray of shape (n_cells - 1, 4)
        The merges; see `UnmaskingClustering.merge_tree_`.
    cell_labels : ndarray of shape (n_cells,)
        Cluster of each cell.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset.unmasking import CellDendrogramDisplay, UnmaskingClustering
    >>> X = load_digits().data[:500] / 16
    >>> model = UnmaskingClustering(10, random_state=0).fit(X)
    >>> CellDendrogramDisplay.from_estimator(model).ax_.get_ylabel()
    'Told apart'
    """

    def __init__(self, tree: FloatArray, cell_labels: Any) -> None:
        self.tree = tree
        self.cell_labels = cell_labels

    @classmethod
    def from_estimator(cls, model: UnmaskingClustering, *, ax: "Axes | None" = None) -> Self:
        """Draw the tree of a fitted clustering."""
        return cls(model.merge_tree_, model.cell_labels_[: model.division_sizes_[0]]).plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, on `ax` if given; return the display."""
        from scipy.cluster.hierarchy import dendrogram

        self.figure_, self.ax_ = new_axes(ax, (9.0, 4.2))
        ax = self.ax_
        colors = self._node_colors()
        drawn = dendrogram(
            self._even_tree(), ax=ax, no_labels=True, link_color_func=lambda node: colors[node],
            above_threshold_color=_QUIET,
        )  # fmt: skip
        for collection in ax.collections:
            collection.set_linewidth(0.8)
        self._name_clusters(drawn["leaves"])
        ax.set_ylabel("Told apart")
        ax.set_yticks([])
        ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
        return self

    def _even_tree(self) -> FloatArray:
        """Space the heights by rank, half way: they crowd where everything is told apart."""
        tree = self.tree.copy()
        rank = np.arange(1, len(tree) + 1) / len(tree)
        span = max(float(np.ptp(tree[:, 2])), 1e-12)
        tree[:, 2] = 0.5 * rank + 0.5 * (tree[:, 2] - tree[:, 2].min()) / span
        return tree

    def _node_colors(self) -> list[str]:
        """Return the colour of each node: its cluster's, grey where clusters meet."""
        labels = [int(label) for label in self.cell_labels]
        colors = _cycle(max(labels) + 1)
        for i, j in self.tree[:, :2].astype(int):
            labels.append(labels[i] if labels[i] == labels[j] else -1)
        return [_QUIET if label < 0 else colors[label] for label in labels]

    def _name_clusters(self, leaves: Sequence[int]) -> None:
        labels = np.asarray(self.cell_labels)[list(leaves)]
        for label in np.unique(labels):
            # scipy puts leaves at 5, 15, 25, ...
            place = 10 * float(np.median(np.flatnonzero(labels == label))) + 5
            self.ax_.annotate(str(label), (place, 0), xytext=(0, -4), textcoords="offset points",
                              ha="center", va="top", fontsize=9, color=_INK)  # fmt: skip
        self.ax_.set_xlabel("Clusters of cells", labelpad=14)


class ClusterImageDisplay:
    """The mean image of each cluster.

    Parameters
    ----------
    images : ndarray of shape (n_clusters, height, width) or (n_clusters, height, width, channels)
    sizes : ndarray of shape (n_clusters,)
        Number of samples.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset.unmasking import ClusterImageDisplay, UnmaskingClustering
    >>> model = UnmaskingClustering(10, random_state=0).fit(load_digits().data[:500] / 16)
    >>> len(ClusterImageDisplay.from_estimator(model).axes_)
    10
    """

    def __init__(self, images: FloatArray, sizes: Any) -> None:
        self.images = images
        self.sizes = sizes

    @classmethod
    def from_estimator(
        cls, model: UnmaskingClustering, *, shape: Sequence[int] | None = None
    ) -> Self:
        """Draw the clusters of a fitted clustering of images.

        Parameters
        ----------
        model : UnmaskingClustering
        shape : tuple of int, default=None
            Height, width and, if any, channels; square images are recognised.
        """
        shape = image_shape(model.n_features_in_, shape or model.image_shape)
        sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
        return cls(model.cluster_centers_.reshape(-1, *shape), sizes).plot()

    def plot(self, *, n_columns: int = 10) -> Self:
        """Draw; return the display."""
        n_columns = min(n_columns, len(self.images))
        n_rows = ceil(len(self.images) / n_columns)
        self.figure_, grid = new_grid((n_rows, n_columns), (1.05 * n_columns, 1.35 * n_rows))
        for spare in grid.flat:
            spare.set_axis_off()
        self.axes_: list[Axes] = list(grid.flat)[: len(self.images)]
        low, high = float(np.min(self.images)), float(np.max(self.images))
        span = max(high - low, 1e-12)
        for k, (axes, image) in enumerate(zip(self.axes_, self.images, strict=True)):
            axes.imshow((image - low) / span, cmap="gray_r", vmin=0, vmax=1)
            axes.set_title(f"{k}  ({self.sizes[k]:,})", fontsize=8, color=_INK)
        return self


class MergeScoreDisplay:
    """The scores of the last merges: a fall says that clusters began to differ.

    Parameters
    ----------
    scores : ndarray of shape (n_cells - 1,)
        The score of each merge; see `UnmaskingClustering.merge_scores_`.
    n_clusters : int
        The number that was chosen.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kindset.unmasking import MergeScoreDisplay, UnmaskingClustering
    >>> X = load_digits().data[:500] / 16
    >>> model = UnmaskingClustering(None, linkage="greedy", random_state=0).fit(X)
    >>> MergeScoreDisplay.from_estimator(model).ax_.get_xlabel()
    'Clusters left after the merge'
    """

    def __init__(self, scores: FloatArray, n_clusters: int) -> None:
        self.scores = scores
        self.n_clusters = n_clusters

    @classmethod
    def from_estimator(cls, model: UnmaskingClustering, *, ax: "Axes | None" = None) -> Self:
        """Draw the merges of a fitted clustering."""
        return cls(model.merge_scores_, model.n_clusters_).plot(ax)

    def plot(self, ax: "Axes | None" = None, *, n_merges: int = 40) -> Self:
        """Draw the last merges, on `ax` if given; return the display."""
        self.figure_, self.ax_ = new_axes(ax, (6.4, 4.0))
        ax = self.ax_
        scores = self.scores[-n_merges:]
        left = np.arange(len(scores), 0, -1)
        ax.plot(left, scores, color=_COLORS[0], marker="o", ms=4, lw=1.4)
        ax.axvline(self.n_clusters - 0.5, color=_ACCENT, lw=1.2, ls="--")
        ax.annotate(
            f" {self.n_clusters} clusters", (self.n_clusters - 0.5, 1),
            xycoords=("data", "axes fraction"), va="top", ha="right", color=_ACCENT,
        )  # fmt: skip
        ax.invert_xaxis()
        ax.set_xlabel("Clusters left after the merge")
        ax.set_ylabel("Score (high: hard to tell apart)")
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _cycle(n: int) -> list[str]:
    return [_COLORS[i % len(_COLORS)] for i in range(n)]
