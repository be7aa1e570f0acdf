"""Ufuncs on traced arrays: types by NumPy's own rules (`ufunc.resolve_dtypes`), broadcasting, out=, where=, and the ufunc
methods. What each ufunc computes is in _elementwise.py and _products.py."""

import functools
import sys
import types

import numpy as np

from . import _errors, _ops
from ._elementwise import EMITTERS
from ._products import GUFUNCS
from ._tracer import HANDLERS, Tracer, as_array, check_dtype, dtype_of, finish, is_array_like, shape_of, value_of

_COMPARISONS = {
    "equal": False,
    "not_equal": True,
    "less": None,
    "less_equal": None,
    "greater": None,
    "greater_equal": None,
}


@functools.lru_cache(maxsize=10000)
def _resolve(ufunc, kinds, dtype, casting):
    """(types of the inputs as computed, types of the results)."""
    more = {} if dtype is None else {"signature": (None,) * ufunc.nin + (dtype,) * ufunc.nout}
    if all(isinstance(k, type) for k in kinds):  # numbers alone
        kinds = tuple(np.dtype(k) for k in kinds)
    found = ufunc.resolve_dtypes(kinds + (None,) * ufunc.nout, casting=casting, **more)
    return found[: ufunc.nin], found[ufunc.nin :]


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """What NumPy calls for a ufunc with a tracer among its inputs or outputs."""
    if method == "__call__":
        return apply(ufunc, *inputs, **kwargs)
    handler = HANDLERS.get((method, ufunc)) or HANDLERS.get(method)
    if handler is None:
        _errors.fail(_errors.UnsupportedError, f"np.{ufunc.__name__}.{method} is not compiled by xla.compile")
    return handler(ufunc, *inputs, **kwargs)


def _module_of(ufunc):
    """Where users find a ufunc: "np", "scipy.special" or another module that has it, such as one of their own."""
    if getattr(np, ufunc.__name__, None) is ufunc:
        return "np"
    for name in ("scipy.special", *list(sys.modules)):
        module = sys.modules.get(name)
        public = isinstance(module, types.ModuleType) and "._" not in name and not name.startswith("_")
        if public and vars(module).get(ufunc.__name__) is ufunc:
            return name
    return "ufunc"


def apply(
    ufunc,
    *inputs,
    out=None,
    where=True,
    casting="same_kind",
    dtype=None,
    order="K",
    subok=True,
    signature=None,
    axis=-1,
):
    """ufunc(*inputs): a tracer, or a tuple of them."""
    name = ufunc.__name__
    emitter = EMITTERS.get(name) or GUFUNCS.get(name)
    if emitter is None:
        where_from = _module_of(ufunc)
        _errors.fail(
            _errors.UnsupportedError,
            f"{where_from}.{name} is not compiled by xla.compile; call it outside of the compiled function, or write it with "
            "NumPy's functions, xla.lax and xla.nn",
        )
    if len(inputs) > ufunc.nin:
        inputs, out = inputs[: ufunc.nin], out or tuple(inputs[ufunc.nin :])
    inputs = [x if is_array_like(x) else as_array(x) for x in inputs]
    kinds = tuple(_kind(x) for x in inputs)
    if isinstance(signature, (tuple, list)):
        dtype = signature[-1]
    elif signature is not None:
        dtype = np.dtype(signature)
    limit = _outside_number(name, inputs, kinds)
    if limit is not None:
        return limit
    types, results = _resolve(ufunc, kinds, None if dtype is None else check_dtype(dtype), casting)
    for found in (*types, *results):
        check_dtype(found)
    if name == "power" and types[0].kind == "i" and not isinstance(inputs[1], Tracer) and np.any(np.less(inputs[1], 0)):
        raise ValueError("Integers to negative integer powers are not allowed.")
    values = [value_of(x, t) for x, t in zip(inputs, types)]
    if name in GUFUNCS:
        made = emitter(values, axis) if name == "vecdot" else emitter(values)
    else:
        shape = np.broadcast_shapes(*(v.shape for v in values))
        made = emitter(*(_ops.broadcast(v, shape) for v in values))
    made = made if isinstance(made, tuple) else (made,)
    made = tuple(_ops.convert(m, t) for m, t in zip(made, results))
    outs = out if isinstance(out, tuple) else (out,) * len(made)
    finished = tuple(_finish(m, o, where, casting) for m, o in zip(made, outs))
    return finished if len(finished) > 1 else finished[0]


