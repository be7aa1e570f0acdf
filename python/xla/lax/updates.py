"""Gathers, scatters and running totals: `index_update` and its kin, `segment_sum` and its kin, `cumsum` and its kin."""

import numpy as np

from .. import _hlo, _ops
from .._tracer import Tracer, normalize_axis, value_of
from ._eager import compiled_alone
from .windows import _identity


def _indices(indices, length):
    """Integer indices as an int64 value; negative ones count from the end."""
    value = value_of(indices)
    if value.dtype.kind not in "iu":
        raise TypeError(f"indices are integers, not {value.dtype}")
    value = _ops.convert(value, np.int64)
    shifted = _ops.add(value, _ops.full(length, np.int64, value.shape))
    return _ops.select(_ops.compare_number("LT", value, 0), shifted, value)


def take(operand, indices, axis=0):
    """operand's slices at `indices` along an axis; indices outside are moved to the nearest.

    operand: (…, n, …), indices: integers of any shape, which takes n's place in the result. The type is operand's.

    >>> take(np.array([10, 20, 30]), np.array([2, 0, 9]))
    array([30, 10, 30])
    """
    if not _hlo.is_tracing():
        return np.take(operand, indices, axis, mode="clip")
    return gather(operand, indices, axis)


@compiled_alone("axis")
def gather(operand, indices, axis=0):
    """What `take` gives, as one gather; negative indices count from the end.

    operand: (…, n, …), indices: integers of any shape, which takes n's place in the result. The type is operand's.

    >>> gather(np.array([10, 20, 30]), np.array([[0, -1]]))
    array([[10, 30]])
    """
    value = value_of(operand)
    axis = normalize_axis(axis, len(value.shape))
    at = _indices(indices, value.shape[axis])
    sizes = [1 if i == axis else d for i, d in enumerate(value.shape)]
    shape = [*value.shape[:axis], *at.shape, *value.shape[axis + 1 :]]
    offsets = [i if i < axis else i + len(at.shape) - 1 for i in range(len(value.shape)) if i != axis]
    return Tracer(_ops.gather(value, at, sizes, offsets, [axis], [axis], len(at.shape), shape))


def _update(operand, indices, updates, opcode, axis=0):
    value = value_of(operand)
    axis = normalize_axis(axis, len(value.shape))
    at = _indices(indices, value.shape[axis])
    rest = [d for i, d in enumerate(value.shape) if i != axis]
    shape = (*at.shape, *rest)
    new = _ops.broadcast(value_of(updates, value.dtype), shape)
    window = list(range(len(at.shape), len(shape)))
    return Tracer(_ops.scatter(value, at, new, opcode, window, [axis], [axis], len(at.shape)))


@compiled_alone("axis")
def index_update(operand, indices, updates, axis=0):
    """A copy of `operand` with the slices at `indices` along an axis replaced.

    operand: (…, n, …); indices: integers of shape S, negative ones from the end, ones outside are left out; updates:
    broadcast to S followed by operand's other dimensions. Which of several updates of one place stays is not said.

    >>> index_update(np.zeros(4), np.array([1, 3]), 5.0)
    array([0., 5., 0., 5.])
    """
    return _update(operand, indices, updates, None, axis)


@compiled_alone("axis")
def index_add(operand, indices, updates, axis=0):
    """`operand` with `updates` added to the slices at `indices`; updates of one place add up. See `index_update`.

    >>> index_add(np.zeros(3), np.array([1, 1]), np.array([1.0, 2.0]))
    array([0., 3., 0.])
    """
    return _update(operand, indices, updates, "add", axis)


@compiled_alone("axis")
def index_mul(operand, indices, updates, axis=0):
    """`operand` with the slices at `indices` multiplied by `updates`. Shapes and types are as in `index_update`.

    >>> index_mul(np.ones(3), np.array([1, 1]), np.array([2.0, 3.0]))
    array([1., 6., 1.])
    """
    return _update(operand, indices, updates, "multiply", axis)


@compiled_alone("axis")
def index_max(operand, indices, updates, axis=0):
    """`operand` with the slices at `indices` raised to `updates` where these are larger. Shapes and types are as in
    `index_update`.

    >>> index_max(np.array([1, 5, 3]), np.array([0, 1]), np.array([4, 4]))
    array([4, 5, 3])
    """
    return _update(operand, indices, updates, "maximum", axis)


