"""Convolution of a signal with a long kernel through the Fourier transform."""

import numpy as np
import xla


@xla.compile
def program(signal, kernel):
    """signal (c, n), kernel (m,): each channel convolved with the kernel, (c, n + m - 1)."""
    n = signal.shape[1] + kernel.shape[0] - 1
    size = 1
    while size < n:
        size *= 2
    spectrum = np.fft.rfft(signal, size) * np.fft.rfft(kernel, size)
    return np.fft.irfft(spectrum, size)[:, :n]


def inputs(small, rng):
    c, n, m = (2, 50, 7) if small else (8, 30000, 2000)
    return rng.normal(size=(c, n)), rng.normal(size=m)
