"""Functions of Python that compiled programs call."""

import jax
import numpy as np
from jax import lax

X = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)


def cases():
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
    yield "pure_callback", lambda: jax.jit(lambda x: jax.pure_callback(lambda y: np.sin(y), shape, x) + 1)(X)
    yield "pure_callback_vmap", lambda: jax.vmap(
        lambda x: jax.pure_callback(
            lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct((4,), X.dtype), x, vmap_method="sequential"
        )
    )(X)
    yield "pure_callback_vmap_expand", lambda: jax.vmap(
        lambda x: jax.pure_callback(
            lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct((4,), X.dtype), x, vmap_method="expand_dims"
        )
    )(X)
    yield "pure_callback_many", lambda: jax.jit(
        lambda x: jax.pure_callback(
            lambda y: (np.asarray(y).sum(1), np.int32(7)),
            (jax.ShapeDtypeStruct((3,), X.dtype), jax.ShapeDtypeStruct((), "int32")),
            x,
        )
    )(X)

    def io_in_scan():
        seen = []

        def body(c, x):
            jax.experimental.io_callback(lambda y: seen.append(float(y)), None, x.sum(), ordered=True)
            return c + 1, x

        out = jax.jit(lambda: lax.scan(body, 0, X))()
        jax.effects_barrier()
        return [out, np.array(seen)]

    yield "io_callback_scan", io_in_scan

    def debug():
        seen = []
        jax.jit(lambda x: jax.debug.callback(lambda y: seen.append(np.asarray(y)), x * 2))(X)
        jax.effects_barrier()
        return seen

    yield "debug_callback", debug

    def raises():
        def bad(x):
            raise ValueError("from the callback")

        return jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(bad, shape, x))(X))

    yield "callback_raises", raises

    def ordered():
        seen = []
        f = jax.jit(lambda x: (jax.debug.callback(lambda y: seen.append(float(y)), x, ordered=True), x + 1)[1])
        for i in range(4):
            f(float(i))
        jax.effects_barrier()
        return [np.array(seen)]

    yield "ordered_effects", ordered
