"""What a branch or a loop body can change: local variables, arrays written in place, attributes of objects; and how the
contents of such a place after two ways through the code are brought to one type."""

import numpy as np

from .._errors import fail
from .._tracer import Tracer


class Undefined:
    """The contents of a variable that has none yet."""

    def __repr__(self):
        return "undefined"


UNDEFINED = Undefined()


class NamePlace:
    """A local variable, through the cell that converted code keeps it in."""

    def __init__(self, name, cell):
        self.name, self.cell, self.key = name, cell, ("name", name, id(cell))

    def get(self):
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNDEFINED

    def set(self, value):
        if value is UNDEFINED:
            try:
                del self.cell.cell_contents
            except ValueError:
                pass
        else:
            self.cell.cell_contents = value

    restore = set

    @property
    def internal(self):
        return self.name.startswith("_xla_")

    def describe(self):
        return "what the function returns" if self.internal else f"`{self.name}`"


class ArrayPlace:
    """The contents of a traced array, which code can write to in place."""

    internal = False

    def __init__(self, tracer):
        self.tracer, self.key = tracer, id(tracer)

    def get(self):
        return Tracer(self.tracer._value, self.tracer._weak)

    def restore(self, content):
        """Sets the contents within a trial: nobody outside learns of it."""
        self.tracer._value = content.value
        self.tracer._version += 1

    def set(self, content):
        self.tracer.assign(content.value)

    def describe(self):
        return f"an array of shape {self.tracer.shape} that is written in place"


class AttributePlace:
    """An attribute of an object. `note(place)` is told before it changes."""

    internal = False

    def __init__(self, owner, name, note):
        self.owner, self.name, self.note, self.key = owner, name, note, ("attribute", id(owner), name)

    def get(self):
        return getattr(self.owner, self.name, UNDEFINED)

    def put(self, content):
        if content is not UNDEFINED:
            setattr(self.owner, self.name, content)
        elif hasattr(self.owner, self.name):
            delattr(self.owner, self.name)

    def set(self, content):
        self.note(self)
        self.put(content)

    restore = set

    def describe(self):
        return f"`.{self.name}` of a {type(self.owner).__name__}"


def raiser(name):
    def method(self, *unused, **unused_too):
        self._fail()

    method.__name__ = name
    return method


class Poison:
    """The contents of a variable that has no single value here: any use raises, saying why. `filled`: the value with zeros
    where there is none, for a loop whose flag says whether it is looked at."""

    __slots__ = ("_why", "_kind", "_filled")
    __array_priority__ = 1000
    __hash__ = None

    def __init__(self, why, kind, filled=UNDEFINED):
        object.__setattr__(self, "_why", why)
        object.__setattr__(self, "_filled", filled)
        object.__setattr__(self, "_kind", kind)

    def _fail(self):
        fail(self._kind, self._why)  # at the place of use, the user's line

    def __repr__(self):
        return f"<no value: {self._why}>"

    def __getattr__(self, name):
        if name.startswith("__") and name != "__array_interface__":
            raise AttributeError(name)
        self._fail()


_USES = "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul".split()
for _name in (
    [f"__{p}{u}__" for p in ("", "r", "i") for u in _USES]
    + "__neg__ __pos__ __abs__ __invert__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __bool__ __int__ __float__".split()
    + "__complex__ __index__ __len__ __iter__ __contains__ __getitem__ __setitem__ __delitem__ __call__".split()
    + "__array__ __array_ufunc__ __array_function__ __enter__ __setattr__ __delattr__ __format__ __str__".split()
):
    setattr(Poison, _name, raiser(_name))


# Leaves.

_NUMBERS = (bool, int, float, complex)


class Kind:
    """The type of a leaf that becomes part of the program: element type, shape, and whether it is a Python number, whose
    type gives way to an array's."""

    __slots__ = ("dtype", "shape", "weak")

    def __init__(self, dtype, shape, weak):
        self.dtype, self.shape, self.weak = np.dtype(dtype), tuple(shape), bool(weak)

    def tracer(self, value):
        return Tracer(value, {"i": int, "f": float, "c": complex}[self.dtype.kind] if self.weak else None)

    def zeros(self):
        return np.zeros(self.shape, self.dtype)

    def __eq__(self, other):
        return (self.dtype, self.shape, self.weak) == (other.dtype, other.shape, other.weak)

    def __repr__(self):
        if self.weak:
            return f"a Python {'bool' if self.dtype.kind == 'b' else _weak_name(self.dtype)}"
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def _weak_name(dtype):
    return {"i": "int", "f": "float", "c": "complex"}.get(dtype.kind, str(dtype))


def kind_of(leaf):
    """The `Kind` of a leaf, or None if it can only stay a Python object."""
    if isinstance(leaf, Tracer):
        return Kind(leaf.dtype, leaf.shape, leaf._weak is not None)
    if isinstance(leaf, bool):
        return Kind(np.bool_, (), False)
    if isinstance(leaf, _NUMBERS) and not isinstance(leaf, np.generic):
        if isinstance(leaf, int) and not -(2**63) <= leaf < 2**63:
            return None
        return (
            Kind({int: np.int64, float: np.float64, complex: np.complex128}[type(leaf)], (), True)
            if (type(leaf) in (int, float, complex))
            else None
        )
    if isinstance(leaf, (np.generic, np.ndarray)) and leaf.dtype.kind not in "OSUMm" and leaf.dtype.names is None:
        return Kind(leaf.dtype, leaf.shape, False)
    return None


def same_object(a, b):
    """Whether two leaves are one value that need not become part of the program."""
    if isinstance(a, Tracer) or isinstance(b, Tracer):
        return False
    if a is b:
        return True
    if isinstance(a, (np.ndarray, Poison)) or isinstance(b, (np.ndarray, Poison)) or type(a) is not type(b):
        return False
    try:
        return bool(a == b)
    except Exception:  # pylint: disable=broad-except
        return False


def common(a, b):
    """The kind that holds values of both kinds without changing the type of an array, or None."""
    if a == b:
        return a
    if a.shape != b.shape:
        return None
    if a.dtype == b.dtype:
        return Kind(a.dtype, a.shape, a.weak and b.weak)
    if a.weak and b.weak:
        return Kind(np.result_type(a.dtype, b.dtype), a.shape, True)
    if a.weak or b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        if strong.dtype.kind == "b":
            return None
        number = {"i": int, "f": float, "c": complex}[weak.dtype.kind](0)
        return Kind(_promote(strong.dtype, number), a.shape, False)
    return None


def _promote(dtype, number):
    try:
        return np.result_type(dtype, number)
    except TypeError:
        return dtype  # types of ml_dtypes, which hold a Python number of any kind
