"""Programs that JAX exports with symbolic sizes, as `jax.export` and as text or bytecode, run by the tool with arrays of
several sizes beside JAX's own run.

Usage: python open_sizes.py XLA
Ends with `N passed, N failed`; the exit status is 1 if any failed.
"""

import os
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

RNG = np.random.RandomState(7)
F32, I32 = np.float32, np.int32


def rand(*shape):
    return RNG.rand(*shape).astype(F32)


# Models.

LAYERS = [(rand(4, 8), rand(8)), (rand(8, 3), rand(3))]


def network(x):
    for w, b in LAYERS:
        x = jax.nn.gelu(x @ w + b)
    return jax.nn.softmax(x), jnp.mean(x, axis=0)


def training_step(x, y):
    def loss(layers):
        h = x
        for w, b in layers:
            h = jnp.tanh(h @ w + b)
        return jnp.mean((h - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(LAYERS)
    return value, [w - 0.1 * g for (w, _), (g, _) in zip(LAYERS, gradients)]


def normalize(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


QKV, OUT, EMBEDDING = rand(8, 24) - 0.5, rand(8, 8) - 0.5, rand(20, 8) - 0.5


def transformer(tokens):
    """A causal block of two heads over an embedding: batch and length are open."""
    x = jnp.asarray(EMBEDDING)[tokens]
    b, t, d = x.shape
    x = x + jnp.sin(jnp.arange(t, dtype=F32))[:, None]
    q, k, v = (p.reshape(b, t, 2, d // 2).transpose(0, 2, 1, 3) for p in jnp.split(normalize(x) @ QKV, 3, -1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(d / 2).astype(F32)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    y = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)
    x = x + y.transpose(0, 2, 1, 3).reshape(b, t, d) @ OUT
    return normalize(x) @ EMBEDDING.T, jnp.argmax(x[:, -1], -1)


KERNELS = rand(3, 3, 3, 4) - 0.5, rand(3, 3, 4, 5) - 0.5


def convnet(x):
    """Height and width are open too: padding depends on them."""
    for kernel in KERNELS:
        x = lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x)
    pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    return pooled, x.mean((1, 2))


def recurrent(x):
    def step(h, row):
        h = jnp.tanh(h @ OUT + row)
        return h, h.sum(-1)

    return lax.scan(step, jnp.zeros((x.shape[0], 8)), x.transpose(1, 0, 2))


# Operations.


def loops(x):
    y = lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] - (s[1] ** 2 - x) / (2 * s[1])), (0, x + 1))[1]
    z = lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i], jnp.zeros(x.shape[1:]))
    return y, z, lax.cond(x.sum() > 3, lambda: jnp.ones((x.shape[0], 2)) * x[0, 0], lambda: jnp.zeros((x.shape[0], 2)))


def shapes(x):
    b, t = x.shape
    return (
        x.reshape(-1, 2),
        x.reshape(b, t // 2, 2).sum(1),
        x[:, ::2],
        x[:, 1:],
        jnp.concatenate([x, x[::-1]], 0),
        jnp.pad(x, ((1, b), (0, t))),
        jnp.broadcast_to(x[None], (t, b, t)),
        jnp.tile(x, (2, 1)),
        jnp.roll(x, 1, 0),
        x.T @ x,
        jnp.full((b + t, 2), b * t - 1),
        jnp.stack([x, x], 1),
    )


def order(x, i):
    return (
        jnp.sort(x, 0),
        jnp.argsort(x, 1),
        lax.top_k(x, 2),
        lax.top_k(x, x.shape[1] - 1),
        jnp.cumsum(x, 1),
        lax.cummax(x, axis=0),
        x[i],
        x.at[i].add(1.0),
        jnp.take_along_axis(x, i[:, None] % x.shape[1], 1),
        jax.ops.segment_sum(x, i, num_segments=x.shape[0]),
        jax.nn.one_hot(i, x.shape[1]),
        lax.dynamic_slice(x, (i[0], 0), (1, x.shape[1])),
    )


def numbers(x):
    n = x.shape[0]
    key = jax.random.key(3)
    return (
        jnp.arange(n) * 2,
        jnp.linspace(0.0, 1.0, n),
        x * n + (n // 3) - n % 2,
        jax.random.normal(key, x.shape),
        jax.random.bernoulli(key, 0.3, (n,)),
        jnp.eye(n),
    )


def random_bits(x):
    return lax.rng_bit_generator(np.arange(4, dtype=np.uint32), x.shape, np.uint32)[1]


def factorizations(x):
    a = jnp.einsum("bij,bkj->bik", x, x) + jnp.eye(x.shape[1])
    return jnp.linalg.cholesky(a), jnp.linalg.solve(a, x), jnp.abs(jnp.linalg.qr(a)[1])


def windows(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, x.shape[0]), (1, 1), "SAME"), lax.reduce_window(
        x, 0.0, lax.add, (2, 2), (1, 2), ((0, 0), (1, x.shape[1]))
    )


def nested(x):
    inner = jax.jit(lambda a: jnp.tanh(a).reshape(-1))
    return inner(x), inner(x[:, 1:]), inner(x.T), jax.vmap(lambda row: row / row.sum())(x)


def special(x):
    return lax.lgamma(x + 1), jax.nn.softplus(x), lax.erf_inv(x), jnp.round(x * 4).astype(jnp.bfloat16) > 2


def scattered(x, i):
    return x.at[:, i].mul(2.0), x.at[i % x.shape[0]].set(0.0), jnp.zeros_like(x).at[i % x.shape[0], i].max(x[0])


def lstm(x):
    """The states, and the gradient through all steps."""

    def cell(state, row):
        h, c = state
        gates = (row + h) @ OUT
        c = jax.nn.sigmoid(-gates) * c + jax.nn.sigmoid(gates) * jnp.tanh(gates)
        return (jnp.tanh(c), c), c

    start = jnp.zeros((x.shape[0], 8)), jnp.zeros((x.shape[0], 8))
    run = lambda x: lax.scan(cell, start, x.transpose(1, 0, 2))
    return run(x), jax.grad(lambda x: run(x)[1].sum())(x)


def decode(x):
    """Steps of attention over a cache of the open length."""
    b, t, _ = x.shape

    def step(i, state):
        cache, q = state
        cache = lax.dynamic_update_slice(cache, q[:, None], (0, i, 0))
        scores = jnp.where(jnp.arange(t) <= i, jnp.einsum("bd,btd->bt", q, cache), -1e9)
        return cache, jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), cache) @ OUT

    return lax.fori_loop(0, t, step, (jnp.zeros((b, t, 8)), x[:, 0]))


