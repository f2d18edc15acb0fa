"""Three-step estimation written out plainly, and tables to try it on."""

import numpy as np
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax
from scipy.stats import norm

PIS = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]])


def simulate(n, seed, separation=0.8, sizes=(0.4, 0.35, 0.25)):
    """Draw true segments and their membership probabilities from six yes-no questions."""
    rng = np.random.default_rng(seed)
    sizes = np.array(sizes)
    z = rng.choice(3, size=n, p=sizes)
    chance = np.where(PIS == 1, separation, 1 - separation)
    X = rng.random((n, 6)) < chance[z]
    return z, posteriors_for(X, sizes, chance), rng


def posteriors_for(X, sizes, chance):
    log = np.log(sizes) + X @ np.log(chance.T) + (1 - X) @ np.log(1 - chance.T)
    p = np.exp(log - log.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def assigned_and_errors(P, weights, proportional):
    n, K = P.shape
    W = P.copy()
    if not proportional:
        W = np.zeros_like(P)
        for i in range(n):
            W[i, np.argmax(P[i])] = 1
    D = np.zeros((K, K))
    for c in range(K):
        for s in range(K):
            D[c, s] = sum(weights[i] * P[i, c] * W[i, s] for i in range(n))
        D[c] /= D[c].sum()
    return W, D


def bch_mean(P, y, weights, proportional=False):
    """Return the corrected means and their robust covariance."""
    W, D = assigned_and_errors(P, weights, proportional)
    inverse = np.linalg.inv(D)
    K = P.shape[1]
    own = np.zeros_like(P)
    for i in range(len(P)):
        for c in range(K):
            own[i, c] = weights[i] * sum(W[i, s] * inverse[s, c] for s in range(K))
    means = np.array([own[:, c] @ y / own[:, c].sum() for c in range(K)])
    influence = own * (y[:, None] - means) / own.sum(axis=0)
    return means, influence.T @ influence


def ml_objective(P, weights, log_density, proportional=False):
    """Return the rows' parts of the log-likelihood of step three, as a function of parameters."""
    W, D = assigned_and_errors(P, weights, proportional)
    sizes = weights @ P / weights.sum()

    def rows(parameters):
        density = np.exp(log_density(parameters))
        out = np.zeros(len(P))
        for s in range(P.shape[1]):
            out += W[:, s] * np.log(density @ (sizes * D[:, s]))
        return weights * out

    return rows


def normal_density(y, n_segments):
    def log_density(parameters):
        mean, log_sd = parameters[:n_segments], parameters[n_segments:]
        return norm.logpdf(y[:, None], mean, np.exp(log_sd))

    return log_density


def share_density(codes, n_segments, n_levels):
    def log_density(parameters):
        logits = np.column_stack([parameters.reshape(n_segments, -1), np.zeros(n_segments)])
        return log_softmax(logits, axis=1).T[codes]

    return log_density


def maximise(rows, start):
    return minimize(lambda p: -rows(p).sum(), start, method="BFGS", options={"gtol": 1e-7}).x


def numeric_sandwich(rows, at):
    """Return the robust covariance from numeric derivatives."""
    size = len(at)

    def gradient(p):
        step = 1e-5
        return np.array([
            (rows(p + step * e) - rows(p - step * e)) / (2 * step) for e in np.eye(size)
        ])  # fmt: skip

    hessian = np.array([
        (gradient(at + 1e-4 * e).sum(axis=1) - gradient(at - 1e-4 * e).sum(axis=1)) / 2e-4
        for e in np.eye(size)
    ])  # fmt: skip
    bread = np.linalg.inv(hessian)
    scores = gradient(at)
    return bread @ (scores @ scores.T) @ bread


def jacobian(function, at):
    return np.array([
        approx_fprime(at, lambda p, i=i: function(p)[i], 1e-6) for i in range(len(function(at)))
    ])  # fmt: skip
