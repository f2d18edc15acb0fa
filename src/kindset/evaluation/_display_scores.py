"""Figures: the score matrix, and the ranking with its uncertainty."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kindset._plotting import new_axes
from kindset.evaluation._bootstrap import ranks_of
from kindset.evaluation._display_style import (
    DARK,
    GREY,
    PALETTE,
    check_fitted,
    group_order,
    label_size,
    shorten,
)
from kindset.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kindset.evaluation._adaptive import AdaptiveEvaluation


class ScoreHeatmapDisplay:
    """Scores of all partitions (columns, best first) in all spaces (rows, by group).

    Spaces that decided have bold names with a mark; thin lines part the groups.

    Parameters
    ----------
    scores : ndarray of shape (n_spaces, n_partitions)
    groups, status : ndarray of shape (n_spaces,)
    ranking : ndarray of shape (n_partitions,)
    space_names, partition_names : list of str

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    """

    def __init__(
        self,
        scores: NDArray[np.float64],
        *,
        groups: NDArray[np.intp],
        status: NDArray[Any],
        ranking: NDArray[np.intp],
        space_names: list[str],
        partition_names: list[str],
    ) -> None:
        self.scores = scores
        self.groups = groups
        self.status = status
        self.ranking = ranking
        self.space_names = space_names
        self.partition_names = partition_names

    @classmethod
    def from_evaluation(cls, evaluation: "AdaptiveEvaluation") -> "ScoreHeatmapDisplay":
        """Take what a fitted evaluation found."""
        check_fitted(evaluation)
        return cls(
            evaluation.score_matrix_,
            groups=evaluation.groups_,
            status=evaluation.status_,
            ranking=evaluation.ranking_,
            space_names=evaluation.space_names_,
            partition_names=evaluation.partition_names_,
        )

    def plot(
        self, ax: "Axes | None" = None, *, values: Literal["scores", "ranks"] = "scores"
    ) -> "ScoreHeatmapDisplay":
        """Draw the matrix.

        Parameters
        ----------
        ax : Axes, optional
            New ones by default.
        values : {"scores", "ranks"}, default="scores"
            The scores, or the rank of each partition within each space, which shows agreement
            where scores differ in scale.

        Returns
        -------
        self : ScoreHeatmapDisplay
        """
        if values not in ("scores", "ranks"):
            raise InputError(f"values={values!r} is unknown; choose 'scores' or 'ranks'.")
        n_rows, n_columns = self.scores.shape
        size = (float(min(4.4 + 0.26 * n_columns, 13)), float(min(3.2 + 0.24 * n_rows, 12)))
        self.figure_, self.ax_ = new_axes(ax, size)
        order = group_order(self.groups, self.status)
        shown = self.scores if values == "scores" else ranks_of(self.scores)
        low, high, extend = _robust_range(shown)
        image = self.ax_.imshow(
            shown[np.ix_(order, self.ranking)],
            cmap="cividis" if values == "scores" else "cividis_r",
            aspect="auto",
            interpolation="nearest",
            vmin=low,
            vmax=high,
        )
        self._name_axes(order)
        for place in np.flatnonzero(np.diff(self.groups[order])):
            self.ax_.axhline(place + 0.5, color="white", linewidth=2)
        label = "score (larger is better)" if values == "scores" else "rank within the space"
        self.figure_.colorbar(
            image, ax=self.ax_, label=label, fraction=0.04, pad=0.02, extend=extend
        )
        return self

    def _name_axes(self, order: NDArray[np.intp]) -> None:
        names = [
            f"● {shorten(self.space_names[i])}" if self.status[i] == "selected"
            else shorten(self.space_names[i])
            for i in order
        ]  # fmt: skip
        self.ax_.set_yticks(range(len(order)), names, fontsize=label_size(len(order)))
        for label, i in zip(self.ax_.get_yticklabels(), order, strict=True):
            dropped = self.status[i] in ("unimodal", "constant", "copy")
            label.set_color(GREY if dropped else DARK)
            label.set_fontweight("bold" if self.status[i] == "selected" else "normal")
        columns = [shorten(self.partition_names[i]) for i in self.ranking]
        self.ax_.set_xticks(
            range(len(columns)), columns, rotation=90, fontsize=label_size(len(columns))
        )
        self.ax_.set_xlabel("partitions, best first")
        self.ax_.set_ylabel("spaces, by group")
        self.ax_.set_title("●  decided the ranking      grey names: dropped", fontsize=8.5)


def _robust_range(values: NDArray[np.float64]) -> tuple[float, float, str]:
    """Range of the colours: of all values but the few that would leave no colour to the others."""
    low, high = float(values.min()), float(values.max())
    first, third = np.quantile(values, [0.25, 0.75])
    fence = 3.0 * (third - first)
    bottom = low < first - fence < third
    top = high > third + fence > first
    if bottom:
        low = float(values[values >= first - fence].min())
    if top:
        high = float(values[values <= third + fence].max())
    ends = {(True, True): "both", (True, False): "min", (False, True): "max"}
    return low, high, ends.get((bottom, top), "neither")


class RankingDisplay:
    """Ranks with intervals and shares of wins, beside what simpler strategies say.

    Parameters
    ----------
    ranks : dict of str to ndarray of shape (n_partitions,)
        Rank by each strategy; the first is the one that counts.
    intervals : ndarray of shape (n_partitions, 2)
    win_shares : ndarray of shape (n_partitions,)
    names : list of str

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure
    """

    def __init__(
        self,
        ranks: dict[str, NDArray[np.float64]],
        *,
        intervals: NDArray[np.float64],
        win_shares: NDArray[np.float64],
        names: list[str],
    ) -> None:
        self.ranks = ranks
        self.intervals = intervals
        self.win_shares = win_shares
        self.names = names

    @classmethod
    def from_evaluation(cls, evaluation: "AdaptiveEvaluation") -> "RankingDisplay":
        """Take what a fitted evaluation found."""
        check_fitted(evaluation)
        ranks = {"ACE": ranks_of(evaluation.scores_)}
        for label, name in (
            ("rank average", "rank_average_"),
            ("pooled", "pooled_"),
            ("paired", "paired_"),
        ):
            if hasattr(evaluation, name):
                ranks[label] = ranks_of(getattr(evaluation, name))
        return cls(
            ranks,
            intervals=evaluation.rank_intervals_,
            win_shares=evaluation.win_shares_,
            names=evaluation.partition_names_,
        )

    def plot(self, ax: "Axes | None" = None) -> "RankingDisplay":
        """Draw one line for each partition, best on top.

        Parameters
        ----------
        ax : Axes, optional
            New ones by default.

        Returns
        -------
        self : RankingDisplay
        """
        main, *others = self.ranks
        order = np.argsort(self.ranks[main], kind="stable")
        n = len(order)
        lines = np.arange(n)
        self.figure_, self.ax_ = new_axes(ax, (7.2, float(np.clip(1.9 + 0.24 * n, 3, 12))))
        low, high = self.intervals[order].T
        self.ax_.hlines(lines, low, high, color=PALETTE[4], linewidth=5, alpha=0.55, zorder=1)
        for k, name in enumerate(others):
            self.ax_.scatter(
                self.ranks[name][order], lines, marker="|s^v"[k % 4], s=(130, 40)[k > 0],
                linewidths=1.3,
                c=PALETTE[5] if k == 0 else "none",
                edgecolors=None if k == 0 else (PALETTE[2], PALETTE[3], DARK)[(k - 1) % 3],
                label=name, zorder=3,
            )  # fmt: skip
        self.ax_.scatter(
            self.ranks[main][order], lines, s=70, color=PALETTE[0], label=main, zorder=2
        )
        self._finish(order)
        return self

    def _finish(self, order: NDArray[np.intp]) -> None:
        from matplotlib.ticker import MaxNLocator

        n = len(order)
        size = label_size(n)
        self.ax_.set_yticks(range(n), [shorten(self.names[i]) for i in order], fontsize=size)
        self.ax_.set(xlim=(0.3, n + 0.7), ylim=(n - 0.4, -0.6), xlabel="rank (1 is best)")
        self.ax_.grid(axis="x", color="#E4E4E4", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
        for place, i in enumerate(order):
            self.ax_.text(
                1.015, place, f"{self.win_shares[i]:.0%}", fontsize=size, va="center",
                transform=self.ax_.get_yaxis_transform(),
            )  # fmt: skip
        self.ax_.text(1.015, 1.015, "wins", fontsize=9, transform=self.ax_.transAxes)
        handles, labels = self.ax_.get_legend_handles_labels()
        self.ax_.legend(
            handles[-1:] + handles[:-1], labels[-1:] + labels[:-1], loc="lower left",
            bbox_to_anchor=(0, 1.0), ncol=4, frameon=False, fontsize=8.5, borderaxespad=0.2,
        )  # fmt: skip
