"""Functions whose author says how devices share them (jax.experimental.custom_partitioning), and arrays that are to lie
alike (shard_alike): with --devices=8."""

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


def cases():
    yield from alike()
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
