"""Tracer: the array that stands for a NumPy array while a function is traced. It behaves as numpy.ndarray does: operators,
methods, indexing, views, in-place writes to what the function made itself."""

import threading

import numpy as np

from . import _errors, _hlo, _ops

# NumPy function or ufunc -> what traces it. Filled by `implements` in _functions/.
HANDLERS = {}
# Python numbers are weak: they take the type of the array that they meet.
WEAK_TYPES = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


# `error`: the last ConcretizationError of this thread, for callers that put an error of their own in its place.
asked_for_size = threading.local()


def implements(*functions):
    """Decorator: the function below traces these NumPy functions; it takes their arguments."""

    def register(handler):
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


class Tracer:
    """An array of known type and shape whose elements are known when the compiled function runs.

    A tracer either owns its value or is a view of another one: then `_read` gives its value from the parent's and
    `_write` gives the parent's value after a write to it, so that views see each other's writes as NumPy's do.

    The modules above this one give it what they implement: _ufuncs the operators and __array_ufunc__, _indexing x[…] and
    x[…] = …, _functions/methods the methods of ndarray.
    """

    __slots__ = (
        "_value",
        "_weak",
        "_parent",
        "_read",
        "_write",
        "_version",
        "_seen",
        "_home",
        "_protected",
        "__weakref__",
    )
    __array_priority__ = 1000
    __hash__ = None

    def __init__(self, value, weak=None, protected=None):
        """`weak`: bool, int, float or complex if this stands for a Python number. `protected`: why it may not be written."""
        self._value = value
        self._weak = weak
        self._parent = None
        self._version = 0
        self._home = value.computation
        self._protected = protected

    @classmethod
    def view_of(cls, parent, read, write, protected=None):
        """`read`: parent's value -> this one's; `write`: (parent's value, new value of this) -> parent's new value."""
        self = cls(read(parent.value), None, protected)
        self._parent, self._read, self._write = parent, read, write
        self._seen = parent._root()._version
        return self

    def _root(self):
        tracer = self
        while tracer._parent is not None:
            tracer = tracer._parent
        return tracer

    @property
    def value(self):
        """The HLO value as it is now."""
        if self._parent is not None:
            version = self._root()._version
            if version != self._seen:
                value = self._read(self._parent.value)
                if _hlo.current() is not self._home:
                    return value
                self._value, self._seen = value, version
        return self._value

    def assign(self, value):
        """Writes all elements: what `x[...] = value` does."""
        if self._protected is not None:
            _errors.fail(_errors.InPlaceError, self._protected)
        if self._parent is not None:
            self._parent.assign(self._write(self._parent.value, value))
            if _hlo.current() is self._home:
                self._value, self._seen = value, self._root()._version
            return
        computation = _hlo.current()
        while computation is not None and computation is not self._home:
            computation.writes.setdefault(id(self), (self, self._value))
            computation = computation.parent
        self._value = value
        self._version += 1

    # What NumPy asks for.

    def __array_function__(self, function, types, args, kwargs):
        handler = HANDLERS.get(function)
        if handler is None:
            name = f"{getattr(function, '__module__', 'numpy')}.{function.__name__}"
            _errors.fail(
                _errors.UnsupportedError,
                f"{name} is not compiled by xla.compile; docs/numpy.md lists what is. Compute it outside of the compiled "
                "function, or write it with functions that are compiled",
            )
        return handler(*args, **kwargs)

    def __array__(self, dtype=None, copy=None):
        if function := _errors.scipy_function():
            _errors.fail(
                _errors.UnsupportedError,
                f"{function} is SciPy's own code, which xla.compile does not compile; call it outside of the compiled "
                "function, or write it with NumPy's functions, xla.lax and xla.nn",
            )
        _errors.fail(_errors.NumPyStoreError, f"{self!r} {_errors.STORED}")

    def _concrete(self, what, instead, convertible=False):
        message = f"{what} asks for the number of {self!r}, known only when it runs; {instead}"
        error = asked_for_size.error = _errors.ConcretizationError(_errors.at_user(message))
        error.convertible = convertible
        raise error

    def __bool__(self):
        self._concrete(
            "bool() of a traced array (an `if`, `while`, `and`, `or`, `not` or `assert`)",
            "write np.where(condition, a, b) or xla.lax.cond, or make the argument static (static_argnums)",
            convertible=True,
        )

    def __int__(self):
        self._concrete("int()", "write x.astype(int), or make the argument static (static_argnums)", convertible=True)

    def __index__(self):
        frame = _errors.user_frame()
        text = _errors.running_expression(frame) if frame is not None else ""
        name = _errors.variable_of(frame, self) if frame is not None else ""
        parameters = frame.f_code.co_varnames[: frame.f_code.co_argcount] if frame is not None else ()
        instead = "make the argument static (static_argnums), or index a NumPy array instead of a list"
        if name in parameters:
            instead = (
                f'sizes are fixed when a function is compiled: write @xla.compile(static_argnames="{name}"), which compiles '
                f"once for each {name}; to index a list with it, make the list a NumPy array"
            )
        self._concrete(f"{text}: " * bool(text) + "a size, a range or an index of a list", instead, convertible=True)

    def __float__(self):
        self._concrete(
            "float()",
            "write x.astype(float), np.sqrt(x) instead of math.sqrt(x), or make the argument static (static_argnums)",
            convertible=True,
        )

    def __complex__(self):
        self._concrete(
            "complex()", "write x.astype(complex), or make the argument static (static_argnums)", convertible=True
        )

    def __round__(self, digits=None):
        return np.round(self, digits) if digits is not None else self._whole(np.rint)

    def __floor__(self):
        return self._whole(np.floor)

    def __ceil__(self):
        return self._whole(np.ceil)

    def __trunc__(self):
        return self._whole(np.trunc)

    def _whole(self, function):
        """Python's round, math.floor and the like of a number: an integer of Python."""
        if self.shape:
            raise TypeError("only arrays of no dimensions can be rounded to one of Python's integers")
        return Tracer(value_of(function(self), np.int64), int)

    def item(self, *args):
        self._concrete(".item()", "use the array itself; arrays of no dimensions compute as numbers do")

    def tolist(self):
        self._concrete(".tolist()", "use the array itself, or return it and convert the result")

    def tobytes(self, order="C"):
        self._concrete(".tobytes()", "return the array and convert the result")

    def __format__(self, spec):
        if spec:
            self._concrete("format()", "return the value and print the result")
        return repr(self)

    def __repr__(self):
        return f"Tracer({self.dtype}{list(self.shape)})"

    # Attributes.

    @property
    def dtype(self):
        return self._value.dtype

    @property
    def shape(self):
        return self._value.shape

    @property
    def ndim(self):
        return len(self._value.shape)

    @property
    def size(self):
        return int(np.prod(self._value.shape, dtype=np.int64))

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.size * self.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __copy__(self):
        return Tracer(self.value)

    def __deepcopy__(self, memo):
        return Tracer(self.value)


