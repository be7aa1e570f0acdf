"""Builds HLO text: computations of typed values, with values of outer computations captured where inner ones use them."""

import contextlib
import threading

import ml_dtypes
import numpy as np

from . import _errors

# NumPy type -> HLO element type.
TYPE_NAMES = {
    np.dtype(np.bool_): "pred",
    np.dtype(np.int8): "s8",
    np.dtype(np.int16): "s16",
    np.dtype(np.int32): "s32",
    np.dtype(np.int64): "s64",
    np.dtype(np.uint8): "u8",
    np.dtype(np.uint16): "u16",
    np.dtype(np.uint32): "u32",
    np.dtype(np.uint64): "u64",
    np.dtype(np.float16): "f16",
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(np.complex64): "c64",
    np.dtype(np.complex128): "c128",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(ml_dtypes.float8_e4m3fn): "f8e4m3fn",
    np.dtype(ml_dtypes.float8_e5m2): "f8e5m2",
}


# A constant array of more elements than this becomes an input of the program that the caller never sees.
LARGEST_LITERAL = 64


def type_text(dtype, shape):
    return f"{TYPE_NAMES[np.dtype(dtype)]}[{','.join(map(str, shape))}]"


# Instructions that stay apart from their equals.
_APART = frozenset(["custom-call", "opt-barrier", "rng", "rng-bit-generator", "rng-get-and-update-state"])

_state = threading.local()


def is_tracing():
    return bool(getattr(_state, "stack", None))


def current():
    """The innermost computation that is being traced by this thread."""
    stack = getattr(_state, "stack", None)
    if not stack:
        _errors.fail(
            _errors.LeakedTracerError,
            "a traced value is used outside of the compiled function that made it; return it from that function "
            "instead of keeping it in a global, an attribute or a closure",
        )
    return stack[-1]


@contextlib.contextmanager
def tracing(computation):
    """Makes `computation` the one that operations are added to."""
    stack = getattr(_state, "stack", None)
    if stack is None:
        stack = _state.stack = []
    stack.append(computation)
    try:
        yield computation
    finally:
        stack.pop()


class Value:
    """One array value of a computation: name, NumPy type, shape."""

    __slots__ = ("computation", "name", "dtype", "shape")

    def __init__(self, computation, name, dtype, shape):
        self.computation = computation
        self.name = name
        self.dtype = np.dtype(dtype)
        self.shape = tuple(int(d) for d in shape)

    @property
    def text(self):
        return type_text(self.dtype, self.shape)


class Module:
    """The computations of one traced function; hands out names."""

    def __init__(self, name):
        self.name = name
        self.count = 0
        self.finished = []  # texts, callees first
        self.scalar_computations = {}
        self.entry = None
        self.literals = {}  # name of a constant number -> the number: made again in each computation that uses it
        self.checks = {}  # its type and text -> (exception, a traced bool: what must hold when the program ends)
        self.hoisted = []  # (array, value): constants that became inputs, after the arguments

    def fresh(self, stem):
        self.count += 1
        return f"{stem}.{self.count}"

    def hoist(self, array):
        """The value of an input of the program that is always `array` as it is now."""
        for known, value in self.hoisted:
            if known.shape == array.shape and known.dtype == array.dtype and known.tobytes() == array.tobytes():
                return value
        kept = np.array(array, order="C")
        kept.flags.writeable = False
        value = self.entry.parameter(array.dtype, array.shape)
        self.hoisted.append((kept, value))
        return value

    def text(self, aliases=()):
        """The module; `aliases` are pairs of an output and the parameter whose memory it takes."""
        head = f"HloModule {self.name}"
        if aliases:
            pairs = ", ".join(f"{{{output}}}: ({parameter}, {{}}, may-alias)" for output, parameter in aliases)
            head += f", input_output_alias={{ {pairs} }}"
        return head + "\n\n" + "\n".join(self.finished)


