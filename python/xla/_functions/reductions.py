"""Reductions: sum, prod, min, max, any, all, mean, var, std with axis, dtype, out, keepdims, initial and where."""

import numpy as np

from .. import _errors, _ops as o, _ufuncs
from .._elementwise import EMITTERS, truth
from .._tracer import Tracer, as_array, check_dtype, dtype_of, finish, implements, normalize_axes, value_of

_MISSING = np._NoValue


def kept(value, shape, axes, keepdims):
    """`value`, reduced over `axes` of `shape`, with these as dimensions of 1 if they are to be kept."""
    if keepdims is _MISSING or not keepdims:
        return value
    return o.reshape(value, [1 if i in axes else d for i, d in enumerate(shape)])


def masked(x, where, neutral):
    """x with `neutral` where `where` does not hold."""
    if where is True or where is _MISSING:
        return x
    mask = value_of(where, np.bool_)
    shape = np.broadcast_shapes(x.shape, mask.shape)
    x = o.broadcast(x, shape)
    return o.select(o.broadcast(mask, shape), x, o.full(neutral, x.dtype, shape))


def sum_dtype(dtype):
    """The type that NumPy adds and multiplies in: at least the platform's integer."""
    if dtype.kind in "bi":
        return np.result_type(dtype, np.int64)
    return np.result_type(dtype, np.uint64) if dtype.kind == "u" else dtype


def _lowest(dtype):
    return -np.inf if dtype.kind in "fV" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype):
    return np.inf if dtype.kind in "fV" else True if dtype.kind == "b" else np.iinfo(dtype).max


def _totals(ufunc, neutral, opcode):
    def reduce(a, axis=None, dtype=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING):
        a = as_array(a)
        dtype = sum_dtype(a.dtype) if dtype is None else check_dtype(dtype)
        x = masked(value_of(a, dtype), where, neutral)
        axes = normalize_axes(axis, len(x.shape))
        # f16 and bf16 are added in f32, as NumPy's pairwise sums keep more than their own precision.
        narrow = dtype.kind in "fV" and dtype.itemsize < 4
        x = o.convert(x, np.float32) if narrow else x
        if opcode == "add" and not axes and dtype.kind in "fcV":
            x = o.add(x, o.full(0, x.dtype, x.shape))  # sums begin with 0: that of -0 alone is 0
        made = o.reduce(
            x,
            (
                {"and": "and", "or": "or"}.get(opcode, opcode)
                if dtype != np.bool_
                else ("or" if opcode == "add" else "and")
            ),
            axes,
            neutral,
        )
        made = o.convert(made, dtype)
        if initial is not _MISSING and initial is not None:
            made = EMITTERS[ufunc.__name__](o.broadcast(value_of(initial, dtype), made.shape), made)
        return finish(kept(made, x.shape, axes, keepdims), out)

    return reduce


sum_ = implements(np.sum)(_totals(np.add, 0, "add"))
prod = implements(np.prod)(_totals(np.multiply, 1, "multiply"))


def _extremes(name, opcode, neutral_of):
    def reduce(a, axis=None, out=None, keepdims=_MISSING, initial=_MISSING, where=_MISSING):
        a = as_array(a)
        check_dtype(a.dtype)
        if where not in (True, _MISSING) if not isinstance(where, (Tracer, np.ndarray)) else True:
            if initial is _MISSING:
                raise ValueError(
                    f"reduction operation '{name}' does not have an identity, so to use a where mask one has to "
                    "specify 'initial'"
                )
        x = value_of(a)
        axes = normalize_axes(axis, len(x.shape))
        if any(x.shape[i] == 0 for i in axes) and initial is _MISSING:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        if x.dtype.kind == "c":
            made = _complex_extreme(x, axes, name)
        else:
            neutral = neutral_of(x.dtype)
            x = masked(x, where, neutral)
            made = o.reduce(
                x, {"maximum": "or", "minimum": "and"}[opcode] if x.dtype == np.bool_ else opcode, axes, neutral
            )
        if initial is not _MISSING and initial is not None:
            made = EMITTERS[name](made, o.broadcast(value_of(initial, made.dtype), made.shape))
        return finish(kept(made, x.shape, axes, keepdims), out)

    return reduce


def _complex_extreme(x, axes, name):
    """The largest or smallest complex number, by halving each axis until one is left."""
    for axis in axes:
        while x.shape[axis] > 1:
            half = x.shape[axis] // 2
            made = EMITTERS[name](o.slice_axis(x, axis, 0, half), o.slice_axis(x, axis, half, 2 * half))
            x = o.concatenate([made, o.slice_axis(x, axis, 2 * half, x.shape[axis])], axis)
    return o.squeeze_axes(x, axes)


max_ = implements(np.max, np.amax)(_extremes("maximum", "maximum", _lowest))
min_ = implements(np.min, np.amin)(_extremes("minimum", "minimum", _highest))


