"""TensorFlow with its own kernels, with its XLA auto-clustering, with jit_compile=True and with the plugin, side by side:
first call and steady time per model and shape, peak memory, and ratios. Each way has a process of its own for each
model; their calls take turns in short rounds, so that what else the machine does falls on all of them alike.

usage: tensorflow.py PLUGIN.so [NAME…] [--quick] [--seconds=S] [--ways=LIST] [--data=DIR] [--out=FILE.md] [--resume]
                     [--competing=N]
NAME: names of tensorflow_programs.py (with _train: a training step), `stream MODEL` for batches of ever other sizes,
`shapes MODEL` for ever other batches and lengths, or folders with a graph.pb; without any: all, and the graphs of --data
(or XC_DATA). --quick: without the large models, which the table then names. --competing: N other processes compute
meanwhile. README.md in this folder says what is measured and how.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import measure

WAYS = ["plain", "autojit", "jit_compile", "plugin"]
STREAMED = ["mlp", "residual", "encoder", "gru", "dlrm"]
CALLS, LARGEST = 1000, 64  # of a stream
SEQUENCES, LONGEST = 8, 96  # of a stream in which lengths differ, too
STREAMS = ("stream ", "shapes ")
HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 7
# Beside other processes: rounds, and how much longer than otherwise they are together.
COMPETING_ROUNDS, COMPETING_TIMES = 31, 16
# A process that says when it begins to compute, on one thread, and ends with its standard input.
COMPETITOR = """
import numpy, select, sys
x = numpy.ones((256, 256))
x @ x
print(flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    x @ x
"""


def peak_memory():
    """The peak since the last call, in bytes."""
    text = pathlib.Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\s*(\d+)", text)[1]) * 1024
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return peak


def work(name, way, plugin):
    """Answers the lines of standard input, one JSON line for each: `first N`, the first call with shapes N; `time N S`,
    calls with them for S seconds; `settle N S`, such calls, and waiting for what is compiled in the background; `stream`, calls with batches of ever other sizes.
    """
    if way == "autojit":
        os.environ["TF_XLA_FLAGS"] = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
    import numpy as np

    tf, programs = import_programs()
    if way == "plugin":
        from tensorflow.python.framework import load_library

        load_library.load_pluggable_device_library(plugin)
    body, cases = programs.load(name)
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
        elif what in ("time", "settle"):
            times, end = [], time.perf_counter() + float(numbers[1])
            while time.perf_counter() < end or len(times) < 3:
                times.append(call(args))
            answer = times
            if what == "settle" and way == "plugin":
                measure.plugin_tools().wait(300)
        elif what in ("stream", "shapes"):
            most = [LARGEST] if what == "stream" else [SEQUENCES, LONGEST]
            sizes = np.random.default_rng(0).integers(1, [n + 1 for n in most], (CALLS, len(most))).tolist()
            before = time.process_time()
            answer = [call(args) for args in programs.of_sizes(name, sizes)]
            answer = dict(times=answer, processor=time.process_time() - before)
            if way == "plugin":
                answer["plugin"] = dataclasses.asdict(measure.plugin_tools().stats())
        else:
            answer = peak_memory()
        print(json.dumps(answer), file=out)


def worker_of(name, way, options):
    """The process of one way for one model. While another one's turn is measured it is stopped."""
    return measure.Worker([sys.executable, __file__, options.plugin, name, "--way", way])


def rounds_in_turn(workers, i, seconds, rounds=ROUNDS):
    """Rounds of every way's calls with the shapes `i`, `seconds` for each way in all: way → one list of times for each
    round; and which part of the machine others used meanwhile."""
    times = {way: [] for way, worker in workers.items() if not worker.error}
    pids = [os.getpid()] + [workers[way].process.pid for way in times]
    own = lambda: sum(map(measure.process_seconds, pids))
    for way in times:
        workers[way].pause(True)
    start, busy, before = time.perf_counter(), measure.busy_seconds(), own()
    for _ in range(rounds):
        for way in times:
            workers[way].pause(False)
            times[way].append(workers[way].ask("time", i, seconds / rounds))
            workers[way].pause(True)
    others = measure.busy_seconds() - busy - (own() - before)
    for way in times:
        workers[way].pause(False)
    return times, max(0.0, others) / ((time.perf_counter() - start) * os.cpu_count())


def spread_of(times):
    return max((measure.spread([min(part) for part in rounds]) or 0.0 for rounds in times.values()), default=0.0)


def measure_shape(workers, i, shape, options):
    firsts = {way: worker.ask("first", i) for way, worker in workers.items()}
    for worker in workers.values():  # compilation in the background, and the cost gate's decisions
        worker.ask("settle", i, options.seconds / 2)
    times, busy = rounds_in_turn(workers, i, options.seconds)
    if spread_of(times) > measure.SPREAD or busy > measure.BUSY:
        again, busy_again = rounds_in_turn(workers, i, options.seconds)
        if spread_of(again) < spread_of(times):
            times, busy = again, busy_again
    ways = {}
    for way, parts in times.items():
        flat = [t for part in parts for t in part]
        ways[way] = dict(
            first=firsts[way],
            best=min(flat),
            rounds=[min(part) for part in parts],
            slowest=max(flat),
            peak=workers[way].ask("memory"),
        )
    return dict(shape=shape, ways=ways, unsteady=spread_of(times) > measure.SPREAD, busy=busy)


@contextlib.contextmanager
def competitors(count):
    """While it lasts, so many processes compute, each on one thread."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", COMPETITOR]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    processes = [subprocess.Popen(command, env=environment, **pipes) for _ in range(count)]
    try:
        for process in processes:
            process.stdout.readline()
        yield
    finally:
        for process in processes:
            process.communicate()


def measure_competing(name, options):
    """A row: for each shape, by way, the mean time of a call in each round, while others compute."""
    workers, cases = {}, []
    try:
        for way in options.ways:
            workers[way] = worker_of(name, way, options)
        shapes = next((w.first for w in workers.values() if w.first), [])
        for i, shape in enumerate(shapes):
            for worker in workers.values():
                worker.ask("settle", i, options.seconds / 2)
            with competitors(options.competing):
                times, _ = rounds_in_turn(workers, i, COMPETING_TIMES * options.seconds, COMPETING_ROUNDS)
            cases.append(dict(shape=shape, means={w: list(map(statistics.fmean, parts)) for w, parts in times.items()}))
    except BaseException:
        for worker in workers.values():
            worker.stop(kill=True)
        raise
    for worker in workers.values():
        worker.stop()
    problems = {way: worker.error for way, worker in workers.items() if worker.error}
    text = "; ".join(
        case["shape"] + ": " + ", ".join(f"{w} {statistics.median(m) * 1e3:.3f} ms" for w, m in case["means"].items())
        for case in cases
    )
    return dict(competing=cases, problems=problems, text=text)


def render_competing(rows, ways, count):
    lines = [
        "",
        f"While {count} other processes compute, on one thread each. Per way: the mean time of a call in ms, the median "
        f"over {COMPETING_ROUNDS} rounds in turn; then, of the ratios of this time over plain TensorFlow's in the same round, "
        "the median (quartiles): below 1 is faster.",
        "",
        "| model, shape | " + " | ".join(ways) + " | " + " | ".join(f"{w}/plain" for w in ways[1:]) + " |",
        "|---" * (2 * len(ways)) + "|",
    ]
    for name, row in rows.items():
        for case in row["competing"]:
            means = case["means"]
            cells = [f"{statistics.median(means[w]) * 1e3:.3f}" if w in means else "fails" for w in ways]
            for way in ways[1:]:
                if way not in means or "plain" not in means:
                    cells.append("")
                    continue
                low, middle, high = statistics.quantiles([a / b for a, b in zip(means[way], means["plain"])])
                cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
            lines.append(f"| {label_of(name)}, {case['shape']} | " + " | ".join(cells) + " |")
    return lines


def measure_model(name, options):
    """A row: for each shape, by way: first call, best time, of each round and over all, slowest call, peak memory."""
    workers = {}
    try:
        for way in options.ways:
            workers[way] = worker_of(name, way, options)
        shapes = next((w.first for w in workers.values() if w.first), [])
        cases = [measure_shape(workers, i, shape, options) for i, shape in enumerate(shapes)]
    except BaseException:
        for worker in workers.values():
            worker.stop(kill=True)
        raise
    for worker in workers.values():
        worker.stop()
    problems = {way: worker.error for way, worker in workers.items() if worker.error}
    text = "; ".join(
        case["shape"] + ": " + ", ".join(f"{way} {r['best'] * 1e3:.3f} ms" for way, r in case["ways"].items())
        for case in cases
    )
    return dict(cases=cases, problems=problems, text=text)


def measure_stream(name, options):
    """A row: by way, the times of the calls, each way's by themselves, in a new process."""
    streams, problems = {}, {}
    for way in options.ways:
        worker = worker_of(name, way, options)
        try:
            answer = worker.ask(name.split()[0])
        except BaseException:
            worker.stop(kill=True)
            raise
        worker.stop()
        if answer is None:
            problems[way] = worker.error
        else:
            times = answer.pop("times")
            last = statistics.median(times[-CALLS // 4 :])
            streams[way] = dict(total=sum(times), slowest=max(times), last=last, **answer)
    return dict(
        streams=streams, problems=problems, text=", ".join(f"{w} {s['total']:.2f} s" for w, s in streams.items())
    )


def render_streams(rows, ways):
    lines = [
        "",
        f"Batches of ever other sizes: the first {CALLS} calls of a process, of 1 to {LARGEST} rows at random. Per way: "
        f"all calls together in s (the slowest in ms; the median of the last quarter in ms). `shapes`: of 1 to {SEQUENCES} "
        f"sequences and 1 to {LONGEST} words.",
        "",
        "| model | " + " | ".join(ways) + " |",
        "|---" * (len(ways) + 1) + "|",
    ]
    for name, row in rows.items():
        cells = []
        for way in ways:
            s = row["streams"].get(way)
            cells.append(f"{s['total']:.2f} ({s['slowest'] * 1e3:.0f}; {s['last'] * 1e3:.3f})" if s else "fails")
        lines.append(f"| {name.removeprefix('stream ')} | " + " | ".join(cells) + " |")
    return lines


def render(state):
    ways, family = state["header"]["ways"], state["families"]
    lines = ["# TensorFlow, alone and compiled", "", "Made by `benchmarks/tensorflow.py`: " + measure.about(state)]
    lines += [
        f"{state['header']['tensorflow']}. Per way: best time in ms (first call, slowest later one; peak MB). The ratios are "
        "plain TensorFlow's time over the way's, medians over rounds in turn: above 1 is faster. [README.md](README.md) "
        "says how it was measured.",
        "",
        "| model, shape | " + " | ".join(ways) + " | " + " | ".join(f"plain/{w}" for w in ways[1:]) + " | ± % |",
        "|---" * (2 * len(ways) + 1) + "|",
    ]
    ratios, behind, marked = {}, [], {}
    for name, row in state["rows"].items():
        for case in row.get("cases", []):
            label, plain = f"{label_of(name)}, {case['shape']}", case["ways"].get("plain")
            marks = measure.marks(case)
            cells, speedups = [], {}
            for way in ways:
                r = case["ways"].get(way)
                if r is None:
                    cells.append("fails")
                    continue
                cells.append(
                    f"{r['best'] * 1e3:.3f} ({r['first'] * 1e3:.0f}, {r['slowest'] * 1e3:.0f}; {r['peak'] >> 20})"
                )
                if plain:
                    speedups[way] = statistics.median(p / t for p, t in zip(plain["rounds"], r["rounds"]))
            cells += [measure.number(speedups.get(way)) for way in ways[1:]]
            spreads = [measure.number(measure.spread(r["rounds"]), ".0f", 100) for r in case["ways"].values()]
            lines.append(
                f"| {label}{' ' + marks if marks else ''} | " + " | ".join(cells) + f" | {'/'.join(spreads)} |"
            )
            for mark in marks:
                marked.setdefault(mark, []).append(label)
            for way in ways[1:]:
                if way in speedups:
                    ratios.setdefault(family.get(name, "graph"), {}).setdefault(way, []).append(speedups[way])
            others = [speedups[w] for w in ways[1:] if w in speedups and w != "plugin"]
            if "plugin" in ways and plain and speedups.get("plugin", 0) < max([0.95] + others):
                behind.append(label)
    if ratios:
        lines += [
            "",
            "Geometric means of the ratios:",
            "",
            "| family | models and shapes | " + " | ".join(ways[1:]) + " |",
        ]
        lines += ["|---" * (len(ways) + 1) + "|"]
        for key, by_way in sorted(ratios.items()):
            means = [measure.number(measure.geometric_mean(by_way.get(w, []))) for w in ways[1:]]
            lines.append(f"| {key} | {max(map(len, by_way.values()))} | " + " | ".join(means) + " |")
        behind = "; ".join(behind) if behind else "none"
        lines += ["", f"The plugin below 0.95, or behind one of TensorFlow's own compilers: {behind}."]
    for mark, text in (("~", "spread above 15 % in two sets of rounds"), ("!", "others used the machine")):
        if mark in marked:
            lines += ["", f"`{mark}` {text}: {'; '.join(marked[mark])}."]
    competing = {name: row for name, row in state["rows"].items() if "competing" in row}
    if competing:
        lines += render_competing(competing, ways, state["header"]["competing"])
    streams = {name: row for name, row in state["rows"].items() if "streams" in row}
    if streams:
        lines += render_streams(streams, ways)
    if state["header"]["quick"]:
        lines += ["", f"Left out by `--quick`: {', '.join(state['large'])}."]
    return "\n".join(lines + measure.left_out(state)) + "\n"


def label_of(name):
    """A graph's folder by its name, so that it is not taken for the model of that name."""
    return f"graph {pathlib.Path(name).name}" if "/" in name else name


def import_programs():
    # The benchmark's file has TensorFlow's name.
    sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
    import tensorflow

    sys.path.append(str(HERE))
    import tensorflow_programs

    return tensorflow, tensorflow_programs


def list_models(options):
    """Names of the small models and of all, and families; from a process of its own, as this one stays small."""
    command = [sys.executable, __file__, options.plugin, "--list"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="without the large models")
    parser.add_argument("--seconds", type=float, default=1.0, help="of timed calls per way and shape")
    parser.add_argument("--data", default=os.environ.get("XC_DATA"))
    parser.add_argument("--out", help="FILE.md; the figures go to FILE.json beside it")
    parser.add_argument("--resume", action="store_true", help="go on with the interrupted run of --out")
    parser.add_argument("--ways", default=",".join(WAYS), help="some of them, plain first")
    parser.add_argument("--competing", type=int, default=0, help="processes that compute meanwhile")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    options.plugin = os.path.abspath(options.plugin)
    options.ways = options.ways.split(",")
    os.environ.update(measure.ENVIRONMENT)
    if options.way:
        name = options.names[0]
        return work(name.split(" ", 1)[1] if name.startswith(STREAMS) else name, options.way, options.plugin)
    if options.list:
        programs = import_programs()[1]
        large = programs.names(True)
        print(json.dumps([programs.names(False), large, {name: programs.family(name) for name in large}]))
        return 0
    small, large, family = list_models(options)
    names = options.names or (small if options.quick else large)
    if not options.names:
        if options.data:
            names += [str(p) for p in sorted((pathlib.Path(options.data) / "graphs").iterdir())]
        names += [f"stream {model}" for model in STREAMED]
    settings = dict(
        ways=options.ways,
        tensorflow=measure.version(sys.executable, "tensorflow_cpu"),
        seconds=options.seconds,
        quick=options.quick and not options.names,
        competing=options.competing,
    )
    table = measure.Table(options.out, render, settings, options.resume)
    table.state.update(families=family, large=[name for name in large if name not in small])

    def measure_row(name):
        if name.startswith(STREAMS):
            with competitors(options.competing):
                return measure_stream(name, options)
        return (measure_competing if options.competing else measure_model)(name, options)

    finished = table.run(names, measure_row)
    if not options.out:
        print(render(table.state))
    return 0 if finished else 130


if __name__ == "__main__":
    sys.exit(main())
