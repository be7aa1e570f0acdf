"""Conjugate gradients for a symmetric positive definite system, until the residual is small."""

import numpy as np
import xla


@xla.compile
def program(a, b, tolerance):
    """a (n, n), b (n,): x with a @ x = b, and the number of steps."""
    x = np.zeros_like(b)
    residual = b - a @ x
    direction = residual
    size = residual @ residual
    steps = 0
    while np.sqrt(size) > tolerance:
        product = a @ direction
        alpha = size / (direction @ product)
        x = x + alpha * direction
        residual = residual - alpha * product
        before, size = size, residual @ residual
        direction = residual + (size / before) * direction
        steps += 1
        if steps == 1000:
            break
    return x, steps


def inputs(small, rng):
    n = 12 if small else 500
    half = rng.normal(size=(n, n)) / np.sqrt(n)
    return half @ half.T + np.eye(n), rng.normal(size=n), 1e-8
