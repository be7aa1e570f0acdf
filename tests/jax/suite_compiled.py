"""Compiled functions as users see them: what they tell of themselves, options, caches, profiles, foreign functions."""

import functools
import os
import pathlib
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)


def compiled_functions():
    f = lambda x: (jnp.tanh(x) @ x.T).sum()
    lowered = lambda: jax.jit(f).lower(X)
    compiled = lambda: lowered().compile()
    yield "lowered_text", lambda: lowered().as_text().splitlines()[0]
    yield "lowered_hlo", lambda: str("HloModule" in lowered().as_text("hlo"))
    yield "compiled_cost_names", lambda: str(
        sorted(k for k in compiled().cost_analysis() if k in ("flops", "bytes accessed", "transcendentals"))
    )
    plain = lambda c: str(sorted(k for k in c.cost_analysis() if "{" not in k))
    yield "cost_without_flops", lambda: plain(jax.jit(jnp.sin).lower(X).compile())
    yield "cost_of_moving", lambda: plain(jax.jit(lambda x: x.T).lower(X).compile())
    operands = ("bytes accessed0{}", "bytes accessedout{}", "utilization0{}")
    yield "compiled_cost_operands", lambda: str([compiled().cost_analysis()[k] > 0 for k in operands])

    def dumped(**options):
        with tempfile.TemporaryDirectory() as folder:
            lowered().compile(compiler_options={"xla_dump_to": folder, **options})
            ends = (".before_optimizations", ".cpu_after_optimizations")
            return str(sorted(n[11:] for n in os.listdir(folder) if n.split(".txt")[0].split(".hlo")[0].endswith(ends)))

    yield "dump", dumped
    yield "dump_protos", lambda: dumped(xla_dump_hlo_as_proto=True)
    yield "dump_both", lambda: dumped(xla_dump_hlo_as_proto=True, xla_dump_hlo_as_text=True)
    yield "dump_none", lambda: dumped(xla_dump_hlo_module_re="nothing")

    def memory():
        m = compiled().memory_analysis()
        several = jax.jit(lambda x: (x * 2, x.sum())).lower(X).compile().memory_analysis()
        names = sorted(n for n in dir(m) if n.endswith("_bytes"))
        return [
            str(names),
            str(m.argument_size_in_bytes),
            str(m.output_size_in_bytes),
            str(m.alias_size_in_bytes),
            str(several.output_size_in_bytes),
        ]

    yield "compiled_memory", memory
    yield "memory_proto", lambda: str(type(compiled().memory_analysis().serialized_hlo_proto))
    yield "runtime_executable", lambda: str(type(compiled().runtime_executable()).__name__)
    yield "hlo_modules", lambda: str(len(compiled().runtime_executable().hlo_modules()))
    yield "module_name", lambda: compiled().runtime_executable().hlo_modules()[0].name
    yield "module_text", lambda: str("ENTRY" in compiled().runtime_executable().hlo_modules()[0].to_string())
    yield "input_shardings", lambda: str(compiled().input_shardings) + str(compiled().output_shardings)
    yield "input_formats", lambda: str(compiled().input_formats) + str(compiled().output_formats)
    yield "in_tree", lambda: str(compiled().in_tree) + str(compiled().out_tree) + str(compiled().out_info)
    yield "out_info", lambda: str(lowered().out_info) + str(lowered().args_info)
    yield "compiled_wrong_shape", lambda: compiled()(X[:2])
    yield "compiled_wrong_type", lambda: compiled()(X.astype("float64"))
    yield "compiled_wrong_count", lambda: compiled()(X, X)
    yield "fingerprint", lambda: str(type(compiled().runtime_executable().fingerprint).__name__)
    yield "generated_code", lambda: str(compiled().runtime_executable().size_of_generated_code_in_bytes() >= 0)
    yield "parameter_shardings", lambda: str(compiled().runtime_executable().get_parameter_shardings())
    yield "output_shardings", lambda: str(compiled().runtime_executable().get_output_shardings())
    yield "output_memory_kinds", lambda: str(compiled().runtime_executable().get_output_memory_kinds())
    yield "parameter_layouts", lambda: [str(s) for s in compiled().runtime_executable().get_parameter_layouts()]
    yield "output_layouts", lambda: [str(s) for s in compiled().runtime_executable().get_output_layouts()]
    yield "local_devices", lambda: str(compiled().runtime_executable().local_devices())
    yield "executable_options", lambda: str(type(compiled().runtime_executable().compile_options()).__name__)
    yield "xla_runtime_serialize", lambda: str(len(compiled().runtime_executable().serialize()) > 10)

    def options(**given):
        return jax.jit(f, compiler_options=given)(X)

    yield "option_backend", lambda: options(xla_backend_optimization_level=1)
    yield "option_fast_min_max", lambda: options(xla_cpu_enable_fast_min_max=False)
    yield "option_bad_value", lambda: options(xla_embed_ir_in_executable="invalid_value")
    yield "option_bad_name", lambda: options(not_an_option=True)
    yield "option_unknown_of_xla", lambda: options(xla_no_such_option=True)
    for name in (
        "xla_cpu_enable_fast_math xla_backend_optimization_level xla_gpu_cuda_data_dir xla_gpu_autotune_level "
        "xla_disable_hlo_passes xla_step_marker_location xla_cpu_prefer_vector_width xla_backend_extra_options"
    ).split():
        for value in (True, 1, 1.5, "true", "0", "nonsense", ""):
            yield f"option_{name}_{value!r}", lambda n=name, v=value: options(**{n: v})
    yield "trace", lambda: str(jax.jit(f).trace(X).jaxpr)
    yield "cache_size", lambda: str((g := jax.jit(f), g(X), g(X), g(X[:2]), g._cache_size())[-1])

    def cleared():
        g = jax.jit(f)
        g(X)
        g.clear_cache()
        jax.clear_caches()
        return g(X)

    yield "clear_caches", cleared
    yield "kept_unused", lambda: jax.jit(lambda x, y: x, keep_unused=True)(X, X)
    yield "static_args", lambda: jax.jit(lambda x, n: x * n, static_argnums=1)(X, 3)
    yield "large_constant", lambda: jax.jit(lambda x: x + np.arange(100000.0))(1.0)
    yield "many_arguments", lambda: jax.jit(lambda *a: sum(a))(*range(300))
    yield "many_results", lambda: jax.jit(lambda x: [x + i for i in range(300)])(1.0)
    yield "no_arguments", lambda: jax.jit(lambda: (jnp.ones(3), 2))()
    yield "no_results", lambda: str(jax.jit(lambda x: ())(X))
    yield "same_result_twice", lambda: jax.jit(lambda x: (x, x, x + 1))(X)
    yield "deep", lambda: jax.jit(lambda x: functools.reduce(lambda a, _: jnp.sin(a), range(500), x))(X)
    yield "inline", lambda: jax.jit(lambda x: jax.jit(jnp.sin, inline=True)(x) + 1)(X)
    yield "named_scope", lambda: jax.jit(lambda x: jax.named_scope("a")(jnp.sin)(x))(X)


