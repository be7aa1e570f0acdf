"""Python control flow on traced values: results are those of the plain functions."""

import numpy as np
import pytest

import xla


def early_return(x):
    if x > 3:
        return x * 2
    if x < 0:
        return -x
    y = x + 1
    return y


def halving(x):
    i = 0
    while x > 1:
        x = x / 2
        i += 1
    return x, i


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 100:
            break
    return steps


def with_continue(n, x):
    s = 0.0
    for i in range(n):
        if i == 3:
            continue
        s = s + x * i
    return s


def first_index(x, v):
    for i in range(40):
        if x[i] > v:
            return i
    return -1


def boolops(x, y):
    if x > 0 and not (y > 0 or x > 5):
        return 1.0
    return 2.0 if 0 < x < 10 else 3.0


def written_in_branches(x, n):
    out = x.copy()
    for i in range(n):
        if out[i] > 0:
            out[i] = -out[i]
    return out


def written_in_kept_loop(x):
    out = x * 0
    for i in range(30):
        out[i % 4] += x[i % 4] * i
    return out


def newton(a):
    x = a
    while True:
        nx = 0.5 * (x + a / x)
        if abs(nx - x) < 1e-9:
            break
        x = nx
    return x


def inner_function(x):
    def sq(v):
        if v > 2:
            return v * v
        return v

    t = 0.0
    for i in range(3):
        t = t + sq(x + i)
    return t


def unused_variable_of_one_way(x):
    if x > 0:
        z = 1.0
    y = x + 1
    return y


def kept_loop(x):
    for i in range(100):
        x = x * 0.9 + i
    return x


def list_that_grows(x):
    l = []
    for i in range(20):
        l.append(x * i)
    return sum(l)


def plain_array_becomes_traced(x):
    out = np.zeros(5)
    for i in range(5):
        out[i] = x * i
    return out


def plain_array_in_kept_loop(x):
    out = np.zeros(50)
    for i in range(50):
        out[i] = x * i
    return out


def loop_with_else(x):
    i = 0
    while i < 10:
        if x * i > 7:
            r = i
            break
        i += 1
    else:
        r = -1
    return r


def fixed_point(x):
    tol = 1.0
    k = 0
    while tol > 1e-3 and k < 50:
        y = np.cos(x)
        tol = np.max(np.abs(y - x))
        x = y
        k += 1
    return x, k


def rows_of_an_array(m):
    s = m[0] * 0
    for r in m:
        if r[0] > 0:
            s = s + r
    return s


def enumerated(m):
    s = 0.0
    for i, (a, b) in enumerate(zip(m, m + 1)):
        s += i * (a * b).sum()
    return s


def conditional_expression(x):
    a = x if x > 0 else -x
    b = max(x, 2.0)
    return a + b


def walrus(x):
    if (y := x * 2) > 4:
        y = y + 1
    return y


class Above:
    def __init__(self, k):
        self.__k = k

    def f(self, x):
        if x > self.__k:
            return x - self.__k
        return x


def method_with_private_name(x):
    return Above(2.0).f(x)


def trees(x):
    s = (x, x * 2)
    d = {"a": x, "b": 0}
    while s[0] < 10:
        s = (s[0] + 1, s[1] * 1.5)
        d = {"a": d["a"] + 1, "b": d["b"] + 1}
    return s, d


def escape_time(c):
    z = 0j
    n = 0
    for k in range(50):
        if abs(z) > 2:
            break
        z = z * z + c
        n = k
    return n


