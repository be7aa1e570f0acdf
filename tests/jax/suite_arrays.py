"""Arrays as users see them: types, sharing with NumPy and DLPack, deletion, donation, devices and memories, layouts."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)

DTYPES = (
    "bool int2 uint2 int4 uint4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bfloat16 float16 float32 float64 "
    "complex64 complex128 float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e4m3 "
    "float8_e3m4 float8_e8m0fnu float4_e2m1fn"
).split()


def placed(offset):
    """An array of NumPy's that begins so many bytes behind a multiple of 64."""
    memory = np.zeros(1024, "uint8")
    start = -memory.ctypes.data % 64 + offset
    memory[start : start + X.nbytes] = X.view("uint8").ravel()
    return memory[start : start + X.nbytes].view(X.dtype).reshape(X.shape)


def arrays():
    for name in DTYPES:
        values = np.arange(6).reshape(2, 3).astype(jnp.dtype(name))
        yield f"put_{name}", lambda v=values: [jax.device_put(v), jax.device_put(v.T), str(jax.device_put(v).nbytes)]
        yield f"get_{name}", lambda v=values: jax.device_get(jax.jit(lambda x: x.T)(v))
        yield f"on_device_size_{name}", lambda v=values: str(jnp.asarray(v).on_device_size_in_bytes())
        yield f"view_{name}", lambda v=values: jnp.asarray(v).view(name)
        yield f"repr_{name}", lambda v=values: repr(jnp.asarray(v)) + str(jnp.asarray(v))
    for name in "bool int8 uint8 int32 int64 bfloat16 float16 float32 float64 complex64 complex128".split():
        values = np.arange(6).reshape(2, 3).astype(jnp.dtype(name))
        yield f"dlpack_{name}", lambda v=values: jnp.from_dlpack(jnp.asarray(v))
    yield "dlpack_numpy_copy", lambda: np.from_dlpack(jnp.asarray(X), copy=True)
    yield "dlpack_device", lambda: str(jnp.asarray(X).__dlpack_device__())
    yield "dlpack_transposed", lambda: np.from_dlpack(jax.jit(lambda x: x.T)(X))
    yield "dlpack_empty", lambda: jnp.from_dlpack(jnp.zeros((0, 3)))
    for offset in (0, 16):
        for copy in (None, True, False):
            yield f"dlpack_from_numpy_{offset}_{copy}", lambda o=offset, c=copy: jnp.from_dlpack(placed(o), copy=c)
        yield f"dlpack_shares_{offset}", lambda o=offset: [x := placed(o), y := jnp.from_dlpack(x), x.fill(7), y][3]
        yield f"dlpack_from_jax_{offset}", lambda o=offset: jnp.from_dlpack(jnp.asarray(X)[o // 16 :], copy=True)
    yield "dlpack_placed", lambda: str(jnp.from_dlpack(placed(16), jax.devices()[0], copy=True).committed)
    yield "dlpack_no_array", lambda: jnp.from_dlpack(3, copy=True)
    yield "array_interface", lambda: np.asarray(memoryview(jnp.asarray(X)))
    yield "pickle", lambda: __import__("pickle").loads(__import__("pickle").dumps(jnp.asarray(X)))
    yield "copy", lambda: [__import__("copy").deepcopy(jnp.asarray(X)), jnp.asarray(X).copy()]
    yield "iterate", lambda: [list(jnp.asarray(X)), len(jnp.asarray(X)), jnp.asarray(X)[1]]
    yield "scalar", lambda: [str(float(jnp.float32(2))), str(int(jnp.int32(3))), str(bool(jnp.bool_(True)))]
    yield "index", lambda: str([10, 20, 30][jnp.int32(1)])
    yield "format", lambda: f"{jnp.float32(1.5):.3f} {jnp.asarray(X)!r}"
    yield "weak_type", lambda: str(jnp.asarray(2.0).weak_type) + str((jnp.asarray(2) * 1.5).weak_type)

    def asynchronous():
        x = jnp.asarray(X) + 1
        x.copy_to_host_async()
        return x

    yield "copy_to_host_async", asynchronous
    yield "block", lambda: jax.block_until_ready([jnp.asarray(X) + 1, 3, {"a": jnp.zeros(2)}])
    yield "is_ready", lambda: str(jax.block_until_ready(jnp.asarray(X) + 1).is_ready())

    def live():
        gc.collect()
        before = len(jax.live_arrays())
        x = jnp.asarray(X) + 1
        after = len(jax.live_arrays())
        x.delete()
        return str((after - before, len(jax.live_arrays()) - before))

    yield "live_arrays", live
    yield "live_buffers", lambda: str(isinstance(jax.devices()[0].client.live_buffers(), list))
    yield "live_executables", lambda: str(
        (jax.jit(lambda x: x + 3)(X), len(jax.devices()[0].client.live_executables()) > 0)[1]
    )

    def deleted(use):
        x = jnp.asarray(X) + 1
        x.delete()
        return use(x)

    uses = {
        "asarray": np.asarray,
        "add": lambda x: x + 1,
        "block": lambda x: x.block_until_ready(),
        "repr": repr,
        "delete": lambda x: str(x.delete()),
        "pointer": lambda x: str(x.unsafe_buffer_pointer()),
        "shape": lambda x: str(x.shape) + str(x.dtype),
        "put": lambda x: jax.device_put(x, jax.devices()[0]),
        "dlpack": jnp.from_dlpack,
        "size": lambda x: str(x.on_device_size_in_bytes()),
        "jit": jax.jit(lambda x: x + 1),
    }
    for name, use in uses.items():
        yield f"deleted_{name}", lambda u=use: deleted(u)

    yield "memory_stats", lambda: str(jax.devices()[0].memory_stats())
    yield "out_of_memory", lambda: jnp.zeros((1 << 20, 1 << 20, 8), "float64")
    yield "device_attributes", lambda: [
        str([getattr(jax.devices()[0], n, None) for n in ("id", "process_index", "host_id", "local_hardware_id")]),
        str(jax.devices()[0].client.platform),
        jax.default_backend(),
        str(jax.local_device_count()) + str(jax.process_count()) + str(jax.process_index()),
    ]
    yield "devices_by_platform", lambda: str([jax.devices(n) for n in ("cpu",)])
    yield "no_such_platform", lambda: jax.devices("nonsense")
    yield "default_memory", lambda: jax.devices()[0].default_memory().kind
    yield "no_such_memory", lambda: jax.devices()[0].memory("nonsense")
    yield "memory_by_kind", lambda: str(jax.devices()[0].memory("pinned_host"))
    yield "default_device", lambda: (lambda: [jnp.ones(3), str(jnp.ones(3).devices())])()
    yield "sharding", lambda: str(jnp.asarray(X).sharding) + str(jnp.asarray(X).committed)
    yield "shards", lambda: [s.data for s in jnp.asarray(X).addressable_shards]
    yield "format_of", lambda: str(jnp.asarray(X).format)
    yield "numpy_shares", lambda: str(np.asarray(a := jnp.asarray(X) + 1).ctypes.data == a.unsafe_buffer_pointer())
    yield "numpy_read_only", lambda: str(np.asarray(jnp.asarray(X) + 1).flags.writeable)
    yield "from_callback", lambda: jax.make_array_from_callback(
        X.shape, jax.sharding.SingleDeviceSharding(jax.devices()[0]), lambda i: X[i]
    )
    yield "from_single", lambda: jax.make_array_from_single_device_arrays(
        X.shape, jax.sharding.SingleDeviceSharding(jax.devices()[0]), [jnp.asarray(X)]
    )
    yield "put_may_alias", lambda: [jax.device_put(jnp.asarray(X), may_alias=m) for m in (True, False)]
    yield "put_donate", lambda: str(
        (x := jnp.asarray(X) + 1, jax.device_put(x, jax.devices()[0], donate=True), x.is_deleted())[2]
    )
    yield "put_tree", lambda: jax.device_put({"a": X, "b": [1, 2.0, True, 3j]})

    def mutated():
        x = X.copy()
        y = jnp.array(x)
        x[:] = 0
        return y

    yield "array_copies", mutated


def donation():
    def given(f, *arguments, argnums=0, again=None):
        arguments = [jnp.asarray(a) + 0 for a in arguments]
        out = jax.jit(f, donate_argnums=argnums)(*arguments)
        return [out, str([a.is_deleted() for a in arguments])]

    yield "donate_same_shape", lambda: given(lambda x: x + 1, X)
    yield "donate_other_shape", lambda: given(lambda x: x.sum(), X)
    yield "donate_other_type", lambda: given(lambda x: x.astype("int32"), X)
    yield "donate_two", lambda: given(lambda x, y: (x + y, x - y), X, X * 2, argnums=(0, 1))
    yield "donate_swapped", lambda: given(lambda x, y: (y, x), X, X * 2, argnums=(0, 1))
    yield "donate_unused", lambda: given(lambda x, y: x + 1, X, X, argnums=1)
    yield "donate_returned", lambda: given(lambda x: (x, x + 1), X)
    yield "donate_names", lambda: str(
        (a := jnp.asarray(X) + 0, jax.jit(lambda x, y: x + y, donate_argnames="y")(X, y=a), a.is_deleted())[2]
    )
    yield "donate_scan", lambda: given(lambda x: lax.scan(lambda c, _: (c * 1.1, c.sum()), x, None, length=5), X)
    yield "donate_to_compiled", lambda: str(
        (
            c := jax.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile(),
            a := jnp.asarray(X) + 0,
            c(a),
            a.is_deleted(),
        )[3]
    )

    def twice():
        a = jnp.asarray(X) + 0
        g = jax.jit(lambda x: x + 1, donate_argnums=0)
        g(a)
        return g(a)

    yield "donate_again", twice


def layouts():
    from jax.experimental.layout import Format, Layout

    one = lambda: jax.sharding.SingleDeviceSharding(jax.devices()[0])
    order = lambda *o: Format(Layout(o), one())
    yield "layout_default", lambda: str(jax.device_put(X, order(0, 1)).format.layout.major_to_minor)
    yield "layout_put", lambda: [x := jax.device_put(X, order(1, 0)), str(x.format.layout.major_to_minor)]
    yield "layout_put_use", lambda: [jax.device_put(X, order(1, 0)) + 1, jnp.sin(jax.device_put(X, order(1, 0))).T]
    yield "layout_in", lambda: jax.jit(lambda x: x + 1, in_shardings=order(1, 0))(jax.device_put(X, order(1, 0)))
    yield "layout_in_host", lambda: jax.jit(lambda x: x + 1, in_shardings=order(1, 0))(X)
    yield "layout_out", lambda: [
        x := jax.jit(lambda x: x + 1, out_shardings=order(1, 0))(X),
        str(x.format.layout.major_to_minor),
    ]
    yield "layout_in_mismatch", lambda: jax.jit(lambda x: x + 1, in_shardings=order(1, 0))(jnp.asarray(X))
    yield "layout_auto_in", lambda: str(
        jax.jit(lambda x: x.T @ x, in_shardings=Format(Layout.AUTO, one()))
        .lower(jax.ShapeDtypeStruct(X.shape, X.dtype))
        .compile()
        .input_formats[0][0]
        .layout.major_to_minor
    )

    def automatic():
        c = (
            jax.jit(lambda x: x.T + 1, in_shardings=Format(Layout.AUTO), out_shardings=Format(Layout.AUTO))
            .lower(jax.ShapeDtypeStruct(X.shape, X.dtype))
            .compile()
        )
        x = jax.device_put(X, c.input_formats[0][0])
        y = c(x)
        return [y, str(y.format.layout == c.output_formats.layout), str(y.format.layout.major_to_minor)]

    yield "layout_auto", automatic
    yield "layout_constraint", lambda: jax.jit(
        lambda x: jax.experimental.layout.with_layout_constraint(x * 2, Layout((1, 0)))
    )(X)
    yield "layout_donate", lambda: jax.jit(
        lambda x: x + 1, in_shardings=order(1, 0), out_shardings=order(1, 0), donate_argnums=0
    )(jax.device_put(X, order(1, 0)))


def cases():
    for group in (arrays, donation, layouts):
        yield from group()