@compiled_alone("axis")
def index_min(operand, indices, updates, axis=0):
    """`operand` with the slices at `indices` lowered to `updates` where these are smaller. Shapes and types are as in
    `index_update`.

    >>> index_min(np.array([1, 5, 3]), np.array([0, 1]), np.array([4, 4]))
    array([1, 4, 3])
    """
    return _update(operand, indices, updates, "minimum", axis)


def _segments(data, segment_ids, num_segments, opcode):
    value = value_of(data)
    ids = _ops.convert(value_of(segment_ids), np.int64)
    if ids.shape != value.shape[: len(ids.shape)]:
        raise ValueError(f"segment_ids of shape {ids.shape} do not stand beside data of shape {value.shape}")
    base = _ops.full(_identity(opcode, value.dtype), value.dtype, (num_segments, *value.shape[len(ids.shape) :]))
    window = list(range(len(ids.shape), len(value.shape)))
    return Tracer(_ops.scatter(base, ids, value, opcode, window, [0], [0], len(ids.shape)))


@compiled_alone("num_segments")
def segment_sum(data, segment_ids, num_segments):
    """Sums of data's slices with the same segment id.

    data: (n, …); segment_ids: (n,) integers, ones outside of 0 … num_segments - 1 are left out. Gives (num_segments, …).

    >>> segment_sum(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]), 3)
    array([4., 0., 2.])
    """
    return _segments(data, segment_ids, num_segments, "add")


@compiled_alone("num_segments")
def segment_prod(data, segment_ids, num_segments):
    """Products of data's slices with the same segment id; 1 where there is none. Shapes are those of `segment_sum`.

    >>> segment_prod(np.array([2.0, 3.0, 4.0]), np.array([0, 2, 0]), 3)
    array([8., 1., 3.])
    """
    return _segments(data, segment_ids, num_segments, "multiply")


@compiled_alone("num_segments")
def segment_max(data, segment_ids, num_segments):
    """Largest of data's slices with the same segment id; the lowest number where there is none.

    Shapes and types are as in `segment_sum`.

    >>> segment_max(np.array([2.0, 3.0, 4.0]), np.array([0, 2, 0]), 3)
    array([  4., -inf,   3.])
    """
    return _segments(data, segment_ids, num_segments, "maximum")


@compiled_alone("num_segments")
def segment_min(data, segment_ids, num_segments):
    """Smallest of data's slices with the same segment id; the highest number where there is none.

    Shapes and types are as in `segment_sum`.

    >>> segment_min(np.array([2.0, 3.0, 4.0]), np.array([0, 2, 0]), 3)
    array([ 2., inf,  3.])
    """
    return _segments(data, segment_ids, num_segments, "minimum")


def _running(ufunc, operand, axis, reverse):
    x = operand if isinstance(operand, Tracer) else np.asarray(operand)
    x = np.flip(x, axis) if reverse else x
    result = ufunc.accumulate(x, axis)
    return np.flip(result, axis) if reverse else result


def cumsum(operand, axis=0, reverse=False):
    """Running sums along an axis, from its end with `reverse`; the shape of operand and the type of np.cumsum.

    >>> cumsum(np.array([1, 2, 3])), cumsum(np.array([1, 2, 3]), reverse=True)
    (array([1, 3, 6]), array([6, 5, 3]))
    """
    return _running(np.add, operand, axis, reverse)


def cumprod(operand, axis=0, reverse=False):
    """Running products along an axis, from its end with `reverse`; the shape of operand and the type of np.cumprod.

    >>> cumprod(np.array([1, 2, 3]))
    array([1, 2, 6])
    """
    return _running(np.multiply, operand, axis, reverse)


def cummax(operand, axis=0, reverse=False):
    """Running maxima along an axis, from its end with `reverse`; the shape and type of operand.

    >>> cummax(np.array([1, 3, 2]))
    array([1, 3, 3])
    """
    return _running(np.maximum, operand, axis, reverse)


def cummin(operand, axis=0, reverse=False):
    """Running minima along an axis, from its end with `reverse`; the shape and type of operand.

    >>> cummin(np.array([3, 1, 2]))
    array([3, 1, 1])
    """
    return _running(np.minimum, operand, axis, reverse)


def cumlogsumexp(operand, axis=0, reverse=False):
    """Running log(sum(exp(x))) along an axis, from its end with `reverse`, computed without overflow.

    operand: floats. Gives its shape and type.

    >>> np.round(cumlogsumexp(np.log([1.0, 2.0, 3.0])) - np.log([1.0, 3.0, 6.0]), 9) == 0
    array([ True,  True,  True])
    """
    return _running(np.logaddexp, operand, axis, reverse)
