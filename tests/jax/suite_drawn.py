"""Operations of lax and jax.numpy with arguments drawn at random, by the parameters that JAX's own tests vary: dimension
numbers, paddings, dilations, groups, modes, precisions, types. XC_SEED and XC_CASES choose others and more of them."""

import os
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from suite_lax import random_array

SEED = int(os.environ.get("XC_SEED", "0"))
CASES = int(os.environ.get("XC_CASES", "12"))

FLOATS = ["float32", "bfloat16", "float16", "float64"]
COMPLEX = ["complex64", "complex128"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ALL = FLOATS + COMPLEX + INTS
EIGHT_BITS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e5m2fnuz"]


class Draw:
    """Numbers that follow from the name of a case."""

    def __init__(self, name):
        self.rng = np.random.RandomState((zlib.crc32(name.encode()) + SEED) % 2**32)

    def one(self, choices):
        return choices[self.rng.randint(len(choices))]

    def int(self, low, high):
        return int(self.rng.randint(low, high + 1))

    def flag(self):
        return bool(self.rng.randint(2))

    def permutation(self, n):
        return tuple(int(i) for i in self.rng.permutation(n))

    def array(self, shape, dtype):
        return random_array(self.rng, shape, dtype)

    def numbers(self, shape, low, high, dtype="int32"):
        return self.rng.randint(low, high + 1, shape).astype(dtype)


def convolution(d):
    spatial = d.int(0, 3)
    groups, batch_groups = d.one([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)])
    batch = d.int(1, 3) * batch_groups
    features_in = d.int(1, 3) * groups
    features_out = d.int(1, 3) * groups * batch_groups
    letters = "012"[:spatial]
    lhs = "".join(np.array(list("NC" + letters))[list(d.permutation(spatial + 2))])
    rhs = "".join(np.array(list("OI" + letters))[list(d.permutation(spatial + 2))])
    out = "".join(np.array(list("NC" + letters))[list(d.permutation(spatial + 2))])
    sizes = [d.int(3, 8) for _ in letters]
    kernel = [d.int(1, 3) for _ in letters]
    of_lhs = {"N": batch, "C": features_in, **dict(zip(letters, sizes))}
    of_rhs = {"O": features_out, "I": features_in // groups, **dict(zip(letters, kernel))}
    dtype = d.one(FLOATS + COMPLEX + INTS[:4] + ["uint8"] + EIGHT_BITS[:2])
    preferred = None
    if dtype in ("bfloat16", "float16") and d.flag():
        preferred = "float32"
    if dtype in INTS[:2] and d.flag():
        preferred = "int32"
    if dtype in EIGHT_BITS:
        preferred = "float32"
    padding = d.one(["VALID", "SAME", "SAME_LOWER", [(d.int(-1, 2), d.int(-1, 3)) for _ in letters]])
    lhs_dilation = [d.int(1, 3) for _ in letters] if d.flag() and not isinstance(padding, str) else None
    arguments = [
        d.array([of_lhs[c] for c in lhs], dtype),
        d.array([of_rhs[c] for c in rhs], dtype),
    ]
    options = {
        "window_strides": [d.int(1, 3) for _ in letters],
        "padding": padding,
        "lhs_dilation": lhs_dilation,
        "rhs_dilation": [d.int(1, 2) for _ in letters] if d.flag() else None,
        "dimension_numbers": lax.ConvDimensionNumbers(
            tuple(lhs.index(c) for c in "NC" + letters),
            tuple(rhs.index(c) for c in "OI" + letters),
            tuple(out.index(c) for c in "NC" + letters),
        ),
        "feature_group_count": groups,
        "batch_group_count": batch_groups,
        "preferred_element_type": preferred,
        "precision": d.one([None, "highest", lax.Precision.DEFAULT, ("high", "highest")]),
    }
    f = lambda x, y: lax.conv_general_dilated(x, y, **options)
    if dtype in ("float32", "float64", "complex64") and d.flag():
        return lambda: jax.vjp(f, *arguments)[1](f(*arguments))
    if d.one([0, 0, 1]):
        return lambda: jax.vmap(f, (0, None))(np.stack([arguments[0]] * 2), arguments[1])
    return lambda: f(*arguments)


def transposed_convolution(d):
    spatial = d.int(1, 2)
    letters = "HW"[:spatial]
    dtype = d.one(["float32", "float64", "complex64", "bfloat16"])
    features = d.int(1, 3)
    x = d.array([2] + [d.int(3, 7) for _ in letters] + [features], dtype)
    k = d.array([d.int(1, 4) for _ in letters] + [features, d.int(1, 3)], dtype)
    options = {
        "strides": [d.int(1, 3) for _ in letters],
        "padding": d.one(["SAME", "VALID", [(1, 2)] * spatial]),
        "rhs_dilation": d.one([None, [2] * spatial]),
        "dimension_numbers": ("N" + letters + "C", letters + "IO", "N" + letters + "C"),
        "transpose_kernel": False,
    }
    return lambda: lax.conv_transpose(x, k, **options)


def patches(d):
    x = d.array((2, 3, 7, 6), d.one(["float32", "float64"]))
    w, s = d.int(1, 3), d.int(1, 2)
    p = d.one(["SAME", "VALID", [(0, 1), (1, 0)]])
    if d.flag():
        k = d.array((4, 3 * w * w, 7 if p == "SAME" and s == 1 else 1, 1), x.dtype.name)
        del k
    return lambda: lax.conv_general_dilated_patches(x, (w, w), (s, s), p, rhs_dilation=(1, 2))


def general_dot(d):
    batch, contracting, free = d.int(0, 2), d.int(0, 2), d.int(0, 2)
    names = [f"b{i}" for i in range(batch)] + [f"c{i}" for i in range(contracting)]
    of_lhs = names + [f"l{i}" for i in range(free)]
    of_rhs = names + [f"r{i}" for i in range(d.int(0, 2))]
    size = {n: d.int(1, 5) for n in of_lhs + of_rhs}
    of_lhs = [of_lhs[i] for i in d.permutation(len(of_lhs))]
    of_rhs = [of_rhs[i] for i in d.permutation(len(of_rhs))]
    dtype = d.one(ALL + EIGHT_BITS + ["bool", "int4", "uint4"])
    preferred = d.one([None, "wide", "float"])
    wide = {
        "bfloat16": "float32",
        "float16": "float32",
        "float32": "float64",
        "int8": "int32",
        "int16": "int32",
        "uint8": "uint32",
        "int32": "int64",
        "int4": "int32",
        "uint4": "uint32",
        "complex64": "complex128",
    }
    preferred = {"wide": wide.get(dtype, None), "float": "float32" if dtype in INTS[:3] else None}.get(preferred)
    if dtype in EIGHT_BITS:
        preferred = d.one([None, "float32", "bfloat16"])
    dims = (
        ([of_lhs.index(n) for n in names if n[0] == "c"], [of_rhs.index(n) for n in names if n[0] == "c"]),
        ([of_lhs.index(n) for n in names if n[0] == "b"], [of_rhs.index(n) for n in names if n[0] == "b"]),
    )
    x, y = d.array([size[n] for n in of_lhs], dtype), d.array([size[n] for n in of_rhs], dtype)
    f = lambda a, b: lax.dot_general(a, b, dims, preferred_element_type=preferred)
    if dtype in ("float32", "float64", "complex64") and preferred is None and d.flag():
        return lambda: jax.vjp(f, x, y)[1](f(x, y))
    return lambda: jax.jit(f)(x, y)


def mixed_dot(d):
    one, other = d.one(FLOATS + INTS[:4] + EIGHT_BITS), d.one(FLOATS + INTS[:4] + EIGHT_BITS)
    x, y = d.array((3, 4), one), d.array((4, 2), other)
    preferred = d.one([None, "float32", "float64", "bfloat16"])
    return lambda: lax.dot(x, y, preferred_element_type=preferred)


def ragged_rows(d):
    groups, m, k, n = d.int(1, 4), d.int(1, 9), d.int(1, 5), d.int(1, 4)
    dtype = d.one(["float32", "bfloat16", "float64", "int8", "float16"])
    sizes = d.rng.multinomial(d.int(0, m), [1 / groups] * groups).astype("int32")
    x, y = d.array((m, k), dtype), d.array((groups, k, n), dtype)
    preferred = d.one([None, "float32"])
    f = lambda a, b: lax.ragged_dot(a, b, sizes, preferred_element_type=preferred)
    if dtype == "float32" and d.flag():
        return lambda: jax.vjp(f, x, y)[1](f(x, y))
    return lambda: f(x, y)


MODES = ["clip", "fill", "promise_in_bounds"]


def gather(d):
    shape = [d.int(1, 5) for _ in range(d.int(1, 3))]
    dtype = d.one(ALL + ["bool"])
    x = d.array(shape, dtype)
    mode = d.one(MODES)
    count = d.int(1, len(shape))
    mapped = sorted(d.permutation(len(shape))[:count])
    collapsed = [i for i in mapped if d.flag()]
    sizes = [1 if i in collapsed else d.int(1, shape[i]) for i in range(len(shape))]
    index_shape = [d.int(1, 4) for _ in range(d.int(0, 2))]
    offsets = len(shape) - len(collapsed)
    rank = len(index_shape) + offsets
    offset_dims = sorted(d.permutation(rank)[:offsets])
    low, high = (-3, 8) if mode != "promise_in_bounds" else (0, 0)
    indices = d.numbers(index_shape + [count], low, high, d.one(["int32", "int64", "uint8", "int8"]))
    numbers = lax.GatherDimensionNumbers(tuple(offset_dims), tuple(collapsed), tuple(mapped))
    fill = d.one([None, 7]) if mode == "fill" and dtype != "bool" else None
    f = lambda a: lax.gather(a, indices, numbers, tuple(sizes), mode=mode, fill_value=fill)
    if dtype in ("float32", "complex64") and d.flag():
        return lambda: jax.vjp(f, x)[1](f(x))
    if d.one([0, 0, 1]):
        return lambda: jax.vmap(f)(np.stack([x, x]))
    return lambda: jax.jit(f)(x)


def scatter(d):
    shape = [d.int(1, 6) for _ in range(d.int(1, 3))]
    dtype = d.one(ALL)
    count = d.int(1, len(shape))
    mapped = sorted(d.permutation(len(shape))[:count])
    inserted = [i for i in mapped if d.flag()]
    index_shape = [d.int(1, 4) for _ in range(d.int(0, 2))]
    window = [d.int(1, shape[i]) for i in range(len(shape)) if i not in inserted]
    rank = len(index_shape) + len(window)
    window_dims = sorted(d.permutation(rank)[: len(window)])
    update, of_index, of_window = [], list(index_shape), list(window)
    for i in range(rank):
        update.append(of_window.pop(0) if i in window_dims else of_index.pop(0))
    mode = d.one(MODES[:2])
    op = d.one(["scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter_sub", "scatter"])
    if op in ("scatter_min", "scatter_max") and dtype in COMPLEX:
        op = "scatter_add"
    if op == "scatter":
        index_shape = []
        update = list(window)
        window_dims = list(range(len(window)))
    indices = d.numbers(index_shape + [count], -2, 7, d.one(["int32", "int64", "uint8"]))
    numbers = lax.ScatterDimensionNumbers(tuple(window_dims), tuple(inserted), tuple(mapped))
    x, y = d.array(shape, dtype), d.array(update, dtype)
    f = lambda a, b: getattr(lax, op)(a, indices, b, numbers, mode=mode)
    if dtype in ("float32", "float64") and op in ("scatter_add", "scatter") and d.flag():
        return lambda: jax.vjp(f, x, y)[1](f(x, y))
    return lambda: jax.jit(f)(x, y)


def indexed_update(d):
    x = d.array((4, 5, 3), d.one(ALL + ["bool"]))
    index = d.one(
        [
            np.s_[1],
            np.s_[-7],
            np.s_[9],
            np.s_[1:3, ::-2],
            np.s_[..., 0],
            np.s_[:, None, 2],
            np.s_[np.array([[0, 3], [-1, 8]]), 1],
            np.s_[np.array([0, 3]), :, np.array([2, 0])],
            np.s_[np.array([True, False, True, True])],
            np.s_[()],
            np.s_[np.array([], int)],
            np.s_[:, np.array([4, 4, 4])],
        ]
    )
    mode = d.one([None, "drop", "clip", "fill", "promise_in_bounds", "wrap"])
    if mode == "promise_in_bounds":
        index = np.s_[1:3]
    if mode == "wrap":
        mode = None
    op = d.one("set add subtract multiply divide power min max apply get".split())
    kind = x.dtype.name
    if op == "get":
        mode = mode if mode != "drop" else "fill"
        return lambda: jnp.asarray(x).at[index].get(mode=mode)
    if op == "apply":
        return lambda: jnp.asarray(x).at[index].apply(lambda v: v + v, mode=mode)
    if kind == "bool" or op in ("divide", "power"):
        op = "set"
    if kind.startswith("complex") and op in ("min", "max"):
        op = "add"
    value = d.one([3, 2.0 if kind[0] in "fbc" else 2])
    return lambda: getattr(jnp.asarray(x).at[index], op)(value, mode=mode)


def windows(d):
    shape = [d.int(1, 7) for _ in range(d.int(1, 4))]
    rank = len(shape)
    dtype = d.one(ALL)
    x = d.array(shape, dtype)
    window = [d.int(1, 3) for _ in shape]
    strides = [d.int(1, 3) for _ in shape]
    dilated = d.flag()
    base = [d.int(1, 3) for _ in shape] if dilated else [1] * rank
    inside = [d.int(1, 2) for _ in shape] if dilated else [1] * rank
    padding = d.one(["SAME", "VALID", [(d.int(0, 2), d.int(0, 3)) for _ in shape]])
    op, start = d.one([(lax.add, 0), (lax.max, None), (lax.min, None), (lax.mul, 1)])
    if start is None:
        if dtype in COMPLEX:
            op, start = lax.add, 0
        elif dtype in INTS:
            start = np.iinfo(dtype).min if op is lax.max else np.iinfo(dtype).max
        else:
            start = -np.inf if op is lax.max else np.inf
    f = lambda a: lax.reduce_window(a, np.array(start, jnp.dtype(dtype)), op, window, strides, padding, base, inside)
    if dtype in ("float32", "float64") and op is not lax.mul and not (dilated and op is not lax.add) and d.flag():
        return lambda: jax.vjp(f, x)[1](f(x))
    if d.one([0, 0, 1]):
        return lambda: jax.vmap(f)(np.stack([x, x]))
    return lambda: f(x)


def window_arguments(d):
    shape = [d.int(2, 7) for _ in range(d.int(1, 3))]
    dtype = d.one(["float32", "float64", "bfloat16", "int32"])
    x = d.array(shape, dtype)
    window, strides = [d.int(1, 3) for _ in shape], [d.int(1, 2) for _ in shape]

    def both(a, b):
        (u, i), (v, j) = a, b
        first = (u > v) | ((u == v) & (i < j))
        return jnp.where(first, u, v), jnp.where(first, i, j)

    start = np.array(-np.inf if dtype[0] in "fb" else np.iinfo(dtype).min, jnp.dtype(dtype))
    positions = np.arange(x.size, dtype="int32").reshape(shape)
    return lambda: lax.reduce_window(
        (x, positions), (start, np.int32(2**31 - 1)), both, window, strides, d.one(["SAME", "VALID"])
    )


def reductions(d):
    shape = [d.int(0, 6) for _ in range(d.int(1, 4))]
    dtype = d.one(ALL + ["bool"])
    x = d.array(shape, dtype)
    axes = tuple(sorted(d.permutation(len(shape))[: d.int(0, len(shape))]))
    name = d.one("sum prod max min all any mean var std nansum nanmax argmax argmin median count_nonzero ptp".split())
    if name in ("argmax", "argmin"):
        axis = d.one([None, 0, -1])
        return lambda: getattr(jnp, name)(jnp.asarray(x), axis=axis, keepdims=d.flag())
    options = {"keepdims": d.flag()}
    if name in ("sum", "prod", "mean") and d.flag():
        options["dtype"] = d.one(["float32", "float64", "complex64", "int32", "bfloat16"])
    if name in ("sum", "max", "min", "prod") and d.flag():
        options["where"] = d.rng.rand(*shape) < 0.5
        options["initial"] = 1
    return lambda: getattr(jnp, name)(jnp.asarray(x), axis=axes, **options)


def own_reduction(d):
    dtype = d.one(["float32", "int32", "float64", "bfloat16", "complex64"])
    shape = [d.int(1, 5) for _ in range(3)]
    x, y = d.array(shape, dtype), d.array(shape, dtype)
    axes = sorted(d.permutation(3)[: d.int(1, 3)])
    kind = d.int(0, 3)
    zero, one = np.zeros((), x.dtype), np.ones((), x.dtype)
    if kind == 0:
        return lambda: lax.reduce((x, y), (zero, one), lambda a, b: (a[0] + b[0], a[1] * b[1]), axes)
    if kind == 1:
        return lambda: lax.reduce(x, zero, lambda a, b: a + b, axes)
    if kind == 2:
        return lambda: lax.reduce(
            (x, np.abs(y)), (zero, zero), lambda a, b: (a[0] + b[0], lax.max(a[1].real, b[1].real).astype(dtype)), axes
        )
    return lambda: lax.reduce(x > 0 if dtype != "complex64" else x.real > 0, np.bool_(False), lambda a, b: a ^ b, axes)


def cumulative(d):
    shape = [d.int(0, 40) if i == 0 else d.int(1, 4) for i in range(d.int(1, 3))]
    dtype = d.one(ALL)
    x = d.array(shape, dtype)
    name = d.one("cumsum cumprod cummax cummin cumlogsumexp".split())
    if dtype in COMPLEX and name in ("cummax", "cummin", "cumlogsumexp"):
        name = "cumsum"
    if name == "cumlogsumexp" and dtype in INTS:
        name = "cummax"
    axis, reverse = d.int(0, len(shape) - 1), d.flag()
    f = lambda a: getattr(lax, name)(a, axis=axis, reverse=reverse)
    if dtype == "float64" and d.flag():
        return lambda: jax.vjp(f, x)[1](f(x))
    if d.one([0, 0, 1]):
        return lambda: jax.vmap(f)(np.stack([x, x]))
    return lambda: f(x)


def sorting(d):
    shape = [d.int(0, 9) for _ in range(d.int(1, 3))]
    dtype = d.one(ALL + ["bool"])
    x = d.array(shape, dtype)
    if dtype in FLOATS and x.size > 3 and d.flag():
        x.reshape(-1)[: x.size // 2] = d.rng.choice(
            [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0], x.size // 2
        ).astype(x.dtype)
    axis = d.int(0, len(shape) - 1)
    kind = d.int(0, 6)
    stable = d.flag()
    if kind == 0:
        return lambda: lax.sort(x, dimension=axis, is_stable=stable)
    if kind == 1:
        position = np.arange(x.size, dtype="int32").reshape(shape)
        return lambda: lax.sort((x, position), dimension=axis, is_stable=True, num_keys=1)
    if kind == 2:
        y = d.array(shape, d.one(["int8", "float32"]))
        return lambda: lax.sort((y, x, y), dimension=axis, is_stable=True, num_keys=2)
    if kind == 3 and dtype not in COMPLEX and dtype != "bool" and shape[-1]:
        k = d.int(0, shape[-1])
        return lambda: lax.top_k(x, k)
    if kind == 4:
        return lambda: [jnp.argsort(x, axis=axis, descending=d.flag()), jnp.sort(x, axis=axis, descending=True)]
    if kind == 5 and x.size:
        return lambda: jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=x.size)
    if x.ndim == 1 and dtype not in COMPLEX:
        side, method = d.one(["left", "right"]), d.one(["scan", "scan_unrolled", "sort", "compare_all"])
        return lambda: jnp.searchsorted(jnp.sort(x), d.array((5,), dtype), side=side, method=method)
    return lambda: jnp.sort(x, axis=axis)


