"""What each ufunc computes, as HLO operations. Emitters take values of one shape with the types that NumPy's loop takes,
and give a value (or a tuple) of the loop's result."""

import numpy as np

from . import _hlo, _ops as o
from ._float_bits import copysign, frexp, ldexp, nextafter, signbit, spacing

EMITTERS = {}


def emits(*names, table=EMITTERS):
    def register(function):
        for name in names:
            table[name] = function
        return function

    return register


def is_float(x):
    return x.dtype.kind in "fV"


def is_narrow(x):
    """f16, bf16 and narrower: several steps in them are computed in f32 and rounded once."""
    return is_float(x) and x.dtype.itemsize < 4


def wide(function):
    """`function` computed in f32 for narrow floats."""

    def computed(*values):
        if not is_narrow(values[0]):
            return function(*values)
        made = function(*(o.convert(v, np.float32) if is_narrow(v) else v for v in values))
        back = lambda m: o.convert(m, values[0].dtype) if m.dtype == np.float32 else m
        return tuple(map(back, made)) if isinstance(made, tuple) else back(made)

    return computed


def like(x, number):
    """`number` in x's type and shape."""
    return o.full(number, x.dtype, x.shape)


def _direct(name, opcode):
    EMITTERS[name] = wide(lambda x: o.unary(opcode, x))


for _name, _opcode in {
    "exp": "exponential",
    "expm1": "exponential-minus-one",
    "log1p": "log-plus-one",
    "log": "log",
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "arcsin": "asin",
    "arccos": "acos",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}.items():
    _direct(_name, _opcode)

EMITTERS["add"] = o.add
EMITTERS["subtract"] = o.subtract
EMITTERS["multiply"] = o.multiply
EMITTERS["divide"] = o.divide
EMITTERS["true_divide"] = o.divide
EMITTERS["negative"] = o.negate
EMITTERS["positive"] = lambda x: x
EMITTERS["bitwise_and"] = o.logical_and
EMITTERS["bitwise_or"] = o.logical_or
EMITTERS["bitwise_xor"] = lambda x, y: o.binary("xor", x, y)
EMITTERS["invert"] = o.logical_not
EMITTERS["square"] = lambda x: o.multiply(x, x)
EMITTERS["copysign"] = copysign
EMITTERS["nextafter"] = nextafter
EMITTERS["spacing"] = spacing
EMITTERS["signbit"] = signbit
EMITTERS["ldexp"] = ldexp
EMITTERS["frexp"] = frexp
EMITTERS["arctan"] = wide(lambda x: o.binary("atan2", x, like(x, 1)) if x.dtype.kind != "c" else complex_arctan(x))
EMITTERS["arctan2"] = wide(lambda y, x: o.binary("atan2", y, x))
EMITTERS["deg2rad"] = EMITTERS["radians"] = wide(lambda x: o.multiply(x, like(x, np.pi / 180)))
EMITTERS["rad2deg"] = EMITTERS["degrees"] = wide(lambda x: o.multiply(x, like(x, 180 / np.pi)))


def complex_arctan(z):
    """Real part atan2(2x, 1 - x² - y²) / 2, imaginary part log((x² + (1 + y)²) / (x² + (1 - y)²)) / 4."""
    x, y = o.real(z), o.imag(z)
    one, square = like(x, 1), lambda v: o.multiply(v, v)
    below = o.add(square(x), square(o.subtract(one, y)))
    ratio = o.divide(o.multiply(like(x, 4), y), below)
    inside = o.multiply(o.subtract(one, y), o.add(one, y))
    real = o.multiply(like(x, 0.5), o.binary("atan2", o.add(x, x), o.subtract(inside, square(x))))
    imaginary = o.multiply(like(x, 0.25), o.unary("log-plus-one", ratio))
    # Far out, where squares would overflow, it is ±π/2 + i·y / |z|².
    size = absolute(z)
    far = o.compare_number("GT", size, 1e8 if x.dtype == np.float32 else 1e17)
    limit = o.select(isnan(x), x, copysign(like(x, np.pi / 2), x))
    rest = o.select(isfinite(size), o.divide(o.divide(y, size), size), like(y, 0))
    # C99's Annex G: NaN + 0 i stays that.
    imaginary = o.select(o.logical_and(isnan(x), o.compare_number("EQ", y, 0)), y, imaginary)
    return o.complex_(o.select(far, limit, real), o.select(far, copysign(rest, y), imaginary))


@emits("reciprocal")
def reciprocal(x):
    if x.dtype.kind in "iu":
        # 1 / 0 as NumPy converts infinity to an integer.
        infinite = np.iinfo(x.dtype).min if x.dtype.kind == "i" and x.dtype.itemsize >= 4 else 0
        return o.select(o.compare_number("EQ", x, 0), like(x, infinite), o.divide(like(x, 1), x))
    return o.divide(like(x, 1), x)


