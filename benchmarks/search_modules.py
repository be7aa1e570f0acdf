"""The modules of search.py: HLO text by name, in families (`elementwise/tanh/f64/full`, …). Names are made from what
a module does, so that a result is found again; those of the family `random` have their seed in them."""

import functools
import random

import search_movement
import search_random
from module_writer import COMPLEX, FLOATS, INTEGERS, SIZES, Case, Module, array, numbers


UNARY = {
    "float": "abs cbrt ceil cosine erf exponential exponential-minus-one floor log log-plus-one logistic negate rsqrt "
    "round-nearest-afz round-nearest-even sign sine sqrt tan tanh is-finite",
    "complex": "abs cosine exponential exponential-minus-one log log-plus-one logistic negate rsqrt sign sine sqrt tan "
    "tanh real imag",
    "integer": "abs negate not popcnt count-leading-zeros sign",
}
BINARY = {
    "float": "add subtract multiply divide maximum minimum power remainder atan2",
    "complex": "add subtract multiply divide power atan2",
    "integer": "add subtract multiply divide maximum minimum power remainder and xor shift-left shift-right-arithmetic",
}
NEED_POSITIVE = {"log", "sqrt", "rsqrt", "power", "log-plus-one", "cbrt"}


def group_of(kind):
    return "float" if kind in FLOATS else "complex" if kind in COMPLEX else "integer"


def elementwise(opcode, kind, layout):
    m = Module()
    rows, columns = 256, 1024 // SIZES.get(kind, 4)
    full = array(kind, rows, columns)
    a = m.parameter(full)
    operands = [a]
    if opcode in " ".join(BINARY.values()).split():
        if layout == "full":
            operands.append(m.parameter(full))
        else:
            dims, at = {"row": ((columns,), "{1}"), "column": ((rows,), "{0}"), "scalar": ((), "{}")}[layout]
            small = m.parameter(array(kind, *dims))
            operands.append(m.op(full, "broadcast", small, attributes=f"dimensions={at}"))
    out = kind
    if opcode == "is-finite":
        out = "pred"
    elif kind in COMPLEX and opcode in ("abs", "real", "imag"):
        out = {"c64": "f32", "c128": "f64"}[kind]
    m.op(array(out, rows, columns), opcode, *operands)
    return Case(m.text(), low=0.05 if opcode in NEED_POSITIVE else -3.0)


