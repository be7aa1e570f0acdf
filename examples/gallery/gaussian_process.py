"""Gaussian process regression: mean and variance at new places, and the log likelihood."""

import numpy as np
import xla


def kernel(a, b, scale):
    square = (a**2).sum(axis=1)[:, None] - 2 * a @ b.T + (b**2).sum(axis=1)
    return np.exp(-0.5 * np.maximum(square, 0) / scale**2)


@xla.compile
def program(x, y, places, scale, noise):
    """x (n, d), y (n,), places (m, d): means (m,), variances (m,), the log likelihood of y."""
    n = len(y)
    covariance = kernel(x, x, scale) + noise * np.eye(n)
    lower = np.linalg.cholesky(covariance)
    weights = np.linalg.solve(covariance, y)
    cross = kernel(places, x, scale)
    mean = cross @ weights
    variance = 1 + noise - (cross * np.linalg.solve(covariance, cross.T).T).sum(axis=1)
    likelihood = -0.5 * y @ weights - np.log(np.diag(lower)).sum() - 0.5 * n * np.log(2 * np.pi)
    return mean, variance, likelihood


def inputs(small, rng):
    n, m = (15, 6) if small else (300, 200)
    x = rng.random((n, 2)) * 4
    return x, np.sin(x[:, 0]) * np.cos(x[:, 1]), rng.random((m, 2)) * 4, 1.0, 1e-2
