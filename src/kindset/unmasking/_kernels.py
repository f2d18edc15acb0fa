"""Unmasking of many pairs of groups: the compiled part.

Every classifier here minimises ``|w|² / 2 + sum of losses`` over linear functions with a bias that
is regularised like a weight, by Newton's method with a line search. Each step is a weighted ridge
regression, solved in the space of the samples or of the features, whichever is smaller. Samples of
a pair are kept feature by feature, so that taking features out is swapping rows to the end.
"""

from typing import Any

import numpy as np

from kindset._compiling import njit

SVM, RIDGE, LOGISTIC = 0, 1, 2

_MAX_STEPS = 50
_TOLERANCE = 1e-9
_jit = njit(cache=True, nogil=True)
# Sums may be reordered by the compiler, always in the same way: that is what makes them fast.
_jit_sums = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})


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
    low = np.full((len(middles), 2, d), np.inf, dtype=X.dtype)
    high = np.full((len(middles), 2, d), -np.inf, dtype=X.dtype)
    for g in range(len(middles)):
        block = _block(values, starts, d, g)
        for i in range(starts[g], starts[g + 1]):
            row, half = X[members[i]], 0 if i < middles[g] else 1
            for j in range(d):
                block[j, i - starts[g]] = row[j]
                low[g, half, j] = min(low[g, half, j], row[j])
                high[g, half, j] = max(high[g, half, j], row[j])
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
            live = _live_features(low[a, fold], low[b, fold], high[a, fold], high[b, fold])
            first = _join(block_a[:, :middle_a], block_b[:, :middle_b], live)
            second = _join(block_a[:, middle_a:], block_b[:, middle_b:], live)
            size_a = block_a.shape[1] - middle_a
            if fold == 0:
                _unmask(first, middle_a, second, size_a, n_removed, C, kind, hits[p], margins[p])
            else:
                _unmask(second, size_a, first, middle_a, n_removed, C, kind, hits[p], margins[p])
    return hits, margins


@_jit
def _live_features(low_a: Any, low_b: Any, high_a: Any, high_b: Any) -> Any:
    """Return the features that are not constant in the training half; others take no part."""
    live = np.empty(len(low_a), dtype=np.int64)
    count = 0
    for j in range(len(low_a)):
        if max(high_a[j], high_b[j]) > min(low_a[j], low_b[j]):
            live[count] = j
            count += 1
    return live[:count]


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
    n_live = d
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
        rest = _features_left(n_live, n_removed, t + 1, n_iterations)
        if rest == d:
            continue
        _set_aside(weights, fitted, tested, d, rest)
        if in_samples:
            if rest >= d - rest:
                _subtract(gram, _gram(fitted[rest:d]))
            # Differences of large numbers lose digits: start afresh where much was taken away.
            if rest < d - rest or _trace(gram) < 0.25 * built:
                gram = _gram(fitted[:rest])
                built = _trace(gram)
        d = rest


@_jit
def _features_left(n_live: int, n_removed: int, t: int, n_iterations: int) -> int:
    """Return how many features take part in iteration t, from 0.

    By default equal numbers go, and as many are left for after the last iteration. Where there are
    fewer features than that, one goes now and then, and some are left to the end.
    """
    if n_removed > 0:
        return max(n_live - t * n_removed, 0)
    share = n_live // (n_iterations + 1)
    return n_live - (t * share if share > 0 else t * n_live // (n_iterations + 1))


@_jit
def _gram(features: Any) -> Any:
    return np.dot(features.T, features)


@_jit
def _subtract(matrix: Any, other: Any) -> None:
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] -= other[i, j]


@_jit
def _trace(gram: Any) -> float:
    total = 0.0
    for i in range(len(gram)):
        total += gram[i, i]
    return total


