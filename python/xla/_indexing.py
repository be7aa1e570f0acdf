"""Indexing of traced arrays as NumPy's: integers, slices, newaxis and ellipsis give views; arrays gather and scatter;
masks select where the shape stays fixed."""

import numpy as np

from . import _errors, _ops as o
from ._masked import Masked
from ._tracer import Tracer, as_array, value_of


def _entries(index, ndim):
    """The index as a list of entries that each consume one dimension (int, slice, Tracer, array) or none (None)."""
    index = index if isinstance(index, tuple) else (index,)
    entries, consumed = [], 0
    for entry in index:
        if isinstance(entry, (list, tuple)):
            entry = as_array(entry)
            if isinstance(entry, np.ndarray) and entry.size == 0:
                entry = entry.astype(np.intp)
        if isinstance(entry, (bool, np.bool_)):
            entry = np.asarray(entry)
        if isinstance(entry, (np.ndarray, np.generic, Tracer)) and entry.dtype == np.bool_:
            if isinstance(entry, Tracer):
                _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)
            consumed += entry.ndim
            if entry.ndim == 0:
                _errors.fail(_errors.UnsupportedError, "indexing by one bool is not compiled; write np.where")
            entries += [("mask", entry)]
        elif entry is None or entry is Ellipsis:
            entries.append(entry)
        else:
            consumed += 1
            entries.append(entry)
    if consumed > ndim:
        raise IndexError(_errors.at_user(f"too many indices: the array has {ndim} dimensions, {consumed} were indexed"))
    full = [slice(None)] * (ndim - consumed)
    places = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if places:
        entries[places[0] : places[0] + 1] = full
    else:
        entries += full
    return entries


def _static_mask_to_arrays(entries, shape):
    """Replaces masks that are plain arrays by the integer arrays that NumPy takes them for."""
    out, axis = [], 0
    for entry in entries:
        if isinstance(entry, tuple):
            mask = entry[1]
            if mask.shape != tuple(shape[axis : axis + mask.ndim]):
                raise IndexError(_errors.at_user(f"boolean index of shape {mask.shape} does not fit {shape[axis:]}"))
            out += list(np.nonzero(mask))
            axis += mask.ndim
        else:
            out.append(entry)
            axis += entry is not None
    return out


def _classify(entry, size):
    """('int', k), ('slice', (start, limit, step, length)), ('new',), ('scalar', value) or ('array', x)."""
    if entry is None:
        return ("new",)
    if isinstance(entry, slice):
        for part in (entry.start, entry.stop, entry.step):
            if isinstance(part, Tracer):
                _errors.fail(
                    _errors.DataDependentShapeError,
                    "the length of a slice with traced bounds is not fixed; write xla.lax.dynamic_slice(x, start, sizes), "
                    "or x[start + np.arange(length)], or make the bounds static (static_argnums)",
                )
        start, stop, step = entry.indices(size)
        return ("slice", (start, stop, step, len(range(start, stop, step))))
    if isinstance(entry, Tracer):
        if entry.dtype.kind not in "iu":
            raise IndexError(
                _errors.at_user(f"arrays used as indices must be of integer (or boolean) type, not {entry.dtype}")
            )
        return ("scalar", entry) if entry.ndim == 0 else ("array", entry)
    if isinstance(entry, np.ndarray) and entry.ndim > 0:
        if entry.dtype.kind not in "iu":
            raise IndexError(_errors.at_user("arrays used as indices must be of integer (or boolean) type"))
        if entry.size and (entry.min() < -size or entry.max() >= size):
            raise IndexError(_errors.at_user(f"an index is out of bounds for axis with size {size}"))
        return ("array", np.where(entry < 0, entry + size, entry))
    try:
        number = entry.__index__()
    except (AttributeError, TypeError):
        raise IndexError(
            _errors.at_user("only integers, slices, ellipsis, None and integer or boolean arrays are valid indices")
        ) from None
    if not -size <= number < size:
        raise IndexError(_errors.at_user(f"index {number} is out of bounds for axis with size {size}"))
    return ("int", number % size)


