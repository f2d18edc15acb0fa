"""Speed and memory of the score matrix against loops of scikit-learn calls.

    python benchmarks/evaluation.py            # all tables, some ten minutes on two cores
    python benchmarks/evaluation.py --quick    # N = 2,000 only

Every measurement runs in a process of its own, with one thread for matrix products, after a warm-up
on small data, so that compiled code is there and memory can be told apart. Times are processor
seconds, which other work on the machine hardly changes, except for the gain of two workers, which
is by the clock. Contenders of one line are measured one after the other and repeated; the table has
the medians. A loop of scikit-learn
calls is timed on ten of its M calls and scaled up to all (``--full`` times all of them).
"""

import argparse
import multiprocessing
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.metrics import (
    calinski_harabasz_score,
    davies_bouldin_score,
    pairwise_distances,
    silhouette_score,
)
from threadpoolctl import threadpool_limits

from kindset.evaluation import dip_statistic, score_matrix

Array = NDArray[np.float64]
Result = tuple[float, float, NDArray[np.float64]]


@dataclass(frozen=True)
class Problem:
    """One space and M partitions of ten clusters, more and more of them wrong."""

    n: int
    d: int
    m: int
    index: str = "silhouette"
    metric: str = "euclidean"
    n_spaces: int = 1
    n_jobs: int = 1
    sample_size: int | None = None
    max_calls: int | None = None

    def draw(self) -> tuple[list[Array], list[NDArray[np.int64]]]:
        """Make the data."""
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 10, self.n)
        X = 3 * rng.normal(size=(10, self.d))[truth] + rng.normal(size=(self.n, self.d))
        wrong = [rng.random(self.n) < i / (1.5 * self.m) for i in range(self.m)]
        partitions = [np.where(w, rng.integers(0, 10, self.n), truth) for w in wrong]
        return [X] * self.n_spaces, partitions


def kindset(problem: Problem, spaces: list[Array], partitions: list[Array]) -> Array:
    """Score with this package."""
    return score_matrix(
        spaces, partitions, index=problem.index, metric=problem.metric, n_jobs=problem.n_jobs,
        sample_size=problem.sample_size, random_state=0,
    )[0]  # fmt: skip


def loop(problem: Problem, spaces: list[Array], partitions: list[Array]) -> Array:
    """Score with one scikit-learn call for each partition."""
    calls: dict[str, Callable[[Array, Array], float]] = {
        "silhouette": lambda X, p: silhouette_score(X, p, metric=problem.metric),
        "calinski_harabasz": calinski_harabasz_score,
        "davies_bouldin": lambda X, p: -davies_bouldin_score(X, p),
    }
    return np.array([calls[problem.index](spaces[0], p) for p in partitions])


def precomputed(problem: Problem, spaces: list[Array], partitions: list[Array]) -> Array:
    """Score with scikit-learn calls on one matrix of distances."""
    D = pairwise_distances(spaces[0], metric=problem.metric)
    np.fill_diagonal(D, 0.0)
    return np.array([silhouette_score(D, p, metric="precomputed") for p in partitions])


def all_pairs(problem: Problem, spaces: list[Array], partitions: list[Array]) -> Array:
    """Score Dunn and the C-index from the vector of all distances."""
    d = pdist(spaces[0])
    ordered = np.sort(d) if problem.index == "c_index" else d
    i, j = np.triu_indices(problem.n, k=1)
    scores = []
    for p in partitions:
        same = p[i] == p[j]
        if problem.index == "dunn":
            scores.append(d[~same].min() / d[same].max())
            continue
        count = int(same.sum())
        low, high = ordered[:count].sum(), ordered[len(d) - count :].sum()
        scores.append(-(d[same].sum() - low) / (high - low))
    return np.array(scores)


CONTENDERS = {"kindset": kindset, "loop": loop, "precomputed": precomputed, "all_pairs": all_pairs}


def _run(pipe: object, name: str, problem: Problem) -> None:
    """Measure in a process of its own: seconds, megabytes on top of the data, scores."""
    warnings.simplefilter("ignore")
    spaces, partitions = problem.draw()
    calls = len(partitions)
    if problem.max_calls is not None and name != "kindset":
        partitions, calls = partitions[: problem.max_calls], problem.max_calls
    small = Problem(200, problem.d, 2, problem.index, problem.metric, sample_size=None)
    with threadpool_limits(1):
        CONTENDERS[name](small, *small.draw())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        clock = time.process_time if problem.n_spaces == 1 else time.perf_counter
        start = clock()
        scores = CONTENDERS[name](problem, spaces, partitions)
        seconds = clock() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    pipe.send((seconds * problem.m / calls, memory, scores))  # type: ignore[attr-defined]