@emits("absolute", "fabs")
def absolute(x):
    if x.dtype.kind in "bu":
        return x
    return o.unary("abs", x, o._part(x.dtype) if x.dtype.kind == "c" else None)


@emits("sign")
def sign(x):
    if x.dtype.kind == "u":
        return o.convert(o.compare_number("NE", x, 0), x.dtype)
    if x.dtype.kind == "c":
        return complex_sign(x)
    # NumPy's sign of -0 is 0.
    return (
        o.select(o.compare_number("EQ", x, 0), like(x, 0), o.unary("sign", x))
        if x.dtype.kind in "fV"
        else o.unary("sign", x)
    )


def complex_sign(z):
    """z / |z|; an infinite part alone is as large as |z|, two are no direction."""
    x, y, size = o.real(z), o.imag(z), absolute(z)

    def part(v, other):
        finite = o.select(isnan(size), size, o.divide(v, size))
        alone = o.select(isinf(other), like(v, np.nan), o.unary("sign", v))
        infinite = o.select(isinf(v), alone, o.select(isinf(size), like(v, 0), finite))
        return o.select(o.compare_number("EQ", size, 0), like(v, 0), infinite)

    return o.complex_(part(x, y), part(y, x))


@emits("conjugate")
def conjugate(x):
    return o.complex_(o.real(x), o.negate(o.imag(x))) if x.dtype.kind == "c" else x


@emits("floor")
def floor(x):
    return o.unary("floor", x) if is_float(x) else x


@emits("ceil")
def ceil(x):
    return o.unary("ceil", x) if is_float(x) else x


@emits("trunc")
def trunc(x):
    if not is_float(x):
        return x
    return o.select(o.compare_number("LT", x, 0), o.unary("ceil", x), o.unary("floor", x))


@emits("rint")
def rint(x):
    if x.dtype.kind == "c":
        return o.complex_(rint(o.real(x)), rint(o.imag(x)))
    return o.unary("round-nearest-even", x) if is_float(x) else x


@emits("isnan")
def isnan(x):
    if x.dtype.kind in "biu":
        return o.full(False, np.bool_, x.shape)
    return o.compare("NE", x, x)


@emits("isinf")
def isinf(x):
    if x.dtype.kind == "c":
        return o.logical_or(isinf(o.real(x)), isinf(o.imag(x)))
    if not is_float(x):
        return o.full(False, np.bool_, x.shape)
    return o.compare_number("EQ", o.unary("abs", x), np.inf)


@emits("isfinite")
def isfinite(x):
    if x.dtype.kind == "c":
        return o.logical_and(isfinite(o.real(x)), isfinite(o.imag(x)))
    if not is_float(x):
        return o.full(True, np.bool_, x.shape)
    return o.unary("is-finite", x, np.bool_)


def _ordered(name, direction):
    def emit(x, y):
        if x.dtype.kind == "c" and direction not in ("EQ", "NE"):
            # Complex numbers are ordered by their real parts, then by their imaginary parts; none before or after NaN.
            strict = o.compare(direction[0] + "T", o.real(x), o.real(y))
            strict = o.logical_and(strict, o.logical_not(o.logical_or(isnan(x), isnan(y))))
            same = o.compare("EQ", o.real(x), o.real(y))
            return o.logical_or(strict, o.logical_and(same, o.compare(direction, o.imag(x), o.imag(y))))
        if x.dtype != y.dtype:  # NumPy compares signed with unsigned 64-bit integers exactly
            return _mixed_compare(direction, x, y)
        return o.compare(direction, x, y)

    EMITTERS[name] = emit


def _mixed_compare(direction, x, y):
    signed, unsigned, swapped = (x, y, False) if x.dtype.kind == "i" else (y, x, True)
    negative = o.compare_number("LT", signed, 0)
    as_unsigned = o.convert(signed, unsigned.dtype)
    plain = o.compare(direction, *((unsigned, as_unsigned) if swapped else (as_unsigned, unsigned)))
    answer = direction == "NE" or (direction[0] == "L") != swapped and direction != "EQ"
    return o.select(negative, o.full(answer, np.bool_, x.shape), plain)


for _name, _direction in {
    "equal": "EQ",
    "not_equal": "NE",
    "less": "LT",
    "less_equal": "LE",
    "greater": "GT",
    "greater_equal": "GE",
}.items():
    _ordered(_name, _direction)


def truth(x):
    return o.convert(x, np.bool_)


