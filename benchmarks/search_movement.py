"""Modules of search.py that move data (gathers, scatters, sorts, slices, transposes), repeat (loops with conditionals
and updates), or call the runtime (FFT, linear algebra, random bits)."""

import functools

from module_writer import COMPLEX, FLOATS, INTEGERS, Case, Module, array, literal, numbers

# Operand, indices, start_index_map, collapsed, offset dimensions, slice sizes, index_vector_dim.
GATHERS = {
    "rows": ((1000, 128), (512, 1), (0,), (0,), (1,), (1, 128), 1),
    "rows_flat": ((1000, 128), (512,), (0,), (0,), (1,), (1, 128), 1),
    "rows_small": ((1000, 3), (20000, 1), (0,), (0,), (1,), (1, 3), 1),
    "columns": ((128, 1000), (512, 1), (1,), (1,), (0,), (128, 1), 1),
    "elements": ((100000,), (50000, 1), (0,), (0,), (), (1,), 1),
    "points": ((128, 128), (30000, 2), (0, 1), (0, 1), (), (1, 1), 1),
    "points_swapped": ((128, 128), (30000, 2), (1, 0), (0, 1), (), (1, 1), 1),
    "points_first": ((128, 128), (2, 30000), (0, 1), (0, 1), (), (1, 1), 0),
    "windows": ((128, 128), (500, 2), (0, 1), (), (1, 2), (8, 8), 1),
    "windows_last": ((128, 128), (500, 2), (0, 1), (), (0, 1), (8, 8), 1),
    "two_batch": ((100, 64), (32, 16, 1), (0,), (0,), (2,), (1, 64), 2),
    "middle": ((16, 100, 32), (64, 1), (1,), (1,), (0, 2), (16, 1, 32), 1),
    "images": ((4, 64, 64, 3), (2000, 3), (0, 1, 2), (0, 1, 2), (1,), (1, 1, 1, 3), 1),
}


def gather(kind, form, index="s32"):
    dims, at, starts, collapsed, offset, sizes, vector = GATHERS[form]
    m = Module()
    batch = [d for i, d in enumerate(at) if i != vector]
    kept = [s for i, s in enumerate(sizes) if i not in collapsed]
    out = []
    for i in range(len(batch) + len(kept)):
        out.append(kept.pop(0) if i in offset else batch.pop(0))
    x, i = m.parameter(array(kind, *dims)), m.parameter(array(index, *at))
    attributes = (
        f"offset_dims={numbers(offset)}, collapsed_slice_dims={numbers(collapsed)}, start_index_map={numbers(starts)}, "
        f"index_vector_dim={vector}, slice_sizes={numbers(sizes)}"
    )
    m.op(array(kind, *out), "gather", x, i, attributes=attributes)
    return Case(m.text())


# Operand, indices, updates, update_window_dims, inserted, scatter_dims_to_operand_dims, index_vector_dim.
SCATTERS = {
    "rows": ((1000, 128), (512, 1), (512, 128), (1,), (0,), (0,), 1),
    "rows_small": ((1000, 3), (20000, 1), (20000, 3), (1,), (0,), (0,), 1),
    "columns": ((128, 1000), (512, 1), (128, 512), (0,), (1,), (1,), 1),
    "elements": ((100000,), (50000, 1), (50000,), (), (0,), (0,), 1),
    "histogram": ((256,), (50000, 1), (50000,), (), (0,), (0,), 1),
    "points": ((128, 128), (30000, 2), (30000,), (), (0, 1), (0, 1), 1),
    "points_swapped": ((128, 128), (30000, 2), (30000,), (), (0, 1), (1, 0), 1),
    "windows": ((128, 128), (500, 2), (500, 8, 8), (1, 2), (), (0, 1), 1),
    "two_batch": ((100, 64), (32, 16, 1), (32, 16, 64), (2,), (0,), (0,), 2),
    "middle": ((16, 100, 32), (64, 1), (16, 64, 32), (0, 2), (1,), (1,), 1),
}
UPDATES = {"set": "", "add": "add", "maximum": "maximum", "multiply": "multiply"}