def caches():
    def persistent(check):
        from jax._src import compilation_cache

        with tempfile.TemporaryDirectory() as folder:
            settings = {
                "jax_compilation_cache_dir": folder,
                "jax_persistent_cache_min_entry_size_bytes": 0,
                "jax_persistent_cache_min_compile_time_secs": 0.0,
                "jax_enable_compilation_cache": True,
            }
            before = {name: getattr(jax.config, name) for name in settings}
            try:
                compilation_cache.reset_cache()
                for name, value in settings.items():
                    jax.config.update(name, value)
                return check(pathlib.Path(folder))
            finally:
                for name, value in before.items():
                    jax.config.update(name, value)
                compilation_cache.reset_cache()

    def hits(folder):
        counted = []
        from jax._src import monitoring

        listener = lambda event, **_: counted.append(event)
        monitoring.register_event_listener(listener)
        out = []
        for _ in range(3):
            jax.clear_caches()
            out.append(jax.jit(lambda x: jnp.sin(x) * 3)(X))
        files = sorted(p.name.split("-")[0] for p in folder.iterdir())
        return [out, str([e for e in counted if "cache_hits" in e or "cache_misses" in e]), str(files)]

    yield "persistent_hits", lambda: persistent(hits)

    def sharing(folder):
        jax.jit(lambda x: jnp.linalg.svd(x)[1])(X)
        jax.clear_caches()
        return jax.jit(lambda x: jnp.linalg.svd(x)[1])(X)

    yield "persistent_lapack", lambda: persistent(sharing)

    def cached_callbacks(folder):
        f = lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(X.shape, X.dtype), x)
        out = [jax.jit(f)(X)]
        jax.clear_caches()
        return out + [jax.jit(f)(X), str(len(list(folder.iterdir())))]

    yield "persistent_callback", lambda: persistent(cached_callbacks)

    def files(folder):
        out = [jax.jit(lambda x, i=i: x + i)(X) for i in range(4)]
        return out + [str(len([p for p in folder.iterdir() if "-cache" in p.name]))]

    yield "persistent_files", lambda: persistent(files)

    def serialized(f, *arguments):
        from jax.experimental import serialize_executable as s

        compiled = jax.jit(f).lower(*arguments).compile()
        return s.deserialize_and_load(*s.serialize(compiled))(*arguments)

    yield "serialize_svd", lambda: serialized(lambda x: jnp.linalg.svd(x)[1], X)
    yield "serialize_loop", lambda: serialized(lambda x: lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) + i, x), X)
    yield "serialize_random", lambda: serialized(lambda k: jax.random.normal(k, (5,)), jax.random.key(0))
    yield "serialize_several", lambda: serialized(lambda x: {"a": x, "b": (x.sum(), x > 0)}, X)

    def garbage():
        return jax.devices()[0].client.deserialize_executable(b"garbage", jax.devices(), None)

    yield "deserialize_garbage", garbage


