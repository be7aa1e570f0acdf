"""What the plugin says when TensorFlow loads it, and what its settings refuse.

usage: tensorflow_messages.py PLUGIN.so TF.py
"""

import os
import subprocess
import sys

PROGRAM = """
import importlib.util, sys
import tensorflow
spec = importlib.util.spec_from_file_location("xla_tf", sys.argv[2])
xla_tf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(xla_tf)
xla_tf.load(sys.argv[1])
if len(sys.argv) > 3:
    for key, value in (("policy", "sometimes"), ("wait_ms", "soon"), ("buckets", "maybe"), ("polici", "now")):
        try:
            xla_tf.configure(**{key: value})
        except xla_tf.Error as error:
            print(error)
    f = tensorflow.function(lambda a: tensorflow.reduce_sum(tensorflow.exp(a) * 2.0 + 1.0))
    f(tensorflow.zeros(3))
    print(xla_tf.report().splitlines()[1])
    with xla_tf.profile() as profile:
        tensorflow.function(lambda a: tensorflow.reduce_sum(tensorflow.tanh(a) @ a))(tensorflow.ones([64, 64]))
    print(profile)
"""


def run(*more, **variables):
    """(standard output, lines of the plugin on standard error)"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("XC_TF_") and k != "XC_LIBRARY"}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "", "XC_TF_POLICY": "now"} | variables
    command = [sys.executable, "-c", PROGRAM, os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if line.startswith("xla.tf: ")]


def main():
    out, said = run("configure", XC_TF_POLICI="now", XC_TF_WAIT_MS="soon")
    assert any(line.startswith("xla.tf: on: clusters of TensorFlow") for line in said), said
    assert any("XC_TF_POLICI has no effect" in line and "XC_TF_POLICY" in line for line in said), said
    assert any("XC_TF_WAIT_MS=soon has no effect: it is a number from 0" in line for line in said), said
    for part in (
        "'policy' cannot be 'sometimes'; it is now, lazy or background",
        "'wait_ms' cannot be 'soon'; it is a number from 0",
        "'buckets' cannot be 'maybe'; it is 1 or 0",
        "there is no setting 'polici'; there are enabled, policy,",
        "ops compiled",
        "GB/s  what",
        "launch cluster_",
        "kernel ",
    ):
        assert part in out, f"no {part!r} in\n{out}"
    assert run(XC_TF_ANNOUNCE="0")[1] == []
    said = run(XC_LIBRARY="")[1]
    assert len(said) == 1 and said[0].startswith("xla.tf: on: "), said
    said = run(XC_LIBRARY="/nowhere/libxc.so")[1]
    assert len(said) == 1 and "off: XC_LIBRARY names /nowhere/libxc.so, which does not exist" in said[0], said
    said = run(XC_LIBRARY=__file__)[1]
    assert len(said) == 1 and f"off: cannot open {__file__}" in said[0], said


if __name__ == "__main__":
    main()