def _wrapped(index, size):
    """A traced index's value with negative numbers counted from the end."""
    value = index.value
    if value.dtype.kind == "u":
        return value
    if value.dtype.itemsize < 4:
        value = o.convert(value, np.int32)
    return o.select(o.compare_number("LT", value, 0), o.add(value, o.full(size, value.dtype, value.shape)), value)


def _plan(shape, index):
    entries = _static_mask_to_arrays(_entries(index, len(shape)), shape)
    plan, axis = [], 0
    for entry in entries:
        plan.append(_classify(entry, shape[axis] if entry is not None else 0))
        axis += entry is not None
    return plan


def _basic(x, plan):
    """The view that integers, slices and new axes give. Scalars of traced integers move it; arrays are taken as slices."""
    shape = x.shape
    starts, limits, strides, flips, inner, outer, moving = [], [], [], [], [], [], {}
    axis = 0
    for kind, *rest in plan:
        if kind == "new":
            outer.append(1)
            continue
        if kind == "int":
            first, count, step = rest[0], 1, 1
        elif kind == "slice":
            start, _, step, count = rest[0]
            first = start if step > 0 else start + (count - 1) * step
            if step < 0 and count:
                flips.append(axis)
            if count == 0:
                first = 0
        elif kind == "scalar":
            first, count, step = 0, shape[axis], 1
            moving[axis] = _wrapped(rest[0], shape[axis])
        else:
            first, count, step = 0, shape[axis], 1
        starts.append(first)
        strides.append(abs(step))
        limits.append(first + (count - 1) * abs(step) + 1 if count else first)
        inner.append(1 if axis in moving else count)
        if kind not in ("int", "scalar"):
            outer.append(count)
        axis += 1
    if not moving and not flips and tuple(outer) == shape and tuple(inner) == shape and all(t == 1 for t in strides):
        return x
    sliced = [l - s if t == 1 else -(-(l - s) // t) for s, l, t in zip(starts, limits, strides)]

    def positions(value):
        zero = o.constant(0, np.int64)
        return [o.convert(moving[a], np.int64) if a in moving else zero for a in range(len(shape))]

    def read(value):
        value = o.slice_(value, starts, limits, strides)
        if moving:
            value = o.dynamic_slice(value, positions(value), inner)
        return o.reshape(o.reverse(value, flips), outer)

    def write(whole, new):
        new = o.reverse(o.reshape(new, inner), flips)
        if moving:
            base = o.slice_(whole, starts, limits, strides)
            new = o.dynamic_update_slice(base, new, positions(base))
        return _put_slice(whole, new, starts, limits, strides)

    protected = None
    if x._protected is not None:
        protected = x._protected
    return Tracer.view_of(x, read, write, protected)


def _put_slice(whole, new, starts, limits, strides):
    if new.shape == whole.shape:
        return new
    if 0 in new.shape:
        return whole
    if all(t == 1 for t in strides):
        return o.dynamic_update_slice(whole, new, [o.constant(s, np.int64) for s in starts])
    high = [d - (s + (n - 1) * t + 1) for d, s, n, t in zip(whole.shape, starts, new.shape, strides)]
    interior = [t - 1 for t in strides]
    mask = o.pad(o.full(True, np.bool_, new.shape), starts, high, interior, False)
    return o.select(mask, o.pad(new, starts, high, interior, 0), whole)


def _advanced(plan):
    """(the plan whose arrays are whole slices, list of (axis of its view, index), where the result's new axes stand), or
    None if there are no arrays. As in NumPy, integers beside arrays are arrays of no dimensions."""
    if not any(p[0] == "array" for p in plan):
        return None
    simple, arrays, places, axis = [], [], [], 0
    for i, p in enumerate(plan):
        if p[0] in ("array", "int", "scalar"):
            arrays.append((axis, p[1]))
            places.append(i)
            simple.append(("array",))
        else:
            simple.append(p)
        axis += 1
    together = places == list(range(places[0], places[0] + len(places)))
    return simple, arrays, arrays[0][0] if together else 0


def _gather_parts(shape, arrays):
    """(the indices with one column for each indexed axis, their common shape)."""
    values = []
    for axis, index in arrays:
        if isinstance(index, Tracer):
            values.append(_wrapped(index, shape[axis]))
        else:
            values.append(o.constant(index, np.int64))
    common = np.broadcast_shapes(*(v.shape for v in values))
    columns = [o.reshape(o.broadcast(o.convert(v, np.int64), common), (*common, 1)) for v in values]
    return o.concatenate(columns, len(common)), common


def get(x, index):
    """x[index]."""
    if isinstance(index, Tracer) and index.dtype == np.bool_ and index.ndim:
        return Masked(x, index)
    plan = _plan(x.shape, index)
    advanced = _advanced(plan)
    if advanced is None:
        view = _basic(x, plan)
        if view.shape == () and not any(i is Ellipsis for i in (index if isinstance(index, tuple) else (index,))):
            return Tracer(view.value)  # one element is a number, which later writes do not change
        return view
    simple, arrays, place = advanced
    base = _basic(x, simple).value
    axes = [a for a, _ in arrays]
    indices, common = _gather_parts(base.shape, arrays)
    rest = [d for i, d in enumerate(base.shape) if i not in axes]
    shape = rest[:place] + list(common) + rest[place:]
    offsets = [i for i in range(len(shape)) if not place <= i < place + len(common)]
    if 0 in shape:
        return Tracer(o.full(0, x.dtype, shape))
    sizes = [1 if i in axes else d for i, d in enumerate(base.shape)]
    return Tracer(o.gather(base, indices, sizes, offsets, axes, axes, len(common), shape))


def put(x, index, new, opcode=None):
    """x[index] = new, or with an opcode x[index] = opcode(x[index], new) for each occurrence of an index."""
    if isinstance(index, Tracer) and index.dtype == np.bool_ and index.ndim:
        return _put_mask(x, index, new)
    plan = _plan(x.shape, index)
    advanced = _advanced(plan)
    if advanced is None:
        view = _basic(x, plan)
        value = o.broadcast(_squeezed(value_of(new, x.dtype), view.shape), view.shape)
        view.assign(value if opcode is None else o.binary(opcode, view.value, value))
        return
    simple, arrays, place = advanced
    view = _basic(x, simple)
    axes = [a for a, _ in arrays]
    indices, common = _gather_parts(view.shape, arrays)
    rest = [d for i, d in enumerate(view.shape) if i not in axes]
    shape = tuple(rest[:place] + list(common) + rest[place:])
    updates = o.broadcast(_squeezed(value_of(new, x.dtype), shape), shape)
    if 0 in shape:
        return
    windows = [i for i in range(len(shape)) if not place <= i < place + len(common)]
    view.assign(o.scatter(view.value, indices, updates, opcode, windows, axes, axes, len(common)))


def _squeezed(value, shape):
    """NumPy lets leading dimensions of 1 be too many in an assignment."""
    extra = len(value.shape) - len(shape)
    if extra > 0 and all(d == 1 for d in value.shape[:extra]):
        return o.reshape(value, value.shape[extra:])
    return value


def _put_mask(x, mask, new):
    if mask.shape != x.shape[: mask.ndim]:
        raise IndexError(
            _errors.at_user(f"boolean index of shape {mask.shape} does not fit an array of shape {x.shape}")
        )
    whole = o.broadcast_in_dim(mask.value, x.shape, range(mask.ndim))
    if isinstance(new, Masked):
        value = o.convert(new.on(mask), x.dtype)
    else:
        value = value_of(new, x.dtype)
        rest = x.ndim - mask.ndim
        if len(value.shape) > rest and value.shape[: len(value.shape) - rest] != (1,) * (len(value.shape) - rest):
            _errors.fail(
                _errors.DataDependentShapeError,
                "how many elements x[mask] = values takes depends on the mask; write x[mask] = number, "
                "x[mask] = y[mask], or x[...] = np.where(mask, values, x) with values of x's shape",
            )
        value = _squeezed(value, x.shape[mask.ndim :])
    x.assign(o.select(whole, o.broadcast(value, x.shape), x.value))


Tracer.__getitem__ = get
Tracer.__setitem__ = lambda self, index, new: put(self, index, new)
