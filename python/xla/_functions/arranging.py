"""Functions that arrange elements: axes moved, arrays joined, split, repeated, flipped, padded, cut to triangles."""

import math

import numpy as np

from .. import _ops
from .._tracer import Tracer, concrete, normalize_axis, normalize_axes, tracer_of, value_of
from ._support import composite, data_dependent, refuse, traced


@composite(np.moveaxis)
def moveaxis(a, source, destination):
    a = tracer_of(a)
    source, destination = ([e] if isinstance(e, (int, np.integer)) else list(e) for e in (source, destination))
    source = [normalize_axis(s, a.ndim) for s in source]
    destination = [normalize_axis(d, a.ndim) for d in destination]
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(a.ndim) if i not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return np.transpose(a, order)


@composite(np.swapaxes)
def swapaxes(a, axis1, axis2):
    a = tracer_of(a)
    order = list(range(a.ndim))
    i, j = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return np.transpose(a, order)


@composite(np.rollaxis)
def rollaxis(a, axis, start=0):
    a = tracer_of(a)
    axis = normalize_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-a.ndim} <= start < {a.ndim + 1}, but {start} was passed in"
        )
    order = [i for i in range(a.ndim) if i != axis]
    order.insert(start - (axis < start), axis)
    return np.transpose(a, order)


@composite(np.matrix_transpose)
def matrix_transpose(x, /):
    if tracer_of(x).ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {tracer_of(x).ndim}")
    return np.swapaxes(x, -1, -2)


def _at_least(n, shape):
    if n == 3 and len(shape) == 2:
        return (*shape, 1)
    if n == 3 and len(shape) == 1:
        return (1, *shape, 1)
    return (1,) * (n - len(shape)) + tuple(shape)


def _at_least_function(function, n):
    @composite(function)
    def handler(*arys):
        made = tuple(np.reshape(x, _at_least(n, x.shape)) if x.ndim < n else x for x in map(tracer_of, arys))
        return made[0] if len(made) == 1 else made

    return handler


for _n, _function in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)):
    _at_least_function(_function, _n)