def scatter(kind, form, update, promise=""):
    dims, at, updates, windows, inserted, to, vector = SCATTERS[form]
    m = Module()
    x, i, u = m.parameter(array(kind, *dims)), m.parameter(array("s32", *at)), m.parameter(array(kind, *updates))
    if update == "set":
        f = m.computation(f"{{name}} {{\n  a = {kind}[] parameter(0)\n  ROOT b = {kind}[] parameter(1)\n}}")
    else:
        f = m.combiner(kind, update)
    attributes = (
        f"update_window_dims={numbers(windows)}, inserted_window_dims={numbers(inserted)}, "
        f"scatter_dims_to_operand_dims={numbers(to)}, index_vector_dim={vector}{promise}, to_apply={f}"
    )
    m.op(array(kind, *dims), "scatter", x, i, u, attributes=attributes)
    return Case(m.text())


def sort(kinds, dims, over, direction, stable):
    m = Module()
    values = [m.parameter(array(k, *dims)) for k in kinds]
    body = "".join(f"  p{i} = {kinds[i // 2]}[] parameter({i})\n" for i in range(2 * len(kinds)))
    total = ", type=TOTALORDER" if direction.endswith("TOTAL") else ""
    body += f"  ROOT r = pred[] compare(p0, p1), direction={direction[:2]}{total}\n"
    f = m.computation(f"{{name}} {{\n{body}}}")
    shapes = [array(k, *dims) for k in kinds]
    shape = shapes[0] if len(kinds) == 1 else "(" + ", ".join(shapes) + ")"
    attributes = f"dimensions={{{over}}}{', is_stable=true' if stable else ''}, to_apply={f}"
    m.op(shape, "sort", *values, attributes=attributes)
    return Case(m.text())


SORTED = [((100000,), 0), ((128, 512), 1), ((512, 128), 0), ((4096, 8), 1), ((20000, 3), 1), ((16, 64, 16), 1)]


def top_k(kind, dims, k):
    m = Module()
    x = m.parameter(array(kind, *dims))
    both = f"({array(kind, *dims[:-1], k)}, {array('s32', *dims[:-1], k)})"
    m.op(both, "topk", x, attributes=f"k={k}, largest=true")
    return Case(m.text())


def transpose(kind, dims, order):
    m = Module()
    out = array(kind, *(dims[i] for i in order))
    m.op(out, "transpose", m.parameter(array(kind, *dims)), attributes=f"dimensions={numbers(order)}")
    return Case(m.text())


TRANSPOSED = [((512, 768), (1, 0)), ((64, 32, 128), (0, 2, 1)), ((64, 32, 128), (1, 0, 2)), ((64, 32, 128), (2, 1, 0))]
TRANSPOSED += [((64, 32, 128), (2, 0, 1)), ((8, 56, 56, 16), (0, 3, 1, 2)), ((8, 16, 56, 56), (0, 2, 3, 1))]
TRANSPOSED += [((100000, 3), (1, 0)), ((3, 100000), (1, 0)), ((16, 16, 8, 8, 16), (0, 2, 1, 3, 4))]
TRANSPOSED += [((4, 64, 8, 64), (0, 2, 1, 3)), ((4, 64, 8, 64), (0, 2, 3, 1)), ((2,) * 17, tuple(range(16, -1, -1)))]

