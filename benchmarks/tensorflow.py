"""TensorFlow with its own kernels, with its XLA auto-clustering, with jit_compile=True and with the plugin, side by side:
first call and best time per model and shape, peak memory, and ratios. Each pair of model and way runs in a process of
its own; the ways of one model run one after the other.

usage: tensorflow.py PLUGIN.so [MODEL…] [--seconds=S] [--data=DIR]
MODEL: names of tensorflow_models.py, or folders with a graph.pb; without any: all, and the graphs of --data (or XC_DATA).
"""

import argparse
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import time

WAYS = ["plain", "autojit", "jit_compile", "plugin"]
HERE = pathlib.Path(__file__).resolve().parent


def run_one(name, way, plugin, seconds):
    """Prints one JSON line per shape."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if way == "autojit":
        os.environ["TF_XLA_FLAGS"] = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
    # The benchmark's file has TensorFlow's name.
    sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
    import numpy as np
    import tensorflow as tf

    if way == "plugin":
        from tensorflow.python.framework import load_library

        load_library.load_pluggable_device_library(plugin)
    sys.path.append(str(HERE))
    import tensorflow_models

    body, cases = tensorflow_models.load(name)
    function = tf.function(body, jit_compile=way == "jit_compile" or None, reduce_retracing=True)
    for args in cases:
        start = time.perf_counter()
        tf.nest.map_structure(np.asarray, function(*args))
        first = time.perf_counter() - start
        times, start = [], time.perf_counter()
        while time.perf_counter() - start < seconds or len(times) < 20:
            t = time.perf_counter()
            tf.nest.map_structure(np.asarray, function(*args))
            times.append(time.perf_counter() - t)
        print(
            json.dumps(
                dict(
                    shape="×".join(str(d) for d in args[0].shape),
                    first=first,
                    slowest=max(times),
                    best=min(times),
                    peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                )
            ),
            flush=True,
        )


def measure(name, way, options):
    command = [sys.executable, __file__, options.plugin, name, "--way", way, f"--seconds={options.seconds}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["no message"])[-1]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--data", default=os.environ.get("XC_DATA"))
    parser.add_argument("--way", choices=WAYS)
    options = parser.parse_args()
    options.plugin = os.path.abspath(options.plugin)
    if options.way:
        return run_one(options.models[0], options.way, options.plugin, options.seconds)
    names = options.models
    if not names:
        sys.path.append(str(HERE))
        text = (HERE / "tensorflow_models.py").read_text()
        names = [line.split('"')[1] for line in text.splitlines() if line.startswith('    "') and "lambda" in line]
        if options.data:
            names += [str(p) for p in sorted((pathlib.Path(options.data) / "graphs").iterdir())]
    print("best ms (first call, slowest later one; peak MB); ratio: the way's time over plain TensorFlow's")
    print("| model, shape | " + " | ".join(WAYS) + " | " + " | ".join(f"{w}/plain" for w in WAYS[1:]) + " |")
    print("|---" * (2 * len(WAYS)) + "|")
    ratios = {way: [] for way in WAYS}
    for name in names:
        results = {way: measure(name, way, options) for way in WAYS}
        rows = results["plain"][0]
        if rows is None:
            print(f"| {pathlib.Path(name).name} | plain TensorFlow fails: {results['plain'][1]} |")
            continue
        for i, plain in enumerate(rows):
            cells, quotients = [], []
            for way in WAYS:
                row = results[way][0][i] if results[way][0] and i < len(results[way][0]) else None
                if row is None:
                    cells.append("fails")
                    quotients.append("")
                    continue
                cells.append(
                    f"{row['best'] * 1e3:.3f} ({row['first'] * 1e3:.0f}, {row['slowest'] * 1e3:.0f}; {row['peak'] >> 20})"
                )
                quotients.append(f"{row['best'] / plain['best']:.2f}")
                ratios[way].append(row["best"] / plain["best"])
            label = f"{pathlib.Path(name).name}, {plain['shape']}"
            print(f"| {label} | " + " | ".join(cells) + " | " + " | ".join(quotients[1:]) + " |", flush=True)
        for way in WAYS:
            if results[way][0] is None:
                print(f"{way} of {name}: {results[way][1]}", file=sys.stderr)
    for way in WAYS[1:]:
        if ratios[way]:
            mean = math.exp(sum(map(math.log, ratios[way])) / len(ratios[way]))
            print(f"{way}/plain in the geometric mean of {len(ratios[way])}: {mean:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
