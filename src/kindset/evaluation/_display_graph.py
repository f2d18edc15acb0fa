"""Figure: which spaces rank the partitions alike."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kindset._plotting import new_axes
from kindset.evaluation._display_style import (
    DARK,
    STATUS_STYLE,
    check_fitted,
    group_colors,
    group_order,
    label_size,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kindset.evaluation._adaptive import AdaptiveEvaluation


_UPRIGHT = 12


class CorrelationGraphDisplay:
    """Spaces on a circle, group by group, joined where their rankings agree significantly.

    Colours are groups; the filled dots with a dark rim are the spaces that decided.

    Parameters
    ----------
    edges : ndarray of shape (n_spaces, n_spaces)
        Significant positive correlations, 0 elsewhere.
    groups : ndarray of shape (n_spaces,)
        Group of each space, negative if it has none.
    status : ndarray of str
    names : list of str

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from kindset.evaluation import CorrelationGraphDisplay
    >>> CorrelationGraphDisplay.from_evaluation(evaluation).plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        edges: NDArray[np.float64],
        *,
        groups: NDArray[np.intp],
        status: NDArray[Any],
        names: list[str],
    ) -> None:
        self.edges = edges
        self.groups = groups
        self.status = status
        self.names = names

    @classmethod
    def from_evaluation(cls, evaluation: "AdaptiveEvaluation") -> "CorrelationGraphDisplay":
        """Take what a fitted evaluation found."""
        check_fitted(evaluation)
        return cls(
            evaluation.edges_,
            groups=evaluation.groups_,
            status=evaluation.status_,
            names=evaluation.space_names_,
        )

    def plot(self, ax: "Axes | None" = None) -> "CorrelationGraphDisplay":
        """Draw the graph.

        Parameters
        ----------
        ax : Axes, optional
            New ones by default.

        Returns
        -------
        self : CorrelationGraphDisplay
        """
        self.figure_, self.ax_ = new_axes(ax, (7.5, 8.2))
        angles = self._angles()
        places = np.column_stack([np.cos(angles), np.sin(angles)])
        self._draw_edges(places)
        self._draw_nodes(places)
        self._draw_names(angles)
        self.ax_.set(xlim=(-1.9, 1.9), ylim=(-1.9, 1.9), aspect="equal")
        self.ax_.axis("off")
        self.ax_.set_title("Agreement of the spaces on the ranking", fontsize=11)
        self.ax_.legend(
            handles=self._legend(), loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=3,
            frameon=False, fontsize=8.5,
        )  # fmt: skip
        return self

    def _angles(self) -> NDArray[np.float64]:
        """Places on the circle: one step for each space, one more between groups."""
        order = group_order(self.groups, self.status)
        changes = np.diff(self.groups[order], prepend=self.groups[order[0]]) != 0
        steps = np.arange(len(order)) + np.cumsum(changes)
        angles = np.empty(len(order))
        # The circle closes with a gap as well.
        angles[order] = np.pi / 2 - 2 * np.pi * steps / (steps[-1] + 2)
        return angles

    def _draw_edges(self, places: NDArray[np.float64]) -> None:
        from matplotlib.collections import LineCollection

        i, j = np.nonzero(np.triu(self.edges))
        strength = self.edges[i, j]
        lines = np.stack([places[i], places[j]], axis=1)
        fade = 1.0 / np.sqrt(1.0 + len(i) / 60)
        shades = np.clip(strength**2, 0.15, 1.0) * (0.25 + 0.55 * fade)
        rgba = np.column_stack([np.full((len(i), 3), 0.35), shades])
        self.ax_.add_collection(
            LineCollection(list(lines), colors=rgba, linewidths=0.5 + 1.2 * strength, zorder=1)
        )

    def _draw_nodes(self, places: NDArray[np.float64]) -> None:
        colors = group_colors(self.groups)
        size = float(np.clip(4200 / max(len(places), 1), 55, 240))
        for status, (marker, _) in STATUS_STYLE.items():
            those = np.flatnonzero(self.status == status)
            chosen = status == "selected"
            shades = [colors[i] for i in those]
            self.ax_.scatter(
                places[those, 0],
                places[those, 1],
                s=size * (1.5 if chosen else 1.0),
                marker=marker,
                c=shades if chosen else "white",
                edgecolors=DARK if chosen else shades,
                linewidths=1.8,
                zorder=3,
            )

    def _draw_names(self, angles: NDArray[np.float64]) -> None:
        # A few names stand upright beside their nodes; many point outwards to stay apart.
        upright = len(angles) <= _UPRIGHT
        for angle, name, status in zip(angles, self.names, self.status, strict=True):
            x, y = np.cos(angle), np.sin(angle)
            degrees = np.degrees(angle) + (0 if x >= -1e-9 else 180)
            side = "left" if x >= -1e-9 else "right"
            self.ax_.text(
                1.13 * x,
                1.13 * y,
                shorten(name, 18),
                rotation=0 if upright else degrees,
                rotation_mode="anchor",
                ha="center" if upright and abs(x) < 0.2 else side,
                va="center",
                fontsize=label_size(len(self.names)),
                fontweight="bold" if status == "selected" else "normal",
                color=DARK,
            )

    def _legend(self) -> list[Any]:
        from matplotlib.lines import Line2D

        handles = []
        for status, (marker, label) in STATUS_STYLE.items():
            count = int((self.status == status).sum())
            if count:
                face = DARK if status == "selected" else "white"
                handles.append(Line2D([], [], ls="", marker=marker, mfc=face, mec=DARK))
                handles[-1].set_label(f"{label} ({count})")
        handles.append(Line2D([], [], color="#777777", label="significant agreement"))
        return handles
