"""Link analysis: how central each space is among those it agrees with."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kindset.evaluation._grouping import Compat

_DAMPING = 0.9


def pagerank(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stationary distribution of a walk along weighted edges that restarts with probability 0.1.

    Parameters
    ----------
    edges : ndarray of shape (n, n)
        Symmetric, not negative, zero on the diagonal. From a node without edges the walk goes
        anywhere.

    Examples
    --------
    >>> pagerank(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])).round(3)
    array([0.491, 0.254, 0.254])
    """
    n = len(edges)
    strength = edges.sum(axis=1, keepdims=True)
    steps = np.where(strength > 0, edges / np.where(strength > 0, strength, 1.0), 1.0 / n)
    weights = np.linalg.solve(np.eye(n) - _DAMPING * steps.T, np.full(n, (1 - _DAMPING) / n))
    return np.asarray(weights / weights.sum())


def _iterated_pagerank(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Let networkx iterate, which stops early; equal weights if it does not settle."""
    import networkx as nx

    n = len(edges)
    try:
        found = nx.pagerank(nx.from_numpy_array(edges), alpha=_DAMPING)
    except nx.PowerIterationFailedConvergence:
        return np.full(n, 1.0 / n)
    return np.array([found[i] for i in range(n)])


def authority(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the authority values of HITS: the limit of its iteration from equal values."""
    n = len(edges)
    values, vectors = np.linalg.eigh(edges @ edges)
    if values[-1] <= 0:
        return np.full(n, 1.0 / n)
    # With several components the largest value may be multiple; the iteration ends in the
    # projection of where it starts.
    leading = vectors[:, values >= values[-1] * (1 - 1e-9)]
    weights = np.abs(leading @ leading.sum(axis=0))
    return np.asarray(weights / weights.sum())


def link_weights(
    edges: NDArray[np.float64],
    link: Literal["pagerank", "hits"] = "pagerank",
    compat: Compat = None,
) -> NDArray[np.float64]:
    """Weights of the spaces of one subgroup, summing to one."""
    if len(edges) == 1:
        return np.ones(1)
    if link == "hits":
        return authority(edges)
    return pagerank(edges) if compat is None else _iterated_pagerank(edges)
