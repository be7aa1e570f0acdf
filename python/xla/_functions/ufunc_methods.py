"""Methods of ufuncs but for reduce: accumulate, outer, at, reduceat."""

import numpy as np

from .. import _errors, _ops as o, _ufuncs
from .._indexing import put
from .._tracer import HANDLERS, Tracer, as_array, check_dtype, concrete, finish, implements, normalize_axis, value_of
from .reductions import sum_dtype
from .writing import own

_ASSOCIATIVE = (
    "add multiply maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
    "logaddexp logaddexp2 gcd lcm hypot"
).split()
# What ufunc.at scatters with.
_SCATTERS = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "logical_and": "and",
    "logical_or": "or",
}
# A chain of a function that is not associative is written out up to this length.
_LONGEST_CHAIN = 512


@implements("accumulate")
def accumulate(ufunc, array, axis=0, dtype=None, out=None):
    """ufunc.accumulate: the running result along an axis."""
    name = ufunc.__name__
    x = value_of(array)
    if dtype is not None:
        x = o.convert(x, check_dtype(dtype))
    elif name in ("add", "multiply"):
        x = o.convert(x, sum_dtype(x.dtype))
    else:
        x = o.convert(x, _ufuncs.apply(ufunc, Tracer(x), Tracer(x)).dtype)
    axis = normalize_axis(axis, len(x.shape))
    size = x.shape[axis]
    combine = lambda a, b: o.convert(_ufuncs.apply(ufunc, Tracer(a), Tracer(b)).value, x.dtype)
    if name in _ASSOCIATIVE:
        # After each round every element holds the combination of twice as many.
        step = 1
        while step < size:
            late = combine(o.slice_axis(x, axis, 0, size - step), o.slice_axis(x, axis, step, size))
            x = o.concatenate([o.slice_axis(x, axis, 0, step), late], axis)
            step *= 2
        return finish(x, out)
    if size > _LONGEST_CHAIN:
        _errors.fail(
            _errors.UnsupportedError,
            f"np.{name}.accumulate over {size} elements is not compiled (at most {_LONGEST_CHAIN}); write xla.lax.scan",
        )
    parts = [o.slice_axis(x, axis, i, i + 1) for i in range(size)]
    for i in range(1, size):
        parts[i] = combine(parts[i - 1], parts[i])
    return finish(o.concatenate(parts, axis) if parts else x, out)


@implements("outer")
def outer(ufunc, a, b, **options):
    """ufunc.outer: all pairs of elements."""
    a, b = as_array(a), as_array(b)
    if isinstance(a, Tracer) or a.ndim:
        a = (
            HANDLERS[np.reshape](a, a.shape + (1,) * b.ndim)
            if isinstance(a, Tracer)
            else a.reshape(a.shape + (1,) * b.ndim)
        )
    return _ufuncs.apply(ufunc, a, b, **options)


@implements("at")
def at(ufunc, a, indices, b=None):
    """ufunc.at: a[indices] = ufunc(a[indices], b), for every occurrence of an index."""
    name = ufunc.__name__
    a = own(a, f"{name}.at")
    if b is None:
        a[indices] = _ufuncs.apply(ufunc, a[indices])
        return
    if name not in _SCATTERS or (name.startswith("logical") and a.dtype != np.bool_):
        _errors.fail(_errors.UnsupportedError, f"np.{name}.at is not compiled")
    if not np.can_cast(as_array(b).dtype, a.dtype, "same_kind") and not isinstance(b, (int, float, complex)):
        raise TypeError(f"cannot cast the values from {as_array(b).dtype} to {a.dtype} with casting rule 'same_kind'")
    opcode = _SCATTERS[name]
    if a.dtype == np.bool_:
        opcode = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}.get(opcode, opcode)
    put(a, indices, _ufuncs.apply(np.negative, value_and_type(b, a.dtype)) if name == "subtract" else b, opcode)


def value_and_type(x, dtype):
    return Tracer(value_of(x, dtype))


@implements("reduceat")
def reduceat(ufunc, array, indices, axis=0, dtype=None, out=None):
    """ufunc.reduceat with known indices: one reduction for each."""
    x = as_array(array)
    axis = normalize_axis(axis, x.ndim)
    indices = [int(i) for i in np.asarray(concrete(indices, "the indices of reduceat"))]
    size = x.shape[axis]
    parts = []
    for i, start in enumerate(indices):
        if not 0 <= start < size:
            raise IndexError(f"index {start} out-of-bounds in {ufunc.__name__}.reduceat [0, {size})")
        end = indices[i + 1] if i + 1 < len(indices) else size
        piece = x[(slice(None),) * axis + (slice(start, max(end, start + 1)),)]
        parts.append(HANDLERS["reduce"](ufunc, piece, axis, dtype=dtype, keepdims=True).value)
    return finish(o.concatenate(parts, axis), out)
