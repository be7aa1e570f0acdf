"""Every ufunc of NumPy beside NumPy: types, special values, broadcasting, Python numbers, ufunc methods."""

import ml_dtypes
import numpy as np
import pytest

import xla
from accuracy import EXACT, Bound, difference

UFUNCS = sorted({getattr(np, n) for n in dir(np) if isinstance(getattr(np, n), np.ufunc)}, key=lambda u: u.__name__)
TYPES = ["?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "F", "D"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-3, 7.25, np.nan, np.inf, -np.inf, 1e4, 2.0, 8.0]
WHOLE = [0, 1, 2, 3, 5, 7, 12, 100, 127, -1, -2, -7, -128, 6, 4]
# What is not equal to NumPy's results: elementary functions, which NumPy holds to 4 ulp and docs/numerics.md to 2, and
# what rounds complex numbers otherwise. Sums and products of complex numbers are rounded once here (fma).
ELEMENTARY = (
    "arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt cos cosh exp exp2 expm1 float_power hypot log log10 log1p "
    "log2 logaddexp logaddexp2 power sin sinh sqrt tan tanh"
)
BOUNDS = {
    **dict.fromkeys(ELEMENTARY.split(), Bound(ulp=4)),
    **dict.fromkeys(["absolute", "divide", "reciprocal", "square", "multiply"], Bound(ulp=2)),
    **dict.fromkeys(["degrees", "rad2deg"], Bound(ulp=1)),  # NumPy rounds the factor twice
    **dict.fromkeys(["maximum", "minimum", "fmax", "fmin"], Bound(zeros=True)),
}
COMPLEX = {
    **dict.fromkeys(["power", "float_power", "log1p"], Bound(ulp=8)),
    "sign": Bound(ulp=2),  # x / |x|, which NumPy rounds twice
}
REAL = {**dict.fromkeys(["absolute", "divide", "reciprocal", "square", "multiply", "sqrt"], EXACT)}


def values(type_code, shift=0):
    """One array of the type with its interesting values, rolled by `shift`."""
    dtype = np.dtype(type_code)
    if dtype.kind == "b":
        data = np.array([True, False, True, True, False] * 3)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        data = np.array([min(max(v, info.min), info.max) for v in WHOLE]).astype(dtype)
    elif dtype.kind == "c":
        data = np.array(
            [
                1 + 2j,
                -1.5 + 0.25j,
                0.5 - 3j,
                2,
                -2j,
                0.1 + 0.1j,
                3 - 1j,
                -0.75 - 2j,
                1j,
                4,
                1,
                0.5j,
                2 + 2j,
                1 - 1j,
                -1 - 1j,
            ]
        )
        data = data.astype(dtype)
    else:
        data = np.array(SPECIAL).astype(dtype)
    return np.roll(data, shift)


def compare(got, want, name, bound=EXACT):
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for g, w in zip(got, want, strict=True):
        text = difference(g, w, bound)
        assert not text, f"{name} {text}"


def bound_of(ufunc, *arguments):
    special = COMPLEX if any(a.dtype.kind == "c" for a in arguments) else REAL
    return special.get(ufunc.__name__, BOUNDS.get(ufunc.__name__, EXACT))


def loop_exists(ufunc, code):
    dtype = np.dtype(code)
    try:
        found = ufunc.resolve_dtypes((dtype,) * ufunc.nin + (None,) * ufunc.nout)
    except TypeError:
        return False
    return all(d.kind in "biufc" and d.char not in "gG" for d in found)


@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if u.signature is None], ids=lambda u: u.__name__)
def test_types_and_special_values(ufunc):
    codes = [c for c in TYPES if loop_exists(ufunc, c)]
    if ufunc is np.isnat:
        with pytest.raises(xla.ObjectArrayError, match="datetime64"):
            xla.compile(lambda x: np.isnat(x))(np.array(["2020-01-01"], "M8[D]"))
        return
    arguments = []
    for code in codes:
        x = values(code)
        y = values(code, 4)
        if ufunc in (np.power, np.float_power) and x.dtype.kind in "iu":
            y = np.abs(y) % 5  # NumPy refuses negative powers of integers
        if ufunc in (np.left_shift, np.right_shift):
            y = np.abs(y) % 7
        if ufunc is np.ldexp:
            y = y.astype(np.int32)
        arguments.append([x, y][: ufunc.nin])
    if ufunc is np.ldexp:
        arguments = [
            [x, np.resize(np.array([0, 1, -1, 30, -30, 2000, -2000], np.int32), x.shape)] for x, _ in arguments
        ]

    @xla.compile
    def f(arguments):
        return [ufunc(*a) for a in arguments]

    with np.errstate(all="ignore"):
        wants = [ufunc(*a) for a in arguments]
    for code, a, g, w in zip(codes, arguments, f(arguments), wants):
        compare(g, w, f"{ufunc.__name__} of {code}: {a}", bound_of(ufunc, *a))


