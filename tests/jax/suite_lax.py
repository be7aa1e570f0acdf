"""Elementwise functions and reductions of lax for all their types: values, derivatives and batches."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def random_array(rng, shape, dtype):
    dtype = jnp.dtype(dtype)
    if dtype == bool:
        return rng.rand(*shape) < 0.5
    if jnp.issubdtype(dtype, jnp.integer):
        info = jnp.iinfo(dtype)
        low, high = max(int(info.min), -50), min(int(info.max), 50)
        return rng.randint(low, high + 1, shape).astype(dtype)
    values = rng.randn(*shape) * 2
    if jnp.issubdtype(dtype, jnp.complexfloating):
        values = values + 1j * rng.randn(*shape)
    return np.asarray(values).astype(dtype)


def cases():
    from jax._src.internal_test_util import lax_test_util

    for record in lax_test_util.lax_ops():
        for dtype in record.dtypes:
            for shape in ((7,), (2, 3, 4)):
                name = f"{record.op}_{jnp.dtype(dtype).name}_{len(shape)}"
                op = getattr(lax, record.op)
                rng = np.random.RandomState(zlib.crc32(name.encode()))
                arguments = [random_array(rng, shape, dtype) for _ in range(record.nargs)]
                yield name, lambda op=op, arguments=arguments: jax.jit(op)(*arguments)
                if len(shape) == 1 and jnp.issubdtype(dtype, jnp.inexact):
                    yield f"jvp_{name}", lambda op=op, arguments=arguments: jax.jvp(op, arguments, arguments)
                if len(shape) == 3:
                    yield f"vmap_{name}", lambda op=op, arguments=arguments: jax.vmap(op, 1)(*arguments)
    for record in lax_test_util.lax_reduce_ops():
        for dtype in record.dtypes:
            for axes in ((0,), (1, 2), (0, 1, 2)):
                name = f"reduce_{record.op.__name__}_{jnp.dtype(dtype).name}_{axes}"
                rng = np.random.RandomState(zlib.crc32(name.encode()))
                operand = random_array(rng, (3, 4, 5), dtype)

                def run(record=record, operand=operand, axes=axes):
                    initial = np.asarray(record.init_val).astype(operand.dtype)
                    return jax.jit(lambda x: lax.reduce(x, initial, record.op, axes))(operand)

                yield name, run