MOVES = {
    "slice": ("slice", (512, 768), (256, 384), "slice={[100:356], [7:391]}"),
    "slice_strided": ("slice", (1024, 1024), (512, 512), "slice={[0:1024:2], [1:1024:2]}"),
    "slice_every_third": ("slice", (300000,), (100000,), "slice={[0:300000:3]}"),
    "reverse_minor": ("reverse", (512, 768), (512, 768), "dimensions={1}"),
    "reverse_major": ("reverse", (512, 768), (512, 768), "dimensions={0}"),
    "reverse_both": ("reverse", (512, 768), (512, 768), "dimensions={0,1}"),
    "reshape": ("reshape", (512, 768), (768, 512), ""),
    "broadcast_new_minor": ("broadcast", (2048,), (2048, 200), "dimensions={0}"),
    "broadcast_new_major": ("broadcast", (2048,), (200, 2048), "dimensions={1}"),
    "broadcast_middle": ("broadcast", (64, 96), (64, 64, 96), "dimensions={0,2}"),
    "broadcast_small": ("broadcast", (100000,), (100000, 3), "dimensions={0}"),
}
PADS = {
    "edge": ((500, 500), (520, 510), "10_10x3_7"),
    "negative": ((500, 500), (490, 510), "-5_-5x3_7"),
    "interior": ((300, 300), (599, 599), "0_0_1x0_0_1"),
    "interior_minor": ((300, 300), (300, 898), "0_0x0_0_2"),
    "one_side": ((100000,), (100100,), "100_0"),
}


def move(kind, form):
    opcode, source, target, attributes = MOVES[form]
    m = Module()
    m.op(array(kind, *target), opcode, m.parameter(array(kind, *source)), attributes=attributes)
    return Case(m.text())


def pad(kind, form):
    source, target, padding = PADS[form]
    m = Module()
    zero = m.parameter(array(kind))
    m.op(array(kind, *target), "pad", m.parameter(array(kind, *source)), zero, attributes=f"padding={padding}")
    return Case(m.text())


def concatenate(kind, count, over):
    m = Module()
    parts = [m.parameter(array(kind, 128, 96)) for _ in range(count)]
    dims = (128 * count, 96) if over == 0 else (128, 96 * count)
    m.op(array(kind, *dims), "concatenate", *parts, attributes=f"dimensions={{{over}}}")
    return Case(m.text())


LOOP = """HloModule m

{extra}
body {{
  s = (s32[], {state}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = {state} get-tuple-element(s), index=1
  one = s32[] constant(1)
  zero = s32[] constant(0)
  j = s32[] add(i, one)
{body}
  ROOT t = (s32[], {state}) tuple(j, y)
}}

condition {{
  s = (s32[], {state}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({trips})
  ROOT p = pred[] compare(i, n), direction=LT
}}

ENTRY e {{
  zero = s32[] constant(0)
  x = {state} parameter(0)
  t = (s32[], {state}) tuple(zero, x)
  w = (s32[], {state}) while(t), condition=condition, body=body
  ROOT r = {state} get-tuple-element(w), index=1
}}
"""
BRANCHES = """{name} {{
  a = ({state}, s32[]) parameter(0)
  x = {state} get-tuple-element(a), index=0
  i = s32[] get-tuple-element(a), index=1
{body}
}}
"""
UPDATE_ONE = """  v = {kind}[1] dynamic-slice(x, i), dynamic_slice_sizes={{1}}
  c = {kind}[] constant({value})
  w = {kind}[1] reshape(c)
  z = {kind}[1] {opcode}(v, w)
  {root}y = {kind}[{n}] dynamic-update-slice(x, z, i)"""
