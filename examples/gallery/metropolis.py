"""Metropolis sampling of a banana-shaped density, from random numbers drawn beforehand."""

import numpy as np
import xla


def log_density(x):
    return -0.5 * (x[0] ** 2 + 4 * (x[1] - x[0] ** 2) ** 2)


@xla.compile
def program(start, steps, uniforms):
    """start (2,), steps (n, 2) normal, uniforms (n,): the chain (n, 2) and the share of accepted steps."""
    n = len(uniforms)
    chain = np.zeros((n, 2))
    x, now = start, log_density(start)
    accepted = 0
    for i in range(n):
        candidate = x + 0.8 * steps[i]
        then = log_density(candidate)
        if np.log(uniforms[i]) < then - now:
            x, now = candidate, then
            accepted += 1
        chain[i] = x
    return chain, accepted / n


def inputs(small, rng):
    n = 40 if small else 20000
    return np.zeros(2), rng.normal(size=(n, 2)), rng.random(n)
