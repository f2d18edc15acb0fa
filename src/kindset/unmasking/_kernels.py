"""Unmasking of many pairs of groups: the compiled part.

Every classifier here minimises ``|w|² / 2 + sum of losses`` over linear functions with a bias that
is regularised like a weight, by Newton's method with a line search. Each step is a weighted ridge
regression, solved in the space of the samples or of the features, whichever is smaller. Samples of
a pair are kept feature by feature, so that taking features out is swapping rows to the end.
"""

from typing import Any

import numba
import numpy as np

SVM, RIDGE, LOGISTIC = 0, 1, 2

_MAX_STEPS = 50
_TOLERANCE = 1e-9
_jit = numba.njit(cache=True, nogil=True)
# Sums may be reordered by the compiler, always in the same way: that is what makes them fast.
_jit_sums = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


@_jit
def build_blocks(X: Any, members: Any, starts: Any, middles: Any) -> Any:
    """Copy the samples of each group, feature by feature, and note the features' ranges.

    Group g holds the samples ``members[starts[g]:starts[g + 1]]``, those before ``middles[g]`` for
    training, the others for testing.

    Returns
    -------
    values : ndarray of shape (n_members * n_features,)
        One block of shape (n_features, size) for each group.
    low, high : ndarray of shape (n_groups, 2, n_features)
        The ranges of the features in each half of each group.
    """
    d = X.shape[1]
    values = np.empty(len(members) * d, dtype=X.dtype)
    low = np.empty((len(middles), 2, d), dtype=X.dtype)
    high = np.empty((len(middles), 2, d), dtype=X.dtype)
    for g in range(len(middles)):
        block = _block(values, starts, d, g)
        for i in range(starts[g], starts[g + 1]):
            block[:, i - starts[g]] = X[members[i]]
        middle = middles[g] - starts[g]
        for j in range(d):
            low[g, 0, j], high[g, 0, j] = block[j, :middle].min(), block[j, :middle].max()
            low[g, 1, j], high[g, 1, j] = block[j, middle:].min(), block[j, middle:].max()
    return values, low, high


@_jit
def _block(values: Any, starts: Any, d: int, group: int) -> Any:
    start, stop = starts[group], starts[group + 1]
    return values[start * d : stop * d].reshape((d, stop - start))


@_jit
def unmask_pairs(
    blocks: Any, starts: Any, middles: Any, pairs: Any, n_iterations: int, n_removed: int,
    C: float, kind: int, cross_fit: bool,
) -> Any:  # fmt: skip
    """Unmask pairs of groups; return per pair, iteration and group what was told apart.

    The groups are those that `build_blocks` was given; with `cross_fit` their halves change places
    once, and both results are added.

    Returns
    -------
    hits, margins : ndarray of shape (n_pairs, n_iterations, 2)
        Test samples on the right side, and the same counted softly: a sample adds its signed
        decision value, cut off at -1 and 1 and moved to the range from 0 to 1.
    """
    values, low, high = blocks
    d = low.shape[2]
    hits = np.zeros((len(pairs), n_iterations, 2))
    margins = np.zeros((len(pairs), n_iterations, 2))
    for p in range(len(pairs)):
        a, b = pairs[p]
        block_a, block_b = _block(values, starts, d, a), _block(values, starts, d, b)
        middle_a, middle_b = middles[a] - starts[a], middles[b] - starts[b]
        for fold in range(2 if cross_fit else 1):
            # Features that are constant in the training half take no part.
            live = np.flatnonzero(
                np.maximum(high[a, fold], high[b, fold]) > np.minimum(low[a, fold], low[b, fold])
            )
            first = _join(block_a[:, :middle_a], block_b[:, :middle_b], live)
            second = _join(block_a[:, middle_a:], block_b[:, middle_b:], live)
            size_a = block_a.shape[1] - middle_a
            if fold == 0:
                _unmask(first, middle_a, second, size_a, n_removed, C, kind, hits[p], margins[p])
            else:
                _unmask(second, size_a, first, middle_a, n_removed, C, kind, hits[p], margins[p])
    return hits, margins


@_jit
def _join(left: Any, right: Any, live: Any) -> Any:
    n, m = left.shape[1], right.shape[1]
    out = np.empty((len(live), n + m), dtype=left.dtype)
    for j in range(len(live)):
        row, a, b = out[j], left[live[j]], right[live[j]]
        for i in range(n):
            row[i] = a[i]
        for i in range(m):
            row[n + i] = b[i]
    return out


