"""Compares this project's CPU backend with XLA's (the jaxlib wheel) on HLO modules, in one run, as ratios.

    third_party/install --peers && third_party/bazel build //tools:xla
    python3 benchmarks/compare.py [NAME|FILE…] [--out=benchmarks/results.md] [--resume]

NAME: part of the name of a module in the folders --sets of the sample data (XC_DATA); without any: all of them.
README.md in this folder says what is measured and how, and how to read the table.
"""

import argparse
import os
import pathlib
import re
import statistics
import sys
import tempfile

import measure

ROOT = measure.ROOT
SETS = "hlo,programs,more/hlo,more/slow"
TRIVIAL = """HloModule trivial, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT r = f32[4]{0} add(p, p)
}
"""
# Tells whether a side flushes subnormal numbers to zero: what is at least 0.5 times 1e-38 is normal in f32, a hundredth of
# that is not.
SUBNORMAL = """HloModule subnormal, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
ENTRY main {
  p = f32[4]{0} parameter(0)
  a = f32[] constant(2e-38)
  b = f32[] constant(1e-2)
  x = f32[4]{0} broadcast(a), dimensions={}
  y = f32[4]{0} multiply(p, x)
  z = f32[4]{0} broadcast(b), dimensions={}
  ROOT r = f32[4]{0} multiply(y, z)
}
"""
BYTES = dict(pred=1, s4=1, u4=1, s8=1, u8=1, s16=2, u16=2, f16=2, bf16=2, s32=4, u32=4, f32=4, s64=8, u64=8, f64=8)
BYTES.update(c64=8, c128=16, f8e4m3fn=1, f8e5m2=1)


def ours(path, options):
    command = [options.xla, "replay", path, "--json", "--runs=20000", f"--seconds={options.seconds}"]
    return measure.child(command, options.timeout, measure.ONE_HEAP)


def theirs(path, options):
    command = [measure.PEERS, ROOT / "benchmarks/run_peer.py", path, f"--seconds={options.seconds}"]
    return measure.child(command, options.timeout, measure.ONE_HEAP)


def subnormals(scratch, options):
    """Which sides flush subnormal numbers to zero."""
    path = scratch / "subnormal.hlo"
    path.write_text(SUBNORMAL)
    flushed = []
    for side, command in (
        ("ours", [options.xla, "replay", path, "--json"]),
        ("XLA", [measure.PEERS, ROOT / "benchmarks/run_peer.py", path, "--seconds=0"]),
    ):
        folder = scratch / side
        measure.child([*command, f"--output_dir={folder}"], options.timeout, measure.ONE_HEAP)
        if (folder / "0.npy").read_bytes()[-16:] == bytes(16):  # the elements
            flushed.append(side)
    return flushed


def array_bytes(path):
    """Bytes of the parameters and results that a module's first line or its entry computation declares."""
    with open(path, encoding="utf-8", errors="replace") as file:
        header = file.readline()
        if "entry_computation_layout" not in header:
            entry = re.search(r"^ENTRY[^\n]*{\n(.*?)^}", file.read(), re.M | re.S)
            lines = entry[1].splitlines() if entry else []
            header = "\n".join(l for l in lines if " parameter(" in l or l.lstrip().startswith("ROOT"))
    total = 0
    for kind, dims in re.findall(r"\b([a-z]+[0-9]*[a-z0-9]*)\[([0-9,<=]*)\]", header):
        size = BYTES.get(kind, 0)
        for d in dims.replace("<=", "").split(","):
            size *= int(d or 1)
        total += size
    return total


def reason_to_leave_out(path):
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    need = array_bytes(path)
    if need > 0.8 * have:
        return f"inputs and outputs of {need / 2**30:.0f} GiB on a machine with {have / 2**30:.0f} GiB"
    return None


def measure_module(path, options):
    if reason := reason_to_leave_out(path):
        return dict(reason=reason)
    sides = {"ours": lambda: ours(path, options), "XLA": lambda: theirs(path, options)}
    return measure.take_turns(sides, options.pairs, options.row_seconds)


def net(rows, trivial):
    """A side's median run time in ms less that of the trivial module, and whether that says anything: it must be more
    than the trivial module itself takes."""
    overhead = measure.median(trivial, "run_ms")
    value = measure.median(rows, "run_ms") - overhead
    return value, value > overhead


