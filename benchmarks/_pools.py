"""Pools of runs on labelled data: many embeddings, clustering methods and numbers of clusters.

A pool is a list of runs that one user might want to choose from. Files hold `labels[run]`,
`run_space`, `space_i`, `space_names`, `y`, `pool_i` (indices of runs), `pool_names`, `pool_tasks`
and `pool_ranked` (whether the runs differ enough to be worth ranking).
"""

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import load_iris
from sklearn.decomposition import NMF, PCA, FastICA
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

# Points of a dataset: so many, or so many for each class if that is more, up to a limit.
_FEW_POINTS = 600
_PER_CLASS = 12
_MAX_POINTS = 1200
_FACTORS = (0.3, 0.5, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0)


@dataclass
class PoolData:
    """Spaces, runs and pools of one dataset."""

    name: str
    y: np.ndarray
    spaces: list[np.ndarray]
    space_names: list[str]
    labels: np.ndarray
    run_space: np.ndarray
    pools: list[np.ndarray]
    tasks: list[str]
    ranked: np.ndarray


def read_pools(path: Path) -> PoolData:
    """Read one file of pools."""
    with np.load(path, allow_pickle=False) as stored:
        names = [str(name) for name in stored["space_names"]]
        return PoolData(
            name=path.stem,
            y=stored["y"],
            spaces=[stored[f"space_{i}"].astype(np.float64) for i in range(len(names))],
            space_names=names,
            labels=stored["labels"],
            run_space=stored["run_space"].astype(int),
            pools=[stored[f"pool_{i}"].astype(int) for i in range(len(stored["pool_tasks"]))],
            tasks=[str(task) for task in stored["pool_tasks"]],
            ranked=stored["pool_ranked"],
        )


# ------------------------------------------------------------------------------------------- data