@composite(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    args = [tracer_of(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


def _joined(arrays, axis, dtype, casting):
    return np.concatenate(arrays, axis, dtype=dtype, casting=casting)


@composite(np.vstack)
def vstack(tup, *, dtype=None, casting="same_kind"):
    return _joined([np.atleast_2d(tracer_of(a)) for a in tup], 0, dtype, casting)


@composite(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    arrays = [np.atleast_1d(tracer_of(a)) for a in tup]
    return _joined(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype, casting)


@composite(np.dstack)
def dstack(tup):
    return np.concatenate([np.atleast_3d(tracer_of(a)) for a in tup], 2)


@composite(np.column_stack)
def column_stack(tup):
    arrays = [tracer_of(a) for a in tup]
    return np.concatenate([a.reshape(-1, 1) if a.ndim < 2 else a for a in arrays], 1)


@composite(np.block)
def block(arrays):
    def depth(x):
        if isinstance(x, list):
            if not x:
                raise ValueError("List at arrays cannot be empty")
            return 1 + depth(x[0])
        return 0

    n = depth(arrays)

    def leaves(x):
        return [l for e in x for l in leaves(e)] if isinstance(x, list) else [tracer_of(x)]

    ndim = max(n, *(l.ndim for l in leaves(arrays)))

    def join(x, level):
        if not isinstance(x, list):
            x = tracer_of(x)
            return x.reshape((1,) * (ndim - x.ndim) + x.shape)
        return np.concatenate([join(e, level + 1) for e in x], axis=ndim - n + level)

    return join(arrays, 0)


@composite(np.append)
def append(arr, values, axis=None):
    arr, values = tracer_of(arr), tracer_of(values)
    if axis is None:
        arr, values, axis = arr.ravel(), values.ravel(), 0
    return np.concatenate([arr, values], axis)


def _sections(n, sections, name):
    """The borders of parts along an axis of length n."""
    if isinstance(sections, (int, np.integer)):
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(n, int(sections))
        if extra and name == "split":
            raise ValueError("array split does not result in an equal division")
        sizes = [each + 1] * extra + [each] * (int(sections) - extra)
        return [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return [0, *[int(concrete(s, "where np.split cuts")) for s in sections], n]


def _split(ary, sections, axis, name):
    a = tracer_of(ary)
    axis = normalize_axis(axis, a.ndim)
    borders = _sections(a.shape[axis], sections, name)
    return [a[(slice(None),) * axis + (slice(low, high),)] for low, high in zip(borders, borders[1:])]


@composite(np.split)
def split(ary, indices_or_sections, axis=0):
    return _split(ary, indices_or_sections, axis, "split")


@composite(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    return _split(ary, indices_or_sections, axis, "array_split")


@composite(np.hsplit)
def hsplit(ary, indices_or_sections):
    ndim = tracer_of(ary).ndim
    if ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return _split(ary, indices_or_sections, 1 if ndim > 1 else 0, "split")


@composite(np.vsplit)
def vsplit(ary, indices_or_sections):
    if tracer_of(ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return _split(ary, indices_or_sections, 0, "split")


@composite(np.dsplit)
def dsplit(ary, indices_or_sections):
    if tracer_of(ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return _split(ary, indices_or_sections, 2, "split")


@composite(np.unstack)
def unstack(x, /, *, axis=0):
    x = tracer_of(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    x = np.moveaxis(x, axis, 0)
    return tuple(x[i] for i in range(x.shape[0]))


@composite(np.tile)
def tile(A, reps):
    a = tracer_of(A)
    reps = concrete(reps, "the repetitions of np.tile")
    reps = (int(reps),) if isinstance(reps, (int, np.integer)) else tuple(int(r) for r in reps)
    n = max(len(reps), a.ndim)
    reps = (1,) * (n - len(reps)) + reps
    shape = (1,) * (n - a.ndim) + a.shape
    twice = [d for s in shape for d in (1, s)]
    wide = [d for r, s in zip(reps, shape) for d in (r, s)]
    return np.broadcast_to(a.reshape(twice), wide).reshape([r * s for r, s in zip(reps, shape)])


@composite(np.repeat)
def repeat(a, repeats, axis=None):
    a = tracer_of(a)
    if isinstance(repeats, Tracer):
        data_dependent("np.repeat by traced repeats", "make the repeats static (static_argnums)")
    if axis is None:
        a, axis = a.ravel(), 0
    axis = normalize_axis(axis, a.ndim)
    repeats = np.asarray(repeats)
    if repeats.size == 1:
        count = int(repeats.reshape(-1)[0])
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        shape = a.shape[: axis + 1] + (count,) + a.shape[axis + 1 :]
        flat = a.shape[:axis] + (a.shape[axis] * count,) + a.shape[axis + 1 :]
        return np.broadcast_to(np.expand_dims(a, axis + 1), shape).reshape(flat)
    return np.take(a, np.repeat(np.arange(a.shape[axis]), repeats), axis)


@composite(np.flip)
def flip(m, axis=None):
    m = tracer_of(m)
    axes = normalize_axes(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


@composite(np.flipud)
def flipud(m):
    if tracer_of(m).ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return np.flip(m, 0)


@composite(np.fliplr)
def fliplr(m):
    if tracer_of(m).ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return np.flip(m, 1)


@composite(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    m = tracer_of(m)
    i, j = (normalize_axis(a, m.ndim) for a in axes)
    if i == j:
        raise ValueError("Axes must be different.")
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return np.flip(m, (i, j))
    return np.swapaxes(np.flip(m, j), i, j) if k == 1 else np.flip(np.swapaxes(m, i, j), j)


@composite(np.roll)
def roll(a, shift, axis=None):
    a = tracer_of(a)
    if axis is None:
        return np.roll(a.ravel(), shift, 0).reshape(a.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) == 1:
        shifts = tuple(shifts) * len(axes)
    if len(axes) == 1:
        axes = tuple(axes) * len(shifts)
    for amount, i in zip(shifts, axes):
        i = normalize_axis(i, a.ndim)
        n = a.shape[i]
        if n == 0:
            continue
        front = (slice(None),) * i
        if isinstance(amount, Tracer):
            a = np.take(a, (np.arange(n) - amount) % n, i)
        elif amount % n:
            cut = n - int(amount) % n
            a = np.concatenate([a[front + (slice(cut, None),)], a[front + (slice(None, cut),)]], i)
    return a


@composite(np.resize)
def resize(a, new_shape):
    a = tracer_of(a).ravel()
    shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    size = math.prod(shape)
    if a.size == 0:
        return np.zeros(shape, a.dtype)
    return np.tile(a, -(-size // a.size))[:size].reshape(shape)


def _positions(obj, n, what):
    if isinstance(obj, Tracer):
        data_dependent(f"{what} at traced positions", "make the positions static (static_argnums), or use np.where")
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    obj = np.asarray(obj)
    return np.flatnonzero(obj) if obj.dtype == bool else obj


@composite(np.delete)
def delete(arr, obj, axis=None):
    a = tracer_of(arr)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = normalize_axis(axis, a.ndim)
    return np.take(a, np.delete(np.arange(a.shape[axis]), _positions(obj, a.shape[axis], "np.delete")), axis)


@composite(np.insert)
def insert(arr, obj, values, axis=None):
    a = tracer_of(arr)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = normalize_axis(axis, a.ndim)
    n = a.shape[axis]
    where = _positions(obj, n, "np.insert")
    values = tracer_of(values).astype(a.dtype)
    if where.ndim == 0 and values.ndim:  # one place takes all values
        values = np.moveaxis(values.reshape((1,) * (a.ndim - values.ndim) + values.shape), 0, axis)
        count = values.shape[axis]
    else:
        count = where.size
    # NumPy itself says which element of [a, values] goes where.
    order = np.insert(np.arange(n), where if where.ndim else int(where), np.arange(n, n + count))
    shape = a.shape[:axis] + (count,) + a.shape[axis + 1 :]
    return np.take(np.concatenate([a, np.broadcast_to(values, shape)], axis), order, axis)


def _pairs(amount, n, what):
    """np.pad's numbers: one, a pair, or a pair per axis."""
    if isinstance(amount, dict):
        amount = [amount.get(i, amount.get(i - n, (0, 0))) for i in range(n)]
    amount = np.asarray(concrete(amount, what))
    if amount.dtype.kind not in "iufcb":
        raise TypeError("`pad_width` must be of integral type.")
    return [tuple(p) for p in np.broadcast_to(amount, (n, 2)).tolist()]


def _edge_index(n, low, high, mode, kind):
    """Which elements an axis of length n is padded with, as np.pad itself arranges them."""
    return np.pad(np.arange(n), (low, high), mode=mode, **kind)


@composite(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    a = tracer_of(array)
    if callable(mode):
        refuse("np.pad with a function as mode", "write the padding with np.concatenate")
    widths = _pairs(pad_width, a.ndim, "pad_width of np.pad")
    if any(w < 0 for p in widths for w in p):
        raise ValueError("index can't contain negative values")
    if mode == "constant":
        values = kwargs.get("constant_values", 0)
        if isinstance(values, Tracer):
            fill = value_of(values.reshape(()), a.dtype)
            return traced(_ops.pad(a.value, [p[0] for p in widths], [p[1] for p in widths], value=fill))
        fills = _pairs(values, a.ndim, "constant_values")
        x = a.value
        for i, ((low, high), (first, last)) in enumerate(zip(widths, fills)):
            for l, h, fill in ((low, 0, first), (0, high, last)):
                lows, highs = [0] * a.ndim, [0] * a.ndim
                lows[i], highs[i] = l, h
                x = _ops.pad(x, lows, highs, value=np.asarray(fill).astype(a.dtype))
        return traced(x)
    if mode == "empty":
        return pad(a, pad_width)
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        if kwargs.get("reflect_type", "even") != "even":
            refuse("np.pad with reflect_type='odd'", "compute 2 * edge - np.pad(…, 'reflect')")
        for i, (low, high) in enumerate(widths):
            if low or high:
                if a.shape[i] == 0:
                    raise ValueError(f"can't extend empty axis {i} using modes other than 'constant' or 'empty'")
                a = np.take(a, _edge_index(a.shape[i], low, high, mode, {}), i)
        return a
    if mode == "linear_ramp":
        ends = _pairs(kwargs.get("end_values", 0), a.ndim, "end_values")
        for i, ((low, high), (first, last)) in enumerate(zip(widths, ends)):
            parts = [a]
            for count, end, front in ((low, first, True), (high, last, False)):
                if count:
                    edge = np.take(a, [0 if front else a.shape[i] - 1], i)
                    ramp = np.linspace(end, np.squeeze(edge, i), count, endpoint=False, axis=i)
                    ramp = ramp.astype(a.dtype)
                    parts = [ramp, *parts] if front else [*parts, np.flip(ramp, i)]
            a = np.concatenate(parts, i) if len(parts) > 1 else a
        return a
    if mode in ("mean", "maximum", "minimum", "median"):
        reduce = {"mean": np.mean, "maximum": np.max, "minimum": np.min, "median": np.median}[mode]
        lengths = kwargs.get("stat_length")
        lengths = [(None, None)] * a.ndim if lengths is None else _pairs(lengths, a.ndim, "stat_length")
        for i, ((low, high), (front, back)) in enumerate(zip(widths, lengths)):
            n = a.shape[i]
            index = (slice(None),) * i
            first = reduce(a[index + (slice(0, n if front is None else front),)], axis=i, keepdims=True)
            last = reduce(a[index + (slice(n - (n if back is None else min(back, n)), n),)], axis=i, keepdims=True)
            if a.dtype.kind in "iu" and mode in ("mean", "median"):
                first, last = np.rint(first), np.rint(last)
            first, last = first.astype(a.dtype), last.astype(a.dtype)
            a = np.concatenate([np.repeat(first, low, i), a, np.repeat(last, high, i)], i)
        return a
    raise ValueError(f"mode '{mode}' is not supported")


@composite(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """The windows are copies: a result cannot be written into."""
    x = tracer_of(x)
    sizes = tuple(np.atleast_1d(concrete(window_shape, "a window's shape")))
    axes = range(x.ndim) if axis is None else [normalize_axis(a, x.ndim) for a in np.atleast_1d(axis)]
    if len(sizes) != len(axes):
        raise ValueError(f"window_shape has {len(sizes)} sizes for {len(axes)} axes")
    for size, a in zip(sizes, axes):
        count = x.shape[a] - size + 1
        if size < 0 or count < 1:
            raise ValueError("window shape cannot be negative, or larger than the array")
        x = np.moveaxis(np.take(x, np.arange(count)[:, None] + np.arange(size), axis=a), a + 1, -1)
    return x


def _triangle(m, k, keep):
    m = tracer_of(m)
    if m.ndim == 0:
        raise TypeError("an array of at least one dimension is needed")
    if m.ndim < 2:
        m = np.broadcast_to(m, (m.shape[0], m.shape[0]))
    rows, cols = m.shape[-2:]
    mask = keep(_ops.iota(np.int64, (rows, cols), 1), _ops.iota(np.int64, (rows, cols), 0), k)
    return np.where(mask, m, m.dtype.type(0))


def _offset(i, k):
    return _ops.add(i, _ops.broadcast(value_of(k, np.int64), i.shape))


@composite(np.tril)
def tril(m, k=0):
    return _triangle(m, k, lambda col, row, k: traced(_ops.compare("LE", col, _offset(row, k))))


@composite(np.triu)
def triu(m, k=0):
    return _triangle(m, k, lambda col, row, k: traced(_ops.compare("GE", col, _offset(row, k))))


@composite(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    a = tracer_of(a)
    i, j = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    a = np.moveaxis(a, (i, j), (-2, -1))
    m, n = a.shape[-2:]
    row, col = max(-offset, 0), max(offset, 0)
    length = max(0, min(m - row, n - col))
    if length == 0:
        return np.zeros(a.shape[:-2] + (0,), a.dtype)
    # Element k stands at flat position (row + k) n + col + k: every (n + 1)-th.
    flat = a.reshape(a.shape[:-2] + (m * n,))
    start = row * n + col
    return flat[..., start : start + (length - 1) * (n + 1) + 1 : n + 1]


@composite(np.diag)
def diag(v, k=0):
    v = tracer_of(v)
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.shape[0]
    size = n + abs(k)
    # Each element, then a row's length of zeros, is a diagonal when the rows are laid end to end.
    spread = np.pad(v.reshape(n, 1), ((0, 0), (0, size))).reshape(n * (size + 1))
    if n == 0:
        return np.zeros((size, size), v.dtype)
    start = k if k >= 0 else -k * size
    spread = spread[: n + (n - 1) * size]
    return np.pad(spread, (start, size * size - start - spread.shape[0])).reshape(size, size)


@composite(np.diagflat)
def diagflat(v, k=0):
    return diag(tracer_of(v).ravel(), k)
