"""Elementwise operations on the bits of floats: signs, exponents, neighbours."""

import numpy as np

from . import _ops as o

_INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}
# Type -> (bits of the fraction, exponent of the smallest normal number).
_FORMATS = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126), "float64": (52, -1022)}


def _bits(x):
    return o.bitcast_convert(x, _INTEGERS[x.dtype.itemsize])


def _like(x, number):
    return o.full(number, x.dtype, x.shape)


def _and(x, mask):
    return o.logical_and(x, _like(x, mask))


def signbit(x):
    return o.compare_number("LT", _bits(x), 0)


def copysign(x, y):
    """x with y's sign."""
    low = np.iinfo(_INTEGERS[x.dtype.itemsize]).min
    return o.bitcast_convert(o.logical_or(_and(_bits(x), ~low), _and(_bits(y), low)), x.dtype)


def _is_nan(x):
    return o.compare("NE", x, x)


def nextafter(x, y):
    """The next number after x in the direction of y."""
    bits = _bits(x)
    away = o.compare("EQ", o.compare("GT", y, x), o.compare_number("GT", x, 0))
    step = o.select(away, _like(bits, 1), _like(bits, -1))
    zero = o.compare_number("EQ", x, 0)
    smallest = copysign(o.bitcast_convert(_like(bits, 1), x.dtype), y)
    moved = o.select(zero, smallest, o.bitcast_convert(o.add(bits, step), x.dtype))
    moved = o.select(o.compare("EQ", x, y), y, moved)
    return o.select(o.logical_or(_is_nan(x), _is_nan(y)), o.add(x, y), moved)


def spacing(x):
    """The distance to the next number away from zero, with x's sign; positive at zeros of either sign."""
    bits = _and(_bits(x), ~np.iinfo(_INTEGERS[x.dtype.itemsize]).min)
    magnitude = o.bitcast_convert(bits, x.dtype)
    above = o.bitcast_convert(o.add(bits, _like(bits, 1)), x.dtype)
    gap = o.subtract(above, magnitude)
    if x.dtype == np.float16:
        # NumPy's half precision gives the distance to the next smaller number, without a sign.
        below = o.bitcast_convert(o.subtract(bits, _like(bits, 1)), x.dtype)
        down = o.logical_and(o.compare_number("LT", x, 0), o.compare_number("EQ", _and(bits, 1023), 0))
        gap = o.select(down, o.subtract(magnitude, below), gap)
    else:
        gap = o.select(o.compare_number("LT", x, 0), o.unary("negate", gap), gap)
    finite = o.unary("is-finite", x, np.bool_)
    return o.select(finite, gap, _like(x, np.nan))


def power_of_two(exponent, dtype):
    """2**exponent for an integer value inside the range of normal numbers."""
    fraction, smallest = _FORMATS[np.dtype(dtype).name]
    integer = _INTEGERS[np.dtype(dtype).itemsize]
    biased = o.convert(o.add(exponent, _like(exponent, 1 - smallest)), integer)
    return o.bitcast_convert(o.binary("shift-left", biased, _like(biased, fraction)), dtype)


def ldexp(x, exponent):
    """x * 2**exponent. Three steps, so that no intermediate power leaves the type's range."""
    if x.dtype.itemsize == 2:
        return o.convert(ldexp(o.convert(x, np.float32), exponent), x.dtype)
    smallest = _FORMATS[x.dtype.name][1]
    exponent = o.clamp(_like(exponent, 3 * smallest), exponent, _like(exponent, -3 * smallest))
    third = o.divide(exponent, _like(exponent, 3))
    rest = o.subtract(exponent, o.add(third, third))
    scale = power_of_two(third, x.dtype)
    large = o.multiply(o.multiply(x, scale), scale)
    # The last step may round into the subnormal numbers; the first two stay exact when the sign of all is the same.
    return o.multiply(large, power_of_two(rest, x.dtype))


def frexp(x):
    """(fraction in [0.5, 1), exponent as int32) with x == fraction * 2**exponent."""
    if x.dtype.itemsize == 2:
        fraction, exponent = frexp(o.convert(x, np.float32))
        return o.convert(fraction, x.dtype), exponent
    width, smallest = _FORMATS[x.dtype.name]
    shift = width + 2
    tiny = o.compare_number("LT", o.unary("abs", x), 2.0**smallest)
    scaled = o.select(tiny, o.multiply(x, _like(x, 2.0**shift)), x)
    bits = _bits(scaled)
    mask = (1 << (8 * x.dtype.itemsize - 1 - width)) - 1
    biased = _and(o.binary("shift-right-logical", bits, _like(bits, width)), mask)
    exponent = o.convert(o.subtract(biased, _like(biased, -smallest)), np.int32)
    exponent = o.subtract(exponent, o.select(tiny, _like(exponent, shift), _like(exponent, 0)))
    kept = _and(bits, ~(mask << width))
    fraction = o.bitcast_convert(o.logical_or(kept, _like(bits, (-smallest) << width)), x.dtype)
    special = o.logical_or(o.compare_number("EQ", x, 0), o.logical_not(o.unary("is-finite", x, np.bool_)))
    return o.select(special, x, fraction), o.select(special, _like(exponent, 0), exponent)
