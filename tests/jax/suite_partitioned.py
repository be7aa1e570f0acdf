"""Functions whose author says how devices share them (jax.experimental.custom_partitioning), and arrays that are to lie
alike (shard_alike): with --devices=8."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from suite_parallel import mesh, put, shards


def alike():
    from jax.experimental.shard_alike import shard_alike

    m42 = mesh(4, 2)
    x = put(np.linspace(-1, 1, 64, dtype="float32").reshape(8, 8), m42, "x", "y")
    told = lambda f, *arguments: [[shards(y), str(y.sharding.spec)] for y in jax.tree.leaves(jax.jit(f)(*arguments))]
    yield "alike_zeros", lambda: told(lambda a: shard_alike(a, jnp.zeros((8, 8)))[1], x)
    yield "alike_own", lambda: told(lambda a: shard_alike(a, a * a)[1] * 2, x)
    yield "alike_host", lambda: told(lambda a, b: shard_alike(a, b)[1] * 3, x, np.ones((8, 8), "float32"))
    yield "alike_vmap", lambda: told(jax.vmap(lambda a: shard_alike(a, jnp.zeros(8))[1]), x)
    yield "alike_grad", lambda: told(jax.grad(lambda a: shard_alike(a, jnp.cos(a))[1].sum()), x)
    yield "alike_scan", lambda: told(
        lambda a: lax.scan(lambda c, _: shard_alike(c, jnp.zeros_like(c)), a, None, length=3), x
    )

    def chained(a):
        y, z = shard_alike(jnp.ones((8, 8)), jnp.ones((8, 8)) * 2)
        _, y = shard_alike(a, y)
        return y, z

    yield "alike_chain", lambda: told(chained, x)
    yield "alike_text", lambda: str("ShardingGroup" in jax.jit(chained).lower(x).compile().as_text())


def placed():
    """Where results lie for which operands disagree, or which are ordered along the dimension that is cut."""

    def told(f, axes, *arrays):
        m = mesh(*axes)
        given = [put(np.arange(np.prod(shape), dtype="float32").reshape(shape), m, *spec) for shape, spec in arrays]
        return [[np.asarray(y), str(y.sharding.spec)] for y in jax.tree.leaves(jax.jit(f)(*given))]

    batch = lambda x, y: jnp.einsum("bij,bjk->bik", x, y)
    square, cube, long = (8, 8), (8, 8, 8), (8, 8, 16)
    for name, f, *arrays in [
        ("left", jnp.matmul, (square, ("x",)), (square, (None, ("x", "y")))),
        ("larger", jnp.matmul, (square, ("x",)), ((8, 16), (None, "x"))),
        ("part", jnp.matmul, (square, ("y",)), (square, (None, ("x", "y")))),
        ("rest", jnp.matmul, (square, (("x", "y"),)), ((8, 16), (None, "y"))),
        ("batch", batch, (cube, ("x",)), (cube, ("y",))),
        ("batch_left", batch, (cube, ("x", "y")), (cube, (("x", "y"),))),
        ("batch_larger", batch, (cube, ("x", "y")), (long, (("x", "y"),))),
        ("batch_none", batch, (cube, ("x",)), (long, ("y", None, "x"))),
        ("outer", lambda x, y: jnp.tensordot(x, y, 0), ((8,), ("x",)), ((16, 8), ("x",))),
    ]:
        yield f"placed_{name}", lambda f=f, arrays=arrays: told(f, (4, 2), *arrays)
    turned = NamedSharding(mesh(4, 2), P(None, "x"))
    looped = lambda x: lax.fori_loop(0, 3, lambda _, c: lax.with_sharding_constraint(c, turned), x)
    yield "placed_loop", lambda: told(looped, (4, 2), (square, ("x",)))
    pool = lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), "VALID")
    for name, f in {
        "rows": lambda x: lax.dynamic_slice(x, (x[0, 0].astype("int32"), 0), (4, 8)),
        "pooled": jax.grad(lambda x: pool(x).sum()),
        "bytes": lambda x: lax.bitcast_convert_type(x, "uint8"),
    }.items():
        yield f"placed_{name}", lambda f=f: told(f, (4, 2), (square, ("x", "y")))
    for number in (None, 0, 1, 2):

        def chosen(x, y, number=number):
            index = x[0, 0].astype("int32") if number is None else number
            return lax.switch(index, [lambda: x, lambda: y, lambda: x + y])

        yield f"placed_branch_{number}", lambda f=chosen: told(f, (4, 2), (square, ("x",)), (square, ("y",)))
    for shape, spec in [((8,), ("x",)), ((1, 8), (None, "x")), (square, (None, "x")), (square, ("y", "x"))]:
        ordered = {
            "sort": jnp.sort,
            "argsort": jnp.argsort,
            "top_k": lambda x: lax.top_k(x, 4),
            "approx": lambda x: lax.approx_max_k(x, 4),
        }
        for name, f in ordered.items():
            yield f"placed_{name}_{shape}_{spec}", lambda f=f, s=shape, p=spec: told(f, (4, 2), (s, p))
    for devices in ((4, 2), (2, 4)):
        m = mesh(*devices)
        yield f"devices_{devices}", lambda m=m: re.findall(
            r"parameter\(0\), sharding=\{[^}]*\}",
            jax.jit(lambda x: x @ x).lower(put(np.ones((8, 8)), m, "y", "x")).compile().as_text(),
        )


def cases():
    yield from alike()
    yield from placed()
    yield from partitioned()


def partitioned():
    from jax.experimental.custom_partitioning import custom_partitioning

    m42 = mesh(4, 2)
    x = np.linspace(-1, 1, 64, dtype="float32").reshape(8, 8)

    def made(f, partition, rule, **kinds):
        function = custom_partitioning(f, **kinds)
        function.def_partition(partition=partition, sharding_rule=rule)
        return function

    def as_operand(mesh, operands, results):
        return mesh, jnp.sin, operands[0].sharding, (operands[0].sharding,)

    sine = made(jnp.sin, as_operand, "i j -> i j")
    for spec in (P("x", "y"), P("x"), P(None, "y"), P()):
        yield f"partitioned_{spec}", lambda spec=spec: (lambda y: [shards(y), str(y.sharding.spec)])(
            jax.jit(sine)(put(x, m42, *spec))
        )
    yield "partitioned_between", lambda: shards(
        jax.jit(lambda a: sine(sine(a * 2) + 1).sum(0), out_shardings=NamedSharding(m42, P("y")))(put(x, m42, "x"))
    )
    yield "partitioned_scan", lambda: jax.jit(lambda a: lax.scan(lambda c, _: (sine(c), c.sum()), a, None, length=3))(
        put(x, m42, "x")
    )
    yield "partitioned_one_device", lambda: jax.jit(sine)(x)

    def by_sums(mesh, operands, results):
        lies = lambda *spec: NamedSharding(mesh, P(*spec))
        return mesh, lambda a, b: lax.psum(a @ b, "y"), lies("x", None), (lies("x", "y"), lies("y", None))

    product = made(lambda a, b: a @ b, by_sums, "i k, k j -> i j")
    yield "partitioned_product", lambda: shards(jax.jit(product)(put(x, m42, "x", "y"), put(x, m42, "y")))

    def by_rows(mesh, operands, results):
        rows = NamedSharding(mesh, P("x", None))
        return mesh, lambda a, b: (a + b, a * b), (rows, rows), (rows, rows)

    two = made(lambda a, b: (a + b, a * b), by_rows, "i j, i j -> i j, i j")
    yield "partitioned_two_results", lambda: jax.jit(two)(put(x, m42, "x"), put(x, m42, None, "y"))

    def scaled(n, mesh, operands, results):
        return mesh, lambda a: a * n, operands[0].sharding, (operands[0].sharding,)

    times = made(lambda a, n: a * n, scaled, "i j -> i j", static_argnums=(1,))
    yield "partitioned_static", lambda: shards(jax.jit(lambda a: times(a, 3))(put(x, m42, "x")))

    def asked_of(rule, f, *operands, **factors):
        """What the author is asked: how operands and results lie by the rule; and the shards of the result."""
        asked = []

        def as_asked(mesh, arguments, results):
            asked.append(str([a.sharding.spec for a in arguments] + [results.sharding.spec]))
            return mesh, f, results.sharding, tuple(a.sharding for a in arguments)

        function = custom_partitioning(f)
        function.def_partition(partition=as_asked, sharding_rule=rule, **factors)
        return [shards(jax.jit(function)(*operands)), str(asked)]

    whole = {"need_replication_factors": ("k",)}
    yield "rule_product", lambda: asked_of(
        "i k, k j -> i j", jnp.matmul, put(x, m42, "x"), put(x, m42, None, "y"), **whole
    )
    yield "rule_product_cut_inside", lambda: asked_of(
        "i k, k j -> i j", jnp.matmul, put(x, m42, "x", "y"), put(x, m42, "y"), **whole
    )
    yield "rule_one_operand_cut", lambda: asked_of("i j, i j -> i j", jnp.add, put(x, m42, "x", "y"), x)
    yield "rule_operands_differ", lambda: asked_of("i j, i j -> i j", jnp.add, put(x, m42, "x"), put(x, m42, None, "y"))
    yield "rule_other_shape", lambda: asked_of("i j -> j i", jnp.transpose, put(x, m42, "x", "y"))
    yield "rule_batch", lambda: asked_of(
        "... j -> ...", lambda a: a[..., 0], put(x, m42, "x"), need_replication_factors=("j",)
    )
    yield "rule_joined", lambda: asked_of(
        "i j -> (i j)", lambda a: a.reshape(-1), put(x, m42, "x"), i=8, j=8, need_replication_factors=("j",)
    )

    def wrong(mesh, operands, results):
        raise ValueError("cannot be shared")

    yield "partitioned_raises", lambda: jax.jit(made(jnp.sin, wrong, "i j -> i j"))(put(x, m42, "x"))
