"""Ridge regression for several strengths, chosen by the error on held-out data."""

import numpy as np
import xla


@xla.compile
def program(x, y, x_test, y_test, strengths):
    """x (n, d), y (n,): the weights (d,) with the least error on the test data, and all errors."""
    gram, target = x.T @ x, x.T @ y
    best_error, best = np.inf, np.zeros(x.shape[1])
    errors = np.zeros(len(strengths))
    for i, strength in enumerate(strengths):
        weights = np.linalg.solve(gram + strength * np.eye(x.shape[1]), target)
        error = ((x_test @ weights - y_test) ** 2).mean()
        errors[i] = error
        if error < best_error:
            best_error, best = error, weights
    return best, errors


def inputs(small, rng):
    n, d = (30, 4) if small else (2000, 64)
    true = rng.normal(size=d)
    x, x_test = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    noise = lambda: 0.5 * rng.normal(size=n)
    return x, x @ true + noise(), x_test, x_test @ true + noise(), np.logspace(-3, 3, 8)
