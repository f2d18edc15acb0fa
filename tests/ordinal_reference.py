"""Plain, slow versions of what `kindset.ordinal` computes."""

from functools import lru_cache
from itertools import product

import numpy as np
from scipy.special import logsumexp

from kindset.ordinal import bos_pmf, god_pmf

PMF = {"bos": bos_pmf, "god": god_pmf}


def bos_by_search(m, mu, pi):
    """Follow every run of the noisy binary search; mu from 1."""
    mu = mu - 1

    @lru_cache(None)
    def law(low, high, x):
        if high - low == 1:
            return float(x == low)
        total = 0.0
        for y in range(low, high):
            parts = [part for part in ((low, y), (y, y + 1), (y + 1, high)) if part[1] > part[0]]
            nearest = min(parts, key=lambda part: max(part[0] - mu, mu - part[1] + 1, 0))
            for part in parts:
                blind = (part[1] - part[0]) / (high - low)
                total += (pi * (part == nearest) + (1 - pi) * blind) * law(*part, x) / (high - low)
        return total

    return np.array([law(0, m, x) for x in range(m)])


def god_by_enumeration(m, mu, pi):
    """Go through all outcomes of the m - 1 comparisons; mu from 1."""
    patterns = np.array([[j < k for j in range(m - 1)] for k in range(m)], dtype=int)
    truth = patterns[mu - 1]
    out = np.zeros(m)
    for right in product([0, 1], repeat=m - 1):
        right = np.array(right, dtype=int)
        seen = np.where(right == 1, truth, 1 - truth)
        errors = np.abs(patterns - seen).sum(axis=1)
        best = errors == errors.min()
        out += best / best.sum() * pi ** right.sum() * (1 - pi) ** (m - 1 - right.sum())
    return out


def joint_log_density(codes, n_levels, weights, modes, precisions, distribution):
    """Log of weight times density, row by row and component by component; -1 is missing."""
    out = np.zeros((len(codes), len(weights)))
    for i, row in enumerate(codes):
        for k in range(len(weights)):
            out[i, k] = np.log(weights[k])
            for j, x in enumerate(row):
                if x >= 0:
                    pmf = PMF[distribution](n_levels[j], modes[k][j], precisions[k][j])
                    out[i, k] += np.log(pmf[x])
    return out


def log_likelihood(*args):
    return logsumexp(joint_log_density(*args), axis=1).sum()
