"""Pictures of the clusters and of the training, in the manner of scikit-learn's displays."""

from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kindset._plotting import new_axes, new_grid
from kindset._torch.input import as_array
from kindset.exceptions import InputError
from kindset.images._estimators import DTIGaussianMixture, DTIKMeans
from kindset.images._selection import ClusterSelection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Clustering = DTIKMeans | DTIGaussianMixture

_INK, _ACCENT, _FAINT = "#1f2430", "#c2410c", "#6b7280"


class PrototypeDisplay:
    """The prototypes with the sizes of their clusters, and the variances of a mixture below them.

    Parameters
    ----------
    prototypes : ndarray of shape (n_clusters, height, width[, channels])
    sizes : ndarray of shape (n_clusters,)
        Number of images.
    variances : ndarray of the shape of the prototypes, default=None

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes, one for each prototype
    """

    def __init__(self, prototypes: Any, sizes: Any, variances: Any = None) -> None:
        self.prototypes = prototypes
        self.sizes = sizes
        self.variances = variances

    @classmethod
    def from_estimator(cls, model: Clustering, *, n_columns: int = 10) -> Self:
        """Draw the prototypes of a fitted model."""
        check_is_fitted(model)
        sizes = np.bincount(model.labels_, minlength=len(model.prototypes_))
        return cls(model.prototypes_, sizes, getattr(model, "variances_", None)).plot(
            n_columns=n_columns
        )

    def plot(self, *, n_columns: int = 10) -> Self:
        """Draw; return the display."""
        n_clusters = len(self.prototypes)
        n_columns = min(n_columns, n_clusters)
        rows_each = 1 if self.variances is None else 2
        n_rows = ceil(n_clusters / n_columns) * rows_each
        self.figure_, grid = new_grid((n_rows, n_columns), (1.05 * n_columns, 1.25 * n_rows))
        _hide(grid)
        self.axes_: list[Axes] = []
        total = max(int(np.sum(self.sizes)), 1)
        spreads = [0.0] if self.variances is None else self.variances
        least, most = float(np.min(spreads)), float(np.max(spreads))
        for k in range(n_clusters):
            row, column = divmod(k, n_columns)
            axes = grid[row * rows_each, column]
            show_picture(axes, self.prototypes[k])
            axes.set_title(f"{k + 1}   {self.sizes[k] / total:.0%}", fontsize=8, color=_INK)
            self.axes_.append(axes)
            if self.variances is not None:
                below = grid[row * rows_each + 1, column]
                spread = _grey(self.variances[k])
                below.imshow(spread, cmap="magma", vmin=least, vmax=max(most, 1.2 * least))
        note = f"Share of {total:,} images"
        if self.variances is not None:
            note += "; below each mean its variances, " + (
                "bright where the cluster varies"
                if most > 1.02 * least
                else f"here all about the least allowed, {least:.3g}"
            )
        self.figure_.supxlabel(note, fontsize=8, color=_FAINT)
        return self


class EvolutionDisplay:
    """How the prototypes came about: one row for each moment, at the start and end of each stage.

    Parameters
    ----------
    snapshots : ndarray of shape (n_moments, n_clusters, height, width[, channels])
    names : list of str
        What to call the moments.

    Attributes
    ----------
    figure_ : matplotlib Figure
    """

    def __init__(self, snapshots: Any, names: list[str]) -> None:
        self.snapshots = snapshots
        self.names = names

    @classmethod
    def from_estimator(cls, model: Clustering, *, max_clusters: int = 15) -> Self:
        """Draw the history of a fitted model."""
        check_is_fitted(model)
        history = model.history_
        steps, first = np.unique(history.snapshot_step, return_index=True)
        names = []
        for step in steps.tolist():
            before = np.flatnonzero(history.step <= step)
            stage = history.stage[before[-1]] if len(before) else "seeds"
            names.append(f"{stage}\nstep {step:,}")
        return cls(history.prototypes[first][:, :max_clusters], names).plot()

    def plot(self) -> Self:
        """Draw; return the display."""
        n_moments, n_clusters = self.snapshots.shape[:2]
        size = (1.3 + 0.85 * n_clusters, 0.9 * n_moments)
        self.figure_, grid = new_grid((n_moments, n_clusters), size)
        _hide(grid)
        for row, name in enumerate(self.names):
            for k in range(n_clusters):
                show_picture(grid[row, k], self.snapshots[row, k])
            _row_title(grid[row, 0], name)
        return self


