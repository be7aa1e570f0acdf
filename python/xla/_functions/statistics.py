"""Statistics of arrays: means, variances, quantiles; all in terms of NumPy functions that are traced."""

import numpy as np

from .._tracer import Tracer, normalize_axes, tracer_of
from ._support import composite, count_along, inexact, refuse
from .choosing import value_like


def _finish(x, axis, keepdims, ndim):
    """Drops the kept axes unless they are wanted."""
    return x if keepdims else np.squeeze(x, axis=normalize_axes(axis, ndim))


def _correction(ddof, correction):
    return ddof if correction is None or correction is np._NoValue else correction


@composite(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    a = tracer_of(a)
    if weights is None:
        result = np.mean(a, axis=axis, keepdims=keepdims)
        scale = np.full(result.shape, count_along(a.shape, axis), result.dtype)
        return (result, scale) if returned else result
    weights = tracer_of(weights)
    axes = normalize_axes(axis, a.ndim)
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("np.average: weights of another shape than the array need an axis")
        if weights.shape != tuple(a.shape[i] for i in axes):
            raise ValueError("np.average: weights have neither the array's shape nor that of its axes")
        order = sorted(range(len(axes)), key=lambda k: axes[k])
        shape = [1] * a.ndim
        for k in order:
            shape[axes[k]] = a.shape[axes[k]]
        weights = np.transpose(weights, order).reshape(shape)
    dtype = np.result_type(a.dtype, weights.dtype)
    if a.dtype.kind in "iub":
        dtype = np.result_type(a.dtype, weights.dtype, np.float64)
    weights = np.broadcast_to(weights, a.shape)
    scale = np.sum(weights, axis=axis, dtype=dtype, keepdims=True)
    result = np.sum(a * weights.astype(dtype), axis=axis, dtype=dtype, keepdims=True) / scale
    result, scale = (_finish(x, axis, keepdims, a.ndim) for x in (result, scale))
    return (result, np.broadcast_to(scale, result.shape)) if returned else result


@composite(np.ptp)
def ptp(a, axis=None, keepdims=False):
    keepdims = keepdims is not np._NoValue and keepdims
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


# Quantiles: the virtual index q·(n − 1) between sorted elements, and its neighbours, by the method's formula.
# Hyndman & Fan (1996) number them 1 to 9; (alpha, beta) are the parameters of the continuous ones.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _virtual_index(n, q, method):
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return (n - 1) * q if method == "linear" else n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method == "lower":
        return np.floor((n - 1) * q)
    if method == "higher":
        return np.ceil((n - 1) * q)
    if method == "nearest":
        return np.rint((n - 1) * q)
    if method == "midpoint":
        return 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    refuse(
        f"np.quantile with method={method!r}",
        "use one of " + ", ".join([*_CONTINUOUS, "lower", "higher", "nearest", "midpoint"]),
    )


def _quantile(a, q, axis, method, keepdims, ignore_nan=False):
    a = tracer_of(a)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if a.dtype.kind == "b":
        raise TypeError("quantiles of booleans are not defined; write a.astype(float)")
    if not isinstance(q, Tracer) and not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    integral = a.dtype.kind in "iu"
    a = a.astype(np.float64) if integral else a
    q = tracer_of(q)
    q_type = q.dtype if q.dtype.kind == "f" else np.dtype(np.float64)
    qs = q.astype(q_type)
    axes = normalize_axes(axis, a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    flat = np.transpose(a, rest + list(axes)).reshape([a.shape[i] for i in rest] + [-1])
    n = flat.shape[-1]
    if n == 0:
        raise ValueError("np.quantile of an empty array is not defined")
    ordered = np.sort(flat, axis=-1)  # NaN last
    missing = np.isnan(ordered)
    if ignore_nan:
        valid = n - np.sum(missing, axis=-1, keepdims=True)  # per row
        count = np.maximum(valid, 1).astype(q_type)
    else:
        count = np.asarray(n, q_type)
    shape = (q.size,) + flat.shape[:-1] + (1,)
    position = _virtual_index(count, qs.reshape((q.size,) + (1,) * flat.ndim), method)
    position = np.clip(np.broadcast_to(position, shape), 0, count - 1)
    below = np.floor(position)
    t = (position - below).astype(np.result_type(a.dtype, q_type))
    lower = below.astype(np.int64)
    upper = np.minimum(lower + 1, count.astype(np.int64) - 1)
    table = np.broadcast_to(ordered, (q.size,) + ordered.shape)
    low, high = np.take_along_axis(table, lower, -1), np.take_along_axis(table, upper, -1)
    apart = high - low
    # Toward the nearer end, so that t = 1 gives the upper element exactly, as NumPy has it.
    result = np.where(t >= 0.5, high - apart * (1 - t), low + apart * t)
    result = np.where(low == high, low, result).astype(
        np.result_type(a.dtype, q_type)
        if integral or q.ndim
        else np.result_type(a.dtype, q_type) if q_type != np.float64 else a.dtype
    )
    if ignore_nan:
        result = np.where(valid == 0, np.asarray(np.nan, result.dtype), result)
    else:
        result = np.where(missing[..., -1:], np.asarray(np.nan, result.dtype), result)
    result = result.reshape(q.shape + tuple(a.shape[i] for i in rest))
    if keepdims:
        result = result.reshape(q.shape + tuple(1 if i in axes else d for i, d in enumerate(a.shape)))
    return result


def _keep(keepdims):
    return keepdims is not np._NoValue and bool(keepdims)


def _no_weights(weights, name):
    if weights is not None:
        refuse(f"{name} with weights", "sort by hand and use np.cumsum of the weights")


@composite(np.quantile)
def quantile(
    a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, interpolation=None
):
    _no_weights(weights, "np.quantile")
    return _quantile(a, q, axis, method, _keep(keepdims))


@composite(np.percentile)
def percentile(
    a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, interpolation=None
):
    _no_weights(weights, "np.percentile")
    return _quantile(a, _percent(q), axis, method, _keep(keepdims))


def _percent(q):
    if not isinstance(q, Tracer) and not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 100)):
        raise ValueError("Percentiles must be in the range [0, 100]")
    q = tracer_of(q)
    return q / (q.dtype.type(100) if q.dtype.kind == "f" else np.float64(100))


