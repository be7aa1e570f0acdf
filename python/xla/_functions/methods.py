"""The methods and attributes of ndarray that are functions of NumPy on the array."""

import numpy as np

from .. import _errors, _ops as o
from .._tracer import HANDLERS, Tracer, check_dtype, value_of

_METHODS = (
    "all any argmax argmin argpartition argsort choose clip compress cumprod cumsum diagonal dot max mean min nonzero prod "
    "ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
).split()


def _method(name):
    function = getattr(np, name)

    def method(self, *args, **kwargs):
        return self.__array_function__(function, (Tracer,), (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = f"As numpy.ndarray.{name}."
    return method


for _name in _METHODS:
    setattr(Tracer, _name, _method(_name))


def _reshape(self, *shape, order="C", copy=None):
    return HANDLERS[np.reshape](self, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(self, *axes):
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = axes[0]
    return HANDLERS[np.transpose](self, axes or None)


def _astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    dtype = check_dtype(dtype)
    if not np.can_cast(self.dtype, dtype, casting):
        raise TypeError(f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}")
    return Tracer(o.convert(self.value, dtype))


def _copy(self, order="C"):
    return Tracer(self.value)


def _conj(self):
    return np.conjugate(self)


def _fill(self, value):
    self[...] = value


def _sort(self, axis=-1, kind=None, order=None, *, stable=None):
    self.assign(HANDLERS[np.sort](self, axis).value)


def _partition(self, kth, axis=-1, kind="introselect", order=None):
    self.assign(HANDLERS[np.partition](self, kth, axis).value)


def _put(self, indices, values, mode="raise"):
    HANDLERS[np.put](self, indices, values, mode)


def _flatten(self, order="C"):
    return Tracer(HANDLERS[np.ravel](self, order).value)


def _view(self, dtype=None, type=None):
    dtype = self.dtype if dtype is None else check_dtype(dtype)
    old = self.dtype
    if dtype.itemsize != old.itemsize or "c" in (dtype.kind, old.kind) or "b" in (dtype.kind, old.kind):
        if dtype == old:
            return Tracer.view_of(self, lambda v: v, lambda whole, new: new, self._protected)
        _errors.fail(_errors.UnsupportedError, f"view of {old} as {dtype}: only types of one size are compiled")
    return Tracer.view_of(
        self, lambda v: o.bitcast_convert(v, dtype), lambda whole, new: o.bitcast_convert(new, old), self._protected
    )


def _real(self):
    if self.dtype.kind != "c":
        return self
    return Tracer.view_of(self, o.real, lambda whole, new: o.complex_(new, o.imag(whole)), self._protected)


def _imag(self):
    if self.dtype.kind != "c":
        return Tracer(o.full(0, self.dtype, self.shape), None, "the imaginary part of real numbers cannot be written")
    return Tracer.view_of(self, o.imag, lambda whole, new: o.complex_(o.real(whole), new), self._protected)


def _set_real(self, new):
    part = _real(self)
    part.assign(o.broadcast(value_of(new, part.dtype), part.shape))


def _set_imag(self, new):
    part = _imag(self)
    part.assign(o.broadcast(value_of(new, part.dtype), part.shape))


def _matrix_transpose(self):
    if self.ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return HANDLERS[np.transpose](self, (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))


Tracer.reshape = _reshape
Tracer.transpose = _transpose
Tracer.astype = _astype
Tracer.copy = _copy
Tracer.conj = Tracer.conjugate = _conj
Tracer.fill = _fill
Tracer.flatten = _flatten
Tracer.partition = _partition
Tracer.put = _put
Tracer.sort = _sort
Tracer.view = _view
Tracer.real = property(_real, _set_real)
Tracer.imag = property(_imag, _set_imag)
Tracer.T = property(lambda self: HANDLERS[np.transpose](self))
Tracer.mT = property(_matrix_transpose)
