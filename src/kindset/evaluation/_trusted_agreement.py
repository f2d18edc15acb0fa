"""Agreement of each partition with the partitions that score well."""

import math

import numpy as np
from numpy.typing import NDArray

# How fast the trust in a partition falls with its score.
_POWER = 4
# Keeps all weights positive: if no partition scores above 0, all are trusted equally.
_MIN_TRUST = 1e-9
# Share of the trusted agreement in the verdict, chosen on the development pools.
_SHARE = 0.5


def trusted_agreement(
    scores: NDArray[np.float64], adjusted_rand: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Average the agreement of each partition with the others, weighted by their scores.

    .. math:: A_p = \frac{\sum_{r \ne p} t_r \mathrm{ARI}(p, r)}{\sum_{r \ne p} t_r},
        \quad t_r = \max(0, s_r)^4 + 10^{-9}

    The plain mean agreement follows the majority, also where most partitions are bad. Here the bad
    ones have little weight.

    Parameters
    ----------
    scores : ndarray of shape (n_partitions,)
        The scores of `neighbour_information`.
    adjusted_rand : ndarray of shape (n_partitions, n_partitions)
        The matrix of `agreement`.

    Returns
    -------
    agreement : ndarray of shape (n_partitions,)
        0 for a single partition.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.evaluation import trusted_agreement
    >>> table = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> trusted_agreement(np.array([0.6, 0.5, 0.1]), table).round(3)
    array([0.799, 0.799, 0.   ])
    """
    trust = np.maximum(scores, 0.0) ** _POWER + _MIN_TRUST
    result = np.zeros(len(scores))
    for p, row in enumerate(adjusted_rand):
        others = np.delete(trust, p)
        if len(others):
            # Exact sums do not depend on the order of the partitions.
            result[p] = math.fsum(others * np.delete(row, p)) / math.fsum(others)
    return result


def verdict_scores(
    scores: NDArray[np.float64], adjusted_rand: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Score partitions by neighbour information plus half the trusted agreement.

    Of the rules that were compared on pools of runs, this is the recommended one.

    Parameters
    ----------
    scores : ndarray of shape (n_partitions,)
        The scores of `neighbour_information`.
    adjusted_rand : ndarray of shape (n_partitions, n_partitions)
        The matrix of `agreement`.

    Returns
    -------
    scores : ndarray of shape (n_partitions,)
        Larger is better.

    Examples
    --------
    >>> import numpy as np
    >>> from kindset.evaluation import verdict_scores
    >>> table = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> verdict_scores(np.array([0.6, 0.5, 0.1]), table).round(2)
    array([1. , 0.9, 0.1])
    """
    return np.asarray(scores + _SHARE * trusted_agreement(scores, adjusted_rand))
