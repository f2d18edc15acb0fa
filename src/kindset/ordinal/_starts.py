"""Where EM starts from, by name.

A new kind of start is one function that returns parameters, and one entry in `STARTS`.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._em import Fit, Parameters, Problem, extend_em, row_places
from kindset.ordinal._expectation import posterior
from kindset.ordinal._law import N_STATISTICS
from kindset.ordinal._laws import LAWS
from kindset.ordinal._squarem import finish

_KMEANS_ITERATIONS = 10
_TRIES = 4
_QUICK_ROWS = 20_000


def random_parameters(problem: Problem, rng: np.random.RandomState) -> Parameters:
    """Draw every parameter from its range; numbers lean to those of random rows."""
    names, weights, places, firmness = _drawn(problem, rng)
    return _leaning(problem, names, weights, places, firmness)


def at_rows(problem: Problem, rng: np.random.RandomState) -> Parameters:
    """Put the components on random rows, with random precisions."""
    rows, n_components = problem.rows, problem.n_components
    chance = rows.weights / rows.weights.sum()
    drawn = rng.choice(len(rows), n_components, replace=len(rows) < n_components, p=chance)
    names, _, places, firmness = _drawn(problem, rng)
    answers, answered = row_places(rows, names, drawn)
    places = np.where(answered, answers, places)
    return _leaning(problem, names, np.full(n_components, 1 / n_components), places, firmness)


def _drawn(
    problem: Problem, rng: np.random.RandomState
) -> tuple[tuple[str, ...], FloatArray, FloatArray, FloatArray]:
    """Draw laws, weights, and for each component and column an answer and its firmness."""
    rows, shape = problem.rows, (problem.n_components, len(problem.candidates))
    names = tuple(options[rng.randint(len(options))] for options in problem.candidates)
    weights = rng.dirichlet(np.ones(problem.n_components))
    places = rng.randint(rows.layout.n_levels, size=shape).astype(np.float64)
    firmness = rng.random_sample(shape)
    if len(rows.numbers):
        answers, answered = row_places(rows, names, rng.randint(len(rows), size=shape[0]))
        numeric = np.array([LAWS[name].takes == "numbers" for name in names])
        places = np.where(numeric & answered, answers, places)
    return names, weights, places, firmness


def _leaning(
    problem: Problem,
    names: tuple[str, ...],
    weights: FloatArray,
    places: FloatArray,
    firmness: FloatArray,
) -> Parameters:
    columns = tuple(
        LAWS[name].at(int(m), places[None, :, j], firmness[None, :, j])[0]
        for j, (name, m) in enumerate(zip(names, problem.rows.layout.n_levels, strict=True))
    )
    return Parameters(weights, columns, names)


def soft_memberships(problem: Problem, rng: np.random.RandomState) -> Parameters:
    """Share every row at random among the components: they start close together and part."""
    concentration = np.full(problem.n_components, 0.3)
    return problem.from_membership(rng.dirichlet(concentration, size=len(problem.rows)))


def kmeans(problem: Problem, rng: np.random.RandomState) -> Parameters:
    """Share the rows by k-means on the codes, missing answers at the column's mean."""
    rows, n_components = problem.rows, problem.n_components
    if len(rows) <= n_components:
        return at_rows(problem, rng)
    points = _positions(problem)
    centers = _spread_centers(points, rows.weights, n_components, rng)
    membership = np.empty((len(rows), n_components))
    for _ in range(_KMEANS_ITERATIONS):
        nearest = np.argmin((centers**2).sum(axis=1) - 2 * points @ centers.T, axis=1)
        membership = np.eye(n_components)[nearest]
        weighted = membership * rows.weights[:, None]
        size = weighted.sum(axis=0)[:, None]
        centers = np.divide(weighted.T @ points, size, out=centers, where=size > 0)
    return problem.from_membership(membership)


def _spread_centers(
    points: FloatArray, weights: FloatArray, n_centers: int, rng: np.random.RandomState
) -> FloatArray:
    """Draw points as centers, each in proportion to its squared distance from those before.

    scikit-learn's k-means would do all of this, but spends longer on waking its threads than the
    rest of a start takes.
    """
    chance = weights.copy()
    distance = np.full(len(points), np.inf)
    centers = np.empty((n_centers, points.shape[1]))
    for k in range(n_centers):
        # Fewer distinct points than centers leave no distance to draw by.
        total = chance.sum()
        drawn = rng.choice(len(points), p=chance / total if total > 0 else None)
        centers[k] = points[drawn]
        distance = np.minimum(distance, ((points - centers[k]) ** 2).sum(axis=1))
        chance = weights * distance
    return centers


STARTS: dict[str, Callable[[Problem, np.random.RandomState], Parameters]] = {
    "random": random_parameters,
    "rows": at_rows,
    "kmeans": kmeans,
    "soft": soft_memberships,
}


