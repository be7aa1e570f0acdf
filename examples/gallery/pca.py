"""Principal components: the directions in which data vary most, and the data along them."""

import numpy as np
import xla


@xla.compile(static_argnames="count")
def program(data, count=3):
    """data (n, d): shares of the variance (count,), absolute coordinates along them (n, count)."""
    centred = data - data.mean(axis=0)
    covariance = centred.T @ centred / (len(data) - 1)
    values, vectors = np.linalg.eigh(covariance)
    first = vectors[:, ::-1][:, :count]
    return values[::-1][:count] / values.sum(), np.abs(centred @ first)


def inputs(small, rng):
    n, d = (40, 5) if small else (20000, 40)
    return (rng.normal(size=(n, d)) * np.arange(1, d + 1),)