class Computation:
    """A computation being traced. `parent`: the one whose values it may capture, or None.

    Without a tuple parameter (`Computation(..., tuple_parameter=False)`) its parameters are `parameter()`s. With one
    (loops, branches) they are elements of one tuple: first those made by `parameter()`, then the captured values.
    """

    def __init__(self, module, stem, parent=None, tuple_parameter=False):
        self.module = module
        self.name = module.fresh(stem)
        self.parent = parent
        self.tuple_parameter = tuple_parameter
        self.lines = []
        self.parameters = []
        self.captured = {}  # name of the outer value -> (outer value, inner value)
        self.constants = {}  # what is made once: constants by type and bytes, instructions by their text
        self.writes = {}  # id of a traced array -> (array, value before): writes here to arrays made outside

    def no_regions(self):
        """Is called before a loop or a branch is traced in this computation; raises where it has no form for them."""

    def parameter(self, dtype, shape):
        value = Value(self, self.module.fresh("p"), dtype, shape)
        self.parameters.append(value)
        return value

    def local(self, value):
        """`value` itself, or what stands for it in this computation if it belongs to one outside."""
        if value.computation is self:
            return value
        if value.name in self.captured:
            return self.captured[value.name][1]
        if value.name in self.module.literals:
            return self.constant(self.module.literals[value.name])
        if self.parent is None:
            _errors.fail(
                _errors.LeakedTracerError,
                "a traced value is used outside of the trace, loop or branch that made it; return it from there instead "
                "of keeping it in a global, an attribute or a closure",
            )
        outer = self.parent.local(value)
        if not self.tuple_parameter:
            _errors.fail(_errors.UnsupportedError, "this function may use only its own arguments, nothing from outside")
        inner = Value(self, self.module.fresh("c"), value.dtype, value.shape)
        self.captured[value.name] = (outer, inner)
        return inner

    def emit(self, opcode, dtype, shape, operands=(), attributes="", raw=None):
        """Adds an instruction and gives its value. `raw`: text between the parentheses instead of operands."""
        inside = raw if raw is not None else ", ".join(self.local(o).name for o in operands)
        # Equal instructions are made once, so that x > 0 written twice is one mask.
        key = (
            None if opcode in _APART or raw is not None else (opcode, np.dtype(dtype), tuple(shape), inside, attributes)
        )
        if key in self.constants:
            return self.constants[key]
        value = Value(self, self.module.fresh(opcode), dtype, shape)
        if key is not None:
            self.constants[key] = value
        file, line = _errors.user_location()
        metadata = f', metadata={{source_file="{file}" source_line={line}}}' if line else ""
        comma = ", " if attributes else ""
        self.lines.append(f"  {value.name} = {value.text} {opcode}({inside}){comma}{attributes}{metadata}")
        return value

    def emit_tuple(self, opcode, parts, operands, attributes="", raw=None):
        """An instruction with a tuple result: gives the values of its elements. `parts`: (dtype, shape) of each."""
        inside = raw if raw is not None else ", ".join(self.local(o).name for o in operands)
        name = self.module.fresh(opcode)
        text = ", ".join(type_text(d, s) for d, s in parts)
        comma = ", " if attributes else ""
        self.lines.append(f"  {name} = ({text}) {opcode}({inside}){comma}{attributes}")
        values = []
        for i, (dtype, shape) in enumerate(parts):
            value = Value(self, self.module.fresh("get-tuple-element"), dtype, shape)
            self.lines.append(f"  {value.name} = {value.text} get-tuple-element({name}), index={i}")
            values.append(value)
        return values

    def emit_tuple_value(self, values):
        """The name of a tuple of values, for `raw` of an instruction that takes one tuple."""
        values = [self.local(v) for v in values]
        name = self.module.fresh("tuple")
        types, names = ", ".join(v.text for v in values), ", ".join(v.name for v in values)
        self.lines.append(f"  {name} = ({types}) tuple({names})")
        return name

    def constant(self, array):
        """A constant array; equal scalars are made once, and large arrays become inputs."""
        array = np.asarray(array)
        if array.ndim == 0:
            key = (array.dtype, array.tobytes())
            if key not in self.constants:
                self.constants[key] = value = self.emit("constant", array.dtype, (), raw=literal_text(array))
                self.module.literals[value.name] = array
            return self.constants[key]
        if array.size > 1:
            first = array.reshape(-1)[:1]
            if array.tobytes() == first.tobytes() * array.size:
                return self.emit("broadcast", array.dtype, array.shape, [self.constant(first[0])], "dimensions={}")
        if array.size > LARGEST_LITERAL:
            return self.local(self.module.hoist(array))
        return self.emit("constant", array.dtype, array.shape, raw=literal_text(array))

    def finish(self, roots, entry=False, single=False):
        """Writes the computation; its result is the tuple of `roots`, or the one root if `single`."""
        roots = [self.local(r) for r in roots]
        lines = []
        if self.tuple_parameter:
            elements = self.parameters + [inner for _, inner in self.captured.values()]
            p = self.module.fresh("arg")
            lines.append(f"  {p} = ({', '.join(v.text for v in elements)}) parameter(0)")
            for i, v in enumerate(elements):
                lines.append(f"  {v.name} = {v.text} get-tuple-element({p}), index={i}")
        else:
            for i, v in enumerate(self.parameters):
                lines.append(f"  {v.name} = {v.text} parameter({i})")
        lines += self.lines
        if single:
            root = self.module.fresh("copy")
            lines.append(f"  ROOT {root} = {roots[0].text} copy({roots[0].name})")
        else:
            root = self.module.fresh("tuple")
            types = ", ".join(r.text for r in roots)
            lines.append(f"  ROOT {root} = ({types}) tuple({', '.join(r.name for r in roots)})")
        head = "ENTRY " if entry else ""
        self.module.finished.append(f"{head}{self.name} {{\n" + "\n".join(lines) + "\n}\n")
        return self.name


def _scalar_text(x):
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if isinstance(x, (complex, np.complexfloating)):
        return f"({_scalar_text(x.real)}, {_scalar_text(x.imag)})"
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    x = float(x)
    if x != x:
        return "nan"
    if x in (float("inf"), float("-inf")):
        return "inf" if x > 0 else "-inf"
    return repr(x)


def literal_text(array):
    """HLO text of a constant's elements."""
    if array.ndim == 0:
        return _scalar_text(array[()])
    if array.size == 0:
        return "{}" if array.ndim == 1 else _nested_empty(array.shape)
    return "{" + ", ".join(literal_text(array[i]) for i in range(array.shape[0])) + "}"


def _nested_empty(shape):
    if not shape or shape[0] == 0:
        return "{}"
    return "{" + ", ".join(_nested_empty(shape[1:]) for _ in range(shape[0])) + "}"


def scalar_computation(module, opcode, dtype):
    """A two-argument scalar computation, such as add of f32 for reductions; made once."""
    key = (opcode, np.dtype(dtype))
    if key not in module.scalar_computations:
        computation = Computation(module, opcode)
        x, y = computation.parameter(dtype, ()), computation.parameter(dtype, ())
        module.scalar_computations[key] = computation.finish([computation.emit(opcode, dtype, (), [x, y])], single=True)
    return module.scalar_computations[key]
