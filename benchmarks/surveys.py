"""Laws of survey answers and the number of segments, beside latent classes and Gaussian mixtures.

    python benchmarks/surveys.py [--tables N] [--peers N] [--only PART ...] [--seed S]

Parts: simulations, real, split, million, test. The tables come from KINDSET_DATA where it is set,
and from statsmodels. `--tables` is the number of simulated tables of each kind, `--peers` how many
of them the (much slower) peers are also given.
"""

import argparse
import os
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import note, table, title
from scipy.special import softmax
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from kindset import OrdinalMixture, datasets
from kindset.ordinal import bos_pmf, god_pmf, select_components
from kindset.ordinal._path import Survey
from kindset.ordinal._stability import likelihood_ratio_test

LAWS = ("bos", "god", "categorical", "adjacent", "tilted")
REAL = {"anes96": 3, "beps": 3, "breast_cancer_wisconsin": 2, "dataqol": 4, "bfi": 5, "msq": 5}
GENERATORS = ("normal", "bos", "god", "categorical")


def answer_probabilities(generator, m, n_segments, n_questions, apart, rng):
    """Return the probabilities of answers, [segment, question, answer]."""
    places = rng.uniform(0, 1, size=(n_segments, n_questions))
    places = 0.5 + apart * (places - 0.5)
    x = np.arange(m)
    if generator == "normal":
        centers = places[..., None] * (m - 1)
        return softmax(-((x - centers) ** 2) / (2 * (m / 5) ** 2), axis=-1)
    if generator == "categorical":
        return softmax(1.5 * apart * rng.normal(size=(n_segments, n_questions, m)), axis=-1)
    pmf, low, high = (bos_pmf, 0.2, 0.7) if generator == "bos" else (god_pmf, 0.6, 0.85)
    low, high = (low, low + (high - low) * apart)
    return np.array(
        [
            [pmf(m, 1 + round(place * (m - 1)), rng.uniform(low, high)) for place in row]
            for row in rng.uniform(0, 1, size=(n_segments, n_questions))
        ]
    )


def simulate(generator, n_rows, n_segments, *, apart=1.0, kind="plain", seed=0):
    """Draw a table of answers from 1 and the segment of each row."""
    rng = np.random.default_rng(seed)
    m, n_questions = int(rng.choice([4, 5, 7])), int(rng.choice([8, 12, 16]))
    p = answer_probabilities(generator, m, n_segments, n_questions, apart, rng)
    z = rng.choice(n_segments, size=n_rows, p=rng.dirichlet(np.full(n_segments, 8.0)))
    if kind == "style":  # some people lean to the high answers, whatever is asked
        lean = rng.normal(0, 0.7, size=n_rows)
        logs = np.log(p[z]) + lean[:, None, None] * np.linspace(-1, 1, m)
        p_row = softmax(logs, axis=-1)
    else:
        p_row = p[z]
    u = rng.random((n_rows, n_questions))
    X = (u[..., None] > p_row.cumsum(axis=-1)).sum(axis=-1).clip(0, m - 1) + 1
    if kind == "pair":
        same = rng.random(n_rows) < 0.4
        X[same, 1] = X[same, 0]
    if kind == "shuffled":
        X = np.column_stack([rng.permutation(column) for column in X.T])
    return X, z


def one_trait(n_rows, seed):
    rng = np.random.default_rng(seed)
    trait = rng.normal(size=(n_rows, 1))
    slopes = rng.uniform(0.5, 1.2, size=10)
    return np.clip(np.rint(3 + slopes * trait + rng.normal(0, 0.8, (n_rows, 10))), 1, 5), None


def stepmix_by_bic(X, largest=5):
    from stepmix import StepMix

    scores = {}
    for k in range(1, largest + 1):
        with warnings.catch_warnings(action="ignore"):
            model = StepMix(k, measurement="categorical", n_init=2, random_state=0, verbose=0,
                            progress_bar=0, max_iter=200).fit(X - 1)  # fmt: skip
            scores[k] = model.bic(X - 1)
    return min(scores, key=scores.get)


def gaussian_by_bic(X, largest=6):
    scores = {
        k: GaussianMixture(k, covariance_type="diag", n_init=2, random_state=0, reg_covar=1e-2)
        .fit(X).bic(X)
        for k in range(1, largest + 1)
    }  # fmt: skip
    return min(scores, key=scores.get)


