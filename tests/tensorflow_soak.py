"""Four threads call models with changing shapes while clusters are compiled, given back and dropped: no error, no wrong
result, and memory that stops growing.

usage: tensorflow_soak.py PLUGIN.so TF.py MODELS.py [--seconds=20]
TF.py: python/xla/tf.py; MODELS.py: benchmarks/tensorflow_models.py. Thirty minutes: --seconds=1800.
"""

import argparse
import os
import pathlib
import re
import sys
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("XC_TF_MAX_SHAPES", "12")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np

from import_file import import_file

THREADS = 4
# Model, what is drawn for its shape. 26 batch sizes are more shapes than a cluster is compiled for.
SHAPES = {
    "mlp": lambda rng: (int(rng.integers(1, 27)), 784),
    "encoder": lambda rng: (int(rng.integers(1, 4)), int(rng.integers(2, 12))),
    "lstm": lambda rng: (int(rng.integers(1, 5)), int(rng.integers(1, 7)), 16),
    "dlrm": lambda rng: (int(rng.integers(1, 40)),),
    "inverted": lambda rng: (int(rng.integers(1, 4)), 8 * int(rng.integers(2, 5)), 32, 3),
}


def resident():
    return int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) // 1024


class Soak:
    def __init__(self, models, tf):
        self.tf, self.models = tf, models
        self.keras = {name: models.MODELS[name].build() for name in SHAPES}
        self.functions = {name: self.trace(name) for name in SHAPES}
        self.calls, self.errors, self.stop = 0, [], False

    def arguments(self, name, shape):
        inputs, _ = self.models.MODELS[name].batch(*shape)
        return list(inputs) if len(inputs) > 1 else inputs[0]

    def trace(self, name):
        """One trace for all shapes."""
        tf, model = self.tf, self.keras[name]
        rng = np.random.default_rng(0)
        example = tf.nest.map_structure(tf.constant, self.arguments(name, SHAPES[name](rng)))
        model(example)
        ranks = {"encoder": [None, None], "lstm": [None, None, 16], "inverted": [None, None, 32, 3]}
        specs = tf.nest.map_structure(
            lambda a: tf.TensorSpec(ranks.get(name, [None] + a.shape[1:].as_list()), a.dtype), example
        )
        return tf.function(lambda x: model(x, training=False), input_signature=[specs])

    def fresh(self, name, x):
        """A function that lives for one call: what was compiled for it goes with it."""
        model = self.keras[name]
        return self.tf.function(lambda a: model(a, training=False) * 2.0)(x) / 2.0

    def call(self, seed):
        rng = np.random.default_rng(seed)
        try:
            while not self.stop:
                name = rng.choice(list(SHAPES))
                shape = SHAPES[name](rng)
                x = self.tf.nest.map_structure(self.tf.constant, self.arguments(name, shape))
                got = (self.fresh(name, x) if rng.integers(0, 50) == 0 else self.functions[name](x)).numpy()
                # Eager calls do not go through the plugin.
                want = self.keras[name](x, training=False).numpy()
                np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-4, err_msg=f"{name} {shape}")
                self.calls += 1
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)
            self.stop = True

    def run(self, seconds, launches):
        """Resident MB over `seconds`, or longer (ten times at most) where compilers are slow: until code has run."""
        threads = [threading.Thread(target=self.call, args=[seed]) for seed in range(THREADS)]
        start, sizes = time.monotonic(), []
        for thread in threads:
            thread.start()
        elapsed = 0
        while (elapsed < seconds or elapsed < 10 * seconds and not launches()) and not self.stop:
            time.sleep(min(5.0, seconds / 10))
            sizes.append(resident())
            elapsed = time.monotonic() - start
        self.stop = True
        for thread in threads:
            thread.join()
        return sizes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("tf_module")
    parser.add_argument("models")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    import tensorflow as tf

    models = import_file(options.models, "tensorflow_models")
    xla_tf = import_file(options.tf_module, "xla_tf")
    xla_tf.load(os.path.abspath(options.plugin))
    soak = Soak(models, tf)
    sizes = soak.run(options.seconds, lambda: xla_tf.stats().launches)
    stats = xla_tf.stats()
    print(f"{soak.calls} calls; resident MB over time: {sizes[:: max(1, len(sizes) // 12)]}")
    print(stats)
    assert not soak.errors, soak.errors[0]
    assert soak.calls > 0 and stats.launches > 0 and stats.host_runs > 0, stats
    if options.seconds >= 300:
        # All shapes have been seen by half of the time.
        half = max(sizes[: len(sizes) // 2])
        assert max(sizes) < half * 1.1 + 100, f"memory grows: {half} MB in the first half, then {max(sizes)}"
    # The process ends while this is compiled.
    soak.fresh("encoder", tf.constant(soak.arguments("encoder", (4, 16))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
