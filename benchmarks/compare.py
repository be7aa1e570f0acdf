"""Compares this project's CPU backend with XLA's (the jaxlib wheel) on HLO modules, in one run, as ratios.

    python3 -m venv .venv-peers && .venv-peers/bin/pip install jax==0.10.2 jaxlib==0.10.2
    python3 benchmarks/compare.py [NAME…] [--pairs=3] [--seconds=0.5] [--out=benchmarks/results.md]

For every module both sides are run `--pairs` times, alternating; a row holds the medians of the pairs' ratios (ours /
theirs, below 1 is better): run time (best run of a process), compile time, temporary memory. Where the peer's run is
under 50 µs, the time of a trivial module, measured in the same pair, is taken off both sides.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("XC_DATA") or ROOT.parent / "shared" / "data")
# Too large or too slow for a table made often: see the note in docs/testing.md.
SKIP = {"mobilenet_v2", "nv_maxtext_1n1g_jit_train_step_before_optimization"}
TRIVIAL = """HloModule trivial, entry_computation_layout={(f32[4]{0})->f32[4]{0}}
ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT r = f32[4]{0} add(p, p)
}
"""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:200])
    return json.loads(done.stdout.strip().splitlines()[-1])


def ours(path, seconds):
    return run(
        [ROOT / "bazel-bin/tools/xla", "replay", path, "--json", "--runs=200", f"--seconds={seconds}"],
    )


def theirs(path, seconds):
    return run([ROOT / ".venv-peers/bin/python", ROOT / "benchmarks/run_peer.py", path, f"--seconds={seconds}"])


def ratio(a, b):
    return a / b if b > 0 else (1.0 if a == 0 else math.inf)


def measure(path, trivial, pairs, seconds):
    rows = []
    for _ in range(pairs):
        a, b = ours(path, seconds), theirs(path, seconds)
        run_a, run_b = a["run_ms"], b["run_ms"]
        if run_b < 0.05:
            run_a = max(run_a - ours(trivial, 0.05)["run_ms"], 1e-4)
            run_b = max(run_b - theirs(trivial, 0.05)["run_ms"], 1e-4)
        rows.append(
            dict(
                run=ratio(run_a, run_b),
                compile=ratio(a["compile_s"], b["compile_s"]),
                temp=ratio(a["temp_bytes"], b["temp_bytes"]),
                rss=ratio(a["rss_mb"], b["rss_mb"]),
                run_ms=a["run_ms"],
                peer_ms=b["run_ms"],
                compile_s=a["compile_s"],
                peer_compile_s=b["compile_s"],
                temp_bytes=a["temp_bytes"],
                peer_temp=b["temp_bytes"],
            )
        )
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def geometric_mean(values):
    values = [v for v in values if 0 < v < math.inf]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--out")
    opt = parser.parse_args()
    paths = [p for folder in ("hlo", "programs") for p in sorted((DATA / folder).glob("*.hlo")) if p.stem not in SKIP]
    if opt.names:
        paths = [p for p in paths if any(name in p.stem for name in opt.names)]
    if not paths:
        sys.exit(f"no modules found below {DATA}")
    lines = [
        "| module | run ms | XLA | ratio | compile s | XLA | ratio | temp MB | XLA | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    results, failed = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        trivial = pathlib.Path(scratch) / "trivial.hlo"
        trivial.write_text(TRIVIAL)
        for number, path in enumerate(paths):
            try:
                m = measure(path, trivial, opt.pairs, opt.seconds)
            except RuntimeError as error:
                failed[path.stem] = str(error)
                print(f"{number + 1}/{len(paths)} {path.stem}: {error}", file=sys.stderr, flush=True)
                continue
            results[path.stem] = m
            lines.append(
                f"| {path.stem} | {m['run_ms']:.4g} | {m['peer_ms']:.4g} | {m['run']:.2f} | {m['compile_s']:.3f} | "
                f"{m['peer_compile_s']:.3f} | {m['compile']:.2f} | {m['temp_bytes'] / 2**20:.2f} | "
                f"{m['peer_temp'] / 2**20:.2f} | {m['temp']:.2f} |"
            )
            print(f"{number + 1}/{len(paths)} {lines[-1]}", file=sys.stderr, flush=True)
    values = list(results.values())
    if values:
        worst = sorted(results, key=lambda name: -results[name]["run"])[:5]
        over = [name for name, m in results.items() if m["temp"] > 1.0]
        lines += [
            "",
            f"{len(values)} modules, medians of {opt.pairs} pairs. Run time: geometric mean of the ratios "
            f"{geometric_mean([m['run'] for m in values]):.3f}, worst "
            + ", ".join(f"{name} {results[name]['run']:.2f}" for name in worst)
            + f". Compile time: median ratio {statistics.median(m['compile'] for m in values):.3f}. "
            f"Peak memory of the process: median ratio {statistics.median(m['rss'] for m in values):.2f}. "
            f"Temporary memory above the peer's: {', '.join(over) if over else 'none'}.",
        ]
    lines += [f"\nnot measured: {name}: {error}" for name, error in failed.items()]
    text = "\n".join(lines) + "\n"
    print(text)
    if opt.out:
        pathlib.Path(opt.out).write_text(
            "# CPU backend beside XLA's\n\nMade by `benchmarks/compare.py`; ratios are ours / XLA's, below 1 is better.\n\n"
            + text
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
