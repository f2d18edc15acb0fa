"""Unmasking as one would write it with scikit-learn, slowly."""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC


def fit_svm(X, y, C):
    """Return weights and bias of a linear SVM with squared hinge loss and regularised bias."""
    model = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=100_000).fit(X, y)
    return model.coef_[0], model.intercept_[0]


def fit_ridge(X, y, C):
    wide = np.column_stack([X, np.ones(len(X))])
    w = np.linalg.solve(wide.T @ wide + np.eye(wide.shape[1]) / (2 * C), wide.T @ y)
    return w[:-1], w[-1]


def fit_logistic(X, y, C):
    wide = np.column_stack([X, np.ones(len(X))])
    with warnings.catch_warnings(action="ignore"):
        model = LogisticRegression(
            C=C, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky"
        ).fit(wide, y)
    return model.coef_[0, :-1], model.coef_[0, -1]


FITS = {"svm": fit_svm, "ridge": fit_ridge, "logistic": fit_logistic}


def unmask(train_a, train_b, test_a, test_b, *, n_iterations, n_removed=None, C=1.0, fit=fit_svm):
    """Return the right answers by iteration and group."""
    train = np.concatenate([train_a, train_b])
    y = np.r_[-np.ones(len(train_a)), np.ones(len(train_b))]
    live = np.flatnonzero(train.max(axis=0) > train.min(axis=0))
    n_live = len(live)
    step = n_removed or n_live // (n_iterations + 1) or n_live / (n_iterations + 1)
    hits = []
    for t in range(1, n_iterations + 1):
        if len(live):
            w, bias = fit(train[:, live], y, C)
        else:
            w, bias = np.empty(0), len(train_b) - len(train_a)
        right_a = (test_a[:, live] @ w + bias <= 0).sum()
        right_b = (test_b[:, live] @ w + bias > 0).sum()
        hits.append((right_a, right_b))
        live = live[np.argsort(np.abs(w))[: max(n_live - int(t * step + 1e-9), 0)]]
    return np.array(hits)
