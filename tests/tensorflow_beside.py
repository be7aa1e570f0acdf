"""The plugin beside another one for the CPU, whichever is loaded first: both work, and the class of TensorFlow's factory
of executors follows the setting caller_thread.

usage: tensorflow_beside.py PLUGIN.so TF.py SECOND.so [first|second]   (without the last: both orders, a process each)
"""

import ctypes
import os
import subprocess
import sys

THEIRS = "N10tensorflow12_GLOBAL__N_124DefaultExecutorRegistrar7FactoryE"


def check(order):
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", XC_TF_POLICY="now", XC_TF_COST_GATE="0")
    import numpy as np
    import tensorflow as tf

    from import_file import import_file
    from launch_threads import launch_threads

    xla_tf = import_file(sys.argv[2], "xla_tf")
    paths = [os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])]
    for path in paths if order == "first" else paths[::-1]:
        xla_tf.load(path)
    second = ctypes.CDLL(paths[1])
    second.second_plugin_factory.restype = ctypes.c_char_p
    factory = lambda: second.second_plugin_factory().decode()

    def product(a, n):
        out = a
        for _ in tf.range(n):
            out = tf.tanh(out @ a)
        return out

    a = tf.eye(256) * 0.9
    xla_tf.disable()
    expected = tf.function(product)(a, tf.constant(3))
    xla_tf.enable()
    function = tf.function(product)
    before, theirs = xla_tf.stats().launches, second.second_plugin_calls()
    np.testing.assert_allclose(function(a, tf.constant(3)), expected, rtol=1e-4, atol=1e-5)
    assert xla_tf.stats().launches == before + 1, xla_tf.report()
    assert second.second_plugin_calls() > theirs, "the other plugin's optimizer did not run"

    def threads():
        return launch_threads(xla_tf, lambda: function(a, tf.constant(20)))

    assert "CallerFactory" in factory(), factory()
    assert threads() == ["caller"]
    xla_tf.configure(caller_thread=False)
    assert factory() == THEIRS, factory()
    assert "caller" not in threads()
    xla_tf.configure(caller_thread=True)
    assert "CallerFactory" in factory(), factory()
    assert threads() == ["caller"]
    print(order, "launches", xla_tf.stats().launches, "calls of the other optimizer", second.second_plugin_calls())


def main():
    if len(sys.argv) > 4:
        return check(sys.argv[4])
    for order in ("first", "second"):
        done = subprocess.run([sys.executable, *sys.argv, order], capture_output=True, text=True)
        sys.stdout.write(done.stdout)
        assert done.returncode == 0, f"our plugin {order}: {done.returncode}\n{done.stderr[-3000:]}"


if __name__ == "__main__":
    main()