def run_start(problem: Problem, kind: str, seed: int, *, max_iter: int, tol: float) -> Fit:
    """Run EM from the most promising of a few tries.

    Four tries (one of each kind if `kind` is "mixed") run for four iterations, the better two of
    them up to ten, and the best goes on. That finds better optima than as many more full starts
    would for the same work.
    """
    rng = np.random.RandomState(seed)
    kinds = list(STARTS) if kind == "mixed" else [kind] * _TRIES
    if problem.n_components == 1:
        kinds = kinds[:1]
    fits = [Fit(STARTS[name](problem, rng)) for name in kinds]
    best = race(problem, fits, ((4, 2), (10, 1)), max_iter=max_iter, tol=tol)
    finish(problem, best, max_iter=max_iter, tol=tol)
    return best


def quick_fit(problem: Problem, seed: int, *, max_iter: int, tol: float) -> Fit:
    """Run EM from the most promising of twelve tries; for fits that are made by the dozen.

    A long table is represented by rows drawn from it.
    """
    rng = np.random.RandomState(seed)
    if len(problem.rows) > _QUICK_ROWS:
        problem = replace(problem, rows=problem.rows.draw(_QUICK_ROWS, rng))
    if problem.n_components == 1:
        fits = [Fit(soft_memberships(problem, rng))]
    else:
        fits = [Fit(start(problem, rng)) for _ in range(3) for start in STARTS.values()]
    best = race(problem, fits, ((4, 5), (10, 2), (30, 1)), max_iter=max_iter, tol=tol)
    finish(problem, best, max_iter=max_iter, tol=tol)
    return best


def race(
    problem: Problem,
    fits: list[Fit],
    rounds: Iterable[tuple[int, int]],
    *,
    max_iter: int,
    tol: float,
    n_jobs: int | None = None,
) -> Fit:
    """Let fits go on, round by round up to so many iterations, and keep so many of the best."""
    for iterations, survivors in rounds:
        for fit in fits:
            extend_em(problem, fit, max_iter=min(iterations, max_iter), tol=tol, n_jobs=n_jobs)
            if fit.interrupted:
                return max(fits, key=lambda fit: fit.objective)
        fits = sorted(fits, key=lambda fit: -fit.objective)[:survivors]
    return fits[0]


def run_splits(problem: Problem, smaller: Parameters, *, max_iter: int, tol: float) -> Fit:
    """Run EM from a mixture with one component less, each of its components split in turn.

    So a mixture with more components is never left with a lower likelihood for want of luck.
    """
    fits = [Fit(_split(problem, smaller, k)) for k in range(len(smaller.weights))]
    best = race(problem, fits, ((4, 4), (12, 1)), max_iter=max_iter, tol=tol)
    finish(problem, best, max_iter=max_iter, tol=tol)
    return best


def _split(problem: Problem, smaller: Parameters, k: int) -> Parameters:
    """Cut component k in two along the direction in which its members differ most."""
    membership, _ = posterior(problem.rows, problem.tables(smaller)[0])
    points = _positions(problem)
    share = membership[:, k] * problem.rows.weights
    middle = share @ points / max(share.sum(), 1e-300)
    spread = points - middle
    _, axes = np.linalg.eigh(spread.T @ (share[:, None] * spread))
    upper = np.where(spread @ axes[:, -1] > 0, 0.9, 0.1)
    parts = np.column_stack([membership[:, k] * upper, membership[:, k] * (1 - upper)])
    return problem.from_membership(np.column_stack([np.delete(membership, k, axis=1), parts]))


def _positions(problem: Problem) -> FloatArray:
    """Place each answer between 0 (first category) and 1 (last); missing ones at the mean.

    Numbers get a standard deviation of a quarter.
    """
    rows = problem.rows
    n_levels = rows.layout.n_levels
    present = rows.codes != n_levels
    position = np.where(present, rows.codes / np.maximum(n_levels - 1, 1), 0.0)
    for i, j in enumerate(_numeric(problem)):
        x = rows.numbers.statistics[:, N_STATISTICS * i + 1]
        weight = rows.weights * present[:, j]
        mean = weight @ x / max(weight.sum(), 1e-300)
        deviation = np.sqrt(weight @ (x - mean) ** 2 / max(weight.sum(), 1e-300))
        position[:, j] = np.where(present[:, j], (x - mean) / (4 * deviation or 1.0), 0.0)
    total = rows.weights @ present
    mean = np.divide(rows.weights @ position, total, out=np.zeros(len(total)), where=total > 0)
    return np.where(present, position, mean)


def _numeric(problem: Problem) -> list[int]:
    return [j for j, names in enumerate(problem.candidates) if LAWS[names[0]].takes == "numbers"]
