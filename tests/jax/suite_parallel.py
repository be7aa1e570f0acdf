"""More of programs on several devices: meshes of every kind, manual axes, collectives, shardings in and out, layouts,
callbacks and donation. To be run with --devices=8."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

X = np.arange(8 * 4 * 6, dtype="float32").reshape(8, 4, 6) / 50


def mesh(*sizes, names="xyz", devices=None, types=None):
    devices = jax.devices() if devices is None else devices
    count = int(np.prod(sizes))
    return Mesh(np.array(devices[:count]).reshape(sizes), tuple(names[: len(sizes)]), axis_types=types)


def shards(x):
    return [x, str(x.sharding), [np.asarray(s.data) for s in sorted(x.addressable_shards, key=lambda s: s.device.id)]]


def put(x, m, *spec):
    return jax.device_put(x, NamedSharding(m, P(*spec)))


def manual():
    def sm(f, m, i, o, **k):
        return jax.jit(jax.shard_map(f, mesh=m, in_specs=i, out_specs=o, **k))

    m8, m42, m222 = mesh(8), mesh(4, 2), mesh(2, 2, 2)
    one = lambda f, **k: lambda: shards(sm(f, m8, P("x"), P("x"), **k)(X))
    two = lambda f, **k: lambda: shards(sm(f, m42, P("x", "y"), P("x", "y"), **k)(X))
    loose = {"check_vma": False}
    yield "sm_identity", one(lambda x: x)
    yield "sm_psum_both", lambda: shards(sm(lambda x: lax.psum(x, ("x", "y")), m42, P("x", "y"), P())(X))
    yield "sm_psum_x", lambda: shards(sm(lambda x: lax.psum(x, "x"), m42, P("x", "y"), P(None, "y"))(X))
    yield "sm_pmean", lambda: shards(sm(lambda x: lax.pmean(x, "y"), m42, P("x", "y"), P("x"))(X))
    yield "sm_pmax_pmin", two(lambda x: x + lax.pmax(x, "x") - lax.pmin(x, "y"))
    yield "sm_all_gather", one(lambda x: lax.all_gather(x, "x", axis=1).sum(1), **loose)
    yield "sm_all_gather_tiled", one(lambda x: lax.all_gather(x, "x", axis=2, tiled=True)[:, :, ::8], **loose)
    yield "sm_all_gather_two", two(lambda x: lax.all_gather(x, ("x", "y")).sum(0) + x, **loose)
    yield "sm_all_gather_groups", one(
        lambda x: lax.all_gather(x, "x", axis_index_groups=[[0, 2, 4, 6], [1, 3, 5, 7]]).sum(0), **loose
    )
    yield "sm_psum_groups", one(lambda x: lax.psum(x, "x", axis_index_groups=[[0, 1], [2, 3], [4, 5], [6, 7]]), **loose)
    yield "sm_psum_scatter", lambda: shards(sm(lambda x: lax.psum_scatter(x, "x"), m8, P(), P("x"))(X))
    yield "sm_psum_scatter_axis", lambda: shards(
        sm(lambda x: lax.psum_scatter(x, "y", scatter_dimension=1, tiled=True), m42, P("x"), P("x", "y"))(X)
    )
    yield "sm_psum_scatter_grouped", one(
        lambda x: lax.psum_scatter(
            x, "x", scatter_dimension=1, axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]], tiled=True
        ),
        **loose,
    )
    yield "sm_all_to_all", lambda: shards(
        sm(lambda x: lax.all_to_all(x, "x", 1, 0), m8, P("x"), P("x"))(np.arange(128.0).reshape(8, 8, 2))
    )
    yield "sm_all_to_all_tiled", lambda: shards(
        sm(lambda x: lax.all_to_all(x, "y", 1, 0, tiled=True), m42, P("x", None), P("x"))(X)
    )
    yield "sm_ppermute_part", one(lambda x: lax.ppermute(x, "x", [(0, 1), (3, 5), (5, 3)]))
    yield "sm_ppermute_two", two(lambda x: lax.ppermute(x, ("x", "y"), [(i, (i + 3) % 8) for i in range(8)]))
    yield "sm_pshuffle", one(lambda x: lax.pshuffle(x, "x", [3, 2, 1, 0, 7, 6, 5, 4]))
    yield "sm_axis_index", two(lambda x: x + lax.axis_index(("x", "y")) + 10 * lax.axis_index("y"))
    yield "sm_axis_size", one(lambda x: x * lax.axis_size("x"))
    yield "sm_psum_integer", lambda: shards(
        sm(lambda x: lax.psum(x, "x"), m8, P("x"), P())(np.arange(16, dtype="int8").reshape(8, 2))
    )
    for dtype in ("bool", "bfloat16", "float16", "complex64", "int4", "uint8", "float64", "float8_e4m3fn"):
        x = np.arange(16).reshape(8, 2).astype(jnp.dtype(dtype))
        yield f"sm_gather_{dtype}", lambda x=x: shards(
            sm(lambda y: lax.all_gather(y, "x", tiled=True), m8, P("x"), P(), **loose)(x)
        )
        if dtype not in ("bool", "int4", "float8_e4m3fn"):
            yield f"sm_psum_{dtype}", lambda x=x: shards(sm(lambda y: lax.psum(y, "x"), m8, P("x"), P())(x))
    yield "sm_unreduced_constant", lambda: shards(sm(lambda: lax.psum(1, "x") + jnp.arange(3), m8, (), P())())
    yield "sm_no_inputs", lambda: shards(sm(lambda: lax.axis_index("x")[None], m8, (), P("x"))())
    yield "sm_tree", lambda: sm(
        lambda t: {"s": lax.psum(t["a"], "x"), "b": t["b"] * 2}, m8, ({"a": P("x"), "b": P()},), {"s": P(), "b": P()}
    )({"a": X, "b": X[0]})
    yield "sm_partial_manual", lambda: np.asarray(
        sm(lambda x: lax.psum(x * 2, "x"), m42, P("x"), P(), axis_names={"x"})(put(X, m42, "x", "y"))
    )
    yield "sm_partial_matmul", lambda: np.asarray(
        sm(lambda a, b: lax.psum(a @ b, "y"), m42, (P(None, "y"), P("y")), P(), axis_names={"y"})(
            put(X.reshape(8, 24), m42, "x", "y"), np.ones((24, 3), "float32")
        )
    )
    yield "sm_partial_gather", lambda: np.asarray(
        sm(lambda x: lax.all_gather(x, "x", tiled=True), m42, P("x"), P(), axis_names={"x"}, **loose)(
            put(X, m42, "x", "y")
        )
    )
    yield "sm_nested", lambda: np.asarray(
        sm(
            lambda x: jax.shard_map(
                lambda y: y * lax.axis_index("y"), in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"}
            )(x),
            m42,
            P("x"),
            P("x"),
            axis_names={"x"},
        )(X)
    )
    yield "sm_three_axes", lambda: shards(
        sm(lambda x: lax.psum(x, ("x", "z")), m222, P("x", "y", "z"), P(None, "y"))(X)
    )
    yield "sm_joined_axes", lambda: shards(sm(lambda x: x + lax.axis_index("y"), m42, P(("y", "x")), P(("y", "x")))(X))
    yield "sm_grad", lambda: jax.jit(
        jax.grad(lambda x: sm(lambda y: lax.psum((y**2).sum(), ("x", "y")), m42, P("x", "y"), P())(x))
    )(X)
    yield "sm_grad_gather", lambda: jax.grad(
        lambda x: sm(lambda y: lax.all_gather(y, "x", tiled=True) ** 2, m8, P("x"), P(None), **loose)(x).sum()
    )(X)
    yield "sm_grad_all_to_all", lambda: jax.grad(
        lambda x: (sm(lambda y: lax.all_to_all(y, "y", 1, 0, tiled=True), m42, P("x", None), P("x"))(x) ** 2).sum()
    )(X)
    yield "sm_grad_ppermute", lambda: jax.grad(
        lambda x: (
            sm(lambda y: lax.ppermute(y, "x", [(i, (i + 1) % 8) for i in range(8)]) * y, m8, P("x"), P("x"))(x)
        ).sum()
    )(X)
    yield "sm_remat", lambda: jax.grad(
        lambda x: sm(jax.checkpoint(lambda y: lax.psum(jnp.sin(jnp.sin(y)), "x")), m8, P("x"), P())(x).sum()
    )(X)
    yield "sm_vmap", lambda: jax.vmap(lambda x: sm(lambda y: lax.psum(y, "x"), m8, P("x"), P())(x), in_axes=1)(X)
    yield "sm_vmap_inside", one(lambda x: jax.vmap(lambda y: y / lax.psum(y.sum(), "x"))(x))
    yield "sm_while", one(
        lambda x: lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + lax.psum(s[1], "x") * 0.01), (0, x))[
            1
        ],
        **loose,
    )
    yield "sm_while_uneven", lambda: shards(
        sm(
            lambda x: lax.while_loop(lambda s: s[0] <= lax.axis_index("x"), lambda s: (s[0] + 1, s[1] * 2), (0, x))[1],
            m8,
            P("x"),
            P("x"),
            **loose,
        )(X)
    )
    yield "sm_cond", one(
        lambda x: lax.cond(
            lax.psum(x.sum(), "x") > 0, lambda y: lax.ppermute(y, "x", [(0, 1), (1, 0)]), lambda y: y, x
        ),
        **loose,
    )
    yield "sm_scan", one(
        lambda x: lax.scan(lambda c, y: (c + lax.pmax(y, "x"), c * y), x[0, 0] * 0, x[0])[1][None], **loose
    )
    yield "sm_random", lambda: shards(
        sm(lambda k: jax.random.normal(jax.random.fold_in(k, lax.axis_index("x")), (1, 3)), m8, P(), P("x"), **loose)(
            jax.random.key(3)
        )
    )
    yield "sm_sort_fft", one(lambda x: jnp.sort(jnp.abs(jnp.fft.fft(x.reshape(1, -1))).astype("float32"), 1))
    yield "sm_linalg", one(lambda x: jnp.linalg.cholesky(x @ x.swapaxes(1, 2) + 9 * jnp.eye(4, dtype="float32")))
    yield "sm_dynamic", one(
        lambda x: lax.dynamic_slice_in_dim(x, lax.axis_index("x") % 3, 2, 1)
        + lax.dynamic_update_slice_in_dim(x, x[:, :1] * 2, lax.axis_index("x") % 3, 1)[:, :2],
        **loose,
    )
    yield "sm_eager", lambda: shards(
        jax.shard_map(lambda x: lax.psum(jnp.sin(x), "x") + 1, mesh=m8, in_specs=P("x"), out_specs=P())(X)
    )
    yield "sm_eager_index", lambda: shards(
        jax.shard_map(lambda x: x + lax.axis_index("y"), mesh=m42, in_specs=P("x", "y"), out_specs=P("x", "y"))(X)
    )
    yield "sm_some_devices", lambda: shards(
        sm(lambda x: lax.psum(x, "x"), mesh(4, devices=jax.devices()[4:]), P("x"), P())(X)
    )
    yield "sm_reversed_devices", lambda: shards(
        sm(lambda x: x + lax.axis_index("x"), mesh(8, devices=jax.devices()[::-1]), P("x"), P("x"))(X)
    )
    yield "sm_mixed_devices", lambda: shards(
        sm(
            lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]) + lax.psum(x, "y"),
            mesh(4, 2, devices=[jax.devices()[i] for i in (3, 1, 7, 5, 0, 2, 6, 4)]),
            P("x", "y"),
            P("x", "y"),
        )(X)
    )
    yield "sm_one_device", lambda: shards(sm(lambda x: lax.psum(x, "x"), mesh(1), P("x"), P())(X))
    yield "sm_one_other_device", lambda: shards(
        sm(lambda x: lax.psum(x, "x"), mesh(1, devices=jax.devices()[5:]), P("x"), P())(X)
    )
    yield "sm_between", lambda: shards(
        jax.jit(
            lambda x: jnp.tanh(
                jax.shard_map(lambda y: lax.psum(y, "x"), mesh=m8, in_specs=P("x"), out_specs=P())(jnp.sin(x))
            ).sum(0)
        )(put(X, m8, "x"))
    )
    yield "sm_twice", lambda: shards(
        jax.jit(
            lambda x: jax.shard_map(lambda y: y * lax.axis_index("y"), mesh=m42, in_specs=P("y"), out_specs=P("y"))(
                jax.shard_map(lambda y: lax.psum(y, "y"), mesh=m42, in_specs=P("x", "y"), out_specs=P("x"))(x)
            )
        )(X)
    )
    yield "sm_in_scan", lambda: jax.jit(
        lambda x: lax.scan(
            lambda c, _: (
                jax.shard_map(lambda y: y + lax.pmean(y, "x"), mesh=m8, in_specs=P("x"), out_specs=P("x"))(c),
                0,
            ),
            x,
            None,
            length=3,
        )[0]
    )(X)
    yield "sm_donate", lambda: (
        lambda x: [
            jax.jit(
                jax.shard_map(lambda y: y + lax.psum(y, "x"), mesh=m8, in_specs=P("x"), out_specs=P("x")),
                donate_argnums=0,
            )(x),
            str(x.is_deleted()),
        ]
    )(put(X, m8, "x"))
    yield "sm_callback", one(
        lambda x: jax.pure_callback(lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct((1, 4, 6), "float32"), x), **loose
    )

    def printed():
        seen = []
        sm(lambda x: jax.debug.callback(lambda i: seen.append(int(i)), lax.axis_index("x")), m8, P("x"), None, **loose)(
            X
        )
        jax.effects_barrier()
        return np.array(sorted(seen))

    yield "sm_debug_callback", printed
    yield "sm_custom_vjp", lambda: jax.grad(lambda x: sm(lambda y: relu(y) * 2, m8, P("x"), P("x"))(x).sum())(X - 1)
    yield "sm_ragged_all_to_all", lambda: ragged(sm, mesh(2))
    yield "sm_unequal_error", lambda: sm(lambda x: x, m8, P("x"), P("x"))(X[:5])
    yield "sm_pcast", one(lambda x: x + lax.pcast(jnp.ones(6, "float32"), "x", to="varying"))
    yield "sm_explicit", lambda: shards(
        jax.jit(
            jax.shard_map(
                lambda x: lax.psum(x, "x"),
                mesh=mesh(8, types=(AxisType.Explicit,)),
                in_specs=P("x"),
                out_specs=P(),
            )
        )(jax.device_put(X, NamedSharding(mesh(8, types=(AxisType.Explicit,)), P("x"))))
    )


@jax.custom_vjp
def relu(x):
    return jnp.maximum(x, 0)


relu.defvjp(lambda x: (relu(x), x), lambda r, g: (jnp.where(r > 0, g, 0),))


def ragged(sm, m):
    operand = np.array([1, 2, 2, 3, 4, 0], "int32").reshape(2, 3)
    output = np.zeros((2, 4), "int32")
    sizes = {
        "input_offsets": [[0, 1], [0, 1]],
        "send_sizes": [[1, 2], [1, 1]],
        "output_offsets": [[0, 0], [1, 2]],
        "recv_sizes": [[1, 1], [2, 1]],
    }
    arrays = [np.array(v, "int32") for v in sizes.values()]

    def f(x, out, *rest):
        return lax.ragged_all_to_all(x[0], out[0], *[r[0] for r in rest], axis_name="x")[None]

    return sm(f, m, P("x"), P("x"))(operand, output, *arrays)


def shardings():
    m8, m42 = mesh(8), mesh(4, 2)
    w = np.linspace(-1, 1, 48, dtype="float32").reshape(6, 8)
    functions = {
        "matmul": lambda x: x.reshape(32, 6) @ w,
        "sum": lambda x: [x.sum(), x.sum(0), x.sum(1), x.sum((0, 2))],
        "transpose": lambda x: x.transpose(2, 0, 1),
        "reshape": lambda x: x.reshape(4, 48),
        "slice": lambda x: x[1:7:2, ::-1],
        "concatenate": lambda x: jnp.concatenate([x, x * 2], axis=1),
        "pad": lambda x: jnp.pad(x, ((1, 2), (0, 0), (3, 0))),
        "gather": lambda x: x[jnp.array([3, 1, 1]), :, 2],
        "scatter": lambda x: x.at[jnp.array([3, 1])].add(1),
        "sort": lambda x: jnp.sort(x * jnp.cos(x * 50), 1),
        "argmax": lambda x: x.argmax(1),
        "cumsum": lambda x: jnp.cumsum(x, 0),
        "softmax": lambda x: jax.nn.softmax(x, -1),
        "einsum": lambda x: jnp.einsum("abc,dbc->ad", x, x),
        "conv": lambda x: lax.conv(x[None, :4], np.ones((2, 4, 3, 3), "float32"), (1, 1), "SAME"),
        "fft": lambda x: jnp.abs(jnp.fft.rfft(x)),
        "while": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) + x[i], x),
        "cond": lambda x: lax.cond(x.sum() > 0, lambda y: y * 2, lambda y: y, x),
        "scan": lambda x: lax.scan(lambda c, y: (c + y, c), x[0] * 0, x),
        "grad": lambda x: jax.grad(lambda y: (jnp.tanh(y @ w) ** 2).sum())(x),
        "random": lambda x: x + jax.random.uniform(jax.random.key(1), x.shape),
        "iota": lambda x: x + jnp.arange(6) + lax.broadcasted_iota("float32", (8, 4, 6), 0),
        "cholesky": lambda x: jnp.linalg.cholesky(x @ x.swapaxes(1, 2) + 9 * jnp.eye(4, dtype="float32")),
        "argsort": lambda x: jnp.argsort(-x, 0),
        "topk": lambda x: lax.top_k(x, 2),
        "where": lambda x: jnp.where(x > 1, x, 0),
        "dynamic_slice": lambda x: lax.dynamic_slice(x, (x[0, 0, 0].astype("int32") + 1, 0, 2), (4, 4, 2)),
        "roll": lambda x: jnp.roll(x, 3, 0),
        "repeat": lambda x: jnp.repeat(x, 2, 0),
        "tile": lambda x: jnp.tile(x, (2, 1, 1)),
        "integer": lambda x: (x * 50).astype("int32") // 3,
        "nothing": lambda x: x,
        "several": lambda x: {"a": x + 1, "b": (x.T, x.sum())},
        "callback": lambda x: jax.pure_callback(lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
    }
    for name, f in functions.items():
        for spec in (P("x"), P("y", "x"), P(None, None, "y")):

            def run(f=f, spec=spec):
                out = jax.jit(f)(put(X, m42, *spec))
                return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(out)]

            yield f"jit_{name}_{spec}", run
        yield f"out_{name}", lambda f=f: [
            shards(leaf) for leaf in jax.tree_util.tree_leaves(jax.jit(f, out_shardings=NamedSharding(m42, P()))(X))
        ]
    for spec in (P("x"), P("y"), P(("x", "y")), P(None, "x"), P("x", None, "y"), P(), P(None, ("y",), None)):
        yield f"in_{spec}", lambda s=spec: jax.jit(lambda x: x + 1, in_shardings=NamedSharding(m42, s))(X)
        yield f"out_shards_{spec}", lambda s=spec: shards(
            jax.jit(lambda x: x + 1, out_shardings=NamedSharding(m42, s))(X)
        )
        yield f"reshard_{spec}", lambda s=spec: shards(jax.device_put(put(X, m42, "y", "x"), NamedSharding(m42, s)))
        yield f"constraint_{spec}", lambda s=spec: jax.jit(
            lambda x: lax.with_sharding_constraint(jnp.sin(x), NamedSharding(m42, s)) * 2
        )(X)
    yield "elementwise_sharding", lambda: shards(jax.jit(lambda x: jnp.sin(x) * 2)(put(X, m42, "x", "y")))
    yield "uneven_error", lambda: put(X[:7], m8, "x")
    yield "donate", lambda: (lambda x: [jax.jit(lambda y: y + 1, donate_argnums=0)(x), str(x.is_deleted())])(
        put(X, m42, "x", "y")
    )
    yield "mixed_devices_error", lambda: jax.jit(lambda x, y: x + y)(
        jax.device_put(X, jax.devices()[0]), jax.device_put(X, jax.devices()[1])
    )
    yield "other_device", lambda: (lambda y: [y, str(y.devices())])(
        jax.jit(jnp.sin)(jax.device_put(X, jax.devices()[5]))
    )
    yield "device_argument", lambda: (lambda y: [y, str(y.devices())])(
        jnp.sin(jax.device_put(X, jax.devices()[3])) @ np.ones((6, 2), "float32")
    )
    yield "default_device", lambda: str(default_device())
    yield "copy_between", lambda: jax.device_put(jax.device_put(X, jax.devices()[2]), jax.devices()[6])
    yield "replicated", lambda: shards(jax.device_put(X, NamedSharding(m8, P())))
    yield "pmap_sharding", lambda: str(jax.pmap(lambda x: x)(X).sharding)
    yield "from_callback", lambda: shards(
        jax.make_array_from_callback(X.shape, NamedSharding(m42, P("x", "y")), lambda i: X[i])
    )
    yield "global_view", lambda: [put(X, m42, "x", "y")[3], put(X, m42, "x", "y")[:, 1].sum(), put(X, m42, "x") @ w]
    yield "set_mesh", lambda: with_mesh(m42)
    yield "explicit_axes", explicit
    yield "hlo_shardings", lambda: str(jax.jit(lambda x: x * 2).lower(put(X, m42, "x", "y")).compile().output_shardings)
    yield "input_shardings", lambda: str(
        jax.jit(lambda x: x * 2, in_shardings=NamedSharding(m42, P("x"))).lower(X).compile().input_shardings
    )
    yield "memory_of_shard", lambda: str(
        jax.jit(lambda x: x * 2).lower(put(X, m42, "x", "y")).compile().memory_analysis().argument_size_in_bytes
    )
    yield "aot_call", lambda: shards(
        jax.jit(lambda x: x * 2).lower(put(X, m42, "x", "y")).compile()(put(X, m42, "x", "y"))
    )
    yield "memory_kind", lambda: (lambda y: [y, str(y.sharding)])(
        jax.device_put(X, NamedSharding(m8, P("x"), memory_kind="pinned_host"))
    )
    yield "memory_kind_jit", lambda: (lambda y: [y, str(y.sharding)])(
        jax.jit(lambda x: x * 2, out_shardings=NamedSharding(m8, P("x"), memory_kind="pinned_host"))(X)
    )
    yield "layout", lambda: layout(m42)
    yield "vmap_spmd", lambda: shards(
        jax.jit(
            jax.vmap(lambda x: lax.with_sharding_constraint(x * 2, NamedSharding(m42, P("y"))), spmd_axis_name="x")
        )(X)
    )
    yield "export", lambda: exported(m42)
    yield "random_keys", lambda: jax.random.key_data(
        jax.jit(lambda k: jax.random.split(k, 8), out_shardings=NamedSharding(m8, P("x")))(jax.random.key(0))
    )


def layout(m):
    from jax.experimental.layout import Format, Layout

    put_there = jax.device_put(X, Format(Layout((2, 0, 1)), NamedSharding(m, P("x", "y"))))
    out = jax.jit(lambda x: x + 1, out_shardings=Format(Layout((1, 2, 0)), NamedSharding(m, P("y"))))(put_there)
    return [put_there, out, str(put_there.format.layout.major_to_minor), str(out.format.layout.major_to_minor)]


def exported(m):
    f = jax.export.export(
        jax.jit(lambda x: jnp.sin(x) @ np.ones((6, 2), "float32"), out_shardings=NamedSharding(m, P("y")))
    )
    loaded = jax.export.deserialize(f(put(X, m, "x", "y")).serialize())
    return [shards(jax.jit(loaded.call)(put(X, m, "x", "y"))), str(loaded.nr_devices)]


def default_device():
    with jax.default_device(jax.devices()[3]):
        return jnp.ones(3).devices(), jax.jit(lambda x: x + 1)(np.ones(3)).devices(), jax.random.key(0).devices()


def with_mesh(m):
    with jax.set_mesh(m):
        x = jax.device_put(X, P("x", "y"))
        out = jax.jit(lambda a: lax.with_sharding_constraint(a * 2, P("y")))(x)
    return [out, str(x.sharding.spec)]


def explicit():
    m = mesh(4, 2, types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(m):
        x = jax.device_put(X.reshape(8, 24), P("x", "y"))
        w = jax.device_put(np.ones((24, 4), "float32"), P("y", None))
        out = jax.jit(lambda a, b: jnp.dot(a, b, out_sharding=P("x", None)))(x, w)
        more = jax.jit(lambda a: jax.sharding.reshard(jnp.sin(a), P(None, "x")))(x)
        ordered = jax.jit(lambda a: jnp.sort(a, 1))(jax.device_put(X.reshape(8, 24), P("x", None)))
        return [shards(out), shards(more), shards(ordered), str(jax.typeof(out))]


def pmaps():
    p = lambda f, **k: lambda: jax.pmap(f, axis_name="i", **k)(X)
    yield "pmap_random", lambda: jax.pmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(jax.random.key(0), 8))
    yield "pmap_donate", lambda: (lambda x: [jax.pmap(lambda y: y + 1, donate_argnums=0)(x), str(x.is_deleted())])(
        jax.pmap(lambda y: y)(X)
    )
    yield "pmap_devices", lambda: jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=jax.devices()[::-1])(X)
    yield "pmap_some", lambda: jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=jax.devices()[3:6])(X[:3])
    yield "pmap_nested", lambda: jax.pmap(
        lambda x: jax.pmap(lambda y: lax.psum(y, "j") + lax.psum(y, "i"), axis_name="j")(x), axis_name="i"
    )(X.reshape(2, 4, 24))
    yield "pmap_vmap", p(lambda x: jax.vmap(lambda y: lax.psum(y, "i") * lax.axis_index("i"))(x))
    yield "pmap_vmap_collective", lambda: jax.vmap(jax.pmap(lambda x: lax.pmean(x, "i"), axis_name="i"), in_axes=1)(X)
    yield "pmap_while", p(
        lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, lax.pmean(s[1], "i") + x), (0, x))[1]
    )
    yield "pmap_cond", p(lambda x: lax.cond(lax.axis_index("i") % 2 == 0, jnp.sin, jnp.cos, x))
    yield "pmap_mean_grad", lambda: jax.pmap(
        lambda x: jax.grad(lambda y: lax.pmean((y**2).sum(), "i"))(x), axis_name="i"
    )(X)
    yield "pmap_too_many", lambda: jax.pmap(lambda x: x)(np.zeros((9, 2)))
    yield "pmap_uneven", lambda: jax.pmap(lambda x, y: x + y)(X, X[:4])
    yield "pmap_broadcast", lambda: jax.pmap(lambda x, y: x * y, in_axes=(0, None))(X, X[0])
    yield "pmap_in_axes", lambda: jax.pmap(lambda x: x.sum(0), in_axes=1)(X)
    yield "pmap_gather", p(lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]))
    yield "pmap_permute", p(lambda x: lax.pswapaxes(jnp.tile(x[:1, :1], (8, 1)), "i", 0))
    yield "pmap_callback", p(
        lambda x: jax.pure_callback(lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct((4, 6), "float32"), x)
    )
    yield "pmap_custom_jvp", p(lambda x: jax.nn.relu(x - lax.pmean(x, "i")))
    yield "pmap_lower", lambda: str("all" in jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i").lower(X).as_text())
    yield "pmap_compiled", lambda: jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i").lower(X).compile()(X)
    yield "pmap_none", lambda: jax.pmap(lambda x: (), axis_name="i")(X)
    yield "pmap_constant", lambda: jax.pmap(lambda x: jnp.ones(3), axis_name="i")(X)
    yield "pmap_bool", lambda: jax.pmap(lambda x: lax.psum(x > 1, "i"), axis_name="i")(X)
    yield "pmap_int8", lambda: jax.pmap(lambda x: lax.pmax(x.astype("int8"), "i"), axis_name="i")(X)
    yield "pmap_complex", lambda: jax.pmap(lambda x: lax.psum(x * 1j, "i"), axis_name="i")(X)


def cases():
    for group in (manual, shardings, pmaps):
        yield from group()