@_jit
def _unmask(
    fitted: Any, n_first: int, tested: Any, n_first_tested: int, n_removed: int, C: float,
    kind: int, hits: Any, margins: Any,
) -> None:  # fmt: skip
    """Train, test, remove the strongest features, and again; add to `hits` and `margins`."""
    n_iterations = len(hits)
    d, n = fitted.shape
    y = np.ones(n)
    y[:n_first] = -1.0
    step = n_removed if n_removed > 0 else max(1, d // (n_iterations + 1))
    in_samples = n <= d
    beta, curvature, target = np.zeros(n), np.full(n, -1.0), np.zeros(n)
    weights, bias = np.zeros(d, dtype=fitted.dtype), 0.0
    gram = _gram(fitted) if in_samples else np.zeros((0, 0), dtype=fitted.dtype)
    built = _trace(gram)
    for t in range(n_iterations):
        if d == 0:
            bias = float(n - 2 * n_first)
        elif in_samples:
            bias = _fit_in_samples(gram, y, C, kind, beta, curvature, target)
            _combine(fitted, beta.astype(fitted.dtype), d, weights)
        else:
            bias = _fit_in_features(fitted[:d], y, C, kind, weights[:d], bias)
        _test(tested, weights, bias, d, n_first_tested, hits[t], margins[t])
        if t == n_iterations - 1 or d == 0:
            continue
        rest = max(d - step, 0)
        _set_aside(weights, fitted, tested, d, rest)
        if in_samples:
            if rest >= d - rest:
                gram -= _gram(fitted[rest:d])
            # Differences of large numbers lose digits: start afresh where much was taken away.
            if rest < d - rest or _trace(gram) < 0.25 * built:
                gram = _gram(fitted[:rest])
                built = _trace(gram)
        d = rest


@_jit
def _gram(features: Any) -> Any:
    return np.dot(features.T, features)


@_jit
def _trace(gram: Any) -> float:
    total = 0.0
    for i in range(len(gram)):
        total += gram[i, i]
    return total


@_jit_sums
def _combine(fitted: Any, beta: Any, d: int, weights: Any) -> None:
    for j in range(d):
        row, total = fitted[j], weights[j] * 0
        for i in range(len(beta)):
            total += row[i] * beta[i]
        weights[j] = total


@_jit
def _test(
    tested: Any, weights: Any, bias: float, d: int, n_first: int, hits: Any, margins: Any
) -> None:
    decision = np.full(tested.shape[1], tested.dtype.type(bias))
    for j in range(d):
        weight, row = weights[j], tested[j]
        for i in range(len(decision)):
            decision[i] += weight * row[i]
    for i in range(len(decision)):
        group = 0 if i < n_first else 1
        if (decision[i] > 0) == (group == 1):
            hits[group] += 1
        signed = decision[i] if group == 1 else -decision[i]
        margins[group] += (min(max(signed, -1.0), 1.0) + 1) / 2


@_jit
def _set_aside(weights: Any, fitted: Any, tested: Any, d: int, rest: int) -> None:
    """Move the features of largest absolute weight behind the first `rest` ones."""
    if rest == 0:
        return
    size = np.abs(weights[:d])
    limit = np.partition(size, rest)[rest]
    equal_to_keep = rest - (size < limit).sum()
    j, end = 0, d
    while j < end:
        value = abs(weights[j])
        keep = value < limit
        if value == limit and equal_to_keep > 0:
            keep = True
            equal_to_keep -= 1
        if keep:
            j += 1
        else:
            end -= 1
            _swap_rows(fitted, j, end)
            _swap_rows(tested, j, end)
            weights[j], weights[end] = weights[end], weights[j]


@_jit
def _swap_rows(array: Any, i: int, j: int) -> None:
    for k in range(array.shape[1]):
        array[i, k], array[j, k] = array[j, k], array[i, k]


@_jit
def _quadratic_model(kind: int, y: Any, f: Any, C: float, curvature: Any, target: Any) -> bool:
    """Write each sample's loss as ``curvature / 2 * (f - target)²`` around f.

    Return whether anything changed. A new classifier is a branch here and one in `_loss`.
    """
    changed = False
    for i in range(len(y)):
        if kind == LOGISTIC:
            p = 1 / (1 + np.exp(-y[i] * f[i]))
            bend = max(C * p * (1 - p), 1e-12)
            goal = f[i] + C * y[i] * (1 - p) / bend
        else:
            bend = 2 * C if kind == RIDGE or y[i] * f[i] < 1 else 0.0
            goal = y[i]
        changed = changed or bend != curvature[i] or goal != target[i]
        curvature[i], target[i] = bend, goal
    return changed


@_jit
def _loss(kind: int, y: Any, f: Any, step: float, new_f: Any, C: float) -> float:
    """Return the sum of the losses at ``f + step * (new_f - f)``."""
    total = 0.0
    for i in range(len(y)):
        margin = y[i] * (f[i] + step * (new_f[i] - f[i]))
        if kind == LOGISTIC:
            total += np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0)
        elif kind == RIDGE or margin < 1:
            total += (1 - margin) ** 2
    return C * total


