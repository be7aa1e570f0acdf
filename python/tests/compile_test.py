"""The decorator: calls, structures, signatures."""

import dataclasses
from typing import NamedTuple

import ml_dtypes
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


class Point(NamedTuple):
    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass
class State:
    position: Point
    step: float
    history: list


def same(got, want):
    """Equal in structure, types and elements."""
    assert type(got) is type(want) or isinstance(want, (np.ndarray, np.generic, int, float, complex))
    if isinstance(want, dict):
        assert list(got) == sorted(want)
        for key in want:
            same(got[key], want[key])
    elif dataclasses.is_dataclass(want):
        for field in dataclasses.fields(want):
            same(getattr(got, field.name), getattr(want, field.name))
    elif isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
    elif want is None:
        assert got is None
    else:
        assert np.asarray(got).dtype == np.asarray(want).dtype and np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_nested_structures_in_and_out():
    def f(state, extra, *, scale):
        moved = Point(state.position.x + state.step, state.position.y * scale["a"])
        return State(moved, state.step / 2, [*state.history, extra[0]]), {"b": extra[1], "a": (None, moved.x.sum())}

    state = State(Point(np.arange(3.0), np.ones((2, 2), np.float32)), 0.5, [np.int8(3)])
    arguments = (state, (np.arange(2), [1.5, True]))
    scale = {"b": 1, "a": 2.0}
    compiled = xla.compile(f)
    for _ in range(2):
        same(compiled(*arguments, scale=scale), f(*arguments, scale=scale))
    assert compiled.cache_info().misses == 1


def test_keywords_defaults_and_order():
    f = xla.compile(lambda x, y=2.0, *, z=1: x * y + z)
    x = np.arange(3.0)
    for _ in range(2):
        same(f(x), x * 2.0 + 1)
        same(f(x, 3.0), x * 3.0 + 1)
        same(f(x, z=4, y=5.0), x * 5.0 + 4)
        same(f(x=x, y=x), x * x + 1)
    g = xla.compile(lambda d: d["p"] - d["q"])
    same(g({"p": x, "q": 1.0}), x - 1.0)
    same(g({"q": 1.0, "p": x}), x - 1.0)
    assert g.cache_info().signatures == 1


def test_static_arguments_are_constants():
    @xla.compile(static_argnums=1, static_argnames="mode")
    def f(x, n, mode="sum"):
        y = np.stack([x] * n)
        return y.sum(axis=0) if mode == "sum" else y.prod(axis=0)

    x = np.array([2.0, 3.0])
    for _ in range(2):
        same(f(x, 3), 3 * x)
        same(f(x, n=3), 3 * x)
        same(f(x, 2, mode="prod"), x**2)
        same(f(x, 2, "prod"), x**2)
    power = xla.compile(lambda x, g: g(x), static_argnums=1)
    same(power(x, np.sqrt), np.sqrt(x))
    same(power(x, np.exp), np.exp(x))
    # 2 and 2.0 and True are equal and hash alike, but are different constants.
    kind = xla.compile(lambda x, c: x * c, static_argnums=1)
    ones = np.ones(2, np.int64)
    for constant in (1, 1.0, True):
        same(kind(ones, constant), ones * constant)


def test_methods_and_nested_compiled_functions():
    class Model:
        def __init__(self, w):
            self.w = w

        @xla.compile(static_argnums=0)
        def __call__(self, x):
            return helper(x) @ self.w

    @xla.compile
    def helper(x):
        if x.sum() > 0:
            return x
        return -x

    model = Model(np.ones((3, 2)))
    same(model(np.ones((1, 3))), np.full((1, 2), 3.0))
    same(model(-np.ones((1, 3))), np.full((1, 2), 3.0))


def test_signatures_differ_by_type_shape_and_weakness():
    f = xla.compile(lambda x: x + 1)
    for argument in (1, 1.0, np.float64(1), np.int32(1), np.ones(1), np.ones((1, 1)), np.ones(1, np.float32)):
        same(f(argument), argument + 1)
        same(f(argument), argument + 1)
    assert f.cache_info().signatures == 7


