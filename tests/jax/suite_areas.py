"""Parts of JAX that stand on what is compiled: rules of derivatives and batches, policies of checkpoints, checks, Taylor
series, recurrent cells, keys, trees, serialized arrays, meshes, estimates, kernels, and what tells of all that."""

import functools
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)
ROW = X[0]


def rules():
    @jax.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    f.defjvps(lambda t, out, x, y: 2 * t * y, lambda t, out, x, y: t * 3)
    yield "custom_jvp", lambda: [f(X, 2.0), jax.jvp(f, (X, X), (X, X)), jax.grad(lambda x: f(x, x).sum())(X)]
    yield "custom_jvp_vmap_jit", lambda: jax.jit(jax.vmap(jax.grad(lambda x: f(x, 2.0).sum())))(X)

    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def g(n, x):
        return x * n

    g.defvjp(lambda n, x: (x * n, x), lambda n, x, t: (t * x * n,))
    yield "custom_vjp", lambda: [
        g(3, X),
        jax.grad(lambda x: g(3, x).sum())(X),
        jax.vmap(jax.grad(lambda x: g(2, x)))(ROW),
    ]

    @jax.custom_batching.custom_vmap
    def h(x):
        return x + 1

    h.def_vmap(lambda size, batched, x: (x * 100, batched[0]))
    yield "custom_vmap", lambda: [h(X), jax.vmap(h)(X), jax.jit(jax.vmap(jax.vmap(h)))(X)]
    yield "sequential_vmap", lambda: jax.vmap(jax.custom_batching.sequential_vmap(lambda x: x.sum() * x))(X)
    yield "custom_linear_solve", lambda: jax.grad(
        lambda b: lax.custom_linear_solve(lambda x: x * 3, b, lambda m, y: y / 3, symmetric=True).sum()
    )(X)
    yield "custom_root", lambda: jax.grad(
        lambda a: lax.custom_root(
            lambda x: x * x - a,
            1.0,
            lambda f, x: lax.fori_loop(0, 20, lambda i, y: (y + a / y) / 2, x),
            lambda g, y: y / g(1.0),
        )
    )(2.0)
    yield "linearize", lambda: (lambda y, t: [y, t(X)])(*jax.linearize(lambda x: jnp.sin(x) * x, X))
    yield "vjp", lambda: (lambda y, t: [y, t(y)])(*jax.vjp(lambda x: jnp.tanh(x @ x.T), X))
    yield "linear_transpose", lambda: jax.linear_transpose(lambda x: x @ X.T, X)(np.ones((3, 3), "float32"))
    yield "jacobians", lambda: [j(lambda x: jnp.outer(x, x) @ x)(ROW) for j in (jax.jacfwd, jax.jacrev, jax.hessian)]
    yield "grad_tree", lambda: jax.value_and_grad(lambda p: (p["w"] @ p["b"]).sum(), has_aux=False)({"w": X, "b": ROW})
    yield "grad_aux", lambda: jax.grad(lambda x: (x.sum() ** 2, {"a": x * 2}), has_aux=True)(X)
    yield "grad_integer", lambda: jax.grad(lambda x: x * 2)(3)
    yield "grad_complex", lambda: jax.grad(lambda z: jnp.abs(z**2).sum(), holomorphic=False)(ROW + 1j * ROW)
    yield "grad_holomorphic", lambda: jax.grad(lambda z: (z**3).sum(), holomorphic=True)((ROW + 1j).astype("complex64"))
    yield "grad_nonscalar", lambda: jax.grad(lambda x: x * 2)(X)
    yield "stop_gradient", lambda: jax.grad(lambda x: (lax.stop_gradient(x) * x).sum())(X)
    yield "float0", lambda: str(jax.vjp(lambda x, i: x * i, X, 3)[1](X)[1].dtype)
    yield "fwd_and_bwd", lambda: jax.fwd_and_bwd(lambda x: jnp.sin(x), argnums=0)[0](X)[0]
    yield "closure_convert", lambda: str(len(jax.closure_convert(lambda y: y + jnp.asarray(X), X)[1]))
    yield "pure_vmap_axis_size", lambda: jax.vmap(lambda: jnp.ones(2), axis_size=3)()
    yield "vmap_collectives", lambda: jax.vmap(
        lambda x: [
            lax.psum(x, "i"),
            lax.pmax(x, "i"),
            lax.axis_index("i"),
            lax.all_gather(x, "i"),
            lax.ppermute(x, "i", [(0, 1)]),
        ],
        axis_name="i",
    )(X)
    yield "vmap_spmd", lambda: jax.vmap(jax.vmap(lambda a, b: a * b, (0, None)), (None, 0))(ROW, X[:, 0])
    yield "vmap_bad_axis", lambda: jax.vmap(lambda x: x, in_axes=5)(X)
    yield "vmap_sizes_differ", lambda: jax.vmap(lambda x, y: x + y)(X, ROW)
    yield "eval_shape", lambda: str(jax.eval_shape(lambda x: {"a": x @ x.T, "b": x.sum()}, X))
    yield "make_jaxpr", lambda: str(jax.make_jaxpr(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x))(X))


