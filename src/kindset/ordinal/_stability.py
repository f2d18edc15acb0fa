"""Would other people yield the same segments? Bootstrap samples, other seeds, held-out rows."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._path import Survey, draw_rows
from kindset.ordinal._rows import IntArray

N_BOOTSTRAPS = 6
N_FOLDS = 5
N_SEEDS = 4


def reproducibility(survey: Survey, law: str, numbers: list[int], seed: int) -> dict[int, float]:
    """Return the mean adjusted Rand index between fits to bootstrap samples, for each number.

    Every fit starts afresh; all are compared on all rows.
    """
    rng = np.random.RandomState(seed)
    chance = survey.weights / survey.weights.sum()
    n_rows = int(np.count_nonzero(survey.weights))
    samples = [rng.multinomial(n_rows, chance).astype(np.float64) for _ in range(N_BOOTSTRAPS)]
    seeds = rng.randint(np.iinfo(np.int32).max, size=(len(numbers), N_BOOTSTRAPS))
    tasks = [
        (_labels, (survey, law, number, int(seeds[i, b]), samples[b]))
        for i, number in enumerate(numbers)
        for b in range(N_BOOTSTRAPS)
    ]
    return _agreement(survey.parallel(tasks), numbers)


def agreement_of_seeds(survey: Survey, law: str, numbers: list[int], seed: int) -> dict[int, float]:
    """Return the mean adjusted Rand index between fits to all rows from different seeds."""
    rng = np.random.RandomState(seed)
    seeds = rng.randint(np.iinfo(np.int32).max, size=(len(numbers), N_SEEDS))
    tasks = [
        (_labels, (survey, law, number, int(one), survey.weights))
        for i, number in enumerate(numbers)
        for one in seeds[i]
    ]
    return _agreement(survey.parallel(tasks), numbers)


def _labels(survey: Survey, law: str, number: int, seed: int, weights: FloatArray) -> IntArray:
    return survey.labels(survey.refit(law, number, seed, weights))


def _agreement(labels: list[IntArray], numbers: list[int]) -> dict[int, float]:
    each = len(labels) // max(len(numbers), 1)
    out = {}
    for i, number in enumerate(numbers):
        pairs = combinations(labels[i * each : (i + 1) * each], 2)
        out[number] = float(np.mean([adjusted_rand_score(a, b) for a, b in pairs]))
    return out


def held_out(survey: Survey, law: str, numbers: list[int], seed: int) -> FloatArray:
    """Return the log-probability of every row under mixtures that did not see it, [number, row]."""
    rng = np.random.RandomState(seed)
    fold = rng.permutation(len(survey.rows)) % N_FOLDS
    seeds = rng.randint(np.iinfo(np.int32).max, size=(len(numbers), N_FOLDS))
    tasks = [
        (_log_density, (survey, law, number, int(seeds[i, f]), fold == f))
        for i, number in enumerate(numbers)
        for f in range(N_FOLDS)
    ]
    parts = survey.parallel(tasks)
    out = np.empty((len(numbers), len(survey.rows)))
    for i in range(len(numbers)):
        for f in range(N_FOLDS):
            out[i, fold == f] = parts[i * N_FOLDS + f][fold == f]
    return out


def _log_density(
    survey: Survey, law: str, number: int, seed: int, left_out: NDArray[np.bool_]
) -> FloatArray:
    weights = np.where(left_out, 0.0, survey.weights)
    return survey.log_density(survey.refit(law, number, seed, weights))


def likelihood_ratio_test(
    survey: Survey, law: str, number: int, *, n_replicates: int, seed: int
) -> tuple[float, float]:
    """Test `number` components against one more by a parametric bootstrap.

    Returns
    -------
    statistic : float
        Twice the difference of the log-likelihoods.
    p_value : float
        Share of tables drawn from the smaller mixture with at least that difference. Both
        mixtures have the same number of starts on all tables.
    """
    rng = np.random.RandomState(seed)
    smaller = survey.refit(law, number, int(rng.randint(2**31 - 1)), survey.weights)
    observed = _gain(survey, law, number, int(rng.randint(2**31 - 1)))
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_replicates)

    def replicate(seed: int) -> float:
        drawn = draw_rows(survey, smaller, np.random.RandomState(seed))
        return _gain(survey.with_rows(drawn), law, number, seed)

    gains = np.array(survey.parallel([(replicate, (int(one),)) for one in seeds]))
    return observed, float((1 + (gains >= observed).sum()) / (1 + n_replicates))


def _gain(survey: Survey, law: str, number: int, seed: int) -> float:
    fits = [survey.refit(law, number + more, seed, survey.weights) for more in (0, 1)]
    low, high = (float(survey.log_density(fit) @ survey.weights) for fit in fits)
    return 2 * (high - low)
