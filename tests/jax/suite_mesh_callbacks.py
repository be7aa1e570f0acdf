"""Functions of Python that programs on several devices call, within contexts of the caller. With --devices=8."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

X = np.arange(64.0, dtype="float32").reshape(8, 8) / 7
SHAPE = jax.ShapeDtypeStruct(X.shape, X.dtype)


def mesh(kind=AxisType.Auto):
    return jax.make_mesh((4, 2), ("x", "y"), axis_types=(kind, kind))


def sharded(m, spec=P("x")):
    return jax.device_put(X, NamedSharding(m, spec))


def within_meshes():
    """Operations of JAX within callbacks, while the caller has set a mesh."""
    for kind in (AxisType.Auto, AxisType.Explicit):
        name = kind.name.lower()

        def pure(kind=kind, f=lambda v: v * 2):
            with jax.set_mesh(m := mesh(kind)):
                y = jax.jit(lambda x: jax.pure_callback(f, SHAPE, x))(sharded(m))
                return [y, str([s.data.shape for s in y.addressable_shards])]

        yield f"pure_{name}", pure
        yield f"pure_jitted_{name}", lambda p=pure: p(f=jax.jit(lambda v: jnp.sin(v) @ v))
        yield f"pure_eager_{name}", lambda p=pure: p(f=lambda v: jnp.linalg.norm(v, axis=0) + jnp.asarray(v).T)

        def io(kind=kind, ordered=False):
            seen = []
            with jax.set_mesh(m := mesh(kind)):
                f = jax.jit(lambda x: (io_callback(lambda v: seen.append(v.sum() + 1), None, x, ordered=ordered), x)[1])
                f(sharded(m)).block_until_ready()
                jax.effects_barrier()
            return [np.asarray(s) for s in seen]

        yield f"io_{name}", io
        yield f"io_ordered_{name}", lambda i=io: i(ordered=True) if jax.device_count() == 1 else i()

        def debug(kind=kind):
            seen = []
            with jax.set_mesh(m := mesh(kind)):
                f = jax.jit(lambda x: (jax.debug.callback(lambda v: seen.append(jnp.cumsum(v)), x), x + 1)[1])
                out = f(sharded(m, P("x", "y"))).block_until_ready()
                jax.effects_barrier()
            return [out, [np.asarray(s) for s in seen]]

        yield f"debug_{name}", debug

    def manual(f):
        m = mesh()
        with jax.set_mesh(m):
            body = jax.shard_map(
                lambda x: jax.pure_callback(f, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
                in_specs=P("x", "y"),
                out_specs=P("x", "y"),
            )
            return jax.jit(body)(sharded(m, P("x", "y")))

    yield "shard_map", lambda: manual(lambda v: v * 3 + jnp.sum(v))
    yield "shard_map_numpy", lambda: manual(lambda v: np.asarray(v) * 3)

    def old_mesh():
        with mesh() as m:
            return jax.jit(lambda x: jax.pure_callback(lambda v: v + 1, SHAPE, x))(sharded(m))

    yield "with_mesh", old_mesh
    yield "pmap", lambda: jax.pmap(
        lambda x: jax.pure_callback(lambda v: jnp.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    )(X)

    def settings():
        """What the caller has set for itself."""
        seen = []
        m = mesh()
        f = jax.jit(lambda x: jax.pure_callback(lambda v: (seen.append(read()), v)[1], SHAPE, x))
        read = lambda: (str(jax.config.jax_default_matmul_precision), jax.config.jax_debug_nans)
        with jax.default_matmul_precision("float32"), jax.debug_nans(True):
            f(sharded(m)).block_until_ready()
        return str(seen)

    yield "settings", settings


def control():
    m = mesh()
    spread = lambda: sharded(m)

    yield "in_loop", lambda: jax.jit(
        lambda x: lax.fori_loop(0, 9, lambda i, c: jax.pure_callback(lambda v: v * 1.5, SHAPE, c), x)
    )(spread())

    def raises():
        def bad(v):
            raise ValueError("from the callback")

        with jax.set_mesh(m):
            return jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(bad, SHAPE, x))(spread()))

    yield "raises", raises

    def told():
        """The message has what was raised, and where."""

        def the_function_that_fails(v):
            raise ValueError("from the callback")

        try:
            jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(the_function_that_fails, SHAPE, x))(spread()))
        except Exception as error:
            return str([part in str(error) for part in ("ValueError: from the", "in the_function_that_fails")])

    yield "raises_told", told

    def after():
        for _ in range(3):
            try:
                raises()
            except Exception:
                pass
        return jax.jit(lambda x: jax.pure_callback(lambda v: v * 2, SHAPE, x))(spread())

    yield "after_raised", after

    def at_once():
        """Callers on several threads, each with a context of its own."""
        f = jax.jit(lambda x: jax.pure_callback(lambda v: jnp.sin(v) * 2, SHAPE, x) + x)
        results = [None] * 6

        def call(i):
            with jax.set_mesh(m):
                for _ in range(10):
                    results[i] = np.asarray(f(spread()))

        threads = [threading.Thread(target=call, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    yield "at_once", at_once

    def lock():
        """A callback that waits for another thread of Python's."""

        def callback(v):
            done = threading.Event()
            threading.Thread(target=done.set).start()
            assert done.wait(20)
            return v

        return jax.jit(lambda x: jax.pure_callback(callback, SHAPE, x))(spread())

    yield "waits_for_python", lock

    def donated():
        f = jax.jit(lambda x: jax.pure_callback(lambda v: v * 2, SHAPE, x) + 1, donate_argnums=0)
        x = spread()
        return f(x)

    yield "donated", donated
    yield "grad", lambda: jax.jit(jax.grad(lambda x: called(x).sum()))(spread())


@jax.custom_jvp
def called(x):
    return jax.pure_callback(lambda v: jnp.sin(v), SHAPE, x)


@called.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return called(x), jax.pure_callback(lambda v: jnp.cos(v), SHAPE, x) * t


def cases():
    for group in (within_meshes, control):
        yield from group()
