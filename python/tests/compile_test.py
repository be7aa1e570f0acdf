"""The decorator: calls, structures, signatures."""

import numpy as np
import pytest

import xla


def test_matmul_reductions_and_indexing():
    @xla.compile
    def f(x, y):
        z = np.sin(x) @ y
        z[0] = 1
        return z.sum(axis=0), z.T[1:], {"a": z[[0, 1, 0]], "b": x * 2.0 + 1}

    x, y = np.random.default_rng(0).random((2, 3)), np.random.default_rng(1).random((3, 4))
    got, want = f(x, y), f.__wrapped__(x, y)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-13)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-13)
    np.testing.assert_allclose(got[2]["a"], want[2]["a"], rtol=1e-13)
    np.testing.assert_allclose(got[2]["b"], want[2]["b"], rtol=1e-13)


def test_views_see_writes():
    @xla.compile
    def f(x):
        y = x.copy()
        view = y[1:4].reshape(3)
        view[::2] = 7
        y[2] = view[0] + 1
        return y, view

    for got, want in zip(f(np.arange(6)), f.__wrapped__(np.arange(6))):
        np.testing.assert_array_equal(got, want)


def test_writing_an_argument_is_refused():
    @xla.compile
    def f(x):
        x += 1
        return x

    with pytest.raises(xla.InPlaceError, match=r"compile_test.py:\d+: a write into an argument of f.*x = x \+ 1"):
        f(np.ones(3))