def policies():
    def layers(x):
        for i in range(3):
            x = jax.ad_checkpoint.checkpoint_name(jnp.sin(x @ X.T @ X * 0.1), f"layer{i}")
        return x.sum()

    p = jax.checkpoint_policies
    table = {
        "everything": p.everything_saveable,
        "nothing": p.nothing_saveable,
        "dots": p.dots_saveable,
        "dots_no_batch": p.dots_with_no_batch_dims_saveable,
        "names": p.save_only_these_names("layer1"),
        "any_names": p.save_any_names_but_these("layer0"),
        "anything_but": p.save_anything_except_these_names("layer2"),
        "both": p.save_from_both_policies(p.dots_saveable, p.save_only_these_names("layer1")),
        "offload_dots": p.offload_dot_with_no_batch_dims("device", "pinned_host"),
    }
    for name, policy in table.items():
        yield f"policy_{name}", lambda q=policy: jax.jit(jax.grad(jax.checkpoint(layers, policy=q)))(X)
    yield "remat_static", lambda: jax.grad(jax.checkpoint(lambda x, n: (x**n).sum(), static_argnums=1))(X, 3)
    yield "remat_no_cse", lambda: jax.grad(jax.checkpoint(layers, prevent_cse=False))(X)
    yield "remat_scan", lambda: jax.grad(
        lambda x: lax.scan(jax.checkpoint(lambda c, _: (jnp.sin(c), None)), x, None, length=5)[0].sum()
    )(X)
    yield "remat_vmap_jvp", lambda: jax.vmap(lambda x: jax.jvp(jax.checkpoint(jnp.sin), (x,), (x,)))(X)


def checks():
    from jax.experimental import checkify

    def run(f, *arguments, errors=checkify.all_checks, jit=True):
        checked = checkify.checkify(f, errors=errors)
        error, out = (jax.jit(checked) if jit else checked)(*arguments)
        return [str(error.get()).split("\n", maxsplit=1)[0][:60], out]

    yield "checkify_nan", lambda: run(lambda x: jnp.log(x), -X, errors=checkify.nan_checks)
    yield "checkify_fine", lambda: run(lambda x: jnp.log(x * x + 1), X)
    yield "checkify_division", lambda: run(lambda x: x / 0, X, errors=checkify.div_checks)
    yield "checkify_index", lambda: run(lambda x, i: x[i], X, 7, errors=checkify.index_checks)
    yield "checkify_user", lambda: run(
        lambda x: (checkify.check(x.sum() < 0, "sum {s}", s=x.sum()), x)[1], X, errors=checkify.user_checks
    )
    yield "checkify_scan", lambda: run(lambda x: lax.scan(lambda c, a: (c / a.sum(), c), 1.0, x), X)
    yield "checkify_while", lambda: run(lambda x: lax.while_loop(lambda s: s < 5, lambda s: s + jnp.log(s), x), 2.0)
    yield "checkify_cond", lambda: run(lambda x: lax.cond(x.sum() > 0, jnp.log, jnp.exp, x), X)
    yield "checkify_vmap", lambda: run(jax.vmap(lambda x: jnp.log(x.sum())), X - 3)
    yield "checkify_throw", lambda: checkify.check_error(
        jax.jit(checkify.checkify(jnp.log, errors=checkify.nan_checks))(-X)[0]
    )
    yield "check_unchecked", lambda: jax.jit(lambda x: (checkify.check(x.sum() > 0, "no"), x)[1])(X)
    yield "debug_check", lambda: jax.jit(lambda x: (checkify.debug_check(x.sum() > 0, "no"), x)[1])(X)


