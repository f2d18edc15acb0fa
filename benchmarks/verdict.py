"""Which rule finds the good runs of a pool without labels, how sure it is, and what it costs.

    KINDSET_POOLS=… python benchmarks/verdict.py pools                  development pools
    KINDSET_DATA=… python benchmarks/verdict.py pools --made FOLDER     pools made by this script
    python benchmarks/verdict.py structure                              clouds without groups
    python benchmarks/verdict.py cost                                   beside the silhouette matrix

Means are over datasets. Within a dataset, tasks have equal weight.
"""

import argparse
import os
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from _measure import apart, table
from _pools import PoolData, make_held_out, read_pools
from scipy.stats import rankdata, spearmanr
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_swiss_roll,
)
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.mixture import GaussianMixture

from kindset.evaluation import (
    AdaptiveEvaluation,
    agreement,
    clustering_accuracy,
    neighbour_information,
    normalized_mutual_info,
    score_matrix,
    structure_test,
    trusted_agreement,
    verdict_scores,
)
from kindset.evaluation._neighbour_information import relative_excess, shortlist, space_weights
from kindset.evaluation._spaces import first_copies

_INDICES = ("silhouette", "calinski_harabasz", "davies_bouldin")
_MEASURES = ("AMI", "NMI", "ACC", "ARI")
_LEVELS = (0.0, 0.4, 0.5, 0.6, np.inf)


# ---------------------------------------------------------------------------- what all pools share


