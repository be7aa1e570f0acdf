"""Writes HLO modules as text, for the generators of search.py."""

import dataclasses


@dataclasses.dataclass
class Case:
    """A module as HLO text, or as the StableHLO of a JAX program, and between what its float inputs are."""

    text: str = ""
    stablehlo: str = ""
    low: float = -3.0
    high: float = 3.0


FLOATS = ["f32", "f64", "bf16", "f16"]
INTEGERS = ["s32", "s64", "s8", "u8", "u32", "s16"]
COMPLEX = ["c64", "c128"]
SIZES = dict(pred=1, s8=1, u8=1, s16=2, bf16=2, f16=2, s64=8, f64=8, c64=8, c128=16)


def array(kind, *dims):
    return f"{kind}[{','.join(map(str, dims))}]"


def numbers(values):
    return "{" + ",".join(map(str, values)) + "}"


def literal(kind, value):
    return f"({value}, 0)" if kind in COMPLEX else str(value)


class Module:
    """Writes one entry computation, line by line. A value is its name; `shapes` has the shape of each."""

    def __init__(self):
        self.lines, self.shapes, self.computations, self.parameters = [], {}, [], 0

    def op(self, shape, opcode, *operands, attributes=""):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {shape} {opcode}({', '.join(operands)}){', ' if attributes else ''}{attributes}")
        self.shapes[name] = shape
        return name

    def parameter(self, shape):
        self.parameters += 1
        return self.op(shape, f"parameter({self.parameters - 1}" + ")#")

    def constant(self, kind, value):
        return self.op(f"{kind}[]", f"constant({literal(kind, value)}" + ")#")

    def computation(self, text):
        """Adds a computation `{name} (…) -> … {{ … }}` with {name} in the place of its name; gives that."""
        name = f"c{len(self.computations)}"
        self.computations.append(text.replace("{name}", name))
        return name

    def combiner(self, kind, opcode):
        return self.computation(
            f"{{name}} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n"
            f"  ROOT r = {kind}[] {opcode}(a, b)\n}}"
        )

    def text(self):
        lines = ["  " + line.replace(")#()", ")") for line in self.lines]
        lines[-1] = "  ROOT " + lines[-1].lstrip()
        return "HloModule m\n\n" + "\n\n".join([*self.computations, "ENTRY e {\n" + "\n".join(lines) + "\n}"]) + "\n"
