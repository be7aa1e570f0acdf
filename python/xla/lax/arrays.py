"""Operations on whole arrays that NumPy has no function for: contractions and convolutions with a chosen result type,
sorting of several arrays, slices at traced positions."""

import numpy as np

from .. import _hlo, _ops, _pytree
from .._tracer import Tracer, check_dtype, normalize_axis, tracer_of, value_of
from ._eager import compiled_alone


def _array(x):
    return value_of(x)


@compiled_alone("dimension_numbers", "preferred_element_type")
def dot_general(lhs, rhs, dimension_numbers, preferred_element_type=None):
    """A product of two arrays, summed over some axes, side by side over others.

    dimension_numbers: ((axes of lhs, axes of rhs to sum over), (batch axes of lhs, batch axes of rhs)).
    preferred_element_type: the type that products are summed in and the result has.
    The result has the batch axes, the other axes of lhs, the other axes of rhs.

    >>> dot_general(np.ones((2, 3), np.int8), np.ones((3, 4), np.int8), (((1,), (0,)), ((), ())), np.int32).dtype
    dtype('int32')
    """
    (cx, cy), (bx, by) = dimension_numbers
    x, y = _array(lhs), _array(rhs)
    dtype = np.result_type(x.dtype, y.dtype) if preferred_element_type is None else check_dtype(preferred_element_type)
    if x.dtype != y.dtype:
        common = np.result_type(x.dtype, y.dtype)
        x, y = _ops.convert(x, common), _ops.convert(y, common)
    if x.dtype.kind in "biu" and dtype != x.dtype:
        x, y = _ops.convert(x, dtype), _ops.convert(y, dtype)
    lists = [[a % len(v.shape) for a in axes] for v, axes in ((x, cx), (y, cy), (x, bx), (y, by))]
    for i, j in zip(lists[0] + lists[2], lists[1] + lists[3]):
        if x.shape[i] != y.shape[j]:
            raise ValueError(f"axis {i} of lhs has size {x.shape[i]}, axis {j} of rhs {y.shape[j]}")
    return Tracer(_ops.dot_general(x, y, (lists[2], lists[3]), (lists[0], lists[1]), dtype))


def _window(sizes, strides, padding, lhs_dilation, rhs_dilation):
    window = "size=" + "x".join(map(str, sizes))
    if any(s != 1 for s in strides):
        window += " stride=" + "x".join(map(str, strides))
    if any(p != (0, 0) for p in padding):
        window += " pad=" + "x".join(f"{low}_{high}" for low, high in padding)
    if any(d != 1 for d in lhs_dilation):
        window += " lhs_dilate=" + "x".join(map(str, lhs_dilation))
    if any(d != 1 for d in rhs_dilation):
        window += " rhs_dilate=" + "x".join(map(str, rhs_dilation))
    return "window={" + window + "}"


