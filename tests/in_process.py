"""Opens the core library with deep binding beside TensorFlow and JAX, and beside PyTorch where that is installed, in one
process, and compiles and runs a module before and after they are imported.

usage: in_process.py LIBXC.so [--late]
"""

import ctypes
import importlib.util
import os
import sys

import numpy as np

HLO = b"""HloModule scaled_sum
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[64,32] parameter(0)
  y = f32[32,16] parameter(1)
  d = f32[64,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,16] exponential(d)
  zero = f32[] constant(0)
  ROOT r = f32[64] reduce(e, zero), dimensions={1}, to_apply=add
}
"""


def check(library):
    library.xc_compile_hlo.restype = ctypes.c_void_p
    library.xc_status_message.restype = ctypes.c_char_p
    library.xc_status_message.argtypes = [ctypes.c_void_p]
    library.xc_executable_run.restype = ctypes.c_void_p
    executable = ctypes.c_void_p()
    status = library.xc_compile_hlo(HLO, ctypes.c_size_t(len(HLO)), None, ctypes.byref(executable))
    assert not status, library.xc_status_message(status)
    rng = np.random.default_rng(0)
    x, y = rng.random((64, 32), np.float32), rng.random((32, 16), np.float32)
    out = np.zeros(64, np.float32)
    inputs = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    outputs = (ctypes.c_void_p * 1)(out.ctypes.data)
    status = library.xc_executable_run(executable, inputs, ctypes.c_size_t(2), outputs, ctypes.c_size_t(1), 2)
    assert not status, library.xc_status_message(status)
    np.testing.assert_allclose(out, np.exp(x @ y).sum(1), rtol=1e-5)
    library.xc_executable_free(executable)


def main():
    path = os.path.abspath(sys.argv[1])
    mode = os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND
    late = "--late" in sys.argv
    library = None if late else ctypes.CDLL(path, mode=mode)
    if library:
        check(library)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    found = ["tensorflow", "jax"] + (["torch"] if importlib.util.find_spec("torch") else [])
    for name in found:
        importlib.import_module(name)
    library = library or ctypes.CDLL(path, mode=mode)
    check(library)
    import tensorflow as tf
    import jax

    twice = tf.function(lambda a: tf.nn.relu(a) * 2.0, jit_compile=True)
    assert float(twice(tf.constant(3.0))) == 6.0
    check(library)
    assert float(jax.jit(lambda a: a * 2.0)(3.0)) == 6.0
    check(library)
    print(f"worked beside {', '.join(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
