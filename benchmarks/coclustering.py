"""Co-clustering of people and questions: simulated blocks, and what is published for dataqol.

    python benchmarks/coclustering.py [--quick]

dataqol comes from KINDSET_DATA; without it only the simulations run. What is published for the R
package ordinalClust (SEM-Gibbs, BOS) is in Selosse, Jacques and Biernacki, "ordinalClust: an R
package to analyze ordinal data", The R Journal 12/2 (2021).
"""

import argparse
import os
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import note, table, title
from sklearn.metrics import adjusted_rand_score

from kindset.ordinal import OrdinalCoclustering, bos_pmf, god_pmf, select_coclusters

PUBLISHED_MODES = np.array([[1, 1, 1], [1, 2, 1], [3, 3, 1]])
PUBLISHED_PRECISIONS = np.array(
    [
        [0.8496224, 0.6266097, 0.9426305],
        [0.4876194, 0.5340329, 0.7722278],
        [0.2638594, 0.3044552, 0.3623779],
    ]
)
PUBLISHED_CLUSTER = [3, 5, 8, 15, 17, 25, 28]
LAWS = ("bos", "god", "categorical")
SIZES = [(117, 28, 3, 3, 4), (200, 30, 3, 3, 5), (1000, 50, 4, 4, 7), (5000, 100, 5, 5, 5)]


def draw(n, n_columns, n_rows, n_clusters, m, seed, law="bos"):
    """Draw blocks whose laws differ clearly, whichever two rows or columns are compared."""
    rng = np.random.default_rng(seed)
    modes = np.zeros((n_rows, n_clusters), dtype=int)
    while min(_closest(modes), _closest(modes.T)) < 2:
        modes = rng.integers(1, m + 1, size=modes.shape)
    precisions = rng.uniform(0.4, 0.8, size=modes.shape)
    z, w = rng.integers(n_rows, size=n), rng.integers(n_clusters, size=n_columns)
    X = np.empty((n, n_columns), dtype=np.int64)
    for k, g in product(range(n_rows), range(n_clusters)):
        where = np.ix_(z == k, w == g)
        pi = precisions[k, g]
        pmf = bos_pmf(m, modes[k, g], pi) if law == "bos" else god_pmf(m, modes[k, g], 0.5 + pi / 2)
        X[where] = rng.choice(m, size=X[where].shape, p=pmf) + 1
    return X, z, w


def _closest(modes):
    """Return the smallest sum of differences between two rows."""
    pairs = product(range(len(modes)), repeat=2)
    return min(np.abs(modes[a] - modes[b]).sum() for a, b in pairs if a < b)


def recovery(n_tables):
    title("Separated blocks: adjusted Rand index of rows and columns, true numbers given")
    lines = []
    for size, law in product(SIZES, ("bos", "god")):
        found = []
        for seed in range(n_tables):
            X, z, w = draw(*size, seed, law)
            begin = time.perf_counter()
            model = OrdinalCoclustering(
                *size[2:4], distribution=law, n_categories=size[4], random_state=0
            ).fit(X)
            seconds = time.perf_counter() - begin
            found.append((adjusted_rand_score(z, model.labels_),
                          adjusted_rand_score(w, model.column_labels_), seconds))  # fmt: skip
        rows, columns, seconds = np.array(found).T
        both = np.minimum(rows, columns) >= 0.9
        lines.append((f"{size[0]} × {size[1]}", f"{size[2]} × {size[3]}", size[4], law,
                      f"{rows.mean():.3f}", f"{columns.mean():.3f}",
                      f"{both.sum()} of {n_tables}", f"{np.median(seconds):.1f}"))  # fmt: skip
    header = ("table", "clusters", "m", "law", "rows", "columns", "both ≥ 0.9", "seconds")
    table(header, lines)


def selection_of_numbers(n_tables):
    title("Separated blocks, 200 × 30, m = 5, true numbers 3 × 3: what ICL chooses from 1 to 5")
    chosen = []
    for seed in range(n_tables):
        X, _, _ = draw(200, 30, 3, 3, 5, 100 + seed)
        numbers = range(1, 6)
        found = select_coclusters(X, numbers, numbers, n_categories=5, n_init=8, random_state=0)
        chosen.append(found.n_clusters)
    counts = pd.Series(chosen).value_counts()
    table(("chosen", "tables"), [(f"{a} × {b}", n) for (a, b), n in counts.items()])


