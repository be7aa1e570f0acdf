"""Programs on several devices of one process: pmap, jit with shardings, shard_map. To be run with --devices=8."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

X = np.arange(8 * 4 * 6, dtype="float32").reshape(8, 4, 6) / 50


def mesh(*sizes):
    names = ("x", "y", "z")[: len(sizes)]
    count = int(np.prod(sizes))
    return jax.sharding.Mesh(np.array(jax.devices()[:count]).reshape(sizes), names)


def collectives():
    reductions = {"psum": lax.psum, "pmax": lax.pmax, "pmin": lax.pmin, "pmean": lax.pmean}
    for name, op in reductions.items():
        yield f"pmap_{name}", lambda op=op: jax.pmap(lambda x: op(x, "i"), axis_name="i")(X)
        yield f"pmap_groups_{name}", lambda op=op: jax.pmap(
            lambda x: op(x, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]), axis_name="i"
        )(X)
    p = lambda f: lambda: jax.pmap(f, axis_name="i")(X)
    yield "pmap_all_gather", p(lambda x: lax.all_gather(x, "i"))
    yield "pmap_all_gather_tiled", p(lambda x: lax.all_gather(x, "i", axis=1, tiled=True))
    yield "pmap_ppermute", p(lambda x: lax.ppermute(x, "i", [(i, (i + 1) % 8) for i in range(7)]))
    yield "pmap_pshuffle", p(lambda x: lax.pshuffle(x, "i", list(range(7, -1, -1))))
    yield "pmap_axis_index", p(lambda x: lax.axis_index("i") + x)
    yield "pmap_psum_scatter", lambda: jax.pmap(lambda x: lax.psum_scatter(x, "i", tiled=True), axis_name="i")(
        np.ones((8, 8, 3))
    )
    yield "pmap_all_to_all", lambda: jax.pmap(lambda x: lax.all_to_all(x, "i", 0, 1), axis_name="i")(
        np.arange(192.0).reshape(8, 8, 3)
    )
    yield "pmap_grad", lambda: jax.grad(
        lambda x: jax.pmap(lambda y: lax.psum(jnp.sin(y), "i"), axis_name="i")(x).sum()
    )(X)
    yield "pmap_scan", p(lambda x: lax.scan(lambda c, y: (c + lax.psum(y, "i"), c), jnp.zeros(6, "float32"), x))
    yield "pmap_static", lambda: jax.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(X, 3)
    yield "pmap_in_axes", lambda: jax.pmap(lambda x, y: x + y, in_axes=(0, None), out_axes=1)(X, 2.0)
    yield "pmap_fewer", lambda: jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(X[:3])


def sharded():
    f = lambda x, w: jnp.tanh(x.reshape(32, 6) @ w) @ w.T
    w = np.linspace(-1, 1, 48, dtype="float32").reshape(6, 8)
    for spec, other in (
        (P("x"), P()),
        (P("x", "y"), P("y")),
        (P(None, "x"), P(None, "y")),
        (P(("x", "y")), P("x", None)),
        (P(), P()),
    ):

        def run(spec=spec, other=other):
            m = mesh(4, 2)
            x = jax.device_put(
                X.reshape(8, 24)[:, :24].reshape(8, 24), NamedSharding(m, P("x") if spec != P() else P())
            )
            y = jax.device_put(w, NamedSharding(m, other if len(other) < 2 or other[1] is None else P(None, "y")))
            out = jax.jit(f)(x, y)
            return [out, str(out.shape), [np.asarray(s.data) for s in out.addressable_shards]][:2]

        yield f"jit_{spec}_{other}", run

    def out_sharding(spec):
        m = mesh(4, 2)
        out = jax.jit(lambda x: x * 2 + 1, out_shardings=NamedSharding(m, spec))(X)
        return [out, str(out.sharding.spec), [np.asarray(s.data) for s in out.addressable_shards]]

    for spec in (P("x"), P("x", "y"), P(None, "y"), P(("x", "y")), P("y", "x"), P()):
        yield f"out_{spec}", lambda s=spec: out_sharding(s)

    def constraint():
        m = mesh(4, 2)
        x = jax.device_put(X, NamedSharding(m, P("x")))
        out = jax.jit(lambda a: lax.with_sharding_constraint(jnp.sin(a), NamedSharding(m, P(None, "y"))) + 1)(x)
        return [out]

    yield "constraint", constraint

    def grad_step():
        m = mesh(8)
        x = jax.device_put(X.reshape(8, 24), NamedSharding(m, P("x")))
        v = jax.device_put(np.ones((24, 4), "float32") / 9, NamedSharding(m, P()))
        loss = lambda v, x: (jnp.tanh(x @ v) ** 2).mean()
        step = jax.jit(lambda v, x: v - 0.1 * jax.grad(loss)(v, x), donate_argnums=0)
        for _ in range(3):
            v = step(v, x)
        return [v, str(v.sharding.is_fully_replicated)]

    yield "data_parallel", grad_step
    yield "sharded_random", lambda: jax.jit(
        lambda: jax.random.normal(jax.random.key(0), (8, 4)), out_shardings=NamedSharding(mesh(8), P("x"))
    )()
    yield "reshard", lambda: jax.device_put(
        jax.device_put(X, NamedSharding(mesh(8), P("x"))), NamedSharding(mesh(4, 2), P(None, "x"))
    )


def manual():
    sm = lambda m, i, o, f: jax.jit(jax.shard_map(f, mesh=m, in_specs=i, out_specs=o))
    yield "shard_map_psum", lambda: sm(mesh(8), P("x"), P(), lambda x: lax.psum(x, "x"))(X)
    yield "shard_map_gather", lambda: sm(mesh(4, 2), P("x", "y"), P("x"), lambda x: lax.psum(x, "y"))(X)
    yield "shard_map_matmul", lambda: sm(
        mesh(4, 2), (P("x", "y"), P("y", None)), P("x", None), lambda a, b: lax.psum(a @ b, "y")
    )(X.reshape(8, 24), np.ones((24, 3), "float32"))
    yield "shard_map_permute", lambda: sm(
        mesh(8), P("x"), P("x"), lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
    )(X)
    yield "shard_map_index", lambda: sm(
        mesh(4, 2), P("x", "y"), P("x", "y"), lambda x: x + lax.axis_index("x") * 10 + lax.axis_index("y")
    )(X)
    yield "shard_map_all_to_all", lambda: sm(
        mesh(8), P(None, "x"), P("x"), lambda x: lax.all_to_all(x, "x", 0, 1, tiled=True)
    )(np.arange(128.0).reshape(8, 16))
    yield "shard_map_scatter", lambda: sm(mesh(8), P(), P("x"), lambda x: lax.psum_scatter(x, "x", tiled=True))(X)
    yield "shard_map_grad", lambda: jax.grad(
        lambda x: sm(mesh(8), P("x"), P(), lambda y: lax.psum(jnp.sin(y).sum(), "x"))(x)
    )(X)
    yield "shard_map_scan", lambda: sm(
        mesh(8),
        P("x"),
        P("x"),
        lambda x: lax.scan(lambda c, y: (c + lax.pmax(y, "x"), c), jnp.zeros((6,), "float32") + 0 * x[0, 0], x[0])[1][
            None
        ],
    )(X)


def propagated():
    """Results that nothing is said of: operands that lie differently, dimensions that change, open constraints."""
    m = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    values = np.arange(64, dtype="float32").reshape(8, 8) / 7
    put = lambda spec: jax.device_put(values, NamedSharding(m, spec))

    def run(f, *specs):
        out = jax.jit(f)(*[put(spec) for spec in specs])
        return [out, str(out.sharding.spec)]

    count = 0
    specs = (P("x"), P("y"), P("x", "y"), P("y", "x"), P(None, "x"))
    for one in specs:
        for other in specs:
            yield f"add_{one}_{other}", lambda a=one, b=other: run(jnp.add, a, b)
            yield f"join_{one}_{other}", lambda a=one, b=other: run(lambda x, y: jnp.concatenate([x, y], 1), a, b)
        yield f"transposed_{one}", lambda a=one: run(lambda x: x + x.T, a)
        yield f"roll_{one}", lambda a=one: run(lambda x: jnp.roll(x, 1, 0), a)
        yield f"roll_last_{one}", lambda a=one: run(lambda x: jnp.roll(x, 3, 1), a)
        yield f"fft_{one}", lambda a=one: run(lambda x: jnp.fft.fft(x).real, a)
        yield f"scanned_{one}", lambda a=one: run(lambda x: lax.associative_scan(jnp.add, x), a)
        yield f"diagonal_{one}", lambda a=one: run(jnp.diagonal, a)
        open_rows = NamedSharding(m, P(P.UNCONSTRAINED, "y"))
        yield f"open_{one}", lambda a=one, s=open_rows: run(lambda x: lax.with_sharding_constraint(x * 2, s), a)

    # Cut by two axes: of shorter dimensions, whole axes stay.
    for one in (P(("x", "y")), P(("y", "x")), P(None, ("x", "y"))):
        for function in (
            lambda x: x[2:6],
            lambda x: x[::4],
            lambda x: x.reshape(4, 2, 8),
            lambda x: x.reshape(2, 4, 8),
            lambda x: x.reshape(4, 16),
            lambda x: x.reshape(-1).reshape(8, 8),
            lambda x: jnp.pad(x, ((0, 4), (0, 0))),
            lambda x: x.reshape(4, 2, 8).sum(1),
            jax.grad(lambda x: (x.reshape(4, 2, 8).sum(1) ** 2).sum()),
        ):
            yield f"axes_{one}_{count}", lambda a=one, f=function: run(f, a)
            count += 1


def cases():
    for group in (collectives, sharded, propagated, manual):
        yield from group()
