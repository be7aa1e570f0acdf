"""What the families of NumPy functions share: composites (functions written in terms of other NumPy functions, which are
traced in their turn) and custom calls."""

import functools
import math

import numpy as np

from .. import _errors, _hlo
from .._tracer import Tracer, finish, implements, normalize_axes, tracer_of


def composite(*functions):
    """Decorator: the function below traces these NumPy functions by calling others. It does not see `out`."""

    def register(function):
        @functools.wraps(function)
        def handler(*args, out=None, **kwargs):
            result = function(*args, **kwargs)
            return result if out is None else finish(tracer_of(result).value, out)

        implements(*functions)(handler)
        return function

    return register


def refuse(what, instead):
    """Raises the error of what is not compiled."""
    _errors.fail(_errors.UnsupportedError, f"{what} is not compiled: {instead}")


def data_dependent(what, instead):
    """Raises the error of results whose shape depends on values."""
    _errors.fail(_errors.DataDependentShapeError, f"{what} has a result whose shape depends on values: {instead}")


def count_along(shape, axis):
    """How many elements of an array of `shape` are combined along `axis` (None: all)."""
    return math.prod(shape[i] for i in normalize_axes(axis, len(shape)))


def inexact(dtype):
    """Is it a floating-point or complex type, those of ml_dtypes included?"""
    return np.dtype(dtype).kind in "fcV"


def part_type(dtype):
    """The type of a complex type's parts; any other type itself."""
    return {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}.get(
        np.dtype(dtype), np.dtype(dtype)
    )


def custom_call(target, operands, results, config):
    """Calls `target` of the runtime's registry on HLO values; `results`: (dtype, shape) of each. Gives HLO values."""
    attributes = f'custom_call_target="{target}", api_version=API_VERSION_TYPED_FFI, backend_config={{{config}}}'
    computation = _hlo.current()
    if len(results) == 1:
        return [computation.emit("custom-call", *results[0], operands, attributes)]
    return computation.emit_tuple("custom-call", results, operands, attributes)


def traced(value):
    return Tracer(value)


def refuse_always(function, instead, shape=True):
    """Registers a handler that refuses every call: because the result's shape would depend on values, or else because
    it is not compiled. Its attribute `refused` says what to do instead, for the coverage page."""
    name = f"np.{function.__name__}"

    @implements(function)
    def handler(*args, **kwargs):
        (data_dependent if shape else refuse)(name, instead)

    handler.refused = ("the result's shape depends on values: " if shape else "") + instead
