"""Tests and comparisons of arrays, counting, cumulative operations, clipping and rounding, creation from other arrays."""

import numpy as np

from .. import _ops
from .._tracer import Tracer, check_dtype, concrete, implements, normalize_axis, result_type, tracer_of, value_of
from ._support import composite, inexact, traced
from .reductions import sum_dtype


@composite(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    return np.sum(tracer_of(a) != 0, axis=axis, keepdims=keepdims)


@composite(np.isclose)
def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    a, b = tracer_of(a), tracer_of(b)
    dtype = result_type(a, b)
    if not inexact(dtype):
        dtype = np.dtype(np.float64)
    a, b = a.astype(dtype), b.astype(dtype)
    part = np.abs(b)
    near = (np.abs(a - b) <= atol + rtol * part) & np.isfinite(b) | (a == b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


@composite(np.allclose)
def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    return np.all(isclose(a, b, rtol, atol, equal_nan))


@composite(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    a, b = tracer_of(a1), tracer_of(a2)
    if a.shape != b.shape:
        return tracer_of(np.bool_(False))
    same = a == b
    if equal_nan and inexact(a.dtype) and inexact(b.dtype):
        same = same | (np.isnan(a) & np.isnan(b))
    return np.all(same)


@composite(np.array_equiv)
def array_equiv(a1, a2):
    a, b = tracer_of(a1), tracer_of(a2)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return tracer_of(np.bool_(False))
    return np.all(a == b)


@composite(np.isreal)
def isreal(x):
    return tracer_of(x).imag == 0


@composite(np.iscomplex)
def iscomplex(x):
    return tracer_of(x).imag != 0


@implements(np.iscomplexobj)
def iscomplexobj(x):
    return tracer_of(x).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x):
    return tracer_of(x).dtype.kind != "c"


@composite(np.real)
def real(val):
    return tracer_of(val).real


@composite(np.imag)
def imag(val):
    return tracer_of(val).imag


def _no_complex(x, name):
    if x.dtype.kind == "c":
        raise TypeError(f"This operation is not supported for {x.dtype} values because it would be ambiguous.")


@composite(np.isposinf)
def isposinf(x):
    x = tracer_of(x)
    _no_complex(x, "isposinf")
    return np.isinf(x) & ~np.signbit(x)


@composite(np.isneginf)
def isneginf(x):
    x = tracer_of(x)
    _no_complex(x, "isneginf")
    return np.isinf(x) & np.signbit(x)


def _cumulate(a, axis, dtype, opcode, neutral):
    """Prefix sums or products by windows that reach back to the beginning."""
    a = tracer_of(a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = normalize_axis(axis, a.ndim)
    dtype = sum_dtype(a.dtype) if dtype is None else check_dtype(dtype)
    x = value_of(a, dtype)
    n = x.shape[axis]
    if n == 0 or 0 in x.shape:
        return traced(x)
    if opcode == "add" and dtype.kind in "fcV":
        # The first element stays what it is: 0 added to -0 would give 0.
        neutral = complex(-0.0, -0.0) if dtype.kind == "c" else -0.0
    sizes, padding = [1] * a.ndim, [(0, 0)] * a.ndim
    sizes[axis], padding[axis] = n, (n - 1, 0)
    return traced(_ops.reduce_window(x, opcode, neutral, sizes, padding=padding))


@composite(np.cumsum)
def cumsum(a, axis=None, dtype=None):
    return _cumulate(a, axis, dtype, "add", 0)


@composite(np.cumprod)
def cumprod(a, axis=None, dtype=None):
    return _cumulate(a, axis, dtype, "multiply", 1)


def _cumulative(x, axis, dtype, include_initial, opcode, neutral):
    x = tracer_of(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    result = _cumulate(np.atleast_1d(x), axis, dtype, opcode, neutral)
    if include_initial:
        shape = list(result.shape)
        shape[axis] = 1
        result = np.concatenate([np.full(shape, neutral, result.dtype), result], axis)
    return result


@composite(np.cumulative_sum)
def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(x, axis, dtype, include_initial, "add", 0)


@composite(np.cumulative_prod)
def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    return _cumulative(x, axis, dtype, include_initial, "multiply", 1)


@composite(np.clip)
def clip(a, a_min=np._NoValue, a_max=np._NoValue, *, min=np._NoValue, max=np._NoValue, **kwargs):
    if a_min is np._NoValue and a_max is np._NoValue:
        a_min, a_max = (None if x is np._NoValue else x for x in (min, max))
    elif a_min is np._NoValue or a_max is np._NoValue:
        missing = "a_min" if a_min is np._NoValue else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: {missing!r}")
    elif min is not np._NoValue or max is not np._NoValue:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    a = tracer_of(a)
    if a.dtype.kind in "iu":
        # Python integers that all elements are within may be beyond the type.
        limits = np.iinfo(a.dtype)
        a_min = None if type(a_min) is int and a_min <= limits.min else a_min
        a_max = None if type(a_max) is int and a_max >= limits.max else a_max
    if a_min is None and a_max is None:
        return np.positive(a)
    a = a if a_min is None else np.maximum(a, a_min)
    return a if a_max is None else np.minimum(a, a_max)


@composite(np.round, np.around)
def round_(a, decimals=0):
    a = tracer_of(a)
    decimals = concrete(decimals, "decimals of np.round")
    if a.dtype.kind == "b":
        return a.astype(np.float16)
    if a.dtype.kind in "iu":
        if decimals >= 0:
            return a
        unit = 10**-decimals
        half = np.rint(a.astype(np.float64) / unit) * unit
        return half.astype(a.dtype)
    if a.dtype.kind == "c":
        return (round_(a.real, decimals) + 1j * round_(a.imag, decimals)).astype(a.dtype)
    if decimals == 0:
        return np.rint(a)
    unit = a.dtype.type(10.0 ** abs(decimals))
    return np.rint(a * unit) / unit if decimals > 0 else np.rint(a / unit) * unit


@composite(np.fix)
def fix(x):
    return np.trunc(x)


def _like(function, number):
    @composite(function)
    def handler(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        return _full_like(a, number, dtype, shape)

    return handler


def _full_like(a, number, dtype, shape):
    a = tracer_of(a)
    dtype = a.dtype if dtype is None else check_dtype(dtype)
    shape = a.shape if shape is None else (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return traced(_ops.broadcast(value_of(number, dtype), shape))


for _function, _number in ((np.zeros_like, 0), (np.ones_like, 1), (np.empty_like, 0)):
    _like(_function, _number)


@composite(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _full_like(a, fill_value, dtype, shape)


@composite(np.copy)
def copy(a, order="K", subok=False):
    return traced(tracer_of(a).value)


@composite(np.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    return tracer_of(x).astype(dtype)


def _in_bytes(a, axis):
    """(a, the axis that np.packbits and np.unpackbits work along): that of all elements in a row if it is None."""
    a = tracer_of(a)
    if axis is None or a.ndim == 0:
        return a.ravel(), 0
    return a, normalize_axis(axis, a.ndim)


def _weights(bitorder, axis, ndim):
    """What each bit of a byte counts, along the axis after `axis`."""
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    weights = np.uint8(1) << np.arange(8, dtype=np.uint8)
    return (weights[::-1] if bitorder == "big" else weights).reshape((8,) + (1,) * (ndim - axis - 1))


@composite(np.packbits)
def packbits(a, /, axis=None, bitorder="big"):
    if tracer_of(a).dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    a, axis = _in_bytes(a, axis)
    weights = _weights(bitorder, axis, a.ndim)
    n = -(-a.shape[axis] // 8)
    bits = np.pad(a != 0, [(0, 8 * n - d if i == axis else 0) for i, d in enumerate(a.shape)])
    bits = bits.reshape(a.shape[:axis] + (n, 8) + a.shape[axis + 1 :])
    return np.sum(np.where(bits, weights, np.uint8(0)), axis=axis + 1, dtype=np.uint8)


@composite(np.unpackbits)
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    if tracer_of(a).dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    a, axis = _in_bytes(a, axis)
    bits = (np.expand_dims(a, axis + 1) & _weights(bitorder, axis, a.ndim)) != 0
    n = 8 * a.shape[axis]
    bits = bits.reshape(a.shape[:axis] + (n,) + a.shape[axis + 1 :]).astype(np.uint8)
    wanted = n if count is None else concrete(count, "count of np.unpackbits")
    if wanted < -n:
        raise ValueError("-count larger than number of elements")
    wanted = n + wanted if wanted < 0 else wanted
    bits = np.take(bits, np.arange(min(n, wanted)), axis)
    return np.pad(bits, [(0, max(wanted - n, 0) if i == axis else 0) for i in range(a.ndim)])


@implements(np.result_type)
def result_type_(*args):
    return result_type(*[a.dtype if isinstance(a, Tracer) and not a._weak else a for a in args])


@implements(np.can_cast)
def can_cast(from_, to, casting="safe"):
    return np.can_cast(from_.dtype if isinstance(from_, Tracer) else from_, to, casting)


@implements(np.min_scalar_type)
def min_scalar_type(a):
    return tracer_of(a).dtype


@implements(np.common_type)
def common_type(*arrays):
    return np.common_type(*[np.zeros(0, tracer_of(a).dtype) for a in arrays])
