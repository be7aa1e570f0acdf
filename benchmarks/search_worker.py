"""Times cases of search.py on both sides in one process, in pairs: the core library through its C API, XLA through
jaxlib. Reads one JSON request per line (`name`), answers with one JSON line each; search.py starts it.

    .venv-peers/bin/python benchmarks/search_worker.py LIBXC.so CPUS   (CPUS: 0 or 0,1; the process is pinned to them)
    .venv-peers/bin/python benchmarks/search_worker.py --names
"""

import ctypes
import json
import os
import sys
import time

CPUS = [int(c) for c in sys.argv[2].split(",")] if __name__ == "__main__" and len(sys.argv) > 2 else []
if CPUS:
    os.sched_setaffinity(0, CPUS)  # before JAX makes its threads

import jax
import ml_dtypes
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
import jaxlib.xla_client as xla_client
from jaxlib import _hlo, lapack

import run_peer
import search_modules
import search_programs

# Element types by their number in PrimitiveType.
TYPES = {1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16, 8: np.uint32}
TYPES |= {9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64, 15: np.complex64, 16: ml_dtypes.bfloat16}
TYPES |= {18: np.complex128, 19: ml_dtypes.float8_e5m2, 20: ml_dtypes.float8_e4m3fn}
HEAP = 256 << 20  # bytes that malloc keeps for XLA's results and temporaries
EXACT = 0.9  # ratios above it are measured again, exactly
DIFFERENT = 0.01  # from this difference on the interpreter is asked, too
ENOUGH = 0.9  # without a pass at most this part of the time: the pass is a finding


class Shape(ctypes.Structure):
    _fields_ = [("element_type", ctypes.c_int), ("rank", ctypes.c_int), ("dims", ctypes.POINTER(ctypes.c_int64))]
    _fields_ += [("minor_to_major", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_size_t)]


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        for name, result, arguments in (
            ("xc_compile_hlo", pointer, [ctypes.c_char_p, size, ctypes.c_char_p, ctypes.POINTER(pointer)]),
            ("xc_status_message", ctypes.c_char_p, [pointer]),
            ("xc_status_free", None, [pointer]),
            ("xc_executable_free", None, [pointer]),
            ("xc_executable_num_inputs", size, [pointer]),
            ("xc_executable_num_outputs", size, [pointer]),
            ("xc_executable_input", Shape, [pointer, size]),
            ("xc_executable_output", Shape, [pointer, size]),
            ("xc_executable_temp_bytes", size, [pointer]),
            ("xc_executable_text", pointer, [pointer, ctypes.c_char_p]),
            ("xc_string_free", None, [pointer]),
            ("xc_executable_run", pointer, [pointer, pointer, size, pointer, size, ctypes.c_int]),
            ("xc_cache_clear", None, []),
        ):
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    def check(self, status):
        if status:
            message = self.c.xc_status_message(status).decode(errors="replace")
            self.c.xc_status_free(status)
            raise RuntimeError(message)


