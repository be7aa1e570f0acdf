"""Runs one HLO file through XLA's CPU backend (jaxlib) and prints one JSON line: compile_s, run_ms, temp_bytes, rss_mb.

.venv-peers/bin/python benchmarks/run_peer.py FILE.hlo [--seconds=1]
"""

import argparse
import json
import os
import pathlib
import re
import resource
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("XC_DATA") or ROOT.parent / "shared" / "data")
sys.path.insert(0, str(DATA.parent / "tools"))

import hlo_inputs
import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
import jaxlib.xla_client as xla_client
from jaxlib import _hlo, lapack


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hlo")
    parser.add_argument("--seconds", type=float, default=1.0)
    opt = parser.parse_args()
    lapack._lapack.initialize()
    device = jax.devices("cpu")[0]
    header, _, body = open(opt.hlo).read().partition("\n")
    for key in ("input_output_alias", "buffer_donor"):
        header = without_attribute(header, key)
    proto = _hlo.hlo_module_from_text(header + "\n" + body).as_serialized_hlo_module_proto()
    stablehlo = xla_client._xla.mlir.hlo_to_stablehlo(proto)
    start = time.perf_counter()
    executable = device.client.compile_and_load(stablehlo, [device])
    compile_s = time.perf_counter() - start
    shapes = xla_client.XlaComputation(proto).program_shape().parameter_shapes()
    arguments = [
        jax.device_put(hlo_inputs.make_input(p, s.dimensions(), s.numpy_dtype()), device) for p, s in enumerate(shapes)
    ]
    times, begin = [], time.perf_counter()
    while not times or (time.perf_counter() - begin < opt.seconds and len(times) < 200):
        start = time.perf_counter()
        for out in executable.execute_sharded(arguments).disassemble_into_single_device_arrays():
            out[0].block_until_ready()
        times.append(time.perf_counter() - start)
    print(
        json.dumps(
            dict(
                compile_s=compile_s,
                run_ms=min(times) * 1e3,
                temp_bytes=executable.get_compiled_memory_stats().temp_size_in_bytes,
                rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            )
        )
    )


main()