def judge(chosen, true):
    return "right" if chosen == true else "too many" if chosen > true else "too few"


def simulations(n_tables, n_peers, seed, n_jobs):
    title("Simulated tables: chosen against true number (% right / too many / too few)")
    cells = [("separated", n, {"apart": 1.0}) for n in (500, 2000)]
    cells += [("overlapping", 2000, {"apart": 0.5}), ("shuffled", 1000, {"kind": "shuffled"}),
              ("correlated pair", 1000, {"kind": "pair"}),
              ("response style", 1000, {"kind": "style"}), ("one trait", 1000, None)]  # fmt: skip
    rows = []
    for name, n_rows, how in cells:
        counts = {who: Counter() for who in ("rule", *LAWS, "StepMix", "Gaussian")}
        seconds, aris = [], []
        for i in range(n_tables):
            number = 2 + i % 3
            table_seed = seed + 1000 * len(rows) + i
            if how is None:
                X, z = one_trait(n_rows, table_seed)
            else:
                generator = GENERATORS[i % len(GENERATORS)]
                X, z = simulate(generator, n_rows, number, seed=table_seed, **how)
            true = 1 if name in ("shuffled", "one trait") else number
            begin = time.process_time()
            selection = select_components(X, random_state=0, n_jobs=n_jobs)
            seconds.append(time.process_time() - begin)
            counts["rule"][judge(selection.n_components, true)] += 1
            for law in LAWS:
                counts[law][judge(int(selection.laws[law].idxmin()), true)] += 1
            if true > 1:
                aris.append(adjusted_rand_score(z, selection.model.labels_))
            if i < n_peers:
                counts["StepMix"][judge(stepmix_by_bic(X), true)] += 1
                counts["Gaussian"][judge(gaussian_by_bic(X), true)] += 1
            print(f"  {name} {n_rows} {i}: true {true}, rule {selection.n_components} "
                  f"({selection.law}), {seconds[-1]:.1f} s", flush=True)  # fmt: skip
        ari = f"{np.mean(aris):.2f}" if aris else "–"
        shares = [_percent(counts[who]) for who in counts]
        rows.append((name, n_rows, n_tables, *shares, ari, f"{np.median(seconds):.1f}"))
    table(("tables", "rows", "n", "rule", *(f"{law} by BIC" for law in LAWS), "StepMix by BIC",
           "Gaussian by BIC", "ARI of the rule", "CPU s"), rows)  # fmt: skip


def _percent(counts):
    total = sum(counts.values())
    if not total:
        return "–"
    return "/".join(
        f"{100 * counts[word] / total:.0f}" for word in ("right", "too many", "too few")
    )


def load(name):
    """Return answers as numbers from 1 with NaN, and known labels."""
    if name == "msq":
        data = pd.read_csv(Path(os.environ["KINDSET_DATA"]) / "msq.csv")
        return data[data.notna().any(axis=1)] + 1, None
    bunch = getattr(datasets, f"load_{name}")()
    numbers = bunch.data.apply(
        lambda column: (
            column.cat.codes.where(column.notna()) if column.dtype == "category" else column
        )
    ).astype(float)
    return numbers - numbers.min() + 1, bunch.target


def folds(n, seed=0):
    return np.random.RandomState(seed).permutation(n) % 5


def real(names, n_peers):
    title("Real tables: BIC, held-out log-likelihood per person (5 folds), ARI, CPU seconds")
    rows = []
    for i, name in enumerate(names):
        k = REAL[name]
        X, target = load(name)
        levels = [int(m) for m in X.max()]
        fold = folds(len(X))
        for law in (*LAWS, "auto"):

            def fit(part, law=law, k=k, levels=levels):
                return OrdinalMixture(k, distribution=law, n_categories=levels, n_init=5,
                                      random_state=0).fit(part)  # fmt: skip

            fit(X.iloc[:50])
            begin = time.process_time()
            model = fit(X)
            seconds = time.process_time() - begin
            held = [fit(X[fold != f]).score_samples(X[fold == f]).sum() for f in range(5)]
            ari = f"{adjusted_rand_score(target, model.labels_):.2f}" if target is not None else "–"
            rows.append((name, k, law, f"{model.bic(X):.0f}", f"{sum(held) / len(X):.3f}", ari,
                         f"{seconds:.2f}"))  # fmt: skip
            print("  ", *rows[-1], flush=True)
        if i < n_peers:
            rows.append(_stepmix_row(name, k, X, target, fold))
            print("  ", *rows[-1], flush=True)
    table(("table", "K", "law", "BIC", "held-out", "ARI", "CPU s"), rows)


