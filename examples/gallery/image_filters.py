"""Filters of an image: a Gaussian blur, edges by Sobel's masks, and sharpening."""

import numpy as np
import xla


def shifted_sum(image, weights, axis):
    radius = len(weights) // 2
    padding = [(0, 0), (0, 0)]
    padding[axis] = (radius, radius)
    wide = np.pad(image, padding, mode="edge")
    n = image.shape[axis]
    total = 0.0
    for i, weight in enumerate(weights):
        part = wide[i : i + n] if axis == 0 else wide[:, i : i + n]
        total = total + weight * part
    return total


@xla.compile
def program(image):
    """image (h, w): blurred, edges, sharpened, each (h, w)."""
    kernel = np.exp(-0.5 * (np.arange(-4, 5) / 1.5) ** 2)
    kernel = kernel / kernel.sum()
    blurred = shifted_sum(shifted_sum(image, kernel, 0), kernel, 1)
    smooth, slope = np.array([0.25, 0.5, 0.25]), np.array([-0.5, 0.0, 0.5])
    across = shifted_sum(shifted_sum(blurred, smooth, 0), slope, 1)
    down = shifted_sum(shifted_sum(blurred, smooth, 1), slope, 0)
    sharpened = np.clip(image + 1.5 * (image - blurred), 0.0, 1.0)
    return blurred, np.sqrt(across**2 + down**2), sharpened


def inputs(small, rng):
    return (rng.random((12, 15) if small else (600, 800)),)