def images(x):
    b, h, w, c = x.shape
    kernel = jnp.ones((3, 3, c, 2)) * 0.1
    numbers = ("NHWC", "HWIO", "NHWC")
    return (
        jax.image.resize(x, (b, h * 2, w * 2, c), "bilinear"),
        lax.conv_transpose(x, kernel, (2, 2), "SAME", dimension_numbers=numbers),
        lax.conv_general_dilated(
            x, jnp.ones((3, 3, 1, 2 * c)), (1, 1), "SAME", feature_group_count=c, dimension_numbers=numbers
        ),
    )


def platform(x):
    """The branches for other platforms hold calls that are unknown on this one."""
    return lax.platform_dependent(x, cuda=lambda a: lax.approx_max_k(a, 2)[0].sum(1), cpu=lambda a: jnp.sin(a).sum(1))


def approximate(x):
    return lax.approx_max_k(x, 3), lax.approx_max_k(x, x.shape[1] - 1)


BT = "b, 2*t"
PROGRAMS = [
    (network, [("b, 4", F32)], [{"b": 1}, {"b": 7}, {"b": 64}]),
    (training_step, [("b, 4", F32), ("b, 3", F32)], [{"b": 2}, {"b": 9}]),
    (transformer, [("b, t", I32)], [{"b": 1, "t": 5}, {"b": 3, "t": 12}]),
    (convnet, [("b, 4*h, 4*w, 3", F32)], [{"b": 1, "h": 2, "w": 3}, {"b": 3, "h": 4, "w": 2}]),
    (recurrent, [("b, t, 8", F32)], [{"b": 1, "t": 1}, {"b": 3, "t": 6}]),
    (loops, [("b, t", F32)], [{"b": 1, "t": 1}, {"b": 4, "t": 3}]),
    (shapes, [(BT, F32)], [{"b": 1, "t": 1}, {"b": 3, "t": 4}]),
    (order, [("b + 2, t + 2", F32), ("b + 2", I32)], [{"b": 1, "t": 1}, {"b": 3, "t": 6}]),
    (numbers, [("n + 1, 2", F32)], [{"n": 1}, {"n": 6}]),
    (random_bits, [("n, m", F32)], [{"n": 2, "m": 3}, {"n": 5, "m": 1}]),
    (factorizations, [("b, 3, 3", F32)], [{"b": 1}, {"b": 4}]),
    (windows, [("b + 1, t + 1", F32)], [{"b": 1, "t": 3}, {"b": 4, "t": 6}]),
    (nested, [("b, t + 1", F32)], [{"b": 2, "t": 2}, {"b": 5, "t": 3}]),
    (special, [("b", F32)], [{"b": 1}, {"b": 5}]),
    (scattered, [("b, t", F32), ("t", I32)], [{"b": 3, "t": 3}]),
    (lstm, [("b, t, 8", F32)], [{"b": 2, "t": 4}, {"b": 1, "t": 1}]),
    (decode, [("b, t, 8", F32)], [{"b": 1, "t": 6}, {"b": 3, "t": 2}]),
    (platform, [("b, t + 1", F32)], [{"b": 1, "t": 2}, {"b": 3, "t": 1}]),
    (approximate, [("b, t + 4", F32)], [{"b": 1, "t": 2}, {"b": 3, "t": 1}]),
    (images, [("b, h, w, 3", F32)], [{"b": 1, "h": 3, "w": 4}, {"b": 3, "h": 4, "w": 5}]),
]