def padding_of(padding, sizes, kernel, strides, dilation):
    """Pairs (before, after) for "SAME", "VALID" or pairs."""
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0)] * len(sizes)
        if padding.upper() != "SAME":
            raise ValueError(f'padding is "SAME", "VALID" or a pair for each dimension, not {padding!r}')
        pairs = []
        for size, k, stride, d in zip(sizes, kernel, strides, dilation):
            total = max(0, (-(-size // stride) - 1) * stride + (k - 1) * d + 1 - size)
            pairs.append((total // 2, total - total // 2))
        return pairs
    return [(int(p), int(p)) if np.ndim(p) == 0 else (int(p[0]), int(p[1])) for p in padding]


def _numbers(value, n, name):
    values = (value,) * n if np.ndim(value) == 0 else tuple(value)
    if len(values) != n:
        raise ValueError(f"{name} needs {n} numbers, not {len(values)}")
    return tuple(int(v) for v in values)


_STATIC = "strides padding lhs_dilation rhs_dilation dimension_numbers groups preferred_element_type".split()


@compiled_alone(*_STATIC)
def conv_general(
    lhs,
    rhs,
    strides=1,
    padding="VALID",
    lhs_dilation=1,
    rhs_dilation=1,
    dimension_numbers=None,
    groups=1,
    preferred_element_type=None,
):
    """A convolution (without reversing the kernel, as neural networks have it).

    dimension_numbers: how the axes of lhs, rhs and the result are laid out: three texts of the letters N (batch),
      C (channels; of rhs I and O, inputs and outputs) and one letter for each spatial axis, such as ("NHWC", "HWIO", "NHWC").
      Without it: ("NC…", "OI…", "NC…").
    strides, lhs_dilation, rhs_dilation: a number, or one for each spatial axis. padding: "SAME", "VALID" or pairs.
    groups: channels are convolved in so many groups; rhs has channels / groups inputs.

    >>> conv_general(np.ones((1, 3, 8, 8)), np.ones((4, 3, 3, 3)), padding="SAME").shape
    (1, 4, 8, 8)
    """
    x, w = _array(lhs), _array(rhs)
    n = len(x.shape) - 2
    if n < 0 or len(w.shape) != len(x.shape):
        raise ValueError(f"a convolution needs arrays of one rank, of 2 at least, not shapes {x.shape} and {w.shape}")
    dtype = np.result_type(x.dtype, w.dtype)
    x, w = _ops.convert(x, dtype), _ops.convert(w, dtype)
    strides = _numbers(strides, n, "strides")
    lhs_dilation, rhs_dilation = _numbers(lhs_dilation, n, "lhs_dilation"), _numbers(rhs_dilation, n, "rhs_dilation")
    letters = "0123456789"[:n]
    if dimension_numbers is None:
        ins, kernel, outs = "bf" + letters, "oi" + letters, "bf" + letters
    else:
        spatial = [c for c in dimension_numbers[0] if c not in "NC"]
        names = {c: letters[i] for i, c in enumerate(spatial)}
        known = lambda text, more: "".join({**names, **more}[c] for c in text)
        try:
            ins, outs = (known(dimension_numbers[i], {"N": "b", "C": "f"}) for i in (0, 2))
            kernel = known(dimension_numbers[1], {"I": "i", "O": "o"})
        except KeyError as error:
            raise ValueError(
                f"dimension_numbers {dimension_numbers}: the letter {error} is not in the first text"
            ) from None
    size_x = {c: d for c, d in zip(ins, x.shape)}
    size_w = {c: d for c, d in zip(kernel, w.shape)}
    if size_x["f"] != size_w["i"] * groups or size_w["o"] % groups:
        raise ValueError(
            f"{size_x['f']} channels in {groups} groups do not fit a kernel of {size_w['i']} inputs and {size_w['o']} outputs"
        )
    sizes = [size_w[c] for c in letters]
    dilated = [(size_x[c] - 1) * d + 1 if size_x[c] else 0 for c, d in zip(letters, lhs_dilation)]
    pairs = padding_of(padding, dilated, sizes, strides, rhs_dilation)
    out = {"b": size_x["b"], "f": size_w["o"]}
    for c, size, k, s, d, (low, high) in zip(letters, dilated, sizes, strides, rhs_dilation, pairs):
        out[c] = max(0, (size + low + high - ((k - 1) * d + 1)) // s + 1)
    attributes = f"{_window(sizes, strides, pairs, lhs_dilation, rhs_dilation)}, dim_labels={ins}_{kernel}->{outs}"
    if groups != 1:
        attributes += f", feature_group_count={groups}"
    result = dtype if preferred_element_type is None else check_dtype(preferred_element_type)
    return Tracer(_hlo.current().emit("convolution", result, [out[c] for c in outs], [x, w], attributes))


def conv(lhs, rhs, window_strides=1, padding="VALID"):
    """A convolution with the channels in front; `conv_general` has more options.

    lhs: (batch, channels, spatial…), rhs: (outputs, channels, spatial…). window_strides, padding: as in `conv_general`.
    Gives (batch, outputs, spatial…) of the type that lhs and rhs have in common.

    >>> conv(np.ones((1, 1, 4)), np.ones((1, 1, 2)))
    array([[[2., 2., 2.]]])
    """
    return conv_general(lhs, rhs, strides=window_strides, padding=padding)


def _sorted(arrays, axis, keys):
    values = [_array(x) for x in arrays]
    if any(v.shape != values[0].shape for v in values):
        raise ValueError(f"arrays sorted together have one shape, not {[v.shape for v in values]}")
    axis = normalize_axis(axis, len(values[0].shape))
    if keys == 1:
        return [Tracer(v) for v in _ops.sort(values, axis)]
    computation = _hlo.Computation(_hlo.current().module, "less")
    pairs = [(computation.parameter(v.dtype, ()), computation.parameter(v.dtype, ())) for v in values]
    with _hlo.tracing(computation):
        less = None
        for a, b in reversed(pairs[:keys]):
            before = _ops.less_nan_last(a, b)
            if less is not None:
                after = _ops.less_nan_last(b, a)
                less = _ops.logical_or(before, _ops.logical_and(_ops.logical_not(after), less))
            else:
                less = before
    name = computation.finish([less], single=True)
    return [Tracer(v) for v in _ops.sort(values, axis, name)]


@compiled_alone("dimension", "num_keys")
def sort(operand, dimension=-1, num_keys=1):
    """An array sorted along a dimension, or a tuple of arrays of one shape sorted together by the first `num_keys`.

    >>> sort((np.array([2, 1, 2]), np.array([5, 6, 4])), num_keys=2)
    (array([1, 2, 2]), array([6, 4, 5]))
    """
    if isinstance(operand, (tuple, list)):
        return tuple(_sorted(operand, dimension, num_keys))
    return _sorted([operand], dimension, 1)[0]


def sort_key_val(keys, values, dimension=-1):
    """Keys sorted along a dimension, and the values that stood beside them; equal keys keep their order.

    keys, values: arrays of one shape. Gives a pair of arrays of this shape, each of its own type.

    >>> sort_key_val(np.array([3, 1, 2]), np.array([0.5, 1.5, 2.5]))
    (array([1, 2, 3]), array([1.5, 2.5, 0.5]))
    """
    return sort((keys, values), dimension)


@compiled_alone("axis")
def argsort(operand, axis=-1):
    """The indices (int64, of the shape of operand) that sort an array along an axis; equal elements keep their order.

    >>> argsort(np.array([30, 10, 20, 10]))
    array([1, 3, 2, 0])
    """
    value = _array(operand)
    axis = normalize_axis(axis, len(value.shape))
    return _sorted([operand, Tracer(_ops.iota(np.int64, value.shape, axis))], axis, 1)[1]


@compiled_alone("k")
def top_k(operand, k):
    """The k largest elements along the last axis, largest first, and their indices (int64); NaN counts as largest.

    operand: (…, n) with k <= n. Of equal elements the first one comes first.

    >>> top_k(np.array([3.0, 9.0, 5.0]), 2)
    (array([9., 5.]), array([1, 2]))
    """
    value = _array(operand)
    if not value.shape or not 0 <= k <= value.shape[-1]:
        raise ValueError(f"top_k of {k} needs a last axis that long, not shape {value.shape}")
    axis = len(value.shape) - 1
    computation = _hlo.Computation(_hlo.current().module, "greater")
    a, b = computation.parameter(value.dtype, ()), computation.parameter(value.dtype, ())
    computation.parameter(np.int64, ()), computation.parameter(np.int64, ())
    with _hlo.tracing(computation):
        greater = _ops.less_nan_last(b, a)
    name = computation.finish([greater], single=True)
    found = _ops.sort([value, _ops.iota(np.int64, value.shape, axis)], axis, name)
    return tuple(Tracer(_ops.slice_axis(v, axis, 0, k)) for v in found)


def _starts(starts, value, sizes):
    starts = list(starts) if isinstance(starts, (tuple, list)) else [starts[i] for i in range(len(value.shape))]
    if len(starts) != len(value.shape):
        raise ValueError(f"an array of {len(value.shape)} dimensions needs as many start indices, not {len(starts)}")
    for size, dimension in zip(sizes, value.shape):
        if not 0 <= size <= dimension:
            raise ValueError(f"a window of shape {tuple(sizes)} does not fit into shape {value.shape}")
    return [value_of(s, np.int64) for s in starts]


@compiled_alone("slice_sizes")
def dynamic_slice(operand, start_indices, slice_sizes):
    """The window of shape `slice_sizes` at `start_indices` (a number for each dimension, traced or not), moved inside of
    the array where it would stick out.

    >>> dynamic_slice(np.arange(10), [7], (5,))
    array([5, 6, 7, 8, 9])
    """
    value = _array(operand)
    return Tracer(_ops.dynamic_slice(value, _starts(start_indices, value, slice_sizes), list(slice_sizes)))


@compiled_alone()
def dynamic_update_slice(operand, update, start_indices):
    """A copy of `operand` with the window at `start_indices` replaced, moved inside where it would stick out.

    operand: any shape; update: as many dimensions, none larger, converted to operand's type; start_indices: an integer
    for each dimension, traced or not. Gives the shape and type of operand.

    >>> dynamic_update_slice(np.zeros(5), np.array([1.0, 2.0]), [2])
    array([0., 0., 1., 2., 0.])
    """
    value = _array(operand)
    new = value_of(update, value.dtype)
    return Tracer(_ops.dynamic_update_slice(value, new, _starts(start_indices, value, new.shape)))


def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0):
    """`slice_size` elements from `start_index` (an integer, traced or not) along one axis, moved inside as in
    `dynamic_slice`.

    operand: (…, n, …) with slice_size <= n. Gives (…, slice_size, …) of operand's type.

    >>> dynamic_slice_in_dim(np.arange(6).reshape(2, 3), 1, 2, axis=1)
    array([[1, 2],
           [4, 5]])
    """
    shape = list(np.shape(operand) if not isinstance(operand, Tracer) else operand.shape)
    starts = [0] * len(shape)
    starts[axis], shape[axis] = start_index, slice_size
    return dynamic_slice(operand, starts, tuple(shape))


def dynamic_index_in_dim(operand, index, axis=0, keepdims=True):
    """The slice of size 1 at `index` (an integer, traced or not) along one axis; an index outside is moved inside.

    operand: (…, n, …). Gives (…, 1, …) of operand's type, without this axis if not keepdims.

    >>> dynamic_index_in_dim(np.arange(6).reshape(3, 2), 1, keepdims=False)
    array([2, 3])
    """
    found = dynamic_slice_in_dim(operand, index, 1, axis)
    return found if keepdims else np.squeeze(found, axis)


def optimization_barrier(operand):
    """`operand` (an array or a tree of arrays) as it is; the compiler moves and merges nothing across it.

    >>> optimization_barrier((np.arange(3), np.ones(2)))
    (array([0, 1, 2]), array([1., 1.]))
    """
    if not _hlo.is_tracing():
        return operand
    leaves, structure = _pytree.flatten(operand)
    values = [_hlo.current().local(value_of(leaf)) for leaf in leaves]
    if not values:
        return operand
    computation = _hlo.current()
    if len(values) == 1:
        made = [computation.emit("opt-barrier", values[0].dtype, values[0].shape, values)]
    else:
        name = computation.module.fresh("tuple")
        types = ", ".join(v.text for v in values)
        computation.lines.append(f"  {name} = ({types}) tuple({', '.join(v.name for v in values)})")
        made = computation.emit_tuple("opt-barrier", [(v.dtype, v.shape) for v in values], (), raw=name)
    return _pytree.unflatten(structure, [Tracer(v) for v in made])


def iota(dtype, size):
    """np.arange(size) of a type: shape (size,); in a compiled function it takes no memory.

    >>> iota(np.int32, 4)
    array([0, 1, 2, 3], dtype=int32)
    """
    if not _hlo.is_tracing():
        return np.arange(size, dtype=dtype)
    return Tracer(_ops.iota(check_dtype(dtype), (size,), 0))


def select(pred, on_true, on_false):
    """on_true where pred, else on_false, element by element.

    pred: bool, of the shape of the others or (). on_true, on_false: arrays of a shape S. Gives S, of their common type.

    >>> select(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    array([1, 4])
    """
    return np.where(pred, on_true, on_false)


def clamp(lower, x, upper):
    """min(max(x, lower), upper), element by element; lower and upper are broadcast to the shape of x.

    >>> clamp(0.0, np.array([-1.0, 0.5, 2.0]), 1.0)
    array([0. , 0.5, 1. ])
    """
    return np.minimum(np.maximum(x, lower), upper)


def rsqrt(x):
    """1 / sqrt(x), element by element: the shape of x, and its type where that is a floating one.

    >>> rsqrt(np.array([1.0, 4.0]))
    array([1. , 0.5])
    """
    if isinstance(x, Tracer) and x.dtype.kind == "f":
        return Tracer(_ops.unary("rsqrt", x.value))
    return 1 / np.sqrt(x)


def convert_element_type(operand, new_dtype):
    """`operand` as another type, of the same shape: x.astype(new_dtype).

    >>> convert_element_type(np.array([1.5, 2.5]), np.int32)
    array([1, 2], dtype=int32)
    """
    return (operand if isinstance(operand, Tracer) else np.asarray(operand)).astype(new_dtype)


@compiled_alone("new_dtype")
def bitcast_convert_type(operand, new_dtype):
    """The bits of an array read as another type of the same width; the shape stays.

    >>> bitcast_convert_type(np.array([1.0, -0.0], np.float32), np.uint32)
    array([1065353216, 2147483648], dtype=uint32)
    """
    value = _array(operand)
    dtype = check_dtype(new_dtype)
    if dtype.itemsize != value.dtype.itemsize:
        raise TypeError(f"the bits of {value.dtype} do not fit {dtype}")
    return Tracer(_ops.bitcast_convert(value, dtype))


@compiled_alone("shape", "broadcast_dimensions")
def broadcast_in_dim(operand, shape, broadcast_dimensions):
    """`operand` with its dimension i at place broadcast_dimensions[i] of `shape`, repeated along the others.

    operand: as many dimensions as broadcast_dimensions has entries, each of size 1 or that of its place in shape. Gives
    `shape`, of operand's type.

    >>> broadcast_in_dim(np.array([1, 2]), (2, 3), (0,))
    array([[1, 1, 1],
           [2, 2, 2]])
    """
    return Tracer(_ops.broadcast_in_dim(_array(operand), shape, list(broadcast_dimensions)))


def stop_gradient(x):
    """x itself, of any type; for programs that also run where derivatives are taken.

    >>> stop_gradient(np.arange(3))
    array([0, 1, 2])
    """
    return x


def shape_of(x):
    return tracer_of(x).shape if _hlo.is_tracing() else np.shape(x)
