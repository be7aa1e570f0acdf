"""Callbacks of every kind and type, checks of numbers, precisions, threads."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from suite_arrays import DTYPES

X = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)


def effects():
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype)

    def gathered(f, *arguments):
        seen = []
        out = f(seen, *arguments)
        jax.effects_barrier()
        return [out, [np.asarray(s) for s in seen]]

    yield "debug_callback_vmap", lambda: gathered(
        lambda seen: jax.vmap(lambda x: jax.debug.callback(lambda y: seen.append(y), x.sum()))(X)
    )
    yield "debug_callback_scan", lambda: gathered(
        lambda seen: lax.scan(
            lambda c, x: (jax.debug.callback(lambda y: seen.append(y), x, ordered=True), (c, x))[1], 0, X
        )
    )
    yield "debug_callback_while", lambda: gathered(
        lambda seen: lax.while_loop(
            lambda c: c < 3, lambda c: (jax.debug.callback(lambda y: seen.append(y), c, ordered=True), c + 1)[1], 0
        )
    )
    yield "debug_callback_cond", lambda: gathered(
        lambda seen: jax.jit(
            lambda p: lax.cond(
                p,
                lambda: jax.debug.callback(lambda: seen.append(1), ordered=True),
                lambda: jax.debug.callback(lambda: seen.append(2), ordered=True),
            )
        )(True)
    )
    yield "debug_callback_grad", lambda: gathered(
        lambda seen: jax.grad(lambda x: (jax.debug.callback(lambda y: seen.append(y), x, ordered=True), x * x)[1])(3.0)
    )
    yield "debug_print", lambda: str(jax.jit(lambda x: jax.debug.print("{x}", x=x))(1.0))
    yield "io_callback", lambda: jax.jit(lambda x: jax.experimental.io_callback(np.sin, shape, x))(X)
    yield "io_callback_ordered", lambda: gathered(
        lambda seen: jax.jit(
            lambda: [jax.experimental.io_callback(lambda i: seen.append(i), None, i, ordered=True) for i in range(5)]
        )()
    )
    yield "io_callback_vmap", lambda: gathered(
        lambda seen: jax.vmap(
            lambda x: jax.experimental.io_callback(lambda y: np.float32(y.sum()), jax.ShapeDtypeStruct((), X.dtype), x)
        )(X)
    )
    for method in ("sequential", "expand_dims", "broadcast_all", "sequential_unrolled", "legacy_vectorized"):
        yield f"pure_callback_{method}", lambda m=method: jax.vmap(
            lambda x, y: jax.pure_callback(
                lambda a, b: np.asarray(a) * np.asarray(b), jax.ShapeDtypeStruct((4,), X.dtype), x, y, vmap_method=m
            ),
            in_axes=(0, None),
        )(X, X[0])
    yield "pure_callback_no_vmap", lambda: jax.vmap(
        lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((4,), X.dtype), x)
    )(X)
    yield "pure_callback_no_grad", lambda: jax.grad(lambda x: jax.pure_callback(np.sin, shape, x).sum())(X)
    for name in DTYPES:
        values = np.arange(4).astype(jnp.dtype(name))
        yield f"pure_callback_{name}", lambda v=values: jax.jit(
            lambda x: jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct((4,), v.dtype), x)
        )(v)
    yield "pure_callback_scalar", lambda: jax.jit(
        lambda x: jax.pure_callback(lambda y: 3, jax.ShapeDtypeStruct((), "int64"), x)
    )(X)
    yield "pure_callback_wrong_shape", lambda: jax.block_until_ready(
        jax.jit(lambda x: jax.pure_callback(lambda y: np.zeros(7, "float32"), shape, x))(X)
    )
    yield "pure_callback_wrong_type", lambda: jax.block_until_ready(
        jax.jit(lambda x: jax.pure_callback(lambda y: np.asarray(y).astype("int32"), shape, x))(X)
    )
    yield "pure_callback_wrong_count", lambda: jax.block_until_ready(
        jax.jit(lambda x: jax.pure_callback(lambda y: (y, y), shape, x))(X)
    )
    yield "pure_callback_none", lambda: jax.block_until_ready(
        jax.jit(lambda x: jax.pure_callback(lambda y: None, shape, x))(X)
    )
    yield "pure_callback_empty", lambda: jax.jit(
        lambda x: jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct((0, 3), X.dtype), x)
    )(X[:0, :3])
    yield "pure_callback_noncontiguous", lambda: jax.jit(
        lambda x: jax.pure_callback(lambda y: np.asarray(y).T[::-1].T, shape, x)
    )(X)
    yield "pure_callback_calls_jax", lambda: jax.jit(lambda x: jax.pure_callback(lambda y: jnp.sin(y) + 1, shape, x))(X)
    yield "pure_callback_tree", lambda: jax.jit(
        lambda x: jax.pure_callback(lambda t: {"a": t["x"], "b": [t["x"] * 2]}, {"a": shape, "b": [shape]}, {"x": x})
    )(X)
    yield "pure_callback_is_jax_array", lambda: gathered(
        lambda seen: jax.jit(
            lambda x: jax.pure_callback(lambda y: (seen.append(isinstance(y, jax.Array)), y)[1], shape, x)
        )(X)
    )
    yield "callback_exception", lambda: jax.block_until_ready(
        jax.jit(lambda x: jax.experimental.io_callback(lambda y: 1 / 0, shape, x))(X)
    )

    def debug_exception():
        jax.jit(lambda x: jax.debug.callback(lambda y: 1 / 0, x))(X)
        jax.effects_barrier()

    yield "debug_exception", debug_exception


def debugging():
    def with_setting(name, work):
        setting = getattr(jax, name)
        with setting(True):
            return work()

    yield "nans_jit", lambda: with_setting("debug_nans", lambda: jax.jit(jnp.log)(-X))
    yield "nans_fine", lambda: with_setting("debug_nans", lambda: jax.jit(jnp.sin)(X))
    yield "nans_grad", lambda: with_setting("debug_nans", lambda: jax.grad(lambda x: jnp.sqrt(x - 1))(1.0) * 0)
    yield "infs_jit", lambda: with_setting("debug_infs", lambda: jax.jit(lambda x: 1 / x)(jnp.zeros(3)))
    yield "infs_eager", lambda: with_setting("debug_infs", lambda: jnp.ones(2) / jnp.zeros(2))
    yield "log_compiles", lambda: with_setting("log_compiles", lambda: jax.jit(jnp.sin)(X))
    yield "no_tracing", lambda: with_setting("no_tracing", lambda: jax.jit(lambda x: x + 17)(X))
    yield "transfer_guard", lambda: (lambda g: (g.__enter__(), jnp.sin(X), g.__exit__(None, None, None)))(
        jax.transfer_guard("disallow")
    )[1]
    yield "transfer_guard_to_host", lambda: [
        str(type(jax.transfer_guard_device_to_host("disallow_explicit")).__name__),
    ]
    for precision in ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"):
        yield f"matmul_precision_{precision}", lambda p=precision: jax.jit(lambda x: jax.lax.dot(x, x.T, precision=p))(
            X
        )
    for algorithm in lax.DotAlgorithmPreset:
        yield f"dot_algorithm_{algorithm.name}", lambda a=algorithm: jax.jit(
            lambda x: lax.dot_general(x, x.T, (((1,), (0,)), ((), ())), precision=a)
        )(X)


def threads():
    from concurrent.futures import ThreadPoolExecutor

    def work(i):
        f = jax.jit(lambda x: jnp.tanh(x @ x.T * (i % 4)) + i)
        return [f(X + j) for j in range(5)]

    def many():
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(work, range(16)))

    yield "threads", many

    def called_back():
        shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
        f = jax.jit(lambda x: jax.pure_callback(lambda y: np.asarray(y) * 2, shape, x) + 1)
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda i: f(X + i), range(32)))

    yield "threads_callbacks", called_back

    def profiled():
        shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
        f = jax.jit(lambda x: jax.pure_callback(lambda y: jax.jit(jnp.sin)(y) + 1, shape, x))
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda i: f(X + i), range(8)))

    yield "threads_callbacks_jax", profiled

    def forked():
        jax.block_until_ready(jnp.sin(X))
        child = os.fork()
        if child == 0:
            os._exit(3)
        return str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    yield "fork", forked


def cases():
    for group in (effects, debugging, threads):
        yield from group()
