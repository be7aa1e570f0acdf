"""The wheel, installed beside TensorFlow in an environment of its own: `import tensorflow` is all it takes.

usage: tensorflow_wheel.py WHEEL
"""

import pathlib
import subprocess
import sys
import tempfile
import venv
import zipfile

import numpy

PROGRAM = """
import tensorflow as tf
f = tf.function(lambda a: tf.reduce_sum(tf.exp(a) * 2.0 + 1.0))
assert abs(float(f(tf.zeros(3))) - 9.0) < 1e-5
import xla_tensorflow
print(xla_tensorflow.stats())
print("launches", xla_tensorflow.stats().launches)
"""


def run(python, **environment):
    done = subprocess.run(
        [python, "-c", PROGRAM],
        env={"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, symlinks=True, with_pip=False)
        site = next(pathlib.Path(folder).glob("lib/python*/site-packages"))
        with zipfile.ZipFile(sys.argv[1]) as wheel:
            wheel.extractall(site)
        (site / "peers.pth").write_text(str(pathlib.Path(numpy.__file__).parents[1]) + "\n")
        python = f"{folder}/bin/python"
        out = run(python, XC_TF_POLICY="now")
        assert "launches 1" in out, out
        out = run(python, XC_TF_POLICY="now", XC_TF_ENABLED="0")
        assert "launches 0" in out, out
    return 0


if __name__ == "__main__":
    sys.exit(main())
