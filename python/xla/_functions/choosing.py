"""Functions that choose elements: sorting, searching, taking by index, selecting by condition."""

import numpy as np

from .. import _hlo, _ops
from .._tracer import Tracer, normalize_axis, result_type, tracer_of, value_of
from ._support import composite, data_dependent, refuse_always, traced


def _sort(a, axis, more=()):
    """a and the arrays `more` of its shape ordered along an axis by a (stably, NaN last)."""
    values = _ops.sort([a.value, *[m.value for m in more]], axis)
    return [traced(v) for v in values]


@composite(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    a = tracer_of(a)
    if axis is None:
        a, axis = a.ravel(), 0
    return _sort(a, normalize_axis(axis, a.ndim))[0]


@composite(np.argsort)
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Always stable, so equal elements may come in another order than from NumPy's default kind."""
    a = tracer_of(a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = normalize_axis(axis, a.ndim) if a.ndim else 0
    if a.ndim == 0:
        return tracer_of(np.zeros((), np.int64))
    return _sort(a, axis, [traced(_ops.iota(np.int64, a.shape, axis))])[1]


@composite(np.lexsort)
def lexsort(keys, axis=-1):
    keys = [tracer_of(k) for k in keys]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    axis = normalize_axis(axis, keys[0].ndim)
    order = argsort(keys[0], axis)
    for key in keys[1:]:
        order = np.take_along_axis(order, argsort(np.take_along_axis(key, order, axis), axis), axis)
    return order


def _check_kth(a, kth, axis):
    a = tracer_of(a)
    size = a.size if axis is None else a.shape[normalize_axis(axis, a.ndim)]
    for k in () if isinstance(kth, Tracer) else np.ravel(kth):
        if not -size <= k < size:
            raise ValueError(f"kth(={k}) out of bounds ({size})")


@composite(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """Fully sorted."""
    _check_kth(a, kth, axis)
    return sort(a, axis)


@composite(np.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """The order that sorts the whole array."""
    _check_kth(a, kth, axis)
    return argsort(a, axis)


@composite(np.sort_complex)
def sort_complex(a):
    a = np.sort(tracer_of(a), axis=0)
    if a.dtype.kind == "c":
        return a
    return a.astype(np.complex64 if a.dtype.char in "bhBH" else np.complex128)


@composite(np.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    """By halving the interval, for all of v at once."""
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    a, v = tracer_of(a), tracer_of(v)
    if a.ndim != 1:
        raise ValueError("object too deep for desired array")
    if sorter is not None:
        a = np.take(a, sorter)
    dtype = result_type(a, v)
    a, v = a.astype(dtype), v.astype(dtype)
    n = a.shape[0]
    low = np.zeros(v.shape, np.int64)
    if n == 0 or v.size == 0:
        return tracer_of(low)
    found = tracer_of(low)
    step = 1 << (n.bit_length() - 1)
    while step:
        next_ = found + step
        there = a[np.minimum(next_, n) - 1]
        first = _less(there, v) if side == "left" else ~_less(v, there)
        found = np.where((next_ <= n) & first, next_, found)
        step //= 2
    return found


def _less(x, y):
    """x < y in the sorting order (NaN last), elementwise."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    return traced(_ops.less_nan_last(_ops.broadcast(x.value, shape), _ops.broadcast(y.value, shape)))


@composite(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    element, test = tracer_of(element), tracer_of(test_elements).ravel()
    if test.shape[0] <= 16:
        found = np.any(element[..., None] == test, axis=-1)
    else:
        dtype = result_type(element, test)
        ordered = np.sort(test.astype(dtype))
        place = np.minimum(np.searchsorted(ordered, element.astype(dtype)), test.shape[0] - 1)
        found = ordered[place] == element
    return ~found if invert else found


@composite(np.select)
def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    dtype = result_type(*choicelist, default)
    shape = np.broadcast_shapes(*(tracer_of(x).shape for x in (*condlist, *choicelist, default)))
    result = np.broadcast_to(tracer_of(value_like(default, dtype)), shape)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        condition = tracer_of(condition)
        if condition.dtype != np.bool_:
            raise TypeError("invalid entry in condlist: should be boolean ndarray")
        result = np.where(condition, value_like(choice, dtype), result)
    return result


def value_like(x, dtype):
    return traced(value_of(x, dtype))


@composite(np.choose)
def choose(a, choices, mode="raise"):
    """An index out of range is clipped where NumPy's mode 'raise' raises an error."""
    a = tracer_of(a)
    choices = [tracer_of(c) for c in choices]
    n = len(choices)
    index = a % n if mode == "wrap" else np.clip(a, 0, n - 1)
    dtype = result_type(*choices)
    shape = np.broadcast_shapes(a.shape, *(c.shape for c in choices))
    result = np.broadcast_to(choices[-1].astype(dtype), shape)
    for i in range(n - 1):
        result = np.where(index == i, choices[i].astype(dtype), result)
    return result


@composite(np.take)
def take(a, indices, axis=None, mode="raise"):
    """An index out of range is clipped where NumPy's mode 'raise' raises an error."""
    a = tracer_of(a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = normalize_axis(axis, a.ndim)
    n = a.shape[axis]
    if not isinstance(indices, Tracer):
        indices = np.asarray(indices)
        if indices.dtype.kind == "f" and indices.size == 0:
            indices = indices.astype(np.int64)
        if mode == "raise" and indices.size and not (-n <= indices.min() and indices.max() < n):
            raise IndexError(f"index out of bounds for axis {axis} with size {n}")
        indices = tracer_of(indices)
    if indices.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {indices.dtype} to int64 according to the rule 'safe'")
    if n == 0 and indices.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    indices = indices.astype(np.int64)
    if n == 0:
        return np.zeros(a.shape[:axis] + indices.shape + a.shape[axis + 1 :], a.dtype)
    if mode == "wrap":
        indices = indices % n
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    return a[(slice(None),) * axis + (indices,)]


@composite(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    a, indices = tracer_of(arr), tracer_of(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        a, axis = a.ravel(), 0
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if a.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = normalize_axis(axis, a.ndim)
    shape = np.broadcast_shapes(
        a.shape[:axis] + (1,) + a.shape[axis + 1 :], indices.shape[:axis] + (1,) + indices.shape[axis + 1 :]
    )
    index = []
    for i in range(a.ndim):
        if i == axis:
            index.append(indices)
        else:
            index.append(np.arange(a.shape[i]).reshape([-1 if k == i else 1 for k in range(a.ndim)]))
    return a[tuple(index)]


@composite(np.compress)
def compress(condition, a, axis=None):
    if isinstance(condition, Tracer):
        data_dependent("np.compress by a traced condition", "use np.where(condition, a, 0), or a static condition")
    return take(a, np.flatnonzero(condition), axis)


@composite(np.extract)
def extract(condition, arr):
    if isinstance(condition, Tracer):
        data_dependent("np.extract by a traced condition", "use np.where(condition, a, 0), or a static condition")
    return take(tracer_of(arr).ravel(), np.flatnonzero(condition))


for _function, _instead in {
    np.nonzero: "use the mask itself: np.where(mask, a, b), np.sum(mask)",
    np.argwhere: "use the mask itself: np.where(mask, a, b), np.argmax(mask)",
    np.flatnonzero: "use the mask itself: np.where(mask, a, b), np.argmax(mask)",
    np.unique: "sort (np.sort) and compare neighbours; np.diff(np.sort(x)) != 0 marks where values change",
    np.unique_all: "sort (np.sort) and compare neighbours",
    np.unique_counts: "sort (np.sort) and compare neighbours",
    np.unique_inverse: "sort (np.sort) and compare neighbours",
    np.unique_values: "sort (np.sort) and compare neighbours",
    np.union1d: "join with np.concatenate and mark repeats with np.isin",
    np.intersect1d: "mark the elements with np.isin",
    np.setdiff1d: "mark the elements with np.isin(…, invert=True)",
    np.setxor1d: "mark the elements with np.isin(…, invert=True)",
    np.bincount: "use xla.lax.segment_sum, whose number of bins is given",
}.items():
    refuse_always(_function, _instead)


def _first_extreme(a, axis, keepdims, largest):
    """The index of the first largest (smallest) element, NaN before all others."""
    a = tracer_of(a)
    shape = a.shape
    whole = axis is None
    if whole:
        a, axis = a.ravel(), 0
    else:
        axis = normalize_axis(axis, a.ndim)
    if a.shape[axis] == 0:
        raise ValueError(f"attempt to get arg{'max' if largest else 'min'} of an empty sequence")
    x = a.value if a.dtype != np.bool_ else _ops.convert(a.value, np.uint8)
    if x.dtype.kind != "c":
        found = _first_equal(x, axis, largest)
    else:
        found = _first_complex(x, axis, largest)
    if keepdims:
        return found.reshape([1 if whole or i == axis else d for i, d in enumerate(shape)])
    return found


def _first_equal(x, axis, largest):
    """The extreme, NaN if there is one, then the least index of what equals it: two reductions that vectorize."""
    if x.dtype.kind in "iu":
        limit = np.iinfo(x.dtype).min if largest else np.iinfo(x.dtype).max
    else:
        limit = -np.inf if largest else np.inf
    best = _ops.reduce(x, "maximum" if largest else "minimum", (axis,), limit)
    best = _ops.broadcast_in_dim(best, x.shape, [i for i in range(len(x.shape)) if i != axis])
    same = _ops.compare("EQ", x, best)
    if x.dtype.kind not in "iu":
        same = _ops.logical_or(same, _is_nan(x))
    n = x.shape[axis]
    index = _ops.iota(np.int32 if n < 2**31 else np.int64, x.shape, axis)
    index = _ops.select(same, index, _ops.full(n, index.dtype, x.shape))
    return traced(_ops.convert(_ops.reduce(index, "minimum", (axis,), n), np.int64))


def _first_complex(x, axis, largest):
    """By real part, then imaginary part: pairs of element and index are reduced."""
    module = _hlo.current().module
    key = ("first extreme", x.dtype, largest)
    if key not in module.scalar_computations:
        computation = _hlo.Computation(module, "argmax" if largest else "argmin")
        left, i, right, j = (computation.parameter(d, ()) for d in (x.dtype, np.int64, x.dtype, np.int64))
        with _hlo.tracing(computation):
            before = _before(left, right, largest)
            same = _ops.logical_not(_ops.logical_or(before, _before(right, left, largest)))
            keep = _ops.logical_or(before, _ops.logical_and(same, _ops.compare("LT", i, j)))
            roots = [_ops.select(keep, left, right), _ops.select(keep, i, j)]
        module.scalar_computations[key] = computation.finish(roots)
    # It begins with an index after all others, and an element that stands behind all.
    worst = np.asarray(complex(-np.inf, -np.inf) if largest else complex(np.inf, np.inf), x.dtype)
    index = _ops.iota(np.int64, x.shape, axis)
    inits = [_ops.constant(worst), _ops.constant(np.asarray(np.iinfo(np.int64).max))]
    return traced(_ops.reduce_with([x, index], inits, (axis,), module.scalar_computations[key])[1])


def _before(x, y, largest):
    """Does complex x stand before y among candidates: NaN first, then the larger (smaller) one?"""
    nan = lambda v: _ops.logical_or(_is_nan(_ops.real(v)), _is_nan(_ops.imag(v)))
    less = _ops.less_nan_last(y, x) if largest else _ops.less_nan_last(x, y)
    return _ops.select(nan(y), _ops.constant(np.bool_(False)), _ops.logical_or(nan(x), less))


def _is_nan(x):
    return _ops.compare("NE", x, x)


@composite(np.argmax)
def argmax(a, axis=None, *, keepdims=np._NoValue):
    return _first_extreme(a, axis, keepdims is not np._NoValue and keepdims, largest=True)


@composite(np.argmin)
def argmin(a, axis=None, *, keepdims=np._NoValue):
    return _first_extreme(a, axis, keepdims is not np._NoValue and keepdims, largest=False)
