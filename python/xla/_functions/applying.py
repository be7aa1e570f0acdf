"""Python functions applied to slices of arrays, which are traced once for all slices."""

import math

import numpy as np

from .._tracer import implements, normalize_axis, tracer_of
from ..lax import vmap


@implements(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    a = tracer_of(arr)
    axis = normalize_axis(axis, a.ndim)
    rest = a.shape[:axis] + a.shape[axis + 1 :]
    if 0 in rest:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = np.moveaxis(a, axis, -1).reshape(math.prod(rest), a.shape[axis])
    results = vmap(lambda row: tracer_of(func1d(row, *args, **kwargs)))(rows)
    made = results.shape[1:]
    # The axes of a slice's result stand where the slice's own axis stood.
    order = list(range(len(rest) + len(made)))
    order = order[:axis] + order[len(rest) :] + order[axis : len(rest)]
    return np.transpose(results.reshape(rest + made), order)


@implements(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    a = tracer_of(a)
    for axis in axes if np.ndim(axes) else (axes,):
        axis = axis + a.ndim if axis < 0 else axis
        result = tracer_of(func(a, axis))
        result = result if result.ndim == a.ndim else np.expand_dims(result, axis)
        if result.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = result
    return a
