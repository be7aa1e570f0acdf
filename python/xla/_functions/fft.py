"""numpy.fft: transforms along one axis by HLO's fft, those along several one axis after the other."""

import numpy as np

from .. import _ops
from .._tracer import concrete, normalize_axis, tracer_of
from ._support import composite, part_type, traced


def _complex(a):
    """a in the complex type that NumPy transforms it in."""
    return (
        a if a.dtype.kind == "c" else a.astype(np.complex64 if a.dtype in (np.float16, np.float32) else np.complex128)
    )


def _real(a):
    if a.dtype.kind == "c":
        raise TypeError("ufunc 'rfft_n_even' did not contain a loop with signature matching types of complex numbers")
    return (
        a
        if a.dtype.kind == "f" and a.dtype != np.float16
        else a.astype(np.float32 if a.dtype == np.float16 else np.float64)
    )


def _scale(norm, n, inverse):
    """What the unscaled transform of length n is multiplied with, or None."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return 1 / np.sqrt(n)
    return 1 / n if (norm == "forward") != inverse else None


def _resize(a, n):
    """The last axis cut, or filled with zeros at its end, to length n."""
    have = a.shape[-1]
    if n < have:
        return a[..., :n]
    return a if n == have else np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, n - have)])


def _length(n):
    n = int(concrete(n, "the length of a transform"))
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def _transform(a, kind, n, axis, norm):
    """One axis of a by `kind` (FFT, IFFT, RFFT, IRFFT); n: length of the transform or None."""
    a = tracer_of(a)
    axis = normalize_axis(axis, a.ndim)
    a = np.moveaxis(a, axis, -1)
    real_out = kind == "IRFFT"
    n = _length((2 * (a.shape[-1] - 1) if real_out else a.shape[-1]) if n is None else n)
    a = _real(a) if kind == "RFFT" else _complex(a)
    a = _resize(a, n // 2 + 1 if real_out else n)
    shape = a.shape[:-1] + (n // 2 + 1 if kind == "RFFT" else n,)
    part = part_type(a.dtype)
    dtype = part if real_out else np.result_type(part, np.complex64)
    x = traced(_ops._emit("fft", dtype, shape, [a.value], f"fft_type={kind}, fft_length={{{n}}}"))
    inverse = kind in ("IFFT", "IRFFT")
    scale = _scale(norm, n, inverse)
    if inverse:  # HLO's inverse transforms divide by n
        scale = None if scale == 1 / n else n * (scale or 1)
    if scale is not None:
        x = x * part.type(scale)
    return np.moveaxis(x, -1, axis)


@composite(np.fft.fft)
def fft(a, n=None, axis=-1, norm=None):
    return _transform(a, "FFT", n, axis, norm)


@composite(np.fft.ifft)
def ifft(a, n=None, axis=-1, norm=None):
    return _transform(a, "IFFT", n, axis, norm)


@composite(np.fft.rfft)
def rfft(a, n=None, axis=-1, norm=None):
    return _transform(a, "RFFT", n, axis, norm)


@composite(np.fft.irfft)
def irfft(a, n=None, axis=-1, norm=None):
    return _transform(a, "IRFFT", n, axis, norm)


_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


@composite(np.fft.hfft)
def hfft(a, n=None, axis=-1, norm=None):
    return _transform(np.conj(tracer_of(a)), "IRFFT", n, axis, _SWAPPED.get(norm, norm))


@composite(np.fft.ihfft)
def ihfft(a, n=None, axis=-1, norm=None):
    return np.conj(_transform(a, "RFFT", n, axis, _SWAPPED.get(norm, norm)))


def _axes(a, s, axes, real_out=False):
    """(axes, length of each or None)."""
    if s is None:
        axes = list(range(a.ndim)) if axes is None else list(axes)
        return axes, [None] * len(axes)
    axes = list(range(-len(s), 0)) if axes is None else list(axes)
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    lengths = [None if n == -1 and not (real_out and i == len(s) - 1) else n for i, n in enumerate(s)]
    return axes, [None if n == -1 else n for n in lengths]


def _several(a, kind, s, axes, norm):
    a = tracer_of(a)
    for axis, n in reversed(list(zip(*_axes(a, s, axes)))):
        a = _transform(a, kind, n, axis, norm)
    return a


@composite(np.fft.fftn)
def fftn(a, s=None, axes=None, norm=None):
    return _several(a, "FFT", s, axes, norm)


@composite(np.fft.ifftn)
def ifftn(a, s=None, axes=None, norm=None):
    return _several(a, "IFFT", s, axes, norm)


@composite(np.fft.fft2)
def fft2(a, s=None, axes=(-2, -1), norm=None):
    return _several(a, "FFT", s, axes, norm)


@composite(np.fft.ifft2)
def ifft2(a, s=None, axes=(-2, -1), norm=None):
    return _several(a, "IFFT", s, axes, norm)


def _rfftn(a, s, axes, norm):
    a = tracer_of(a)
    axes, lengths = _axes(a, s, axes)
    a = _transform(a, "RFFT", lengths[-1], axes[-1], norm)
    for axis, n in list(zip(axes, lengths))[:-1][::-1]:
        a = _transform(a, "FFT", n, axis, norm)
    return a


def _irfftn(a, s, axes, norm):
    a = tracer_of(a)
    axes, lengths = _axes(a, s, axes, real_out=True)
    for axis, n in list(zip(axes, lengths))[:-1]:
        a = _transform(a, "IFFT", n, axis, norm)
    return _transform(a, "IRFFT", lengths[-1], axes[-1], norm)


@composite(np.fft.rfftn)
def rfftn(a, s=None, axes=None, norm=None):
    return _rfftn(a, s, axes, norm)


@composite(np.fft.rfft2)
def rfft2(a, s=None, axes=(-2, -1), norm=None):
    return _rfftn(a, s, axes, norm)


@composite(np.fft.irfftn)
def irfftn(a, s=None, axes=None, norm=None):
    return _irfftn(a, s, axes, norm)


@composite(np.fft.irfft2)
def irfft2(a, s=None, axes=(-2, -1), norm=None):
    return _irfftn(a, s, axes, norm)


@composite(np.fft.fftshift)
def fftshift(x, axes=None):
    x = tracer_of(x)
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    return np.roll(x, [x.shape[a] // 2 for a in axes], axes)


@composite(np.fft.ifftshift)
def ifftshift(x, axes=None):
    x = tracer_of(x)
    axes = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    return np.roll(x, [-(x.shape[a] // 2) for a in axes], axes)