def arguments(specs, sizes):
    values = []
    for spec, dtype in specs:
        shape = [eval(size, {}, dict(sizes)) for size in spec.split(",")]
        values.append(rand(*shape) if dtype is F32 else RNG.randint(0, min(shape), shape).astype(dtype))
    return values


def differences(got, want):
    want = np.asarray(want)
    if got.shape != want.shape:
        return "shape %s, expected %s" % (got.shape, want.shape)
    if got.dtype != want.dtype:
        return "type %s, expected %s" % (got.dtype, want.dtype)
    if np.issubdtype(want.dtype, np.floating):
        return "" if np.allclose(got, want, rtol=1e-4, atol=1e-5) else "off by %g" % np.max(np.abs(got - want))
    return "" if np.array_equal(got, want) else "%d elements differ" % np.sum(got != want)


def run(tool, path, values, folder, *flags):
    """What the program gives for arrays whose files say their shapes, or the tool's message."""
    inputs, outputs = os.path.join(folder, "in"), os.path.join(folder, "out")
    os.makedirs(inputs, exist_ok=True)
    for i, value in enumerate(values):
        np.save("%s/%d.npy" % (inputs, i), value)
    command = [tool, "replay", path, "--inputs=" + inputs, "--output_dir=" + outputs, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stdout + done.stderr
    return [np.load("%s/%d.npy" % (outputs, i)) for i in range(len(os.listdir(outputs)))]


def forms(exported, folder, name):
    for suffix, content in [
        (".exported", exported.serialize()),
        (".mlirbc", exported.mlir_module_serialized),
        (".mlir", exported.mlir_module().encode()),
    ]:
        # By itself a module for several platforms takes the number of one as an argument.
        if len(exported.platforms) == 1 or suffix == ".exported":
            path = os.path.join(folder, name + suffix)
            with open(path, "wb") as file:
                file.write(content)
            yield path


def tests(tool, folder):
    for i, (function, specs, cases) in enumerate(PROGRAMS):
        name = function.__name__
        scope = export.SymbolicScope()
        args = [jax.ShapeDtypeStruct(export.symbolic_shape(spec, scope=scope), dtype) for spec, dtype in specs]
        platforms = ["cpu"] if i % 2 == 0 else ["cuda", "cpu"]
        paths = list(forms(export.export(jax.jit(function), platforms=platforms)(*args), folder, name))
        for j, sizes in enumerate(cases):
            values = arguments(specs, sizes)
            want = jax.tree_util.tree_leaves(jax.jit(function)(*values))
            path = paths[j % len(paths)]
            label = "%s %s" % (os.path.basename(path), sizes)
            where = os.path.join(folder, "%s_%d" % (name, j))
            got = run(tool, path, values, where, "--against=interpreter")
            if isinstance(got, str):
                yield label, got
                continue
            if len(got) != len(want):
                yield label, "%d results, expected %d" % (len(got), len(want))
                continue
            wrong = ["result %d: %s" % (k, d) for k, (g, w) in enumerate(zip(got, want)) if (d := differences(g, w))]
            yield label, "; ".join(wrong)
    yield from refusals(tool, folder)


def refusals(tool, folder):
    """What does not fit the symbolic shapes gets the message that JAX gave the module for it."""
    b, t = export.symbolic_shape("b, t")
    args = [jax.ShapeDtypeStruct((b, 2 * t), F32), jax.ShapeDtypeStruct((b, 3), F32)]
    exported = export.export(jax.jit(lambda x, y: (x.sum(1) + y[:, 0], x.reshape(b, t, 2))), platforms=["cpu"])(*args)
    path = next(forms(exported, folder, "refused"))
    for values, words in [
        ([rand(2, 5), rand(2, 3)], "Division had remainder 1 when computing the value of 't'"),
        ([rand(2, 4), rand(3, 3)], "Found inconsistency between dimension size args[1].shape[0] (= 3) and"),
        ([rand(0, 4), rand(0, 3)], "Expected value >= 1 for dimension variable 'b'"),
        ([rand(2, 4), rand(2, 4)], "is f32[?,3], but its shape is given as f32[2,4]"),
        ([rand(2, 4)], "1.npy"),
    ]:
        got = run(tool, path, values, os.path.join(folder, "refused_%d" % len(words)))
        shape = " ".join(str(value.shape) for value in values)
        yield "refused " + shape, "" if isinstance(got, str) and words in got else "expected %r, got %r" % (words, got)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, wrong in tests(os.path.abspath(sys.argv[1]), folder):
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print("FAILED %s: %s" % (name, wrong))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
