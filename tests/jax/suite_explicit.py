"""Axes whose shardings are part of types, and what compiled programs of several devices tell of themselves: shardings,
and the kinds of collectives in their text. To be run with --devices=8."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

from suite_parallel import mesh, put, shards

A = np.arange(16 * 8, dtype="float32").reshape(16, 8) / 40
B = np.arange(8 * 16, dtype="float32").reshape(8, 16) / 60


# Functions for which two partitioners may well choose other collectives.
OTHERWISE = "at_get concatenate dynamic_update pad split".split()


def kinds(compiled):
    """The kinds of collectives in a compiled program's text, without steps from device to device in their place."""
    names = "all-reduce|all-gather|all-to-all|reduce-scatter"
    return str(sorted(set(re.findall(rf" ({names})(?:-start)?\(", compiled.as_text()))))


def seen(f, *arguments, **options):
    """Results with their shards, and what the compiled program tells."""
    jitted = jax.jit(f, **options)
    compiled = jitted.lower(*arguments).compile()
    out = jitted(*arguments)
    leaves = jax.tree_util.tree_leaves(out)
    return [
        [shards(leaf) for leaf in leaves],
        str(compiled.output_shardings),
        str(compiled.input_shardings),
        kinds(compiled),
    ]


def cases():
    m = mesh(2, 2)
    e = mesh(2, 2, types=(AxisType.Explicit,) * 2)
    specs = {
        "x_y": (P("x", None), P(None, "y"), P("x", "y")),
        "x_None": (P("x", None), P(None, None), P("x", None)),
        "contracting": (P("x", "y"), P("y", None), P("x", None)),
        "fsdp": (P("x", None), P("x", None), P("x", None)),
        "half_tp": (P(None, "y"), P(None, "y"), P(None, "y")),
        "other_half_tp": (P(None, "y"), P("y", None), P(None, None)),
        "both": (P(("x", "y"), None), P(None, None), P(("x", "y"), None)),
    }

    def in_mesh(work):
        def run():
            with jax.set_mesh(e):
                return work()

        return run

    for name, (one, other, out) in specs.items():

        def auto(one=one, other=other, out=out):
            return seen(jnp.matmul, put(A, m, *one), put(B, m, *other), out_shardings=NamedSharding(m, out))

        yield f"auto_dot_{name}", auto
        yield f"explicit_dot_{name}", in_mesh(
            lambda one=one, other=other: seen(jnp.matmul, jax.device_put(A, one), jax.device_put(B, other))
        )
        yield f"explicit_dot_grad_{name}", in_mesh(
            lambda one=one, other=other: seen(
                jax.grad(lambda a, b: jnp.sum(jnp.sin(a @ b)), argnums=(0, 1)),
                jax.device_put(A, one),
                jax.device_put(B, other),
            )
        )
    unary = {
        "sin": jnp.sin,
        "sum": jnp.sum,
        "sum_0": lambda x: x.sum(0),
        "sum_1": lambda x: x.sum(1),
        "max_0": lambda x: x.max(0),
        "argmax": lambda x: x.argmax(1),
        "transpose": jnp.transpose,
        "expand": lambda x: x[:, None],
        "broadcast": lambda x: jnp.broadcast_to(x, (3, 16, 8)),
        "where": lambda x: jnp.where(x > 1, x, 0),
        "cumsum": lambda x: jnp.cumsum(x, 1),
        "softmax": lambda x: jax.nn.softmax(x, axis=1),
        "one_hot": lambda x: jax.nn.one_hot(x.astype("int32")[:, 0], 4),
        "reshape_split": lambda x: jnp.reshape(x, (16, 2, 4)),
        "iota": lambda x: x + lax.broadcasted_iota("float32", (16, 8), 0, out_sharding=P("x", None)),
        "squeeze": lambda x: jnp.squeeze(x[:, None, :], 1),
        "concatenate": lambda x: jnp.concatenate([x, x], axis=1),
        "stack": lambda x: jnp.stack([x, x]),
        "split": lambda x: jnp.split(x, 2, axis=1),
        "pad": lambda x: jnp.pad(x, ((0, 0), (1, 1))),
        "square_sum": lambda x: jnp.sum(x * x, axis=1, keepdims=True),
        "scan": lambda x: lax.scan(lambda c, a: (c + a, c), jnp.zeros_like(x[:, 0]), x.T)[0],
        "fori": lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c), x),
        "cond": lambda x: lax.cond(True, jnp.sin, jnp.cos, x),
        "while": lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * 2), (0, x)),
        "astype": lambda x: x.astype("bfloat16"),
        "clip": lambda x: jnp.clip(x, 0.5, 1.5),
        "sort": lambda x: jnp.sort(x, axis=1),
        "vmap": lambda x: jax.vmap(lambda r: r * 2 + r.sum())(x),
        "remat": lambda x: jax.grad(lambda y: jax.checkpoint(lambda z: jnp.sin(jnp.sin(z)))(y).sum())(x),
        "einsum": lambda x: jnp.einsum("ij,kj->ik", x, x, out_sharding=P("x", None)),
        "barrier": lambda x: lax.optimization_barrier(x * 2),
        "mean_grad": lambda x: jax.grad(lambda y: jnp.mean(y**2))(x),
        "key": lambda x: x + jax.random.uniform(jax.random.key(0), (16, 8), out_sharding=P("x", None)),
        "ones": lambda x: x + jnp.ones((16, 8), out_sharding=P("x", None)),
        "reshard": lambda x: jax.sharding.reshard(x, P(None, "x")),
        "reshard_none": lambda x: jax.sharding.reshard(x, P()),
        "typeof": lambda x: x if str(jax.typeof(x).sharding.spec) else x,
        "auto_axes": lambda x: jax.sharding.auto_axes(lambda y: y @ y.T, out_sharding=P("x", None))(x),
        "at_get": lambda x: x.at[jnp.array([1, 3])].get(out_sharding=P(None, None)),
        "dynamic_slice": lambda x: lax.dynamic_slice(x, (0, 2), (16, 3)),
        "dynamic_update": lambda x: lax.dynamic_update_slice(x, x[:, :2], (0, 3)),
        "ravel": lambda x: jnp.reshape(x, (128,), out_sharding=P("x")),
    }
    for name, f in unary.items():
        for spec in (P("x", None), P("x", "y")):
            told = slice(0, 3 if name in OTHERWISE else 4)
            yield f"explicit_{name}_{spec}", in_mesh(
                lambda f=f, spec=spec, told=told: seen(f, jax.device_put(A, spec))[told]
            )
        # What is not said follows by rules that the two compilers need not share.
        yield f"auto_{name}", lambda f=f: jax.jit(f)(put(A, m, "x")) if "reshard" not in name else 0
    for one in (P("x"), P("y"), P("x", "y"), P(("x", "y")), P(None, "x"), P()):
        for other in (P("x"), P("y", "x"), P(None, "x"), P(None, ("x", "y")), P()):
            yield f"reshard_{one}_{other}", lambda one=one, other=other: seen(
                lambda x: x * 2, put(A, m, *one), out_shardings=NamedSharding(m, other)
            )[:3]

    def unreduced():
        def f(x, y):
            out = jnp.einsum("ij,jk->ik", x, y, out_sharding=P("x", None, unreduced={"y"}))
            return jax.sharding.reshard(out, P("x", None))

        with jax.set_mesh(e):
            return seen(f, jax.device_put(A, P("x", "y")), jax.device_put(B, P("y", None)))

    yield "unreduced", unreduced

    def kept_unreduced():
        with jax.set_mesh(e):
            f = jax.jit(lambda x, y: jnp.einsum("ij,jk->ik", x, y, out_sharding=P("x", None, unreduced={"y"})))
            out = f(jax.device_put(A, P("x", "y")), jax.device_put(B, P("y", None)))
            return [str(out.sharding), [np.asarray(s.data) for s in out.addressable_shards]]

    yield "unreduced_kept", kept_unreduced

    def through():
        with jax.set_mesh(e):
            f = jax.jit(lambda x, y: jnp.einsum("ij,jk->ik", x, y, out_sharding=P("x", None, unreduced={"y"})))
            out = f(jax.device_put(A, P("x", "y")), jax.device_put(B, P("y", None)))
            again = jax.jit(lambda u: jax.sharding.reshard(u, P("x", None)))
            return [shards(again(out)), shards(jax.sharding.reshard(out, P("x", "y")))]

    yield "unreduced_through", through

    def summed_in_loop():
        part = lambda x, y: jnp.einsum("ij,jk->ik", x, y, out_sharding=P("x", None, unreduced={"y"}))

        def f(x, y):
            start = jax.sharding.reshard(jnp.zeros((16, 16), "float32"), P("x", None, unreduced={"y"}))
            out = lax.scan(lambda c, _: (c + part(x, y), None), start, None, length=3)[0]
            return jax.sharding.reshard(out, P("x", None))

        with jax.set_mesh(e):
            return shards(jax.jit(f)(jax.device_put(A, P("x", "y")), jax.device_put(B, P("y", None))))

    yield "unreduced_loop", summed_in_loop

    def unreduced_sum():
        with jax.set_mesh(e):
            f = jax.jit(
                lambda x, y: jax.sharding.reshard(
                    jnp.einsum("ij,jk->ik", x, y, out_sharding=P(None, None, unreduced={"x"})) * 2, P("x", None)
                )
            )
            return shards(f(jax.device_put(A, P(None, "x")), jax.device_put(B, P("x", None))))

    yield "unreduced_scatter", unreduced_sum

    def reduced():
        with jax.set_mesh(e):
            x = jax.device_put(A, P("x", None))
            w = jax.device_put(B, P(None, None, reduced={"x"}))
            return seen(jax.grad(lambda x, w: jnp.sum(x @ w), argnums=0), x, w)

    yield "reduced", reduced
    square = A[:8, :8].reshape(4, 4, 4) * 0.1 + 3 * np.eye(4, dtype="float32")
    batched = {
        "cholesky": lambda x: jnp.linalg.cholesky(x @ x.swapaxes(1, 2)),
        "qr": lambda x: jnp.abs(jnp.linalg.qr(x)[1]),
        "svd": lambda x: jnp.linalg.svd(x, compute_uv=False),
        "eigh": lambda x: jnp.linalg.eigh(x @ x.swapaxes(1, 2))[0],
        "lu": lambda x: lax.linalg.lu(x)[0],
        "solve": lambda x: lax.linalg.triangular_solve(x, x),
        "fft": lambda x: jnp.abs(jnp.fft.fft(x)),
        "conv": lambda x: lax.conv_general_dilated(x, jnp.ones((2, 4, 2), "float32"), (1,), "VALID"),
        "batch_dot": lambda x: jnp.einsum("bij,bjk->bik", x, x),
        "top_k": lambda x: lax.top_k(x, 2),
        "logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1),
        "vmap": lambda x: jax.vmap(lambda y: jnp.sin(y) @ y)(x),
        "vmap_scan": lambda x: jax.vmap(lambda y: lax.scan(lambda c, r: (c + r, c), y[0], y)[1])(x),
        "reduce_window": lambda x: lax.cummax(x, axis=2),
        "argsort": lambda x: jnp.argsort(x, axis=-1),
        "custom_jvp": lambda x: jax.grad(lambda y: jax.nn.relu(y - 1).sum())(x),
        "softmax_grad": lambda x: jax.grad(lambda y: (jax.nn.softmax(y) ** 2).sum())(x),
        "device_put": lambda x: jax.device_put(x * 2, NamedSharding(e, P(None, "x"))),
        "take": lambda x: jnp.take_along_axis(x, jnp.zeros_like(x, "int32"), axis=-1),
        "repeat": lambda x: jnp.repeat(x, 2, axis=0, out_sharding=P("x")),
        "swap": lambda x: jnp.swapaxes(x, 0, 2),
        "full_like": lambda x: jnp.full_like(x, 3) + x,
        "arange": lambda x: x + jnp.arange(4.0, dtype="float32", out_sharding=P(None)),
        "normal": lambda x: x + jax.random.normal(jax.random.key(1), x.shape, out_sharding=P("x")),
        "bits": lambda x: jax.random.bits(jax.random.key(1), x.shape, "uint8", out_sharding=P("x")),
        "bitcast": lambda x: lax.bitcast_convert_type(x, "int32"),
        "expm1_power": lambda x: jnp.expm1(x) ** 2 + lax.integer_pow(x, 3),
        "map": lambda x: lax.map(lambda y: y * 2, jnp.swapaxes(x, 0, 1)),
        "split_key": lambda x: jax.random.key_data(jax.random.split(jax.random.key(0), 4)),
        "clamp": lambda x: lax.clamp(jnp.float32(0), x, jnp.float32(1)),
        "select_n": lambda x: lax.select_n(x > 1, x, -x),
        "rev": lambda x: lax.rev(x, (1,)),
        "square_of_mean": lambda x: jnp.var(x, axis=(1, 2)),
        "hessian_vector": lambda x: jax.jvp(jax.grad(lambda y: jnp.sin(y).sum()), (x,), (x,))[1],
        "checkpoint_scan": lambda x: jax.grad(
            lambda y: lax.scan(jax.checkpoint(lambda c, _: (jnp.sin(c), None)), y, None, length=2)[0].sum()
        )(x),
        "associative": lambda x: lax.associative_scan(jnp.add, x, axis=1),
        "two_results": lambda x: {"a": x * 2, "b": (x.sum(), x > 1)},
        "integer": lambda x: (x.astype("int32") // 2) % 3,
        "shard_map": lambda x: jax.shard_map(
            lambda y: lax.psum(y, "x"), in_specs=P("x"), out_specs=P(None), axis_names={"x"}
        )(x),
    }
    for name, f in batched.items():
        yield f"batched_{name}", in_mesh(lambda f=f: seen(f, jax.device_put(square, P("x", None, None)))[:3])
    for size in (5, 7, 1):
        yield f"uneven_constraint_{size}", lambda n=size: jax.jit(
            lambda x: lax.with_sharding_constraint(x * 2, NamedSharding(m, P("x"))).sum()
            + lax.with_sharding_constraint(x[1:], NamedSharding(m, P(("x", "y")))).sum()
        )(np.arange(float(n)))
    compiled = lambda: jax.jit(lambda x: x + 1).lower(put(A, m, "x")).compile()
    yield "partitions_text", lambda: str("num_partitions=4" in compiled().as_text())
    yield "parameter_text", lambda: str("f32[8,8]" in compiled().as_text())
    yield "cost", lambda: str(compiled().cost_analysis()["flops"])
    yield "memory", lambda: str(
        [getattr(compiled().memory_analysis(), n) for n in ("argument_size_in_bytes", "output_size_in_bytes")]
    )
