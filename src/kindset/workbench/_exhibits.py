"""What a report shows of clusters of images or of rows of numbers."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kindset.workbench._samples import Samples, Scaling

_N_TYPICAL, _N_BORDERLINE = 8, 4
_N_FEATURES = 8
# Columns in which a cluster is within this many deviations of all rows say nothing about it.
_TELLING = 0.1
_N_CURVES = 6
# Larger pictures are made smaller for the report, by leaving out pixels.
_MAX_SIDE = 64


@dataclass(frozen=True)
class Found:
    """A fitted model, its clusters numbered by size, and which of the model's each one is."""

    model: Any
    labels: NDArray[Any]
    order: NDArray[Any]

    def distances(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """How far each sample is from each cluster: as the model says, or from the centroids."""
        if X.ndim > 2:
            return np.asarray(self.model.transform(X), dtype=np.float64)[:, self.order]
        centers = [X[self.labels == k].mean(axis=0) for k in range(len(self.order))]
        return np.asarray(cdist(X, np.stack(centers)))


def describe(
    samples: Samples, found: Found, distances: NDArray[np.float64]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what there is to tell and to show of the clusters: details and exhibits of a run."""
    details: dict[str, Any] = {"kind": samples.kind, "data": samples.name}
    if samples.features is not None:
        details["columns"] = samples.features
    if samples.kind == "images":
        details["crop"] = samples.crop
        details["scaling"] = asdict(Scaling.pixels(samples.X))
    elif samples.scaling is not None:
        details["scaling"] = asdict(samples.scaling)
    exhibits: dict[str, NDArray[Any]] = {}
    if samples.kind == "images":
        details["images"], shown = _images(samples, found, distances)
        exhibits.update(shown)
    else:
        details["features"] = {"clusters": _feature_profiles(samples, found.labels)}
    if hasattr(found.model, "merge_tree_"):
        details["unmasking"], shown = _merges(found.model)
        exhibits.update(shown)
    return details, exhibits


def _images(
    samples: Samples, found: Found, distances: NDArray[np.float64]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Choose images to show for each cluster, and make its picture."""
    chosen, roles = _choose(found.labels, distances)
    images = samples.X
    tone = Tone.of(images)
    shown = images[chosen]
    exhibits: dict[str, NDArray[Any]] = {
        "samples": tone(shown),
        "sample_index": chosen,
        "sample_cluster": found.labels[chosen],
        "sample_role": roles,
    }
    if hasattr(found.model, "align"):
        unit = Tone(0.0, 1.0, tone.step, tone.coloured)
        exhibits["prototypes"] = unit(np.asarray(found.model.prototypes_)[found.order])
        exhibits["aligned"] = unit(np.asarray(found.model.align(shown))[:, found.order])
    else:
        members = [images[found.labels == k] for k in range(len(found.order))]
        exhibits["prototypes"] = tone(np.stack([part.mean(axis=0) for part in members]))
    names = [str(name) for name in samples.ids.iloc[chosen]]
    told = {
        "names": names if samples.ids.name == "file" else None,
        "distances": distances[chosen].tolist(),
        "loss": None,
    }
    return told, exhibits


def _choose(
    labels: NDArray[Any], distances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Take from each cluster its nearest samples, and those nearly as near to another one."""
    rows = np.arange(len(labels))
    own = distances[rows, labels]
    others = distances.copy()
    others[rows, labels] = np.inf
    margin = others.min(axis=1) - own
    chosen, roles = [], []
    for k in range(distances.shape[1]):
        members = np.flatnonzero(labels == k)
        near = members[np.argsort(own[members], kind="stable")][:_N_TYPICAL]
        rest = np.setdiff1d(members, near)
        edge = rest[np.argsort(margin[rest], kind="stable")][:_N_BORDERLINE]
        chosen += [near, edge]
        roles += [0] * len(near) + [1] * len(edge)
    return np.concatenate(chosen).astype(np.int64), np.array(roles, dtype=np.int64)


@dataclass(frozen=True)
class Tone:
    """Turns pixel values from `low` to `high` into bytes, and large pictures into smaller ones."""

    low: float
    high: float
    step: int
    coloured: bool

    @classmethod
    def of(cls, images: NDArray[Any]) -> "Tone":
        """Return the tone of a data set."""
        scaling = Scaling.pixels(images)
        low, high = scaling.mean[0], scaling.mean[0] + scaling.spread[0]
        return cls(low, high, -(-max(images.shape[1:3]) // _MAX_SIDE), images.ndim == 4)

    def __call__(self, pictures: NDArray[Any]) -> NDArray[np.uint8]:
        """Turn pictures, the last axes of an array, into bytes."""
        channels = (slice(0, 3),) if self.coloured else ()
        places = (slice(None, None, self.step),) * 2
        small = pictures[(..., *places, *channels)].astype(np.float64)
        scaled = (small - self.low) * (255.0 / max(self.high - self.low, 1e-300))
        tones = np.rint(np.clip(scaled, 0, 255)).astype(np.uint8)
        return tones[..., 0] if self.coloured and tones.shape[-1] < 3 else tones


def _feature_profiles(samples: Samples, labels: NDArray[Any]) -> list[dict[str, Any]]:
    """Say in which columns each cluster differs most from all rows."""
    X = samples.rows
    names = samples.features or [f"column {j + 1}" for j in range(X.shape[1])]
    mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    clusters = []
    for k in range(labels.max() + 1):
        own = X[labels == k].mean(axis=0, dtype=np.float64)
        z = (own - mean) / np.where(spread > 0, spread, 1.0)
        top = [
            {"name": names[j], "mean": own[j], "overall": mean[j], "z": z[j]}
            for j in np.argsort(-np.abs(z), kind="stable")[:_N_FEATURES].tolist()
            if abs(z[j]) > _TELLING
        ]
        clusters.append({"size": int((labels == k).sum()), "top": top})
    return clusters


def _merges(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the tree of an agglomeration, and the curves of its last merges, the telling ones."""
    curves = np.asarray(model.curves_, dtype=np.float64)
    shown = curves[-_N_CURVES:]
    first = len(curves) - len(shown) + 1
    names = [f"merge {first + i} of {len(curves)}" for i in range(len(shown))]
    exhibits = {
        "merge_tree": np.asarray(model.merge_tree_, dtype=np.float64),
        "merge_scores": np.asarray(model.merge_scores_, dtype=np.float64),
        "curves": shown,
    }
    n_cells = int(np.max(model.initial_labels_)) + 1
    return {"curve_names": names, "n_cells": n_cells}, exhibits
