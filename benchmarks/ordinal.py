"""Mixtures of ordinal distributions beside their peers: quality, time, memory, scaling.

    python benchmarks/ordinal.py [--quick] [--figure FILE]

The tables come from KINDSET_DATA where it is set, and from statsmodels.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from _measure import apart, note, table, title
from sklearn.metrics import adjusted_rand_score

from kindset import OrdinalMixture, datasets
from kindset.ordinal import bos_coefficients, bos_pmf, god_coefficients, god_pmf

PMF = {"bos": bos_pmf, "god": god_pmf}

KNOWN = [  # loader, components, best likelihood of the authors' code (20 runs) for BOS and GOD
    ("zoo", 7, -503.75, -505.96),
    ("hayes_roth", 3, -610.03, -613.92),
    ("caesarian", 2, -396.41, -396.82),
    ("dataqol", 4, -3037.0, None),
]
PEERS = [("zoo", 7), ("anes96", 2), ("beps", 3), ("breast_cancer_wisconsin", 2), ("bfi", 5)]


def load(name):
    """Return answers and target of a dataset by name."""
    bunch = getattr(datasets, f"load_{name}")()
    return bunch.data, bunch.target


def codes_of(name):
    """Return a dataset as numbers, missing answers as NaN."""
    data, target = load(name)
    numbers = data.apply(
        lambda column: (
            column.cat.codes.where(column.notna()) if column.dtype == "category" else column
        )
    )
    return numbers.to_numpy(dtype=float), target


def fit_ordinal(name, n_components, distribution, n_init, n_jobs=1):
    data, _ = load(name)
    model = OrdinalMixture(
        n_components, distribution=distribution, n_init=n_init, random_state=0, n_jobs=n_jobs
    ).fit(data)
    return model.log_likelihood_, model.labels_


def fit_gaussian(name, n_components, n_init):
    from sklearn.mixture import GaussianMixture

    X, _ = codes_of(name)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    model = GaussianMixture(n_components, n_init=n_init, random_state=0).fit(X)
    return None, model.predict(X)


def fit_stepmix(name, n_components, n_init):
    from stepmix import StepMix

    X, _ = codes_of(name)
    X = X - np.nanmin(X, axis=0)
    kind = "categorical_nan" if np.isnan(X).any() else "categorical"
    model = StepMix(n_components, measurement=kind, n_init=n_init, random_state=0, verbose=0,
                    progress_bar=0, max_iter=500)  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        model.fit(X)
        return model.score(X) * len(X), model.predict(X)


def draw(n, n_features, m, n_components, distribution="bos", seed=0):
    """Draw rows from a random mixture; return codes from 1, the modes and the components."""
    rng = np.random.default_rng(seed)
    modes = rng.integers(1, m + 1, size=(n_components, n_features))
    precisions = rng.uniform(0.3, 0.8, size=modes.shape)
    if distribution == "god":
        precisions = 0.5 + precisions / 2
    z = rng.integers(n_components, size=n)
    X = np.empty((n, n_features), dtype=np.int64)
    for j in range(n_features):
        pmf = [PMF[distribution](m, modes[k, j], precisions[k, j]) for k in range(n_components)]
        cumulative = np.cumsum(pmf, axis=1)
        for k in range(n_components):
            rows = z == k
            X[rows, j] = np.searchsorted(cumulative[k], rng.random(rows.sum())) + 1
    return np.minimum(X, m), modes, precisions, np.bincount(z) / n


def fit_drawn(n, n_features, m, n_components, n_init, n_jobs, distribution="bos"):
    """Fit a drawn table; return whether all modes were found, and the fitting time alone."""
    X, modes, _, _ = draw(n, n_features, m, n_components, distribution)
    begin = time.perf_counter()
    model = OrdinalMixture(
        n_components, distribution=distribution, n_categories=m, n_init=n_init, random_state=0,
        n_jobs=n_jobs,
    ).fit(X)  # fmt: skip
    seconds = time.perf_counter() - begin
    found = {tuple(row) for row in model.modes_} == {tuple(row) for row in modes}
    return seconds, found, model.n_iter_


def likelihoods():
    title("Best likelihood with 100 starts, seed 0")
    rows = []
    for name, k, *authors in KNOWN:
        for distribution, author in zip(("bos", "god"), authors, strict=True):
            done = apart(fit_ordinal, name, k, distribution, 100)
            rows.append((name, k, distribution, f"{done.value[0]:.2f}",
                         f"{author:.2f}" if author else "–", done.cpu))  # fmt: skip
    table(("table", "K", "distribution", "log-likelihood", "authors' code", "CPU s"), rows)


def peers(quick):
    n_init = 3 if quick else 10
    title(f"Beside scikit-learn's GaussianMixture and StepMix, {n_init} starts each")
    rows = []
    for name, k in PEERS[: 2 if quick else None]:
        target = load(name)[1]
        methods = {
            "BOS": (fit_ordinal, name, k, "bos", n_init),
            "GOD": (fit_ordinal, name, k, "god", n_init),
            "GaussianMixture": (fit_gaussian, name, k, n_init),
            "StepMix": (fit_stepmix, name, k, n_init),
        }
        base = None
        for method, call in methods.items():
            done = apart(*call, repeats=1 if method == "StepMix" else 3)
            base = base or done.wall
            score, labels = done.value
            ari = "–" if target is None else f"{adjusted_rand_score(target, labels):.2f}"
            rows.append((name, k, method, done.wall, f"{done.wall / base:.1f}×",
                         "–" if score is None else f"{score:.1f}", ari, done.memory))  # fmt: skip
            note(f"{name} {method} done")
    table(
        ("table", "K", "method", "wall s", "to BOS", "log-likelihood", "ARI", "MB, first fit"), rows
    )


def million(quick):
    n = 100_000 if quick else 1_000_000
    title(f"{n:,} × 10, m = 7, K = 5, the default 20 starts")
    rows = []
    for n_jobs in (1, 2):
        done = apart(fit_drawn, n, 10, 7, 5, 20, n_jobs)
        seconds, found, n_iter = done.value
        rows.append((n_jobs, seconds, "all" if found else "not all", n_iter))
    table(("threads", "fit, wall s", "modes recovered", "iterations on all rows"), rows)


def million_memory():
    title("Memory of the same fit")
    size = 10**6 * 10 * 8 / 2**20
    done = apart(_fit_saved, repeats=1)
    table(("data MB", "added by the fit MB"), [(size, done.value)])


def _fit_saved():
    from _measure import _peak, _reset_peak

    X = draw(10**6, 10, 7, 5)[0]
    base = _reset_peak()
    OrdinalMixture(5, distribution="bos", n_categories=7, random_state=0, n_jobs=2).fit(X)
    return _peak() - base


SCALING = {
    "n": [(n, 10, 7, 5) for n in (1_000, 10_000, 100_000, 1_000_000)],
    "J": [(20_000, j, 7, 5) for j in (5, 10, 20, 40)],
    "K": [(20_000, 10, 7, k) for k in (2, 4, 8, 16)],
    "m": [(10_000, 5, m, 3) for m in (5, 10, 20, 50, 100)],
}


def scaling(quick, figure):
    title("Scaling: seconds per fit, 5 starts, two threads")
    rows, curves = [], {}
    for what, sizes in SCALING.items():
        for size in sizes[: 2 if quick else None]:
            done = apart(fit_drawn, *size, 5, 2, repeats=2)
            rows.append((what, *size, done.value[0]))
            curves.setdefault(what, []).append((size["nJmK".index(what)], done.value[0]))
            note(f"{what} {size} done")
    table(("varied", "n", "J", "m", "K", "wall s"), rows)
    if figure:
        _plot(curves, figure)


def _plot(curves, path):
    from matplotlib.figure import Figure

    names = {"n": "rows n", "J": "questions J", "K": "segments K", "m": "categories m"}
    figure = Figure(figsize=(10, 2.8), layout="constrained")
    for axes, (what, points) in zip(
        figure.subplots(1, 4, sharey=True), curves.items(), strict=True
    ):
        axes.loglog(*zip(*points, strict=True), marker="o", color="#1d4ed8")
        axes.set_xlabel(names[what])
        axes.set_xticks([x for x, _ in points], [f"{x:,}" for x, _ in points], fontsize=8)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("seconds, 5 starts")
    figure.savefig(path)


def recovery(quick):
    title("Parameter recovery, n = 5000, K = 5, J = 10, m = 7: mean absolute errors")
    from scipy.optimize import linear_sum_assignment

    rows = []
    for distribution in ("bos", "god"):
        errors = []
        for seed in range(2 if quick else 10):
            X, modes, precisions, weights = draw(5000, 10, 7, 5, distribution, seed)
            model = OrdinalMixture(5, distribution=distribution, n_categories=7, random_state=0,
                                   n_jobs=2).fit(X)  # fmt: skip
            cost = np.abs(model.modes_[:, None] - modes).sum(axis=2)
            cost = cost + np.abs(model.precisions_[:, None] - precisions).sum(axis=2)
            mine, true = linear_sum_assignment(cost)
            errors.append([
                np.abs(model.weights_[mine] - weights[true]).mean(),
                np.abs(model.modes_[mine] - modes[true]).mean(),
                np.abs(model.precisions_[mine] - precisions[true]).mean(),
            ])  # fmt: skip
        rows.append((distribution, *(float(e) for e in np.mean(errors, axis=0))))
    table(("distribution", "Δ weight", "Δ mode", "Δ precision"), rows)


def tensors():
    title("Coefficient tensors: milliseconds")
    rows = []
    for m in (7, 20, 50, 100):
        row = [m]
        for coefficients in (bos_coefficients, god_coefficients):
            build = coefficients.__wrapped__
            build(3)
            begin = time.perf_counter()
            build(m)
            row.append(1000 * (time.perf_counter() - begin))
        rows.append(row)
    table(("m", "BOS", "GOD"), rows)


def first_call():
    title("First call in a process: seconds for a small fit")
    code = (
        "import time, numpy as np; from kindset import OrdinalMixture;"
        "X = np.random.default_rng(0).integers(1, 6, size=(200, 4));"
        "t = time.perf_counter(); OrdinalMixture(2, distribution='bos', n_init=1).fit(X);"
        "print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        seconds = [
            float(subprocess.run([sys.executable, "-c", code], env=environment, check=True,
                                 capture_output=True, text=True).stdout)
            for _ in range(2)
        ]  # fmt: skip
    table(("kernels compiled (once after installing)", "kernels from the cache"), [seconds])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repeats")
    parser.add_argument("--figure", help="write the scaling plot to this file")
    options = parser.parse_args()
    pd.set_option("display.width", 120)
    first_call()
    tensors()
    if os.environ.get("KINDSET_DATA"):
        likelihoods()
        peers(options.quick)
    else:
        note("KINDSET_DATA is not set: the published tables are left out")
    recovery(options.quick)
    million(options.quick)
    if not options.quick:
        million_memory()
    scaling(options.quick, options.figure)


if __name__ == "__main__":
    main()