EMITTERS["logical_and"] = lambda x, y: o.logical_and(truth(x), truth(y))
EMITTERS["logical_or"] = lambda x, y: o.logical_or(truth(x), truth(y))
EMITTERS["logical_xor"] = lambda x, y: o.binary("xor", truth(x), truth(y))
EMITTERS["logical_not"] = lambda x: o.logical_not(truth(x))


def _extreme(opcode, direction):
    def emit(x, y):
        if x.dtype.kind == "c":
            nan = isnan(x)
            take = o.logical_or(nan, EMITTERS["greater_equal" if direction == "GE" else "less_equal"](x, y))
            return o.select(o.logical_and(take, o.logical_or(nan, o.logical_not(isnan(y)))), x, y)
        return o.binary(opcode, x, y)

    return emit


EMITTERS["maximum"] = _extreme("maximum", "GE")
EMITTERS["minimum"] = _extreme("minimum", "LE")


def _ignoring_nan(name):
    def emit(x, y):
        plain = EMITTERS[name](x, y)
        if x.dtype.kind in "biu":
            return plain
        return o.select(isnan(y), x, o.select(isnan(x), y, plain))

    return emit


EMITTERS["fmax"] = _ignoring_nan("maximum")
EMITTERS["fmin"] = _ignoring_nan("minimum")


@emits("left_shift")
def left_shift(x, y):
    return o.binary("shift-left", x, y)


@emits("right_shift")
def right_shift(x, y):
    return o.binary("shift-right-arithmetic" if x.dtype.kind == "i" else "shift-right-logical", x, y)


@emits("bitwise_count")
def bitwise_count(x):
    return o.convert(o.unary("popcnt", absolute(x)), np.uint8)


@emits("heaviside")
def heaviside(x, y):
    zero, one = like(x, 0), like(x, 1)
    at_zero = o.select(o.compare("EQ", x, zero), y, o.select(o.compare("LT", x, zero), zero, one))
    return o.select(isnan(x), x, at_zero)


def _scaled(z, number):
    """Complex z times a real number, part by part: infinite parts stay apart from the others."""
    x, y = o.real(z), o.imag(z)
    return o.complex_(o.multiply(x, like(x, number)), o.multiply(y, like(y, number)))


@emits("exp2")
@wide
def exp2(x):
    if x.dtype.kind == "c":
        return o.unary("exponential", _scaled(x, np.log(2)))
    return o.binary("power", like(x, 2), x)


@emits("log2")
@wide
def log2(x):
    if x.dtype.kind == "c":
        return _scaled(o.unary("log", x), 1 / np.log(2))
    fraction, exponent = frexp(x)
    # A fraction in [1/√2, √2) keeps the logarithm of numbers near 1 accurate and that of powers of two exact.
    small = o.compare_number("LT", fraction, np.sqrt(0.5))
    fraction = o.select(small, o.add(fraction, fraction), fraction)
    exponent = o.subtract(exponent, o.convert(small, exponent.dtype))
    log = o.divide(o.unary("log", fraction), like(x, np.log(2)))
    usual = o.add(o.convert(exponent, x.dtype), log)
    plain = o.logical_and(isfinite(x), o.compare_number("GT", x, 0))
    return o.select(plain, usual, o.unary("log", x))


@emits("log10")
@wide
def log10(x):
    if x.dtype.kind == "c":
        return _scaled(o.unary("log", x), 1 / np.log(10))
    log = o.divide(o.unary("log", x), like(x, np.log(10)))
    # Powers of ten have whole logarithms.
    whole = rint(log)
    near = o.compare_number("LT", o.unary("abs", o.subtract(log, whole)), 1e-3)
    exact = o.compare("EQ", o.binary("power", like(x, 10), whole), x)
    return o.select(o.logical_and(near, exact), whole, log)


def _log_of_sum(exp, log1p):
    @wide
    def emit(x, y):
        high, low = o.maximum(x, y), o.minimum(x, y)
        rest = log1p(exp(o.subtract(low, high)))
        same = o.compare("EQ", x, y)
        return o.select(same, o.add(x, log1p(like(x, 1))), o.add(high, rest))

    return emit


EMITTERS["logaddexp"] = _log_of_sum(lambda d: o.unary("exponential", d), lambda e: o.unary("log-plus-one", e))
EMITTERS["logaddexp2"] = _log_of_sum(exp2, lambda e: o.multiply(o.unary("log-plus-one", e), like(e, 1 / np.log(2))))