def _stepmix_row(name, k, X, target, fold):
    from stepmix import StepMix

    codes = X - 1
    kind = "categorical_nan" if codes.isna().any(axis=None) else "categorical"

    def fit(part):
        with warnings.catch_warnings(action="ignore"):
            return StepMix(k, measurement=kind, n_init=5, random_state=0, verbose=0,
                           progress_bar=0, max_iter=500).fit(part)  # fmt: skip

    begin = time.process_time()
    model = fit(codes)
    seconds = time.process_time() - begin
    held = sum(fit(codes[fold != f]).score(codes[fold == f]) * (fold == f).sum() for f in range(5))
    ari = f"{adjusted_rand_score(target, model.predict(codes)):.2f}" if target is not None else "–"
    return (name, k, "StepMix", f"{model.bic(codes):.0f}", f"{held / len(X):.3f}", ari,
            f"{seconds:.2f}")  # fmt: skip


def split():
    title("bfi, 2,240 people to fit and 560 held out: held-out log-likelihood per person / BIC")
    X, _ = load("bfi")
    levels = [int(m) for m in X.max()]
    rows = []
    for seed in range(3):
        order = np.random.RandomState(seed).permutation(len(X))
        train, test = X.iloc[order[:2240]], X.iloc[order[2240:]]
        for law in ("categorical", "adjacent", "tilted"):
            cells = []
            for k in (3, 5, 8):
                model = OrdinalMixture(k, distribution=law, n_categories=levels, n_init=10,
                                       random_state=0).fit(train)  # fmt: skip
                cells.append(f"{model.score(test):.2f} / {model.bic(train):.0f}")
            rows.append((seed, law, *cells))
            print("  ", *rows[-1], flush=True)
    table(("split", "law", "K = 3", "K = 5", "K = 8"), rows)


def million(n_jobs):
    title("1,000,000 × 10, m = 7, K = 5, tilted, 20 starts")
    rng = np.random.default_rng(0)
    rows = []
    for name, apart in (("separated", 1.0), ("overlapping", 0.4)):
        p = answer_probabilities("normal", 7, 5, 10, apart, rng)
        z = rng.integers(5, size=1_000_000)
        u = rng.random((1_000_000, 10))
        X = np.column_stack([(u[:, j, None] > p[z, j].cumsum(axis=1)).sum(axis=1).clip(0, 6)
                             for j in range(10)]) + 1  # fmt: skip
        OrdinalMixture(2, n_init=1, random_state=0).fit(X[:2000])
        wall, cpu = time.perf_counter(), time.process_time()
        model = OrdinalMixture(5, n_categories=7, random_state=0, n_jobs=n_jobs).fit(X)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        ari = adjusted_rand_score(z[:100_000], model.labels_[:100_000])
        rows.append((name, wall, cpu, model.n_iter_, f"{model.log_likelihood_:.1f}", f"{ari:.3f}"))
    table(("segments", "wall s", "CPU s", "E-steps on all rows", "log-likelihood", "ARI"), rows)


def likelihood_ratio(n_jobs):
    title("Bootstrap likelihood-ratio test, anes96, 3 against 4, 100 replicates")
    how = {"distribution": "tilted", "random_state": 0, "n_jobs": n_jobs}
    survey = Survey.read(load("anes96")[0], None, how)
    wall, cpu = time.perf_counter(), time.process_time()
    statistic, p = likelihood_ratio_test(survey, "tilted", 3, n_replicates=100, seed=0)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    table(("statistic", "p", "wall s", "CPU s"), [(statistic, p, wall, cpu)])


PARTS = ("simulations", "real", "split", "million", "test")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--peers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--names", nargs="*", default=list(REAL))
    args = parser.parse_args()
    note("CPU seconds are of all threads; on a busy machine wall seconds say little.")
    if "split" in args.only:
        split()
    if "million" in args.only:
        million(args.jobs)
    if "test" in args.only:
        likelihood_ratio(args.jobs)
    if "real" in args.only:
        real(args.names, args.peers)
    if "simulations" in args.only:
        simulations(args.tables, args.peers, args.seed, args.jobs)


if __name__ == "__main__":
    main()
