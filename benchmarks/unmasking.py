"""Clustering by unmasking: speed beside LinearSVC, the published setting, quality beside peers.

    python benchmarks/unmasking.py [speed] [full] [quality] [--data NAME ...] [--seeds N]

The images come from KINDSET_DATA; digits ship with scikit-learn. Every setting was chosen on the
training labels of MNIST and USPS; the quality of MNIST and USPS is that of their test sets.
"""

import argparse
import functools
import multiprocessing
import time
import warnings

import numpy as np
from _measure import note, table, title
from scipy.stats import spearmanr
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from kindset import UnmaskingClustering
from kindset.datasets import data_folder
from kindset.evaluation import adjusted_rand, clustering_accuracy, normalized_mutual_info
from kindset.unmasking import BagOfVisualWords, _pairs, augment_images
from kindset.unmasking._cells import dissolve_small, nearest, random_cells

FILES = {"mnist": "mnist", "usps": "usps", "kth_tips": "kth_tips_gray_100",
         "flowers17": "flowers17_64"}  # fmt: skip


def load(name):
    """Return training samples, test samples and the test samples' classes.

    Where a dataset has no test set, all samples are clustered and judged.
    """
    if name == "digits":
        digits = load_digits()
        return digits.data / 16, digits.data / 16, digits.target
    with np.load(data_folder() / f"{FILES[name]}.npz") as file:
        images, target = file["images"], file["labels"].astype(int)
        test = file["split"] == 1 if "split" in file else None
    if test is not None:
        X = images.reshape(len(images), -1).astype(np.float32) / 255
        return X[~test], X[test], target[test]
    words = visual_words(images, images)
    return words, words, target


def visual_words(images, others):
    """Return bags of words of other images, with the vocabulary of these."""
    bag = BagOfVisualWords(1000, color=images.ndim == 4, random_state=0).fit(images)
    return 10 * bag.transform(others).astype(np.float32)  # rows of length 10: the scale of pixels


def draw_pairs(n_pairs, seed=0):
    """Return MNIST, random cells in halves, and random pairs of them."""
    X, _, _ = load("mnist")
    rng = np.random.RandomState(seed)
    cells = dissolve_small(X, random_cells(X, 1000, rng), 10)
    halves = [_pairs.split(rows, rng, 120) for rows in cells.members()]
    pairs = np.array([rng.choice(len(cells), 2, replace=False) for _ in range(n_pairs)])
    return X, halves, pairs


def svc_curves(X, halves, pairs, n_iterations=8):
    """Unmask by a loop over scikit-learn's LinearSVC."""
    curves = []
    for a, b in pairs:
        train, test = (np.concatenate([halves[a][h], halves[b][h]]) for h in (0, 1))
        y, z = (np.repeat([0, 1], [len(halves[a][h]), len(halves[b][h])]) for h in (0, 1))
        live = np.flatnonzero(np.ptp(X[train], axis=0) > 0)
        step = len(live) // (n_iterations + 1)
        curve = []
        for _ in range(n_iterations):
            with warnings.catch_warnings(action="ignore"):
                svm = LinearSVC(random_state=0).fit(X[np.ix_(train, live)], y)
            curve.append(svm.score(X[np.ix_(test, live)], z))
            live = live[np.argsort(np.abs(svm.coef_[0]))[: len(live) - step]]
        curves.append(curve)
    return np.array(curves)


def speed(n_pairs=4000, n_reference=300):
    title("Pairs a second, MNIST 60k, 1,000 random cells, eight iterations, in one run")
    X, halves, pairs = draw_pairs(n_pairs)
    rows, curves = [], None
    with threadpool_limits(1):
        begin, busy = time.perf_counter(), time.process_time()
        reference = svc_curves(X, halves, pairs[:n_reference])
        wall, cpu = time.perf_counter() - begin, time.process_time() - busy
        slow, slow_cpu = n_reference / wall, n_reference / cpu
    rows.append(("loop of LinearSVC", 1, slow, slow_cpu, "1×", "1×"))
    for n_jobs in (1, 2):
        unmasking = _pairs.Unmasking(scoring="accuracy", cross_fit=False, n_jobs=n_jobs)
        unmasking.curves(X, halves, pairs[:8])
        begin, busy = time.perf_counter(), time.process_time()
        curves = unmasking.curves(X, halves, pairs)
        wall, cpu = time.perf_counter() - begin, time.process_time() - busy
        fast, fast_cpu = n_pairs / wall, n_pairs / cpu
        rows.append(("kindset", n_jobs, fast, fast_cpu, f"{fast / slow:.0f}×",
                     f"{fast_cpu / slow_cpu:.0f}×"))  # fmt: skip
    table(("", "threads", "pairs/s", "pairs/CPU s", "faster", "faster by CPU time"), rows)
    ours = curves[:n_reference]
    agreement = spearmanr(reference.mean(axis=1), ours.mean(axis=1))[0]
    print(f"Spearman of the scores: {agreement:.5f}", end="; ")
    print(f"accuracies of single iterations that differ: {(ours != reference).mean():.2%}\n")


def fit_paper():
    from _measure import _peak

    X, test, target = load("mnist")
    begin, busy = time.perf_counter(), time.process_time()
    model = UnmaskingClustering.paper(10, random_state=0, n_jobs=2).fit(X)
    wall, cpu = time.perf_counter() - begin, time.process_time() - busy
    labels = model.predict(test)
    scores = clustering_accuracy(target, labels), normalized_mutual_info(target, labels)
    return wall, cpu, _peak(), *scores


