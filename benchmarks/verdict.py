"""Which rule finds the good runs of a pool without labels, how sure it is, and what it costs.

    KINDSET_POOLS=… python benchmarks/verdict.py pools                  development pools
    KINDSET_DATA=… python benchmarks/verdict.py pools --made FOLDER     pools made by this script
    python benchmarks/verdict.py structure                              clouds without groups
    KINDSET_POOLS=… python benchmarks/verdict.py structure              pools with groups
    python benchmarks/verdict.py cost                                   beside the silhouette matrix

Means are over datasets. Within a dataset, tasks have equal weight.
"""

import argparse
import os
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from _clouds import FURTHER, LISTED, Cloud, usual_runs
from _measure import apart, table
from _pools import PoolData, make_held_out, read_pools
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from kindset.comparison import Verdict
from kindset.comparison._verdict import _ALPHA, _NOTHING
from kindset.comparison._weighing import CLEAR_STRENGTH, Evidence, Weighing
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
# AMI of a run that shows the labels well.
_GOOD_RUN = 0.6
_STORED = ("home", "raw", "excess", "entropies", "is_cut", "adjusted_rand", "measures")


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
    def cached(cls, data: PoolData, n_jobs: int | None, cache: Path | None) -> "Prepared":
        """Measure all runs of a dataset, or read what was measured before from a folder."""
        if cache is None:
            return cls.of(data, n_jobs)
        path = cache / f"{data.name}.npz"
        if not path.exists():
            cache.mkdir(parents=True, exist_ok=True)
            fresh = cls.of(data, n_jobs)
            arrays = {f.name: getattr(fresh, f.name) for f in fields(cls) if f.name in _STORED}
            np.savez_compressed(path, **arrays, **fresh.indices)
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in _STORED}
            indices = {name: stored[name] for name in _INDICES}
        arrays["raw"] = int(arrays["raw"])
        return cls(data=data, indices=indices, **arrays)

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
        self.rows = rows
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
    log_count: float = 0.0


def _spearman(one: np.ndarray, other: np.ndarray) -> float:
    """Correlation of ranks; 0 if one of them is constant."""
    one, other = rankdata(one), rankdata(other)
    one, other = one - one.mean(), other - other.mean()
    norm = np.sqrt((one @ one) * (other @ other))
    return float(one @ other / norm) if norm > 0 else 0.0


def outcome(scores: np.ndarray, measures: np.ndarray) -> tuple[np.ndarray, float]:
    """Spearman correlation with each measure, and AMI that the first choice loses."""
    scores = np.round(np.asarray(scores, dtype=float), 12)
    spearman = np.array([_spearman(scores, column) for column in measures.T])
    ami = measures[:, 0]
    return spearman, float(ami.max() - ami[scores == scores.max()].mean())


def by_dataset(outcomes: list[Outcome], value: Callable[[Outcome], float]) -> np.ndarray:
    """Mean over the tasks of each dataset."""
    tasks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        tasks[outcome.dataset][outcome.task].append(value(outcome))
    return np.array([np.mean([np.mean(v) for v in t.values()]) for t in tasks.values()])


def mean_and_error(values: np.ndarray) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.3f} ± {error:.3f}"


