"""TensorFlow with its own kernels, with its XLA auto-clustering, with jit_compile=True and with the plugin, side by side:
first call and steady time per model and shape, peak memory, and ratios. Each way has a process of its own for each
model; their calls take turns in short rounds, so that what else the machine does falls on all of them alike.

usage: tensorflow.py PLUGIN.so [NAME…] [--quick] [--seconds=S] [--ways=LIST] [--data=DIR]
                     [--output=FILE.md] [--streams]
NAME: names of tensorflow_models.py (with _train: a training step), or folders with a graph.pb; without any: all, and the
graphs of --data (or XC_DATA). --quick: only the small models, fewer calls (about a quarter of an hour on two cores). --streams: only batches of ever
other sizes, which are measured too when no models are named.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

WAYS = ["plain", "autojit", "jit_compile", "plugin"]
STREAMED = ["mlp", "residual", "encoder", "gru", "dlrm"]
CALLS, LARGEST = 1000, 64  # of a stream
HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 7


def peak_memory():
    """The peak since the last call, in bytes."""
    text = pathlib.Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\s*(\d+)", text)[1]) * 1024
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return peak


def work(name, way, plugin):
    """Answers the lines of standard input, one JSON line for each: `first N`, the first call with shapes N; `time N S`,
    calls with them for S seconds; `stream`, calls with batches of ever other sizes."""
    if way == "autojit":
        os.environ["TF_XLA_FLAGS"] = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
    import numpy as np

    tf, tensorflow_models = import_models()
    if way == "plugin":
        from tensorflow.python.framework import load_library

        load_library.load_pluggable_device_library(plugin)
    body, cases = tensorflow_models.load(name)
    function = tf.function(body, jit_compile=way == "jit_compile" or None, reduce_retracing=True)

    def call(args):
        start = time.perf_counter()
        tf.nest.map_structure(np.asarray, function(*args))
        return time.perf_counter() - start

    out = os.fdopen(os.dup(1), "w", buffering=1)
    shapes = ["×".join(str(d) for d in tf.nest.flatten(args)[0].shape) for args in cases]
    print(json.dumps(shapes), file=out)
    for line in sys.stdin:
        what, *numbers = line.split()
        args = cases[int(numbers[0])] if numbers else None
        if what == "first":
            answer = call(args)
        elif what == "time":
            times, end = [], time.perf_counter() + float(numbers[1])
            while time.perf_counter() < end or len(times) < 3:
                times.append(call(args))
            answer = times
        elif what == "stream":
            sizes = [int(n) for n in np.random.default_rng(0).integers(1, LARGEST + 1, CALLS)]
            answer = [call(args) for args in tensorflow_models.of_sizes(name, sizes)]
        else:
            answer = peak_memory()
        print(json.dumps(answer), file=out)


class Worker:
    """The process of one way for one model."""

    def __init__(self, name, way, options):
        command = [sys.executable, __file__, options.plugin, name, "--way", way]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.error = ""
        self.shapes = None

    def read(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        if not self.error:
            self.error = (self.process.communicate()[1].strip().splitlines() or ["no message"])[-1]
        return None

    def ask(self, *words):
        if self.error:
            return None
        try:
            print(*words, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        return self.read()

    def stop(self):
        if not self.error:
            self.process.communicate()


def measure(name, options):
    """By shape and way: first call, best and median time, slowest later call, peak memory; None where a way fails."""
    workers = {way: Worker(name, way, options) for way in options.ways}
    shapes = None
    for worker in workers.values():
        worker.shapes = worker.read()
        shapes = shapes or worker.shapes
    rows = []
    for i, shape in enumerate(shapes or []):
        firsts = {way: worker.ask("first", i) for way, worker in workers.items()}
        times = {way: [] for way in options.ways}
        for way, worker in workers.items():  # compilation in the background, and the cost gate's decisions
            worker.ask("time", i, options.seconds / 2)
        for _ in range(ROUNDS):
            for way, worker in workers.items():
                times[way].append(worker.ask("time", i, options.seconds / ROUNDS))
        row = {}
        for way, worker in workers.items():
            if worker.error:
                row[way] = None
                continue
            flat = [t for part in times[way] for t in part]
            row[way] = dict(
                first=firsts[way],
                best=min(flat),
                rounds=[min(part) for part in times[way]],
                slowest=max(flat),
                peak=worker.ask("memory", i),
            )
        rows.append((shape, row))
    for way, worker in workers.items():
        worker.stop()
        if worker.error:
            print(f"{way} of {name}: {worker.error}", file=sys.stderr)
    return rows


def measure_stream(name, options):
    """By way: the times of the calls, each way's by themselves, in a new process; None where it fails."""
    rows = {}
    for way in options.ways:
        worker = Worker(name, way, options)
        worker.shapes = worker.read()
        rows[way] = worker.ask("stream")
        worker.stop()
        if worker.error:
            print(f"{way} of {name}: {worker.error}", file=sys.stderr)
    return rows