def series():
    from jax.experimental import jet

    for name in "sin cos tanh exp log1p sqrt logistic erf".split():
        f = getattr(lax, name)
        yield f"jet_{name}", lambda f=f: jet.jet(f, (jnp.float32(0.3),), ((1.0, 0.5, 0.2),))
    yield "jet_product", lambda: jet.jet(lambda x, y: x * y / (x + 2), (0.3, 0.4), ((1.0, 0.0), (0.5, 0.1)))
    yield "jet_dot", lambda: jet.jet(lambda x: (x @ X.T).sum(), (X,), ((X, X * 0),))


def tools():
    from jax.experimental import mesh_utils, multihost_utils

    yield "key_reuse_clone", lambda: jax.random.key_data(jax.random.clone(jax.random.key(3)))

    def reused():
        with jax.debug_key_reuse(True):
            k = jax.random.key(0)
            return jax.random.normal(k), jax.random.normal(k)

    yield "key_reuse", reused
    yield "keys", lambda: [
        jax.random.key_data(jax.random.wrap_key_data(np.array([1, 2], "uint32"))),
        str(jax.random.key_impl(jax.random.key(0, impl="rbg"))),
        str(jax.random.key(0)),
        jax.random.PRNGKey(5),
        jax.random.key_data(jnp.stack([jax.random.key(1), jax.random.key(2)])[::-1]),
    ]
    yield "key_arrays", lambda: (
        lambda k: [
            str(k.shape),
            str(k[0].dtype),
            jax.random.key_data(k.reshape(2, 2).T),
            jax.random.key_data(jnp.where(True, k, k)),
        ]
    )(jax.random.split(jax.random.key(0), 4))
    yield "key_scan", lambda: lax.scan(lambda k, _: jax.random.split(k), jax.random.key(0), None, length=3)[1]
    yield "key_add", lambda: jax.random.key(0) + 1
    yield "tree", lambda: [
        jax.tree.map(lambda a, b: a + b, {"x": X, "y": [1, (2,)]}, {"x": X, "y": [3, (4,)]}),
        jax.tree.leaves({"b": 1, "a": [2, None]}),
        str(jax.tree.structure({"b": 1, "a": [2, None]})),
        jax.tree.reduce(lambda a, b: a + b, [1, (2, 3)]),
        str(jax.tree_util.tree_map_with_path(lambda p, v: jax.tree_util.keystr(p), {"a": [1, 2]})),
        jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure((0, 0)), [(1, 2), (3, 4)]),
        jax.tree.broadcast(1, {"a": 2, "b": 3}),
    ]
    yield "flatten_util", lambda: (lambda f, u: [f, u(f * 2)])(
        *jax.flatten_util.ravel_pytree({"a": X, "b": ROW.astype("float64")})
    )
    yield "mesh_utils", lambda: str(mesh_utils.create_device_mesh((1,), jax.devices()[:1]).shape)
    yield "multihost", lambda: [
        multihost_utils.process_allgather(X),
        multihost_utils.broadcast_one_to_all(X),
        str(multihost_utils.sync_global_devices("a")),
        str(multihost_utils.assert_equal(X)),
    ]
    yield "make_mesh", lambda: str(jax.make_mesh((1, 1), ("a", "b"), devices=jax.devices()[:1]).shape)
    yield "block_until_ready", lambda: jax.block_until_ready({"a": jnp.ones(3), "b": 1})
    yield "ensure_compile_time", lambda: jax.jit(lambda x: x * _static())(X)
    yield "numpy_dtype_promotion", lambda: _promote("strict", lambda: jnp.ones(3, "float32") + jnp.ones(3, "int32"))
    yield "numpy_rank_promotion", lambda: _ranks("raise", lambda: jnp.ones((2, 3)) + jnp.ones(3))
    yield "default_matmul_precision", lambda: _precision("bfloat16", lambda: jnp.dot(X, X.T))
    yield "typeof", lambda: str(jax.typeof(jnp.asarray(X))) + str(jax.ShapeDtypeStruct((2,), "float32"))
    yield "print_environment", lambda: str("jax:" in jax.print_environment_info(return_string=True))
    yield "live_arrays_platform", lambda: str(len(jax.live_arrays("cpu")) > 0)
    yield "debug_visualize", lambda: str(jax.debug.visualize_array_sharding(jnp.asarray(X), use_color=False))
    yield "debug_inspect", lambda: _inspected()
    yield "monitoring", _monitored
    yield "serialized_arrays", _saved
    yield "export_symbolic", _exported
    yield "named_call", lambda: jax.named_call(jnp.sin, name="s")(X)
    yield "scan_unroll", lambda: lax.scan(lambda c, x: (c + x, c), 0.0, ROW, unroll=True, _split_transpose=False)
    yield "explain_misses", _explained
    yield "transfer_guards", lambda: _guarded()
    yield "rnn", _recurrent
    yield "roofline", _roofline
    yield "saved_residuals", lambda: str(len(jax.ad_checkpoint.print_saved_residuals.__module__) > 0)
    yield "topologies", lambda: str(
        __import__("jax.experimental.topologies", fromlist=["x"]).get_attached_topology().devices[0].platform
    )
    yield "colocated", lambda: str(hasattr(__import__("jax.experimental.colocated_python"), "x"))
    yield "hijax_box", lambda: str(jax.devices()[0].device_kind)
    yield "error_names", lambda: str(issubclass(jax.errors.JaxRuntimeError, RuntimeError))
    yield "concretization", lambda: jax.jit(lambda x: x if x > 0 else -x)(1.0)
    yield "tracer_leak", _leaked
    yield "non_hashable_static", lambda: jax.jit(lambda x, s: x, static_argnums=1)(X, [1])
    yield "unknown_backend", lambda: jax.jit(jnp.sin, backend="nonsense")(X)
    yield "effects_token", lambda: str(jax.effects_barrier())
    yield "array_api", lambda: [
        jnp.asarray(X).__array_namespace__().sum(X),
        jnp.astype(X, "int32"),
        jnp.isdtype("int8", "integral"),
    ]
    yield "ufuncs", lambda: [
        jnp.add.reduce(X, axis=1),
        jnp.add.accumulate(X),
        jnp.multiply.outer(ROW, ROW),
        jnp.add.at(X, 0, 1.0, inplace=False),
        jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1)(X, X),
        jnp.add.reduceat(ROW, np.array([0, 2])),
    ]
    yield "vectorize", lambda: jnp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(X, ROW)
    yield "apply_along", lambda: jnp.apply_along_axis(lambda r: jnp.sort(r)[::-1], 1, X)