@emits("hypot")
def hypot(x, y):
    if x.dtype != np.float64:
        x2, y2 = o.convert(x, np.float64), o.convert(y, np.float64)
        root = o.convert(o.unary("sqrt", o.add(o.multiply(x2, x2), o.multiply(y2, y2))), x.dtype)
    else:
        x2, y2 = absolute(x), absolute(y)
        high, low = o.maximum(x2, y2), o.minimum(x2, y2)
        ratio = o.divide(low, o.select(o.compare_number("EQ", high, 0), like(x, 1), high))
        root = o.multiply(high, o.unary("sqrt", o.add(like(x, 1), o.multiply(ratio, ratio))))
    infinite = o.logical_or(isinf(x), isinf(y))
    return o.select(infinite, like(x, np.inf), root)


@emits("power")
def power(x, y):
    return o.binary("power", x, y)


@emits("float_power")
def float_power(x, y):
    return o.binary("power", x, y)


@emits("fmod")
def fmod(x, y):
    if is_float(x):
        return o.binary("remainder", x, y)
    zero = o.compare_number("EQ", y, 0)
    return o.select(zero, y, o.binary("remainder", x, o.select(zero, like(y, 1), y)))


@emits("floor_divide")
def floor_divide(x, y):
    return divmod_(x, y)[0]


@emits("remainder")
def remainder(x, y):
    return divmod_(x, y)[1]


@emits("divmod")
def divmod_(x, y):
    if is_float(x):
        return _float_divmod(x, y)
    zero = o.compare_number("EQ", y, 0)
    divisor = o.select(zero, like(y, 1), y)
    quotient, rest = o.divide(x, divisor), o.binary("remainder", x, divisor)
    if x.dtype.kind == "i":
        minus, none = o.full(0, x.dtype, x.shape), o.compare_number("EQ", rest, 0)
        apart = o.compare("NE", o.compare("LT", rest, minus), o.compare("LT", divisor, minus))
        down = o.logical_and(apart, o.logical_not(none))
        quotient = o.subtract(quotient, o.convert(down, x.dtype))
        rest = o.add(rest, o.select(down, divisor, minus))
    return o.select(zero, like(x, 0), quotient), o.select(zero, like(x, 0), rest)


@wide
def _float_divmod(x, y):
    rest = o.binary("remainder", x, y)
    quotient = o.divide(o.subtract(x, rest), y)
    nonzero = o.compare_number("NE", rest, 0)
    apart = o.compare("NE", o.compare_number("LT", y, 0), o.compare_number("LT", rest, 0))
    down = o.logical_and(nonzero, apart)
    quotient = o.select(down, o.subtract(quotient, like(x, 1)), quotient)
    rest = o.select(down, o.add(rest, y), o.select(nonzero, rest, copysign(like(x, 0), y)))
    whole = floor(quotient)
    whole = o.select(o.compare_number("GT", o.subtract(quotient, whole), 0.5), o.add(whole, like(x, 1)), whole)
    plain = o.divide(x, y)
    whole = o.select(o.compare_number("NE", quotient, 0), whole, copysign(like(x, 0), plain))
    zero = o.compare_number("EQ", y, 0)
    return o.select(zero, plain, whole), o.select(zero, like(x, np.nan), rest)


@emits("modf")
def modf(x):
    whole = copysign(trunc(x), x)
    part = o.select(isinf(x), like(x, 0), o.subtract(x, whole))
    return copysign(part, x), whole


@emits("gcd")
def gcd(x, y):
    """Euclid's algorithm on all elements at once, until none changes."""
    outer = _hlo.current()
    module = outer.module
    condition = _hlo.Computation(module, "gcd_condition", outer, tuple_parameter=True)
    condition.parameter(x.dtype, x.shape)
    divisor = condition.parameter(y.dtype, y.shape)
    with _hlo.tracing(condition):
        busy = o.reduce(o.compare_number("NE", divisor, 0), "or", range(len(x.shape)), False)
        condition_name = condition.finish([busy], single=True)
    body = _hlo.Computation(module, "gcd_body", outer, tuple_parameter=True)
    a, b = body.parameter(x.dtype, x.shape), body.parameter(y.dtype, y.shape)
    with _hlo.tracing(body):
        done = o.compare_number("EQ", b, 0)
        rest = o.binary("remainder", a, o.select(done, like(b, 1), b))
        body_name = body.finish([o.select(done, a, b), o.select(done, b, rest)])
    parts = [(x.dtype, x.shape)] * 2
    start = outer.emit_tuple_value([absolute(x), absolute(y)])
    found = outer.emit_tuple("while", parts, (), f"condition={condition_name}, body={body_name}", raw=start)
    return absolute(found[0])


@emits("lcm")
def lcm(x, y):
    common = gcd(x, y)
    none = o.compare_number("EQ", common, 0)
    part = o.divide(absolute(x), o.select(none, like(x, 1), common))
    return o.select(none, like(x, 0), o.multiply(part, absolute(y)))