def is_array_like(x):
    return isinstance(x, (Tracer, np.ndarray, np.generic, bool, int, float, complex))


def check_dtype(dtype):
    """The NumPy type, if programs can hold it."""
    dtype = np.dtype(dtype)
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    if dtype not in _hlo.TYPE_NAMES:
        kind = _errors.ObjectArrayError if dtype.kind in "OSUMmVT" else _errors.UnsupportedError
        _errors.fail(
            kind,
            f"arrays of type {dtype} cannot be compiled: give numbers (bool, integers, floats, complex) or make the "
            "argument static (static_argnums)",
        )
    return dtype


def as_array(x):
    """A tracer, or a NumPy array of anything else; sequences that hold tracers are stacked."""
    if isinstance(x, (Tracer, np.ndarray)):
        return x
    if isinstance(x, (list, tuple)) and holds_tracer(x):
        return HANDLERS[np.stack]([as_array(e) for e in x]) if x else np.asarray(x)
    return np.asarray(x)


def holds_tracer(x):
    if isinstance(x, (list, tuple)):
        return any(holds_tracer(e) for e in x)
    return isinstance(x, Tracer)


def value_of(x, dtype=None):
    """The HLO value of a tracer or of anything that NumPy makes an array of, converted to `dtype` if it is given."""
    number = x if isinstance(x, (bool, int, float, complex)) else None
    x = as_array(x)
    if isinstance(x, Tracer):
        value = x.value
    elif number is not None and dtype is not None:
        return _ops.constant(np.asarray(number, check_dtype(dtype)))
    else:
        # NumPy converts constants, so that a number that does not fit is an error as NumPy's is.
        value = _ops.constant(np.asarray(x, check_dtype(x.dtype if dtype is None else dtype)))
    return value if dtype is None else _ops.convert(value, dtype)


def tracer_of(x):
    """x as a tracer."""
    return x if isinstance(x, Tracer) else Tracer(value_of(x))


def dtype_of(x):
    """What NumPy's promotion takes for x: its type, or int, float or complex for Python's numbers."""
    if isinstance(x, Tracer):
        return x.dtype if x._weak in (None, bool) else x._weak
    if type(x) in (int, float, complex):
        return type(x)
    return as_array(x).dtype


def shape_of(x):
    return as_array(x).shape if not isinstance(x, (int, float, complex)) else ()


def result_type(*xs):
    """NumPy's result_type of tracers, arrays and numbers."""
    parts = [dtype_of(x) for x in xs]
    return np.result_type(*[p(0) if isinstance(p, type) else p for p in parts])


def concrete(x, what):
    """A number, or a nest of tuples of numbers, that must be known while tracing, such as an axis."""
    if isinstance(x, Tracer):
        _errors.fail(
            _errors.ConcretizationError,
            f"{what} must be known when the function is compiled: make the argument static (static_argnums or "
            "static_argnames)",
        )
    return x


def normalize_axis(axis, ndim):
    """One axis as a number from 0."""
    return np.lib.array_utils.normalize_axis_index(concrete(axis, "an axis"), ndim)


def normalize_axes(axis, ndim):
    """None, a number or a tuple -> a sorted tuple of axes."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(sorted(normalize_axis(a, ndim) for a in axes))
    if len(set(found)) < len(found):
        raise ValueError("duplicate value in 'axis'")
    return found


def finish(value, out=None, casting="same_kind"):
    """A handler's result: a tracer of `value`, or `out` (a tracer of the function's own) written with it."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return Tracer(value)
    if np.shape(out) != value.shape:
        raise ValueError(f"output has shape {np.shape(out)}, the result has {value.shape}")
    if not isinstance(out, Tracer):
        _errors.fail(
            _errors.NumPyStoreError,
            "out=, or what += and the like write into, must be an array that the compiled function made from traced ones "
            "(such as np.zeros_like(x)); leave out= away, or write to a copy",
        )
    if not np.can_cast(value.dtype, out.dtype, casting):
        raise TypeError(f"cannot cast the result from {value.dtype} to {out.dtype} with casting rule {casting!r}")
    out.assign(_ops.convert(value, out.dtype))
    return out
