"""Differences, integrals, products of vectors, polynomials, grids: functions of NumPy in terms of others."""

import functools

import numpy as np

from .. import _errors, _ops
from .._tracer import concrete, normalize_axis, normalize_axes, tracer_of
from ._support import composite, inexact, refuse, refuse_always, traced


def _along(ndim, axis, part):
    index = [slice(None)] * ndim
    index[axis] = part
    return tuple(index)


@composite(np.diff)
def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    a = tracer_of(a)
    n = concrete(n, "n of np.diff")
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis(axis, a.ndim)
    parts = [a]
    for extra, front in ((prepend, True), (append, False)):
        if extra is np._NoValue:
            continue
        extra = tracer_of(extra)
        if extra.ndim == 0:
            extra = np.broadcast_to(extra, a.shape[:axis] + (1,) + a.shape[axis + 1 :])
        parts = [extra, *parts] if front else [*parts, extra]
    a = parts[0] if len(parts) == 1 else np.concatenate(parts, axis)
    for _ in range(n):
        late, early = a[_along(a.ndim, axis, slice(1, None))], a[_along(a.ndim, axis, slice(None, -1))]
        a = late != early if a.dtype == np.bool_ else late - early
    return a


@composite(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    a = tracer_of(ary).ravel()
    parts = [a[1:] - a[:-1]]
    if to_begin is not None:
        parts.insert(0, tracer_of(to_begin).ravel().astype(a.dtype))
    if to_end is not None:
        parts.append(tracer_of(to_end).ravel().astype(a.dtype))
    return np.concatenate(parts)


def _gradient_along(f, axis, spacing, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
        )

    def at(part):
        return f[_along(f.ndim, axis, part)]

    def column(x):
        return x.reshape([-1 if i == axis else 1 for i in range(f.ndim)])

    if np.ndim(spacing) == 0:
        h = spacing
        inner = (at(slice(2, None)) - at(slice(None, -2))) / (2.0 * h)
        if edge_order == 1:
            first, last = (at(slice(1, 2)) - at(slice(0, 1))) / h, (at(slice(-1, None)) - at(slice(-2, -1))) / h
        else:
            first = (-1.5 / h) * at(slice(0, 1)) + (2.0 / h) * at(slice(1, 2)) + (-0.5 / h) * at(slice(2, 3))
            last = (0.5 / h) * at(slice(-3, -2)) + (-2.0 / h) * at(slice(-2, -1)) + (1.5 / h) * at(slice(-1, None))
    else:
        h = np.diff(tracer_of(spacing).astype(f.dtype))
        if h.shape[0] != n - 1:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        h1, h2 = column(h[:-1]), column(h[1:])
        inner = -h2 / (h1 * (h1 + h2)) * at(slice(None, -2)) + (h2 - h1) / (h1 * h2) * at(slice(1, -1))
        inner = inner + h1 / (h2 * (h1 + h2)) * at(slice(2, None))
        if edge_order == 1:
            first, last = (at(slice(1, 2)) - at(slice(0, 1))) / h[0], (at(slice(-1, None)) - at(slice(-2, -1))) / h[-1]
        else:
            a, b = h[0], h[1]
            first = -(2.0 * a + b) / (a * (a + b)) * at(slice(0, 1)) + (a + b) / (a * b) * at(slice(1, 2))
            first = first - a / (b * (a + b)) * at(slice(2, 3))
            a, b = h[-2], h[-1]
            last = b / (a * (a + b)) * at(slice(-3, -2)) - (b + a) / (a * b) * at(slice(-2, -1))
            last = last + (2.0 * b + a) / (b * (a + b)) * at(slice(-1, None))
    return np.concatenate([first, inner, last], axis)


@composite(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    f = tracer_of(f)
    if f.dtype.kind in "biu":
        f = f.astype(np.float64)
    axes = (
        tuple(range(f.ndim))
        if axis is None
        else tuple(normalize_axis(a, f.ndim) for a in (axis if isinstance(axis, tuple) else (axis,)))
    )
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if not varargs:
        spacings = [1.0] * len(axes)
    elif len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        spacings = list(varargs) * len(axes)
    elif len(varargs) == len(axes):
        spacings = list(varargs)
    else:
        raise TypeError("invalid number of arguments")
    results = tuple(_gradient_along(f, a, s, edge_order) for a, s in zip(axes, spacings))
    return results[0] if len(results) == 1 else results


@composite(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = tracer_of(y)
    axis = normalize_axis(axis, y.ndim)
    if x is None:
        d = dx
    else:
        x = tracer_of(x)
        if x.ndim == 1:
            d = np.diff(x).reshape([-1 if i == axis else 1 for i in range(y.ndim)])
        else:
            d = np.diff(x, axis=axis)
    late, early = y[_along(y.ndim, axis, slice(1, None))], y[_along(y.ndim, axis, slice(None, -1))]
    return np.sum(d * (late + early) / 2.0, axis=axis)


@composite(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(tracer_of(a), axisa, -1), np.moveaxis(tracer_of(b), axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[-1]} and {b.shape[-1]} dimensional instead."
        )
    dtype = np.promote_types(a.dtype, b.dtype)
    a, b = a.astype(dtype), b.astype(dtype)
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    zero = dtype.type(0)
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2] if a.shape[-1] == 3 else zero
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2] if b.shape[-1] == 3 else zero
    parts = np.broadcast_arrays(a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    return np.moveaxis(np.stack(parts, axis=-1), -1, axisc)


@composite(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    p = tracer_of(p)
    axis = normalize_axis(axis, p.ndim)
    d = np.diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    dtype = np.result_type(d.dtype, np.float64 if isinstance(period, float) and d.dtype.kind in "iu" else d.dtype)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    corrected = np.mod(d - low, period) + low
    if ambiguous:
        corrected = np.where((corrected == low) & (d > 0), high, corrected)
    correction = np.where(np.abs(d) < discont, 0, corrected - d)
    first, rest = _along(p.ndim, axis, slice(0, 1)), _along(p.ndim, axis, slice(1, None))
    return np.concatenate([p[first].astype(dtype), (p[rest] + np.cumsum(correction, axis=axis)).astype(dtype)], axis)


@composite(np.polyval)
def polyval(p, x):
    """By Horner's rule, highest power first."""
    p, x = tracer_of(p), tracer_of(x)
    y = np.zeros_like(x)
    for i in range(p.shape[0]):
        y = y * x + p[i]
    return y


def _padded_sum(a, b, combine):
    a, b = np.atleast_1d(tracer_of(a)), np.atleast_1d(tracer_of(b))
    n = max(a.shape[0], b.shape[0])
    return combine(np.pad(a, (n - a.shape[0], 0)), np.pad(b, (n - b.shape[0], 0)))


@composite(np.polyadd)
def polyadd(a1, a2):
    return _padded_sum(a1, a2, lambda x, y: x + y)


@composite(np.polysub)
def polysub(a1, a2):
    return _padded_sum(a1, a2, lambda x, y: x - y)


@composite(np.polymul)
def polymul(a1, a2):
    """Leading zeros are kept: NumPy cuts them off, which depends on values."""
    return np.convolve(np.atleast_1d(tracer_of(a1)), np.atleast_1d(tracer_of(a2)))


@composite(np.polydiv)
def polydiv(u, v):
    """The remainder has as many coefficients as the divisor leaves; NumPy cuts off leading zeros, which depends on values."""
    u, v = (np.atleast_1d(tracer_of(x)) + 0.0 for x in (u, v))
    dtype = np.result_type(u.dtype, v.dtype)
    m, n = u.shape[0] - 1, v.shape[0] - 1
    rest = u.astype(dtype)
    scale = 1.0 / v[0]
    quotient = []
    for k in range(m - n + 1):
        quotient.append(scale * rest[k])
        rest[k : k + n + 1] -= quotient[-1] * v
    if not quotient:
        return np.zeros(1, dtype), rest
    return np.stack(quotient).astype(dtype), rest[-max(n, 1) :]


@composite(np.roots)
def roots(p):
    """Eigenvalues of the companion matrix; always complex. NumPy cuts leading zeros off, here they give NaN."""
    p = np.atleast_1d(tracer_of(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    p = p if inexact(p.dtype) else p.astype(np.float64)
    n = p.shape[0] - 1
    if n < 1:
        return np.zeros(0, np.result_type(p.dtype, np.complex64))
    below = np.eye(n, k=-1, dtype=p.dtype)[1:]
    return np.linalg.eigvals(np.concatenate([(-p[1:] / p[0])[None], below]))


@composite(np.polyder)
def polyder(p, m=1):
    p = tracer_of(p)
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * np.arange(n, 0, -1)
    return p


@composite(np.polyint)
def polyint(p, m=1, k=None):
    p = tracer_of(p)
    k = np.zeros(m) if k is None else np.atleast_1d(k)
    k = np.full(m, k[0]) if len(k) == 1 and m > 1 else k
    for i in range(m):
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), tracer_of(k[i]).reshape(1)])
    return p


@composite(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    if full or cov:
        refuse("np.polyfit with full or cov", "use np.linalg.lstsq of np.vander(x, deg + 1)")
    x, y = tracer_of(x).astype(np.float64), tracer_of(y).astype(np.float64)
    lhs = np.vander(x, deg + 1)
    rhs = y
    if w is not None:
        w = tracer_of(w).astype(np.float64)
        lhs = lhs * w[:, None]
        rhs = rhs * (w[:, None] if rhs.ndim == 2 else w)
    scale = np.sqrt(np.sum(lhs * lhs, axis=0))
    rcond = x.shape[0] * np.finfo(np.float64).eps if rcond is None else rcond
    c = np.linalg.lstsq(lhs / scale, rhs, rcond)[0]
    return (c.T / scale).T


@composite(np.poly)
def poly(seq_of_zeros):
    """Coefficients from roots; of a matrix, its characteristic polynomial (always complex here)."""
    z = tracer_of(seq_of_zeros)
    if z.ndim == 2:
        z = np.linalg.eigvals(z)
    a = np.ones(1, z.dtype if z.dtype.kind in "fc" else np.float64)
    for i in range(z.shape[0]):
        a = np.convolve(a, np.stack([np.ones((), z.dtype), -z[i]]))
    return a


@composite(np.vander)
def vander(x, N=None, increasing=False):
    x = tracer_of(x)
    n = x.shape[0] if N is None else concrete(N, "N of np.vander")
    dtype = np.promote_types(x.dtype, int)
    if n == 0:
        return np.empty((x.shape[0], 0), dtype)
    x = x.astype(dtype)
    columns = np.stack([np.ones(x.shape, dtype), *[x] * (n - 1)], axis=1)
    powers = np.cumprod(columns, axis=1)
    return powers if increasing else powers[:, ::-1]


@composite(np.kron)
def kron(a, b):
    a, b = tracer_of(a), tracer_of(b)
    n = max(a.ndim, b.ndim)
    a, b = a.reshape((1,) * (n - a.ndim) + a.shape), b.reshape((1,) * (n - b.ndim) + b.shape)
    left = a.reshape([d for x in a.shape for d in (x, 1)])
    right = b.reshape([d for x in b.shape for d in (1, x)])
    return (left * right).reshape([x * y for x, y in zip(a.shape, b.shape)])


@composite(np.angle)
def angle(z, deg=False):
    z = tracer_of(z)
    z = z if z.dtype.kind in "fcV" else z.astype(np.float64)
    result = np.arctan2(z.imag, z.real)
    return result * result.dtype.type(180 / np.pi) if deg else result


@composite(np.sinc)
def sinc(x):
    import ml_dtypes

    x = np.pi * tracer_of(x)
    # Small enough for sin(y) / y to be 1, in place of zero.
    y = np.where(x == 0, x.dtype.type(1.0e-20 if x.dtype.kind == "c" else ml_dtypes.finfo(x.dtype).eps), x)
    return np.sin(y) / y


@composite(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    x = tracer_of(x)
    if x.dtype.kind in "biu":
        return x.copy()
    if x.dtype.kind == "c":
        part = lambda p: tracer_of(nan_to_num(p, copy, nan, posinf, neginf)).value
        return traced(_ops.complex_(part(x.real), part(x.imag)))
    import ml_dtypes

    limits = ml_dtypes.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    t = x.dtype.type
    y = np.where(np.isnan(x), t(nan), x)
    y = np.where(x == t(np.inf), t(high), y)
    return np.where(x == t(-np.inf), t(low), y)


def _chebyshev(function, count):
    """Coefficients of the interpolation of a function on [-1, 1] at the zeros of a Chebyshev polynomial, made with more
    digits than they have."""
    angles = np.arctan(np.longdouble(1)) * 4 * (np.arange(count) + np.longdouble(0.5)) / count
    coefficients = np.cos(np.outer(np.arange(count), angles)) @ function(np.cos(angles)) * 2 / count
    coefficients[0] /= 2
    return coefficients.astype(np.float64)


@functools.cache
def _i0_coefficients():
    """Of i0(x) exp(-x) by x / 4 - 1 up to x = 8, and of i0(x) exp(-x) sqrt(x) by 16 / x - 1 beyond."""

    def series(x):
        total = term = np.ones_like(x)
        for k in range(1, 200):
            term = term * (x / (2 * k)) ** 2
            total = total + term
        return total * np.exp(-x)

    def beyond(y):
        x = 16 / (y + 1)
        total = term = np.ones_like(x)  # Abramowitz & Stegun 9.7.1
        for k in range(1, 30):
            term = term * (2 * k - 1) ** 2 / (8 * k * x)
            total = total + term
        near = np.minimum(x, 100)
        return np.where(x < 100, series(near) * np.sqrt(near), total / np.sqrt(8 * np.arctan(np.longdouble(1))))

    return _chebyshev(lambda y: series(4 * (y + 1)), 30), _chebyshev(beyond, 25)


@composite(np.i0)
def i0(x):
    """Modified Bessel function of order 0, within a few ulp of NumPy's."""
    x = tracer_of(x)
    dtype = x.dtype if inexact(x.dtype) else np.dtype(np.float64)
    x = np.abs(x.astype(np.float64))
    small, large = np.minimum(x, 8.0), np.maximum(x, 8.0)
    first, second = (
        np.polynomial.chebyshev.chebval(y, c) for y, c in zip((small / 4 - 1, 16 / large - 1), _i0_coefficients())
    )
    return np.where(x <= 8.0, np.exp(small) * first, np.exp(large) * second / np.sqrt(large)).astype(dtype)


@composite(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    grids = [tracer_of(x).reshape((1,) * i + (-1,) + (1,) * (n - i - 1)) for i, x in enumerate(xi)]
    if indexing == "xy" and n > 1:
        grids[0] = grids[0].reshape((1, -1) + (1,) * (n - 2))
        grids[1] = grids[1].reshape((-1, 1) + (1,) * (n - 2))
    return tuple(grids) if sparse else tuple(np.broadcast_arrays(*grids))


@composite(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    num = concrete(num, "num of np.linspace")
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = tracer_of(start), tracer_of(stop)
    # NumPy computes in the type of the ends and 1.0, a weak number.
    compute = np.result_type(
        start.dtype, stop.dtype, np.float64 if start.dtype.kind in "biu" and stop.dtype.kind in "biu" else np.float16
    )
    start, stop = (x.astype(compute) for x in (start, stop))
    delta = stop - start
    div = num - 1 if endpoint else num
    y = np.arange(num, dtype=compute).reshape((-1,) + (1,) * delta.ndim)
    step = delta / compute.type(div) if div > 0 else delta * compute.type(np.nan)
    y = y * step + start if div > 0 else y * delta + start
    if endpoint and num > 1:
        y = np.concatenate([y[:-1], np.broadcast_to(stop, (1,) + delta.shape)])
    if dtype is not None and np.dtype(dtype).kind in "iu":
        y = np.floor(y)
    y = y if dtype is None else y.astype(dtype)
    y = np.moveaxis(y, 0, axis) if axis != 0 else y
    return (y, step) if retstep else y


@composite(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    y = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype)


@composite(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = tracer_of(start), tracer_of(stop)
    compute = np.result_type(start.dtype, stop.dtype, np.float64)
    sign = np.sign(start.astype(compute))
    low, high = np.log10(start.astype(compute) / sign), np.log10(stop.astype(compute) / sign)
    y = sign * np.power(10.0, np.linspace(low, high, num, endpoint))
    if num > 0:
        y = np.concatenate([np.broadcast_to(start.astype(compute), (1,) + y.shape[1:]), y[1:]])
        if endpoint and num > 1:
            y = np.concatenate([y[:-1], np.broadcast_to(stop.astype(compute), (1,) + y.shape[1:])])
    y = np.moveaxis(y, 0, axis) if axis != 0 else y
    return y if dtype is None else y.astype(dtype)


refuse_always(np.trim_zeros, "keep the zeros, or trim the array before the call")
