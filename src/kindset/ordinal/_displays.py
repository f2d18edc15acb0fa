"""Pictures of a mixture and of its selection, in the manner of scikit-learn's displays."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kindset._plotting import new_axes, new_grid, plain
from kindset.ordinal._mixture import OrdinalMixture
from kindset.ordinal._profiles import QuestionProfile, SegmentProfiles, profile_segments
from kindset.ordinal._selection import ComponentSelection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _ACCENT = "#1f2430", "#c2410c"

_PROFILE_LEGEND = (
    "Rows: segments (share of all). Shade and number: share of the segment's answers. "
    "Box: the model's position. Line: the middle half of the answers."
)
_WEIGHTED_LEGEND = " All shares are weighted."


class SegmentProfileDisplay:
    """What each segment answers, question by question.

    One panel for each question: a row for each segment, a column for each answer, shaded and
    labelled with the observed share. A box marks the position that the model gives the segment, a
    line below it the middle half of the answers.

    Parameters
    ----------
    profiles : SegmentProfiles
        What to show; see `profile_segments`.
    modes : ndarray of shape (n_components, n_features)
        Fitted positions, from 1.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes, one for each question

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> from kindset.ordinal import OrdinalMixture, SegmentProfileDisplay
    >>> survey = load_anes96()
    >>> model = OrdinalMixture(3, distribution="god", random_state=0).fit(survey.data)
    >>> display = SegmentProfileDisplay.from_estimator(model, survey.data)
    >>> len(display.axes_)
    6
    """

    def __init__(self, profiles: SegmentProfiles, modes: Any) -> None:
        self.profiles = profiles
        self.modes = modes

    @classmethod
    def from_estimator(
        cls,
        model: OrdinalMixture,
        X: Any,
        *,
        questions: Mapping[str, str] | None = None,
        sample_weight: Any = None,
        n_columns: int | None = None,
        max_questions: int | None = None,
    ) -> Self:
        """Draw the profiles of a fitted mixture on given data.

        Parameters
        ----------
        model : OrdinalMixture
        X : array-like or DataFrame of shape (n_samples, n_features)
        questions : mapping from column names to text, default=None
            The questions' words.
        sample_weight : array-like of shape (n_samples,), default=None
        n_columns : int, default=None
            Panels side by side.
        max_questions : int, default=None
            Draw only the questions on which the segments differ most; by default all.
        """
        profiles = profile_segments(model, X, questions=questions, sample_weight=sample_weight)
        shown = profiles.most_distinct(max_questions)
        profiles = replace(profiles, questions=[profiles.questions[j] for j in shown])
        return cls(profiles, model.modes_[:, shown]).plot(n_columns=n_columns)

    def plot(self, *, n_columns: int | None = None) -> Self:
        """Draw; return the display."""
        questions = self.profiles.questions
        n_columns = n_columns or (1 if len(questions) == 1 else 2 if len(questions) <= 8 else 3)
        n_rows = ceil(len(questions) / n_columns)
        n_segments = len(self.profiles.sizes)
        width = 5.6 * n_columns
        height = n_rows * (1.35 + 0.36 * n_segments)
        self.figure_, grid = new_grid((n_rows, n_columns), (width, height))
        self.axes_: list[Axes] = list(grid.flat)[: len(questions)]
        for spare in list(grid.flat)[len(questions) :]:
            spare.set_axis_off()
        for j, (axes, question) in enumerate(zip(self.axes_, questions, strict=True)):
            self._panel(axes, question, self.modes[:, j], named=j % n_columns == 0)
        legend = _PROFILE_LEGEND + (_WEIGHTED_LEGEND if self.profiles.weighted else "")
        self.figure_.supxlabel(legend, fontsize=8, color=_INK)
        return self

    def _panel(self, axes: "Axes", question: QuestionProfile, modes: Any, *, named: bool) -> None:
        from matplotlib.patches import Rectangle

        n_segments, n_levels = question.shares.shape
        axes.set_title(plain(fill(question.text, 58)), fontsize=10, loc="left", color=_INK)
        axes.tick_params(length=0, labelsize=8, colors=_INK)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_yticks(range(n_segments), self._segment_names() if named else [])
        if n_levels == 0:
            axes.set_xticks([])
            axes.text(0.5, 0.5, "no answers", ha="center", transform=axes.transAxes)
            return
        axes.imshow(question.shares, cmap="Blues", vmin=0, vmax=0.9, aspect="auto")
        axes.set_xticks(range(n_levels), _level_names(question.levels))
        axes.tick_params(axis="x", labelsize=8 if n_levels <= 5 else 7)
        axes.set_yticks(np.arange(n_segments + 1) - 0.5, minor=True)
        axes.grid(which="minor", axis="y", color="white", linewidth=3)
        axes.tick_params(which="minor", length=0)
        low, high = question.interval()
        for k in range(n_segments):
            for x in range(n_levels) if n_levels <= 12 else ():
                share = question.shares[k, x]
                if share >= 0.005:
                    color = "white" if share > 0.5 else _INK
                    axes.text(x, k - 0.05, f"{share:.0%}", ha="center", va="center", fontsize=7.5,
                              color=color)  # fmt: skip
            axes.plot([low[k] - 0.3, high[k] + 0.3], [k + 0.34, k + 0.34], color=_ACCENT, lw=1.6,
                      solid_capstyle="round")  # fmt: skip
            box = Rectangle((modes[k] - 1.47, k - 0.43), 0.94, 0.86, fill=False, ec=_ACCENT, lw=1.4)
            axes.add_patch(box)

    def _segment_names(self) -> list[str]:
        total = self.profiles.sizes.sum()
        return [f"{k + 1}  ({size / total:.0%})" for k, size in enumerate(self.profiles.sizes)]


class SelectionDisplay:
    """The criteria over the number of components, with the winner marked.

    Parameters
    ----------
    selection : ComponentSelection
        What `select_components` returned.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from kindset.datasets import load_anes96
    >>> from kindset.ordinal import SelectionDisplay, select_components
    >>> selection = select_components(
    ...     load_anes96().data, range(1, 4), criterion="icl", n_init=4, random_state=0
    ... )
    >>> SelectionDisplay(selection).plot().ax_.get_xlabel()
    'Number of segments'
    """

    _COLORS = {"icl": "#1d4ed8", "bic": "#0f766e", "aic": "#a16207"}  # noqa: RUF012

    def __init__(self, selection: ComponentSelection) -> None:
        self.selection = selection

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw, on `ax` if given; return the display."""
        from matplotlib.ticker import MaxNLocator

        self.figure_, self.ax_ = new_axes(ax, (6.4, 4.0))
        ax = self.ax_
        selection, path = self.selection, self.selection.path
        for name, color in self._COLORS.items():
            chosen = name == selection.criterion
            ax.plot(path.index, path[name], color=color, marker="o", ms=4,
                    lw=2.2 if chosen else 1.2, alpha=1 if chosen else 0.65)  # fmt: skip
            ax.annotate(f" {name.upper()}", (path.index[-1], path[name].iloc[-1]), color=color,
                        va="center", fontsize=9, weight="bold" if chosen else None)  # fmt: skip
        best = selection.n_components
        shown = selection.criterion if selection.criterion in path else "bic"
        value = float(path[shown].loc[best])
        ax.plot(best, value, marker="o", ms=13, mfc="none", mec=_ACCENT, mew=2)
        ax.annotate(
            f"{best} segment{'s' if best > 1 else ''}" if best > 1 else "no structure",
            (best, value), xytext=(0, 14), textcoords="offset points", ha="center", color=_ACCENT,
        )  # fmt: skip
        ax.set_xlabel("Number of segments")
        ax.set_ylabel("Criterion (lower is better)")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.margins(x=0.1, y=0.12)
        ax.spines[["top", "right"]].set_visible(False)
        return self


def _level_names(levels: Any) -> list[str]:
    """Break long names into short lines; keep only the ends of very long scales."""
    names = [f"{level:g}" if isinstance(level, float) else str(level) for level in levels]
    if len(names) > 12:
        return [plain(name) if x in (0, len(names) - 1) else "" for x, name in enumerate(names)]
    return [plain(fill(name, 12)) for name in names]