class AlignmentDisplay:
    """Images, and all prototypes as they are aligned to each; the nearest has a frame.

    Parameters
    ----------
    images : ndarray of shape (n_images, height, width[, channels])
    aligned : ndarray of shape (n_images, n_clusters, height, width[, channels])
    winners : ndarray of shape (n_images,)

    Attributes
    ----------
    figure_ : matplotlib Figure
    """

    def __init__(self, images: Any, aligned: Any, winners: Any) -> None:
        self.images = images
        self.aligned = aligned
        self.winners = winners

    @classmethod
    def from_estimator(cls, model: Clustering, X: Any, *, n_images: int = 6) -> Self:
        """Draw some images from all over X, which is often sorted, first and last among them."""
        X = X if hasattr(X, "iloc") else as_array(X)
        part = _take(X, np.unique(np.linspace(0, len(X) - 1, n_images).round().astype(int)))
        return cls(model.pictures(part), model.align(part), model.predict(part)).plot()

    def plot(self) -> Self:
        """Draw; return the display."""
        n_images, n_clusters = self.aligned.shape[:2]
        size = (0.85 * (n_clusters + 1.5), 0.9 * n_images)
        self.figure_, grid = new_grid((n_images, n_clusters + 1), size)
        _hide(grid)
        for row in range(n_images):
            show_picture(grid[row, 0], self.images[row])
            for k in range(n_clusters):
                axes = grid[row, k + 1]
                show_picture(axes, self.aligned[row, k])
                if k == self.winners[row]:
                    _frame(axes)
        for column in range(n_clusters + 1):
            name = "image" if column == 0 else str(column)
            grid[0, column].set_title(name, fontsize=8, color=_INK)
        return self


class ClusterDisplay:
    """Each cluster by examples: images above, the prototype aligned to each of them below.

    Parameters
    ----------
    images, aligned : ndarray of shape (n_clusters, n_examples, height, width[, channels])
        Empty places hold NaN.
    prototypes : ndarray of shape (n_clusters, height, width[, channels])
    which : str
        What the examples are, for the caption.

    Attributes
    ----------
    figure_ : matplotlib Figure
    """

    def __init__(self, images: Any, aligned: Any, prototypes: Any, which: str) -> None:
        self.images = images
        self.aligned = aligned
        self.prototypes = prototypes
        self.which = which

    @classmethod
    def from_estimator(
        cls,
        model: Clustering,
        X: Any,
        *,
        which: str = "nearest",
        n_examples: int = 8,
        max_clusters: int = 12,
        random_state: int = 0,
    ) -> Self:
        """Draw examples of each cluster.

        Parameters
        ----------
        model : DTIKMeans or DTIGaussianMixture
        X : array-like or Tensor
            Images.
        which : {"nearest", "farthest", "random"}, default="nearest"
            Those that the prototype matches best, those it matches worst, or any.
        n_examples : int, default=8
            For each cluster.
        max_clusters : int, default=12
            The largest clusters are drawn.
        random_state : int, default=0
            Seed of the random choice.
        """
        if which not in ("nearest", "farthest", "random"):
            raise InputError(f"which must be 'nearest', 'farthest' or 'random', got {which!r}.")
        X = X if hasattr(X, "iloc") else as_array(X)
        pictures = model.pictures(X)
        distances = model.transform(X)
        labels = distances.argmin(axis=1)
        n_clusters = min(max_clusters, len(model.prototypes_))
        shape = (n_clusters, n_examples, *pictures.shape[1:])
        images, aligned = np.full(shape, np.nan), np.full(shape, np.nan)
        rng = np.random.default_rng(random_state)
        for k in range(n_clusters):
            rows = _examples(distances[:, k], labels == k, which, n_examples, rng)
            if len(rows):
                images[k, : len(rows)] = pictures[rows]
                own = model.align(_take(X, rows), np.full(len(rows), k))
                aligned[k, : len(rows)] = own[:, 0]
        return cls(images, aligned, model.prototypes_[:n_clusters], which).plot()

    def plot(self) -> Self:
        """Draw; return the display."""
        n_clusters, n_examples = self.images.shape[:2]
        size = (0.8 * (n_examples + 1.2), 1.65 * n_clusters)
        self.figure_, grid = new_grid((2 * n_clusters, n_examples + 1), size)
        _hide(grid)
        for k in range(n_clusters):
            show_picture(grid[2 * k, 0], self.prototypes[k])
            _row_title(grid[2 * k, 0], str(k + 1))
            for j in range(n_examples):
                if np.isfinite(self.images[k, j]).all():
                    show_picture(grid[2 * k, j + 1], self.images[k, j])
                    show_picture(grid[2 * k + 1, j + 1], self.aligned[k, j])
        self.figure_.supxlabel(
            f"Prototype, then the {self.which} images of its cluster with the aligned prototype "
            "below each",
            fontsize=8, color=_FAINT,
        )  # fmt: skip
        return self


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class TrainingDisplay:
    """Loss and shares of the clusters over the steps of the training, stage by stage.

    Parameters
    ----------
    history : Bunch
        The attribute `history_` of a fitted model.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : pair of matplotlib Axes
    """

    def __init__(self, history: Any) -> None:
        self.history = history

    @classmethod
    def from_estimator(cls, model: Clustering) -> Self:
        """Draw the training of a fitted model."""
        check_is_fitted(model)
        return cls(model.history_).plot()

    def plot(self) -> Self:
        """Draw; return the display."""
        from matplotlib.ticker import LogLocator, NullFormatter

        history = self.history
        self.figure_, grid = new_grid((2, 1), (7.2, 5.0))
        self.axes_ = (grid[0, 0], grid[1, 0])
        loss, shares = self.axes_
        loss.plot(history.step, history.loss, color="#1d4ed8", marker=".", ms=4)
        loss.set_ylabel("loss per pixel")
        if np.min(history.loss) > 0:
            loss.set_yscale("log")
            loss.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            loss.yaxis.set_major_formatter("{x:g}")
            loss.yaxis.set_minor_formatter(NullFormatter())
        shares.stackplot(history.step, np.asarray(history.shares).T, lw=0.5, edgecolor="white",
                         colors=_ramp(history.shares.shape[1]))  # fmt: skip
        shares.set(ylabel="shares of the clusters", xlabel="step", ylim=(0, 1))
        for axes in self.axes_:
            axes.set_xlim(0, history.step[-1])
            axes.spines[["top", "right"]].set_visible(False)
        restarted = np.flatnonzero(np.asarray(history.n_reassigned))
        for i in restarted:
            shares.axvline(history.step[i], color=_ACCENT, lw=0.9, ls=":")
        if len(restarted):
            shares.set_xlabel("step (dotted: a tiny cluster started again beside the largest)")
        self._mark_stages(loss, shares)
        return self

    def _mark_stages(self, *axes: "Axes") -> None:
        history = self.history
        start = 0
        for i, name in enumerate(history.stage):
            if i + 1 < len(history.stage) and history.stage[i + 1] == name:
                continue
            stop = int(history.step[i])
            for one in axes:
                one.axvline(stop, color=_FAINT, lw=0.6)
            axes[0].annotate(name, ((start + stop) / 2, 1.01), xycoords=("data", "axes fraction"),
                             ha="center", va="bottom", fontsize=7.5, color=_FAINT)  # fmt: skip
            start = stop