@_jit
def _fit_in_samples(
    gram: Any, y: Any, C: float, kind: int, beta: Any, curvature: Any, target: Any
) -> float:
    """Fit with weights that are sums of `beta` times samples; return the bias.

    `beta` and the quadratic model of an earlier fit, if there is one, are where it starts.
    """
    n = len(y)
    kernel = gram.astype(np.float64) + 1.0
    new_beta, new_f = np.empty(n), np.empty(n)
    f = _symmetric_product(kernel, beta)
    for k in range(_MAX_STEPS):
        if (k > 0 or curvature[0] < 0) and not _quadratic_model(kind, y, f, C, curvature, target):
            break
        active = np.flatnonzero(curvature > 0)
        if len(active) == 0:
            break
        small = np.empty((len(active), len(active)))
        for i in range(len(active)):
            for j in range(i + 1):
                small[i, j] = kernel[active[i], active[j]]
            small[i, i] += 1 / curvature[active[i]]
        new_beta[:] = 0.0
        new_beta[active] = _solve(small, target[active])
        new_f[:] = _symmetric_product(kernel, new_beta)
        own, cross, other = beta @ f, beta @ new_f, new_beta @ new_f
        step, done = _line_search(kind, y, f, new_f, C, own, cross, other)
        beta += step * (new_beta - beta)
        f += step * (new_f - f)
        if done and k > 0:
            break
    return beta.sum()


@_jit
def _fit_in_features(
    features: Any, y: Any, C: float, kind: int, weights: Any, bias: float
) -> float:
    """Fit the weights themselves; return the bias."""
    d, n = features.shape
    curvature, target = np.full(n, -1.0), np.zeros(n)
    new, old = np.empty(d + 1), np.empty(d + 1)
    old[:d], old[d] = weights, bias
    f = _decision(features, old)
    for _ in range(_MAX_STEPS):
        if not _quadratic_model(kind, y, f, C, curvature, target):
            break
        active = np.flatnonzero(curvature > 0)
        scaled = np.empty((d + 1, len(active)), dtype=features.dtype)
        goal = np.empty(len(active))
        for i in range(len(active)):
            root = np.sqrt(curvature[active[i]])
            scaled[d, i] = root
            goal[i] = root * target[active[i]]
            for j in range(d):
                scaled[j, i] = root * features[j, active[i]]
        system = np.dot(scaled, scaled.T).astype(np.float64)
        for j in range(d + 1):
            system[j, j] += 1.0
        _combine(scaled, goal, d + 1, new)
        new[:] = _solve(system, new.copy())
        new_f = _decision(features, new)
        step, done = _line_search(kind, y, f, new_f, C, old @ old, old @ new, new @ new)
        old += step * (new - old)
        f += step * (new_f - f)
        if done:
            break
    weights[:] = old[:d]
    return old[d]


@_jit
def _line_search(
    kind: int, y: Any, f: Any, new_f: Any, C: float, own: float, cross: float, other: float
) -> tuple[float, bool]:
    """Return the length of a step that makes the objective smaller, and whether it hardly did.

    The squared norms of the old and the new weights and their product are `own`, `other`, `cross`.
    """
    before = own / 2 + _loss(kind, y, f, 0.0, new_f, C)
    step = 1.0
    while step > 1e-6:
        norm = (1 - step) ** 2 * own + 2 * step * (1 - step) * cross + step**2 * other
        after = norm / 2 + _loss(kind, y, f, step, new_f, C)
        if after < before:
            return step, before - after <= _TOLERANCE * before
        step /= 2
    return 0.0, True


@_jit_sums
def _symmetric_product(matrix: Any, vector: Any) -> Any:
    out = np.zeros(len(vector))
    for j in range(len(vector)):
        if vector[j] != 0:
            row, value = matrix[j], vector[j]
            for i in range(len(vector)):
                out[i] += row[i] * value
    return out


@_jit
def _decision(features: Any, weights: Any) -> Any:
    d, n = features.shape
    out = np.full(n, weights[d])
    for j in range(d):
        row, weight = features[j], weights[j]
        for i in range(n):
            out[i] += weight * row[i]
    return out


@_jit_sums
def _solve(matrix: Any, right: Any) -> Any:
    """Solve a positive definite system by Cholesky; the lower half of `matrix` is overwritten."""
    n = len(right)
    for i in range(n):
        row = matrix[i]
        for j in range(i):
            other, total = matrix[j], row[j]
            for k in range(j):
                total -= row[k] * other[k]
            row[j] = total / other[j]
        total = row[i]
        for k in range(i):
            total -= row[k] * row[k]
        row[i] = np.sqrt(max(total, 1e-300))
    for i in range(n):
        row, total = matrix[i], right[i]
        for k in range(i):
            total -= row[k] * right[k]
        right[i] = total / row[i]
    for i in range(n - 1, -1, -1):
        row = matrix[i]
        right[i] /= row[i]
        for k in range(i):
            right[k] -= row[k] * right[i]
    return right
