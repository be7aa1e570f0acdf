"""The Mandelbrot set: how many steps each point stays near the origin."""

import numpy as np
import xla


@xla.compile(static_argnames="steps")
def program(x, y, steps=60):
    """x, y (h, w): for each point, the steps of z = z * z + (x + iy) until |z| > 2."""
    re, im = np.zeros_like(x), np.zeros_like(y)
    count = np.zeros_like(x)
    for _ in range(steps):
        inside = re * re + im * im <= 4
        count = count + inside
        re, im = np.where(inside, re * re - im * im + x, re), np.where(inside, 2 * re * im + y, im)
    return count


def inputs(small, rng):
    h, w = (8, 12) if small else (300, 400)
    x, y = np.meshgrid(np.linspace(-2, 1, w), np.linspace(-1.2, 1.2, h))
    return x, y
