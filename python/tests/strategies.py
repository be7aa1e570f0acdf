"""Hypothesis strategies for the arrays that NumPy's functions are tried on: all types, few dimensions, sides from 0 to 4,
NaN, infinities and signed zeros among the elements."""

import hypothesis.strategies as st
import numpy as np

F = ["float32", "float64", "float16"]
C = ["complex64", "complex128"]
I = ["int32", "int64", "uint8", "int16"]
B = ["bool"]
N = F + C + I + B
NO_NAN = ["float32", "float64"]
POSITIVE = ["float64"]


def _elements(dtype, finite, infinite, positive, magnitude):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        low = 0 if kind == "u" or positive else -magnitude
        return st.integers(max(low, -100), min(magnitude, 100))
    low = 0.125 if positive else -magnitude
    # Multiples of 1/8: sums of few of them are exact, so that their order does not show.
    numbers = st.integers(int(low * 8), magnitude * 8).map(lambda n: n / 8)
    special = [] if positive else [0.0, -0.0]
    special += [] if finite or positive else [float("nan")] + ([float("inf"), float("-inf")] if infinite else [])
    if special:
        numbers = st.one_of(numbers, numbers, numbers, st.sampled_from(special))
    if kind == "c":
        finite_parts = _elements("float64", True, False, positive, magnitude)
        return st.tuples(finite_parts, finite_parts).map(lambda p: complex(*p))
    return numbers


@st.composite
def _array(draw, dtype, shape, finite, infinite, positive, magnitude):
    dtype = np.dtype(draw(st.sampled_from(dtype)) if isinstance(dtype, list) else dtype)
    n = int(np.prod(shape, dtype=int))
    data = draw(st.lists(_elements(dtype, finite, infinite, positive, magnitude), min_size=n, max_size=n))
    return np.array(data, dtype).reshape(shape)


def shapes(min_dims=0, min_side=0, dims=None, side=None):
    n = st.just(dims) if dims is not None else st.integers(min_dims, max(3, min_dims))
    one = st.just(side) if side is not None else st.integers(min_side, 4)
    return n.flatmap(lambda k: st.lists(one, min_size=k, max_size=k).map(tuple))


@st.composite
def arrays(
    draw,
    dtypes,
    min_dims=0,
    min_side=0,
    dims=None,
    side=None,
    finite=False,
    infinite=True,
    positive=False,
    magnitude=100,
):
    shape = draw(shapes(min_dims, min_side, dims, side))
    return draw(_array(dtypes, shape, finite, infinite, positive, magnitude))


@st.composite
def _together(draw, dtypes, n, min_side, dims, positive):
    shape = draw(shapes(0, min_side, dims))
    out = []
    for _ in range(n):
        mine = list(shape)
        if dims is None and not positive:
            for i in range(len(mine)):
                if draw(st.booleans()) and min_side == 0:
                    mine[i] = 1
        out.append(draw(_array(dtypes, tuple(mine), positive, True, positive, 100)))
    return out


class Matched:
    """Argument i of arrays that are drawn together, so that they broadcast."""

    def __init__(self, strategy, i):
        self.strategy, self.i = strategy, i


def matched(dtypes, n, min_side=0, dims=None, positive=False):
    """n arguments whose shapes broadcast."""
    together = _together(dtypes, n, min_side, dims, positive)
    return [Matched(together, i) for i in range(n)]


def vector(dtypes, low=0, high=6, **kwargs):
    return st.integers(low, max(low, high)).flatmap(lambda n: arrays(dtypes, dims=1, side=n, **kwargs))


@st.composite
def matrices(draw, dtypes, m=None, n=None, finite=False, regular=False, distinct=False):
    """m by n, or of any size. `regular`: far from singular, made from a seed. `distinct`: no two rows are alike."""
    m = draw(st.integers(0, 4)) if m is None else m
    n = draw(st.integers(0, 4)) if n is None else n
    if not regular and not distinct:
        return draw(_array(dtypes, (m, n), finite, True, False, 100))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    a = rng.standard_normal((m, n)) + (1j * rng.standard_normal((m, n)) if dtype.kind == "c" else 0)
    if regular:
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        a = (u * np.linspace(1, 3, min(m, n))) @ vh
    return a.astype(dtype)


def rows(dtypes, low=1):
    return st.tuples(st.integers(1, 3), st.integers(low, 8)).flatmap(
        lambda s: _array(dtypes, s, True, False, False, 100)
    )


@st.composite
def sorted_vector(draw, dtypes, low=0, unique=False):
    numbers = draw(st.lists(st.integers(-40, 40), min_size=low, max_size=6, unique=unique))
    return (np.array(sorted(numbers)) / (4 if np.dtype(dtypes[0]).kind == "f" else 1)).astype(dtypes[0])


small_integers = arrays(I, magnitude=8)
