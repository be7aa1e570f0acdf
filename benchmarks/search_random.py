"""Random modules of search.py: graphs of elementwise operations, broadcasts, reductions, slices, transposes and
products over a few shapes, with values read several times, as programs have them."""

import functools

from module_writer import Case, Module, array, numbers

UNARY = "abs exponential tanh logistic sine cosine negate sqrt log rsqrt floor erf sign".split()
BINARY = "add subtract multiply divide maximum minimum add multiply subtract".split()


class Writer:
    """Adds random operations to a module; `pool` has its values with their dimensions."""

    def __init__(self, random):
        self.random, self.m = random, Module()
        self.kind = random.choice(["f32"] * 6 + ["f64", "f64", "bf16", "f16", "s32"])
        self.sizes = random.sample([3, 7, 16, 32, 60, 64, 100, 128, 256, 300], 3)
        self.pool = []

    def value(self, dims):
        """One of these dimensions: at hand, broadcast from fewer, or a new parameter."""
        same = [v for v, d in self.pool if d == dims]
        if same and self.random.random() < 0.8:
            return self.random.choice(same)
        fewer = [(v, d) for v, d in self.pool if len(d) < len(dims) and all(n in dims for n in d)]
        if fewer and self.random.random() < 0.7:
            v, d = self.random.choice(fewer)
            at, begin = [], 0
            for n in d:
                if n not in dims[begin:]:
                    break
                begin = dims.index(n, begin) + 1
                at.append(begin - 1)
            if len(at) == len(d):
                return self.m.op(array(self.kind, *dims), "broadcast", v, attributes=f"dimensions={numbers(at)}")
        return self.add(self.m.parameter(array(self.kind, *dims)), dims)

    def add(self, value, dims):
        self.pool.append((value, tuple(dims)))
        return value

    def step(self):
        random, m, kind = self.random, self.m, self.kind
        value, dims = random.choice(self.pool[-6:])
        shape = array(kind, *dims)
        what = random.choice("unary binary binary binary reduce transpose slice select dot pad concat".split())
        if what == "unary":
            opcode = random.choice(UNARY if kind != "s32" else ["abs", "negate", "sign"])
            self.add(m.op(shape, opcode, value), dims)
        elif what == "binary":
            self.add(m.op(shape, random.choice(BINARY), value, self.value(dims)), dims)
        elif what == "reduce" and dims:
            over = sorted(random.sample(range(len(dims)), random.randint(1, len(dims))))
            left = [d for i, d in enumerate(dims) if i not in over]
            reducer = random.choice(["add", "add", "maximum", "minimum"])
            start = "0" if reducer == "add" else ("-9" if reducer == "maximum" else "9")
            attributes = f"dimensions={numbers(over)}, to_apply={m.combiner(kind, reducer)}"
            self.add(m.op(array(kind, *left), "reduce", value, m.constant(kind, start), attributes=attributes), left)
        elif what == "transpose" and len(dims) > 1:
            order = random.sample(range(len(dims)), len(dims))
            out = [dims[i] for i in order]
            self.add(m.op(array(kind, *out), "transpose", value, attributes=f"dimensions={numbers(order)}"), out)
        elif what == "slice" and dims and max(dims) > 8:
            cuts = [(random.randint(0, d // 4), d - random.randint(0, d // 4)) for d in dims]
            out = [b - a for a, b in cuts]
            text = ", ".join(f"[{a}:{b}]" for a, b in cuts)
            self.add(m.op(array(kind, *out), "slice", value, attributes=f"slice={{{text}}}"), out)
        elif what == "select":
            p = m.op(array("pred", *dims), "compare", value, self.value(dims), attributes="direction=GT")
            self.add(m.op(shape, "select", p, value, self.value(dims)), dims)
        elif what == "dot" and dims and len(dims) < 3:
            out = [*dims[:-1], random.choice(self.sizes)]
            other = self.value((dims[-1], out[-1]))
            attributes = f"lhs_contracting_dims={{{len(dims) - 1}}}, rhs_contracting_dims={{0}}"
            self.add(m.op(array(kind, *out), "dot", value, other, attributes=attributes), out)
        elif what == "pad" and dims:
            out = [d + 2 for d in dims]
            padding = "x".join(["1_1"] * len(dims))
            self.add(m.op(array(kind, *out), "pad", value, m.constant(kind, 1), attributes=f"padding={padding}"), out)
        elif what == "concat" and dims:
            out = [2 * dims[0], *dims[1:]]
            attributes = "dimensions={0}"
            self.add(m.op(array(kind, *out), "concatenate", value, self.value(dims), attributes=attributes), out)


def make(random):
    writer = Writer(random)
    dims = tuple(random.choice(writer.sizes) for _ in range(random.randint(1, 3)))
    writer.value(dims)
    for _ in range(random.randint(3, 25)):
        writer.step()
        while len(writer.pool) > 1 and _large(writer.pool[-1][1]):
            writer.pool.pop()  # its value is dead code
    results = [value for value, _ in writer.pool[-random.randint(1, 3) :]]
    shapes = [writer.m.shapes[value] for value in results]
    writer.m.op("(" + ", ".join(shapes) + ")", "tuple", *results)
    return Case(writer.m.text(), low=0.1, high=2)


def _large(dims):
    count = 1
    for d in dims:
        count *= d
    return count > 4 << 20


def trivial():
    m = Module()
    p = m.parameter("f32[4]")
    m.op("f32[4]", "add", p, p)
    return Case(m.text())


def many_parameters(count, size):
    m = Module()
    total = m.parameter(f"f32[{size}]")
    for _ in range(count - 1):
        total = m.op(f"f32[{size}]", "add", total, m.parameter(f"f32[{size}]"))
    return Case(m.text())


def many_results(count, size):
    m = Module()
    p = m.parameter(f"f32[{size}]")
    values = []
    for i in range(count):
        c = m.op(f"f32[{size}]", "broadcast", m.constant("f32", i), attributes="dimensions={}")
        values.append(m.op(f"f32[{size}]", "add", p, c))
    m.op("(" + ", ".join([f"f32[{size}]"] * count) + ")", "tuple", *values)
    return Case(m.text())


def large_constant(count):
    m = Module()
    values = ", ".join(str((i * 2654435761) % 1000 / 1000) for i in range(count))
    c = m.op(f"f32[{count}]", f"constant({{{values}}})#")
    m.op(f"f32[{count}]", "add", m.parameter(f"f32[{count}]"), c)
    return Case(m.text())


def long_chain(opcode, length, size):
    m = Module()
    x = m.parameter(f"f32[{size}]")
    for _ in range(length):
        x = m.op(f"f32[{size}]", opcode, x)
    return Case(m.text())


FIXED = {"trivial": trivial}
FIXED |= {
    f"many/parameters/{n}x{s}": functools.partial(many_parameters, n, s) for n, s in ((100, 1000), (500, 100), (20, 9))
}
FIXED |= {f"many/results/{n}x{s}": functools.partial(many_results, n, s) for n, s in ((100, 1000), (500, 100))}
FIXED |= {f"many/constant/{n}": functools.partial(large_constant, n) for n in (1000, 30000)}
FIXED |= {
    f"many/chain/{o}/{n}": functools.partial(long_chain, o, n, 4096)
    for o in ("sine", "tanh", "negate")
    for n in (10, 100)
}
