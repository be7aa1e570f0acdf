"""Functions that write into an array that the compiled function made itself, or that compute indices."""

import math

import numpy as np

from .. import _errors
from .._tracer import HANDLERS, Tracer, dtype_of, holds_tracer, implements, normalize_axis, tracer_of, value_of
from ._support import composite, traced


def own(a, name):
    """The traced array that np.`name` writes into. A NumPy array cannot take what is known only when the program runs."""
    if not isinstance(a, Tracer):
        _errors.fail(
            _errors.NumPyStoreError,
            f"np.{name} writes traced values into a {type(a).__name__} of NumPy's; write into a traced array, such as "
            "np.zeros_like(x) or x.copy() of a traced x, instead",
        )
    return a


def _elements(values, a, safe=False):
    """`values` in a's type. `safe`: arrays of a type that may not fit are errors; numbers and lists are looked at."""
    if isinstance(values, (Tracer, np.ndarray)) or holds_tracer(values):
        values = tracer_of(values)
        if safe and not values._weak and not np.can_cast(values.dtype, a.dtype):
            raise TypeError(f"Cannot cast array data from {values.dtype!r} to {a.dtype!r} according to the rule 'safe'")
    else:
        values = np.asarray(values, a.dtype)
    return traced(value_of(values, a.dtype))


@implements(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    dst = own(dst, "copyto")
    kind = dtype_of(src)
    kind = np.result_type(dst.dtype, kind(0)) if isinstance(kind, type) else kind
    if not np.can_cast(kind, dst.dtype, casting):
        raise TypeError(f"Cannot cast array data from {kind!r} to {dst.dtype!r} according to the rule {casting!r}")
    new = np.broadcast_to(_elements(src, dst), dst.shape)
    dst[...] = new if where is True else np.where(where, new, dst)


@implements(np.putmask)
def putmask(a, mask, values):
    """Element i of a takes element i of `values`, repeated as often as needed."""
    a = own(a, "putmask")
    values = np.resize(_elements(values, a, safe=True), a.shape)
    a[...] = np.where(tracer_of(mask).reshape(a.shape), values, a)


@implements(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    a = own(a, "fill_diagonal")
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + sum(math.prod(a.shape[i:]) for i in range(1, a.ndim))
    end = None if wrap or a.ndim > 2 else a.shape[1] * a.shape[1]
    places = np.arange(a.size)[:end:step]
    flat = a.reshape(-1).copy()
    flat[places] = np.resize(_elements(val, a), places.shape)
    a[...] = flat.reshape(a.shape)


@implements(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    a, indices = own(arr, "put_along_axis"), tracer_of(indices)
    if axis is None:
        flat = a.reshape(-1).copy()
        flat[indices] = values
        a[...] = flat.reshape(a.shape)
        return
    axis = normalize_axis(axis, a.ndim)
    shape = [1] * a.ndim
    index = []
    for i in range(a.ndim):
        shape[i] = -1
        index.append(indices if i == axis else np.arange(a.shape[i]).reshape(shape))
        shape[i] = 1
    a[tuple(index)] = values


@implements(np.put)
def put(a, ind, v, mode="raise"):
    a = own(a, "put")
    ind = tracer_of(ind).reshape(-1)
    flat = a.reshape(-1).copy()
    if mode == "wrap":
        ind = ind % a.size
    elif mode == "clip":
        ind = np.clip(ind, 0, a.size - 1)
    flat[ind] = np.resize(_elements(v, a), ind.shape)
    a[...] = flat.reshape(a.shape)


@implements(np.place)
def place(arr, mask, vals):
    """The n-th element that the mask chooses takes the n-th of `vals`, which repeat. No values are an error here even
    where the mask turns out to choose nothing."""
    a, mask = own(arr, "place"), tracer_of(mask).ravel()
    values = _elements(vals, a, safe=True).ravel()
    if mask.size != a.size:
        raise ValueError("place: mask and data must be the same size")
    if not a.size:
        return
    if not values.size:
        raise ValueError("Cannot insert from an empty array!")
    mask = mask.astype(bool)
    number = np.maximum(np.cumsum(mask) - 1, 0)
    a[...] = np.where(mask, values[number % values.size], a.ravel()).reshape(a.shape)


@composite(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    """Every function is computed on all of x."""
    x = tracer_of(x)
    single = isinstance(condlist, (bool, np.bool_)) or tracer_of_list(condlist).ndim == x.ndim
    conditions = [tracer_of(c) for c in ([condlist] if single else condlist)]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        default = functions.pop()
    elif len(functions) == len(conditions):
        default = 0
    else:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected"
        )

    def value(f):
        return np.broadcast_to(tracer_of(f(x, *args, **kw) if callable(f) else f).astype(x.dtype), x.shape)

    result = value(default)
    for condition, function in zip(conditions, functions):
        result = np.where(condition, value(function), result)
    return result


def tracer_of_list(conditions):
    return (
        tracer_of(np.stack([tracer_of(c) for c in conditions]))
        if isinstance(conditions, (list, tuple))
        else tracer_of(conditions)
    )


@implements(np.diag_indices_from)
def diag_indices_from(arr):
    shape = tracer_of(arr).shape
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(shape[0], len(shape))


@implements(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    shape = tracer_of(arr).shape
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return np.tril_indices(shape[-2], k=k, m=shape[-1])


@implements(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    shape = tracer_of(arr).shape
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return np.triu_indices(shape[-2], k=k, m=shape[-1])


@composite(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    """Indices out of range wrap around where NumPy raises an error."""
    rest = tracer_of(indices)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    out = []
    for d in shape[::-1] if order == "C" else shape:
        out.append(rest % d)
        rest = rest // d
    return tuple(out[::-1] if order == "C" else out)


@composite(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Indices out of range are not looked for with mode 'raise'."""
    parts = [tracer_of(i) for i in multi_index]
    if mode in ("wrap", "clip"):
        parts = [p % d if mode == "wrap" else np.clip(p, 0, d - 1) for p, d in zip(parts, dims)]
    flat = 0
    for p, d in zip(parts, dims) if order == "C" else list(zip(parts, dims))[::-1]:
        flat = flat * d + p
    return flat


# Old names.
for _name, _now in (("in1d", np.isin), ("trapz", np.trapezoid), ("row_stack", np.vstack)):
    if hasattr(np, _name):
        implements(getattr(np, _name))(HANDLERS[_now])
