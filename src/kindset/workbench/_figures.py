"""Saving figures."""

import warnings
from pathlib import Path
from typing import Any

from kindset._files import named_errors


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
