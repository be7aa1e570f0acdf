"""Sizes that keep changing: one code for all of them, with NumPy's results."""

import numpy as np
import pytest

import xla

rng = np.random.default_rng(5)
SIZES = [(2, 5), (3, 7), (4, 33), (5, 5), (16, 16), (7, 129), (2, 64), (40, 300), (3, 1), (1, 6), (1, 1), (0, 4)]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, w):
    q, k, v = x @ w, x, np.tanh(x)
    return softmax(q @ k.T / 4.0) @ v


def moments(x):
    mean = x.mean(axis=0)
    return mean, ((x - mean) ** 2).mean(axis=0), x.shape[0] * 2.0, np.argmax(x, axis=1)


PROGRAMS = {
    "elementwise": (lambda x: np.tanh(x) * 2 + x, ()),
    "softmax": (softmax, ()),
    "moments": (moments, ()),
    "transposed": (lambda x: np.exp(x).T * 2, ()),
    "joined": (lambda x: np.concatenate([x.reshape(-1), np.sin(x).reshape(-1)]), ()),
    "reversed": (lambda x: x[::-1] + x, ()),
    "numbers": (lambda x: x * (x.shape[1] / 2.0) + x.shape[0], ()),
    "product": (lambda x: x @ x.T, ()),
    "sorted": (lambda x: np.sort(x, axis=1), ()),
}


def same(got, want):
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    for g, w in zip(got, want, strict=True):
        assert np.shape(g) == np.shape(w)
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-5)


def general(f):
    return f.explain().count("for all sizes")


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_code_serves_sizes_from_the_third_signature_on(name):
    function, others = PROGRAMS[name]
    f = xla.compile(function)
    for size in SIZES:
        if size[0] * size[1] == 0 and name not in ("elementwise", "transposed"):
            continue
        x = rng.normal(size=size).astype(np.float32)
        same(f(x, *others), function(x, *others))
    assert general(f) >= 5, f.explain()
    assert "for all sizes" not in f.explain().split("\n3. ")[0]


def test_sizes_that_do_not_change_are_part_of_the_program():
    w = rng.normal(size=(16, 16)).astype(np.float32)
    f = xla.compile(attention)
    for n in (3, 9, 20, 40, 17, 16, 64):
        x = rng.normal(size=(n, 16)).astype(np.float32)
        same(f(x, w), attention(x, w))
    assert general(f) >= 4, f.explain()


def test_dynamic_says_when():
    first, never = xla.compile(softmax, dynamic=True), xla.compile(softmax, dynamic=False)
    for n in (3, 5, 8, 13):
        x = rng.normal(size=(n, 2 * n + 1))
        same(first(x), softmax(x))
        same(never(x), softmax(x))
    assert general(first) == 4, first.explain()
    assert general(never) == 0
    # Sizes that were equal in the first call need not stay so.
    square = xla.compile(softmax, dynamic=True)
    for size in ((4, 4), (4, 7), (9, 4), (30, 50)):
        x = rng.normal(size=size)
        same(square(x), softmax(x))
    with pytest.raises(TypeError, match="dynamic is True, False or None, not 3"):
        xla.compile(softmax, dynamic=3)


def test_loops_of_python_over_a_size_have_programs_of_their_own():
    @xla.compile
    def total(x):
        result = x[0]
        for i in range(1, x.shape[0]):
            result = result * 0.5 + x[i]
        return result

    for n in (2, 3, 4, 5, 6):
        x = rng.normal(size=n)
        same(total(x), total.__wrapped__(x))
    assert general(total) == 0


def test_sizes_with_a_limit():
    table = rng.normal(size=(96, 8))
    f = xla.compile(lambda x: x + table[: x.shape[0]])
    for n in (90, 17, 33, 64, 5, 96):
        x = rng.normal(size=(n, 8))
        same(f(x), x + table[:n])
    assert general(f) >= 2, f.explain()


def test_sizes_that_follow_from_others():
    def pairs(x, y):  # neighbours: half as many
        return x.reshape(-1, 2).sum(axis=1) * y

    def differences(x, y):
        return np.tanh(x[1:] - x[:-1]) + y

    for function, other in ((pairs, lambda n: n // 2), (differences, lambda n: n - 1)):
        f = xla.compile(function)
        for n in (6, 20, 34, 50, 82, 130, 128):
            x, y = rng.normal(size=n).astype(np.float32), rng.normal(size=other(n)).astype(np.float32)
            same(f(x, y), function(x, y))
        assert general(f) >= 4, f.explain()


def test_signatures_that_mislead_are_not_the_last_word():
    def function(x, y):
        return x[: 2 * y.shape[0]].reshape(-1, 2).sum(axis=1) * y

    f = xla.compile(function)
    # What the first three have in common, y = x / 4 and y = 8, says nothing about those that follow.
    for n, m in ((40, 10), (80, 20), (48, 12), (50, 10), (66, 33), (90, 7), (33, 4), (121, 60), (62, 13)):
        x, y = rng.normal(size=n), rng.normal(size=m)
        same(f(x, y), function(x, y))


def test_random_numbers_of_the_caller_are_left_alone():
    f = xla.compile(lambda x: x + np.random.rand())
    np.random.seed(3)
    with pytest.warns(xla.FrozenRandomWarning):
        for n in (2, 3, 4, 5):
            f(np.zeros(n))
    np.random.seed(3)
    expected = [np.random.rand() for _ in range(5)][-1]
    np.random.seed(3)
    g = xla.compile(lambda x: x + np.random.rand())
    with pytest.warns(xla.FrozenRandomWarning):
        for n in (2, 3, 4, 5):
            g(np.zeros(n))
    assert np.random.rand() == expected
    assert general(f) == general(g) == 0
