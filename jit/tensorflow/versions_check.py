"""The plugin's wheel with other TensorFlows than the pinned one: a shorter list of checks, each beside TensorFlow alone.

usage: versions_check.py PLUGIN.whl PYTHON…   (PYTHON: of an environment with a TensorFlow and what it needs)
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

CHECKS = {
    "tensorflow_plugin.py": [
        "small_functions",
        "shapes_that_change",
        "branches_of_different_shapes",
        "variables_that_change",
        "functions_of_the_library",
        "results_beside_an_op_that_may_fail",
        "around_a_loop_of_the_host",
        "in_the_background",
        "in_the_thread_that_calls",
        "threads_and_shapes",
        "settings_and_report",
    ],
    "tensorflow_errors.py": ["errors_of_ops"],
    "tensorflow_loops.py": ["decoder_with_a_growing_cache", "beam_search"],
    "tensorflow_training.py": [
        "train_mlp",
        "train_convnet",
        "train_transformer",
        "train_lstm",
        "keras_fit_and_predict",
    ],
    "tensorflow_v1.py": ["v1_session", "v1_training"],
}
VERSION = "import tensorflow as tf; print(tf.__version__)"


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    settings = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    settings["XC_DECODERS"] = str(root / "benchmarks" / "tensorflow_decoders.py")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(sys.argv[1]) as wheel:
            wheel.extractall(folder)
        plugin = f"{folder}/tensorflow-plugins/xc_tensorflow.so"
        for python in sys.argv[2:]:
            asked = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, env=settings, check=True)
            version = asked.stdout.strip()
            for script, names in CHECKS.items():
                started = time.time()
                command = [python, root / "tests" / script, plugin, f"{folder}/xla_tensorflow/__init__.py", *names]
                done = subprocess.run(command, capture_output=True, text=True, env=settings)
                failed |= done.returncode != 0
                how = f"{len(names)} passed" if done.returncode == 0 else f"failed\n{done.stdout}{done.stderr[-4000:]}"
                print(f"TensorFlow {version}, {script}: {how} ({time.time() - started:.0f} s)", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