def measure(name: str, problem: Problem) -> Result:
    """Run one contender on one problem."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, name, problem))
    process.start()
    result: Result = here.recv()
    process.join()
    return result


def line(problem: Problem, rival: str, repeats: int) -> str:
    """Compare this package with a rival on one problem."""
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(measure("kindset", problem))
        theirs.append(measure(rival, problem))
    a, b = (statistics.median(r[0] for r in runs) for runs in (ours, theirs))
    ratios = [t[0] / o[0] for o, t in zip(ours, theirs, strict=True)]
    difference = np.abs(ours[0][2][: len(theirs[0][2])] - theirs[0][2])
    worst = float((difference / np.maximum(np.abs(theirs[0][2]), 1e-300)).max())
    title = problem.index + (" (cosine)" if problem.metric == "cosine" else "")
    return (
        f"| {title} | {problem.n:,} | {problem.d} | {problem.m} | {rival} | {a:.2f} | {b:.1f} "
        f"| {statistics.median(ratios):.0f} ({min(ratios):.0f}–{max(ratios):.0f}) | {worst:.0e} "
        f"| {max(r[1] for r in ours):.0f} | {max(r[1] for r in theirs):.0f} |"
    )


def compare(quick: bool, repeats: int, max_calls: int | None) -> None:
    """Print the table of comparisons."""
    print("\n## Against scikit-learn and all pairs\n")
    print(
        "| index | N | d | M | against | ours, s | theirs, s | ratio (range) | largest relative "
        "difference | ours, MB | theirs, MB |\n|" + "---|" * 11
    )
    n = 2000 if quick else 10_000
    problems = [
        (Problem(n, d, m, max_calls=max_calls), rival)
        for rival in ("loop", "precomputed")
        for m in (42, 20)
        for d in (10, 160)
    ]
    problems += [
        (Problem(n, d, 42, index, metric, max_calls=max_calls), "loop")
        for index, metric in (
            ("silhouette", "cosine"),
            ("calinski_harabasz", "euclidean"),
            ("davies_bouldin", "euclidean"),
        )
        for d in (10, 160)
    ]
    problems += [
        (Problem(n, 10, 42, index, max_calls=max_calls), "all_pairs")
        for index in ("dunn", "c_index")
    ]
    if not quick:
        problems += [
            (Problem(2000, d, m, max_calls=max_calls), rival)
            for m in (42, 20)
            for d in (10, 160)
            for rival in ("loop", "precomputed")
        ]
    for problem, rival in problems:
        print(line(problem, rival, repeats), flush=True)


def workers(quick: bool, repeats: int) -> None:
    """Print the gain of two workers over one."""
    print("\n## Two workers\n\n| index | N | d | M | spaces | one, s | two, s | gain (range) |")
    print("|" + "---|" * 8)
    n = 2000 if quick else 10_000
    for index, d in (("silhouette", 10), ("silhouette", 160), ("c_index", 10)):
        one, two, gains = [], [], []
        for _ in range(repeats):
            one.append(measure("kindset", Problem(n, d, 42, index, n_spaces=4))[0])
            two.append(measure("kindset", Problem(n, d, 42, index, n_spaces=4, n_jobs=2))[0])
            gains.append(one[-1] / two[-1])
        a, b, gain = (statistics.median(x) for x in (one, two, gains))
        print(
            f"| {index} | {n:,} | {d} | 42 | 4 | {a:.2f} | {b:.2f} "
            f"| {gain:.2f} ({min(gains):.2f}–{max(gains):.2f}) |",
            flush=True,
        )


def large() -> None:
    """Print what a hundred thousand points cost, in full and estimated."""
    print("\n## N = 100,000\n\n| index | d | M | sample | s | MB | largest difference |")
    print("|" + "---|" * 7)
    exact = None
    for index, sample in (("silhouette", None), ("silhouette", 5000), ("calinski_harabasz", None)):
        problem = Problem(100_000, 10, 10, index, sample_size=sample)
        seconds, memory, scores = measure("kindset", problem)
        exact = scores if exact is None else exact
        difference = f"{np.abs(scores - exact).max():.1e}" if sample else ""
        print(
            f"| {index} | 10 | 10 | {sample or 'all'} | {seconds:.1f} | {memory:.0f} "
            f"| {difference} |",
            flush=True,
        )


def dips() -> None:
    """Print the time of the dip statistic."""
    x = np.random.default_rng(0).normal(size=70_000)
    dip_statistic(x[:100])
    start = time.perf_counter()
    for _ in range(20):
        dip_statistic(x)
    print(f"\nDip statistic of 70,000 points: {(time.perf_counter() - start) / 20 * 1e3:.1f} ms")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="N = 2,000 only, one repeat")
    parser.add_argument("--full", action="store_true", help="time all calls of the rivals' loops")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["compare", "workers", "large", "dip"])
    args = parser.parse_args()
    repeats = 1 if args.quick else args.repeats
    tables = {
        "compare": lambda: compare(args.quick, repeats, None if args.full else 10),
        "workers": lambda: workers(args.quick, repeats),
        "large": large,
        "dip": dips,
    }
    for name, show in tables.items():
        if args.only in (None, name) and not (args.quick and name == "large"):
            show()


if __name__ == "__main__":
    main()
