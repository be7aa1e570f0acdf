"""What JAX builds on compilation: control flow, derivatives, batches, custom rules, export, checks, donation,
buffers, and the ways to look at a compiled function."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)


def control_flow():
    yield "scan", lambda: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(4), X)
    yield "scan_reverse_unroll", lambda: lax.scan(
        lambda c, x: (c * 0.5 + x, c), jnp.zeros(4), X, reverse=True, unroll=2
    )
    yield "scan_no_xs", lambda: lax.scan(lambda c, _: (c * 2, c), 1.0, None, length=7)
    yield "scan_empty", lambda: lax.scan(lambda c, x: (c + x, c), jnp.zeros(4), X[:0])
    yield "scan_grad", lambda: jax.grad(
        lambda w: lax.scan(lambda c, x: (jnp.tanh(c * w + x), c), jnp.zeros(4), X)[0].sum()
    )(2.0)
    yield "scan_jvp_vmap", lambda: jax.vmap(
        lambda w: jax.jvp(lambda v: lax.scan(lambda c, x: (jnp.sin(c * v + x), c), jnp.zeros(4), X), (w,), (1.0,))
    )(jnp.arange(3.0))
    yield "scan_remat", lambda: jax.grad(
        lambda w: lax.scan(jax.checkpoint(lambda c, x: (jnp.tanh(c * w + x), c)), jnp.zeros(4), X)[0].sum()
    )(2.0)
    yield "while", lambda: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2), (0, 1.0))
    yield "while_vmap", lambda: jax.vmap(
        lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, 1.0))
    )(jnp.array([3, 0, 5]))
    yield "while_jvp", lambda: jax.jvp(lambda x: lax.while_loop(lambda s: s < 100, lambda s: s * 2, x), (1.5,), (1.0,))
    yield "while_fixed_point", lambda: lax.while_loop(
        lambda s: jnp.abs(s * s - 2) > 1e-5, lambda s: (s + 2 / s) / 2, 1.0
    )
    yield "fori", lambda: lax.fori_loop(2, 9, lambda i, s: s + i * X[i % 3], jnp.zeros(4))
    yield "fori_dynamic", lambda: jax.jit(lambda n: lax.fori_loop(0, n, lambda i, s: s.at[i % 3].add(i), jnp.zeros(3)))(
        7
    )
    yield "fori_grad", lambda: jax.grad(lambda x: lax.fori_loop(0, 5, lambda i, s: jnp.sin(s) * x, x))(0.7)
    for p in (True, False):
        yield f"cond_{p}", lambda p=p: jax.jit(lambda q, x: lax.cond(q, jnp.sin, lambda y: y * 2, x))(p, X)
        yield f"cond_grad_{p}", lambda p=p: jax.grad(lambda x: lax.cond(p, jnp.sin, lambda y: y * 2, x).sum())(X)
    yield "cond_vmap", lambda: jax.vmap(lambda q, x: lax.cond(q, jnp.sin, lambda y: y * 2, x))(
        jnp.array([True, False, True]), X
    )
    for i in (-1, 0, 1, 2, 5):
        yield f"switch_{i}", lambda i=i: jax.jit(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x))(i, X)
    yield "switch_vmap", lambda: jax.vmap(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x))(jnp.arange(3), X)
    yield "associative_scan", lambda: [
        lax.associative_scan(jnp.add, X),
        lax.associative_scan(jnp.multiply, X, reverse=True, axis=1),
    ]
    yield "map", lambda: [lax.map(lambda x: x.sum(), X), lax.map(lambda x: x * 2, X, batch_size=2)]
    yield "custom_root", lambda: jax.grad(
        lambda a: lax.custom_root(
            lambda x: x * x - a,
            1.0,
            lambda f, x: lax.fori_loop(0, 9, lambda i, s: (s + a / s) / 2, x),
            lambda g, y: y / g(1.0),
        )
    )(3.0)
    yield "custom_linear_solve", lambda: jax.grad(
        lambda b: lax.custom_linear_solve(lambda x: 3 * x, b, lambda mv, r: r / 3, symmetric=True).sum()
    )(X)
    for op in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for reverse in (False, True):
            yield f"{op}_{reverse}", lambda o=op, r=reverse: getattr(lax, o)(X, axis=1, reverse=r)
            yield f"{op}_grad_{reverse}", lambda o=op, r=reverse: jax.grad(
                lambda x: (getattr(lax, o)(x, axis=1, reverse=r) ** 2).sum()
            )(X)
    yield "nested", lambda: lax.scan(
        lambda c, x: lax.fori_loop(
            0, 3, lambda i, s: lax.cond(s[1][0] > i, lambda t: (t[0] + x, t[1]), lambda t: (t[0], t[1] + 1), s), c
        )
        and (c, x),
        (jnp.zeros(4), jnp.zeros(2)),
        X,
    )


def transforms():
    f = lambda x: jnp.tanh(x @ x.T).sum()
    yield "grad", lambda: jax.grad(f)(X)
    yield "value_and_grad", lambda: jax.value_and_grad(f)(X)
    yield "hessian", lambda: jax.hessian(f)(X[:, :2])
    yield "jacfwd_jacrev", lambda: [jax.jacfwd(jnp.sin)(X), jax.jacrev(jnp.cos)(X)]
    yield "vjp", lambda: jax.vjp(lambda x, y: (x @ y, x.sum()), X, X.T)[1](
        (jnp.ones((3, 3), "float32"), jnp.float32(2))
    )
    yield "linearize", lambda: jax.linearize(f, X)[1](X)
    yield "linear_transpose", lambda: jax.linear_transpose(lambda x: x @ X.T, X)(jnp.ones((3, 3), "float32"))
    yield "vmap_axes", lambda: jax.vmap(lambda x, y: jnp.outer(x, y), in_axes=(1, None), out_axes=2)(X, jnp.arange(3.0))
    yield "vmap_collective", lambda: jax.vmap(
        lambda x: [lax.psum(x, "i"), lax.pmax(x, "i"), lax.axis_index("i"), lax.all_gather(x, "i")], axis_name="i"
    )(X)
    yield "remat", lambda: jax.grad(
        jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum(), policy=jax.checkpoint_policies.dots_saveable)
    )(X)

    @jax.custom_jvp
    def clipped(x):
        return jnp.clip(x, -0.5, 0.5)

    clipped.defjvp(lambda p, t: (clipped(*p), t[0] * 3))
    yield "custom_jvp", lambda: [clipped(X), jax.grad(lambda x: clipped(x).sum())(X)]

    @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
    def scaled(x, s):
        return x * s

    scaled.defvjp(lambda x, s: (x * s, x), lambda s, r, g: (g * r * s,))
    yield "custom_vjp", lambda: jax.grad(lambda x: scaled(x, 3.0).sum())(X)

    @jax.custom_batching.custom_vmap
    def batched(x):
        return jnp.sin(x)

    @batched.def_vmap
    def _(size, is_batched, x):
        return jnp.cos(x), is_batched[0]

    yield "custom_vmap", lambda: [batched(X), jax.vmap(batched)(X)]
    yield "jet", lambda: __import__("jax.experimental.jet", fromlist=["jet"]).jet(jnp.sin, (0.3,), ((1.0, 0.5),))
    yield "eval_shape", lambda: str(jax.eval_shape(f, X))
    yield "optimization_barrier", lambda: jax.grad(lambda x: lax.optimization_barrier(x * 2).sum())(X)
    yield "reduce_precision", lambda: lax.reduce_precision(X, 5, 3)
    yield "stop_gradient", lambda: jax.grad(lambda x: (lax.stop_gradient(x) * x).sum())(X)
    yield "composite", lambda: jax.jit(lax.composite(lambda x: x * 2, "my.double"))(X)


def looks():
    compiled = lambda: jax.jit(lambda x: jnp.tanh(x) @ x.T).lower(X).compile()
    yield "compiled_call", lambda: compiled()(X)
    yield "compiled_text", lambda: str("HloModule" in compiled().as_text())
    yield "compiled_cost", lambda: str(compiled().cost_analysis()["flops"] > 0)
    yield "compiled_memory", lambda: str(compiled().memory_analysis().argument_size_in_bytes)
    yield "compiled_options", lambda: jax.jit(lambda x: x + 1).lower(X).compile({"xla_embed_ir_in_executable": True})(X)
    yield "compiled_bad_option", lambda: jax.jit(lambda x: x + 1).lower(X).compile({"no_such_option": True})
    yield "devices", lambda: [str(d) + repr(d) + d.platform + d.device_kind for d in jax.devices()]
    yield "memories", lambda: [str(m) + repr(m) + m.kind for m in jax.devices()[0].addressable_memories()]
    yield "device_put", lambda: [
        jax.device_put(X),
        jax.device_put(X.T),
        jax.device_put(X[::-1, ::2]),
        jax.device_put(3),
    ]
    yield "dlpack", lambda: [jnp.from_dlpack(jnp.asarray(X)), np.from_dlpack(jnp.asarray(X))]
    yield "buffer_pointer", lambda: str(jnp.asarray(X).unsafe_buffer_pointer() % 64)
    yield "zero_size", lambda: [jnp.zeros((0, 3)) + 1, jnp.zeros((2, 0)) @ jnp.zeros((0, 3)), jnp.zeros((0,)).sum()]
    yield "is_deleted", lambda: str((lambda a: (a.delete(), a.is_deleted())[1])(jnp.asarray(X) + 0))

    def memory_kind(kind):
        s = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind=kind)
        y = jax.device_put(X, s)
        return [str(y.sharding.memory_kind), y]

    for kind in ("device", "pinned_host", "unpinned_host"):
        yield f"memory_kind_{kind}", lambda k=kind: memory_kind(k)

    def on_host():
        s = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
        y = jax.jit(lambda x: x * 2, out_shardings=s)(X)
        return [str(y.sharding.memory_kind), y]

    yield "memory_kind_out", on_host

    def donated():
        a = jnp.asarray(X) + 0
        b = jax.jit(lambda x: x.at[0].add(1), donate_argnums=0)(a)
        return [str(a.is_deleted()), b]

    yield "donation", donated

    def donated_twice():
        a = jnp.asarray(X) + 0
        return jax.jit(lambda x, y: x + y, donate_argnums=(0, 1))(a, a)

    yield "donation_twice", donated_twice

    def donated_seen():
        a = jnp.asarray(X) + 0
        view = np.asarray(a)
        b = jax.jit(lambda x: x + 1, donate_argnums=0)(a)
        return [view.copy(), b]

    yield "donation_seen", donated_seen

    def used_after():
        a = jnp.asarray(X) + 0
        jax.jit(lambda x: x + 1, donate_argnums=0)(a)
        return a + 1

    yield "use_after_donation", used_after
    yield "donate_loop", lambda: functools.reduce(
        lambda a, _: jax.jit(lambda x: jnp.sin(x).at[1].set(x[0]), donate_argnums=0)(a), range(5), jnp.asarray(X) + 0
    )


def checks():
    from jax.experimental import checkify

    def checked(x, errors):
        error, out = checkify.checkify(jax.jit(lambda y: jnp.log(y)[5] / y[0]), errors=errors)(x)
        return [str(error.get()).split("(")[0], out]

    for name in ("nan_checks", "float_checks", "index_checks", "div_checks", "all_checks", "user_checks"):
        yield f"checkify_{name}", lambda n=name: checked(jnp.array([0.0, -1.0]), getattr(checkify, n))
    yield "checkify_scan", lambda: str(
        checkify.checkify(lambda x: lax.scan(lambda c, y: (checkify.check(y > 0, "not positive"), (c, y))[1], 0.0, x))(
            jnp.array([1.0, -1.0])
        )[0].get()
    )[:12]

    def debug_nans():
        with jax.debug_nans(True):
            return jnp.log(-jnp.ones(3))

    yield "debug_nans", debug_nans


def exports():
    def round_trip(function, *arguments, **keywords):
        exported = jax.export.export(jax.jit(function), **keywords)(*arguments)
        return jax.export.deserialize(exported.serialize())

    yield "export", lambda: round_trip(lambda x: jnp.tanh(x) @ x.T, X).call(X)
    yield "export_platforms", lambda: round_trip(lambda x: jnp.sin(x), X, platforms=("cpu", "cuda")).call(X)

    def symbolic():
        shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 4"), jnp.float32)
        loaded = round_trip(lambda x: jnp.tanh(x) / x.shape[0] + jnp.arange(x.shape[0])[:, None], shape)
        return [loaded.call(X), loaded.call(X[:1])]

    yield "export_symbolic", symbolic
    yield "export_vjp", lambda: jax.grad(
        lambda x: jax.export.deserialize(jax.export.export(jax.jit(jnp.sin))(X).serialize(vjp_order=1)).call(x).sum()
    )(X)

    def serialized():
        from jax.experimental import serialize_executable as s

        compiled = jax.jit(lambda x: x * 2 + 1).lower(X).compile()
        return s.deserialize_and_load(*s.serialize(compiled))(X)

    yield "serialize_executable", serialized
    yield "linalg_export", lambda: round_trip(lambda x: jnp.linalg.svd(x)[1], X).call(X)


def types():
    narrow = [
        "int2",
        "uint2",
        "int4",
        "uint4",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3b11fnuz",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float8_e4m3",
        "float8_e3m4",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "bfloat16",
        "float16",
    ]
    values = np.array([0.0, 0.4, 1.0, 1.5, -1.0, 2.0, 3.0, -2.0, 6.0, 100.0, 1e-3])
    for name in narrow:
        yield f"convert_{name}", lambda n=name: [
            jnp.asarray(values).astype(n),
            jnp.asarray(values).astype(n).astype("float32"),
        ]
        yield f"move_{name}", lambda n=name: [
            jnp.asarray(np.asarray(values[1:4]).astype(n)),
            jnp.zeros((2, 3), n),
            jnp.ones(3, n),
        ]
        for op in ("add", "mul", "sub", "max", "neg", "lt"):

            def run(n=name, o=op):
                x = jnp.asarray(values[:6]).astype(n)
                return getattr(lax, o)(x) if o == "neg" else jax.jit(getattr(lax, o))(x, x[::-1])

            yield f"{op}_{name}", run
        # JAX's own client has no products of types narrower than a byte.
        if not name.endswith(("int2", "int4", "e2m1fn")):
            yield f"dot_{name}", lambda n=name: jax.jit(
                lambda x: lax.dot_general(x, x.T, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32)
            )(jnp.ones((3, 4), n))
        yield f"gather_{name}", lambda n=name: jnp.arange(6).astype(n)[np.array([2, 0, 1])]
        if not name.endswith("int2"):
            yield f"reshape_concat_{name}", lambda n=name: jnp.concatenate(
                [jnp.ones((2, 3), n).T, jnp.zeros((3, 1), n)], axis=1
            ).reshape(-1)
        yield f"scan_{name}", lambda n=name: lax.scan(lambda c, x: (x, c), jnp.zeros((), n), jnp.ones(3, n))
        yield f"bitcast_{name}", lambda n=name: lax.bitcast_convert_type(
            jnp.ones(3, n),
            {8: "uint8", 16: "uint16"}.get(jnp.finfo(n).bits if jnp.issubdtype(n, jnp.floating) else 0, n),
        )
    yield "extended_key", lambda: jax.vmap(jax.random.key)(jnp.arange(3))
    yield "float0", lambda: str(jax.grad(lambda x: x * 1.0, allow_int=True)(3).dtype)


def cases():
    for group in (control_flow, transforms, looks, checks, exports, types):
        yield from group()
