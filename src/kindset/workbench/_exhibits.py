"""What a report shows of clusters of images or of rows of numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from kindset.runs import (
    BORDERLINE,
    TYPICAL,
    FeatureCluster,
    FeatureDetails,
    FeatureMean,
    ImageDetails,
    MergeDetails,
    RunDetails,
)
from kindset.workbench._dataset import FILES, Dataset
from kindset.workbench._scaling import Scaling

_N_TYPICAL, _N_BORDERLINE = 8, 4
_N_FEATURES = 8
# Columns in which a cluster is within this many deviations of all rows say nothing about it.
_TELLING = 0.1
_N_CURVES = 6
# Images whose pixels differ by no more than this share of the whole range show nothing.
_FLAT = 0.02
# Larger pictures are made smaller for the report, by leaving out pixels.
_MAX_SIDE = 64


@dataclass(frozen=True)
class Found:
    """A fitted model and the cluster of each sample."""

    model: Any
    labels: NDArray[Any]

    @property
    def n_clusters(self) -> int:
        """The number of clusters with a sample; a model's empty ones come last."""
        return int(self.labels.max()) + 1

    def distances(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """How far each sample is from each cluster: as the model says, or from the centroids."""
        if X.ndim > 2:
            return np.asarray(self.model.transform(X), dtype=np.float64)[:, : self.n_clusters]
        centers = [X[self.labels == k].mean(axis=0) for k in range(self.n_clusters)]
        return np.asarray(cdist(X, np.stack(centers)))


def describe(data: Dataset, found: Found, distances: NDArray[np.float64]) -> RunDetails:
    """Return what there is to say and to show of the clusters."""
    is_images = data.kind == "images"
    has_merges = hasattr(found.model, "merge_tree_")
    return RunDetails(
        kind="images" if is_images else "features",
        data=data.name,
        columns=data.columns,
        crop=data.crop,
        images=_images(data, found, distances) if is_images else None,
        features=None if is_images else _feature_profiles(data, found.labels),
        merges=_merges(found.model) if has_merges else None,
    )


def _images(data: Dataset, found: Found, distances: NDArray[np.float64]) -> ImageDetails:
    """Choose images to show for each cluster, and make its picture."""
    images = data.images
    tone = Tone.of(images)
    flat = _are_flat(images, tone)
    chosen, roles = _choose(found.labels, distances, flat)
    shown = images[chosen]
    prototypes, aligned = _pictures(images, shown, found, tone)
    names: list[str | None] = [str(name) for name in data.ids.iloc[chosen]]
    steps, loss = _loss(found.model)
    return ImageDetails(
        samples=tone(shown),
        sample_index=chosen,
        sample_cluster=found.labels[chosen].astype(np.int64),
        sample_role=roles,
        prototypes=prototypes,
        aligned=aligned,
        names=names if data.ids.name == FILES else None,
        distances=distances[chosen].tolist(),
        loss=loss,
        loss_steps=steps,
        flat=np.flatnonzero(flat[chosen]).tolist(),
    )


def _pictures(
    images: NDArray[Any], shown: NDArray[Any], found: Found, tone: "Tone"
) -> tuple[NDArray[np.uint8], NDArray[np.uint8] | None]:
    """Return the picture of each cluster, and all of them aligned to each image that is shown."""
    if hasattr(found.model, "align"):
        unit = Tone(0.0, 1.0, tone.step, tone.coloured)
        prototypes = unit(np.asarray(found.model.prototypes_)[: found.n_clusters])
        return prototypes, unit(np.asarray(found.model.align(shown))[:, : found.n_clusters])
    members = [images[found.labels == k] for k in range(found.n_clusters)]
    return tone(np.stack([part.mean(axis=0) for part in members])), None


def _loss(model: Any) -> tuple[list[int] | None, list[float] | None]:
    """Return the steps and the losses of a model that kept them while it was trained."""
    history = getattr(model, "history_", None)
    loss = np.asarray(getattr(history, "loss", []), dtype=np.float64)
    if not loss.size:
        return None, None
    steps = np.asarray(getattr(history, "step", np.arange(1, len(loss) + 1)))
    known = np.isfinite(loss)
    return steps[known].tolist(), loss[known].tolist()


def _are_flat(images: NDArray[Any], tone: "Tone") -> NDArray[np.bool_]:
    """Say which images show nothing: all pixels of each channel are nearly equal."""
    low = images.min(axis=(1, 2)).astype(np.float64)
    high = images.max(axis=(1, 2)).astype(np.float64)
    spread = (high - low).reshape(len(images), -1).max(axis=1)
    return np.asarray(spread <= _FLAT * (tone.high - tone.low))


def _choose(
    labels: NDArray[Any], distances: NDArray[np.float64], flat: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Take from each cluster its nearest samples, and those nearly as near to another one.

    A flat image is near to everything, since it can be aligned with anything. So flat images come
    last among the nearest.
    """
    rows = np.arange(len(labels))
    own = distances[rows, labels]
    others = distances.copy()
    others[rows, labels] = np.inf
    margin = others.min(axis=1) - own
    chosen, roles = [], []
    for k in range(distances.shape[1]):
        members = np.flatnonzero(labels == k)
        near = members[np.lexsort((own[members], flat[members]))][:_N_TYPICAL]
        rest = np.setdiff1d(members, near)
        edge = rest[np.argsort(margin[rest], kind="stable")][:_N_BORDERLINE]
        chosen += [near, edge]
        roles += [TYPICAL] * len(near) + [BORDERLINE] * len(edge)
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


def _feature_profiles(data: Dataset, labels: NDArray[Any]) -> FeatureDetails:
    """Say in which columns each cluster differs most from all rows, in the data's own units."""
    X = data.numbers
    names = data.columns or [f"column {j + 1}" for j in range(X.shape[1])]
    mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    clusters = []
    for k in range(labels.max() + 1):
        own = X[labels == k].mean(axis=0, dtype=np.float64)
        z = (own - mean) / np.where(spread > 0, spread, 1.0)
        top = [
            FeatureMean(names[j], float(own[j]), float(mean[j]), float(z[j]))
            for j in np.argsort(-np.abs(z), kind="stable")[:_N_FEATURES].tolist()
            if abs(z[j]) > _TELLING
        ]
        clusters.append(FeatureCluster(int((labels == k).sum()), top))
    return FeatureDetails(clusters)


def _merges(model: Any) -> MergeDetails:
    """Return the tree of an agglomeration, and the curves of its last merges, the telling ones."""
    curves = np.asarray(model.curves_, dtype=np.float64)
    shown = curves[-_N_CURVES:]
    first = len(curves) - len(shown) + 1
    return MergeDetails(
        n_cells=int(np.max(model.initial_labels_)) + 1,
        merge_tree=np.asarray(model.merge_tree_, dtype=np.float64),
        merge_scores=np.asarray(model.merge_scores_, dtype=np.float64),
        curves=shown,
        curve_names=[f"merge {first + i} of {len(curves)}" for i in range(len(shown))],
    )