def profiles():
    def traced(work):
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                work()
            return str(sorted(p.suffix for p in pathlib.Path(folder).rglob("*.pb")))

    yield "profiler_trace", lambda: traced(lambda: jax.block_until_ready(jax.jit(jnp.sin)(X)))
    yield "profiler_annotation", lambda: traced(
        lambda: jax.profiler.annotate_function(lambda: jax.block_until_ready(jnp.sin(X) + 1), name="hello")()
    )
    yield "profiler_step", lambda: [jax.profiler.StepTraceAnnotation("a", step_num=1).__enter__() and jnp.sin(X)][:0]
    yield "profiler_memory", lambda: str(len(jax.profiler.device_memory_profile()) > 0)

    def saved():
        with tempfile.TemporaryDirectory() as folder:
            jax.profiler.save_device_memory_profile(os.path.join(folder, "p"))
            return str(os.path.getsize(os.path.join(folder, "p")) > 0)

    yield "profiler_save_memory", saved

    def twice():
        with tempfile.TemporaryDirectory() as folder:
            jax.profiler.start_trace(folder)
            try:
                jax.profiler.start_trace(folder)
            finally:
                jax.profiler.stop_trace()

    yield "profiler_twice", twice
    yield "profiler_none", lambda: jax.profiler.stop_trace()


def foreign():
    yield "ffi_targets", lambda: str(
        len(__import__("jaxlib.xla_client", fromlist=["x"]).custom_call_targets("Host")) > 10
    )
    yield "ffi_unknown", lambda: jax.jit(
        lambda x: jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
    )(X)
    for name, target in [("number", 3), ("object", object()), ("stages", {"execute": 3})]:
        yield f"ffi_wrong_{name}", lambda name=name, target=target: jax.ffi.register_ffi_target(
            f"no_function_{name}", target, platform="cpu"
        )
    yield "buffer_callback", lambda: (
        jax.jit(
            lambda x: jax.experimental.buffer_callback.buffer_callback(
                lambda ctx, out, arg: np.asarray(out).__setitem__(Ellipsis, np.asarray(arg) * 2),
                jax.ShapeDtypeStruct(X.shape, X.dtype),
            )(x)
        )(X)
        if __import__("jax.experimental.buffer_callback")
        else None
    )


def cases():
    for group in (compiled_functions, caches, profiles, foreign):
        yield from group()
