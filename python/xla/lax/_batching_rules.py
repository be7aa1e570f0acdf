"""How an operation on single items is done on all of them: the same operation with an axis of items in front."""

import re

import numpy as np

from .. import _hlo, _ops

_NUMBERS = re.compile(r"(\w+)=\{([\d,\s]*)\}")


class NoRule(Exception):
    """An operation that has no form for many items at once."""


ELEMENTWISE = frozenset(
    """abs add and atan2 cbrt ceil compare complex convert copy cosine count-leading-zeros divide erf exponential
    exponential-minus-one floor imag is-finite log log-plus-one logistic maximum minimum multiply negate not or popcnt power
    real remainder reduce-precision round-nearest-afz round-nearest-even rsqrt select shift-left shift-right-arithmetic
    shift-right-logical sign sine sqrt subtract tan tanh xor clamp bitcast-convert""".split()
)


def repeated(value, size):
    """A value that is one for all items, for each of them."""
    return _ops.broadcast_in_dim(value, (size, *value.shape), range(1, len(value.shape) + 1))


def _all(known, size):
    return [value if batched else repeated(value, size) for value, batched in known]


def _attributes(text):
    """({name: numbers} of the lists, the rest of the text)."""
    lists = {m.group(1): [int(n) for n in m.group(2).split(",") if n.strip()] for m in _NUMBERS.finditer(text)}
    rest = ", ".join(part for part in re.split(r",\s*(?=\w+=)", _NUMBERS.sub("", text)) if part.strip(" ,"))
    return lists, rest.strip(" ,")


def _text(lists, rest=""):
    parts = [f"{name}={{{','.join(map(str, numbers))}}}" for name, numbers in lists.items()]
    return ", ".join(parts + ([rest] if rest else []))


def _up(numbers):
    return [n + 1 for n in numbers]


def apply(opcode, dtype, shape, known, attributes, size):
    """The value for all items of `opcode` on `known`: pairs (value, whether it has an axis of items in front)."""
    if opcode in ELEMENTWISE:
        values = []
        for value, batched in known:
            item = value.shape[1:] if batched else value.shape
            if not batched:
                value = repeated(value, size)
            if item != shape and item == () and opcode != "bitcast-convert":
                value = _ops.broadcast_in_dim(value, (size, *shape), [0])
            values.append(value)
        return _emit(opcode, dtype, (size, *shape), values, attributes)
    rule = RULES.get(opcode)
    if rule is None:
        raise NoRule(opcode)
    return rule(opcode, dtype, shape, known, attributes, size)


def apply_tuple(opcode, parts, known, attributes, size):
    """The same for operations with several results."""
    lists, rest = _attributes(attributes)
    parts = [(dtype, (size, *shape)) for dtype, shape in parts]
    if opcode == "sort":
        lists["dimensions"] = _up(lists["dimensions"])
        return _hlo.current().emit_tuple("sort", parts, _all(known, size), _text(lists, rest))
    if opcode == "reduce":
        half = len(known) // 2
        if any(batched for _, batched in known[half:]):
            raise NoRule(opcode)
        lists["dimensions"] = _up(lists["dimensions"])
        operands = _all(known[:half], size) + [v for v, _ in known[half:]]
        return _hlo.current().emit_tuple("reduce", parts, operands, _text(lists, rest))
    raise NoRule(opcode)


def _emit(opcode, dtype, shape, operands, attributes=""):
    return _hlo.current().emit(opcode, dtype, shape, operands, attributes)


def _broadcast(opcode, dtype, shape, known, attributes, size):
    lists, _ = _attributes(attributes)
    dimensions = [0] + _up(lists.get("dimensions", []))
    return _emit(opcode, dtype, (size, *shape), _all(known, size), _text({"dimensions": dimensions}))


def _same(opcode, dtype, shape, known, attributes, size):
    return _emit(opcode, dtype, (size, *shape), _all(known, size), attributes)