class ElbowDisplay:
    """The loss over the number of clusters, with the elbow marked.

    Parameters
    ----------
    selection : ClusterSelection
        What `select_n_clusters` returned.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    """

    def __init__(self, selection: ClusterSelection) -> None:
        self.selection = selection

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, on `ax` if given; return the display."""
        from matplotlib.ticker import MaxNLocator

        self.figure_, self.ax_ = new_axes(ax, (6.0, 3.6))
        ax = self.ax_
        losses = self.selection.path["loss"]
        ax.plot(losses.index, losses, color="#1d4ed8", marker="o", ms=4)
        best = self.selection.n_clusters
        ax.plot(best, losses.loc[best], marker="o", ms=13, mfc="none", mec=_ACCENT, mew=2)
        ax.annotate(f"{best} clusters", (best, float(losses.loc[best])), xytext=(8, 10),
                    textcoords="offset points", color=_ACCENT)  # fmt: skip
        ax.set(xlabel="Number of clusters", ylabel="Loss per pixel")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.margins(0.08, 0.12)
        ax.spines[["top", "right"]].set_visible(False)
        return self


def show_picture(axes: "Axes", picture: NDArray[Any]) -> None:
    """Draw a picture of 0 to 1, grey or in colour."""
    clipped = np.clip(picture, 0, 1)
    if clipped.ndim == 2:
        axes.imshow(clipped, cmap="gray", vmin=0, vmax=1)
    else:
        axes.imshow(clipped)


def _examples(
    distances: NDArray[Any], mine: NDArray[Any], which: str, n: int, rng: np.random.Generator
) -> NDArray[Any]:
    rows = np.flatnonzero(mine)
    if which == "random":
        return rng.permutation(rows)[:n]
    order = rows[np.argsort(distances[rows], kind="stable")]
    return order[:n] if which == "nearest" else order[::-1][:n]


def _grey(picture: NDArray[Any]) -> NDArray[Any]:
    return picture if picture.ndim == 2 else picture.mean(axis=-1)


def _ramp(n: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["viridis"](0.15 + 0.75 * i / max(n - 1, 1)) for i in range(n)]


def _frame(axes: "Axes") -> None:
    axes.set_axis_on()
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=_ACCENT, linewidth=2.5)


def _row_title(axes: "Axes", text: str) -> None:
    axes.text(-0.15, 0.5, text, transform=axes.transAxes, ha="right", va="center", fontsize=8,
              color=_INK)  # fmt: skip


def _hide(grid: Any) -> None:
    for axes in grid.flat:
        axes.set_axis_off()
