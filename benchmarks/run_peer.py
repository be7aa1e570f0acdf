"""Runs one HLO module through XLA's CPU backend (jaxlib) under the conditions that `xla replay` times under, and prints
one JSON line: compile_s, run_ms (the best run), median_ms, runs, faults (page faults of a run), temp_bytes, rss_mb.

GLIBC_TUNABLES=glibc.malloc.arena_max=1 .venv-peers/bin/python benchmarks/run_peer.py FILE [--seconds=0.3] [--runs=20000] [--output_dir=DIR] [--inputs=DIR]

FILE: HLO text, or a binary HloModuleProto. The conditions: inputs and outputs lie in memory that was touched before, in
huge pages from 4 MiB on; a run before the first timed one. XLA takes new memory for outputs and temporaries in each
run; where that came fresh from the kernel, a run would wait for tens of thousands of page faults. So once the peak
memory is known, malloc is told to give nothing back, and a heap of huge pages is touched for it. Compilation, and the
run whose peak is taken, come before that.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import resource
import statistics
import sys
import time

import inputs
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
import jaxlib.xla_client as xla_client
from jaxlib import _hlo, lapack

M_TRIM_THRESHOLD, M_MMAP_MAX, MADV_HUGEPAGE = -1, -4, 14
HUGE = 2 << 20


def without_attribute(header, key):
    """The module line without `key={…}`: a program whose inputs are donated could be run only once."""
    found = re.search(rf", {key}={{", header)
    if not found:
        return header
    depth, end = 0, found.end() - 1
    while True:
        depth += {"{": 1, "}": -1}.get(header[end], 0)
        end += 1
        if depth == 0:
            return header[: found.start()] + header[end:]


def read_proto(path):
    data = pathlib.Path(path).read_bytes()
    if re.search(rb"[\0-\x08]", data):
        return data
    header, _, body = data.decode().partition("\n")
    for key in ("input_output_alias", "buffer_donor"):
        header = without_attribute(header, key)
    return _hlo.hlo_module_from_text(header + "\n" + body).as_serialized_hlo_module_proto()


def keep_memory(size):
    """From now on malloc reuses what was freed, beginning with touched bytes in huge pages: enough for what runs take,
    `size` each, while earlier ones' is not all free or not in one piece; none where that would be half of the memory.
    """
    size = min(4 * size, size + (1 << 30)) + (64 << 20)
    if size > os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2:
        return None
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.mallopt(M_MMAP_MAX, 0)
    libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
    block = libc.malloc(size + 2 * HUGE)
    if block is None:
        raise MemoryError(f"no memory for {size} bytes that the runs reuse")
    start = -(-block // HUGE) * HUGE
    libc.madvise(start, size // HUGE * HUGE, MADV_HUGEPAGE)
    ctypes.memset(block, 0, size + 2 * HUGE)
    guard = libc.malloc(64)  # behind the block, so that it stays when it is free
    libc.free(block)
    return guard


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hlo")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--runs", type=int, default=20000)
    parser.add_argument("--inputs", help="directory with 0.npy, 1.npy, …")
    parser.add_argument("--output_dir")
    opt = parser.parse_args()
    lapack._lapack.initialize()
    device = jax.devices("cpu")[0]
    proto = read_proto(opt.hlo)
    stablehlo = xla_client._xla.mlir.hlo_to_stablehlo(proto)
    start = time.perf_counter()
    executable = device.client.compile_and_load(stablehlo, [device])
    compile_s = time.perf_counter() - start
    del stablehlo
    stats = executable.get_compiled_memory_stats()
    arguments = []
    for p, s in enumerate(xla_client.XlaComputation(proto).program_shape().parameter_shapes()):
        value = inputs.make(p, s.dimensions(), s.numpy_dtype())
        if opt.inputs:
            value[...] = np.load(pathlib.Path(opt.inputs) / f"{p}.npy")
        arguments.append(jax.device_put(value, device))

    def run():
        start = time.perf_counter()
        outputs = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        for out in outputs:
            out[0].block_until_ready()
        return time.perf_counter() - start, outputs

    first, outputs = run()
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if opt.output_dir:
        os.makedirs(opt.output_dir, exist_ok=True)
        for i, out in enumerate(outputs):
            value = np.asarray(out[0])
            np.save(pathlib.Path(opt.output_dir) / f"{i}.npy", value.astype("f4") if value.dtype.kind == "V" else value)
    del outputs
    guard = keep_memory(stats.output_size_in_bytes + stats.temp_size_in_bytes)
    if first < 1:
        run()
    times, faults, begin = [], [], time.perf_counter()
    while not times or (time.perf_counter() - begin < opt.seconds and len(times) < opt.runs):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        times.append(run()[0])
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    print(
        json.dumps(
            dict(
                compile_s=compile_s,
                first_ms=first * 1e3,
                run_ms=min(times) * 1e3,
                median_ms=statistics.median(times) * 1e3,
                runs=len(times),
                faults=statistics.median_low(faults),
                temp_bytes=stats.temp_size_in_bytes,
                rss_mb=rss_mb,
            )
        )
    )
    del guard


if __name__ == "__main__":
    main()
