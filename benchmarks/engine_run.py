"""Runs one model of engine_models.py in one engine and prints one JSON line: run_ms (the best run), median_ms, runs,
ready_s (from reading the file to the first result), error (largest difference, over the largest expected value), version.

usage: engine_run.py tensorflow|plugin|onnxruntime|openvino FOLDER [--seconds=0.5] [--plugin=LIB.so]

All engines: f32, one call at a time, as many threads as there are processors, threads not pinned, the same input.
tensorflow and plugin need the Python of .venv-peers, the others that of .venv-engines.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import measure
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
THREADS = len(os.sched_getaffinity(0))


def tensorflow(folder, options):
    import tensorflow as tf

    if options.engine == "plugin":
        from tensorflow.python.framework import load_library

        load_library.load_pluggable_device_library(options.plugin)
    x = tf.constant(np.load(folder / "x.npy"))
    start = time.perf_counter()
    graph = tf.compat.v1.GraphDef.FromString((folder / "graph.pb").read_bytes())
    pruned = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), []).prune("x:0", "y:0")
    function = tf.function(lambda x: pruned(x), input_signature=[tf.TensorSpec(x.shape, x.dtype)])
    return start, lambda: np.asarray(function(x)), tf.__version__


def onnxruntime(folder, options):
    import engine_models
    import onnxruntime as ort

    x = engine_models.channels_first(np.load(folder / "x.npy"))
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = THREADS
    settings.inter_op_num_threads = 1
    start = time.perf_counter()
    session = ort.InferenceSession(str(folder / "model.onnx"), settings, providers=["CPUExecutionProvider"])
    return start, lambda: session.run(None, {"x": x})[0], ort.__version__


def openvino(folder, options):
    import engine_models
    import openvino as ov

    x = engine_models.channels_first(np.load(folder / "x.npy"))
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": THREADS,
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
        "NUM_STREAMS": 1,
    }
    start = time.perf_counter()
    core = ov.Core()
    request = core.compile_model(core.read_model(folder / "model.onnx"), "CPU", settings).create_infer_request()
    shared = ov.Tensor(x, shared_memory=True)

    def run(x=x):
        request.set_input_tensor(shared)  # which also keeps it alive
        request.infer()
        return request.get_output_tensor(0).data

    return start, run, ov.__version__


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["tensorflow", "plugin", "onnxruntime", "openvino"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--plugin")
    options = parser.parse_args()
    make = globals()["tensorflow" if options.engine == "plugin" else options.engine]
    # tensorflow.py in this folder is not the package.
    if make is tensorflow:
        sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
    start, run, version = make(options.folder, options)
    run()
    ready = time.perf_counter() - start
    # Then what compiles in the background is waited for, the memory is touched and the threads are awake; the result that
    # is compared is that of the code which is timed.
    for _ in range(8):
        run()
    if options.engine == "plugin":
        plugin = measure.plugin_tools()
        plugin.wait(300)
        before = plugin.stats().launches
    got = run()
    if options.engine == "plugin" and plugin.stats().launches == before:
        sys.exit(f"Failure: the plugin compiled nothing: {plugin.stats()}")
    want = np.load(options.folder / "expected.npy")
    error = float(np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()) if got.shape == want.shape else None
    times, begin = [], time.perf_counter()
    while not times or time.perf_counter() - begin < options.seconds:
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    print(
        json.dumps(
            dict(
                run_ms=min(times) * 1e3,
                median_ms=statistics.median(times) * 1e3,
                runs=len(times),
                ready_s=ready,
                error=error,
                version=version,
            )
        )
    )


if __name__ == "__main__":
    main()
