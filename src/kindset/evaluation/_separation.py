"""Parts of a space that do not touch: no point of one is near a point of another."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from kindset.evaluation._neighbours import nearest_neighbours
from kindset.evaluation._spaces import Space, check_spaces

_N_NEIGHBORS = 10
# With fewer distinct points, neighbours are no local thing.
_FEWEST_POINTS = 30
# Smaller parts are outliers.
_SMALLEST_SHARE = 0.05


def separate_parts(space: ArrayLike) -> NDArray[np.int64]:
    """Return the parts of a space that no chain of nearest neighbours joins.

    Each point is joined to its ten nearest neighbours, copies of a point being one point. Clouds
    without groups hold together, whatever their shape. Groups with a wide gap between them do not.

    Parameters
    ----------
    space : array-like of shape (n_samples, n_features)

    Returns
    -------
    parts : ndarray of shape (n_samples,)
        The part of each point, the largest first; -1 for points in parts that hold less than a
        twentieth of the points. All are 0 if there is one part, or too few points to tell.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.evaluation import separate_parts
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> X[60:] += 20
    >>> np.unique(separate_parts(X), return_counts=True)
    (array([0, 1]), array([60, 40]))
    """
    X = Space.prepare(check_spaces([space])[0]).X
    distinct, copy_of = np.unique(X, axis=0, return_inverse=True)
    n = len(distinct)
    if n < _FEWEST_POINTS:
        return np.zeros(len(X), dtype=np.int64)
    neighbours = nearest_neighbours(distinct, _N_NEIGHBORS)
    rows = np.repeat(np.arange(n), neighbours.shape[1])
    graph = csr_array((np.ones(len(rows)), (rows, neighbours.ravel())), shape=(n, n))
    found = connected_components(graph, directed=False)[1][copy_of.ravel()]
    sizes = np.bincount(found)
    order = np.argsort(-sizes, kind="stable")
    number = np.full(len(sizes), -1, dtype=np.int64)
    large = order[sizes[order] >= max(_SMALLEST_SHARE * len(X), _N_NEIGHBORS + 1)]
    number[large] = np.arange(len(large))
    return number[found] if len(large) > 1 else np.zeros(len(X), dtype=np.int64)
