"""The plugin's wheel: what is in it, and that `import tensorflow` is all it takes where it is installed, by itself and
beside the wheel of the package xla.

usage: tensorflow_wheel.py PLUGIN.whl XLA.whl WHEEL_TESTING.py
"""

import os
import pathlib
import re
import sys
import tempfile
import zipfile

import numpy

from import_file import import_file

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[3])))
wheel_testing = import_file(sys.argv[3], "wheel_testing")

OWN_FILES = [
    r"tensorflow-plugins/xc_tensorflow\.so",
    r"xla_tensorflow/__init__\.py",
    r"xla_tensorflow/libxc\.so",
    r"xla_tensorflow/xc_tensorflow_kernels_2_(19|20|21)\.so",
]

PLUGIN = """
import tensorflow as tf
f = tf.function(lambda a: tf.reduce_sum(tf.exp(a) * 2.0 + 1.0))
assert abs(float(f(tf.zeros(3))) - 9.0) < 1e-5
import xla_tensorflow
assert xla_tensorflow.stats().launches == LAUNCHES, xla_tensorflow.stats()
"""

COMPILE = """
import numpy, xla
g = xla.compile(lambda a: numpy.exp(a) * 2.0)
numpy.testing.assert_allclose(g(numpy.ones(3)), numpy.exp(numpy.ones(3)) * 2.0)
"""

# The files of a library that the process has.
MAPPED = """
def mapped(name):
    paths = {line.split()[-1] for line in open("/proc/self/maps") if name in line}
    return sorted(path.rpartition("site-packages/")[2] for path in paths)
"""

ONE_CORE = """
assert mapped("/libxc.so") == ["xla/libxc.so"], mapped("/libxc.so")
assert mapped("/libprotobuf.so.32") == ["xla/libs/libprotobuf.so.32"], mapped("/libprotobuf.so.32")
import xla.tf
assert vars(xla.tf.stats()) == vars(xla_tensorflow.stats()) and xla.tf.stats().launches == 1, xla.tf.stats()
"""

# Two builds: each package has its own.
TWO_CORES = """
assert mapped("/libxc.so") == ["xla/libxc.so", "xla_tensorflow/libxc.so"], mapped("/libxc.so")
assert len(mapped("/libprotobuf.so.32")) == 1, mapped("/libprotobuf.so.32")
import xla.tf
assert xla.tf.stats().launches == 1, xla.tf.stats()
"""


def check_metadata(path):
    """The extras name the versions of TensorFlow that there is a library of kernels for."""
    fields = wheel_testing.check_contents(path, "xla_tensorflow", OWN_FILES, {"tensorflow"})
    with zipfile.ZipFile(path) as wheel:
        oldest = min(int(minor) for minor in re.findall(r"_kernels_2_(\d+)\.so", "\n".join(wheel.namelist())))
    extras = {required.partition(";")[0] for required in fields.get_all("Requires-Dist")}
    assert extras == {f"{name}>=2.{oldest}.0,<=2.21.0" for name in ("tensorflow", "tensorflow-cpu")}, extras


def make_other_build(library):
    """Gives a library another build id."""
    data = bytearray(library.read_bytes())
    note = data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    data[note + 16] ^= 0xFF
    library.write_bytes(data)


def main():
    plugin, xla = (os.path.abspath(path) for path in sys.argv[1:3])
    check_metadata(plugin)
    peers = pathlib.Path(numpy.__file__).parents[1]
    settings = {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "", "XC_TF_POLICY": "now"}
    with tempfile.TemporaryDirectory() as folder:
        clean = wheel_testing.Environment(folder, [peers])
        run = lambda *parts, **variables: clean.run("-c", MAPPED + "".join(parts), **settings, **variables)
        program, idle = PLUGIN.replace("LAUNCHES", "1"), PLUGIN.replace("LAUNCHES", "0")
        own = "assert mapped('/libxc.so') == ['xla_tensorflow/libxc.so'], mapped('/libxc.so')\n"
        clean.install(plugin)
        run(program, own)
        run(idle, XC_TF_ENABLED="0")
        clean.install(xla)
        run(program, COMPILE, ONE_CORE)
        run(COMPILE, program, ONE_CORE)
        make_other_build(clean.site / "xla" / "libxc.so")
        run(COMPILE, program, TWO_CORES)
        run(program, COMPILE, TWO_CORES)
        clean.pip("uninstall", "-y", "xla")
        run(program, own)
    print("the wheels install and run, by themselves and together")


if __name__ == "__main__":
    main()
