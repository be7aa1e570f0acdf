"""Runs JAX on the plugin and on JAX's own client for the CPU, in two processes, and compares the results of many cases.

usage: beside.py PLUGIN.so SUITE… [--only=REGEX] [--part=I/N] [--devices=N] [--x32] [--expected=FILE] [--verbose]

A suite is a module suite_NAME.py beside this file, whose `cases()` yields (name, function): what the function returns is
compared, integers and booleans bit by bit, floating point within the tolerance of its type; where one side raises, the
other must raise the same. With --x32, types are JAX's default ones, of 32 bits. Ends with "N passed, N failed".
"""

import argparse
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
# |actual - expected| <= t + t |expected|
TOLERANCE = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-6, "complex128": 1e-6}
NARROW = 0.26  # of types with three bits or fewer behind the point: a neighbour


def difference(actual, expected):
    """Why two results differ; "" if they do not."""
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"gives {len(actual)} arrays, not {len(expected)}"
        return next(filter(None, (difference(a, e) for a, e in zip(actual, expected))), "")
    if isinstance(expected, str) or isinstance(actual, str):
        return "" if actual == expected else f"{actual!r} instead of {expected!r}"
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{actual.shape} instead of {expected.dtype}{expected.shape}"
    kind = expected.dtype.name
    if kind not in TOLERANCE and not kind.startswith("float"):
        return "" if np.array_equal(actual, expected) else count(actual != expected, actual, expected)
    tolerance = TOLERANCE.get(kind, NARROW)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, e = actual.astype(wide), expected.astype(wide)
    with np.errstate(all="ignore"):
        close = np.abs(a - e) <= tolerance + tolerance * np.abs(e)
        same = close | (a == e) | (np.isnan(a) & np.isnan(e))
    return "" if same.all() else count(~same, actual, expected)


def count(wrong, actual, expected):
    first = np.unravel_index(np.argmax(wrong), wrong.shape) if wrong.ndim else ()
    return f"{wrong.sum()} of {wrong.size} differ, the first at {list(map(int, first))}: {actual[first]}, not {expected[first]}"


def kind(outcome):
    """What was raised, and of errors of the compiler their code."""
    name, *rest = outcome.get("error", "nothing").split(":")
    if re.fullmatch("(Xla|Jax)RuntimeError", name):
        name = "RuntimeError"
    code = rest[0].strip() if rest else ""
    return f"{name} {code}" if re.fullmatch("[A-Z_]{6,}", code) else name


def read(path):
    """The outcomes of cases, by name, of a worker's file; that of a case that ended the process is an error."""
    found = {}
    with open(path, "rb") as stream:
        while True:
            try:
                name, outcome = pickle.load(stream)
            except EOFError:
                return found
            found[name] = outcome


def run(options, environment, out):
    """Outcomes by name. A process that a case ends is followed by another, for those after it."""
    environment = {**os.environ, **environment, "JAX_ENABLE_X64": str(int(not options.x32)), "PYTHONHASHSEED": "0"}
    command = [sys.executable, str(HERE / "worker.py"), out, *options.suites, f"--part={options.part}"]
    command += [f"--only={options.only}"] + (["--verbose"] if options.verbose else [])
    after = ""
    while True:
        with open(out + ".log", "w+", encoding="utf-8") as log:
            stderr = None if options.verbose else log
            code = subprocess.run(
                command + [f"--after={after}"], env=environment, stderr=stderr, check=False
            ).returncode
            log.seek(0)
            text = log.read()
        found = read(out) if os.path.exists(out) else {}
        if code == 0:
            return found
        last = list(found)[-1] if found else ""
        print(f"a process ended with {code} at {last or 'its start'}")
        if options.verbose or last == after:
            print(text[-3000:])
        if last == after:
            return found
        after = last


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plugin")
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--x32", action="store_true")
    parser.add_argument("--expected", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={options.devices}"}
    plugin = {"PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{os.path.abspath(options.plugin)}", **flags}
    with tempfile.TemporaryDirectory() as folder:
        actual = run(options, plugin, os.path.join(folder, "plugin"))
        kept = options.expected
        is_kept = kept and os.path.exists(kept)
        expected = read(kept) if is_kept else run(options, flags, kept or os.path.join(folder, "own"))
    passed, failed = 0, 0
    for name, wanted in expected.items():
        if name not in actual:
            why = "did not run"
        elif "error" in wanted or "error" in actual[name]:
            same = kind(actual[name]) == kind(wanted)
            given = [r.get("error", "nothing") for r in (actual[name], wanted)]
            why = "" if same else f"raises {given[0]}, and JAX's own client {given[1]}"
        else:
            why = difference(actual[name]["value"], wanted["value"])
        passed += not why
        failed += bool(why)
        if why:
            print(f"FAILED {name}: {why}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or not passed)


if __name__ == "__main__":
    sys.exit(main())
