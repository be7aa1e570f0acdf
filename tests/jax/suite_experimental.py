"""jax.experimental and what goes on around it, and modules that earlier versions of JAX exported."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)


def experimental():
    from jax.experimental import pallas as pl

    def added(x, y):
        def kernel(a, b, out):
            out[...] = a[...] + b[...]

        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x, y)

    yield "pallas", lambda: jax.jit(added)(X, X * 2)

    def blocked(x):
        def kernel(a, out):
            out[...] = a[...] * 2 + pl.program_id(0)

        return pl.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct((8, 8), jnp.float32),
            grid=(4, 2),
            in_specs=[pl.BlockSpec((2, 4), lambda i, j: (i, j))],
            out_specs=pl.BlockSpec((2, 4), lambda i, j: (i, j)),
            interpret=True,
        )(x)

    yield "pallas_grid", lambda: blocked(np.arange(64.0, dtype="float32").reshape(8, 8))

    def references():
        ref = jax.new_ref(jnp.zeros(4))

        @jax.jit
        def f(x):
            ref[1] += x
            ref[...] = ref[...] * 2
            return ref[1] + 1

        return [f(3.0), f(1.0), ref[...]]

    yield "references", references

    def references_in_scan():
        @jax.jit
        def f(x):
            ref = jax.new_ref(jnp.zeros(3))

            def body(c, i):
                ref[i % 3] += c
                return c + 1, ref[0]

            out = lax.scan(body, x, jnp.arange(7))
            return out, ref[...]

        return f(1.0)

    yield "references_in_scan", references_in_scan

    def computed_on_host():
        from jax.experimental.compute_on import compute_on

        @jax.jit
        def f(x):
            with compute_on("device_host"):
                y = jnp.sin(x)
            return y * 2

        return f(X)

    yield "compute_on", computed_on_host

    def offloaded():
        from jax.sharding import SingleDeviceSharding

        there = SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
        here = SingleDeviceSharding(jax.devices()[0], memory_kind="device")

        @jax.jit
        def f(x):
            return jax.device_put(jax.device_put(x * 2, there), here) + 1

        return f(X)

    yield "offload", offloaded

    def offloaded_residuals():
        policy = jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=[],
            names_which_can_be_offloaded=["y"],
            offload_src="device",
            offload_dst="pinned_host",
        )
        f = jax.checkpoint(lambda x: jnp.sin(jax.ad_checkpoint.checkpoint_name(jnp.sin(x), "y")).sum(), policy=policy)
        return jax.jit(jax.grad(f))(X)

    yield "offload_residuals", offloaded_residuals
    yield "metadata", lambda: metadata()
    yield "shard_alike", lambda: __import__("jax.experimental.shard_alike", fromlist=["shard_alike"]).shard_alike(
        jnp.asarray(X), jnp.asarray(X) + 1
    )
    yield "ragged_dot", lambda: lax.ragged_dot(X, np.ones((2, 4, 5), "float32"), np.array([1, 2], "int32"))
    yield "approx_max_k", lambda: lax.approx_max_k(X.reshape(-1), 3)
    yield "rng_bit_generator", lambda: lax.rng_bit_generator(np.arange(4, dtype="uint32"), (5,))
    yield "rng_uniform", lambda: str(lax.rng_uniform(0.0, 1.0, (3, 4)).shape)
    yield "segment_sum", lambda: jax.ops.segment_sum(X, np.array([0, 1, 0]), 2)
    yield "while_many", lambda: lax.while_loop(lambda s: s[0] < 100000, lambda s: (s[0] + 1, s[1] * 0.99 + 1), (0, 0.0))
    yield "optimizers", lambda: optimized()
    yield "stax", lambda: stacked()
    yield "attrs_key_reuse", lambda: jax.random.key_data(jax.random.clone(jax.random.key(1)))
    yield "io_callback_sharding", lambda: jax.jit(
        lambda x: jax.experimental.io_callback(
            lambda y: np.asarray(y) * 2,
            jax.ShapeDtypeStruct(X.shape, X.dtype),
            x,
            sharding=jax.sharding.SingleDeviceSharding(jax.devices()[0]),
        )
    )(X)
    yield "hessian_network", lambda: jax.hessian(lambda w: (jax.nn.softmax(jnp.tanh(X @ w.reshape(4, 2))) ** 2).sum())(
        jnp.arange(8.0) / 7
    )
    yield "jvp_of_scan_of_cond", lambda: jax.jvp(
        lambda x: lax.scan(lambda c, y: (lax.cond(y.sum() > 0, jnp.sin, jnp.cos, c) * x, c), x, X)[0], (0.7,), (1.0,)
    )
    yield "custom_transpose", lambda: jax.linear_transpose(lambda x: (x * 3).sum(0), X)(np.ones(4, "float32"))


def metadata():
    from jax.experimental.xla_metadata import set_xla_metadata

    def f(x):
        with set_xla_metadata(key="value"):
            return jnp.sin(x) + 1

    return jax.jit(f)(X)


def optimized():
    from jax.example_libraries import optimizers

    out = []
    for name in ("sgd", "momentum", "adam", "rmsprop", "adagrad", "nesterov", "adamax"):
        arguments = (0.1, 0.9) if name in ("momentum", "nesterov") else (0.1,)
        init, update, get = getattr(optimizers, name)(*arguments)
        state = init(jnp.asarray(X))
        for i in range(3):
            state = jax.jit(update)(i, jax.grad(lambda p: (jnp.sin(p) ** 2).sum())(get(state)), state)
        out.append(get(state))
    return out


def stacked():
    from jax.example_libraries import stax

    init, apply = stax.serial(
        stax.Conv(4, (3, 3)),
        stax.BatchNorm(),
        stax.Relu,
        stax.MaxPool((2, 2)),
        stax.Flatten,
        stax.Dense(3),
        stax.LogSoftmax,
    )
    _, parameters = init(jax.random.key(0), (2, 8, 8, 3))
    x = jax.random.normal(jax.random.key(1), (2, 8, 8, 3))
    return [jax.jit(apply)(parameters, x), jax.jit(jax.grad(lambda p: apply(p, x).sum()))(parameters)]


def in_one_form(values, vectors):
    """Eigenvectors, columns, in the order of their values, the largest element of each positive; zeros for those of
    values that are zero but for roundings, which several may have."""
    order = np.lexsort((values.imag.round(4), values.real.round(4)), axis=-1)
    vectors = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    largest = np.take_along_axis(vectors, np.argmax(np.abs(vectors).round(4), axis=-2, keepdims=True), axis=-2)
    sizes = np.take_along_axis(np.abs(values), order, axis=-1)[..., None, :]
    return np.where(sizes > 1e-3 * sizes.max(), vectors / (largest / np.abs(largest)), 0)


def exports_of_the_past():
    """Modules that earlier versions of JAX exported for the CPU."""
    import importlib
    import pkgutil

    from jax._src.internal_test_util import export_back_compat_test_data as data
    from jax._src.internal_test_util import export_back_compat_test_util as util

    def compare(name, entry):
        found = [np.asarray(f) for f in jax.tree_util.tree_leaves(util.CompatTestBase().run_serialized(entry))]
        # Vectors of the same eigenvalue may be any: the product is the same.
        if "eigh" in name:
            return [found[1], found[0] * found[1] @ found[0].conj().T]
        if "_eig_" in name:  # of one phase, and in one order
            return [np.sort_complex(found[0])] + [in_one_form(found[0], vectors) for vectors in found[1:]]
        if "schur" in name:
            return found[1] @ found[0] @ found[1].conj().T
        return found

    for info in pkgutil.iter_modules(data.__path__):
        module = importlib.import_module(f"{data.__name__}.{info.name}")
        for name, found in sorted(vars(module).items()):
            if not name.startswith("data"):
                continue
            for number, entry in enumerate(util.CompatTestBase().load_testdata_nested(found)):
                if info.name.startswith("cpu_") and entry.platform == "cpu":
                    yield f"old_{info.name}_{name}_{number}", functools.partial(compare, info.name, entry)


def cases():
    for group in (experimental, exports_of_the_past):
        yield from group()