CASES = [
    (early_return, [(5.0,), (-2.0,), (1.0,)]),
    (halving, [(100.0,), (0.5,)]),
    (collatz, [(6,), (27,)]),
    (with_continue, [(6, 2.0), (0, 1.0)]),
    (first_index, [(np.arange(40.0), 7.5), (np.arange(40.0), 100.0)]),
    (boolops, [(1.0, -1.0), (1.0, 1.0), (-1.0, 0.0), (7.0, 0.0)]),
    (written_in_branches, [(np.array([1.0, -2, 3, 4]), 3)]),
    (written_in_kept_loop, [(np.array([1.0, -2, 3, 4]),)]),
    (newton, [(2.0,), (9.0,)]),
    (inner_function, [(1.0,)]),
    (unused_variable_of_one_way, [(1.0,)]),
    (kept_loop, [(1.0,), (np.ones(3),)]),
    (list_that_grows, [(1.5,)]),
    (plain_array_becomes_traced, [(1.5,)]),
    (plain_array_in_kept_loop, [(1.5,)]),
    (loop_with_else, [(1.5,), (0.1,)]),
    (fixed_point, [(1.5,), (np.ones(3),)]),
    (rows_of_an_array, [(np.arange(15.0).reshape(5, 3) - 7,), (np.sin(np.arange(150.0)).reshape(50, 3),)]),
    (enumerated, [(np.arange(15.0).reshape(5, 3) - 7,), (np.sin(np.arange(150.0)).reshape(50, 3),)]),
    (conditional_expression, [(1.5,), (-4.0,)]),
    (walrus, [(1.5,), (4.0,)]),
    (method_with_private_name, [(1.5,), (4.0,)]),
    (trees, [(1.5,), (14.0,)]),
    (escape_time, [(0.1 + 0.2j,), (1 + 1j,)]),
]


@pytest.mark.parametrize(
    "function, arguments", [(f, a) for f, many in CASES for a in many], ids=lambda v: getattr(v, "__name__", "")
)
def test_results_are_those_of_python(function, arguments):
    arguments = [np.asarray(a) for a in arguments]
    want = function(*[a.copy() if a.ndim else a[()] for a in arguments])
    got = xla.compile(function)(*arguments)
    flat = lambda tree: xla._pytree.flatten(tree)[0]
    assert len(flat(got)) == len(flat(want))
    for a, b in zip(flat(got), flat(want)):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_long_loops_are_kept():
    text = xla.compile(kept_loop).lower(np.ones(3)).hlo()
    assert text.count(" while(") == 1 and text.count(" multiply(") == 1


def test_small_branches_become_selects():
    def f(x, y):
        if x > 0:
            x = x + y
        return x

    text = xla.compile(f).lower(1.0, 2.0).hlo()
    assert " select(" in text and " conditional(" not in text
    assert xla.compile(f)(1.0, 2.0) == 3.0 and xla.compile(f)(-1.0, 2.0) == -1.0


def test_large_branches_stay_branches():
    def f(x):
        if x[0] > 0:
            x = np.sin(x)
        return x

    assert " conditional(" in xla.compile(f).lower(np.ones(3)).hlo()


def test_random_numbers_drawn_in_a_loop_stay_different():
    def noisy(x):
        rng = np.random.default_rng(0)
        for _ in range(40):
            x = x + rng.normal()
        return x

    np.testing.assert_allclose(xla.compile(noisy)(np.zeros(2)), noisy(np.zeros(2)))


def test_plain_conditions_stay_python():
    seen = []

    def f(x, flag):
        if flag:
            seen.append("yes")
        if x > 0:
            return x
        return -x

    assert xla.compile(f, static_argnums=1)(np.float64(-2.0), True) == 2.0
    assert "yes" in seen


def test_elements_are_numbers_and_not_views():
    def bubble_sort(x):
        x = x.copy()
        for i in range(len(x)):
            for j in range(len(x) - 1 - i):
                if x[j] > x[j + 1]:
                    x[j], x[j + 1] = x[j + 1], x[j]
        return x

    x = np.array([3.0, 1, 2, 5, 4] * 5)
    np.testing.assert_array_equal(xla.compile(bubble_sort)(x), np.sort(x))


def test_assertions():
    @xla.compile
    def f(x, n):
        for i in range(n):
            assert x[i] > 0, f"element {x.shape} must be positive"
        return x + 1

    for _ in range(2):
        np.testing.assert_array_equal(f(np.arange(1.0, 5.0), 4), np.arange(2.0, 6.0))
        with pytest.raises(AssertionError, match=r"control_flow_test.py:\d+: the assertion does not hold: element"):
            f(np.array([1.0, -1.0]), 2)
        f(np.array([1.0, -1.0]), 1)


def test_creation_from_traced_values():
    def f(x, n):
        while n > 0:
            x = np.array([x[0] + x[1], x[0] * 0.5])
            n = n - 1
        return x, np.full((2, 2), x[0]), np.take(np.arange(5), n)

    want = f(np.array([1.0, 2.0]), 3)
    for a, b in zip(xla.compile(f)(np.array([1.0, 2.0]), 3), want):
        np.testing.assert_allclose(a, b)
