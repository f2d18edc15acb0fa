"""Figure: selected and excluded spaces, side by side in two dimensions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from kindset.evaluation._display_style import PALETTE, check_fitted, shorten
from kindset.evaluation._labels import encode_labels
from kindset.evaluation._spaces import check_spaces
from kindset.exceptions import InputError

if TYPE_CHECKING:
    from kindset.evaluation._adaptive import AdaptiveEvaluation

Method = Literal["pca", "tsne"]


def project(X: NDArray[np.floating], method: Method, seed: int) -> NDArray[np.float64]:
    """Bring a space to two dimensions."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    points = np.asarray(X, dtype=np.float64)
    # Squares of very large or very small numbers do not exist; the picture has no unit anyway.
    points = points / (np.abs(points).max(initial=0.0) or 1.0)
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    if points.shape[1] == 2 and method == "pca":
        return points
    n_components = min(50, *points.shape) if method == "tsne" else 2
    reduced = PCA(n_components, random_state=seed).fit_transform(points)
    if method == "pca":
        return np.asarray(reduced)
    perplexity = min(30.0, (len(reduced) - 1) / 3)
    return np.asarray(
        TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(reduced)
    )


class SpacesDisplay:
    """Selected spaces in the upper row, excluded ones below, coloured by one partition.

    Parameters
    ----------
    panels : list of (str, str, ndarray of shape (n_points, 2))
        Row ("selected" or "excluded"), title and points of each panel.
    colors : ndarray of int
        Cluster of each point.

    Attributes
    ----------
    axes_ : ndarray of Axes
    figure_ : Figure
    """

    def __init__(
        self, panels: list[tuple[str, str, NDArray[np.float64]]], *, colors: NDArray[np.int32]
    ) -> None:
        self.panels = panels
        self.colors = colors

    @classmethod
    def from_evaluation(
        cls,
        evaluation: "AdaptiveEvaluation",
        spaces: Sequence[ArrayLike],
        labels: ArrayLike,
        *,
        method: Method = "pca",
        n_each: int = 3,
        max_points: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
    ) -> "SpacesDisplay":
        """Project some spaces of a fitted evaluation.

        Parameters
        ----------
        evaluation : AdaptiveEvaluation
        spaces : sequence of array-like of shape (n_samples, n_features_m)
            The spaces it was fitted on.
        labels : array-like of shape (n_samples,)
            What colours the points, such as the best partition.
        method : {"pca", "tsne"}, default="pca"
        n_each : int, default=3
            Spaces to show of either kind: the selected ones of largest weight, and the excluded
            ones that agree least with them.
        max_points : int, default=1000
            A random part of the points is drawn if there are more.
        random_state : int, RandomState or None, default=0
        """
        check_fitted(evaluation)
        if method not in ("pca", "tsne"):
            raise InputError(f"method={method!r} is unknown; choose 'pca' or 'tsne'.")
        if len(spaces) != len(evaluation.status_):
            raise InputError(
                f"There are {len(spaces)} spaces, but the evaluation has {len(evaluation.status_)}."
            )
        checked = check_spaces(spaces, evaluation.space_names_)
        codes, _ = encode_labels(labels, n_samples=len(checked[0]), noise="drop")
        rng = check_random_state(random_state)
        seed = int(rng.randint(2**31 - 1))
        n = len(codes)
        points = np.sort(rng.permutation(n)[:max_points])
        panels = []
        for row, members in choose_spaces(evaluation, n_each).items():
            for i in members:
                title = f"{shorten(evaluation.space_names_[i])}\n{evaluation.status_[i]}"
                panels.append((row, title, project(checked[i][points], method, seed)))
        return cls(panels, colors=codes[points])

    def plot(self) -> "SpacesDisplay":
        """Draw all panels in a new figure."""
        import matplotlib.pyplot as plt

        rows = [row for row in ("selected", "excluded") if any(p[0] == row for p in self.panels)]
        width = max(sum(p[0] == row for p in self.panels) for row in rows)
        self.figure_, self.axes_ = plt.subplots(
            len(rows), width, figsize=(2.7 * width + 0.6, 2.9 * len(rows)), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        shades = np.array([*PALETTE, "#BBBBBB"])
        marks = "osD^vPX*"
        for ax in self.axes_.ravel():
            ax.axis("off")
        for r, row in enumerate(rows):
            panels = [panel for panel in self.panels if panel[0] == row]
            for ax, (_, title, points) in zip(self.axes_[r], panels, strict=False):
                for code in np.unique(self.colors):
                    those = self.colors == code
                    shade = shades[code % len(PALETTE)] if code >= 0 else shades[-1]
                    mark = marks[(code // len(PALETTE)) % len(marks)] if code >= 0 else "x"
                    ax.scatter(
                        *points[those].T, s=7, marker=mark, color=shade, alpha=0.7, linewidths=0
                    )
                ax.axis("on")
                ax.set(xticks=[], yticks=[])
                ax.set_title(title, fontsize=9)
            self.axes_[r, 0].set_ylabel(row, fontsize=11)
        return self


def choose_spaces(evaluation: "AdaptiveEvaluation", n_each: int) -> dict[str, NDArray[np.intp]]:
    """Spaces to show in either row."""
    selected = evaluation.selected_
    by_weight = selected[np.argsort(-evaluation.weights_[selected], kind="stable")]
    excluded = np.setdiff1d(np.arange(len(evaluation.status_)), selected)
    agreement = (
        evaluation.correlation_[np.ix_(excluded, selected)].mean(axis=1)
        if len(selected)
        else excluded
    )
    by_agreement = excluded[np.argsort(agreement, kind="stable")]
    return {"selected": by_weight[:n_each], "excluded": by_agreement[:n_each]}