# Of a loop's body, from x to y, for a state {kind}[n].
BODIES = {
    "scalar": ("{k}[]", 20000, "  c = {k}[] constant({one})\n  a = {k}[] multiply(x, x)\n  y = {k}[] subtract(a, c)"),
    "scalar_chain": ("{k}[]", 5000, "  a = {k}[] sine(x)\n  b = {k}[] exponential(a)\n  y = {k}[] subtract(b, a)"),
    "small_vector": ("{k}[8]", 10000, "  a = {k}[8] multiply(x, x)\n  y = {k}[8] subtract(a, x)"),
    "vector": ("{k}[2048]", 500, "  a = {k}[2048] multiply(x, x)\n  y = {k}[2048] subtract(a, x)"),
    "shift": (
        "{k}[64]",
        3000,
        "  a = {k}[63] slice(x), slice={{[1:64]}}\n  b = {k}[1] slice(x), slice={{[0:1]}}\n"
        "  y = {k}[64] concatenate(a, b), dimensions={{0}}",
    ),
    "stencil": (
        "{k}[1024]",
        300,
        "  z = {k}[] constant({zero})\n  l = {k}[1026] pad(x, z), padding=1_1\n"
        "  a = {k}[1024] slice(l), slice={{[0:1024]}}\n"
        "  b = {k}[1024] slice(l), slice={{[2:1026]}}\n  c = {k}[1024] add(a, b)\n  y = {k}[1024] subtract(c, x)",
    ),
    "update": ("{k}[4096]", 4000, UPDATE_ONE),
    "matrix_vector": (
        "{k}[32,32]",
        500,
        "  d = {k}[32,32] dot(x, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        "  y = {k}[32,32] tanh(d)",
    ),
    "transposed": (
        "{k}[64,64]",
        300,
        "  d = {k}[64,64] transpose(x), dimensions={{1,0}}\n  y = {k}[64,64] subtract(d, x)",
    ),
    "sum": (
        "{k}[256]",
        2000,
        "  z = {k}[] constant({zero})\n  d = {k}[] reduce(x, z), dimensions={{0}}, to_apply=plus\n"
        "  b = {k}[256] broadcast(d), dimensions={{}}\n  y = {k}[256] subtract(b, x)",
    ),
    "cumulative": (
        "{k}[256]",
        300,
        "  z = {k}[] constant({zero})\n  d = {k}[256] reduce-window(x, z), window={{size=256 pad=255_0}}, to_apply=plus\n"
        "  y = {k}[256] subtract(d, x)",
    ),
    "sorted": (
        "{k}[256]",
        100,
        "  d = {k}[256] sort(x), dimensions={{0}}, to_apply=less\n  y = {k}[256] subtract(d, x)",
    ),
}


def loop(kind, form):
    state, trips, body = BODIES[form]
    one, zero, two = (literal(kind, v) for v in (1, 0, 2))
    text = body.format(k=kind, kind=kind, n=4096, value=two, one=one, zero=zero, opcode="add", root="")
    extra = f"plus {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT r = {kind}[] add(a, b)\n}}\n\n"
    less = f"less {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n"
    less += "  ROOT r = pred[] compare(a, b), direction=LT\n}\n"
    extra += less if form == "sorted" else ""
    return Case(LOOP.format(extra=extra, state=state.format(k=kind), body=text, trips=trips), low=-0.5, high=0.5)


# Functions of which each waits for the one before, as in the steps of an adaptive solver.
CHAINS = "cbrt cosine erf exponential exponential-minus-one log log-plus-one logistic sine tan tanh"
CHAINS_OF_TWO = "atan2 divide power remainder"


def chain(opcode, kind):
    second = ", c" if opcode in CHAINS_OF_TWO.split() else ""
    body = f"  c = {kind}[] constant(0.3)\n  two = {kind}[] constant(2)\n  f = {kind}[] {opcode}(x{second})\n"
    body += f"  a = {kind}[] abs(f)\n  b = {kind}[] add(a, c)\n  y = {kind}[] minimum(b, two)"
    return Case(LOOP.format(extra="", state=f"{kind}[]", body=body, trips=5000), low=0.5, high=2)


# What the two branches of a conditional in a loop do: UPDATE_ONE, leave x as it is, or compute all of it anew.
CHOICES = {"both": "uu", "one": "un", "whole": "uw", "neither": "nn", "whole_or_not": "wn"}


