"""A graph called with ever other shapes in TensorFlow: its own kernels, its auto-clustering, the plugin with code for
exact shapes, and with code for all sizes, each in a process of its own, one after the other.

usage: changing_shapes.py PLUGIN.so PROGRAM [--calls=N] [--batch=B] [--length=L] [--distinct=N] [--ways=LIST]
PROGRAM: of tensorflow_programs.py, or a folder with graph.pb and meta.json, such as data/graphs/encoder, whose inputs have
the batch first and then the length. The calls have 1 to B sequences of 1 to L words at random, with --distinct of N
different shapes, the same for each way; the time to make arguments does not count. Standard output gets one line for each way: the time of all calls, of the last half, the processor's time, calls
that took more than 1.3 times as long as the same call of the first way, and what the plugin did.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
WAYS = ["plain", "autojit", "exact", "general"]


def work(options):
    """One way: prints its times and counts as JSON."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["XC_TF_ENABLED"] = str(int(options.way in ("exact", "general")))
    os.environ["XC_TF_GENERAL_SHAPES"] = str(int(options.way == "general"))
    if options.way == "autojit":
        os.environ["TF_XLA_FLAGS"] = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
    import numpy as np

    # A file of this folder has TensorFlow's name.
    sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
    import tensorflow as tf

    sys.path.append(str(HERE))
    import measure
    import tensorflow_programs

    if options.way in ("exact", "general"):
        from tensorflow.python.framework import load_library

        load_library.load_pluggable_device_library(options.plugin)
    body, _ = tensorflow_programs.load(options.program)
    rng = np.random.default_rng(0)
    most = [options.batch, options.length]
    sizes = rng.integers(1, [n + 1 for n in most], (options.distinct or options.calls, 2)).tolist()
    if options.distinct:
        sizes = [sizes[i] for i in rng.integers(0, options.distinct, options.calls)]
    folder = pathlib.Path(options.program)
    if folder.is_dir():
        meta = json.loads((folder / "meta.json").read_text())
        specs = [tf.TensorSpec(i["shape"], i["dtype"]) for i in meta["inputs"]]
        function = tf.function(body, input_signature=specs)
        draw = lambda size, spec: tf.cast(
            rng.integers(0, 100, size[: len(spec.shape)] + list(spec.shape[2:])), spec.dtype
        )
        calls = [[draw(size, spec) for spec in specs] for size in sizes]
    else:
        function = tf.function(body, reduce_retracing=True)
        calls = tensorflow_programs.of_sizes(options.program, sizes)
    times, before = [], time.process_time()
    for args in calls:
        start = time.perf_counter()
        tf.nest.map_structure(np.asarray, function(*args))
        times.append(time.perf_counter() - start)
    answer = dict(times=times, processor=time.process_time() - before)
    if options.way in ("exact", "general"):
        tools = measure.plugin_tools()
        stats, report = tools.stats(), tools.report()
        row = lambda what: int(re.search(re.escape(what) + r" *\| *(\d+)", report)[1])
        answer["plugin"] = (
            f"{stats.launches} launches, {row('of these with code for all sizes')} of them with code for all sizes, "
            f"{stats.host_runs} runs by TensorFlow, {stats.compilations} compilations, {row('of these for all sizes')} of "
            f"them for all sizes, {row('sets of shapes that it turned out not to serve')} sets of shapes not served by it"
        )
        answer["report"] = report
    print(json.dumps(answer))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("plugin")
    parser.add_argument("program")
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--distinct", type=int, default=0, help="draw the calls from so many shapes")
    parser.add_argument("--ways", default="plain,exact,general")
    parser.add_argument("--report", help="a file for the plugin's last report")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        work(options)
        return
    first = None
    for way in options.ways.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--way", way]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{way}: {done.stderr[-2000:]}")
        answer = json.loads(done.stdout.splitlines()[-1])
        times = answer["times"]
        first = first or times
        late = sum(t > 1.3 * f for t, f in zip(times[10:], first[10:]))
        print(
            f"{way}: {sum(times):.2f} s, last half {sum(times[len(times) // 2:]):.2f} s, processor "
            f"{answer['processor']:.2f} s, {late} calls over 1.3; {answer.get('plugin', '')}",
            flush=True,
        )
        if options.report and "report" in answer:
            pathlib.Path(options.report).write_text(answer["report"])


if __name__ == "__main__":
    main()