def check(function, *arguments, **bound):
    """`function` compiled and not, on copies."""
    copies = lambda: [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        want = function(*copies())
    got = xla.compile(function)(*copies())
    for g, w in zip(*[x if isinstance(x, (tuple, list)) else [x] for x in (got, want)], strict=True):
        compare(g, w, "", Bound(**bound))


@pytest.mark.parametrize("code", ["b", "i", "q", "B", "Q", "e", "f", "d", "F", "D"])
def test_python_numbers_are_weak(code):
    x = values(code, 3)
    bound = {"ulp": 2} if x.dtype.kind == "c" else {}
    check(lambda x: [x + 1, 2 * x, x - 3, x / 2, x == 1, x**2], x, **bound)
    if x.dtype.kind in "fc":
        check(lambda x: [x + 1.5, 0.25 * x, x * True], x, **bound)
    if x.dtype.kind in "iu":
        check(lambda x: [x + 1.5, x // 3, x % 5, x & 3, x | 1, x ^ 2, ~x, x << 1, x >> 1, -x, +x, abs(x)], x)


def test_python_arguments_are_weak():
    x = np.ones(3, np.float32)
    for number in (2, 2.5, True, 1 + 2j):
        want, got = x * number, xla.compile(lambda x, n: x * n)(x, number)
        compare(got, want, repr(number))
        compare(xla.compile(lambda n: (n + 1) * x)(number), (number + 1) * x, repr(number))


def test_numbers_that_do_not_fit_are_errors():
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        xla.compile(lambda x: x + 300)(np.ones(2, np.uint8))
    got = xla.compile(lambda x: (x < 300, x > 300, x == -1, x != 256, 300 < x, -1 <= x))(np.ones(2, np.uint8))
    assert [bool(g[0]) for g in got] == [True, False, False, True, False, True]


@pytest.mark.parametrize("code", ["F", "D"])
def test_complex_numbers_with_infinite_parts(code):
    parts = [0.0, -0.0, 1.0, -2.5, np.nan, np.inf, -np.inf, np.finfo(code).max / 4]
    x = np.array([complex(a, b) for a in parts for b in parts], code)
    check(lambda x: [np.log2(x), np.log10(x)], x, ulp=2)
    check(np.sign, x, ulp=2)
    check(lambda x: np.exp2(x[:56]), x, ulp=4)  # sines of huge angles are another matter
    check(np.arctan, x[np.abs(x) != 1], ulp=4)  # not at the poles
    for ufunc in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
        check(lambda x, y: ufunc(x, y), *(a.ravel() for a in np.meshgrid(x, x)))


def test_log10_of_the_smallest_numbers():
    smallest = np.finfo(np.float32).smallest_subnormal
    check(np.log10, np.array([smallest, 2 * smallest, 1e-40, 1e-38, 10, 1e30], np.float32), ulp=2)


@pytest.mark.parametrize("code", ["e", "f", "d"])
def test_extremes_of_nan_and_zeros(code):
    x, y = (a.ravel() for a in np.meshgrid(*[np.array([np.nan, 0.0, -0.0, 1, -1, np.inf, -np.inf], code)] * 2))
    for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin):
        check(
            lambda x, y: [ufunc(x, y), ufunc.reduce(np.stack([x, y])), ufunc.reduce(np.stack([x, y], 1), axis=1)],
            x,
            y,
            zeros=True,
        )
    check(lambda x, y: [np.clip(x, y, 1), np.clip(x, 0, y)], x, y, zeros=True)


@pytest.mark.parametrize("shapes", [((3, 1), (1, 4)), ((2, 3, 4), (4,)), ((), (5,)), ((0, 3), (1, 3)), ((1,), (0,))])
def test_broadcasting(shapes):
    rng = np.random.default_rng(0)
    arguments = [rng.random(s) for s in shapes]
    check(lambda x, y: [x + y, x * y, np.maximum(x, y), x < y], *arguments)
    check(np.hypot, *arguments, ulp=2)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="shape mismatch"):
        xla.compile(lambda x, y: x + y)(np.ones(3), np.ones(4))


def test_out_where_and_dtype():
    def f(x, y):
        z = x.copy()
        np.add(x, y, out=z)
        np.multiply(z, 2, out=z, where=x > 0.5)
        w = x.copy()
        np.exp(x, where=y > 0.5, out=w)
        return z, w, np.add(x, y, dtype=np.float32), np.add(1, x, dtype="f4")

    rng = np.random.default_rng(0)
    check(f, rng.random((4, 5)), rng.random((4, 5)))


def test_bfloat16():
    x = np.linspace(-3, 3, 13).astype(ml_dtypes.bfloat16)
    check(lambda x: [x + x, np.exp(x), np.tanh(x) * x, x * 2, x + 1.5, np.floor(x), x > 0, np.sqrt(np.abs(x))], x)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logical_or, np.subtract, np.hypot])