@_jit_sums
def _combine(fitted: Any, beta: Any, d: int, weights: Any) -> None:
    """Write into `weights` the sum of the samples times `beta`."""
    for j in range(d):
        weights[j] = 0
        row, total = fitted[j], weights[j]
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
    low, high = 0, d - 1
    while low < high:
        pivot = abs(weights[(low + high) // 2])
        i, j = low, high
        while i <= j:
            while abs(weights[i]) < pivot:
                i += 1
            while abs(weights[j]) > pivot:
                j -= 1
            if i <= j:
                if i < j:
                    weights[i], weights[j] = weights[j], weights[i]
                    _swap_rows(fitted, i, j)
                    _swap_rows(tested, i, j)
                i += 1
                j -= 1
        if rest <= j:
            high = j
        elif rest >= i:
            low = i
        else:
            break


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
    kernel = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            kernel[i, j] = gram[i, j] + 1.0
    new_beta = np.empty(n)
    f = _product(kernel, beta)
    for k in range(_MAX_STEPS):
        # After a few features have gone, the model of before is nearly right: try it first.
        warm = k == 0 and curvature[0] >= 0
        if not warm and not _quadratic_model(kind, y, f, C, curvature, target):
            break
        active = _positive(curvature)
        small, solution = np.empty((len(active), len(active))), np.empty(len(active))
        for i in range(len(active)):
            for j in range(i + 1):
                small[i, j] = kernel[active[i], active[j]]
            small[i, i] += 1 / curvature[active[i]]
            solution[i] = target[active[i]]
        _solve(small, solution)
        for i in range(n):
            new_beta[i] = 0.0
        for i in range(len(active)):
            new_beta[active[i]] = solution[i]
        new_f = _product(kernel, new_beta)
        norms = _dot(beta, f), _dot(beta, new_f), _dot(new_beta, new_f)
        step, done = _line_search(kind, y, f, new_f, C, norms)
        _step(beta, new_beta, step)
        _step(f, new_f, step)
        if done and not warm:
            break
    total = 0.0
    for i in range(n):
        total += beta[i]
    return total


@_jit
def _fit_in_features(
    features: Any, y: Any, C: float, kind: int, weights: Any, bias: float
) -> float:
    """Fit the weights themselves; return the bias."""
    d, n = features.shape
    curvature, target = np.full(n, -1.0), np.zeros(n)
    new, old = np.empty(d + 1), np.empty(d + 1)
    old[d] = bias
    for j in range(d):
        old[j] = weights[j]
    f = _decision(features, old)
    for _ in range(_MAX_STEPS):
        if not _quadratic_model(kind, y, f, C, curvature, target):
            break
        active = _positive(curvature)
        scaled = np.empty((d + 1, len(active)), dtype=features.dtype)
        goal = np.empty(len(active))
        for i in range(len(active)):
            root = np.sqrt(curvature[active[i]])
            scaled[d, i] = root
            goal[i] = root * target[active[i]]
            for j in range(d):
                scaled[j, i] = root * features[j, active[i]]
        product, system = _gram(scaled.T), np.empty((d + 1, d + 1))
        for i in range(d + 1):
            for j in range(d + 1):
                system[i, j] = product[i, j]
            system[i, i] += 1.0
        _combine(scaled, goal, d + 1, new)
        _solve(system, new)
        new_f = _decision(features, new)
        norms = _dot(old, old), _dot(old, new), _dot(new, new)
        step, done = _line_search(kind, y, f, new_f, C, norms)
        _step(old, new, step)
        _step(f, new_f, step)
        if done:
            break
    for j in range(d):
        weights[j] = old[j]
    return old[d]


@_jit
def _line_search(
    kind: int, y: Any, f: Any, new_f: Any, C: float, norms: tuple[float, float, float]
) -> tuple[float, bool]:
    """Return the length of a step that makes the objective smaller, and whether it hardly did.

    `norms` are the squared norm of the old weights, their product with the new ones, and the
    squared norm of these.
    """
    own, cross, other = norms
    before = own / 2 + _loss(kind, y, f, 0.0, new_f, C)
    step = 1.0
    while step > 1e-6:
        norm = (1 - step) ** 2 * own + 2 * step * (1 - step) * cross + step**2 * other
        after = norm / 2 + _loss(kind, y, f, step, new_f, C)
        if after < before:
            return step, before - after <= _TOLERANCE * before
        step /= 2
    return 0.0, True


@_jit
def _positive(values: Any) -> Any:
    """Return where values are positive."""
    places = np.empty(len(values), dtype=np.int64)
    count = 0
    for i in range(len(values)):
        if values[i] > 0:
            places[count] = i
            count += 1
    return places[:count]


@_jit
def _step(values: Any, goal: Any, step: float) -> None:
    for i in range(len(values)):
        values[i] += step * (goal[i] - values[i])


@_jit_sums
def _dot(left: Any, right: Any) -> float:
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@_jit_sums
def _product(matrix: Any, vector: Any) -> Any:
    """Return the product of a symmetric matrix and a vector with many zeros."""
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
def _solve(matrix: Any, right: Any) -> None:
    """Solve a positive definite system by Cholesky, in place of both; uses the lower half."""
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
