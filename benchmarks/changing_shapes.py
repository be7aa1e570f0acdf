"""Programs called with ever other shapes in TensorFlow: its own kernels, its auto-clustering, jit_compile=True and the
plugin, each in a process of its own, from its first call on, one after the other: what is compiled in the background
has the time between calls that it would have.

usage: changing_shapes.py PLUGIN.so [NAME…] [--calls=N] [--ways=LIST] [--limit=S] [--out=FILE.md] [--resume] [--reports=DIR]
NAME: of changing_programs.py, or folders with a graph.pb such as data/graphs/encoder; without any: all of the former.
--limit: a way that has taken so many seconds ends there, and the table says after how many calls. --reports: a folder for
the plugin's last report on each program. README.md in this folder says what is measured and how.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import sys
import time

import measure

HERE = pathlib.Path(__file__).resolve().parent
# `again`: TensorFlow's own kernels once more, which shows how far single calls differ by chance.
WAYS = ["plain", "again", "autojit", "jit_compile", "plugin"]
TURN = 20  # calls between looks at the limit
FIRST = 10  # calls that may take longer
SLOW = 1.3  # times as long as TensorFlow's own kernels
FIXED = 60  # calls with one set of shapes, before which as many do not count


def work(options):
    """Answers the lines of standard input with one JSON line each: `calls A B`, the times of the calls A to B in
    seconds; `fixed`, the time of a call with the shapes of the middle call, over and over; `plugin`, what it did."""
    if options.way == "autojit":
        os.environ["TF_XLA_FLAGS"] = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
    import numpy as np

    # A file of this folder has TensorFlow's name.
    sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
    import tensorflow as tf

    sys.path.append(str(HERE))
    import changing_programs

    if options.way == "plugin":
        from tensorflow.python.framework import load_library

        load_library.load_pluggable_device_library(options.plugin)
    what, body, specs, calls = changing_programs.load(options.names[0], options.calls)
    function = tf.function(body, input_signature=specs, jit_compile=options.way == "jit_compile" or None)

    def call(args):
        start = time.perf_counter()
        tf.nest.map_structure(np.asarray, function(*args))
        return time.perf_counter() - start

    out = os.fdopen(os.dup(1), "w", buffering=1)
    shapes = {tuple(tuple(a.shape) for a in args) for args in calls}
    print(json.dumps(dict(what=what, shapes=len(shapes))), file=out)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "calls":
            first, last = map(int, words[1:])
            answer = [call(args) for args in calls[first:last]]
        elif words[0] == "fixed":
            args = sorted(calls, key=lambda a: sum(int(tf.size(x)) for x in a))[len(calls) // 2]
            for _ in range(FIXED):
                call(args)
            if options.way == "plugin":
                measure.plugin_tools().wait(300)
            answer = statistics.median(call(args) for _ in range(FIXED))
        else:
            tools = measure.plugin_tools()
            stats, report = tools.stats(), tools.report()
            row = lambda what: int(re.search(re.escape(what) + r" *\| *(\d+)", report)[1])
            answer = dict(
                launches=stats.launches,
                general=row("of these with code for all sizes"),
                host_runs=stats.host_runs,
                compilations=stats.compilations,
                clusters=stats.clusters,
                refused=row("sets of shapes that it turned out not to serve"),
                report=report,
            )
        print(json.dumps(answer), file=out)


@contextlib.contextmanager
def worker_of(name, way, options):
    """The process of one way for one program."""
    worker = measure.Worker([sys.executable, __file__, options.plugin, name, "--way", way, f"--calls={options.calls}"])
    try:
        yield worker
    finally:
        worker.stop(kill=True)


def measure_program(name, options):
    """A row: by way the times of the calls, up to the limit; what the plugin did; the times with fixed shapes."""
    row = dict(about={}, times={}, problems={})
    for way in options.ways:
        with worker_of(name, way, options) as worker:
            row["about"] = worker.first or row["about"]
            times = row["times"][way] = []
            while not worker.error and len(times) < options.calls and sum(times) < options.limit:
                times += worker.ask("calls", len(times), min(len(times) + TURN, options.calls)) or []
            if way == "plugin":
                row["plugin"] = worker.ask("plugin")
            if worker.error:
                row["problems"][way] = worker.error
        if way in ("plain", "plugin"):  # of a new process, which knows of no other shapes
            with worker_of(name, way, options) as worker:
                row[f"fixed_{way}"] = worker.ask("fixed")
    row["text"] = ", ".join(f"{way} {len(t)} calls {sum(t):.2f} s" for way, t in row["times"].items())
    # In milliseconds, in a line for each way.
    row["times"] = {way: " ".join(f"{t * 1e3:.3f}" for t in times) for way, times in row["times"].items()}
    report = (row.get("plugin") or {}).pop("report", "")
    if options.reports and report:
        folder = pathlib.Path(options.reports)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / (re.sub(r"\W+", "_", pathlib.Path(name).name) + ".txt")).write_text(report)
    return row


def cell_of(way, times, plain, calls):
    """Of one way: the time of the calls that TensorFlow's own kernels have made, too, over theirs; the same of the last
    half; and how many took SLOW times as long. Of these kernels: their time. How many calls, where the limit was less.
    """
    count = min(len(times), len(plain))
    if not count:
        return "fails"
    cut = f"the first {count} calls" if count < calls else ""
    times, plain, half = times[:count], plain[:count], count // 2
    if way == "plain":
        return f"{sum(times):.2f} s" + (f" ({cut})" if cut else "")
    slow = sum(t > SLOW * p for t, p in zip(times[FIRST:], plain[FIRST:]))
    last_half = sum(times[half:]) / sum(plain[half:])
    return f"{sum(times) / sum(plain):.2f} ({last_half:.2f}; {slow}{'; ' + cut if cut else ''})"


def render(state):
    ways = state["header"]["ways"]
    lines = [
        "# TensorFlow with ever other shapes",
        "",
        "Made by `benchmarks/changing_shapes.py`: " + measure.about(state),
    ]
    lines += [
        f"{state['header']['tensorflow']}. The first {state['header']['calls']} calls of a process. `plain`: time of all calls with TensorFlow's own "
        "kernels, compilations and tracing included. Others: their time over that of `plain`, below 1 is faster (in brackets: the last "
        f"half of the calls; how many calls after the first {FIRST} took more than {SLOW} times as long as the same call of `plain`). "
        "`again` is `plain` once more. [README.md](README.md) says how it was measured.",
        "",
        "| program, what changes | shapes | "
        + " | ".join(ways)
        + " | plugin, one set of shapes | clusters, compilations | launches (general code), runs by TensorFlow |",
        "|---" * (len(ways) + 5) + "|",
    ]
    for name, row in state["rows"].items():
        times = {way: [float(t) / 1e3 for t in row["times"].get(way, "").split()] for way in ways}
        cells = [cell_of(way, times[way], times.get("plain", []), state["header"]["calls"]) for way in ways]
        fixed = row.get("fixed_plugin") and row.get("fixed_plain") and row["fixed_plugin"] / row["fixed_plain"]
        did = row.get("plugin") or {}
        lines.append(
            f"| {pathlib.Path(name).name}: {row['about'].get('what', '')} | {row['about'].get('shapes', '')} | "
            + " | ".join(cells)
            + f" | {measure.number(fixed or None)} | {did.get('clusters', '')}, {did.get('compilations', '')} | "
            + f"{did.get('launches', '')} ({did.get('general', '')}), {did.get('host_runs', '')} |"
        )
    return "\n".join(lines + measure.left_out(state)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--ways", default=",".join(WAYS), help="some of them, plain first")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of calls of one way for one program")
    parser.add_argument("--out", help="FILE.md; the figures go to FILE.json beside it")
    parser.add_argument("--resume", action="store_true", help="go on with the interrupted run of --out")
    parser.add_argument("--reports", help="a folder for the plugin's reports")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    options.plugin = os.path.abspath(options.plugin)
    options.ways = options.ways.split(",")
    os.environ.update(measure.ENVIRONMENT)
    if options.way:
        return work(options)
    import changing_programs

    settings = dict(
        ways=options.ways, tensorflow=measure.version(sys.executable, "tensorflow_cpu"), calls=options.calls
    )
    table = measure.Table(options.out, render, settings, options.resume)
    finished = table.run(
        options.names or list(changing_programs.EXPERIMENTS), lambda name: measure_program(name, options)
    )
    if not options.out:
        print(render(table.state))
    return 0 if finished else 130


if __name__ == "__main__":
    sys.exit(main())
