"""Draw the figures of the documentation: python docs/figures.py."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kindset import datasets
from kindset.ordinal import SegmentProfileDisplay, SelectionDisplay, select_components

IMAGES = Path(__file__).parent / "images"


def survey() -> None:
    """Draw the segments of the election survey, and the choice of their number."""
    data = datasets.load_anes96()
    chosen = select_components(data.data, random_state=0).model
    profile = SegmentProfileDisplay.from_estimator(chosen, data.data, questions=data.questions)
    profile.figure_.savefig(IMAGES / "survey-profiles.png", dpi=80)
    selection = select_components(data.data, range(1, 9), distribution="god", random_state=0)
    SelectionDisplay(selection).plot().figure_.savefig(IMAGES / "survey-selection.png", dpi=90)


def distributions() -> None:
    """Draw the shapes of BOS and GOD."""
    from matplotlib.figure import Figure

    from kindset.ordinal import bos_pmf, god_pmf

    figure = Figure(figsize=(8.6, 2.9), layout="constrained")
    panels = (("BOS", bos_pmf, (0.1, 0.4, 0.7, 0.9)), ("GOD", god_pmf, (0.5, 0.65, 0.8, 0.95)))
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (name, pmf, precisions) in zip(axes, panels, strict=True):
        for shade, pi in zip((0.3, 0.5, 0.75, 1.0), precisions, strict=True):
            ax.plot(range(1, 8), pmf(7, 3, pi), marker="o", color="#1d4ed8", alpha=shade,
                    label=f"π = {pi:g}")  # fmt: skip
        ax.set_title(f"{name}, seven categories, position 3", fontsize=10, loc="left")
        ax.set_xlabel("category")
        ax.legend(frameon=False, fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("probability")
    figure.savefig(IMAGES / "ordinal-distributions.png", dpi=90)


def digits() -> None:
    """Draw the clusters of scikit-learn's digits."""
    from sklearn.datasets import load_digits

    from kindset import DTIKMeans
    from kindset.images import AlignmentDisplay, ClusterDisplay, EvolutionDisplay, PrototypeDisplay

    images = load_digits().images
    model = DTIKMeans(10, n_init=8, random_state=0, n_jobs=2).fit(images)
    figures = {
        "prototypes": PrototypeDisplay.from_estimator(model),
        "evolution": EvolutionDisplay.from_estimator(model),
        "alignment": AlignmentDisplay.from_estimator(model, images[:5]),
        "examples": ClusterDisplay.from_estimator(model, images, which="farthest", max_clusters=3),
    }
    for name, display in figures.items():
        display.figure_.savefig(IMAGES / f"digits-{name}.png", dpi=80)


def elbow() -> None:
    """Draw the loss over the number of clusters for a third of the digits."""
    from sklearn.datasets import load_digits

    from kindset import DTIKMeans
    from kindset.images import ElbowDisplay, select_n_clusters

    estimator = DTIKMeans(transforms=("affine",), n_init=2, max_epochs=60, random_state=0)
    images = load_digits().images[::3]
    display = ElbowDisplay(select_n_clusters(images, range(4, 17, 2), estimator=estimator)).plot()
    display.figure_.savefig(IMAGES / "digits-elbow.png", dpi=80)


def clothes() -> None:
    """Draw prototypes of Fashion-MNIST without stiffness and with it (takes KINDSET_DATA)."""
    from kindset import DTIKMeans

    data = datasets.load_images("fashion_mnist")
    images = data.images[data.split == 1]
    model = DTIKMeans(10, transforms=("colour", "affine", "tps"), random_state=0)
    draw_clothes([
        model.set_params(stiffness=stiffness).fit(images).prototypes_ for stiffness in (0, 0.01)
    ])  # fmt: skip


def draw_clothes(rows: Sequence[Any]) -> None:
    """Draw a row of prototypes for each model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.2), layout="constrained")
    axes = figure.subplots(len(rows), len(rows[0]))
    for ax, picture in zip(axes.flat, (picture for row in rows for picture in row), strict=True):
        ax.imshow(picture, cmap="gray")
        ax.set_xticks([])
        ax.set_yticks([])
    for ax, name in zip(axes[:, 0], ("0", "0.01"), strict=True):
        ax.set_ylabel(name, rotation=0, ha="right", va="center")
    figure.savefig(IMAGES / "fashion-stiffness.png", dpi=90)


def unmasking() -> None:
    """Draw clusters of digits, their cells, and accuracy curves."""
    from sklearn.datasets import load_digits

    from kindset.unmasking import (
        CellDendrogramDisplay,
        ClusterImageDisplay,
        UnmaskingClustering,
        UnmaskingCurveDisplay,
        unmask,
    )

    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = UnmaskingClustering(10, random_state=0).fit(X)
    clusters = ClusterImageDisplay.from_estimator(model)
    clusters.figure_.savefig(IMAGES / "unmasking-clusters.png", dpi=80)
    tree = CellDendrogramDisplay.from_estimator(model)
    tree.figure_.savefig(IMAGES / "unmasking-tree.png", dpi=80)
    groups = {
        "0 and 1": (X[y == 0], X[y == 1]),
        "3 and 5": (X[y == 3], X[y == 5]),
        "halves of 8": (X[y == 8][::2], X[y == 8][1::2]),
    }
    curves = {name: unmask(*pair, random_state=0) for name, pair in groups.items()}
    UnmaskingCurveDisplay(curves).plot().figure_.savefig(IMAGES / "unmasking-curves.png", dpi=80)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    survey()
    digits()
    elbow()
    if "KINDSET_DATA" in os.environ:
        clothes()
    distributions()
    unmasking()