def _print_rules(outcomes: dict[str, list[Outcome]]) -> None:
    rows = []
    for rule, found in outcomes.items():
        spearman = [
            by_dataset(found, lambda o, j=j: float(o.spearman[j])) for j in range(len(_MEASURES))
        ]
        rows.append(
            [
                rule,
                mean_and_error(spearman[0]),
                *(f"{s.mean():.2f}" for s in spearman[1:]),
                mean_and_error(by_dataset(found, lambda o: o.regret)),
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
            cells.append(f"{by_dataset(chosen, lambda o: float(o.spearman[0])).mean():.2f}")
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


def _print_counts(outcomes: dict[str, list[Outcome]]) -> None:
    """Say whether rules prefer few or many clusters, in pools that differ in their number."""
    rows = []
    for rule, found in outcomes.items():
        cells = []
        for task in ("K1", "K"):
            chosen = [o for o in found if o.task == task]
            cells += [
                mean_and_error(by_dataset(chosen, lambda o: o.log_count)),
                f"{by_dataset(chosen, lambda o: abs(o.log_count)).mean():.2f}",
                f"{by_dataset(chosen, lambda o: float(o.spearman[0])).mean():.2f}",
            ]
        rows.append([rule, *cells])
    header = [f"{task}: {w}" for task in ("K1", "K") for w in ("log ratio", "size", "Spearman")]
    table(["rule", *header], rows)


def compare_rules(folder: Path, n_jobs: int | None, cache: Path | None) -> None:
    """Run all rules over all pools of a folder."""
    outcomes: dict[str, list[Outcome]] = {rule: [] for rule in RULES}
    hits, shares = [], []
    best: list[Outcome] = []
    for path in sorted(folder.glob("*.npz")):
        data = read_pools(path)
        prepared = Prepared.cached(data, n_jobs, cache)
        counts = np.array([len(np.unique(labels[labels >= 0])) for labels in data.labels])
        logs = np.log(np.maximum(counts, 1) / len(np.unique(data.y)))
        for runs, task, ranked in zip(data.pools, data.tasks, data.ranked, strict=True):
            if not ranked:
                continue
            pool, measures = Pool(prepared, runs), prepared.measures[runs]
            best_ratio = float(logs[runs][measures[:, 0].argmax()])
            best.append(Outcome(data.name, task, 0.0, np.ones(1), 0.0, best_ratio))
            for rule, score in RULES.items():
                scores = np.round(score(pool), 12)
                ratio = logs[runs][scores == scores.max()].mean()
                result = outcome(scores, measures)
                outcomes[rule].append(Outcome(data.name, task, pool.strength, *result, ratio))
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
    _print_counts(outcomes | {"run of highest AMI": best})
    print()
    _print_levels(next(iter(outcomes.values())))
    print(
        f"\nShortlist: holds a run within 0.02 AMI of the best in {np.mean(hits):.0%} of "
        f"{len(hits)} pools, with {np.mean(shares):.0%} of the runs."
    )


# --------------------------------------------------------------------------- data without structure


def says_no_structure(evidence: Evidence) -> bool:
    """Whether the verdict on this evidence would be that there is no structure."""
    return Verdict(pd.DataFrame(), pd.DataFrame(), evidence).level == "no structure"


def test_clouds(clouds: dict[str, Cloud], n: int, n_draws: int) -> None:
    """Count how often clouds without groups are recognised."""
    rows = []
    for name, cloud in clouds.items():
        strengths, right = [], []
        for seed in range(n_draws):
            X = cloud(n, np.random.RandomState(seed))
            spaces, partitions, owners = usual_runs(X, seed)
            evidence = Weighing(raw=X).weigh(spaces, owners, partitions)
            strengths.append(evidence.neighbours.strength)
            right.append(says_no_structure(evidence))
        span = f"{min(strengths):.2f} to {max(strengths):.2f}"
        rows.append([name, len(X), n_draws, span, sum(right)])
        print(*rows[-1], sep=" | ", flush=True)
    print()
    table(["cloud", "points", "draws", "strength", "said to have no structure"], rows)
    print(f"\nIn all: {sum(row[4] for row in rows)} of {sum(row[2] for row in rows)}.")


def _evidence(data: PoolData, runs: np.ndarray) -> Evidence:
    """Weigh the runs of one pool in their own spaces and the raw data, as a comparison does."""
    used, owners = np.unique(data.run_space[runs], return_inverse=True)
    spaces = [data.spaces[s] for s in used]
    return Weighing(raw=data.spaces[0]).weigh(spaces, owners.tolist(), list(data.labels[runs]))


def test_pools(folder: Path, cache: Path | None) -> None:
    """List the pools with a good run that are said to have no structure."""
    rows, counts = [], defaultdict(int)
    for path in sorted(folder.glob("*.npz")):
        data = read_pools(path)
        prepared = Prepared.cached(data, None, cache)
        pools = list(
            zip([np.arange(len(data.labels)), *data.pools], ["all", *data.tasks], strict=True)
        )
        for (runs, task), ranked in zip(pools, [True, *data.ranked], strict=True):
            best = prepared.measures[runs, 0].max()
            if not ranked or best < _GOOD_RUN:
                continue
            counts[data.name] += 1
            pool = Pool(prepared, runs)
            if pool.strength < CLEAR_STRENGTH:
                spaces = [data.spaces[s] for s in np.unique(first_copies(data.spaces))]
                telling = spaces[pool.rows[int(np.round(pool.weights, 12).argmax())]]
                test = structure_test(telling, list(data.labels[runs]))
                doubtful = test.p_value > _ALPHA or pool.strength < 2 * _NOTHING
                if doubtful and says_no_structure(_evidence(data, runs)):
                    values = " ".join(f"{kind} {p:.2f}" for kind, p in test.p_values.items())
                    rows.append([data.name, task, f"{best:.2f}", f"{pool.strength:.2f}", values])
                    print(*rows[-1], sep=" | ", flush=True)
        print(f"{data.name}: {counts[data.name]} pools with a good run", flush=True)
    print()
    table(["dataset", "task", "best AMI", "strength", "p-values"], rows)
    print(f"\nSaid to have no structure: {len(rows)} of {sum(counts.values())}.")


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
    problem = _CACHE.setdefault((n, n_spaces, n_runs), _problem(n, n_spaces, n_runs))
    found = neighbour_information(*problem)
    verdict_scores(found.scores, agreement(problem[1]).adjusted_rand)


_CACHE: dict[tuple[int, int, int], tuple[list[np.ndarray], list[np.ndarray]]] = {}
# The silhouette of more points takes too long to be measured each time.
_MAX_SILHOUETTE = 10_000


def measure_cost(sizes: list[int]) -> None:
    """Time the verdict beside the silhouette matrix: seconds of one processor."""
    shapes = {1_200: (25, 30), 10_000: (10, 20), 100_000: (2, 20)}
    rows = []
    for n in sizes:
        ours = apart(_time_information, n, *shapes[n], repeats=1)
        plain, ratio = "–", "–"
        if n <= _MAX_SILHOUETTE:
            silhouette = apart(_time_silhouette, n, *shapes[n], repeats=1)
            plain, ratio = f"{silhouette.cpu:.1f}", f"{ours.cpu / silhouette.cpu:.1f}"
        cells = [f"{n:,}", *shapes[n], plain, f"{ours.cpu:.1f}", ratio, f"{ours.memory:.0f}"]
        print(*cells, sep=" | ", flush=True)
        rows.append(cells)
    header = ["points", "spaces", "runs", "silhouette, s", "verdict, s", "ratio", "added MB"]
    print()
    table(header, rows)


def main() -> None:
    """Parse what to measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["pools", "structure", "cost"])
    parser.add_argument("--made", type=Path, help="folder of held-out pools, made if missing")
    parser.add_argument("--cache", type=Path, help="folder that keeps what each dataset gave")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--points", type=int, default=500, help="points of each cloud")
    parser.add_argument("--further", action="store_true", help="clouds that nobody named")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_200, 10_000, 100_000])
    options = parser.parse_args()
    if options.what == "structure" and "KINDSET_POOLS" in os.environ:
        test_pools(Path(os.environ["KINDSET_POOLS"]), options.cache)
    elif options.what == "structure":
        clouds = FURTHER if options.further else LISTED
        test_clouds(clouds, options.points, options.draws)
    elif options.what == "cost":
        measure_cost(options.sizes)
    elif options.made is not None:
        make_held_out(options.made)
        compare_rules(options.made, options.jobs, options.cache)
    elif "KINDSET_POOLS" in os.environ:
        compare_rules(Path(os.environ["KINDSET_POOLS"]), options.jobs, options.cache)
    else:
        raise SystemExit("KINDSET_POOLS is not set, and --made names no folder.")


if __name__ == "__main__":
    main()
