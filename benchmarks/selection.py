"""Which strategy picks good clusterings without labels? The paper's question, on real data.

For each dataset, a grid of embeddings and clusterings is made, every run is scored by each index,
and the ranking by each strategy is compared with the ranking by NMI and ACC, which the strategies
do not see. Two tasks, as in the paper: choosing among embeddings at the true number of clusters
("embedding"), and choosing the number of clusters ("clusters").

    KINDSET_DATA=/path/to/data python benchmarks/selection.py          # digits, USPS, MNIST-test
    python benchmarks/selection.py --quick                             # digits only, two indices

The autoencoders are scikit-learn's MLPRegressor with a narrow middle layer; nothing is tuned.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import SpectralEmbedding
from sklearn.neural_network import MLPRegressor
from sklearn.random_projection import GaussianRandomProjection

from kindset.evaluation import AdaptiveEvaluation, clustering_accuracy, normalized_mutual_info

Array = NDArray[np.float64]
INDICES = (
    ("calinski_harabasz", "euclidean"),
    ("davies_bouldin", "euclidean"),
    ("silhouette", "cosine"),
    ("silhouette", "euclidean"),
    ("cubic_clustering_criterion", "euclidean"),
    ("dunn", "euclidean"),
    ("c_index", "euclidean"),
    ("s_dbw", "euclidean"),
    ("cd_bw", "euclidean"),
)
STRATEGIES = ("raw", "paired", "pooled", "rank_average", "ace")


def datasets(quick: bool) -> Iterator[tuple[str, Array, NDArray[np.int64]]]:
    """Yield name, images as rows in [0, 1], and classes."""
    X, y = load_digits(return_X_y=True)
    yield "digits", X / 16.0, y
    folder = os.environ.get("KINDSET_DATA")
    if quick or folder is None:
        print("(USPS and MNIST-test left out: --quick, or KINDSET_DATA is not set)\n")
        return
    for name, file, only_test in (("USPS", "usps.npz", False), ("MNIST-test", "mnist.npz", True)):
        with np.load(Path(folder) / file) as data:
            rows = data["split"] == 1 if only_test else slice(None)
            images, labels = data["images"][rows], data["labels"][rows]
        yield name, images.reshape(len(images), -1) / 255.0, labels


def autoencoder(X: Array, width: int, rate: float, seed: int, epochs: int) -> Array:
    """Codes of a small autoencoder 128-width-128 with tanh units."""
    model = MLPRegressor(
        hidden_layer_sizes=(128, width, 128),
        activation="tanh",
        learning_rate_init=rate,
        max_iter=epochs,
        batch_size=256,
        random_state=seed,
    )
    model.fit(X, X)
    code = X
    for weights, bias in list(zip(model.coefs_, model.intercepts_, strict=True))[:2]:
        code = np.tanh(code @ weights + bias)
    return code


def spectral(X: Array, width: int, seed: int) -> Array:
    """Eigenvectors of a nearest-neighbour graph, scaled to unit variance."""
    reduced = PCA(min(50, X.shape[1]), random_state=seed).fit_transform(X)
    embedding = SpectralEmbedding(
        width, affinity="nearest_neighbors", n_neighbors=15, random_state=seed
    ).fit_transform(reduced)
    return embedding / embedding.std(axis=0)


def embeddings(X: Array, epochs: int) -> dict[str, Callable[[], Array]]:
    """Return the grid of embeddings, each made when it is called."""
    grid: dict[str, Callable[[], Array]] = {}
    for width in (5, 10, 20):
        for rate in (0.0003, 0.001, 0.003, 0.01):
            grid[f"ae{width} lr={rate:g}"] = lambda width=width, rate=rate: autoencoder(
                X, width, rate, width, epochs
            )
        grid[f"spectral{width}"] = lambda width=width: spectral(X, width, 0)
    for width in (5, 10, 20, 50):
        grid[f"pca{width}"] = lambda width=width: PCA(width, random_state=0).fit_transform(X)
    for width in (10, 50):
        grid[f"random{width}"] = lambda width=width: GaussianRandomProjection(
            width, random_state=0
        ).fit_transform(X)
    return grid


def cluster(Z: Array, k: int) -> NDArray[np.int32]:
    """Partition an embedding; one start, so that runs differ in quality as they do in life."""
    return KMeans(k, n_init=1, random_state=0).fit_predict(Z)


def embedding_task(X: Array, n_classes: int, epochs: int) -> tuple[list[Array], list[Array]]:
    """One run for each embedding, at the true number of clusters."""
    spaces = [make() for make in embeddings(X, epochs).values()]
    return spaces, [cluster(Z, n_classes) for Z in spaces]


def clusters_task(X: Array, epochs: int) -> tuple[list[Array], list[Array]]:
    """Ten numbers of clusters, each with two autoencoders of its own."""
    spaces, partitions = [], []
    for seed, k in enumerate(np.linspace(5, 50, 10).astype(int)):
        for width in (10, 20):
            spaces.append(autoencoder(X, width, 0.001, 100 + seed, epochs))
            partitions.append(cluster(spaces[-1], int(k)))
    return spaces, partitions


def kept(
    file: Path | None, make: Callable[[], tuple[list[Array], list[Array]]]
) -> tuple[list[Array], list[Array]]:
    """Return the runs that an earlier call left in a file, or make them."""
    if file is None:
        return make()
    if not file.exists():
        spaces, partitions = make()
        np.savez(file, *spaces, partitions=np.array(partitions))
    with np.load(file) as data:
        partitions = list(data["partitions"])
        return [data[f"arr_{i}"] for i in range(len(partitions))], partitions


def correlations(
    name: str, X: Array, y: NDArray[np.int64], runs: tuple[list[Array], list[Array]],
    indices: tuple[tuple[str, str], ...],
) -> Iterator[dict[str, object]]:  # fmt: skip
    """Compare every strategy under every index with what the labels say."""
    spaces, partitions = runs
    truth = {
        "NMI": [normalized_mutual_info(y, p) for p in partitions],
        "ACC": [clustering_accuracy(y, p) for p in partitions],
    }
    print(
        f"{name}: {len(partitions)} runs, NMI {min(truth['NMI']):.2f} to {max(truth['NMI']):.2f}, "
        f"ACC {min(truth['ACC']):.2f} to {max(truth['ACC']):.2f}"
    )
    for index, metric in indices:
        start = time.perf_counter()
        evaluation = AdaptiveEvaluation(index=index, metric=metric, n_jobs=-1)
        evaluation.fit(spaces, partitions, raw=X)
        seconds = time.perf_counter() - start
        title = index + (" (cosine)" if metric == "cosine" else "")
        status = pd.Series(evaluation.status_).value_counts().to_dict()
        print(f"  {title:34s}{seconds:7.1f} s  {status}", flush=True)
        for strategy in STRATEGIES:
            scores = (
                evaluation.scores_ if strategy == "ace" else getattr(evaluation, f"{strategy}_")
            )
            row: dict[str, object] = {"data": name, "index": title, "strategy": strategy}
            for measure, values in truth.items():
                row[f"{measure} r"] = spearmanr(scores, values).statistic
                row[f"{measure} τ"] = kendalltau(scores, values).statistic
            # What the choice costs: how far the run chosen is below the best one there is.
            row["NMI lost"] = max(truth["NMI"]) - truth["NMI"][int(np.argmax(scores))]
            yield row


def show(frame: pd.DataFrame) -> None:
    """Print one table in Markdown for each task."""
    for column, title in (
        ("NMI r", "Spearman correlation with NMI"),
        ("NMI τ", "Kendall correlation with NMI"),
        ("ACC r", "Spearman correlation with ACC"),
        ("ACC τ", "Kendall correlation with ACC"),
        ("NMI lost", "NMI lost by taking the run that comes first"),
    ):
        print(f"\n### {title}\n")
        wide = frame.pivot_table(
            index=["index", "strategy"], columns="data", values=column, sort=False
        )
        wide["mean"] = wide.mean(axis=1)
        header = ["index", "strategy", *wide.columns]
        print("| " + " | ".join(header) + " |")
        print("|" + "---|" * len(header))
        for key, row in wide.iterrows():
            print("| " + " | ".join([*key, *(f"{value:.2f}" for value in row)]) + " |")
        mean = wide["mean"].groupby("strategy", sort=False).mean()
        print("\nMean over indices: " + ", ".join(f"{s} {v:.2f}" for s, v in mean.items()))


def main() -> None:
    """Run both tasks on all datasets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="digits, short training, two indices")
    parser.add_argument("--keep", type=Path, help="folder to keep the runs in, for the next time")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    indices = INDICES[2:4] if args.quick else INDICES
    epochs = 8 if args.quick else 30
    tables: dict[str, list[dict[str, object]]] = {"embedding": [], "clusters": []}
    for name, X, y in datasets(args.quick):
        start = time.perf_counter()
        makers = {
            "embedding": partial(embedding_task, X, len(np.unique(y)), epochs),
            "clusters": partial(clusters_task, X, epochs),
        }
        tasks = {
            task: kept(args.keep and args.keep / f"{name}-{task}-{epochs}.npz", make)
            for task, make in makers.items()
        }
        print(f"{name}: runs made in {time.perf_counter() - start:.0f} s", flush=True)
        for task, runs in tasks.items():
            print(f"task {task}")
            tables[task] += list(correlations(name, X, y, runs, indices))
    for task, rows in tables.items():
        print(f"\n## Task: {task}")
        show(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