def figures(row, trivial):
    """What a line of the table shows of a row."""
    a, b = row["samples"]["ours"], row["samples"]["XLA"]
    out = dict(a=a, b=b)
    for key in ("run_ms", "compile_s", "rss_mb"):
        out[key] = measure.median_ratio(a, b, key)
    temp = [measure.median(side, "temp_bytes") for side in (a, b)]
    out["temp"] = None if None in temp else 1.0 if temp[0] == temp[1] else temp[0] / temp[1] if temp[1] else None
    out["more_temp"] = None not in temp and temp[0] > temp[1]
    out["short"] = False
    out["ratio"] = out["run_ms"]
    if a and b and all(trivial["samples"].values()):
        mine, good = net(a, trivial["samples"]["ours"])
        other, also_good = net(b, trivial["samples"]["XLA"])
        out["short"] = not (good and also_good)
        out["ratio"] = None if out["short"] else mine / other
    above = [measure.median(side, "rss_mb") for side in (a, b)]
    base = [measure.median(trivial["samples"].get(side, []), "rss_mb") for side in ("ours", "XLA")]
    out["peak"] = [None if x is None or y is None else max(x - y, 0) for x, y in zip(above, base)]
    return out


HEAD = [
    "module",
    "run ms",
    "XLA",
    "ratio",
    "± %",
    "compile s",
    "XLA",
    "ratio",
    "temp MB",
    "XLA",
    "ratio",
    "peak MB",
    "XLA",
    "pairs",
]


def line(name, row, f):
    number, median = measure.number, measure.median
    a, b = f["a"], f["b"]
    spreads = "/".join(number(measure.spread([r["run_ms"] for r in side]), ".0f", 100) for side in (a, b))
    ratio = f"({number(f['run_ms'])})" if f["short"] else number(f["ratio"])
    cells = [
        name + " " + measure.marks(row) if measure.marks(row) else name,
        number(median(a, "run_ms"), ".4g"),
        number(median(b, "run_ms"), ".4g"),
        ratio,
        spreads,
        number(median(a, "compile_s"), ".3f"),
        number(median(b, "compile_s"), ".3f"),
        number(f["compile_s"]),
        number(median(a, "temp_bytes"), ".2f", 2**-20),
        number(median(b, "temp_bytes"), ".2f", 2**-20),
        number(f["temp"]),
        number(f["peak"][0], ".0f"),
        number(f["peak"][1], ".0f"),
        str(max(len(a), len(b))),
    ]
    return "| " + " | ".join(cells) + " |"


def worst_of(all_figures, key, count=5):
    known = [(f[key], name) for name, f in all_figures.items() if f[key] is not None]
    return ", ".join(f"{name} {value:.2f}" for value, name in sorted(known, reverse=True)[:count])