@composite(np.nanquantile)
def nanquantile(
    a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, interpolation=None
):
    _no_weights(weights, "np.nanquantile")
    return _quantile(a, q, axis, method, _keep(keepdims), ignore_nan=True)


@composite(np.nanpercentile)
def nanpercentile(
    a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None, interpolation=None
):
    _no_weights(weights, "np.nanpercentile")
    return _quantile(a, _percent(q), axis, method, _keep(keepdims), ignore_nan=True)


def _median(a, axis, keepdims, ignore_nan):
    """The middle element, or the mean of the two in the middle."""
    a = tracer_of(a)
    a = a if inexact(a.dtype) else a.astype(np.float64)
    axes = normalize_axes(axis, a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    flat = np.transpose(a, rest + list(axes)).reshape([a.shape[i] for i in rest] + [-1])
    n = flat.shape[-1]
    shape = tuple(1 if i in axes else d for i, d in enumerate(a.shape)) if keepdims else tuple(a.shape[i] for i in rest)
    if n == 0:
        return np.full(shape, np.nan, a.dtype)
    ordered = np.sort(flat, axis=-1)
    if ignore_nan:
        valid = n - np.sum(np.isnan(ordered), axis=-1, keepdims=True)
        low = np.take_along_axis(ordered, np.maximum((valid - 1) // 2, 0), -1)
        high = np.take_along_axis(ordered, np.maximum(valid // 2 - (valid == 0), 0), -1)
        return np.where(valid % 2 == 1, low, (low + high) / a.dtype.type(2)).reshape(shape)
    low, high = ordered[..., (n - 1) // 2], ordered[..., n // 2]
    middle = low if n % 2 else (low + high) / a.dtype.type(2)
    return np.where(np.isnan(ordered[..., -1]), np.asarray(np.nan, a.dtype), middle).reshape(shape)


@composite(np.median)
def median(a, axis=None, overwrite_input=False, keepdims=False):
    return _median(a, axis, keepdims, ignore_nan=False)


@composite(np.nanmedian)
def nanmedian(a, axis=None, overwrite_input=False, keepdims=False):
    return _median(a, axis, _keep(keepdims), ignore_nan=True)


@composite(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    m = tracer_of(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    dtype = (
        np.dtype(dtype)
        if dtype is not None
        else np.result_type(m.dtype, np.float64 if y is None else np.result_type(tracer_of(y).dtype, np.float64))
    )
    x = np.atleast_2d(m).astype(dtype)
    if not rowvar and m.ndim != 1:
        x = x.T
    if y is not None:
        y = tracer_of(y)
        other = np.atleast_2d(y).astype(dtype)
        if not rowvar and other.shape[0] != 1:
            other = other.T
        x = np.concatenate((x, other), axis=0)
    ddof = ddof if ddof is not None else (0 if bias else 1)
    weights = None
    if fweights is not None:
        weights = tracer_of(fweights).astype(np.float64)
    if aweights is not None:
        a = tracer_of(aweights).astype(np.float64)
        weights = a if weights is None else weights * a
    if weights is None:
        mean = np.mean(x, axis=1, keepdims=True)
        factor = max(x.shape[1] - ddof, 0)
        centred = x - mean
        product = centred @ np.conj(centred.T)
    else:
        total = np.sum(weights)
        mean = np.sum(x * weights, axis=1, keepdims=True) / total
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = total - ddof
        else:
            factor = total - ddof * np.sum(weights * tracer_of(aweights)) / total
        centred = x - mean
        product = centred @ np.conj((centred * weights).T)
    return np.squeeze(product * np.true_divide(1, factor))


@composite(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, bias=None, ddof=None, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.diagonal(c).real)
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return np.clip(c.real, -1, 1) + 1j * np.clip(c.imag, -1, 1)
    return np.clip(c, -1, 1)


@composite(np.correlate)
def correlate(a, v, mode="valid"):
    """sum over n of a[n + k] conj(v[n])."""
    a, v = tracer_of(a), tracer_of(v)
    if a.shape[0] >= v.shape[0]:
        return np.convolve(a, np.conj(v[::-1]), mode)
    return np.convolve(np.conj(v[::-1]), a, mode)


def _full_convolution(a, v):
    """The product of a Toeplitz matrix of the longer one's shifts with the shorter one."""
    n, m = a.shape[0], v.shape[0]
    padded = np.pad(a, (m - 1, m - 1))
    index = np.arange(n + m - 1)[:, None] + np.arange(m - 1, -1, -1)[None, :]
    return padded[index] @ v


@composite(np.convolve)
def convolve(a, v, mode="full"):
    a, v = tracer_of(a), tracer_of(v)
    if a.ndim == 0:
        a = a.reshape(1)
    if v.ndim == 0:
        v = v.reshape(1)
    if a.shape[0] == 0 or v.shape[0] == 0:
        raise ValueError("a cannot be empty" if a.shape[0] == 0 else "v cannot be empty")
    if a.shape[0] < v.shape[0]:
        a, v = v, a
    dtype = np.result_type(a.dtype, v.dtype)
    a, v = a.astype(dtype), v.astype(dtype)
    n, m = a.shape[0], v.shape[0]
    full = _full_convolution(a, v)
    if mode == "full":
        return full
    if mode == "same":
        start = (m - 1) // 2
        return full[start : start + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError(f"mode must be one of 'full', 'same', or 'valid' (got {mode!r})")


@composite(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = tracer_of(x), tracer_of(xp), tracer_of(fp)
    out_type = np.complex128 if fp.dtype.kind == "c" else np.float64
    x, xp, fp = x.astype(np.float64), xp.astype(np.float64), fp.astype(out_type)
    if xp.ndim != 1 or fp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period = abs(period)
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = np.concatenate((fp[-1:], fp, fp[:1]))
        left = right = None
    n = xp.shape[0]
    if n == 0:
        raise ValueError("array of sample points is empty")
    if n == 1:
        inside = np.broadcast_to(fp[0], x.shape)
    else:
        j = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, n - 2)
        x0, x1, f0, f1 = xp[j], xp[j + 1], fp[j], fp[j + 1]
        slope = (f1 - f0) / (x1 - x0)
        inside = slope * (x - x0) + f0
        inside = np.where(x == x0, f0, np.where(x == x1, f1, inside))
        # Where xp rises in no step the slope is no number: what NumPy gives then is the other end, or the value.
        inside = np.where(np.isnan(inside) & ~np.isnan(x), np.where(f0 == f1, f0, slope * (x - x1) + f1), inside)
    left = fp[0] if left is None else left
    right = fp[-1] if right is None else right
    return np.where(np.isnan(x), x.astype(out_type), np.where(x < xp[0], left, np.where(x > xp[-1], right, inside)))


# Functions that leave NaN out.


def _nan_filled(a, value):
    a = tracer_of(a)
    if not inexact(a.dtype):
        return a, None
    missing = np.isnan(a)
    return np.where(missing, np.asarray(value, a.dtype), a), missing


@composite(np.nansum)
def nansum(a, axis=None, dtype=None, keepdims=False, initial=np._NoValue, where=np._NoValue):
    a, _ = _nan_filled(a, 0)
    return np.sum(a, axis=axis, dtype=dtype, keepdims=_keep(keepdims), **_given(initial=initial, where=where))


@composite(np.nanprod)
def nanprod(a, axis=None, dtype=None, keepdims=False, initial=np._NoValue, where=np._NoValue):
    a, _ = _nan_filled(a, 1)
    return np.prod(a, axis=axis, dtype=dtype, keepdims=_keep(keepdims), **_given(initial=initial, where=where))


def _given(**arguments):
    return {k: v for k, v in arguments.items() if v is not np._NoValue}


@composite(np.nancumsum)
def nancumsum(a, axis=None, dtype=None):
    return np.cumsum(_nan_filled(a, 0)[0], axis=axis, dtype=dtype)


@composite(np.nancumprod)
def nancumprod(a, axis=None, dtype=None):
    return np.cumprod(_nan_filled(a, 1)[0], axis=axis, dtype=dtype)


@composite(np.nanmin)
def nanmin(a, axis=None, keepdims=False, initial=np._NoValue, where=np._NoValue):
    return _nan_extreme(a, axis, keepdims, np.min, np.inf, initial, where)


@composite(np.nanmax)
def nanmax(a, axis=None, keepdims=False, initial=np._NoValue, where=np._NoValue):
    return _nan_extreme(a, axis, keepdims, np.max, -np.inf, initial, where)


def _nan_extreme(a, axis, keepdims, reduce, neutral, initial, where):
    filled, missing = _nan_filled(a, neutral)
    result = reduce(filled, axis=axis, keepdims=_keep(keepdims), **_given(initial=initial, where=where))
    if missing is None:
        return result
    return np.where(np.all(missing, axis=axis, keepdims=_keep(keepdims)), np.asarray(np.nan, result.dtype), result)


@composite(np.nanargmin)
def nanargmin(a, axis=None, *, keepdims=False):
    """Of a slice of NaN alone: 0, where NumPy raises an error."""
    return np.argmin(_nan_filled(a, np.inf)[0], axis=axis, keepdims=_keep(keepdims))


@composite(np.nanargmax)
def nanargmax(a, axis=None, *, keepdims=False):
    """Of a slice of NaN alone: 0, where NumPy raises an error."""
    return np.argmax(_nan_filled(a, -np.inf)[0], axis=axis, keepdims=_keep(keepdims))


def _present(a, where):
    there = ~np.isnan(a) if inexact(a.dtype) else np.ones(a.shape, bool)
    return there if where is np._NoValue or where is True else there & where


@composite(np.nanmean)
def nanmean(a, axis=None, dtype=None, keepdims=False, *, where=np._NoValue):
    a = tracer_of(a)
    if not inexact(a.dtype):
        return np.mean(a, axis=axis, dtype=dtype, keepdims=_keep(keepdims), **_given(where=where))
    there = _present(a, where)
    dtype = np.dtype(dtype) if dtype is not None else a.dtype
    total = np.sum(np.where(there, a, np.asarray(0, a.dtype)), axis=axis, dtype=dtype, keepdims=_keep(keepdims))
    count = np.sum(there, axis=axis, keepdims=_keep(keepdims))
    return total / count.astype(np.zeros(0, dtype).real.dtype)


def _nanvar(a, axis, dtype, ddof, keepdims, where):
    a = tracer_of(a)
    if not inexact(a.dtype):
        return np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, **_given(where=where))
    there = _present(a, where)
    dtype = np.dtype(dtype) if dtype is not None else a.dtype
    zero = np.asarray(0, dtype)
    x = np.where(there, a.astype(dtype), zero)
    count = np.sum(there, axis=axis, keepdims=True).astype(np.zeros(0, dtype).real.dtype)
    apart = np.where(there, x - np.sum(x, axis=axis, keepdims=True) / count, zero)
    squares = (apart * np.conj(apart)).real if dtype.kind == "c" else apart * apart
    free = count - ddof
    result = np.sum(squares, axis=axis, keepdims=True) / free
    return _finish(np.where(free <= 0, np.asarray(np.nan, result.dtype), result), axis, keepdims, a.ndim)


@composite(np.nanvar)
def nanvar(a, axis=None, dtype=None, ddof=0, keepdims=False, *, where=np._NoValue, mean=None, correction=None):
    return _nanvar(a, axis, dtype, _correction(ddof, correction), _keep(keepdims), where)


@composite(np.nanstd)
def nanstd(a, axis=None, dtype=None, ddof=0, keepdims=False, *, where=np._NoValue, mean=None, correction=None):
    return np.sqrt(_nanvar(a, axis, dtype, _correction(ddof, correction), _keep(keepdims), where))