def loop_with_conditional(kind, choice, size):
    state = f"{kind}[{size}]"
    branches = []
    for number, what in enumerate(CHOICES[choice]):
        if what == "u":
            opcode = ("add", "multiply")[number]
            body = UPDATE_ONE.format(kind=kind, n=size, value=literal(kind, number + 2), opcode=opcode, root="ROOT ")
        elif what == "w":
            body = f"  ROOT y = {state} add(x, x)"
        else:
            body = f"  ROOT y = {state} copy(x)"
        branches.append(BRANCHES.format(name=f"branch{number}", state=state, body=body))
    call = f"""  three = s32[] constant(3)
  m = s32[] remainder(i, three)
  q = pred[] compare(m, zero), direction=EQ
  a = ({state}, s32[]) tuple(x, i)
  y = {state} conditional(q, a, a), true_computation=branch0, false_computation=branch1"""
    return Case(LOOP.format(extra="\n".join(branches), state=state, body=call, trips=min(size, 2000)))


def fft(kind, type_, dims, length):
    m = Module()
    out, real = list(dims), {"c64": "f32", "c128": "f64"}[kind]
    source = real if type_ == "RFFT" else kind
    if type_ == "RFFT":
        out[-1] = length[-1] // 2 + 1
    if type_ == "IRFFT":
        out[-1] = length[-1]
    x = m.parameter(array(source, *dims))
    attributes = f"fft_type={type_}, fft_length={numbers(length)}"
    m.op(array(real if type_ == "IRFFT" else kind, *out), "fft", x, attributes=attributes)
    return Case(m.text())


FFTS = [
    ((128, 256), (256,)),
    ((64, 1000), (1000,)),
    ((32, 1009), (1009,)),
    ((65536,), (65536,)),
    ((128, 128), (128, 128)),
]
FFTS += [
    ((16, 32, 32, 32), (32, 32, 32)),
    ((2000, 16), (16,)),
    ((1, 100000), (100000,)),
    ((512, 96), (96,)),
    ((4, 96, 120), (96, 120)),
]
FFTS += [((9, 6561), (6561,)), ((8, 4099), (4099,)), ((300, 300), (300, 300)), ((4000, 7), (7,))]


def linear_algebra(kind, form, batch, n):
    m = Module()
    a = m.parameter(array(kind, batch, n, n))
    # A matrix that is symmetric and far from singular.
    t = m.op(array(kind, batch, n, n), "transpose", a, attributes="dimensions={0,2,1}")
    s = m.op(array(kind, batch, n, n), "add", a, t)
    i, j = (m.op(array("s32", batch, n, n), "iota", attributes=f"iota_dimension={d}") for d in (1, 2))
    d = m.op(array("pred", batch, n, n), "compare", i, j, attributes="direction=EQ")
    c = m.op(array(kind, batch, n, n), "broadcast", m.constant(kind, 4 * n), attributes="dimensions={}")
    full = m.op(array(kind, batch, n, n), "select", d, c, s)
    if form == "cholesky":
        m.op(array(kind, batch, n, n), "cholesky", full, attributes="lower=true")
    else:
        side, lower, transposed, columns = form.split("-")
        dims = (n, int(columns)) if side == "left" else (int(columns), n)
        b = m.parameter(array(kind, batch, *dims))
        attributes = (
            f"left_side={'true' if side == 'left' else 'false'}, lower={'true' if lower == 'lower' else 'false'}, "
            f"unit_diagonal=false, transpose_a={transposed.upper()}"
        )
        m.op(array(kind, batch, *dims), "triangular-solve", full, b, attributes=attributes)
    return Case(m.text(), low=-1, high=1)


SOLVES = ["left-lower-no_transpose-1", "left-lower-no_transpose-64", "left-upper-no_transpose-8"]
SOLVES += ["left-lower-transpose-8", "right-lower-no_transpose-16", "right-upper-transpose-16"]


def random_bits(algorithm, kind, count):
    m = Module()
    state = m.parameter("u64[2]" if algorithm == "rng_three_fry" else "u64[3]")
    both = f"({'u64[2]' if algorithm == 'rng_three_fry' else 'u64[3]'}, {kind}[{count}])"
    m.op(both, "rng-bit-generator", state, attributes=f"algorithm={algorithm}")
    return Case(m.text())


