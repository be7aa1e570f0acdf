"""Functions as people write them for NumPy (programs.py, programs_control.py), and what `+=` and writes into plain arrays
mean, compiled and beside NumPy."""

import math

import numpy as np
import pytest

import programs_control  # noqa: F401  adds to PROGRAMS
import xla
from accuracy import Bound, difference
from programs import PROGRAMS, program

W = np.arange(3.0)


# Numbers are values: `+=` of one leaves those alone that were the same before.
@program(W)
def sums_that_are_kept(v):
    s = v.sum()
    before = s
    s += 1
    s += 0.5j
    return s, before


@program(W)
def running_sum_in_a_long_loop(v):
    s, history = v.sum(), []
    for i in range(40):
        history.append(s)
        s += i
    return history[0], history[-1]


@program(W)
def number_changed_in_a_branch(v):
    s = v.sum()
    before = s
    if s < 10:
        s += 1
    return s, before


@program(W)
def element_of_an_array(v):
    w = v.copy()
    s, part = w[0], w[1, ...]
    s += 1
    part += 1
    return w, s


@program(np.array(2.0))
def argument_without_dimensions(x):
    x += 1
    return x


# Plain arrays that take traced values.
@program(W)
def accumulator(v):
    a, n = np.zeros((3, 3)), np.zeros(3, int)
    a += v
    a *= v + 1
    a -= v[:, None]
    a /= 2
    n += v > 1
    return a, n


@program(W)
def accumulator_in_loops(v):
    a, b = np.zeros(3), np.zeros(())
    for i in range(40):
        a += v * i
    for x in v:
        b += x
    return a, b


@program(W)
def accumulator_in_a_branch(v):
    a = np.zeros(3)
    if v[0] > 5:
        a += 1
    else:
        a -= 1
    return a + v


@program(W)
def accumulator_in_a_traced_loop(v):
    a, i = np.zeros(3), 0
    while v[0] + i < 5:
        a += 1
        i += 1
    return a


@program(W)
def accumulator_of_an_outer_function(v):
    a = np.zeros(3)

    def step(u):
        nonlocal a
        a += u

    step(v)
    step(v)
    return a


@program(W)
def list_extended_in_a_branch(v):
    found = [v[0]]
    if v[1] > 0:
        found += [v[1]]
    else:
        found += [v[2]]
    return found[1]


@program(W)
def writing_functions(v):
    a, b, c = np.zeros(3), np.zeros((3, 3)), np.zeros(3)
    np.copyto(a, v)
    np.add.at(a, [0, 0, 1], v)
    np.fill_diagonal(b, v)
    np.put(b, [1], v[2])
    for i in range(30):
        np.add.at(c, [i % 3], v[i % 3])
    if v[0] < 1:
        np.add.at(c, 0, 1)
    return a, b, c


@program(W)
def pythons_numbers(v):
    n = int(v[2] * 1.7)
    return float(v.sum()) * n, np.float32(v[0]) + v.astype(np.float32), round(v[0] / 3 + 1.26, 1), np.int64(v[1])


@program(W)
def of_generators(v):
    return max(abs(a - 1) for a in v), min(a for a in v if True), sorted(-v)[0], sorted([v[2], v[0]], reverse=True)


@program(np.arange(24.0).reshape(2, 3, 4))
def windows(x):
    f = np.lib.stride_tricks.sliding_window_view
    return f(x, 2, 1), f(x, (1, 2, 3)), f(x, (2, 2), (0, 2)).sum(-1), f(x, (2, 2), (2, 2))


@program(W)
def rounded_to_integers(v):
    return round(v[2] / 3) + 0, math.floor(v[2] / 3) + 0, math.ceil(v[1] / 3) + 0


def leaves(x):
    if isinstance(x, dict):
        return [leaf for key in sorted(x) for leaf in leaves(x[key])]
    return [leaf for e in x for leaf in leaves(e)] if isinstance(x, (tuple, list)) else [x]


@pytest.mark.parametrize("function, arguments", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_program(function, arguments):
    copies = lambda: [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        wanted = function(*copies())
    got = xla.compile(function)(*copies())
    for g, w in zip(leaves(got), leaves(wanted), strict=True):
        text = difference(g, w, Bound(norm=64))
        assert not text, text


@pytest.mark.parametrize(
    "kind, message, function",
    [
        (xla.DataDependentShapeError, "segment_sum", lambda v: np.bincount((v > 0).astype(int))),
        (xla.DataDependentShapeError, "np.sort", lambda v: np.unique(v)),
        (xla.DataDependentShapeError, "np.where", lambda v: np.nonzero(v > 0)),
        (xla.DataDependentShapeError, "np.where", lambda v: v[v > 0]),
        (xla.NumPyStoreError, "needs numbers", lambda v: np.vectorize(lambda t: t * 2)(v)),
        (xla.NumPyStoreError, "np.zeros_like", lambda v: np.multiply(v, 2, out=np.zeros(3))),
        (xla.ConcretizationError, "np.sqrt", lambda v: math.sqrt(v[2])),
    ],
)
def test_refused(kind, message, function):
    with pytest.raises(kind, match=r"programs_test\.py:\d+: .*" + message):
        xla.compile(function)(W)