def masked(opcode, kind):
    """A function where half of the elements are zeros."""
    m = Module()
    full = array(kind, 256, 1024 // SIZES[kind])
    x, p = m.parameter(full), m.parameter(array("pred", 256, 1024 // SIZES[kind]))
    zeros = m.op(full, "broadcast", m.constant(kind, 0), attributes="dimensions={}")
    m.op(full, opcode, m.op(full, "select", p, x, zeros))
    return Case(m.text())


def convert(source, target):
    m = Module()
    m.op(array(target, 256, 512), "convert", m.parameter(array(source, 256, 512)))
    return Case(m.text(), low=0.05)


def compared(kind, direction):
    m = Module()
    full = array(kind, 256, 512)
    a, b = m.parameter(full), m.parameter(full)
    p = m.op(array("pred", 256, 512), "compare", a, b, attributes=f"direction={direction}")
    m.op(full, "select", p, a, b)
    return Case(m.text())


REDUCED = [((512, 384), (0,)), ((512, 384), (1,)), ((512, 384), (0, 1)), ((32, 48, 64), (1,)), ((32, 48, 64), (0, 2))]
REDUCED += [((32, 48, 64), (1, 2)), ((100003,), (0,)), ((7, 30011), (1,)), ((30011, 7), (0,)), ((30011, 7), (1,))]
REDUCED += [((8, 8, 8, 8, 16), (0, 2, 4)), ((8192, 3), (1,)), ((20000, 2, 2), (1, 2)), ((64, 3, 1024), (1,))]


def start_of(reducer, kind):
    floats = kind in FLOATS
    return {
        "add": "0",
        "multiply": "1",
        "maximum": "-inf" if floats else "0" if kind[0] == "u" else "-100",
        "minimum": "inf" if floats else "100",
        "and": "true" if kind == "pred" else "127",
        "or": "false" if kind == "pred" else "0",
        "xor": "0",
    }[reducer]


def reduced(reducer, kind, dims, over):
    m = Module()
    x, zero = m.parameter(array(kind, *dims)), m.constant(kind, start_of(reducer, kind))
    left = [d for i, d in enumerate(dims) if i not in over]
    f = m.combiner(kind, reducer)
    m.op(array(kind, *left), "reduce", x, zero, attributes=f"dimensions={numbers(over)}, to_apply={f}")
    return Case(m.text())


def arg_reduced(kind, dims, over, direction):
    m = Module()
    x = m.parameter(array(kind, *dims))
    i = m.op(array("s32", *dims), "iota", attributes=f"iota_dimension={over}")
    worst, zero = m.constant(kind, start_of("maximum" if direction == "GT" else "minimum", kind)), m.constant("s32", 0)
    f = m.computation(
        f"{{name}} {{\n  a = {kind}[] parameter(0)\n  i = s32[] parameter(1)\n  b = {kind}[] parameter(2)\n"
        f"  j = s32[] parameter(3)\n  p = pred[] compare(a, b), direction={direction}\n"
        f"  e = pred[] compare(a, b), direction=EQ\n  l = pred[] compare(i, j), direction=LT\n"
        f"  el = pred[] and(e, l)\n  t = pred[] or(p, el)\n  v = {kind}[] select(p, a, b)\n"
        f"  n = s32[] select(t, i, j)\n  ROOT r = ({kind}[], s32[]) tuple(v, n)\n}}"
    )
    left = [d for i, d in enumerate(dims) if i != over]
    both = f"({array(kind, *left)}, {array('s32', *left)})"
    m.op(both, "reduce", x, i, worst, zero, attributes=f"dimensions={{{over}}}, to_apply={f}")
    return Case(m.text())


def window(size, stride=None, padding=None, dilate=None, base=None):
    parts = [f"size={'x'.join(map(str, size))}"]
    if stride:
        parts.append(f"stride={'x'.join(map(str, stride))}")
    if padding:
        parts.append(f"pad={'x'.join(f'{a}_{b}' for a, b in padding)}")
    if base:
        parts.append(f"lhs_dilate={'x'.join(map(str, base))}")
    if dilate:
        parts.append(f"rhs_dilate={'x'.join(map(str, dilate))}")
    return "window={" + " ".join(parts) + "}"


def window_dims(dims, size, stride, padding, dilate, base=None):
    out = []
    for i, d in enumerate(dims):
        step, pad, wide = stride[i] if stride else 1, sum(padding[i]) if padding else 0, dilate[i] if dilate else 1
        full = (d - 1) * (base[i] if base else 1) + 1 + pad
        out.append((full - (size[i] - 1) * wide - 1) // step + 1)
    return out


WINDOWS = {
    "pool2": ((8, 56, 56, 32), (1, 2, 2, 1), (1, 2, 2, 1), None, None),
    "pool3": ((8, 56, 56, 32), (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (0, 1), (0, 1), (0, 0)), None),
    "pool3s1": ((8, 28, 28, 32), (1, 3, 3, 1), None, ((0, 0), (1, 1), (1, 1), (0, 0)), None),
    "pool_nchw": ((8, 32, 56, 56), (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (0, 1), (0, 1)), None),
    "pool7": ((8, 14, 14, 64), (1, 7, 7, 1), None, None, None),
    "pool1d": ((64, 1024), (1, 16), None, None, None),
    "pool1d_major": ((1024, 64), (16, 1), None, None, None),
    "long1d": ((100000,), (256,), (1,), None, None),
    "dilated": ((8, 56, 56, 16), (1, 3, 3, 1), None, None, (1, 2, 2, 1)),
    "cum_minor": ((128, 512), (1, 512), None, ((0, 0), (511, 0)), None),
    "cum_major": ((512, 128), (512, 1), None, ((511, 0), (0, 0)), None),
    "cum1d": ((50000,), (50000,), None, ((49999, 0),), None),
    "cum1d_reverse": ((50000,), (50000,), None, ((0, 49999),), None),
    "cum_middle": ((16, 128, 64), (1, 128, 1), None, ((0, 0), (127, 0), (0, 0)), None),
    "pool3d": ((4, 16, 16, 16, 16), (1, 2, 2, 2, 1), (1, 2, 2, 2, 1), None, None),
    "average_same": ((4, 64, 64, 8), (1, 5, 5, 1), None, ((0, 0), (2, 2), (2, 2), (0, 0)), None),
}


def windowed(reducer, kind, form):
    dims, size, stride, padding, dilate = WINDOWS[form]
    m = Module()
    x, start = m.parameter(array(kind, *dims)), m.constant(kind, start_of(reducer, kind))
    out = window_dims(dims, size, stride, padding, dilate)
    f = m.combiner(kind, reducer)
    w = window(size, stride, padding, dilate)
    m.op(array(kind, *out), "reduce-window", x, start, attributes=f"{w}, to_apply={f}")
    return Case(m.text(), low=0.05, high=1.0)


def pool_gradient(kind, form):
    dims, size, stride, padding, _ = WINDOWS[form]
    m = Module()
    out = window_dims(dims, size, stride, padding, None)
    x, g, zero = m.parameter(array(kind, *dims)), m.parameter(array(kind, *out)), m.constant(kind, 0)
    select = m.computation(
        f"{{name}} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n"
        "  ROOT r = pred[] compare(a, b), direction=GE\n}"
    )
    add, w = m.combiner(kind, "add"), window(size, stride, padding)
    attributes = f"{w}, select={select}, scatter={add}"
    m.op(array(kind, *dims), "select-and-scatter", x, g, zero, attributes=attributes)
    return Case(m.text())


# Dimensions of both operands, batch and contracted dimensions of each.
DOTS = {
    "square": ((192, 192), (192, 192), (), (1,), (), (0,)),
    "tiny": ((3, 3), (3, 3), (), (1,), (), (0,)),
    "vector": ((1, 512), (512, 512), (), (1,), (), (0,)),
    "matrix_vector": ((512, 768), (768,), (), (1,), (), (0,)),
    "vector_matrix": ((768,), (768, 512), (), (0,), (), (0,)),
    "transposed_b": ((128, 256), (192, 256), (), (1,), (), (1,)),
    "transposed_a": ((256, 128), (256, 192), (), (0,), (), (0,)),
    "transposed_both": ((256, 128), (192, 256), (), (0,), (), (1,)),
    "inner": ((50000,), (50000,), (), (0,), (), (0,)),
    "outer": ((512, 1), (1, 512), (), (1,), (), (0,)),
    "skinny": ((4096, 8), (8, 16), (), (1,), (), (0,)),
    "deep": ((8, 20000), (20000, 8), (), (1,), (), (0,)),
    "batch": ((16, 64, 64), (16, 64, 64), (0,), (2,), (0,), (1,)),
    "batch_small": ((2000, 4, 4), (2000, 4, 4), (0,), (2,), (0,), (1,)),
    "batch_vector": ((512, 32, 32), (512, 32), (0,), (2,), (0,), (1,)),
    "batch_inner": ((4096, 64), (4096, 64), (0,), (1,), (0,), (1,)),
    "batch_middle": ((64, 16, 64), (64, 16, 64), (1,), (2,), (1,), (2,)),
    "batch_last": ((48, 48, 32), (48, 48, 32), (2,), (1,), (2,), (0,)),
    "attention": ((4, 64, 8, 32), (4, 64, 8, 32), (0, 2), (3,), (0, 2), (3,)),
    "attention_values": ((4, 8, 64, 64), (4, 64, 8, 32), (0, 1), (3,), (0, 2), (1,)),
    "two_contracted": ((64, 16, 32), (16, 32, 96), (), (1, 2), (), (0, 1)),
    "crossed": ((64, 16, 32), (32, 16, 96), (), (1, 2), (), (1, 0)),
    "middle": ((32, 64, 16), (64, 48), (), (1,), (), (0,)),
}


def dot(kind, form, out=None):
    a, b, ab, ac, bb, bc = DOTS[form]
    m = Module()
    free = lambda dims, batch, over: [d for i, d in enumerate(dims) if i not in batch and i not in over]
    dims = [a[i] for i in ab] + free(a, ab, ac) + free(b, bb, bc)
    x, y = m.parameter(array(kind, *a)), m.parameter(array(kind, *b))
    attributes = f"lhs_contracting_dims={numbers(ac)}, rhs_contracting_dims={numbers(bc)}"
    if ab:
        attributes = f"lhs_batch_dims={numbers(ab)}, rhs_batch_dims={numbers(bb)}, " + attributes
    m.op(array(out or kind, *dims), "dot", x, y, attributes=attributes)
    return Case(m.text(), low=-1, high=1)


# Input, kernel (spatial…, in, out), stride, padding, dilation of kernel and of input, groups.
CONVOLUTIONS = {
    "3x3": ((4, 28, 28, 32), (3, 3, 32, 32), (1, 1), 1, 1, 1, 1),
    "3x3s2": ((4, 28, 28, 32), (3, 3, 32, 32), (2, 2), 1, 1, 1, 1),
    "1x1": ((4, 28, 28, 64), (1, 1, 64, 64), (1, 1), 0, 1, 1, 1),
    "first": ((1, 112, 112, 3), (7, 7, 3, 32), (2, 2), 3, 1, 1, 1),
    "depthwise": ((2, 56, 56, 64), (3, 3, 1, 64), (1, 1), 1, 1, 1, 64),
    "depthwise_s2": ((2, 56, 56, 64), (3, 3, 1, 64), (2, 2), 1, 1, 1, 64),
    "depthwise_multiplier": ((2, 28, 28, 32), (3, 3, 1, 64), (1, 1), 1, 1, 1, 32),
    "groups": ((2, 28, 28, 32), (3, 3, 8, 64), (1, 1), 1, 1, 1, 4),
    "dilated": ((2, 28, 28, 32), (3, 3, 32, 32), (1, 1), 2, 2, 1, 1),
    "transposed": ((2, 14, 14, 32), (4, 4, 32, 32), (1, 1), 2, 1, 2, 1),
    "1d": ((8, 256, 32), (5, 32, 64), (1,), 2, 1, 1, 1),
    "1d_depthwise": ((8, 256, 64), (4, 1, 64), (1,), 2, 1, 1, 64),
    "1d_dilated": ((8, 256, 32), (3, 32, 32), (1,), 4, 4, 1, 1),
    "1d_long": ((1, 8000, 1), (64, 1, 1), (1,), 0, 1, 1, 1),
    "3d": ((1, 12, 12, 12, 16), (3, 3, 3, 16, 16), (1, 1, 1), 1, 1, 1, 1),
    "5x5": ((2, 20, 20, 16), (5, 5, 16, 32), (1, 1), 2, 1, 1, 1),
    "blur": ((1, 256, 256, 1), (5, 5, 1, 1), (1, 1), 2, 1, 1, 1),
    "large_kernel": ((1, 64, 64, 4), (21, 21, 4, 4), (1, 1), 10, 1, 1, 1),
}


def convolution(kind, form, layout="channels_last"):
    x, k, stride, pad, dilate, base, groups = CONVOLUTIONS[form]
    rank = len(stride)
    spatial = "".join(map(str, range(rank)))
    padding = [(pad, pad)] * rank
    size = k[:rank]
    out = window_dims(x[1:-1], size, stride, padding, (dilate,) * rank, (base,) * rank)
    result, labels = (x[0], *out, k[-1]), f"b{spatial}f_{spatial}io->b{spatial}f"
    if layout == "channels_first":
        x, k, result = (x[0], x[-1], *x[1:-1]), (k[-1], k[-2], *size), (x[0], k[-1], *out)
        labels = f"bf{spatial}_oi{spatial}->bf{spatial}"
    m = Module()
    w = window(size, stride, padding, (dilate,) * rank, (base,) * rank)
    attributes = f"{w}, dim_labels={labels}" + (f", feature_group_count={groups}" if groups > 1 else "")
    m.op(
        array(kind, *result),
        "convolution",
        m.parameter(array(kind, *x)),
        m.parameter(array(kind, *k)),
        attributes=attributes,
    )
    return Case(m.text(), low=-1, high=1)


def systematic():
    """Name → maker of a case, of all families but `random` and those of search_movement.py."""
    found = {}
    for kind in FLOATS + COMPLEX + INTEGERS:
        for opcode in UNARY[group_of(kind)].split():
            found[f"elementwise/{opcode}/{kind}"] = functools.partial(elementwise, opcode, kind, "full")
        for opcode in BINARY[group_of(kind)].split():
            if "arithmetic" not in opcode or kind[0] == "s":
                for layout in ("full", "row", "column", "scalar"):
                    found[f"elementwise/{opcode}/{kind}/{layout}"] = functools.partial(
                        elementwise, opcode, kind, layout
                    )
        for opcode in ("log", "rsqrt", "sign", "sqrt", "tanh") if kind in COMPLEX else ():
            found[f"masked/{opcode}/{kind}"] = functools.partial(masked, opcode, kind)
        for target in FLOATS + INTEGERS + ["pred"]:
            if kind not in COMPLEX and target != kind:
                found[f"convert/{kind}/{target}"] = functools.partial(convert, kind, target)
        for direction in ("LT", "EQ") if kind not in COMPLEX else ("EQ",):
            found[f"compare/{direction}/{kind}"] = functools.partial(compared, kind, direction)
        for reducer in ("add", "multiply", "maximum", "minimum", "and"):
            if group_of(kind) == "integer" or reducer in ("add", "multiply") or kind in FLOATS and reducer != "and":
                for dims, over in REDUCED:
                    name = f"reduce/{reducer}/{kind}/{'x'.join(map(str, dims))}_{''.join(map(str, over))}"
                    found[name] = functools.partial(reduced, reducer, kind, dims, over)
        if kind not in COMPLEX:
            for dims, over in ((d, o) for d, o in REDUCED if len(o) == 1):
                for direction in ("GT", "LT"):
                    name = f"arg_reduce/{direction}/{kind}/{'x'.join(map(str, dims))}_{over[0]}"
                    found[name] = functools.partial(arg_reduced, kind, dims, over[0], direction)
        for form in WINDOWS:
            for reducer in ("add", "maximum", "multiply") if kind not in COMPLEX else ("add",):
                found[f"window/{reducer}/{kind}/{form}"] = functools.partial(windowed, reducer, kind, form)
        for form in ("pool2", "pool3", "pool3s1", "pool_nchw", "pool1d", "pool3d") if kind in FLOATS else ():
            found[f"pool_gradient/{kind}/{form}"] = functools.partial(pool_gradient, kind, form)
        for form in DOTS:
            found[f"dot/{kind}/{form}"] = functools.partial(dot, kind, form)
            for out in {"s8": ["s32"], "u8": ["s32"], "bf16": ["f32"], "f16": ["f32"], "f32": ["f64"]}.get(kind, []):
                found[f"dot/{kind}-{out}/{form}"] = functools.partial(dot, kind, form, out)
        for form in CONVOLUTIONS if kind in (*FLOATS, "s32", "c64") else ():
            found[f"convolution/{kind}/{form}"] = functools.partial(convolution, kind, form)
            if CONVOLUTIONS[form][-1] == 1:
                name = f"convolution/{kind}/{form}/channels_first"
                found[name] = functools.partial(convolution, kind, form, "channels_first")
    for over in ((0,), (1,), (0, 1)):
        for reducer in ("and", "or"):
            name = f"reduce/{reducer}/pred/512x384_{''.join(map(str, over))}"
            found[name] = functools.partial(reduced, reducer, "pred", (512, 384), over)
    return found


@functools.cache
def makers():
    return systematic() | search_movement.systematic() | search_random.FIXED


def case(name):
    """The case of that name, or None if it is of no family here."""
    if name.startswith("random/"):
        return search_random.make(random.Random(name))
    return makers()[name]() if name in makers() else None
