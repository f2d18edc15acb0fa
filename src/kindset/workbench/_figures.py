"""Saving figures."""

import warnings
from pathlib import Path
from typing import Any


def save_figure(figure: Any, stem: Path) -> None:
    """Write a figure as PNG and SVG, and let go of it."""
    import matplotlib.pyplot as plt

    with warnings.catch_warnings():
        # A script that the figures' font lacks shows as boxes; the tables have the words.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(stem.with_name(f"{stem.name}.png"), dpi=150)
        figure.savefig(stem.with_name(f"{stem.name}.svg"))
    plt.close(figure)