def _static():
    with jax.ensure_compile_time_eval():
        return int(jnp.sum(jnp.arange(4)))


def _promote(kind, work):
    with jax.numpy_dtype_promotion(kind):
        return work()


def _ranks(kind, work):
    with jax.numpy_rank_promotion(kind):
        return work()


def _precision(kind, work):
    with jax.default_matmul_precision(kind):
        return work()


def _inspected():
    seen = []
    jax.jit(
        lambda x: (jax.debug.inspect_array_sharding(x * 2, callback=lambda s: seen.append(type(s).__name__)), x)[1]
    )(X)
    return str(seen)


def _monitored():
    seen = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, duration, **_: seen.append(event))
    jax.jit(lambda x: jnp.sin(x) * 17)(X)
    return str(sorted({e for e in seen if "compile" in e}))


def _saved():
    from jax.experimental.array_serialization import serialization

    with tempfile.TemporaryDirectory() as folder:
        x = jnp.asarray(X)
        manager = serialization.GlobalAsyncCheckpointManager()
        spec = serialization.get_tensorstore_spec(folder + "/a")
        manager.serialize([x], [spec], on_commit_callback=lambda: None)
        manager.wait_until_finished()
        return manager.deserialize([x.sharding], [spec], [x.shape], [x.dtype])


def _exported():
    a, b = jax.export.symbolic_shape("a, b")
    f = jax.export.export(jax.jit(lambda x: jnp.concatenate([x @ x.T, jnp.ones((x.shape[0], 1))], 1).sum(0)))(
        jax.ShapeDtypeStruct((a, b), "float32")
    )
    g = jax.export.deserialize(f.serialize())
    return [g.call(X), g.call(X[:2, :3]), str(g.in_avals), str(g.platforms)]


def _explained():
    with jax.explain_cache_misses(True):
        f = jax.jit(lambda x: x + 1)
        return [f(X), f(X[:2])]


def _guarded():
    with jax.transfer_guard("disallow"):
        return jax.jit(lambda x: x + 1)(X)


