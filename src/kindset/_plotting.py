"""What all figures have in common."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kindset._files import named_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def new_axes(ax: "Axes | None", size: tuple[float, float]) -> "tuple[Figure, Axes]":
    """Return the given axes with their figure, or new ones of that size in inches."""
    import matplotlib.pyplot as plt

    if ax is None:
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        return figure, ax
    return ax.get_figure(root=True), ax  # type: ignore[return-value]


def new_grid(shape: tuple[int, int], size: tuple[float, float]) -> "tuple[Figure, Any]":
    """Return a new figure with a grid of axes, as an array of two dimensions."""
    import matplotlib.pyplot as plt

    return plt.subplots(*shape, figsize=size, layout="constrained", squeeze=False)


def plain(text: str) -> str:
    """Keep matplotlib from reading dollars in a user's words as mathematics."""
    return text.replace("$", r"\$")


def save_figure(figure: Any, stem: Path) -> None:
    """Write a figure as PNG and SVG, and let go of it."""
    import matplotlib.pyplot as plt

    with warnings.catch_warnings():
        # A script that the figures' font lacks shows as boxes; the tables have the words.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        for ending, options in (("png", {"dpi": 150}), ("svg", {})):
            path = stem.with_name(f"{stem.name}.{ending}")
            with named_errors(path):
                figure.savefig(path, **options)
    plt.close(figure)