class Ours:
    """A module compiled by the core library."""

    def __init__(self, library, text, without=None, platform="cpu"):
        self.library, self.c, self.handle = library, library.c, ctypes.c_void_p()
        options = f"platform={platform}\n" + (f"disabled_passes={without}\n" if without else "")
        start = time.perf_counter()
        library.check(self.c.xc_compile_hlo(text, len(text), options.encode(), ctypes.byref(self.handle)))
        self.compile_s = time.perf_counter() - start
        self.c.xc_cache_clear()
        shape = lambda s: (tuple(s.dims[: s.rank]), TYPES.get(s.element_type))
        self.inputs = [
            shape(self.c.xc_executable_input(self.handle, i))
            for i in range(self.c.xc_executable_num_inputs(self.handle))
        ]
        outputs = [
            shape(self.c.xc_executable_output(self.handle, i))
            for i in range(self.c.xc_executable_num_outputs(self.handle))
        ]
        if any(kind is None for _, kind in self.inputs + outputs):
            raise RuntimeError("an array of a type that NumPy has not")
        self.outputs = [aligned(dims, kind) for dims, kind in outputs]
        self.temp_bytes = self.c.xc_executable_temp_bytes(self.handle)
        text = self.c.xc_executable_text(self.handle, b"evaluated")
        self.evaluated = ctypes.string_at(text).decode().splitlines()
        self.c.xc_string_free(text)

    def prepare(self, values):
        self.values = values
        pointers = lambda arrays: (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        call, results = self.c.xc_executable_run, pointers(self.outputs)
        arguments = (self.handle, pointers(values), len(values), results, len(self.outputs), len(CPUS))
        self.library.check(call(*arguments))

        def run():
            start = time.perf_counter()
            call(*arguments)
            return time.perf_counter() - start

        self.run = run

    def __del__(self):
        if self.handle:
            self.c.xc_executable_free(self.handle)


class Theirs:
    """The same module compiled by XLA."""

    def __init__(self, stablehlo):
        self.device = jax.devices("cpu")[0]
        start = time.perf_counter()
        self.executable = self.device.client.compile_and_load(stablehlo, [self.device])
        self.compile_s = time.perf_counter() - start
        self.temp_bytes = self.executable.get_compiled_memory_stats().temp_size_in_bytes

    def prepare(self, values):
        arguments, execute = [jax.device_put(v, self.device) for v in values], self.executable.execute_sharded

        def call():
            outputs = execute(arguments).disassemble_into_single_device_arrays()
            for out in outputs:
                out[0].block_until_ready()
            return outputs

        def run():
            start = time.perf_counter()
            call()
            return time.perf_counter() - start

        self.outputs = [np.asarray(out[0]) for out in call()]
        self.run = run


def aligned(dims, kind):
    size = int(np.prod(dims, dtype=np.int64)) * np.dtype(kind).itemsize
    raw = np.zeros(size + 64, np.uint8)
    return raw[-raw.ctypes.data % 64 :][:size].view(kind).reshape(dims)


def make_inputs(shapes, low, high):
    """Floats between low and high, whole numbers from 0 to 99, on both sides the same in each process."""
    values = []
    for number, (dims, kind) in enumerate(shapes):
        random, kind = np.random.default_rng(number), np.dtype(kind)
        value = aligned(dims, kind)
        if kind.kind == "b":
            value[...] = random.integers(0, 2, dims)
        elif kind.kind in "iu":
            value[...] = random.integers(0, 100, dims)
        elif kind.kind == "c":
            value[...] = random.uniform(low, high, dims) + 1j * random.uniform(low, high, dims)
        else:
            value[...] = random.uniform(low, high, dims).astype(kind)
        values.append(value)
    return values


def largest_difference(ours, theirs):
    """Of the results, relative to the largest element of each; NaN where one side has one and the other has not."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        a, b = a.astype(wide).ravel(), b.astype(wide).ravel()
        with np.errstate(all="ignore"):
            difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
            scale = np.abs(b[np.isfinite(b)]).max(initial=1e-30)
        worst = max(worst, float(difference.max(initial=0) / scale)) if not np.isnan(difference).any() else np.nan
    return worst


def pairs(sides, turns, seconds):
    """Best times of the sides, which take turns: `turns` of them, each `seconds` long or three runs."""
    times = [[] for _ in sides]
    for _ in range(turns):
        for side, found in zip(sides, times):
            side.run()
            best, end, count = side.run(), time.perf_counter() + seconds, 0
            while count < 2 or (time.perf_counter() < end and count < 1000):
                best, count = min(best, side.run()), count + 1
            found.append(best)
        if sum(found[0] for found in times) > 1:
            break
    return times


def stablehlo_of(text):
    proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    return xla_client._xla.mlir.hlo_to_stablehlo(proto)


class Worker:
    def __init__(self, library, cpus):
        self.library = Library(library)
        lapack._lapack.initialize()
        self.heap = run_peer.keep_memory(HEAP)
        self.overhead = None
        row = self.measure("trivial")
        self.overhead = (row["ours_us"], row["xla_us"])

    def measure(self, name):
        case = search_modules.case(name) or search_programs.case(name)
        row = dict(name=name)
        theirs = None
        try:
            theirs = Theirs(case.stablehlo or stablehlo_of(case.text))
        except Exception as error:  # XLA's errors have many types
            row["xla_error"] = str(error).strip().splitlines()[0][:300]
        text = (case.text or case.stablehlo).encode()
        try:
            ours = Ours(self.library, text)
            values = make_inputs(ours.inputs, case.low, case.high)
            ours.prepare(values)
        except RuntimeError as error:
            return row | dict(error=str(error)[:500])
        row |= dict(evaluated=ours.evaluated, ours_temp=ours.temp_bytes, ours_compile_s=ours.compile_s)
        if theirs is None:
            return row
        theirs.prepare(values)
        row |= dict(xla_temp=theirs.temp_bytes, xla_compile_s=theirs.compile_s)
        row["difference"] = largest_difference(ours.outputs, theirs.outputs)
        if not row["difference"] <= DIFFERENT:
            oracle = Ours(self.library, text, platform="interpreter")
            oracle.prepare(values)
            row["ours_to_interpreter"] = largest_difference(ours.outputs, oracle.outputs)
            row["xla_to_interpreter"] = largest_difference(theirs.outputs, oracle.outputs)
        self.compare(row, ours, theirs, turns=3, seconds=0.01)
        if self.overhead and row["ratio"] is not None and row["ratio"] > EXACT:
            self.compare(row, ours, theirs, turns=9, seconds=0.03)
            row["exact"] = True
        return row

    def compare(self, row, ours, theirs, turns, seconds):
        times = pairs((ours, theirs), turns, seconds)
        best = [min(found) * 1e6 for found in times]
        row |= dict(ours_us=best[0], xla_us=best[1], ratio=None)
        if self.overhead:
            floor = self.overhead
            net = [b - f for b, f in zip(best, floor)]
            # What takes as long as a call says nothing.
            if max(net[0] / floor[0], net[1] / floor[1]) > 1 and net[0] > 1:
                ratios = sorted((a * 1e6 - floor[0]) / max(b * 1e6 - floor[1], 0.5) for a, b in zip(*times))
                row["ratio"] = min(ratios[len(ratios) // 2], net[0] / max(net[1], 0.5))

    def without_passes(self, name, passes):
        """Our time without each of the passes over that with all: {pass: ratio} of those below ENOUGH."""
        case = search_modules.case(name) or search_programs.case(name)
        text = (case.text or case.stablehlo).encode()
        base = Ours(self.library, text)
        values = make_inputs(base.inputs, case.low, case.high)
        base.prepare(values)
        found = {}
        for one in passes:
            try:
                other = Ours(self.library, text, one)
                other.prepare(values)
            except RuntimeError:
                continue  # a pass that the module cannot do without
            times = pairs((base, other), 3, 0.005)
            if min(times[1]) < ENOUGH * min(times[0]):
                times = pairs((base, other), 7, 0.02)
                if (ratio := min(times[1]) / min(times[0])) < ENOUGH:
                    found[one] = ratio
        return dict(name=name, without=found)


def main():
    if sys.argv[1:] == ["--names"]:
        print("\n".join([*search_modules.makers(), *search_programs.programs()]))
        return
    worker = Worker(sys.argv[1], CPUS)
    print(json.dumps(dict(ready=True, overhead=worker.overhead)), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request.get("passes"):
                answer = worker.without_passes(request["name"], request["passes"])
            else:
                answer = worker.measure(request["name"])
        except Exception as error:
            answer = dict(name=request["name"], error=f"{type(error).__name__}: {error}"[:500])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
