"""HLO operations on values (`_hlo.Value`), added to the computation that is being traced: the vocabulary in which every
NumPy function is written. Shapes and types must fit exactly: nothing is broadcast or converted unless it is said so."""

import numpy as np

from . import _hlo
from ._hlo import Value


def _emit(opcode, dtype, shape, operands=(), attributes="", raw=None):
    return _hlo.current().emit(opcode, dtype, shape, operands, attributes, raw)


def _list(numbers):
    return "{" + ",".join(map(str, numbers)) + "}"


def constant(array, dtype=None):
    """A constant of NumPy data."""
    return _hlo.current().constant(np.asarray(array, dtype))


def full(number, dtype, shape=()):
    """A `shape` of one number."""
    return broadcast(constant(np.asarray(number, dtype)), shape)


def unary(opcode, x, dtype=None, attributes=""):
    return _emit(opcode, dtype or x.dtype, x.shape, [x], attributes)


def binary(opcode, x, y):
    """An elementwise operation of two values with one shape and type."""
    return _emit(opcode, x.dtype, x.shape, [x, y])


def add(x, y):
    return binary("or" if x.dtype == np.bool_ else "add", x, y)


def subtract(x, y):
    return binary("subtract", x, y)


def multiply(x, y):
    return binary("and" if x.dtype == np.bool_ else "multiply", x, y)


def divide(x, y):
    return binary("divide", x, y)


def maximum(x, y):
    return binary("maximum", x, y)


def minimum(x, y):
    return binary("minimum", x, y)


def logical_and(x, y):
    return binary("and", x, y)


def logical_or(x, y):
    return binary("or", x, y)


def negate(x):
    return unary("negate", x)


def logical_not(x):
    return unary("not", x)


def compare(direction, x, y):
    """A bool value: `direction` is EQ, NE, LT, LE, GT or GE."""
    return _emit("compare", np.bool_, x.shape, [x, y], f"direction={direction}")


def compare_number(direction, x, number):
    return compare(direction, x, full(number, x.dtype, x.shape))


def select(condition, x, y):
    """x where `condition` (bool, same shape) holds, else y."""
    return _emit("select", x.dtype, x.shape, [condition, x, y])


def clamp(low, x, high):
    return _emit("clamp", x.dtype, x.shape, [low, x, high])


def convert(x, dtype):
    """x as another type; truth is x != 0 and complex to real drops the imaginary part."""
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if dtype == np.bool_:
        return compare_number("NE", x, 0)
    if x.dtype.kind == "c" and dtype.kind != "c":
        part = np.float32 if x.dtype == np.complex64 else np.float64
        return convert(_emit("real", part, x.shape, [x]), dtype)
    return _emit("convert", dtype, x.shape, [x])


def bitcast_convert(x, dtype, shape=None):
    return _emit("bitcast-convert", dtype, x.shape if shape is None else shape, [x])


def reshape(x, shape):
    shape = tuple(shape)
    return x if x.shape == shape else _emit("reshape", x.dtype, shape, [x])


def transpose(x, axes):
    axes = tuple(axes)
    if axes == tuple(range(len(axes))):
        return x
    return _emit("transpose", x.dtype, [x.shape[a] for a in axes], [x], f"dimensions={_list(axes)}")


def broadcast_in_dim(x, shape, dimensions):
    """x with its dimension i at dimensions[i] of `shape`, repeated along the others; x's dimensions fit or are 1."""
    shape = tuple(shape)
    keep = [i for i, d in enumerate(dimensions) if x.shape[i] == shape[d]]
    if len(keep) < len(x.shape):
        x = reshape(x, [x.shape[i] for i in keep])
        dimensions = [dimensions[i] for i in keep]
    if x.shape == shape:
        return x
    return _emit("broadcast", x.dtype, shape, [x], f"dimensions={_list(dimensions)}")


def broadcast(x, shape):
    """NumPy's broadcasting: dimensions are aligned at the end."""
    return broadcast_in_dim(x, shape, range(len(shape) - len(x.shape), len(shape)))


