"""x[mask] with a traced mask: all elements of x with the mask beside them. Elementwise functions, reductions and assignments
through the same mask need no more; whatever needs the number of chosen elements as a shape is refused."""

import numpy as np

from . import _errors, _ops as o
from ._tracer import HANDLERS, Tracer, value_of
from ._ufuncs import COMPARE_OPERATORS, OPERATORS

_REDUCTIONS = ("sum", "prod", "mean", "min", "max", "any", "all", "var", "std")


class Masked:
    """The elements of `array` for which `mask` holds."""

    __slots__ = ("array", "mask", "place")
    __array_priority__ = 1001
    __hash__ = None

    def __init__(self, array, mask):
        if mask.shape != array.shape[: mask.ndim]:
            raise IndexError(
                _errors.at_user(f"boolean index of shape {mask.shape} does not fit an array of shape {array.shape}")
            )
        # As they are now: a later write to the array does not change what was read.
        self.array, self.mask = Tracer(array.value), Tracer(mask.value)
        self.place = _errors.user_location()

    def refuse_result(self):
        """Fails at the line that chose the elements: where a function returns them, no line of the user's runs."""
        file, line = self.place
        raise _errors.DataDependentShapeError(f"{file}:{line}: {_errors.MASK_MESSAGE}")

    @property
    def dtype(self):
        return self.array.dtype

    def on(self, mask):
        """The values at all places, for an assignment through `mask`."""
        if mask.value is not self.mask.value:
            _errors.fail(
                _errors.DataDependentShapeError,
                "x[mask] = y[other] needs one mask on both sides; " + _errors.MASK_MESSAGE,
            )
        return self.array.value

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or kwargs.get("out") is not None:
            _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)
        plain = []
        for x in inputs:
            if isinstance(x, Masked):
                if x.mask.value is not self.mask.value:
                    _errors.fail(
                        _errors.DataDependentShapeError, "two arrays chosen by different masks; " + _errors.MASK_MESSAGE
                    )
                plain.append(x.array)
            elif np.ndim(x) <= self.array.ndim - self.mask.ndim:
                plain.append(x)
            else:
                _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)
        made = getattr(ufunc, method)(*plain, **kwargs)
        if isinstance(made, tuple):
            return tuple(Masked(m, self.mask) for m in made)
        return Masked(made, self.mask)

    def __array_function__(self, function, types, args, kwargs):
        if function.__name__ in _REDUCTIONS and args and args[0] is self and len(args) == 1 and not kwargs:
            return self._reduce(function)
        _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)

    def _reduce(self, function):
        if self.mask.ndim != self.array.ndim:
            _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)
        if function in (np.min, np.max):
            info = np.finfo if self.dtype.kind == "f" else np.iinfo
            end = info(self.dtype).max if function is np.min else info(self.dtype).min
            if self.dtype.kind == "f":
                end = np.inf if function is np.min else -np.inf
            return HANDLERS[function](self.array, where=self.mask, initial=end)
        return HANDLERS[function](self.array, where=self.mask)

    @property
    def size(self):
        """How many are chosen: a traced number."""
        chosen = o.broadcast_in_dim(self.mask.value, self.array.shape, range(self.mask.ndim))
        return Tracer(o.reduce(o.convert(chosen, np.int64), "add", range(self.array.ndim), 0))

    def astype(self, dtype):
        return Masked(Tracer(value_of(self.array, dtype)), self.mask)

    def copy(self):
        return Masked(self.array, self.mask)

    def __getattr__(self, name):
        _errors.fail(_errors.DataDependentShapeError, f".{name} of x[mask]: {_errors.MASK_MESSAGE}")

    def __len__(self):
        _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)

    def __iter__(self):
        _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)

    def __getitem__(self, index):
        _errors.fail(_errors.DataDependentShapeError, _errors.MASK_MESSAGE)


for _name in _REDUCTIONS:
    setattr(Masked, _name, lambda self, _function=getattr(np, _name): self._reduce(_function))


def _operator(ufunc, swapped):
    return lambda self, other: ufunc(other, self) if swapped else ufunc(self, other)


for _name, _ufunc in OPERATORS.items():
    if _ufunc.signature is None:  # elementwise: not matrix products
        setattr(Masked, f"__{_name}__", _operator(_ufunc, False))
        setattr(Masked, f"__r{_name}__", _operator(_ufunc, True))
for _name, _ufunc in COMPARE_OPERATORS.items():
    setattr(Masked, f"__{_name}__", _operator(_ufunc, False))
Masked.__neg__ = lambda self: np.negative(self)
Masked.__abs__ = lambda self: np.absolute(self)
Masked.__invert__ = lambda self: np.invert(self)
