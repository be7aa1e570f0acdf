"""Shape and joining: reshape, transpose, concatenate, stack, broadcast_to, squeeze, … . Where NumPy gives a view, so do
these."""

import numpy as np

from .. import _errors, _ops as o
from .._tracer import (
    Tracer,
    as_array,
    concrete,
    finish,
    implements,
    normalize_axes,
    normalize_axis,
    result_type,
    tracer_of,
    value_of,
)


def reshaped(a, shape):
    """A view of a tracer with another shape."""
    old = a.shape
    return Tracer.view_of(a, lambda v: o.reshape(v, shape), lambda whole, new: o.reshape(new, old), a._protected)


def transposed(a, axes):
    """A view with permuted axes."""
    back = np.argsort(axes)
    return Tracer.view_of(a, lambda v: o.transpose(v, axes), lambda whole, new: o.transpose(new, back), a._protected)


@implements(np.reshape)
def reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    a = tracer_of(a)
    shape = concrete(newshape if shape is None else shape, "a shape")
    shape = tuple(shape) if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    shape = [int(concrete(d, "a shape").__index__()) for d in shape]
    if shape.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    if -1 in shape:
        known = int(np.prod([d for d in shape if d != -1], dtype=np.int64))
        if known == 0 or a.size % known:
            raise ValueError(f"cannot reshape array of size {a.size} into shape {tuple(shape)}")
        shape[shape.index(-1)] = a.size // known
    if int(np.prod(shape, dtype=np.int64)) != a.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {tuple(shape)}")
    if order == "F":
        turned = transposed(a, range(a.ndim)[::-1])
        return transposed(reshaped(turned, tuple(shape[::-1])), range(len(shape))[::-1])
    return reshaped(a, tuple(shape))


@implements(np.ravel)
def ravel(a, order="C"):
    return reshape(a, -1, order="F" if order == "F" else "C")


@implements(np.transpose)
def transpose(a, axes=None):
    a = tracer_of(a)
    axes = range(a.ndim)[::-1] if axes is None else [normalize_axis(x, a.ndim) for x in axes]
    if sorted(axes) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    return transposed(a, list(axes))


@implements(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    array = tracer_of(array)
    shape = (shape,) if np.isscalar(shape) else tuple(concrete(shape, "a shape"))
    if np.broadcast_shapes(array.shape, shape) != shape:
        raise ValueError(f"cannot broadcast an array of shape {array.shape} to {shape}")
    return Tracer.view_of(
        array,
        lambda v: o.broadcast(v, shape),
        None,
        "the result of np.broadcast_to cannot be written; write to a copy()",
    )


@implements(np.expand_dims)
def expand_dims(a, axis):
    a = tracer_of(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = a.ndim + len(axes)
    axes = normalize_axes(tuple(axes), ndim)
    rest = iter(a.shape)
    return reshaped(a, tuple(1 if i in axes else next(rest) for i in range(ndim)))


@implements(np.squeeze)
def squeeze(a, axis=None):
    a = tracer_of(a)
    axes = [i for i, d in enumerate(a.shape) if d == 1] if axis is None else normalize_axes(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshaped(a, tuple(d for i, d in enumerate(a.shape) if i not in axes))


@implements(np.concatenate)
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = [as_array(a) for a in arrays]
    dtype = result_type(*arrays) if dtype is None else np.dtype(dtype)
    values = [value_of(a, dtype) for a in arrays]
    if axis is None:
        values, axis = [o.reshape(v, (int(np.prod(v.shape)),)) for v in values], 0
    if not values[0].shape:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, len(values[0].shape))
    for v in values:
        if len(v.shape) != len(values[0].shape) or any(
            d != e for i, (d, e) in enumerate(zip(v.shape, values[0].shape)) if i != axis
        ):
            raise ValueError(
                f"all the input array dimensions except for the concatenation axis must match exactly: "
                f"{values[0].shape} and {v.shape} along axis {axis}"
            )
    return finish(o.concatenate(values, axis), out, casting)


@implements(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = [as_array(a) for a in arrays]
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({a.shape for a in arrays}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, arrays[0].ndim + 1)
    return concatenate([expand_dims(a, axis) for a in arrays], axis, out, dtype=dtype, casting=casting)


@implements(np.where)
def where(condition, x=None, y=None, /):
    if x is None or y is None:
        _errors.fail(
            _errors.DataDependentShapeError,
            "np.where(condition) alone has as many results as there are true elements; write np.where(condition, x, y)",
        )
    dtype = result_type(x, y)
    shape = np.broadcast_shapes(np.shape(condition), np.shape(x), np.shape(y))
    condition, x, y = value_of(condition, np.bool_), value_of(x, dtype), value_of(y, dtype)
    return Tracer(o.select(o.broadcast(condition, shape), o.broadcast(x, shape), o.broadcast(y, shape)))


@implements(np.shape)
def shape(a):
    return as_array(a).shape


@implements(np.ndim)
def ndim(a):
    return as_array(a).ndim


@implements(np.size)
def size(a, axis=None):
    a = as_array(a)
    return a.size if axis is None else a.shape[axis]