def approximate_top(d):
    dtype = d.one(["float32", "float16"])  # all values differ
    shape = [d.int(1, 3), d.int(10, 700)]
    x = d.rng.permutation(np.prod(shape)).reshape(shape).astype(jnp.dtype(dtype))
    k = d.int(1, 10)
    largest = d.flag()
    options = {"recall_target": d.one([0.5, 0.95, 1.0]), "aggregate_to_topk": True}
    return lambda: (lax.approx_max_k if largest else lax.approx_min_k)(x, k, **options)


def shapes(d):
    shape = [d.int(1, 5) for _ in range(d.int(1, 4))]
    x = d.array(shape, d.one(ALL + ["bool", "int4"]))
    rank = len(shape)
    kind = d.int(0, 8)
    if kind == 0:
        config = [(d.int(-1, 3), d.int(-1, 3), d.int(0, 2)) for _ in shape]
        return lambda: lax.pad(x, np.zeros((), x.dtype), config)
    if kind == 1:
        starts = [d.int(0, n - 1) for n in shape]
        limits = [d.int(s, n) for s, n in zip(starts, shape)]
        return lambda: lax.slice(x, starts, limits, [d.int(1, 3) for _ in shape])
    if kind == 2:
        starts = [np.array(d.int(-9, 9), d.one(["int32", "int8", "int64", "uint8"])) for _ in shape]
        sizes = [d.int(0, n) for n in shape]
        return lambda: jax.jit(lambda a, s: lax.dynamic_slice(a, s, sizes))(x, starts)
    if kind == 3:
        starts = [d.int(-3, 9) for _ in shape]
        y = d.array([d.int(0, n) for n in shape], x.dtype.name)
        return lambda: jax.jit(lax.dynamic_update_slice)(x, y, starts)
    if kind == 4:
        return lambda: lax.reshape(x, (x.size,), dimensions=d.permutation(rank))
    if kind == 5:
        axis = d.int(0, rank - 1)
        return lambda: [lax.concatenate([x, x, x[:0] if axis == 0 else x], axis), lax.split(x, [1] * shape[axis], axis)]
    if kind == 6:
        return lambda: [lax.rev(x, sorted(d.permutation(rank)[:1])), lax.transpose(x, d.permutation(rank))]
    if kind == 7:
        out = [d.int(1, 4) for _ in range(2)] + shape
        places = tuple(range(2, 2 + rank))
        return lambda: lax.broadcast_in_dim(x, out, places)
    return lambda: jnp.tile(x, [d.int(0, 3) for _ in range(d.int(1, 5))])


GROUPS = {
    f.__name__: f
    for f in (
        convolution,
        transposed_convolution,
        patches,
        general_dot,
        mixed_dot,
        ragged_rows,
        gather,
        scatter,
        indexed_update,
        windows,
        window_arguments,
        reductions,
        own_reduction,
        cumulative,
        sorting,
        approximate_top,
        shapes,
    )
}


def cases_of(groups):
    for group, make in groups.items():
        for number in range(CASES):
            name = f"{group}_{number}"
            yield name, lambda name=name, make=make: make(Draw(name))()


def cases():
    yield from cases_of(GROUPS)