def full():
    title("The published setting: MNIST 60k, K = 1000, n = 8, all pairs, two threads")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        wall, cpu, peak, accuracy, nmi = pool.apply(fit_paper)
    table(("wall s", "CPU s", "peak MB of the process", "test ACC", "test NMI"),
          [(wall, cpu, peak, f"{100 * accuracy:.1f}", f"{100 * nmi:.1f}")])  # fmt: skip


def kmeans(X, test, k, seed):
    model = KMeans(k, n_init=1, random_state=seed).fit(X)
    return model.predict(test)


COPIES = 8
CHANGES = ("noise", "horizontal_flip", "rotation", "crop", "illumination")


@functools.cache
def augmented_words(name):
    """Return bags of words of images and of changed copies, drawn once, and the images' numbers."""
    with np.load(data_folder() / f"{FILES[name]}.npz") as file:
        images = file["images"]
    copies, origin = augment_images(images, COPIES, transformations=CHANGES, random_state=0)
    return visual_words(images, copies.clip(0, 255).astype(np.uint8)), origin


def augmented(name, k, seed, n_jobs, **parameters):
    """Start from every image with changed copies of it, as the publication does for photographs."""
    words, origin = augmented_words(name)
    model = UnmaskingClustering.paper(k, init=origin, random_state=seed, n_jobs=n_jobs)
    return model.set_params(**parameters).fit(words).labels_[:: COPIES + 1]


def with_ward(test, k, model):
    """Join the cells of a model's first division by Ward's method on their centres."""
    centers = model.cell_centers_[: model.division_sizes_[0]]
    return AgglomerativeClustering(k).fit_predict(centers)[nearest(test, centers)]


# Neighbours by distance, and nothing learnt from unmasking.
_pairs.SCORINGS["equal"] = lambda tests: np.full(tests.hits.shape[:2], 0.5)

# Photographs only, and not by default: all pairs of a thousand images.
AUGMENTED = {
    "augmented, paper": {"assign": "cell"},
    "augmented, graph": {"assign": "cell", "linkage": "graph", "n_candidates": 5},
}

METHODS = {
    "default": lambda k, seed: UnmaskingClustering(k, random_state=seed),
    "one division": lambda k, seed: UnmaskingClustering(k, n_divisions=1, random_state=seed),
    "n = 1": lambda k, seed: UnmaskingClustering(k, n_iterations=1, random_state=seed),
    "equal weights": lambda k, seed: UnmaskingClustering(
        k, n_iterations=1, scoring="equal", random_state=seed),
    "greedy": lambda k, seed: UnmaskingClustering(
        k, linkage="greedy", scoring="shrunk", n_candidates=8, n_initial=1000, random_state=seed),
    "greedy, n = 1": lambda k, seed: UnmaskingClustering(
        k, linkage="greedy", scoring="shrunk", n_candidates=8, n_initial=1000, n_iterations=1,
        random_state=seed),
    "paper": lambda k, seed: UnmaskingClustering.paper(k, random_state=seed),
    "paper, n = 1": lambda k, seed: UnmaskingClustering.paper(k, n_iterations=1, random_state=seed),
}  # fmt: skip


def run_quality(name, methods, seeds, n_jobs):
    """Return the labels that each method gives the test samples, by seed, and the classes."""
    X, test, target = load(name)
    k = len(np.unique(target))
    found = {}
    for seed in range(seeds):
        for method in methods:
            begin = time.perf_counter()
            if method == "k-means":
                found.setdefault(method, []).append(kmeans(X, test, k, seed))
            elif method in AUGMENTED:
                labels = augmented(name, k, seed, n_jobs, **AUGMENTED[method])
                found.setdefault(method, []).append(labels)
            else:
                model = METHODS[method](k, seed).set_params(n_jobs=n_jobs).fit(X)
                found.setdefault(method, []).append(model.predict(test))
                if method == "default":
                    found.setdefault("Ward, same cells", []).append(with_ward(test, k, model))
            labels = found[method][-1]
            note(f"{name} {method} seed {seed}: {clustering_accuracy(target, labels):.3f} "
                 f"{normalized_mutual_info(target, labels):.3f} "
                 f"({time.perf_counter() - begin:.0f} s)")  # fmt: skip
    return found, target


def summarise(found, target):
    """Return rows of mean and sd over seeds, and of the run that agrees best with the others."""
    rows = []
    for method, runs in found.items():
        scores = 100 * np.array([
            (clustering_accuracy(target, labels), normalized_mutual_info(target, labels))
            for labels in runs
        ])  # fmt: skip
        alike = [np.mean([adjusted_rand(a, b) for b in runs]) for a in runs]
        chosen = scores[int(np.argmax(alike))]
        sd = scores.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(2)
        shown = [f"{m:.1f} ± {s:.1f}" for m, s in zip(scores.mean(axis=0), sd, strict=True)]
        rows.append((method, len(runs), *shown, f"{chosen[0]:.1f} / {chosen[1]:.1f}"))
    return rows


def quality(names, methods, seeds, n_jobs):
    for name in names:
        title(f"Quality, {name}: mean ± sd over seeds, and the run most like the others")
        rows = summarise(*run_quality(name, methods, seeds, n_jobs))
        table(("method", "seeds", "ACC", "NMI", "chosen run"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["speed", "full", "quality"])
    parser.add_argument("--data", nargs="+", default=["digits", *FILES])
    parser.add_argument("--methods", nargs="+", default=["k-means", *METHODS])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--n-jobs", type=int, default=2)
    options = parser.parse_args()
    if "speed" in options.parts:
        speed()
    if "full" in options.parts:
        full()
    if "quality" in options.parts:
        quality(options.data, options.methods, options.seeds, options.n_jobs)


if __name__ == "__main__":
    main()
