"""The package beside TensorFlow and JAX, and beside PyTorch where that is installed, in one process, imported before or
after them; their arrays go in by DLPack.

usage: beside_check.py [--late]
"""

import importlib.util
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402  (after the path is set)


def use(xla):
    @xla.compile
    def f(x, y):
        return np.exp(x @ y).sum(axis=1)

    rng = np.random.default_rng(0)
    x, y = rng.random((64, 32), np.float32), rng.random((32, 16), np.float32)
    np.testing.assert_allclose(f(x, y), f.__wrapped__(x, y), rtol=1e-5)
    return f, x, y


def main():
    late = "--late" in sys.argv
    if not late:
        use(importlib.import_module("xla"))
    names = ["tensorflow", "jax"] + (["torch"] if importlib.util.find_spec("torch") else [])
    found = {name: importlib.import_module(name) for name in names}
    jnp = importlib.import_module("jax.numpy")
    double = found["jax"].jit(lambda a: a * 2)
    np.testing.assert_array_equal(double(jnp.arange(3.0)), [0, 2, 4])
    tf = found["tensorflow"]
    arrays = [(jnp.arange(6.0), jnp.ones(3, jnp.bfloat16)), (tf.range(6.0), tf.ones(3, tf.bfloat16))]
    if "torch" in found:
        torch = found["torch"]
        arrays += [(torch.arange(6.0), torch.ones(3, dtype=torch.float64))]
    xla = importlib.import_module("xla")
    f, x, y = use(xla)
    plus = xla.compile(lambda a, b: (a + 1, b + b))
    for a, b in arrays:
        for _ in range(2):
            first, second = plus(a, b)
            np.testing.assert_array_equal(first, np.arange(6.0) + 1)
            np.testing.assert_array_equal(second.astype(np.float32), [2, 2, 2])
            assert first.dtype == np.float32
        if hasattr(second, "__dlpack__"):
            np.testing.assert_array_equal(np.from_dlpack(first), first)
    np.testing.assert_allclose(f(x, y), f.__wrapped__(x, y), rtol=1e-5)
    print(f"beside {', '.join(found)}: ok")


if __name__ == "__main__":
    main()