def systematic():
    found = {}

    def add(name, *maker):
        found[name] = functools.partial(*maker)

    for kind in ("f32", "f64", "bf16", "s32", "s8", "c64", "pred", "f16"):
        for form in GATHERS:
            add(f"gather/{kind}/{form}", gather, kind, form)
        add(f"gather/{kind}/elements/s64", gather, kind, "elements", "s64")
        add(f"gather/{kind}/rows/u8", gather, kind, "rows", "u8")
        for form in SCATTERS if kind != "pred" else ():
            for update in UPDATES if kind != "c64" else ("set", "add"):
                add(f"scatter/{kind}/{form}/{update}", scatter, kind, form, update)
        add(f"scatter/{kind}/rows/sorted", scatter, kind, "rows", "set", ", indices_are_sorted=true")
        for dims, order in TRANSPOSED:
            name = f"transpose/{kind}/{'x'.join(map(str, dims))[:20]}_{''.join(map(str, order))}"
            add(name, transpose, kind, dims, order)
        for form in MOVES:
            add(f"move/{kind}/{form}", move, kind, form)
        for form in PADS:
            add(f"pad/{kind}/{form}", pad, kind, form)
        for count, over in ((2, 0), (2, 1), (16, 0), (16, 1)):
            add(f"concatenate/{kind}/{count}_{over}", concatenate, kind, count, over)
    for kind in ("f32", "f64", "bf16", "s32", "s64", "u8", "f16", "s8"):
        for dims, over in SORTED:
            for direction in ("LT", "GT", "LTTOTAL") if kind in FLOATS else ("LT", "GT"):
                for others in ((), ("s32",), ("f32", "s32")) if direction != "GT" else ((),):
                    for stable in (False, True) if direction == "LT" else (False,):
                        name = f"sort/{'+'.join((kind, *others))}/{'x'.join(map(str, dims))}_{over}/{direction}"
                        add(name + ("/stable" if stable else ""), sort, (kind, *others), dims, over, direction, stable)
        for dims, k in (((64, 1000), 5), ((64, 1000), 100), ((100000,), 10), ((4096, 32), 1), ((8, 32000), 50)):
            add(f"topk/{kind}/{'x'.join(map(str, dims))}_{k}", top_k, kind, dims, k)
    for kind in FLOATS + COMPLEX + INTEGERS:
        for opcode in f"{CHAINS} {CHAINS_OF_TWO}".split() if kind in ("f32", "f64") else ():
            add(f"chain/{opcode}/{kind}", chain, opcode, kind)
        for form in BODIES:
            if not (form == "scalar_chain" and kind in INTEGERS) and not (kind in COMPLEX and form == "sorted"):
                if not (form == "matrix_vector" and kind in INTEGERS):
                    add(f"loop/{kind}/{form}", loop, kind, form)
        for choice in CHOICES:
            for size in (8, 4096):
                add(f"loop_if/{kind}/{choice}/{size}", loop_with_conditional, kind, choice, size)
    for kind in COMPLEX:
        for dims, length in FFTS:
            for type_ in ("FFT", "IFFT", "RFFT"):
                add(f"fft/{kind}/{type_}/{'x'.join(map(str, dims))}_{len(length)}", fft, kind, type_, dims, length)
            half = (*dims[:-1], dims[-1] // 2 + 1)
            add(f"fft/{kind}/IRFFT/{'x'.join(map(str, dims))}_{len(length)}", fft, kind, "IRFFT", half, length)
    for kind in ("f32", "f64", "c64", "c128"):
        for batch, n in ((1, 200), (64, 16), (1000, 4)):
            add(f"linear_algebra/cholesky/{kind}/{batch}x{n}", linear_algebra, kind, "cholesky", batch, n)
            for form in SOLVES:
                add(f"linear_algebra/{form}/{kind}/{batch}x{n}", linear_algebra, kind, form, batch, n)
    for algorithm in ("rng_three_fry", "rng_philox", "rng_default"):
        for kind in ("u32", "u64", "u16", "u8"):
            add(f"random_bits/{algorithm}/{kind}", random_bits, algorithm, kind, 200000)
    return found
