"""How the verdict should treat noise: ways to count it, and how often a run of mostly noise leads.

    KINDSET_POOLS=… python benchmarks/verdict_noise.py --cache FOLDER [--pools FOLDER]

Only pools are used in which a run leaves out a tenth of the points or more.
"""

import argparse
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from _measure import table
from _pools import PoolData, read_pools
from sklearn.metrics import adjusted_mutual_info_score
from verdict import Outcome, Pool, Prepared, by_dataset, mean_and_error, outcome

from kindset.evaluation._label_pairs import information_bias, label_entropy, label_information
from kindset.evaluation._labels import Partitions
from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._null_clouds import null_curve, spectrum
from kindset.evaluation._spaces import first_copies

# From neighbours and codes of a run with noise to its information and the entropy to compare at.
Way = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def _bias(codes: np.ndarray, near: np.ndarray) -> float:
    return information_bias(len(np.unique(codes)), *near.shape)


def _dropped(near: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Pairs with noise tell nothing; noise is one label in the entropy."""
    found, _ = label_information(near, codes, int(codes.max()) + 1)
    return max(found - _bias(codes, near), 0.0), label_entropy(codes)


def _one_cluster(near: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Noise is a cluster as any other."""
    found, _ = label_information(near, codes + 1, int(codes.max()) + 2)
    return max(found - _bias(codes, near), 0.0), label_entropy(codes)


def _mild(near: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Pairs with noise are left out; the share of points counts, not the share of pairs."""
    found, share = label_information(near, codes, int(codes.max()) + 1)
    covered = float((codes >= 0).mean())
    factor = covered / share if share > 0 else 0.0
    return max(found * factor - _bias(codes, near), 0.0), label_entropy(codes)


def _covered_only(near: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Judge the covered points alone."""
    found, share = label_information(near, codes, int(codes.max()) + 1)
    entropy = label_entropy(codes[codes >= 0])
    return max(found / max(share, 1e-9) - _bias(codes, near), 0.0), entropy


WAYS: dict[str, Way] = {
    "pairs with noise tell nothing (default)": _dropped,
    "share of points instead of pairs": _mild,
    "noise is one cluster": _one_cluster,
    "covered points only": _covered_only,
}


def _with_noise(data: PoolData, prepared: Prepared) -> dict[str, Prepared]:
    """Measure the runs with noise in each way."""
    stacked = Partitions.stack(list(data.labels), n_samples=len(data.y), noise="drop")
    noisy = np.flatnonzero((stacked.codes < 0).any(axis=1) & (stacked.n_clusters >= 2))
    excess = {way: prepared.excess.copy() for way in WAYS}
    for row, s in enumerate(np.unique(first_copies(data.spaces))):
        X = data.spaces[s] - data.spaces[s].mean(axis=0)
        near = nearest_neighbours(X, 10)
        curve = null_curve(spectrum(X), len(X), 10, float(prepared.entropies.max()), 0)
        for p in noisy:
            for way, measure in WAYS.items():
                found, entropy = measure(near, stacked.codes[p])
                excess[way][row, p] = found - float(curve.at(np.array(entropy)))
    return {way: replace(prepared, excess=values) for way, values in excess.items()}


def _singletons(labels: np.ndarray) -> np.ndarray:
    noise = labels < 0
    labels = labels.astype(np.int64)
    labels[noise] = labels.max() + 1 + np.arange(noise.sum())
    return labels


def compare_ways(folder: Path, cache: Path | None) -> None:
    """Print how each way does, and where a run of mostly noise leads."""
    found: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    leads: dict[str, list[list[object]]] = defaultdict(list)
    n_pools = n_low = 0
    for path in sorted(folder.glob("*.npz")):
        data = read_pools(path)
        prepared = Prepared.cached(data, None, cache)
        ways = _with_noise(data, prepared)
        covered = (data.labels >= 0).mean(axis=1)
        alone = prepared.measures.copy()
        for p in np.flatnonzero(covered < 1):
            alone[p, 0] = adjusted_mutual_info_score(data.y, _singletons(data.labels[p]))
        for runs, task, ranked in zip(data.pools, data.tasks, data.ranked, strict=True):
            if not ranked or covered[runs].min() > 0.9:
                continue
            n_pools += 1
            n_low += covered[runs].min() <= 0.5
            for way, changed in ways.items():
                pool = Pool(changed, runs)
                for judge, measures in (("one class", prepared.measures), ("singletons", alone)):
                    result = outcome(pool.verdict, measures[runs])
                    found[way, judge].append(Outcome(data.name, task, pool.strength, *result))
                first = int(pool.verdict.argmax())
                if covered[runs[first]] <= 0.5:
                    ami = prepared.measures[runs, 0]
                    leads[way].append(
                        [
                            data.name,
                            task,
                            f"{covered[runs[first]]:.2f}",
                            f"{ami[first]:.2f}",
                            f"{alone[runs[first], 0]:.2f}",
                            f"{ami.max():.2f}",
                        ]
                    )
    rows = [
        [
            way,
            judge,
            mean_and_error(by_dataset(o, lambda o: float(o.spearman[0]))),
            mean_and_error(by_dataset(o, lambda o: o.regret)),
            len(leads[way]),
        ]
        for (way, judge), o in found.items()
    ]
    print(f"{n_pools} pools with noise, {n_low} with a run that covers half the points or less\n")
    table(["noise", "judged as", "Spearman with AMI", "regret", "led by mostly noise"], rows)
    for way, where in leads.items():
        print(f"\nLed by a run that covers half the points or less: {way}\n")
        table(["dataset", "task", "covered", "AMI", "as singletons", "best AMI"], where)


def main() -> None:
    """Read the folder of pools."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--pools", type=Path, default=os.environ.get("KINDSET_POOLS"))
    options = parser.parse_args()
    if options.pools is None:
        raise SystemExit("KINDSET_POOLS is not set: the folder of the pools")
    compare_ways(Path(options.pools), options.cache)


if __name__ == "__main__":
    main()