def render(state):
    rows = {k: r for k, r in state["rows"].items() if "samples" in r and any(r["samples"].values())}
    trivial = rows.get("(trivial)", dict(samples={"ours": [], "XLA": []}))
    every = {name: figures(row, trivial) for name, row in rows.items()}
    lines = ["# CPU backend beside XLA's", ""]
    lines += ["Made by `benchmarks/compare.py`: " + measure.about(state)]
    lines += [f"The peer: {state['header']['peer']}. [README.md](README.md) says what the columns mean.", ""]
    lines += ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    lines += [line(name, rows[name], f) for name, f in every.items()]
    both = {n: f for n, f in every.items() if f["a"] and f["b"] and n != "(trivial)"}
    if both:
        mean = lambda key: measure.number(measure.geometric_mean([f[key] for f in both.values()]), ".3f")
        short = sum(f["short"] for f in both.values())
        values = [f["compile_s"] for f in both.values()]
        peaks = [f["peak"][0] / f["peak"][1] for f in both.values() if f["peak"][0] and f["peak"][1]]
        over = [n for n, f in both.items() if f["more_temp"]]
        calls = {side: measure.median(samples, "run_ms") for side, samples in trivial["samples"].items()}
        overhead = ", ".join(f"{side} {measure.number(value, '.2f', 1e3)} µs" for side, value in calls.items())
        lines += [
            "",
            f"{len(both)} modules on both sides. Geometric means of the ratios, ours / XLA's: run time {mean('ratio')} "
            f"of the {len(both) - short} that take longer than a call ({mean('run_ms')} of all {len(both)}, calls "
            f"included), compile time {mean('compile_s')} (median {statistics.median(values):.3f}), temporary memory "
            f"{mean('temp')}, peak memory of the process {mean('rss_mb')}, above that of the trivial module "
            f"{measure.number(measure.geometric_mean(peaks), '.3f')}.",
            "",
            f"Before the ratio of run times is taken, the time of the trivial module, measured on each side as all others "
            f"are, is taken off ({overhead}). In brackets: shorter than that, with the calls.",
            "",
            f"Highest: run time {worst_of(both, 'ratio')}; compile time {worst_of(both, 'compile_s', 3)}. "
            f"Temporary memory above the peer's: {', '.join(over) if over else 'none'}.",
        ]
        for mark, text in (("~", "spread above 15 % in two sets of pairs"), ("!", "others used the machine")):
            found = [name for name, row in rows.items() if mark in measure.marks(row)]
            if found:
                lines += ["", f"`{mark}` {text}: {', '.join(found)}."]
        faults = [n for n, f in both.items() if (measure.median(f["b"], "faults") or 0) > 64]
        if faults:
            lines += ["", f"XLA's runs met page faults in spite of what README.md says: {', '.join(faults)}."]
    flushed = state["header"].get("flushed")
    if flushed is not None:
        lines += ["", f"Subnormal numbers are flushed to zero by: {', '.join(flushed) or 'neither side'}."]
    return "\n".join(lines + measure.left_out(state)) + "\n"


def modules_of(path, scratch):
    """Name → path of the modules of a file: itself, or its parts where it holds several."""
    text = path.read_text(encoding="utf-8")
    parts = re.split(r"^(?=HloModule )", text, flags=re.M)
    if len(parts) < 3:
        return {path.stem: path}
    found = {}
    for part in parts[1:]:
        name = path.stem + ":" + re.match(r"HloModule ([^\s,]+)", part)[1]
        found[name] = scratch / f"{name}.hlo"
        found[name].write_text(part, encoding="utf-8")
    return found


def find_modules(options, scratch):
    """Name → path, of the files named, and of those modules whose names have one of the names in them."""
    files = [pathlib.Path(n) for n in options.names if os.path.isfile(n)]
    parts = [n for n in options.names if not os.path.isfile(n)]
    data = pathlib.Path(os.environ.get("XC_DATA") or ROOT.parent / "shared" / "data")
    if parts or not files:
        files += [p for folder in options.sets.split(",") for p in sorted((data / folder).glob("*.hlo"))]
    named = {pathlib.Path(n).stem for n in options.names}
    found = {}
    for path in files:
        if path.stem in named or not parts or any(part in path.stem for part in parts):
            found |= modules_of(path, scratch)
    if not found:
        sys.exit(f"no modules found below {data} (XC_DATA)")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sets", default=SETS, help="folders of the sample data, separated by commas")
    parser.add_argument("--seconds", type=float, default=0.3, help="of timed runs in a process")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one process")
    parser.add_argument("--xla", default=ROOT / "bazel-bin/tools/xla", type=pathlib.Path, help="the tool")
    measure.add_options(parser)
    options = parser.parse_args()
    for needed, how in (
        (options.xla, "third_party/bazel build //tools:xla"),
        (measure.PEERS, "third_party/install --peers"),
    ):
        if not needed.exists():
            sys.exit(f"{needed} does not exist: {how}")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        modules = {"(trivial)": scratch / "trivial.hlo"} | find_modules(options, scratch)
        modules["(trivial)"].write_text(TRIVIAL)
        settings = dict(
            peer=measure.version(measure.PEERS, "jaxlib"),
            flushed=subnormals(scratch, options),
            seconds=options.seconds,
            pairs=options.pairs,
            row_seconds=options.row_seconds,
        )
        table = measure.Table(options.out, render, settings, options.resume)
        finished = table.run(list(modules), lambda name: measure_module(modules[name], options))
    if not options.out:
        print(render(table.state))
    return 0 if finished else 130


if __name__ == "__main__":
    sys.exit(main())