def _recurrent():
    from jax.experimental import rnn

    key = jax.random.key(0)
    x = jax.random.normal(key, (2, 5, 3))
    weights = rnn.init_lstm_weight(key, 3, 4, 1, False)
    zero = jnp.zeros((1, 2, 4))
    lengths = jnp.array([5, 3])
    run = functools.partial(rnn.lstm_ref, input_size=3, hidden_size=4, num_layers=1, dropout=0.0, bidirectional=False)
    w_ih, w_hh, b_ih, b_hh = rnn.unpack_lstm_weights(weights, 3, 4, 1, False)
    return run(x, zero, zero, w_ih, w_hh, b_ih, b_hh, seq_lengths=lengths)


def _roofline():
    from jax.experimental import roofline

    mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    out, result = roofline.roofline(
        lambda x: x @ x.T, mesh=mesh, in_specs=jax.sharding.PartitionSpec(), out_specs=jax.sharding.PartitionSpec()
    )(jax.ShapeDtypeStruct(X.shape, "float32"))
    return str(out) + str(result.flops)


def _leaked():
    kept = []
    with jax.checking_leaks():
        jax.jit(lambda x: (kept.append(x), x)[1])(X)


def kernels():
    from jax.experimental import pallas as pl

    def call(kernel, out, *arguments, **more):
        return pl.pallas_call(kernel, out_shape=out, interpret=True, **more)(*arguments)

    like = jax.ShapeDtypeStruct((8, 8), "float32")
    a = np.arange(64, dtype="float32").reshape(8, 8)
    yield "pallas_loop", lambda: call(
        lambda x, o: o.__setitem__(..., lax.fori_loop(0, 3, lambda i, c: c + x[...] * i, jnp.zeros((8, 8)))), like, a
    )
    yield "pallas_when", lambda: _conditional(pl, a)
    yield "pallas_reduce", lambda: call(
        lambda x, o: o.__setitem__(..., x[...].sum(1)), jax.ShapeDtypeStruct((8,), "float32"), a
    )
    yield "pallas_dynamic_slice", lambda: call(
        lambda x, i, o: o.__setitem__(..., x[pl.ds(i[0], 2), :]),
        jax.ShapeDtypeStruct((2, 8), "float32"),
        a,
        np.array([3]),
    )
    yield "pallas_accumulate", lambda: _accumulated(pl, a)
    yield "pallas_alias", lambda: call(
        lambda x, o: o.__setitem__(0, x[1]), like, jnp.asarray(a), input_output_aliases={0: 0}
    )
    yield "pallas_two", lambda: call(
        lambda x, o, p: (o.__setitem__(..., x[...] * 2), p.__setitem__(..., x[...].astype("int32"))),
        [like, jax.ShapeDtypeStruct((8, 8), "int32")],
        a,
    )
    yield "pallas_grad", lambda: jax.jvp(
        lambda x: call(lambda r, o: o.__setitem__(..., jnp.sin(r[...])), like, x), (a,), (a,)
    )
    yield "pallas_vmap", lambda: jax.vmap(
        lambda x: call(lambda r, o: o.__setitem__(..., r[...] + 1), jax.ShapeDtypeStruct((8,), "float32"), x)
    )(a)
    yield "pallas_cost", lambda: call(
        lambda x, o: o.__setitem__(..., x[...]),
        like,
        a,
        cost_estimate=pl.CostEstimate(flops=1, bytes_accessed=2, transcendentals=0),
    )


def _conditional(pl, a):
    def kernel(x, o):
        i = pl.program_id(0)

        @pl.when(i % 2 == 0)
        def _():
            o[...] = x[...]

        @pl.when(i % 2 == 1)
        def _():
            o[...] = -x[...]

    spec = pl.BlockSpec((2, 8), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct((8, 8), "float32"),
        interpret=True,
    )(a)


def _accumulated(pl, a):
    def kernel(x, y, o):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += x[...] @ y[...]

    return pl.pallas_call(
        kernel,
        grid=(2, 2, 4),
        in_specs=[pl.BlockSpec((4, 2), lambda i, j, k: (i, k)), pl.BlockSpec((2, 4), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((4, 4), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((8, 8), "float32"),
        interpret=True,
    )(a, a)


def cases():
    for group in (rules, policies, checks, series, tools, kernels):
        yield from group()