def _transpose(opcode, dtype, shape, known, attributes, size):
    lists, _ = _attributes(attributes)
    return _emit(
        opcode, dtype, (size, *shape), _all(known, size), _text({"dimensions": [0] + _up(lists["dimensions"])})
    )


def _shifted(opcode, dtype, shape, known, attributes, size):
    lists, rest = _attributes(attributes)
    lists["dimensions"] = _up(lists["dimensions"])
    return _emit(opcode, dtype, (size, *shape), _all(known, size), _text(lists, rest))


def _reduce(opcode, dtype, shape, known, attributes, size):
    if known[1][1]:
        raise NoRule(opcode)
    lists, rest = _attributes(attributes)
    lists["dimensions"] = _up(lists["dimensions"])
    return _emit(opcode, dtype, (size, *shape), [known[0][0], known[1][0]], _text(lists, rest))


def _reduce_window(opcode, dtype, shape, known, attributes, size):
    if known[1][1]:
        raise NoRule(opcode)
    for name, first in (("size", "1x"), ("stride", "1x"), ("pad", "0_0x"), ("rhs_dilate", "1x"), ("lhs_dilate", "1x")):
        attributes = re.sub(rf"\b{name}=(?=\d)", f"{name}={first}", attributes)
    return _emit(opcode, dtype, (size, *shape), [known[0][0], known[1][0]], attributes)


def _slice(opcode, dtype, shape, known, attributes, size):
    ranges = attributes[attributes.index("{") + 1 :]
    return _emit(opcode, dtype, (size, *shape), [known[0][0]], f"slice={{[0:{size}],{ranges}")


def _pad(opcode, dtype, shape, known, attributes, size):
    if known[1][1]:
        raise NoRule(opcode)
    padding = attributes.replace("padding=", "padding=0_0x")
    operands = [_all(known[:1], size)[0], known[1][0]]
    return _emit(opcode, dtype, (size, *shape), operands, padding)


def _dot(opcode, dtype, shape, known, attributes, size):
    lists, rest = _attributes(attributes)
    (x, on_x), (y, on_y) = known
    sides = {}
    for name, batched in (("lhs", on_x), ("rhs", on_y)):
        batch, contract = lists.get(f"{name}_batch_dims", []), lists[f"{name}_contracting_dims"]
        sides[name] = (_up(batch), _up(contract)) if batched else (batch, contract)
    batch_count = len(sides["lhs"][0])
    if on_x and on_y:
        sides = {name: ([0] + batch, contract) for name, (batch, contract) in sides.items()}
        place = 0
    elif on_x:
        place = batch_count
    else:
        place = batch_count + len(x.shape) - batch_count - len(sides["lhs"][1])
    made_shape = list(shape)
    made_shape.insert(place, size)
    made = {}
    for name in ("lhs", "rhs"):
        if sides[name][0]:
            made[f"{name}_batch_dims"] = sides[name][0]
        made[f"{name}_contracting_dims"] = sides[name][1]
    value = _emit(opcode, dtype, made_shape, [x, y], _text(made, rest))
    order = [place] + [i for i in range(len(made_shape)) if i != place]
    return _ops.transpose(value, order)


def _gather(opcode, dtype, shape, known, attributes, size):
    lists, rest = _attributes(attributes)
    (x, on_x), (indices, on_indices) = known
    vector = int(re.search(r"index_vector_dim=(\d+)", rest).group(1))
    rest = re.sub(r"index_vector_dim=\d+", "", rest).strip(" ,")
    batching = [lists.get("operand_batching_dims", []), lists.get("start_indices_batching_dims", [])]
    lists["offset_dims"] = _up(lists["offset_dims"])
    if on_x:
        for name in ("collapsed_slice_dims", "start_index_map"):
            lists[name] = _up(lists[name])
        batching[0] = _up(batching[0])
    if on_indices:
        batching[1] = _up(batching[1])
        vector += 1
    if on_x and on_indices:
        batching = [[0] + batching[0], [0] + batching[1]]
        lists["slice_sizes"] = [1] + lists["slice_sizes"]
    elif on_x:
        lists["offset_dims"] = [0] + lists["offset_dims"]
        lists["slice_sizes"] = [size] + lists["slice_sizes"]
    if batching[0]:
        lists["operand_batching_dims"], lists["start_indices_batching_dims"] = batching
    more = f"index_vector_dim={vector}" + (f", {rest}" if rest else "")
    return _emit(opcode, dtype, (size, *shape), [x, indices], _text(lists, more))


