"""Compares xla.compile with JAX on the programs of examples/gallery, in one run, as ratios.

    third_party/install --peers && third_party/bazel build //python:run
    bazel-bin/python/run benchmarks/gallery.py [NAME…] [--out=benchmarks/results_python.md] [--resume]

README.md in this folder says what is measured and how. The last table is the time of a cached call of a function that
does nearly nothing.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import measure

ROOT = measure.ROOT
sys.path.insert(0, str(ROOT / "examples" / "gallery"))
CALLS = (1, 4, 16)  # arguments of the calls of the last table


def best(call, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 20000):
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
    return dict(first_s=first, run_ms=best(lambda: module.program(*arguments), seconds) * 1e3)


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
    return dict(first_s=first, run_ms=best(lambda: jax.block_until_ready(function(*arguments)), seconds) * 1e3)


def save(result, path):
    import numpy as np

    parts = result if isinstance(result, (tuple, list)) else [result]
    np.savez(path, *[np.asarray(p) for p in parts])


def dispatch(side, count):
    """The time of a cached call with `count` small arguments, on average over a hundred in turn, at best."""
    import numpy as np

    function = lambda *xs: xs[0] + 1
    arrays = [np.ones(4) for _ in range(count)]
    if side == "ours":
        import xla

        compiled = xla.compile(function)
    else:
        import jax

        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(function)
        arrays = jax.device_put(arrays)
    compiled(*arrays)

    def hundred():
        for _ in range(100):
            compiled(*arrays)

    return dict(run_ms=best(hundred, 0.2) * 10)


def child(side, *arguments):
    python = sys.executable if side == "ours" else measure.PEERS
    return measure.child([python, pathlib.Path(__file__).resolve(), f"--side={side}", *arguments])


def difference(name, folder):
    """What the results of the two sides differ in; empty if they are equal within rounding."""
    import numpy as np
    import run

    got, want = (list(np.load(folder / f"{side}.npz").values()) for side in ("ours", "JAX"))
    if len(run.leaves(got)) != len(run.leaves(want)):
        return f"{len(got)} results, JAX has {len(want)}"
    scale = 1e-3 if name == "transformer" else 1e-6
    for x, y in zip(got, want):
        if x.shape != y.shape or not np.allclose(x, y, rtol=scale, atol=scale * max(1.0, float(np.abs(y).max()))):
            return "the results differ"
    return ""


def measure_program(name, options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        side = lambda key, title: lambda: child(
            key, name, f"--seconds={options.seconds}", f"--save={folder / title}.npz"
        )
        row = measure.take_turns(
            {"ours": side("ours", "ours"), "JAX": side("theirs", "JAX")}, options.pairs, options.row_seconds
        )
        if not row["problems"]:
            row["difference"] = difference(name, folder)
    return row


def measure_call(count, options):
    sides = {
        title: lambda key=key: child(key, f"--dispatch={count}") for key, title in (("ours", "ours"), ("theirs", "JAX"))
    }
    return measure.take_turns(sides, options.pairs, options.row_seconds)


def render(state):
    number, median, ratio = measure.number, measure.median, measure.median_ratio
    rows = {k: r for k, r in state["rows"].items() if any(r["samples"].values())}
    programs = {k: r for k, r in rows.items() if not k.startswith("call")}
    lines = ["# `xla.compile` beside JAX", "", "Made by `benchmarks/gallery.py`: " + measure.about(state)]
    lines += [
        f"The peer: {state['header']['peer']}. [README.md](README.md) says what the columns mean; below 1 is better."
    ]
    lines += ["", "| program | run time, ratio | ours, ms | JAX, ms | ± % | first result, ratio | ours, s | JAX, s |"]
    lines += ["|---" * 8 + "|"]
    later, first = [], []
    for name, row in programs.items():
        a, b = row["samples"]["ours"], row["samples"]["JAX"]
        later.append(ratio(a, b, "run_ms"))
        first.append(ratio(a, b, "first_s"))
        spreads = "/".join(number(measure.spread([r["run_ms"] for r in s]), ".0f", 100) for s in (a, b))
        cells = [
            name + (" " + measure.marks(row) if measure.marks(row) else ""),
            number(later[-1]),
            number(median(a, "run_ms"), ".3f"),
            number(median(b, "run_ms"), ".3f"),
            spreads,
            number(first[-1]),
            number(median(a, "first_s")),
            number(median(b, "first_s")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    mean = lambda values: number(measure.geometric_mean(values))
    lines += [f"| geometric mean | {mean(later)} | | | | {mean(first)} | | |", ""]
    lines += ["| a cached call with | ours, µs | JAX, µs | ratio | ± % |", "|---" * 5 + "|"]
    for name, row in rows.items():
        if name in programs:
            continue
        a, b = row["samples"]["ours"], row["samples"]["JAX"]
        spreads = "/".join(number(measure.spread([r["run_ms"] for r in s]), ".0f", 100) for s in (a, b))
        cells = [name.removeprefix("call, ") + " " + measure.marks(row), number(median(a, "run_ms"), ".2f", 1e3)]
        cells += [number(median(b, "run_ms"), ".2f", 1e3), number(ratio(a, b, "run_ms")), spreads]
        lines.append("| " + " | ".join(cells) + " |")
    for mark, text in (("~", "spread above 15 % in two sets of pairs"), ("!", "others used the machine")):
        found = [name for name, row in rows.items() if mark in measure.marks(row)]
        if found:
            lines += ["", f"`{mark}` {text}: {', '.join(found)}."]
    wrong = [f"{name}: {row['difference']}" for name, row in programs.items() if row.get("difference")]
    lines += ["", f"Results beside JAX's: {'; '.join(wrong) if wrong else 'equal within rounding'}."]
    return "\n".join(lines + measure.left_out(state)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.5, help="of timed calls in a process")
    measure.add_options(parser)
    parser.add_argument("--side", choices=["ours", "theirs"], help=argparse.SUPPRESS)
    parser.add_argument("--dispatch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--save", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        if options.dispatch is not None:
            print(json.dumps(dispatch(options.side, options.dispatch)))
        else:
            print(json.dumps(globals()[options.side](options.names[0], options.seconds, options.save)))
        return 0
    import run

    if not measure.PEERS.exists():
        sys.exit(f"{measure.PEERS} does not exist: third_party/install --peers")
    unknown = [name for name in options.names if name not in run.NAMES]
    if unknown:
        sys.exit(f"unknown programs: {', '.join(unknown)}; there are {', '.join(run.NAMES)}")
    settings = dict(
        peer=measure.version(measure.PEERS, "jaxlib"),
        seconds=options.seconds,
        pairs=options.pairs,
        row_seconds=options.row_seconds,
    )
    calls = {f"call, {n} argument{'s' * (n > 1)}": n for n in CALLS}
    names = options.names or [*run.NAMES, *calls]
    table = measure.Table(options.out, render, settings, options.resume)
    finished = table.run(
        names, lambda name: measure_call(calls[name], options) if name in calls else measure_program(name, options)
    )
    if not options.out:
        print(render(table.state))
    wrong = any(row.get("difference") for row in table.state["rows"].values())
    return 130 if not finished else int(wrong)


if __name__ == "__main__":
    sys.exit(main())
