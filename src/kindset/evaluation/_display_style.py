"""What the figures have in common: colours that colour-blind readers tell apart, sizes, titles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kindset._plotting import plain
from kindset.exceptions import InputError

# Okabe and Ito's palette, without the yellow that vanishes on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
GREY = "#9A9A9A"
DARK = "#333333"
# Status of a space -> marker, how the legend calls it.
STATUS_STYLE = {
    "selected": ("o", "selected"),
    "grouped": ("o", "kept, not selected"),
    "outlier": ("D", "outlier"),
    "unimodal": ("X", "dropped by the dip test"),
    "constant": ("s", "dropped: all scores equal"),
    "copy": ("P", "copy of another space"),
}


def check_fitted(evaluation: Any) -> None:
    """Refuse an evaluation that has not been fitted."""
    if not hasattr(evaluation, "scores_"):
        raise InputError("The evaluation is not fitted; call fit or fit_scores first.")


def label_size(n: int) -> float:
    """Font size at which `n` labels in a line stay apart."""
    return float(np.clip(260 / max(n, 1), 5.5, 9.5))


def shorten(name: str, length: int = 24) -> str:
    """Cut a long name in the middle, where names of runs differ least."""
    if len(name) > length:
        half = (length - 1) // 2
        name = f"{name[:half]}…{name[-half:]}"
    return plain(name)


def group_order(groups: NDArray[np.intp], status: NDArray[Any]) -> NDArray[np.intp]:
    """Spaces by group, outliers and dropped ones last."""
    last = groups.max(initial=0) + 1
    key = np.where(groups >= 0, groups, last - groups)
    return np.lexsort((np.arange(len(groups)), status != "selected", key))


def group_colors(groups: NDArray[np.intp]) -> list[str]:
    """Colour of each space: its group's, grey without one."""
    return [PALETTE[group % len(PALETTE)] if group >= 0 else GREY for group in groups]