def streams(names, options, say):
    say(
        f"\nBatches of ever other sizes: the first {CALLS} calls of a process, of 1 to {LARGEST} rows at random. Per way:"
    )
    say("all calls together in s (the slowest in ms; the median of the last quarter in ms).\n")
    say("| model | " + " | ".join(options.ways) + " |")
    say("|---" * (len(options.ways) + 1) + "|")
    for name in names:
        cells = []
        for way, times in measure_stream(name, options).items():
            if times is None:
                cells.append("fails")
                continue
            last = statistics.median(times[-CALLS // 4 :])
            cells.append(f"{sum(times):.2f} ({max(times) * 1e3:.0f}; {last * 1e3:.3f})")
        say(f"| {name} | " + " | ".join(cells) + " |")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def import_models():
    # The benchmark's file has TensorFlow's name.
    sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
    import tensorflow

    sys.path.append(str(HERE))
    import tensorflow_models

    return tensorflow, tensorflow_models


def list_models(options):
    """Names of the small models and of all, and families; from a process of its own, as this one stays small."""
    command = [sys.executable, __file__, options.plugin, "--list"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--streams", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--data", default=os.environ.get("XC_DATA"))
    parser.add_argument("--output")
    parser.add_argument("--ways", default=",".join(WAYS), help="some of them, plain first")
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_intermixed_args()
    options.plugin = os.path.abspath(options.plugin)
    options.ways = options.ways.split(",")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    options.seconds = options.seconds or (0.7 if options.quick else 2.0)
    if options.way:
        return work(options.names[0], options.way, options.plugin)
    if options.list:
        models = import_models()[1]
        large = models.names(True)
        print(json.dumps([models.names(False), large, {name: models.family(name) for name in large}]))
        return 0
    small, large, family = list_models(options)
    names = options.names or (small if options.quick else large)
    if not options.names and options.data:
        names += [str(p) for p in sorted((pathlib.Path(options.data) / "graphs").iterdir())]
    file = open(options.output, "w", encoding="utf-8") if options.output else None

    def say(line):
        print(line, flush=True)
        if file:
            print(line, file=file, flush=True)

    if options.streams:
        streams(options.names or STREAMED, options, say)
        return 0
    say("# TensorFlow, alone and compiled\n")
    say("Written by `benchmarks/tensorflow.py`. Per way: best time in ms (first call, slowest later one; peak MB). The")
    say("ratios are plain TensorFlow's time over the way's, medians over rounds in turn: above 1 is faster.\n")
    say(
        "| model, shape | "
        + " | ".join(options.ways)
        + " | "
        + " | ".join(f"plain/{w}" for w in options.ways[1:])
        + " |"
    )
    say("|---" * (2 * len(options.ways)) + "|")
    ratios, behind = {}, []
    for name in names:
        label = pathlib.Path(name).name
        for shape, row in measure(name, options):
            if row["plain"] is None:
                continue
            cells, speedups = [], {}
            for way in options.ways:
                r = row[way]
                if r is None:
                    cells.append("fails")
                    continue
                cells.append(
                    f"{r['best'] * 1e3:.3f} ({r['first'] * 1e3:.0f}, {r['slowest'] * 1e3:.0f}; {r['peak'] >> 20})"
                )
                speedups[way] = statistics.median(p / t for p, t in zip(row["plain"]["rounds"], r["rounds"]))
            texts = [f"{speedups[way]:.2f}" if way in speedups else "" for way in options.ways[1:]]
            say(f"| {label}, {shape} | " + " | ".join(cells + texts) + " |")
            for way in options.ways[1:]:
                if way in speedups:
                    ratios.setdefault(family.get(name, "graph"), {}).setdefault(way, []).append(speedups[way])
            others = [speedups[w] for w in options.ways[1:] if w in speedups and w != "plugin"]
            if "plugin" in options.ways and speedups.get("plugin", 0) < max([0.95] + others):
                behind.append(f"{label} {shape}")
    say("\nGeometric means of the ratios:\n")
    say("| family | models and shapes | " + " | ".join(options.ways[1:]) + " |")
    say("|---" * (len(options.ways) + 1) + "|")
    for key, rows in sorted(ratios.items()):
        means = [f"{geometric_mean(rows[w]):.2f}" if w in rows else "" for w in options.ways[1:]]
        say(f"| {key} | {max(map(len, rows.values()))} | " + " | ".join(means) + " |")
    if behind:
        say("\nThe plugin below 0.95, or behind one of TensorFlow's own compilers: " + ", ".join(behind) + ".")
    if not options.names:
        streams(STREAMED, options, say)
    return 0


if __name__ == "__main__":
    sys.exit(main())