def complete_likelihood(X, modes, precisions):
    """Return the best log p(x, z, w) for given blocks, rows and columns assigned in turns."""
    codes = X.to_numpy(dtype=float)
    log_pmf = np.log([[bos_pmf(4, int(mu), min(pi, 1 - 1e-9)) for mu, pi in zip(*pair, strict=True)]
                      for pair in zip(modes, precisions, strict=True)])  # fmt: skip
    present = ~np.isnan(codes)
    cells = np.where(present[..., None], np.eye(4)[np.nan_to_num(codes, nan=1).astype(int) - 1], 0)
    best = -np.inf
    for seed in range(20):
        w = np.random.default_rng(seed).integers(3, size=codes.shape[1])
        gamma, rho = np.full(3, 1 / 3), np.full(3, 1 / 3)
        for _ in range(50):
            by_row = np.einsum("ijx,kjx->ik", cells, log_pmf[:, w]) + np.log(gamma)
            z = by_row.argmax(axis=1)
            by_column = np.einsum("ijx,igx->jg", cells, log_pmf[z]) + np.log(rho)
            w = by_column.argmax(axis=1)
            gamma = np.maximum(np.bincount(z, minlength=3) / len(z), 1e-9)
            rho = np.maximum(np.bincount(w, minlength=3) / len(w), 1e-9)
        value = np.einsum("ijx,ijx->", cells, log_pmf[z][:, w]) + np.log(gamma[z]).sum()
        value += np.log(rho[w]).sum()
        best = max(best, value)
    n, n_columns = codes.shape
    return best, best - np.log(n) - np.log(n_columns) - 4.5 * np.log(present.sum())


def quality_of_life(folder):
    answers = pd.read_csv(folder / "dataqol.csv")
    X = answers.iloc[:, :28]
    title("dataqol, 117 patients × 28 questions, 3 × 3 blocks, BOS")
    begin = time.perf_counter()
    model = OrdinalCoclustering(3, 3, n_categories=4, random_state=0).fit(X)
    seconds = time.perf_counter() - begin
    blocks = model.blocks()
    order = blocks["probability"].groupby("row_cluster").mean().sort_values(ascending=False).index
    lines = []
    for place, k in enumerate(order):
        ours = [f"{b.position} ({b.precision:.2f})" for b in blocks.loc[k].itertuples()]
        pairs = zip(PUBLISHED_MODES[place], PUBLISHED_PRECISIONS[place], strict=True)
        theirs = [f"{mu} ({pi:.2f})" for mu, pi in pairs]
        lines.append((k, blocks.loc[k, "n_rows"].iloc[0], ", ".join(ours), ", ".join(theirs)))
    header = ("row cluster", "patients", "ours: position (precision)", "published")
    table(header, lines)
    light = np.flatnonzero(model.column_labels_ == model.column_labels_[4]) + 1
    print(f"Questions of the lightest column cluster: ours {light.tolist()}, "
         f"published {PUBLISHED_CLUSTER}.")  # fmt: skip
    value, icl = complete_likelihood(X, PUBLISHED_MODES, PUBLISHED_PRECISIONS)
    print(f"ICL on ordinalClust's scale (higher is better): ours {-model.icl_ / 2:.1f} in "
         f"{seconds:.1f} s, {(model.start_bounds_ > model.bound_ - 0.01).sum()} of "
         f"{len(model.start_bounds_)} starts agree; the published blocks with their best "
         f"partitions {icl:.1f} (log-likelihood {value:.1f}).")  # fmt: skip


def numbers_for_quality_of_life(folder):
    answers = pd.read_csv(folder / "dataqol.csv")
    for name, X, m in (("28 questions", answers.iloc[:, :28], 4),
                       ("30 questions", answers, [4] * 28 + [7] * 2)):  # fmt: skip
        title(
            f"dataqol, {name}: ICL / -2 (higher is better) by law; published choice: 3 × 3 of 2–4"
        )
        lines = []
        for law in LAWS:
            found = select_coclusters(
                X, range(1, 7), range(1, 6), distribution=law, n_categories=m, n_init=10,
                random_state=0,
            )  # fmt: skip
            small = found.path.loc[found.path.index.isin(list(product((2, 3, 4), repeat=2))), "icl"]
            three = -found.path["icl"][3, 3] / 2
            lines.append((law, f"{three:.1f}", _pair(small.idxmin()), f"{-small.min() / 2:.1f}",
                          _pair(found.n_clusters), f"{-found.model.icl_ / 2:.1f}"))  # fmt: skip
        header = ("law", "3 × 3", "best of 2–4", "its ICL", "best of 1–6 × 1–5", "its ICL")
        table(header, lines)


def _pair(numbers):
    return f"{numbers[0]} × {numbers[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer tables")
    quick = parser.parse_args().quick
    OrdinalCoclustering(2, 2, n_init=1).fit(draw(20, 6, 2, 2, 4, 0)[0])  # compile
    folder = Path(os.environ.get("KINDSET_DATA", ""))
    if (folder / "dataqol.csv").is_file():
        quality_of_life(folder)
        numbers_for_quality_of_life(folder)
    else:
        note("dataqol.csv is not there: set KINDSET_DATA.")
    recovery(3 if quick else 10)
    selection_of_numbers(3 if quick else 10)


if __name__ == "__main__":
    main()