def test_reduce_accumulate_outer(ufunc):
    x = np.random.default_rng(0).random((3, 5)) + 0.5
    check(lambda x: [ufunc.reduce(x), ufunc.reduce(x, axis=1), ufunc.reduce(x, axis=1, keepdims=True)], x, ulp=4)
    check(lambda x: [ufunc.accumulate(x), ufunc.accumulate(x, axis=1)], x, ulp=4)
    check(lambda x: [ufunc.outer(x[0], x), ufunc.outer(x, np.ones(2))], x, ulp=2)
    check(lambda x: [ufunc.reduceat(x, [0, 2, 1, 3], axis=1)], x, ulp=4)


def test_at_counts_every_occurrence():
    def f(x, index, new):
        y = x.copy()
        np.add.at(y, index, new)
        z = x.copy()
        np.subtract.at(z, ([0, 0, 1], index), 1.0)
        w = x.copy()
        np.maximum.at(w, index, 5)
        return y, z, w

    check(f, np.arange(12.0).reshape(3, 4), np.array([0, 2, 0]), np.ones((3, 4)))


def test_matrix_products():
    rng = np.random.default_rng(0)
    a, b, v = rng.random((2, 3, 4)), rng.random((4, 5)), rng.random(4)
    check(lambda a, b, v: [a @ b, a @ v, v @ b, v @ v, np.matmul(a, b), np.vecdot(a, v)], a, b, v, ulp=4)
    check(lambda a, b, v: [np.matvec(a, v), np.vecmat(v, b), (a * 1j) @ b], a, b, v, ulp=4)
    check(lambda a: [a @ a.T, (a > 2) @ (a.T > 2)], np.arange(6).reshape(2, 3))
    with pytest.raises(ValueError, match="matmul: shapes"):
        xla.compile(lambda a, b: a @ b)(np.ones((2, 3)), np.ones((2, 3)))