@dataclass
class Prepared:
    """All signals of all runs of a dataset in all its spaces; a pool takes a part of them."""

    data: PoolData
    home: np.ndarray
    raw: int
    excess: np.ndarray
    entropies: np.ndarray
    is_cut: np.ndarray
    indices: dict[str, np.ndarray]
    adjusted_rand: np.ndarray
    measures: np.ndarray

    @classmethod
    def of(cls, data: PoolData, n_jobs: int | None) -> "Prepared":
        """Measure all runs of a dataset."""
        runs = list(data.labels)
        found = neighbour_information(
            data.spaces, runs, owners=data.run_space, raw=data.spaces[0], n_jobs=n_jobs
        )
        row_of = np.unique(first_copies(data.spaces), return_inverse=True)[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            distinct = [data.spaces[s] for s in found.spaces]
            indices = {
                name: score_matrix(distinct, runs, index=name, noise="drop", n_jobs=n_jobs)
                for name in _INDICES
            }
        measures = [
            [
                adjusted_mutual_info_score(data.y, labels),
                normalized_mutual_info(data.y, labels),
                clustering_accuracy(data.y, labels),
                adjusted_rand_score(data.y, labels),
            ]
            for labels in runs
        ]
        return cls(
            data=data,
            home=found.homes,
            raw=int(row_of[0]),
            excess=found.excess,
            entropies=found.entropies,
            is_cut=found.n_clusters >= 2,
            indices=indices,
            adjusted_rand=agreement(runs).adjusted_rand,
            measures=np.array(measures),
        )


class Pool:
    """What the rules may look at in one pool."""

    def __init__(self, prepared: Prepared, runs: np.ndarray) -> None:
        rows = list(dict.fromkeys([*prepared.home[runs].tolist(), prepared.raw]))
        own = [row for row in rows if row in set(prepared.home[runs].tolist())]
        self.home = np.array([rows.index(home) for home in prepared.home[runs]])
        self.q = np.stack(
            [
                relative_excess(
                    prepared.excess[row, runs], prepared.entropies[runs], prepared.is_cut[runs]
                )
                for row in rows
            ]
        )
        self.weights = space_weights(self.q, self.home, rows.index(prepared.raw))
        self.eni = self.weights @ self.q
        self.strength = max(0.0, float(self.weights @ self.q.max(axis=1)))
        self.indices = {name: m[np.ix_(own, runs)] for name, m in prepared.indices.items()}
        self.own_home = np.array([own.index(home) for home in prepared.home[runs]])
        self.adjusted_rand = prepared.adjusted_rand[np.ix_(runs, runs)]
        self.mean_agreement = (self.adjusted_rand.sum(axis=1) - 1.0) / (len(runs) - 1)
        self.verdict = verdict_scores(self.eni, self.adjusted_rand)

    def pooled(self, index: str = "silhouette") -> np.ndarray:
        """Average an index over the spaces of the runs."""
        return np.asarray(self.indices[index].mean(axis=0))

    def adaptive(self) -> AdaptiveEvaluation:
        """Fit ACE to the silhouette."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return AdaptiveEvaluation().fit_scores(self.indices["silhouette"])

    def shortlist(self) -> np.ndarray:
        """Mark the runs that the spaces do not clearly place behind the leader."""
        shift = self.verdict - self.eni
        return shortlist(self.q + shift, self.weights, self.verdict)


def _rank(values: np.ndarray) -> np.ndarray:
    return np.asarray(rankdata(np.round(values, 12)))


def _paired(pool: Pool) -> np.ndarray:
    return pool.indices["silhouette"][pool.own_home, np.arange(len(pool.eni))]


RULES: dict[str, Callable[[Pool], np.ndarray]] = {
    "ENI + ½ trusted agreement (default)": lambda p: p.verdict,
    "ENI": lambda p: p.eni,
    "blend: ENI, ½ silhouette, ½ consensus, ranks": lambda p: (
        _rank(p.eni) + 0.5 * _rank(p.pooled()) + 0.5 * _rank(p.mean_agreement)
    ),
    "trusted agreement alone": lambda p: trusted_agreement(p.eni, p.adjusted_rand),
    "mean rank of three indices": lambda p: sum(_rank(p.pooled(i)) for i in _INDICES),
    "silhouette pooled": lambda p: p.pooled(),
    "silhouette, rank average": lambda p: p.adaptive().rank_average_,
    "silhouette, ACE": lambda p: p.adaptive().scores_,
    "silhouette paired": _paired,
    "consensus (mean ARI)": lambda p: p.mean_agreement,
}


# ------------------------------------------------------------------------------------- the tables


@dataclass
class Outcome:
    """How one rule did in one pool."""

    dataset: str
    task: str
    strength: float
    spearman: np.ndarray
    regret: float


def _outcome(scores: np.ndarray, measures: np.ndarray) -> tuple[np.ndarray, float]:
    scores = np.round(np.asarray(scores, dtype=float), 12)
    spearman = np.zeros(measures.shape[1])
    if np.ptp(scores) > 0:
        for j, column in enumerate(measures.T):
            if np.ptp(column) > 0:
                spearman[j] = spearmanr(scores, column)[0]
    ami = measures[:, 0]
    return spearman, float(ami.max() - ami[scores == scores.max()].mean())


def _by_dataset(outcomes: list[Outcome], value: Callable[[Outcome], float]) -> np.ndarray:
    """Mean over the tasks of each dataset."""
    tasks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        tasks[outcome.dataset][outcome.task].append(value(outcome))
    return np.array([np.mean([np.mean(v) for v in t.values()]) for t in tasks.values()])


def _mean(values: np.ndarray) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.3f} ± {error:.3f}"


def _print_rules(outcomes: dict[str, list[Outcome]]) -> None:
    rows = []
    for rule, found in outcomes.items():
        spearman = [
            _by_dataset(found, lambda o, j=j: float(o.spearman[j])) for j in range(len(_MEASURES))
        ]
        rows.append(
            [
                rule,
                _mean(spearman[0]),
                *(f"{s.mean():.2f}" for s in spearman[1:]),
                _mean(_by_dataset(found, lambda o: o.regret)),
                f"{max(o.regret for o in found):.2f}",
            ]
        )
    table(["rule", "Spearman with AMI", "NMI", "ACC", "ARI", "AMI regret", "worst"], rows)


def _print_parts(outcomes: dict[str, list[Outcome]], part: str) -> None:
    """Spearman with AMI of each rule, by dataset or by task."""
    names = sorted({getattr(o, part) for found in outcomes.values() for o in found})
    rows = []
    for rule, found in outcomes.items():
        cells = []
        for name in names:
            chosen = [o for o in found if getattr(o, part) == name]
            cells.append(f"{_by_dataset(chosen, lambda o: float(o.spearman[0])).mean():.2f}")
        rows.append([rule, *cells])
    table(["rule", *names], rows)


def _print_levels(found: list[Outcome]) -> None:
    rows = []
    for low, high in pairwise(_LEVELS):
        chosen = [o for o in found if low <= o.strength < high]
        if chosen:
            rows.append(
                [
                    f"{low:.1f} to {high:.1f}",
                    len(chosen),
                    f"{np.mean([o.spearman[0] for o in chosen]):.2f}",
                    f"{np.mean([o.regret for o in chosen]):.3f}",
                    f"{max(o.regret for o in chosen):.2f}",
                ]
            )
    table(["strength", "pools", "Spearman with AMI", "mean regret", "worst"], rows)


def compare_rules(folder: Path, n_jobs: int | None) -> None:
    """Run all rules over all pools of a folder."""
    outcomes: dict[str, list[Outcome]] = {rule: [] for rule in RULES}
    hits, shares = [], []
    for path in sorted(folder.glob("*.npz")):
        data = read_pools(path)
        prepared = Prepared.of(data, n_jobs)
        for runs, task, ranked in zip(data.pools, data.tasks, data.ranked, strict=True):
            if not ranked:
                continue
            pool, measures = Pool(prepared, runs), prepared.measures[runs]
            for rule, score in RULES.items():
                spearman, regret = _outcome(score(pool), measures)
                outcomes[rule].append(Outcome(data.name, task, pool.strength, spearman, regret))
            listed = pool.shortlist()
            hits.append(measures[listed, 0].max() >= measures[:, 0].max() - 0.02)
            shares.append(listed.mean())
        print(f"{data.name}: {int(data.ranked.sum())} pools", flush=True)
    print()
    _print_rules(outcomes)
    for part in ("dataset", "task"):
        print()
        _print_parts(outcomes, part)
    print()
    _print_levels(next(iter(outcomes.values())))
    print(
        f"\nShortlist: holds a run within 0.02 AMI of the best in {np.mean(hits):.0%} of "
        f"{len(hits)} pools, with {np.mean(shares):.0%} of the runs."
    )


# --------------------------------------------------------------------------- data without structure


def structureless(n: int, seed: int) -> dict[str, np.ndarray]:
    """Clouds without groups."""
    rng = np.random.RandomState(seed)

    def shuffled(X: np.ndarray) -> np.ndarray:
        columns = np.stack([rng.permutation(column) for column in X.T], axis=1)
        return (columns - columns.mean(axis=0)) / (columns.std(axis=0) + 1e-9)

    ball = rng.randn(n, 3)
    return {
        "Gaussian, 2 columns": rng.randn(n, 2),
        "Gaussian, 10 columns": rng.randn(n, 10),
        "Gaussian, 10 unequal columns": rng.randn(n, 10) * 0.7 ** np.arange(10),
        "square": rng.rand(n, 2),
        "cube of 5 columns": rng.rand(n, 5),
        "sphere": ball / np.linalg.norm(ball, axis=1, keepdims=True),
        "exponential, 2 columns": rng.exponential(size=(n, 2)),
        "exponential, 5 columns": rng.exponential(size=(n, 5)),
        "lognormal, 2 columns": rng.lognormal(size=(n, 2)),
        "lognormal, 5 columns": rng.lognormal(size=(n, 5)),
        "swiss roll": make_swiss_roll(n, random_state=seed)[0],
        "wine, shuffled": shuffled(load_wine().data),
        "breast cancer, shuffled": shuffled(load_breast_cancer().data),
        "iris, shuffled": shuffled(load_iris().data),
        "digits, shuffled": shuffled(load_digits().data[:n]),
    }


def _usual_runs(X: np.ndarray, seed: int) -> tuple[list[np.ndarray], list[np.ndarray], list[int]]:
    """Spaces, partitions and owners that a user might have."""
    spaces = [X, *(PCA(d).fit_transform(X) for d in (2, 5) if d < X.shape[1])]
    partitions, owners = [], []
    for s, space in enumerate(spaces):
        models = [KMeans(k, n_init=2, random_state=seed) for k in (2, 3, 4, 6, 8, 12)]
        for k in (3, 6):
            models += [
                AgglomerativeClustering(k),
                GaussianMixture(k, random_state=seed, reg_covar=1e-4),
            ]
        partitions += [model.fit_predict(space) for model in models]
        owners += [s] * len(models)
    return spaces, partitions, owners


def test_structure(n: int, n_draws: int) -> None:
    """Measure false alarms on clouds without groups."""
    found = defaultdict(list)
    for seed in range(n_draws):
        for name, X in structureless(n, seed).items():
            spaces, partitions, owners = _usual_runs(X, seed)
            strength = neighbour_information(spaces, partitions, owners=owners, raw=X).strength
            found[name].append((strength, structure_test(X, partitions).p_value))
    rows = []
    for name, pairs in found.items():
        strengths, p_values = np.array(pairs).T
        alarms = (p_values <= 0.1) | (strengths >= 0.5)
        rows.append(
            [name, len(pairs), f"{strengths.min():.2f} to {strengths.max():.2f}", int(alarms.sum())]
        )
    table(["cloud", "draws", "strength", "false alarms"], rows)


# ------------------------------------------------------------------------------------------- cost


def _problem(n: int, n_spaces: int, n_runs: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(0)
    widths = (2, 2, 5, 5, 10, 10, 20, 20, 50, 64)
    groups = np.arange(n) % 20
    spaces = [
        rng.normal(size=(n, d)) * 0.9 ** np.arange(d) + 3 * rng.normal(size=(20, d))[groups]
        for d in (widths[i % 10] for i in range(n_spaces))
    ]
    counts = (3, 5, 7, 8, 10, 12, 15, 20, 25, 30)
    runs = [
        KMeans(counts[i % 10], n_init=1, max_iter=10, random_state=i).fit_predict(
            spaces[i % n_spaces]
        )
        for i in range(n_runs)
    ]
    return spaces, runs


def _time_silhouette(n: int, n_spaces: int, n_runs: int) -> None:
    score_matrix(*_CACHE.setdefault((n, n_spaces, n_runs), _problem(n, n_spaces, n_runs)))


def _time_information(n: int, n_spaces: int, n_runs: int) -> None:
    neighbour_information(*_CACHE.setdefault((n, n_spaces, n_runs), _problem(n, n_spaces, n_runs)))


_CACHE: dict[tuple[int, int, int], tuple[list[np.ndarray], list[np.ndarray]]] = {}


def measure_cost(sizes: list[int]) -> None:
    """Time neighbour information beside the silhouette matrix, one thread."""
    shapes = {1_200: (25, 30), 10_000: (10, 20), 100_000: (2, 20)}
    rows = []
    for n in sizes:
        repeats = 1 if n > 10_000 else 2
        plain = apart(_time_silhouette, n, *shapes[n], repeats=repeats)
        ours = apart(_time_information, n, *shapes[n], repeats=repeats)
        rows.append(
            [
                f"{n:,}",
                *shapes[n],
                f"{plain.wall:.1f}",
                f"{ours.wall:.1f}",
                f"{ours.wall / plain.wall:.1f}",
                f"{ours.memory:.0f}",
            ]
        )
    header = ["points", "spaces", "runs", "silhouette, s", "ENI, s", "ratio", "ENI, added MB"]
    table(header, rows)


def main() -> None:
    """Parse what to measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["pools", "structure", "cost"])
    parser.add_argument("--made", type=Path, help="folder of held-out pools, made if missing")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_200, 10_000, 100_000])
    options = parser.parse_args()
    if options.what == "structure":
        test_structure(500, options.draws)
    elif options.what == "cost":
        measure_cost(options.sizes)
    elif options.made is not None:
        make_held_out(options.made)
        compare_rules(options.made, options.jobs)
    elif "KINDSET_POOLS" in os.environ:
        compare_rules(Path(os.environ["KINDSET_POOLS"]), options.jobs)
    else:
        raise SystemExit("KINDSET_POOLS is not set, and --made names no folder.")


if __name__ == "__main__":
    main()