def test_scalars_come_back_as_scalars():
    got = xla.compile(lambda x: (x.sum(), x.max() > 1, x.argmax()))(np.arange(3.0))
    assert [type(g) for g in got] == [np.float64, np.bool_, np.int64]


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ml_dtypes.bfloat16]
)
def test_every_type_goes_in_and_out(dtype):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    f = xla.compile(lambda x: (x, x.T, x[0], x[1, 2]))
    for got, want in zip(f(x), (x, x.T, x[0], x[1, 2])):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_empty_arrays_and_no_arguments():
    same(xla.compile(lambda: np.float32(3) * 2)(), np.float32(6))
    same(xla.compile(lambda x: (x + 1, x.sum(), x.T))(np.ones((0, 3))), (np.ones((0, 3)), 0.0, np.ones((3, 0))))
    assert xla.compile(lambda x: None)(np.ones(2)) is None
    assert xla.compile(lambda x: ())(np.ones(2)) == ()


INDICES = [
    np.s_[1],
    np.s_[-1, 2],
    np.s_[1:3],
    np.s_[::-1],
    np.s_[::2, 1:],
    np.s_[-2::-2, ..., 0],
    np.s_[..., None],
    np.s_[None, 1, :, None, ::3],
    np.s_[2:2],
    np.s_[[0, 2, 0]],
    np.s_[np.array([[0, 1], [2, 0]])],
    np.s_[:, [1, 0]],
    np.s_[[0, 1], [1, 2]],
    np.s_[[0, 1], :, [1, 2]],
    np.s_[0, :, [1, 2]],
    np.s_[:, [0, -1], [1, -2]],
    np.s_[..., [0, 1], None],
    np.s_[np.array([True, False, True])],
    np.s_[:, np.array([True, False, True, True])],
    np.s_[np.array([], int)],
    np.s_[np.int32(1), np.uint8(2)],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_beside_numpy(index):
    x = np.arange(60.0).reshape(3, 4, 5)

    def f(x):
        y, z = x.copy(), x * 2
        y[index] = -1
        z[index] += z[index] * 2
        return x[index], y, z

    same(xla.compile(f)(x), f(x))


@pytest.mark.parametrize("i,j", [(0, 1), (2, 3), (-1, -4)])
def test_traced_indices(i, j):
    x = np.arange(60.0).reshape(3, 4, 5)

    def f(x, i, j, many):
        y = x.copy()
        y[i, j] = 0
        y[i][j] = 1
        y[:, j, 1:3] += 10
        y[many] *= 2
        return x[i], x[i, j], x[..., j, :], x[many], x[many, j], x[:, many[:, None], many], y

    many = np.array([0, 2, -1])
    same(xla.compile(f)(x, i, j, many), f(x, i, j, many))


def test_masks_of_fixed_shape():
    def f(x, y):
        a, b, c = x.copy(), x.copy(), x.copy()
        a[x > 0] = 0
        b[x > 0] = y[x > 0] ** 2 + x[x > 0]
        mask = x[:, 0] > 0
        c[mask] += 1
        positive = x > 0
        a[~positive] -= y[~positive]
        b[b > 100] *= 2
        return a, b, c, x[positive].sum(), x[positive].mean(), x[positive].max(), x[positive].size

    def g(x, y):
        return x[x > 0] + y[y > 0]

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    same(xla.compile(f)(x, y), f(x, y))
    with pytest.raises(xla.DataDependentShapeError, match="two arrays chosen by different masks"):
        xla.compile(g)(x, y)


def test_views_follow_numpy():
    def f(x):
        y = x.copy()
        rows, flipped, turned = y[1:], y[::-1], y.T
        rows[0] = 0
        flipped[0, :2] = 5
        turned[2] += 1
        flat = y.reshape(-1)
        flat[3] = -7
        copied = y.flatten()
        copied[0] = 100
        y.real[0, 0] = 8
        z = (x * 1j).copy()
        z.imag[1] = 3
        z.real += 1
        a = b = x + 1
        b += 1
        return y, rows, flipped, turned, flat, copied, z, a

    same(xla.compile(f)(np.arange(12.0).reshape(3, 4)), f(np.arange(12.0).reshape(3, 4)))


def test_platforms_threads_and_options_give_the_same():
    function = lambda x: np.sin(x).sum() + x
    x = np.linspace(0, 1, 50)
    for options in ({"platform": "interpreter"}, {"threads": 1}, {"options": {"disabled_passes": ["all"]}}):
        same(xla.compile(**options)(function)(x), function(x))
