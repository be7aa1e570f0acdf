"""Compares xla.compile with JAX on the programs of examples/gallery, in one run, as ratios.

    bazel build //python:run
    bazel-bin/python/run benchmarks/gallery.py [NAME…] [--pairs=3] [--out=benchmarks/results_python.md]

For every program both sides run `--pairs` times, alternating, each time in a process of its own: the time to the first
result (the function is called for the first time; modules are imported, arguments made, and x + 1 was compiled, which
opens the compiler) and the best time of later
calls. JAX has its arguments on the device. A row holds the medians of the pairs' ratios (ours / theirs, below 1 is better).
Results are compared too. The last table is the time of a cached call of a function that does nearly nothing.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples" / "gallery"))


def best(call, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 2000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(name, seconds, path):
    import importlib

    import numpy as np
    import xla

    module = importlib.import_module(name)
    arguments = module.inputs(False, np.random.default_rng(0))
    xla.compile(lambda x: x + 1)(np.ones(3))
    start = time.perf_counter()
    result = module.program(*arguments)
    first = time.perf_counter() - start
    save(result, path)
    return first, best(lambda: module.program(*arguments), seconds)


def theirs(name, seconds, path):
    import gallery_jax
    import jax
    import numpy as np

    function, inputs = gallery_jax.program(name)
    arguments = jax.device_put(inputs(False, np.random.default_rng(0)))
    jax.block_until_ready(jax.jit(lambda x: x + 1)(np.ones(3)))
    start = time.perf_counter()
    result = jax.block_until_ready(function(*arguments))
    first = time.perf_counter() - start
    save(result, path)
    return first, best(lambda: jax.block_until_ready(function(*arguments)), seconds)


def save(result, path):
    import numpy as np

    parts = result if isinstance(result, (tuple, list)) else [result]
    np.savez(path, *[np.asarray(p) for p in parts])


def dispatch(side, count):
    """Seconds of a cached call with `count` small arguments."""
    import numpy as np

    function = lambda *xs: xs[0] + 1
    arrays = [np.ones(4) for _ in range(count)]
    if side == "ours":
        import xla

        compiled = xla.compile(function)
        call = lambda: compiled(*arrays)
    else:
        import jax

        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(function)
        arrays = jax.device_put(arrays)
        call = lambda: compiled(*arrays)
    call()
    times = []
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(100):
            call()
        times.append((time.perf_counter() - start) / 100)
    return min(times)


def child(side, *arguments):
    python = sys.executable if side == "ours" else str(ROOT / ".venv-peers/bin/python")
    command = [python, str(pathlib.Path(__file__).resolve()), f"--side={side}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:300])
    return json.loads(done.stdout.strip().splitlines()[-1])


def equal(name, folder):
    import numpy as np
    import run

    a, b = (np.load(folder / f"{name}.{side}.npz") for side in ("ours", "theirs"))
    got, want = ([side[k] for k in side.files] for side in (a, b))
    scale = 1e-3 if name == "transformer" else 1e-6
    for x, y in zip(got, want):
        if not np.allclose(x, y, rtol=scale, atol=scale * max(1.0, float(np.abs(y).max()))):
            return False
    return len(run.leaves(got)) == len(run.leaves(want))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--out")
    parser.add_argument("--side")
    parser.add_argument("--dispatch", type=int)
    parser.add_argument("--save")
    options = parser.parse_args()
    if options.side:
        if options.dispatch is not None:
            print(json.dumps(dispatch(options.side, options.dispatch)))
        else:
            print(json.dumps(globals()[options.side](options.names[0], options.seconds, options.save)))
        return
    import tempfile

    import run

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in options.names or run.NAMES:
            measured = {"ours": [], "theirs": []}
            for _ in range(options.pairs):
                for side in measured:
                    path = str(folder / f"{name}.{side}.npz")
                    measured[side].append(child(side, name, f"--seconds={options.seconds}", f"--save={path}"))
            pairs = list(zip(measured["ours"], measured["theirs"]))
            first, later = (statistics.median(a[i] / b[i] for a, b in pairs) for i in (0, 1))
            middle = lambda side, i: statistics.median(m[i] for m in measured[side])
            rows.append(
                (name, later, middle("ours", 1), middle("theirs", 1), first, middle("ours", 0), middle("theirs", 0))
            )
            print(
                f"{name:20} run {later:6.2f}  first {first:6.2f}  {'' if equal(name, folder) else 'RESULTS DIFFER'}",
                flush=True,
            )
    calls = [(n, child("ours", f"--dispatch={n}"), child("theirs", f"--dispatch={n}")) for n in (1, 4, 16)]
    text = report(rows, calls)
    print(text)
    if options.out:
        pathlib.Path(options.out).write_text(text)


def report(rows, calls):
    mean = lambda values: math.exp(statistics.fmean(map(math.log, values)))
    lines = ["# `xla.compile` beside JAX", "", "Made by `benchmarks/gallery.py`; below 1 is better.", ""]
    lines += [
        "| program | run time, ratio | ours, ms | JAX, ms | first result, ratio | ours, s | JAX, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, later, a, b, first, c, d in rows:
        lines.append(f"| {name} | {later:.2f} | {a * 1e3:.3f} | {b * 1e3:.3f} | {first:.2f} | {c:.2f} | {d:.2f} |")
    if rows:
        lines.append(
            f"| geometric mean | {mean([r[1] for r in rows]):.2f} | | | {mean([r[4] for r in rows]):.2f} | | |"
        )
    lines += ["", "| a cached call with | ours, µs | JAX, µs | ratio |", "|---|---|---|---|"]
    for n, a, b in calls:
        lines.append(f"| {n} arguments | {a * 1e6:.2f} | {b * 1e6:.2f} | {a / b:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