def slice_(x, starts, limits, strides=None):
    """x[starts:limits:strides] in each dimension; strides are positive."""
    strides = strides or [1] * len(starts)
    if all(s == 0 and l == d and t == 1 for s, l, t, d in zip(starts, limits, strides, x.shape)):
        return x
    shape = [max(0, -(-(l - s) // t)) for s, l, t in zip(starts, limits, strides)]
    text = ",".join(f"[{s}:{l}:{t}]" if t != 1 else f"[{s}:{l}]" for s, l, t in zip(starts, limits, strides))
    return _emit("slice", x.dtype, shape, [x], "slice={" + text + "}")


def slice_axis(x, axis, start, limit, stride=1):
    """x[start:limit:stride] along one axis."""
    starts, limits, strides = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return slice_(x, starts, limits, strides)


def reverse(x, axes):
    return _emit("reverse", x.dtype, x.shape, [x], f"dimensions={_list(axes)}") if axes else x


def pad(x, low, high, interior=None, value=0):
    """x with `value` (a number or a scalar value) around it; negative amounts cut off."""
    interior = interior or [0] * len(low)
    if not any(low) and not any(high) and not any(interior):
        return x
    if not isinstance(value, Value):
        value = constant(value, x.dtype)
    shape = [l + h + d + max(0, d - 1) * i for l, h, i, d in zip(low, high, interior, x.shape)]
    text = "x".join(f"{l}_{h}_{i}" if i else f"{l}_{h}" for l, h, i in zip(low, high, interior))
    return _emit("pad", x.dtype, shape, [x, value], f"padding={text}")


def concatenate(values, axis):
    """Values of one type joined along an axis."""
    if len(values) == 1:
        return values[0]
    shape = list(values[0].shape)
    shape[axis] = sum(v.shape[axis] for v in values)
    return _emit("concatenate", values[0].dtype, shape, values, f"dimensions={{{axis}}}")


def iota(dtype, shape, axis):
    """Numbers 0, 1, … along an axis."""
    return _emit("iota", dtype, shape, attributes=f"iota_dimension={axis}", raw="")


def reduce(x, opcode, axes, init, out=None):
    """Combines the elements along `axes` by the binary `opcode`, beginning with the number `init`."""
    axes = tuple(axes)
    if not axes:
        return x
    return reduce_with(
        [x], [constant(init, x.dtype)], axes, _hlo.scalar_computation(_hlo.current().module, opcode, x.dtype)
    )


def reduce_with(values, inits, axes, computation):
    """Reduces one value, or several together (then a list is given), by a computation's name."""
    shape = [d for i, d in enumerate(values[0].shape) if i not in axes]
    attributes = f"dimensions={_list(axes)}, to_apply={computation}"
    operands = [*values, *inits]
    if len(values) == 1:
        return _emit("reduce", values[0].dtype, shape, operands, attributes)
    return _hlo.current().emit_tuple("reduce", [(v.dtype, shape) for v in values], operands, attributes)


def reduce_window(x, opcode, init, sizes, strides=None, padding=None, dilation=None):
    """Combines the elements of each window of `sizes`."""
    n = len(sizes)
    strides, padding, dilation = strides or [1] * n, padding or [(0, 0)] * n, dilation or [1] * n
    shape = [
        max(0, (d + l + h - (k - 1) * t - 1) // s + 1)
        for d, (l, h), k, s, t in zip(x.shape, padding, sizes, strides, dilation)
    ]
    window = "size=" + "x".join(map(str, sizes))
    if any(s != 1 for s in strides):
        window += " stride=" + "x".join(map(str, strides))
    if any(p != (0, 0) for p in padding):
        window += " pad=" + "x".join(f"{l}_{h}" for l, h in padding)
    if any(t != 1 for t in dilation):
        window += " rhs_dilate=" + "x".join(map(str, dilation))
    computation = _hlo.scalar_computation(_hlo.current().module, opcode, x.dtype)
    return _emit(
        "reduce-window", x.dtype, shape, [x, constant(init, x.dtype)], f"window={{{window}}}, to_apply={computation}"
    )


def dot_general(x, y, batch, contract, dtype=None):
    """A batched matrix product: `batch` and `contract` are pairs of lists of axes of x and y. The result's axes are the
    batch axes, the rest of x, the rest of y."""
    (bx, by), (cx, cy) = batch, contract
    shape = [x.shape[i] for i in bx]
    shape += [d for i, d in enumerate(x.shape) if i not in bx and i not in cx]
    shape += [d for i, d in enumerate(y.shape) if i not in by and i not in cy]
    attributes = []
    if bx:
        attributes += [f"lhs_batch_dims={_list(bx)}"]
    attributes += [f"lhs_contracting_dims={_list(cx)}"]
    if by:
        attributes += [f"rhs_batch_dims={_list(by)}"]
    attributes += [f"rhs_contracting_dims={_list(cy)}"]
    return _emit("dot", dtype or x.dtype, shape, [x, y], ", ".join(attributes))


def gather(x, indices, slice_sizes, offset_dims, collapsed, index_map, index_vector_dim, shape, batch=((), ())):
    """HLO's gather; `indices` is an integer value."""
    attributes = (
        f"offset_dims={_list(offset_dims)}, collapsed_slice_dims={_list(collapsed)}, "
        f"start_index_map={_list(index_map)}, "
    )
    if batch[0]:
        attributes += f"operand_batching_dims={_list(batch[0])}, start_indices_batching_dims={_list(batch[1])}, "
    attributes += f"index_vector_dim={index_vector_dim}, slice_sizes={_list(slice_sizes)}"
    return _emit("gather", x.dtype, shape, [x, indices], attributes)


def scatter(x, indices, updates, opcode, window_dims, inserted, index_map, index_vector_dim, unique=False):
    """HLO's scatter: combines x's elements with `updates` by the binary `opcode`, or replaces them if it is None."""
    module = _hlo.current().module
    computation = (
        replace_computation(module, x.dtype) if opcode is None else _hlo.scalar_computation(module, opcode, x.dtype)
    )
    attributes = (
        f"update_window_dims={_list(window_dims)}, inserted_window_dims={_list(inserted)}, "
        f"scatter_dims_to_operand_dims={_list(index_map)}, index_vector_dim={index_vector_dim}, to_apply={computation}"
    )
    if unique:
        attributes += ", unique_indices=true"
    return _emit("scatter", x.dtype, x.shape, [x, indices, updates], attributes)


def replace_computation(module, dtype):
    """(a, b) -> b."""
    key = ("replace", np.dtype(dtype))
    if key not in module.scalar_computations:
        computation = _hlo.Computation(module, "replace")
        computation.parameter(dtype, ())
        module.scalar_computations[key] = computation.finish([computation.parameter(dtype, ())], single=True)
    return module.scalar_computations[key]


def dynamic_slice(x, starts, sizes):
    """x's window of `sizes` at integer scalar values `starts`, moved inside where it sticks out."""
    return _emit("dynamic-slice", x.dtype, sizes, [x, *starts], f"dynamic_slice_sizes={_list(sizes)}")


def dynamic_update_slice(x, update, starts):
    return _emit("dynamic-update-slice", x.dtype, x.shape, [x, update, *starts])


def sort(values, axis, compare_with=None):
    """Sorts values of one shape together along an axis, stably, by the first one; NaNs come last. A list is given.
    `compare_with`: name of a computation of 2 * len(values) scalars that says whether the left ones come first."""
    computation = compare_with or _less_computation(_hlo.current().module, [v.dtype for v in values])
    attributes = f"dimensions={{{axis}}}, is_stable=true, to_apply={computation}"
    if len(values) == 1:
        return [_emit("sort", values[0].dtype, values[0].shape, values, attributes)]
    return _hlo.current().emit_tuple("sort", [(v.dtype, v.shape) for v in values], values, attributes)


def _less_computation(module, dtypes):
    key = ("less", *dtypes)
    if key not in module.scalar_computations:
        computation = _hlo.Computation(module, "less")
        parameters = [computation.parameter(d, ()) for d in dtypes for _ in range(2)]
        with _hlo.tracing(computation):
            x, y = parameters[:2]
            result = less_total(x, y) if x.dtype.kind in "fV" else less_nan_last(x, y)
        module.scalar_computations[key] = computation.finish([result], single=True)
    return module.scalar_computations[key]


def less_total(x, y):
    """As less_nan_last for real floats, in the form that the compiler knows as an order of the elements' bits: all NaNs
    as the greatest one, both zeros as one."""

    def key(v):
        one_zero = select(compare_number("EQ", v, 0), full(0, v.dtype, v.shape), v)
        return select(compare("NE", v, v), full(np.nan, v.dtype, v.shape), one_zero)

    return _emit("compare", np.bool_, x.shape, [key(x), key(y)], "direction=LT, type=TOTALORDER")


def less_nan_last(x, y):
    """x < y in NumPy's sorting order: NaNs after all numbers, complex numbers by real part, then imaginary part."""
    if x.dtype.kind == "c":
        xr, yr, xi, yi = real(x), real(y), imag(x), imag(y)
        same = logical_not(logical_or(less_nan_last(xr, yr), less_nan_last(yr, xr)))
        return logical_or(less_nan_last(xr, yr), logical_and(same, less_nan_last(xi, yi)))
    less = compare("LT", x, y)
    if x.dtype.kind in "biu":
        return less
    return logical_or(less, logical_and(compare("NE", y, y), compare("EQ", x, x)))


def _part(dtype):
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def real(x):
    return _emit("real", _part(x.dtype), x.shape, [x]) if x.dtype.kind == "c" else x


def imag(x):
    return _emit("imag", _part(x.dtype), x.shape, [x]) if x.dtype.kind == "c" else full(0, x.dtype, x.shape)


def complex_(re, im):
    return _emit("complex", np.complex64 if re.dtype == np.float32 else np.complex128, re.shape, [re, im])


def squeeze_axes(x, axes):
    return reshape(x, [d for i, d in enumerate(x.shape) if i not in axes])
