"""What the ufuncs of matrices and vectors compute, as HLO operations. Emitters take the values with the types that
NumPy's loop takes, and give one of the loop's result."""

import numpy as np

from . import _ops as o
from ._elementwise import conjugate, emits

GUFUNCS = {}


def _dot(x, y, batch, contract):
    """A product in the type of the operands; of bools: is there a pair that both hold."""
    if x.dtype == np.bool_:
        x, y = o.convert(x, np.int32), o.convert(y, np.int32)
        return o.convert(o.dot_general(x, y, batch, contract), np.bool_)
    return o.dot_general(x, y, batch, contract)


@emits("matmul", table=GUFUNCS)
def matmul(values):
    x, y = values
    if not x.shape or not y.shape:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    row, column = len(x.shape) == 1, len(y.shape) == 1
    if row:
        x = o.reshape(x, (1, *x.shape))
    if column:
        y = o.reshape(y, (*y.shape, 1))
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit: {x.shape[-1]} is not {y.shape[-2]}")
    if len(y.shape) == 2 and len(x.shape) > 2:
        made = _dot(x, y, ((), ()), ([len(x.shape) - 1], [0]))
    else:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        n = len(batch)
        x, y = o.broadcast(x, batch + x.shape[-2:]), o.broadcast(y, batch + y.shape[-2:])
        made = _dot(x, y, (list(range(n)), list(range(n))), ([n + 1], [n]))
    shape = list(made.shape)
    if column:
        shape.pop()
    if row:
        shape.pop(len(shape) - 1 if column else len(shape) - 2)
    return o.reshape(made, shape)


@emits("vecdot", table=GUFUNCS)
def vecdot(values, axis=-1):
    x, y = (v if axis == -1 else o.transpose(v, _to_end(len(v.shape), axis)) for v in values)
    shape = np.broadcast_shapes(x.shape, y.shape)
    x, y = o.broadcast(conjugate(x), shape), o.broadcast(y, shape)
    n = len(shape) - 1
    return _dot(x, y, (list(range(n)), list(range(n))), ([n], [n]))


def _to_end(ndim, axis):
    axes = list(range(ndim))
    axes.append(axes.pop(axis))
    return axes


@emits("matvec", table=GUFUNCS)
def matvec(values):
    x, y = values
    made = matmul([x, o.reshape(y, (*y.shape, 1))])
    return o.reshape(made, made.shape[:-1])


@emits("vecmat", table=GUFUNCS)
def vecmat(values):
    x, y = values
    made = matmul([o.reshape(conjugate(x), (*x.shape[:-1], 1, x.shape[-1])), y])
    return o.reshape(made, made.shape[:-2] + made.shape[-1:])
