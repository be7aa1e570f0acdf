"""What a new process pays to get a first result from a compiled ResNet-50, beyond reading its weights.

usage: first_result.py XLA [--runtime=LIBXCRT.so] [--package=FOLDER] [--processes=N]
XLA is bazel-bin/tools/xla, LIBXCRT.so bazel-bin/libxcrt.so, FOLDER the one that has the Python package xla. XC_DATA has
the sample module, of which the forward pass alone is compiled, once with its weights as parameters and once with them in
the file. Each process loads the file (`load`), reads the weights (`read`: of a file that has them nothing), and calls it
eight times. `beyond` = load + first call - the median of the later calls, also in processor time, which other processes
disturb less; `pages` are those that load and first call touch for the first time. The file is in the page cache before.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

MODULE = "hlo/resnet50_keras_jax_f32.hlo"
CALLS = 8


class Shape(ctypes.Structure):
    _fields_ = [
        ("element_type", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("minor_to_major", ctypes.POINTER(ctypes.c_int64)),
        ("bytes", ctypes.c_size_t),
    ]


def forward(text):
    """The module with the image as its first parameter and the predictions as its only result; the weights' shapes."""
    lines = text.split("\n")
    entry = next(i for i, line in enumerate(lines) if line.startswith("ENTRY"))
    lines[0], lines[entry] = "HloModule resnet50", f"ENTRY {lines[entry].split()[1]} {{"
    numbered = re.compile(r"(  %\S+ = f32\[([\d,]*)\]\S* parameter\()(\d+)(.*)")
    found = {i: m for i in range(entry, len(lines)) if (m := numbered.match(lines[i]))}
    last = max(int(m[3]) for m in found.values())
    shapes = {}
    for i, m in found.items():
        number = (int(m[3]) + 1) % (last + 1)
        shapes[number] = [int(size) for size in m[2].split(",")]
        lines[i] = f"{m[1]}{number}{m[4]}"
    root = max(i for i, line in enumerate(lines) if line.startswith("  ROOT"))
    first = re.search(r" tuple\(([^,]*),", lines[root])[1].split()[-1]
    lines[root] = f"  ROOT %result = f32[1,1000] copy({first})"
    return "\n".join(lines), [shapes[n] for n in range(last + 1)]


def worker(way, library, program, weights):
    """One process: prints its times in milliseconds."""

    used = []  # of each of what is timed: processor milliseconds, and pages

    def timed(function):
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        result, took = function(), 1e3 * (time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_SELF)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        used.append((1e3 * processor, after.ru_minflt - before.ru_minflt))
        return result, took

    def read(count):
        return [np.load(f"{weights}/{i}.npy") for i in range(count)]

    if way == "Python":
        sys.path.insert(0, library)
        import xla

        loaded, load_ms = timed(lambda: xla.load(program))
        arrays, read_ms = timed(lambda: read(len(loaded.inputs)))
        call = lambda: loaded(*arrays)
    else:
        library = ctypes.CDLL(library)
        for name in ("xc_executable_num_inputs", "xc_executable_output"):
            getattr(library, name).restype = ctypes.c_size_t if "num" in name else Shape
        executable = ctypes.c_void_p()
        status, load_ms = timed(lambda: library.xc_load_program(program.encode(), ctypes.byref(executable)))
        assert not status
        count = library.xc_executable_num_inputs(executable)
        arrays, read_ms = timed(lambda: read(count))
        result = np.empty(library.xc_executable_output(executable, ctypes.c_size_t(0)).bytes, np.uint8)
        inputs = (ctypes.c_void_p * count)(*[a.ctypes.data for a in arrays])
        outputs = (ctypes.c_void_p * 1)(result.ctypes.data)
        number, none = ctypes.c_size_t, ctypes.c_int(0)
        run = library.xc_executable_run
        call = lambda: run(executable, inputs, number(count), outputs, number(1), none)
    calls = [timed(call)[1] for _ in range(CALLS)]
    later = statistics.median(calls[1:])
    (load, load_pages), _, (first, first_pages), *rest = used
    processor = load + first - statistics.median(ms for ms, _ in rest)
    beyond = load_ms + calls[0] - later
    print(json.dumps([load_ms, read_ms, calls[0], later, processor, load_pages + first_pages, beyond]))


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(*sys.argv[2:])
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("xla")
    parser.add_argument("--runtime")
    parser.add_argument("--package")
    parser.add_argument("--processes", type=int, default=9)
    options = parser.parse_args()
    data = pathlib.Path(os.environ.get("XC_DATA", "../shared/data"))
    with tempfile.TemporaryDirectory() as folder:
        text, shapes = forward((data / MODULE).read_text())
        random = np.random.default_rng(0)
        for n, shape in enumerate(shapes):
            values = random.random(shape, np.float32)
            if len(shape) > 1 and n:
                values = (values - np.float32(0.5)) * np.float32(12**0.5 * np.prod(shape[:-1]) ** -0.5)
            np.save(f"{folder}/{n}.npy", values)
        for name, flags in (("parameters", []), ("in the file", [f"--constants={folder}/weights"])):
            if flags:  # all but the image
                os.mkdir(f"{folder}/weights")
                for n in range(1, len(shapes)):
                    os.link(f"{folder}/{n}.npy", f"{folder}/weights/{n}.npy")
            pathlib.Path(f"{folder}/m.hlo").write_text(text)
            subprocess.run(
                [options.xla, "compile", f"{folder}/m.hlo", "-o", f"{folder}/{name}.xcp", *flags], check=True
            )
        columns = "load ms | read ms | first call ms | later calls ms | beyond, processor ms | pages"
        print(f"| from | weights | {columns} | beyond ms (from, to) |")
        print("|---|---|---|---|---|---|---|---|---|")
        ways = [("C", options.runtime), ("Python", options.package)]
        rows = [(way, library, name) for way, library in ways if library for name in ("in the file", "parameters")]
        samples = {row: [] for row in rows}
        for _ in range(options.processes):
            for way, library, name in rows:  # in turns
                program = f"{folder}/{name}.xcp"
                pathlib.Path(program).read_bytes()
                command = [sys.executable, __file__, "--worker", way, os.path.abspath(library), program, folder]
                # A thread of NumPy's products would keep a processor busy for a while after the import.
                env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
                done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
                samples[way, library, name].append(json.loads(done.stdout))
        for (way, _, name), rows in samples.items():
            middle = [f"{statistics.median(column):.1f}" for column in zip(*rows)]
            beyond = sorted(row[-1] for row in rows)
            print(f"| {way} | {name} | {' | '.join(middle)} ({beyond[0]:.1f}, {beyond[-1]:.1f}) |")


if __name__ == "__main__":
    main()
