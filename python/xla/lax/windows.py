"""Windows that move over an array: `reduce_window` and pooling."""

import numpy as np

from .. import _hlo, _ops
from .._tracer import Tracer, value_of
from ._eager import compiled_alone
from .arrays import padding_of

_OPERATIONS = {"max": "maximum", "min": "minimum", "add": "add", "sum": "add", "mul": "multiply", "prod": "multiply"}


def _identity(operation, dtype):
    if operation == "add":
        return np.zeros((), dtype)[()]
    if operation == "multiply":
        return np.ones((), dtype)[()]
    low = operation == "maximum"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.min if low else info.max)
    if dtype.kind == "b":
        return np.bool_(not low)
    return np.asarray(-np.inf if low else np.inf).astype(dtype)[()]


def _numbers(value, n):
    return (1,) * n if value is None else tuple(int(v) for v in value)


@compiled_alone("operation", "window_dimensions", "window_strides", "padding", "window_dilation")
def reduce_window(
    operand, operation="max", window_dimensions=(), window_strides=None, padding="VALID", window_dilation=None
):
    """Combines the elements of each position of a window by "max", "min", "add" or "mul".

    window_dimensions, window_strides, window_dilation: a number for each dimension of operand. padding: "SAME", "VALID" or
    pairs; what stands outside does not count.

    >>> reduce_window(np.arange(6.0), "max", (2,), (2,))
    array([1., 3., 5.])
    """
    value = value_of(operand)
    n = len(value.shape)
    if len(window_dimensions) != n:
        raise ValueError(f"the window has {len(window_dimensions)} dimensions, the array {n}")
    if operation not in _OPERATIONS:
        raise ValueError(f"operation is one of {sorted(_OPERATIONS)}, not {operation!r}")
    opcode = _OPERATIONS[operation]
    strides, dilation = _numbers(window_strides, n), _numbers(window_dilation, n)
    pairs = padding_of(padding, value.shape, window_dimensions, strides, dilation)
    init = _identity(opcode, value.dtype)
    return Tracer(
        _ops.reduce_window(value, opcode, init, list(window_dimensions), list(strides), pairs, list(dilation))
    )


def _pool_window(x, window, strides):
    window = tuple(window)
    strides = window if strides is None else tuple(strides)
    n = len(x.shape) - 2
    if len(window) != n or len(strides) != n:
        raise ValueError(f"an array of shape {x.shape} has {n} spatial dimensions, the window {len(window)}")
    return (1, *window, 1), (1, *strides, 1)


def _spatial_padding(padding):
    if isinstance(padding, str):
        return padding
    return ((0, 0), *(tuple(p) if np.ndim(p) else (p, p) for p in padding), (0, 0))


def max_pool(x, window, strides=None, padding="VALID"):
    """The largest element of each window.

    x: (batch, spatial…, channels). window, strides: a number for each spatial dimension; strides are those of window
    without any. Gives (batch, spatial…, channels).

    >>> max_pool(np.arange(16.0).reshape(1, 4, 4, 1), (2, 2))[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """
    sizes, steps = _pool_window(x, window, strides)
    return reduce_window(x, "max", sizes, steps, _spatial_padding(padding))


def avg_pool(x, window, strides=None, padding="VALID"):
    """The mean of each window's elements; those outside of x do not count. Shapes are as in `max_pool`, x has floats.

    >>> avg_pool(np.arange(16.0).reshape(1, 4, 4, 1), (2, 2))[0, :, :, 0]
    array([[ 2.5,  4.5],
           [10.5, 12.5]])
    """
    sizes, steps = _pool_window(x, window, strides)
    padding = _spatial_padding(padding)
    total = reduce_window(x, "add", sizes, steps, padding)
    if padding == "VALID":
        return total / np.asarray(np.prod(sizes), total.dtype)
    ones = (
        Tracer(_ops.full(1, x.dtype, (1, *x.shape[1:-1], 1)))
        if _hlo.is_tracing()
        else np.ones((1, *x.shape[1:-1], 1), x.dtype)
    )
    return total / reduce_window(ones, "add", sizes, steps, padding)
