"""Random programs with NumPy at random sizes: code for all sizes gives NumPy's results at each. By hand for longer:
XC_SIZES_PROGRAMS=2000 XC_SIZES_SEED=7 run this file as a test."""

import os

import numpy as np

import xla

PROGRAMS = int(os.environ.get("XC_SIZES_PROGRAMS", "40"))
SEED = int(os.environ.get("XC_SIZES_SEED", "1"))
SIZES = [(7, 11), (3, 64), (16, 16), (2, 33), (40, 5), (5, 130)]

UNARY = [
    lambda v: np.tanh(v),
    lambda v: v * 0.5 + 1,
    lambda v: np.abs(v),
    lambda v: np.exp(-v * v),
    lambda v: np.maximum(v, 0.1),
    lambda v: np.where(v > 0, v, -0.5 * v),
    lambda v: v[::-1],
    lambda v: v[..., ::-1],
    lambda v: np.sort(v, axis=-1),
    lambda v: np.cumsum(v, axis=-1) * 0.1,
    lambda v: np.roll(v, 1, axis=0),
    lambda v: v - v.mean(axis=-1, keepdims=True),
    lambda v: v / (1 + np.abs(v).sum(axis=0, keepdims=True)),
    lambda v: v * v.max(),
    lambda v: np.concatenate([v[1:], v[:1]], axis=0),
    lambda v: np.pad(v[:, 1:], ((0, 0), (1, 0))),
    lambda v: v.reshape(-1).reshape(v.shape),
    lambda v: v.T.copy().T,
    lambda v: v + np.arange(v.shape[1]) * 0.01,
    lambda v: np.take_along_axis(v, np.argsort(v, axis=1), axis=1),
]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: np.minimum(a, b),
    lambda a, b: a - b.mean(axis=0),
    lambda a, b: np.where(a < b, a, b),
    lambda a, b: (a @ b.T) @ b / (1 + b.size),
    lambda a, b: np.concatenate([a, b], axis=1)[:, : a.shape[1]],
    lambda a, b: np.concatenate([a, b], axis=0)[1 : a.shape[0] + 1],
]
LAST = [
    lambda v: v,
    lambda v: v.sum(axis=1),
    lambda v: v.max(axis=0),
    lambda v: v.mean(),
    lambda v: v.T,
    lambda v: v.reshape(-1),
    lambda v: np.stack([v, v * 2], axis=-1),
]


def make(rng):
    """A program of x and y [b, n] and z [n]."""
    steps = []
    for _ in range(rng.integers(2, 7)):
        table = UNARY if rng.random() < 0.6 else BINARY
        steps.append((table[rng.integers(len(table))], rng.integers(0, 100, 2), table is UNARY))
    last = LAST[rng.integers(len(LAST))]

    def program(x, y, z):
        values = [x, y, x * z]
        for step, which, unary in steps:
            # Mostly what was made last.
            a = values[-1 - which[0] % 2]
            values.append(step(a) if unary else step(a, values[which[1] % len(values)]))
        return last(values[-1])

    return program


def test_random_programs_give_the_same_at_all_sizes():
    rng = np.random.default_rng(SEED)
    served = calls = 0
    for number in range(PROGRAMS):
        program = make(rng)
        f = xla.compile(program, dynamic=True)
        for b, n in SIZES:
            arguments = [rng.normal(size=s).astype(np.float32) for s in ((b, n), (b, n), (n,))]
            got, want = f(*arguments), program(*arguments)
            assert np.shape(got) == np.shape(want), (SEED, number, b, n)
            np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3, err_msg=f"{SEED}, {number}, {b}x{n}")
        served += f.explain().count("for all sizes")
        calls += len(SIZES)
    assert served >= 0.6 * calls, (served, calls)
