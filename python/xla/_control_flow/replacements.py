"""What converted functions call in place of functions of Python and NumPy that do not take traced values as they are."""

import functools

import numpy as np

from .._tracer import Tracer, as_array, holds_tracer, tracer_of, value_of
from . import iterables, staged
from .staged import is_traced


def _range(*args):
    if not any(map(is_traced, args)):
        return range(*args)
    return iterables.traced_range(*args)


def _least(numpy_function, python_function):
    def choose(*args, **kwargs):
        items = args[0] if len(args) == 1 else args
        if len(args) == 1 and hasattr(items, "__next__"):  # a generator, which can be gone through once
            args = (items := list(items),)
        if kwargs or not (is_traced(items) or (isinstance(items, (tuple, list)) and any(map(is_traced, items)))):
            return python_function(*args, **kwargs)
        return functools.reduce(numpy_function, list(items))

    return choose


def _sorted(items, /, **kwargs):
    items = items if is_traced(items) else list(items)
    if kwargs.get("key") is not None or not (is_traced(items) or any(map(is_traced, items))):
        return sorted(items, **kwargs)
    ordered = np.sort(items if is_traced(items) else np.stack(items))
    return list(ordered[::-1] if kwargs.get("reverse") else ordered)


def _every(numpy_function, python_function):
    def decide(items):
        if is_traced(items):
            return numpy_function(items)
        items = list(items)
        if not any(map(is_traced, items)):
            return python_function(items)
        return functools.reduce(staged.both if python_function is all else staged.either, items)

    return decide


def _bool(*args):
    return staged.truth(args[0]) if args and is_traced(args[0]) else bool(*args)


def _array(function):
    def make(values, dtype=None, **options):
        if not holds_tracer(values):
            return function(values, dtype, **options)
        made = as_array(values)
        return made.astype(made.dtype if dtype is None else dtype, copy=function is np.array)

    return make


def _full(shape, fill_value, dtype=None, **options):
    if not is_traced(fill_value):
        return np.full(shape, fill_value, dtype, **options)
    filled = np.broadcast_to(fill_value, shape).copy()
    return filled if dtype is None else filled.astype(dtype)


def _take(a, indices, *args, **kwargs):
    return np.take(tracer_of(a) if is_traced(indices) else a, indices, *args, **kwargs)


def _number(kind, dtype):
    """float, int and complex: a traced number stays one of Python's."""

    def convert(*args, **kwargs):
        if len(args) != 1 or kwargs or not is_traced(args[0]):
            return kind(*args, **kwargs)
        x = tracer_of(args[0])
        if x.shape or (x.dtype.kind == "c" and kind is not complex):
            raise TypeError(f"{kind.__name__}() takes one real number, not {x!r}")
        return Tracer(value_of(x, dtype), kind)

    return convert


def _scalar(kind):
    """np.float32 and the like as functions."""

    def convert(*args, **kwargs):
        return tracer_of(args[0]).astype(kind) if len(args) == 1 and is_traced(args[0]) else kind(*args, **kwargs)

    return convert


_SCALARS = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
REPLACEMENTS = {
    **{getattr(np, name): _scalar(getattr(np, name)) for name in _SCALARS.split()},
    float: _number(float, np.float64),
    int: _number(int, np.int64),
    complex: _number(complex, np.complex128),
    np.array: _array(np.array),
    np.asarray: _array(np.asarray),
    np.full: _full,
    np.take: _take,
    range: _range,
    min: _least(np.minimum, min),
    max: _least(np.maximum, max),
    all: _every(np.all, all),
    any: _every(np.any, any),
    bool: _bool,
    sorted: _sorted,
}
