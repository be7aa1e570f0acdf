"""How far a result may be from NumPy's: exactly equal unless a case says how many units in the last place (ulp), of which
size, it may be away.

A ulp is the distance between neighbouring numbers of the result's type at the wanted number, for complex numbers at its
absolute value. `eps` is the ulp at 1.
"""

import dataclasses

import ml_dtypes
import numpy as np


@dataclasses.dataclass(frozen=True)
class Bound:
    """What an element may differ by, in all; zeros of either sign are told apart only if that is nothing. `ulp`: units in
    the last place. `sums`: times eps times what `terms` (the call itself, if it is None) gives for the absolute values of
    the arguments, as sums of terms of either sign may. `norm`: times eps times the largest element of the result, as
    factorizations and transforms may, which mix all elements."""

    ulp: float = 0
    sums: float = 0
    norm: float = 0
    zeros: bool = False  # equal but for the sign of zeros, which NumPy leaves open
    terms: object = None


EXACT = Bound()


def eps(dtype):
    return float(ml_dtypes.finfo(np.dtype(dtype)).eps)


def spacing(x):
    """The ulp of each element of an array of floating-point numbers or of complex ones."""
    info = ml_dtypes.finfo(x.dtype)
    size = np.abs(x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble))
    size = np.where(np.isfinite(size), size, 0)
    exponent = np.maximum(np.frexp(size)[1] - 1, int(np.frexp(np.longdouble(info.smallest_normal))[1]) - 1)
    return np.ldexp(np.longdouble(info.eps), exponent)


def parts(x):
    return np.stack([x.real, x.imag]) if x.dtype.kind == "c" else x


def same(got, wanted):
    """Elements that are equal, zeros of either sign told apart, and all NaN equal."""
    return (got == wanted) & (np.signbit(got) == np.signbit(wanted)) | np.isnan(got) & np.isnan(wanted)


def errors(got, wanted):
    """The distance of each element; infinite where NaN or an infinity meets anything else."""
    wide = np.clongdouble if wanted.dtype.kind == "c" else np.longdouble
    g, w = got.astype(wide), wanted.astype(wide)
    finite = np.isfinite(g) & np.isfinite(w)
    equal = lambda a, b: (a == b) | np.isnan(a) & np.isnan(b)
    special = equal(g.real, w.real) & equal(g.imag, w.imag)
    distance = np.abs(np.where(finite, g, 0) - np.where(finite, w, 0))
    return np.where(finite, distance, np.where(special, 0, np.inf))


def difference(got, wanted, bound=EXACT, terms=None):
    """What is wrong with `got`, or "". `terms`: the sizes of what was summed up, where the bound has sums."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"is {got.dtype}{list(got.shape)}, NumPy has {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind in "biu":
        return "" if np.array_equal(got, wanted) else f"is {got}, NumPy has {wanted}"
    with np.errstate(all="ignore"):
        if bound == EXACT:
            wrong = ~same(parts(got), parts(wanted)).all()
            return f"is {got!r}, NumPy has {wanted!r}" if wrong else ""
        one = eps(wanted.dtype)
        size = np.abs(wanted)[np.isfinite(wanted)]
        allowed = bound.ulp * spacing(wanted) + bound.norm * one * np.max(size, initial=0).astype(np.longdouble)
        if bound.sums:
            terms = np.asarray(terms, np.longdouble)
            allowed = allowed + bound.sums * one * np.where(np.isfinite(terms), terms, 0)
        distance = errors(got, wanted)
        if (distance <= allowed).all():
            return ""
        worst = np.nanmax(distance / spacing(wanted))
        return f"is {got!r}, NumPy has {wanted!r}: {float(worst):.3g} ulp away, allowed are {bound}"
