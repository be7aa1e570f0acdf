"""k-means: points are put to the nearest centre, centres move to the mean of their points."""

import numpy as np
import xla


@xla.compile(static_argnames="steps")
def program(points, centres, steps=30):
    """points (n, d), centres (k, d): the centres after `steps` rounds, and each point's centre."""
    squares = (points**2).sum(axis=1)[:, None]
    for _ in range(steps):
        distance = squares - 2 * (points @ centres.T) + (centres**2).sum(axis=1)
        nearest = distance.argmin(axis=1)
        member = (nearest[:, None] == np.arange(len(centres))).astype(points.dtype)
        count = member.sum(axis=0)[:, None]
        centres = np.where(count > 0, member.T @ points / np.maximum(count, 1), centres)
    return centres, nearest


def inputs(small, rng):
    n, d, k = (60, 2, 4) if small else (10000, 8, 16)
    points = rng.normal(size=(n, d)) + 5 * rng.integers(0, 3, size=(n, 1))
    return points, points[:k].copy()