def _truths(opcode, neutral):
    def reduce(a, axis=None, out=None, keepdims=_MISSING, *, where=_MISSING):
        x = masked(truth(value_of(a)), where, neutral)
        axes = normalize_axes(axis, len(x.shape))
        return finish(kept(o.reduce(x, opcode, axes, neutral), x.shape, axes, keepdims), out, "unsafe")

    return reduce


any_ = implements(np.any)(_truths("or", False))
all_ = implements(np.all)(_truths("and", True))


def _count(shape, axes, where, dtype, keepdims):
    """How many elements a mean divides by."""
    if where is True or where is _MISSING:
        number = int(np.prod([shape[i] for i in axes], dtype=np.int64))
        left = (
            [1 if i in axes else d for i, d in enumerate(shape)]
            if keepdims
            else [d for i, d in enumerate(shape) if i not in axes]
        )
        return o.full(number, dtype, left)
    mask = o.convert(o.broadcast(value_of(where, np.bool_), shape), dtype)
    return kept(o.reduce(mask, "add", axes, 0), shape, axes, keepdims)


@implements(np.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=_MISSING, *, where=_MISSING):
    a = as_array(a)
    keepdims = keepdims is not _MISSING and bool(keepdims)
    result = np.dtype(dtype) if dtype is not None else np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype
    inner = np.dtype(np.float32) if result.kind in "fV" and result.itemsize < 4 else result
    x = value_of(a, check_dtype(inner))
    axes = normalize_axes(axis, len(x.shape))
    total = kept(o.reduce(masked(x, where, 0), "add", axes, 0), x.shape, axes, keepdims)
    return finish(o.convert(o.divide(total, _count(x.shape, axes, where, inner, keepdims)), result), out)


@implements(np.var)
def var(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_MISSING, *, where=_MISSING, mean=_MISSING, correction=_MISSING
):
    ddof = ddof if correction is _MISSING else correction
    a = as_array(a)
    keepdims = keepdims is not _MISSING and bool(keepdims)
    result = np.dtype(dtype) if dtype is not None else np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype
    inner = np.dtype(np.float32) if result.kind in "fV" and result.itemsize < 4 else result
    x = value_of(a, check_dtype(inner))
    axes = normalize_axes(axis, len(x.shape))
    count = _count(x.shape, axes, where, inner, True)
    if mean is _MISSING:
        total = kept(o.reduce(masked(x, where, 0), "add", axes, 0), x.shape, axes, True)
        middle = o.divide(total, count)
    else:
        middle = value_of(mean, inner)
    off = o.subtract(x, o.broadcast(middle, x.shape))
    real = o._part(inner) if inner.kind == "c" else inner
    if inner.kind == "c":
        squares = o.add(o.multiply(o.real(off), o.real(off)), o.multiply(o.imag(off), o.imag(off)))
    else:
        squares = o.multiply(off, off)
    total = kept(o.reduce(masked(squares, where, 0), "add", axes, 0), x.shape, axes, True)
    divisor = o.subtract(o.convert(count, real), o.broadcast(value_of(ddof, real), count.shape))
    divisor = o.maximum(divisor, o.full(0, real, divisor.shape))
    made = o.divide(total, divisor)
    made = made if keepdims else o.squeeze_axes(made, axes)
    return finish(o.convert(made, real if result.kind == "c" else result), out)


@implements(np.std)
def std(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_MISSING, *, where=_MISSING, mean=_MISSING, correction=_MISSING
):
    made = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return finish(EMITTERS["sqrt"](made.value), out)


_UFUNC_REDUCTIONS = {
    "add": sum_,
    "multiply": prod,
    "maximum": max_,
    "minimum": min_,
    "logical_and": all_,
    "logical_or": any_,
}


@implements("reduce")
def ufunc_reduce(ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=_MISSING, where=True):
    """ufunc.reduce of the ufuncs that have one reduction."""
    name = ufunc.__name__
    options = {"keepdims": keepdims, "where": where, "out": out}
    if name in ("add", "multiply"):
        options.update(dtype=dtype, initial=initial)
    elif name in ("maximum", "minimum"):
        options.update(initial=initial)
    if name in _UFUNC_REDUCTIONS:
        return _UFUNC_REDUCTIONS[name](array, axis, **options)
    # The others combine slice after slice, as NumPy does.
    x = as_array(array)
    axes = normalize_axes(axis, x.ndim)
    if where is not True or len(axes) != 1:
        _errors.fail(_errors.UnsupportedError, f"np.{name}.reduce over several axes or with where= is not compiled")
    parts = [HANDLER_TAKE(x, i, axes[0]) for i in range(x.shape[axes[0]])]
    if initial is not _MISSING and initial is not None:
        parts.insert(0, as_array(initial))
    if not parts:
        if ufunc.identity is None:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        rest = [d for i, d in enumerate(x.shape) if i != axes[0]]
        return finish(kept(o.full(ufunc.identity, x.dtype, rest), x.shape, axes, keepdims), out)
    made = parts[0]
    for part in parts[1:]:
        made = _ufuncs.apply(ufunc, made, part)
    return finish(kept(value_of(made), x.shape, axes, keepdims), out)


def HANDLER_TAKE(x, i, axis):
    return x[(slice(None),) * axis + (i,)]
