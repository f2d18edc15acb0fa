"""Signals that might help the verdict: each alone, and added to the default rule.

    KINDSET_POOLS=… python benchmarks/verdict_signals.py --cache FOLDER

What a dataset gives is kept in the folder. Weights of added signals are chosen on the other
datasets. Means are over datasets, with tasks of equal weight.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _measure import table
from _pools import PoolData, read_pools
from _signals import ALSO_MARGINS, SIGNALS, measure_space, mutual_information
from sklearn.metrics import adjusted_mutual_info_score
from verdict import Outcome, Pool, Prepared, by_dataset, mean_and_error, outcome

from kindset._compiling import njit
from kindset.evaluation import agreement, trusted_agreement
from kindset.evaluation._label_pairs import label_entropy
from kindset.evaluation._labels import Partitions
from kindset.evaluation._neighbour_information import relative_excess, space_weights
from kindset.evaluation._spaces import first_copies

_SHARES = (0.0, 0.125, 0.25, 0.5, 1.0)
_MAX_POINTS = 500
# These are in nats, and can be related to the entropy as the neighbour information is.
_IN_NATS = ("information", "walk", "vote")


# ------------------------------------------------------------------------- what each dataset gives


@dataclass
class Signals(Prepared):
    """What a dataset gives, with the signals of all spaces and further tables of agreement."""

    tables: dict[str, np.ndarray]

    @classmethod
    def read(cls, data: PoolData, cache: Path) -> "Signals":
        """Measure a dataset, or read what was measured before."""
        path = cache / f"signals_{data.name}.npz"
        if not path.exists():
            np.savez(path, **_measure_signals(data))
        with np.load(path, allow_pickle=False) as stored:
            tables = dict(stored)
        row_of = np.unique(first_copies(data.spaces), return_inverse=True)[1]
        points = _points(data)
        runs = list(data.labels)
        base = "information, 10 neighbours"
        ami = [adjusted_mutual_info_score(data.y, labels) for labels in runs]
        codes = Partitions.stack([r[points] for r in runs], n_samples=len(points), noise="drop")
        return cls(
            data=data,
            home=row_of[data.run_space],
            raw=int(row_of[0]),
            excess=tables[base] - tables[f"{base} (gauss)"],
            entropies=np.array([label_entropy(c) for c in codes.codes]),
            is_cut=codes.n_clusters >= 2,
            indices={},
            adjusted_rand=agreement(runs).adjusted_rand,
            measures=np.array(ami)[:, None],
            tables=tables,
        )


def _points(data: PoolData) -> np.ndarray:
    n = len(data.y)
    return np.linspace(0, n - 1, min(n, _MAX_POINTS)).astype(int)


def _measure_signals(data: PoolData) -> dict[str, np.ndarray]:
    """Measure all signals on some of the points, for runs and spaces that share a pool."""
    distinct, row_of = np.unique(first_copies(data.spaces), return_inverse=True)
    home = row_of[data.run_space]
    needed = np.zeros((len(distinct), len(home)), dtype=bool)
    for runs in (pool for pool, ranked in zip(data.pools, data.ranked, strict=True) if ranked):
        needed[np.ix_(np.unique([*home[runs], row_of[0]]), runs)] = True
    points = _points(data)
    stacked = Partitions.stack(list(data.labels[:, points]), n_samples=len(points), noise="drop")
    tables: dict[str, np.ndarray] = {}
    for row, s in enumerate(distinct):
        runs = np.flatnonzero(needed[row])
        if len(runs) == 0:
            continue
        found = measure_space(data.spaces[s][points], stacked.codes[runs], 1)
        for name, values in found.items():
            tables.setdefault(name, np.full(needed.shape, np.nan))[row, runs] = values
    tables["shared"] = _shared_information(stacked.codes)
    tables["strength"] = _prediction_strength(stacked.codes)
    return tables


@njit(cache=True)
def _contingency(one, other):  # type: ignore[no-untyped-def]
    counts = np.zeros((one.max() + 1, other.max() + 1))
    for i in range(len(one)):
        counts[one[i], other[i]] += 1.0
    return counts


def _shared_information(codes: np.ndarray) -> np.ndarray:
    """Mutual information of all pairs of partitions less its bias, noise as one cluster."""
    m, n = codes.shape
    codes = codes + 1
    counts = [len(np.unique(c)) for c in codes]
    shared = np.zeros((m, m))
    for a in range(m):
        for b in range(a + 1):
            found = mutual_information(_contingency(codes[a], codes[b]) / n)
            shared[a, b] = shared[b, a] = found - (counts[a] - 1) * (counts[b] - 1) / (2.0 * n)
    return shared


def _prediction_strength(codes: np.ndarray) -> np.ndarray:
    """Share of pairs of the worst cluster of each partition that another keeps together."""
    m = len(codes)
    strength = np.ones((m, m))
    for a in range(m):
        for b in range(m):
            counts = _contingency(codes[a] + 1, codes[b] + 1)[int((codes[a] < 0).any()) :]
            sizes = counts.sum(axis=1)
            counts, sizes = counts[sizes > 1], sizes[sizes > 1]
            if len(sizes):
                kept = (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
                strength[a, b] = kept.min()
    return strength


class SignalPool(Pool):
    """What the signals may look at in one pool."""

    def __init__(self, signals: Signals, runs: np.ndarray) -> None:
        super().__init__(signals, runs)
        home = signals.home[runs].tolist()
        self.rows = list(dict.fromkeys([*home, signals.raw]))
        self.raw_row = self.rows.index(signals.raw)
        self.entropies, self.is_cut = signals.entropies[runs], signals.is_cut[runs]
        block = np.ix_(self.rows, runs)
        pairs = np.ix_(runs, runs)
        self.tables = {
            name: values[pairs] if name in ("shared", "strength") else values[block]
            for name, values in signals.tables.items()
        }
        self.labels = signals.data.labels[runs]

    def excess(self, name: str, kind: str = "gauss") -> np.ndarray:
        """Return a signal less what it is in clouds without groups."""
        return np.asarray(self.tables[name] - self.tables[f"{name} ({kind})"])

    def relative(self, excess: np.ndarray) -> np.ndarray:
        """Relate an excess in nats to the entropies."""
        return np.stack([relative_excess(row, self.entropies, self.is_cut) for row in excess])

    def weighed(self, q: np.ndarray) -> np.ndarray:
        """Average over spaces that weigh by how they show partitions of others."""
        return np.asarray(space_weights(q, self.home, self.raw_row) @ q)


# ----------------------------------------------------------------------------------- the candidates

Rule = Callable[[SignalPool], np.ndarray]


def _kinds(name: str) -> tuple[str, ...]:
    return ("gauss", "margin") if name in ALSO_MARGINS else ("gauss",)


def _space_rules() -> Iterator[tuple[str, Rule]]:
    for name in SIGNALS:
        if any(word in name for word in _IN_NATS):
            for kind in _kinds(name):
                yield (
                    f"{name}, relative ({kind})",
                    lambda p, name=name, kind=kind: p.weighed(p.relative(p.excess(name, kind))),
                )
        else:
            yield name, lambda p, name=name: p.weights @ p.tables[name]
            for kind in _kinds(name):
                yield (
                    f"{name} less {kind}",
                    lambda p, name=name, kind=kind: p.weights @ p.excess(name, kind),
                )


def _several_scales(p: SignalPool) -> np.ndarray:
    names = [name for name in SIGNALS if name.startswith("information")]
    return np.mean([p.relative(p.excess(name)) for name in names], axis=0)


def _adjusted_information(p: SignalPool) -> np.ndarray:
    """Shared information of partitions relative to their mean entropy."""
    own = np.diag(p.tables["shared"])
    means = np.maximum((own[:, None] + own[None, :]) / 2.0, 1e-9)
    return np.asarray(p.tables["shared"] / means)


def _trusted(scores: np.ndarray, agreement: np.ndarray, power: float = 4.0) -> np.ndarray:
    trust = np.maximum(scores, 0.0) ** power + 1e-9
    weights = np.tile(trust, (len(trust), 1))
    np.fill_diagonal(weights, 0.0)
    return np.asarray((weights * agreement).sum(axis=1) / weights.sum(axis=1))


def _copies_once(p: SignalPool) -> np.ndarray:
    """Trusted agreement in which near copies share their trust."""
    copies = (p.adjusted_rand >= 0.9).sum(axis=1)
    trust = (np.maximum(p.eni, 0.0) ** 4 + 1e-9) / copies
    weights = np.tile(trust, (len(trust), 1))
    np.fill_diagonal(weights, 0.0)
    return np.asarray((weights * p.adjusted_rand).sum(axis=1) / weights.sum(axis=1))


def _other_homes(p: SignalPool) -> np.ndarray:
    """Trusted agreement with partitions that were made in other spaces."""
    trust = np.maximum(p.eni, 0.0) ** 4 + 1e-9
    weights = np.where(p.home[:, None] != p.home[None, :], trust[None, :], 1e-3 * trust[None, :])
    np.fill_diagonal(weights, 0.0)
    return np.asarray((weights * p.adjusted_rand).sum(axis=1) / weights.sum(axis=1))


def _iterated(p: SignalPool) -> np.ndarray:
    """Trusted agreement in which the verdict decides about trust, repeated."""
    scores = p.eni
    for _ in range(5):
        scores = p.eni + 0.5 * trusted_agreement(scores / 1.5, p.adjusted_rand)
    return np.asarray(scores - p.eni)


def _with_the_best(p: SignalPool) -> np.ndarray:
    """Agreement with the partition of the best neighbour information."""
    return np.asarray(p.adjusted_rand[int(p.eni.argmax())])


def _share_explained(p: SignalPool, of_own: bool) -> np.ndarray:
    """Share of the entropy of a partition, or of the others, that the other explains."""
    own = np.maximum(np.diag(p.tables["shared"]), 1e-9)
    return _trusted(p.eni, p.tables["shared"] / (own[:, None] if of_own else own[None, :]))


def _reweighed(p: SignalPool, weights: np.ndarray) -> np.ndarray:
    weights = np.maximum(weights, 0.0)
    weights[p.raw_row] *= 4.0
    total = weights.sum()
    return np.asarray((weights / total if total > 0 else p.weights) @ p.q)


def _agreeing_spaces(p: SignalPool) -> np.ndarray:
    """Spaces weigh by how their q correlates with the score."""
    score = p.eni - p.eni.mean()
    centred = p.q - p.q.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=1) * (score**2).sum())
    return _reweighed(p, p.weights * np.maximum(centred @ score / np.maximum(norms, 1e-12), 0.0))


def _rank_average(p: SignalPool) -> np.ndarray:
    ranks = np.argsort(np.argsort(np.round(p.q, 12), axis=1), axis=1)
    return np.asarray(p.weights @ ranks)


def _noise_share(p: SignalPool) -> np.ndarray:
    return -np.asarray((p.labels < 0).mean(axis=1))


CANDIDATES: dict[str, Rule] = {
    "the default rule": lambda p: p.verdict,
    "ENI": lambda p: p.eni,
    **dict(_space_rules()),
    "four scales of neighbours, relative": lambda p: p.weighed(_several_scales(p)),
    "q without unit: excess": lambda p: p.weights @ p.excess("information, 10 neighbours"),
    "q by entropy: excess / H": lambda p: (
        p.weights @ (p.excess("information, 10 neighbours") / np.maximum(p.entropies, 1e-9))
    ),
    "spaces of equal weight": lambda p: p.q.mean(axis=0),
    "spaces by their own best q, squared": lambda p: _reweighed(p, p.q.max(axis=1) ** 2),
    "spaces by their best q, fourth power": lambda p: _reweighed(p, p.weights**2),
    "spaces by modularity of their best": lambda p: _reweighed(
        p, p.excess("modularity").max(axis=1) ** 2
    ),
    "spaces by agreement with the score": _agreeing_spaces,
    "ranks in each space": _rank_average,
    "raw data alone": lambda p: p.q[p.raw_row],
    "trusted agreement": lambda p: trusted_agreement(p.eni, p.adjusted_rand),
    "trusted agreement, power 2": lambda p: _trusted(p.eni, p.adjusted_rand, 2.0),
    "trusted agreement, power 8": lambda p: _trusted(p.eni, p.adjusted_rand, 8.0),
    "trusted agreement, iterated": _iterated,
    "trusted agreement, copies once": _copies_once,
    "trusted agreement, other homes": _other_homes,
    "agreement with the best": _with_the_best,
    "trusted shared information": lambda p: _trusted(p.eni, _adjusted_information(p)),
    "trusted share of own entropy": lambda p: _share_explained(p, of_own=True),
    "trusted share of others' entropy": lambda p: _share_explained(p, of_own=False),
    "trusted prediction strength": lambda p: _trusted(p.eni, p.tables["strength"]),
    "mean shared information": lambda p: _trusted(np.ones(len(p.eni)), _adjusted_information(p)),
    "share of noise": _noise_share,
}


# --------------------------------------------------------------------------------------- the tables


def _standard(values: np.ndarray) -> np.ndarray:
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros(len(values))


def _added(pool: SignalPool, values: np.ndarray, share: float) -> np.ndarray:
    return np.asarray(_standard(pool.verdict) + share * _standard(values))


def measure(pools: list[tuple[str, str, SignalPool, np.ndarray]]) -> Iterator[list[object]]:
    """Rows of the table: each candidate alone, and added with a weight from other datasets."""
    for name, rule in CANDIDATES.items():
        found: dict[float | None, list[Outcome]] = {s: [] for s in (None, *_SHARES)}
        for dataset, task, pool, measures in pools:
            values = np.nan_to_num(np.asarray(rule(pool), dtype=float))
            for share in found:
                scores = values if share is None else _added(pool, values, share)
                result = outcome(scores, measures)
                found[share].append(Outcome(dataset, task, pool.strength, *result))
        spearman, regret = _left_out({s: found[s] for s in _SHARES})
        yield (
            [
                name,
                mean_and_error(by_dataset(found[None], lambda o: float(o.spearman[0]))),
                mean_and_error(by_dataset(found[None], lambda o: o.regret)),
                *(
                    f"{by_dataset(found[s], lambda o: float(o.spearman[0])).mean():.3f}"
                    for s in _SHARES[1:]
                ),
                *(f"{by_dataset(found[s], lambda o: o.regret).mean():.3f}" for s in _SHARES[1:]),
                mean_and_error(spearman),
                mean_and_error(regret),
            ]
        )


def _left_out(found: dict[float, list[Outcome]]) -> tuple[np.ndarray, np.ndarray]:
    """Spearman and regret of each dataset, with the share that is best on the others."""
    spearman = np.stack([by_dataset(f, lambda o: float(o.spearman[0])) for f in found.values()])
    regret = np.stack([by_dataset(f, lambda o: o.regret) for f in found.values()])
    goal = spearman - regret
    columns = np.arange(spearman.shape[1])
    best = [int(np.delete(goal, c, axis=1).mean(axis=1).argmax()) for c in columns]
    return spearman[best, columns], regret[best, columns]


def read_all(folder: Path, cache: Path) -> list[tuple[str, str, SignalPool, np.ndarray]]:
    """All pools of a folder that are worth ranking."""
    pools = []
    for path in sorted(folder.glob("*.npz")):
        data = read_pools(path)
        signals = Signals.read(data, cache)
        for runs, task, ranked in zip(data.pools, data.tasks, data.ranked, strict=True):
            if ranked:
                pools.append((data.name, task, SignalPool(signals, runs), signals.measures[runs]))
    return pools


def main() -> None:
    """Measure all candidates on the development pools."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    if "KINDSET_POOLS" not in os.environ:
        raise SystemExit("KINDSET_POOLS is not set: the folder of the development pools")
    pools = read_all(Path(os.environ["KINDSET_POOLS"]), options.cache)
    shares = [f"{what} +{share}" for what in ("Spearman", "regret") for share in _SHARES[1:]]
    header = ["signal", "alone", "regret", *shares, "left out: Spearman", "regret"]
    table(header, list(measure(pools)))


if __name__ == "__main__":
    main()