def _images(path: Path, side: int) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as stored:
        images, labels = stored["images"], stored["labels"]
    chosen = _sample(len(images), labels)
    images = images[chosen].astype(np.float64)
    if images.ndim == 4:
        images = images.mean(axis=3)
    step = max(images.shape[1] // side, 1)
    rows, columns = (images.shape[1] // step) * step, (images.shape[2] // step) * step
    small = images[:, :rows, :columns].reshape(len(images), rows // step, step, -1, step)
    return small.mean(axis=(2, 4)).reshape(len(images), -1) / 255.0, labels[chosen]


def _table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_csv(path).dropna()
    values = frame.drop(columns="label").to_numpy(dtype=np.float64)
    chosen = _sample(len(frame), frame["label"].to_numpy())
    return StandardScaler().fit_transform(values)[chosen], frame["label"].to_numpy()[chosen]


def _sample(n: int, labels: np.ndarray) -> np.ndarray:
    order = np.random.RandomState(0).permutation(n)
    wanted = max(_FEW_POINTS, _PER_CLASS * len(np.unique(labels)))
    return np.sort(order[: min(wanted, _MAX_POINTS)])


def held_out_data(folder: Path) -> dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]]:
    """Datasets that the development pools do not contain."""
    return {
        "iris": lambda: load_iris(return_X_y=True),
        "zoo": lambda: _table(folder / "zoo.csv"),
        "breast_wisconsin": lambda: _table(folder / "breast_cancer_wisconsin_ordinal.csv"),
        "yale": lambda: _images(folder / "yale_faces.npz", 32),
        "yaleb": lambda: _images(folder / "yaleb_subset.npz", 32),
        "kth_tips": lambda: _images(folder / "kth_tips_gray_100.npz", 25),
        "coil100": lambda: _images(folder / "coil100_gray_subset.npz", 32),
        "cmu_pie": lambda: _images(folder / "cmu_pie.npz", 32),
        "mnist": lambda: _images(folder / "mnist.npz", 28),
        "fashion_mnist": lambda: _images(folder / "fashion_mnist.npz", 28),
        "flowers17": lambda: _images(folder / "flowers17_64.npz", 32),
    }


# ----------------------------------------------------------------------------------------- spaces


def _autoencoder(
    X: np.ndarray, width: int, rate: float, epochs: int, noise: float = 0.0, seed: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """Train a small autoencoder; yield (epoch, code) before training and after each epoch."""
    import torch

    torch.manual_seed(seed)
    data = torch.tensor(StandardScaler().fit_transform(X) / np.sqrt(X.shape[1]) * 5.0).float()

    def layers(*sizes: int) -> torch.nn.Sequential:
        steps: list[Any] = []
        for a, b in pairwise(sizes):
            steps += [torch.nn.Linear(a, b), torch.nn.ReLU()]
        return torch.nn.Sequential(*steps[:-1])

    d = X.shape[1]
    encoder, decoder = layers(d, 128, width), layers(width, 128, d)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=rate)

    def code() -> np.ndarray:
        with torch.no_grad():
            return encoder(data).double().numpy()

    yield 0, code()
    for epoch in range(1, epochs + 1):
        for batch in torch.randperm(len(data)).split(64):
            given = data[batch] + noise * data.std() * torch.randn_like(data[batch])
            loss = ((decoder(encoder(given)) - data[batch]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        yield epoch, code()


def _linear_spaces(X: np.ndarray, principal: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "raw", X
    for width in (2, 5, 10, 20, 50):
        if width <= principal.shape[1]:
            yield f"pca{width}", principal[:, :width]
    few = min(10, principal.shape[1])
    yield "wpca", principal[:, :few] / principal[:, :few].std(axis=0)
    yield "ica", FastICA(few, random_state=0, max_iter=500).fit_transform(principal)
    if X.min() >= 0:
        model = NMF(min(10, X.shape[1]), init="nndsvda", random_state=0)
        yield "nmf", model.fit_transform(X)
    for width, seed in ((2, 0), (2, 1), (5, 0), (5, 1), (20, 0)):
        projection = GaussianRandomProjection(width, random_state=seed)
        yield f"rp{width}s{seed}", projection.fit_transform(X)


def _graph_spaces(principal: np.ndarray, n_classes: int) -> Iterator[tuple[str, np.ndarray]]:
    n, d = principal.shape
    for perplexity in (5, 15, 30, 50):
        model = TSNE(perplexity=min(perplexity, (n - 1) / 4), random_state=0, init="pca")
        yield f"tsne{perplexity}", model.fit_transform(principal).astype(np.float64)
    for width, near in ((2, 10), (5, 10), (n_classes, 10), (n_classes, 30)):
        spectral = SpectralEmbedding(
            min(width, n // 4),
            affinity="nearest_neighbors",
            n_neighbors=min(near, n // 4),
            random_state=0,
        )
        yield f"spec{width}nn{near}", spectral.fit_transform(principal)
    for width in (2, 5):
        isomap = Isomap(n_components=width, n_neighbors=10)
        yield f"isomap{width}", isomap.fit_transform(principal)
    locally_linear = LocallyLinearEmbedding(
        n_components=min(5, d), n_neighbors=12, random_state=0, eigen_solver="dense"
    )
    yield "lle5", locally_linear.fit_transform(principal)


def _trained_spaces(X: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for width in (2, 5, 10, 20):
        for rate in (3e-4, 1e-3, 5e-3):
            *_, (_, code) = _autoencoder(X, width, rate, 30)
            yield f"ae{width}lr{rate}", code
    for noise in (0.3, 1.0):
        *_, (_, code) = _autoencoder(X, 10, 1e-3, 30, noise)
        yield f"dae{noise}", code
    for seed, rate in ((1, 1e-3), (2, 3e-3)):
        for epoch, code in _autoencoder(X, 10, rate, 64, seed=seed):
            if epoch in (0, 1, 2, 4, 8, 16, 32, 64):
                yield f"ck{seed}_{epoch}", code


def make_spaces(X: np.ndarray, n_classes: int) -> dict[str, np.ndarray]:
    """Embed data in many ways."""
    principal = PCA(min(50, X.shape[1], len(X) - 1), random_state=0).fit_transform(X)
    spaces = {
        **dict(_linear_spaces(X, principal)),
        **dict(_graph_spaces(principal, n_classes)),
        **dict(_trained_spaces(X)),
    }
    return {name: space for name, space in spaces.items() if np.ptp(space, axis=0).max() > 1e-9}


# ------------------------------------------------------------------------------------------- runs


@dataclass
class _Runs:
    labels: list[np.ndarray] = field(default_factory=list)
    space: list[int] = field(default_factory=list)
    family: list[str] = field(default_factory=list)
    n_clusters: list[int] = field(default_factory=list)

    def add(self, labels: np.ndarray, space: int, family: str, n_clusters: int = 0) -> None:
        self.labels.append(np.asarray(labels, dtype=np.int16))
        self.space.append(space)
        self.family.append(family)
        self.n_clusters.append(n_clusters)

    def of(self, *families: str) -> np.ndarray:
        return np.flatnonzero(np.isin(self.family, families))


def _methods(k: int, n: int) -> list[Any]:
    return [
        GaussianMixture(k, covariance_type="diag", random_state=0),
        AgglomerativeClustering(k),
        AgglomerativeClustering(k, linkage="average"),
        AgglomerativeClustering(k, linkage="single"),
        SpectralClustering(
            k, affinity="nearest_neighbors", n_neighbors=min(10, n - 1), random_state=0
        ),
        HDBSCAN(min_cluster_size=5, copy=True),
        HDBSCAN(min_cluster_size=15, copy=True),
        KMeans(k, n_init=1, random_state=3),
    ]


def _make_runs(spaces: dict[str, np.ndarray], k: int) -> _Runs:
    names, runs = list(spaces), _Runs()
    for name in names:
        family = name.split("_")[0] if name.startswith("ck") else "embed"
        family = "hyper_ae" if "ae" in name else family
        family = "hyper_graph" if name.startswith(("tsne", "spec", "isomap", "lle")) else family
        runs.add(
            KMeans(k, n_init=5, random_state=0).fit_predict(spaces[name]), names.index(name), family
        )
    wanted = ["raw", "pca5", "pca20", "pca2", "rp5s0", "tsne30", "ae10lr0.001"]
    wanted += [name for name in names if name.startswith("spec5")]
    several = [name for name in wanted if name in spaces]
    for name in several:
        for model in _methods(k, len(spaces[name])):
            runs.add(model.fit_predict(spaces[name]), names.index(name), "method")
    counts = sorted({max(2, round(k * factor)) for factor in _FACTORS})
    for name in several:
        for count in counts:
            if count < len(spaces[name]) // 3:
                labels = KMeans(count, n_init=3, random_state=0).fit_predict(spaces[name])
                runs.add(labels, names.index(name), f"K_{name}", count)
    for name in ("tsne30", "raw"):
        for count in counts:
            if count < len(spaces[name]) // 3:
                labels = AgglomerativeClustering(count).fit_predict(spaces[name])
                runs.add(labels, names.index(name), f"W_{name}", count)
    for name in ("rp2s0", "rp2s1", "pca2"):
        for seed in range(6):
            labels = KMeans(k, n_init=1, random_state=seed).fit_predict(spaces[name])
            runs.add(labels, names.index(name), "bad")
    return runs


# ------------------------------------------------------------------------------------------ pools


def _make_pools(runs: _Runs, k: int, seed: int = 0) -> list[tuple[str, np.ndarray]]:
    rng = np.random.RandomState(seed)
    sweeps = sorted({name for name in runs.family if name.startswith(("K_", "W_"))})
    counted = runs.of(*sweeps)
    count = np.array(runs.n_clusters)
    everything = np.arange(len(runs.labels))
    pools = [
        ("embedding", runs.of("embed", "hyper_ae", "hyper_graph")),
        ("method", runs.of("method")),
        ("hyper", runs.of("hyper_ae")),
        ("hyper", runs.of("hyper_graph")),
        ("checkpoint", runs.of("ck1")),
        ("checkpoint", runs.of("ck2")),
    ]
    pools += [("K1", runs.of(sweep)) for sweep in sweeps[:6]]
    pools += [
        ("K", rng.choice(group, min(20, len(group)), replace=False))
        for group in (counted, counted[count[counted] <= k], counted[count[counted] >= k])
    ]
    pools += [("mix", rng.choice(everything, 30, replace=False)) for _ in range(3)]
    good = np.setdiff1d(everything, runs.of("bad"))
    for _ in range(2):
        bad = rng.choice(runs.of("bad"), 12, replace=False)
        pools.append(("badmajority", np.concatenate([bad, rng.choice(good, 4, replace=False)])))
    for size in (3, 4, 5, 6, 3, 4, 5, 6):
        pools.append(("small", rng.choice(everything, size, replace=False)))
    return [(task, np.sort(pool)) for task, pool in pools]


def make_pools(name: str, X: np.ndarray, y: np.ndarray, path: Path) -> None:
    """Make spaces, runs and pools of one dataset, and write them."""
    y = np.unique(y, return_inverse=True)[1]
    k = int(y.max()) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spaces = make_spaces(X, k)
        runs = _make_runs(spaces, k)
    pools = _make_pools(runs, k)
    ami = np.array([adjusted_mutual_info_score(y, labels) for labels in runs.labels])
    # Runs that all fit the labels equally, or not at all, cannot be ranked by them.
    ranked = [len(p) >= 3 and np.ptp(ami[p]) >= 0.05 and ami[p].max() >= 0.1 for _, p in pools]
    np.savez_compressed(
        path,
        y=y.astype(np.int16),
        labels=np.stack(runs.labels),
        run_space=np.array(runs.space, dtype=np.int16),
        space_names=np.array(list(spaces)),
        pool_tasks=np.array([task for task, _ in pools]),
        pool_ranked=np.array(ranked),
        **{f"space_{i}": space.astype(np.float32) for i, space in enumerate(spaces.values())},
        **{f"pool_{i}": pool for i, (_, pool) in enumerate(pools)},
    )


def make_held_out(out: Path) -> None:
    """Make the pools of all held-out datasets that are not there yet."""
    folder = os.environ.get("KINDSET_DATA")
    if folder is None:
        raise SystemExit("KINDSET_DATA is not set: the folder of the labelled datasets")
    out.mkdir(parents=True, exist_ok=True)
    for name, load in held_out_data(Path(folder)).items():
        path = out / f"{name}.npz"
        if not path.exists():
            make_pools(name, *load(), path)
            print(f"made {path.name}", flush=True)