def _scatter(opcode, dtype, shape, known, attributes, size):
    lists, rest = _attributes(attributes)
    vector = int(re.search(r"index_vector_dim=(\d+)", rest).group(1))
    rest = re.sub(r"index_vector_dim=\d+", f"index_vector_dim={vector + 1}", rest)
    for name in ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"):
        lists[name] = _up(lists[name])
    for name in ("input_batching_dims", "scatter_indices_batching_dims"):
        lists[name] = [0] + _up(lists.get(name, []))
    return _emit(opcode, dtype, (size, *shape), _all(known, size), _text(lists, rest))


def _starts(known, limits, size):
    """Start indices of all items as one value (items, dimensions), moved inside of the limits."""
    columns = []
    for (value, batched), limit in zip(known, limits):
        value = _ops.convert(value if batched else repeated(value, size), np.int64)
        value = _ops.clamp(_ops.full(0, np.int64, (size,)), value, _ops.full(limit, np.int64, (size,)))
        columns.append(_ops.reshape(value, (size, 1)))
    return _ops.concatenate(columns, 1)


def _dynamic_slice(opcode, dtype, shape, known, attributes, size):
    (x, on_x), starts = known[0], known[1:]
    if not any(batched for _, batched in starts):
        zero = _ops.constant(0, starts[0][0].dtype)
        return _ops.dynamic_slice(x, [zero] + [v for v, _ in starts], [size, *shape])
    x_shape = x.shape[1:] if on_x else x.shape
    indices = _starts(starts, [d - s for d, s in zip(x_shape, shape)], size)
    rank, first = len(shape), int(on_x)
    return _ops.gather(
        x,
        indices,
        ([1] if on_x else []) + list(shape),
        range(1, rank + 1),
        [],
        range(first, rank + first),
        1,
        (size, *shape),
        ([0], [0]) if on_x else ((), ()),
    )


def _dynamic_update_slice(opcode, dtype, shape, known, attributes, size):
    (x, update), starts = _all(known[:2], size), known[2:]
    if not any(batched for _, batched in starts):
        zero = _ops.constant(0, starts[0][0].dtype)
        return _ops.dynamic_update_slice(x, update, [zero] + [v for v, _ in starts])
    rank = len(shape)
    indices = _starts(starts, [d - u for d, u in zip(shape, update.shape[1:])], size)
    replace = _ops.replace_computation(_hlo.current().module, dtype)
    lists = {
        "update_window_dims": range(1, rank + 1),
        "inserted_window_dims": [],
        "scatter_dims_to_operand_dims": range(1, rank + 1),
        "input_batching_dims": [0],
        "scatter_indices_batching_dims": [0],
    }
    attributes = _text(lists, f"index_vector_dim=1, unique_indices=true, to_apply={replace}")
    return _emit("scatter", dtype, (size, *shape), [x, indices, update], attributes)


RULES = {
    "broadcast": _broadcast,
    "reshape": _same,
    "fft": _same,
    "cholesky": _same,
    "triangular-solve": _same,
    "opt-barrier": _same,
    "transpose": _transpose,
    "concatenate": _shifted,
    "reverse": _shifted,
    "sort": _shifted,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "slice": _slice,
    "pad": _pad,
    "dot": _dot,
    "gather": _gather,
    "scatter": _scatter,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
}