def _kind(x):
    kind = dtype_of(x)
    return kind if isinstance(kind, type) else check_dtype(kind)


def _finish(value, out, where, casting):
    if where is True:
        return finish(value, out, casting)
    mask = value_of(where, np.bool_)
    shape = np.broadcast_shapes(value.shape, mask.shape) if out is None else out.shape
    # Without out=, NumPy leaves the other elements as memory happens to be; here they are 0.
    other = _ops.full(0, value.dtype, shape) if out is None else _ops.convert(out.value, value.dtype)
    return finish(_ops.select(_ops.broadcast(mask, shape), _ops.broadcast(value, shape), other), out, casting)


def _outside_number(name, inputs, kinds):
    """Comparisons of an integer array with a Python integer that its type cannot hold have one known answer."""
    if name not in _COMPARISONS or len(inputs) != 2:
        return None
    for number, array, swapped in ((inputs[1], kinds[0], False), (inputs[0], kinds[1], True)):
        if type(number) is int and isinstance(array, np.dtype) and array.kind in "iu":
            info = np.iinfo(array)
            if info.min <= number <= info.max:
                continue
            answer = _COMPARISONS[name]
            if answer is None:
                less = name.startswith("less") != swapped
                answer = less == (number > info.max)
            return Tracer(_ops.full(answer, np.bool_, shape_of(inputs[1 if swapped else 0])))
    return None


# Operators of Tracer: those of Python, so that two Python numbers give a Python number's type.


_WEAK_OF_KIND = {"b": bool, "i": int, "f": float, "c": complex}
_OF_BITS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)


def _is_weak(x):
    return x._weak is not None if isinstance(x, Tracer) else type(x) in (bool, int, float, complex)


def _operate(ufunc, x, y):
    """x operator y, as Python does it if both are Python's numbers."""
    if not (_is_weak(x) and _is_weak(y)):
        return apply(ufunc, x, y)
    if ufunc not in _OF_BITS and dtype_of(x) == dtype_of(y) == np.bool_:
        x = Tracer(value_of(x, np.int64), int)
    result = apply(ufunc, x, y)
    result._weak = _WEAK_OF_KIND.get(result.dtype.kind)
    return result


def _operator(ufunc):
    def forward(self, other):
        if not is_array_like(other) and not isinstance(other, (list, tuple)):
            return NotImplemented
        return _operate(ufunc, self, other)

    def backward(self, other):
        if not is_array_like(other) and not isinstance(other, (list, tuple)):
            return NotImplemented
        return _operate(ufunc, other, self)

    def in_place(self, other):
        # What has no dimensions is a number, as NumPy's reductions and x[i] give: others that have it keep it as it was.
        number = self._weak or (not self.shape and self._parent is None)
        if number or not is_array_like(other):
            return forward(self, other)
        return apply(ufunc, self, other, out=self)

    return forward, backward, in_place


# Names of Python's operators, without underscores.
OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _ufunc in OPERATORS.items():
    _forward, _backward, _in_place = _operator(_ufunc)
    setattr(Tracer, f"__{_name}__", _forward)
    setattr(Tracer, f"__r{_name}__", _backward)
    setattr(Tracer, f"__i{_name}__", _in_place)

COMPARE_OPERATORS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
for _name, _ufunc in COMPARE_OPERATORS.items():
    setattr(Tracer, f"__{_name}__", _operator(_ufunc)[0])

Tracer.__array_ufunc__ = _array_ufunc
Tracer.__divmod__, Tracer.__rdivmod__ = lambda x, y: apply(np.divmod, x, y), lambda x, y: apply(np.divmod, y, x)
Tracer.__neg__ = lambda x: _weak_unary(np.negative, x)
Tracer.__pos__ = lambda x: _weak_unary(np.positive, x)
Tracer.__abs__ = lambda x: _weak_unary(np.absolute, x)
Tracer.__invert__ = lambda x: _weak_unary(np.invert, x)


def _weak_unary(ufunc, x):
    result = apply(ufunc, x)
    if x._weak:
        result._weak = _WEAK_OF_KIND.get(result.dtype.kind)
    return result
