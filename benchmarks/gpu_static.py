"""What the GPU backend makes of modules beside XLA's GPU compiler, both without a GPU: kernels and copies that one run
starts, temporary memory, registers and spills as ptxas counts them, compile time.

usage: gpu_static.py XLA_TOOL [NAME…] [--peer=PYTHON] [--peer_tool=SCRIPT.py] [--ptxas=FILE] [--out=FILE.md]
XLA_TOOL is bazel-bin/tools/xla. PYTHON has jax, jaxlib, jax-cuda13-pjrt and jax-cuda13-plugin; SCRIPT.py (the sample
data's tools/xla_gpu_static.py) compiles a module with them for an H200 and prints a line of JSON. Modules: those of
programs and hlo in the sample data that XC_DATA's xla_gpu_static.tsv names. What is in a loop's body counts once on
both sides. Compile time of ours is without ptxas, which stands beside it; XLA's includes it.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import measure

HEAD = ["module", "launches", "XLA", "copies", "evaluated", "temporary KiB", "XLA", "registers", "XLA", "spilled bytes"]
HEAD += ["XLA", "compile s", "ptxas s", "XLA"]


def ours(options, file):
    with tempfile.TemporaryDirectory() as folder:
        command = [options.tool, "replay", str(file), "--platform=gpu", "--emulate", "--compile_only", "--json"]
        made = measure.child(command + [f"--dump_to={folder}"], timeout=900)
        made["registers"], made["spilled"], made["ptxas_s"] = 0, 0, 0.0
        for ptx in sorted(pathlib.Path(folder).glob("*.ptx")):
            start = measure.time.perf_counter()
            told = subprocess.run(
                [options.ptxas, "-v", "-arch=sm_90a", str(ptx), "-o", os.devnull], capture_output=True, text=True
            )
            if told.returncode != 0:
                raise measure.Failure(f"ptxas: {measure.last_words(told.stderr)}")
            made["ptxas_s"] += measure.time.perf_counter() - start
            made["registers"] = max([made["registers"], *map(int, re.findall(r"Used (\d+) registers", told.stderr))])
            made["spilled"] += sum(map(int, re.findall(r"(\d+) bytes spill stores", told.stderr)))
    return made


def peers(options, file):
    environment = {"PATH": f"{pathlib.Path(options.ptxas).parent}:{os.environ['PATH']}"}
    return measure.child([options.peer, options.peer_tool, str(file)], timeout=900, environment=environment)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("tool")
    parser.add_argument("names", nargs="*")
    data = pathlib.Path(os.environ.get("XC_DATA", "../shared/data"))
    parser.add_argument("--peer", default="python3")
    parser.add_argument("--peer_tool", default=str(data.parent / "tools/xla_gpu_static.py"))
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or "ptxas")
    parser.add_argument("--out")
    options = parser.parse_args()
    modules = [line.split("\t")[0] for line in (data / "xla_gpu_static.tsv").read_text().splitlines()[1:]]
    modules = [m for m in modules if not options.names or any(name in m for name in options.names)]
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    launches, memory, times, more, failed = [], [], [], [], []
    for name in modules:
        file = next(f for f in (data / "programs" / f"{name}.hlo", data / "hlo" / f"{name}.hlo") if f.exists())
        try:
            we, xla = ours(options, file), peers(options, file)
        except measure.Failure as failure:
            failed.append(f"- {name}: {failure}")
            continue
        we["launches"] = we["kernels_started"] + we["evaluated_steps"]
        started = we["launches"] + we["copies_started"]
        launches.append(started / max(1, xla["launches"]))
        times.append((we["compile_s"] + we["ptxas_s"]) / xla["compile_s"])
        if xla["temp_bytes"] > 0 and we["temp_bytes"] > 0:
            memory.append(we["temp_bytes"] / xla["temp_bytes"])
        if started > xla["launches"] or we["temp_bytes"] > xla["temp_bytes"]:
            more.append(name)
        row = [name, we["launches"], xla["launches"], we["copies_started"], we["evaluated_steps"]]
        row += [round(we["temp_bytes"] / 1024), round(xla["temp_bytes"] / 1024)]
        row += [we["registers"], max(xla.get("registers") or [0]), we["spilled"], xla.get("spill_bytes", 0)]
        row += [f"{we['compile_s']:.2f}", f"{we['ptxas_s']:.2f}", f"{xla['compile_s']:.2f}"]
        lines.append("| " + " | ".join(map(str, row)) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    text = ["# The GPU backend beside XLA's GPU compiler, on a machine without a GPU", ""]
    text += [f"{datetime.date.today()}, commit {commit}, {measure.cpus()} cores; made by benchmarks/gpu_static.py.", ""]
    text += [
        f"Geometric means beside XLA: launches and copies {mean(launches):.2f}, temporary memory {mean(memory):.2f} "
        f"({len(memory)} modules that take some on both sides), compile time with ptxas {mean(times):.2f}. "
        f"{len(more)} of {len(launches)} modules start or hold more than XLA's."
    ]
    text += ["", *lines, ""]
    if failed:
        text += ["Not compared:", "", *failed, ""]
    if options.out:
        pathlib.Path(options.out).write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main()
