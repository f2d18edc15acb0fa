"""Where EM starts from, by name.

A new kind of start is one function that returns parameters, and one entry in `STARTS`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kindset.ordinal._coefficients import FloatArray
from kindset.ordinal._distributions import DISTRIBUTIONS, MAX_PRECISION
from kindset.ordinal._em import Fit, Parameters, Problem, extend_em

_KMEANS_ITERATIONS = 10
_TRIES = 4


def random_parameters(problem: Problem, rng: np.random.RandomState) -> Parameters:
    """Draw every parameter uniformly from its range."""
    shape = (problem.n_components, len(problem.candidates))
    distributions = tuple(names[rng.randint(len(names))] for names in problem.candidates)
    low = np.array([DISTRIBUTIONS[name].min_precision for name in distributions])
    return Parameters(
        rng.dirichlet(np.ones(problem.n_components)),
        rng.randint(problem.rows.layout.n_levels, size=shape),
        low + (MAX_PRECISION - low) * rng.random_sample(shape),
        distributions,
    )


def at_rows(problem: Problem, rng: np.random.RandomState) -> Parameters:
    """Put the components on random rows, with random precisions."""
    rows, n_components = problem.rows, problem.n_components
    chance = rows.weights / rows.weights.sum()
    drawn = rng.choice(len(rows), n_components, replace=len(rows) < n_components, p=chance)
    parameters = random_parameters(problem, rng)
    answers = rows.codes[drawn].astype(np.int64)
    return replace(
        parameters,
        weights=np.full(n_components, 1 / n_components),
        modes=np.where(answers == rows.layout.n_levels, parameters.modes, answers),
    )


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
    for iterations, survivors in ((4, 2), (10, 1), (max_iter, 1)):
        for fit in fits:
            extend_em(problem, fit, max_iter=min(iterations, max_iter), tol=tol)
            if fit.interrupted:
                return max(fits, key=lambda fit: fit.objective)
        fits = sorted(fits, key=lambda fit: -fit.objective)[:survivors]
    return fits[0]


def _positions(problem: Problem) -> FloatArray:
    """Place each answer between 0 (first category) and 1 (last); missing ones at the mean."""
    rows = problem.rows
    n_levels = rows.layout.n_levels
    present = rows.codes != n_levels
    position = np.where(present, rows.codes / np.maximum(n_levels - 1, 1), 0.0)
    total = rows.weights @ present
    mean = np.divide(rows.weights @ position, total, out=np.zeros(len(total)), where=total > 0)
    return np.where(present, position, mean)
