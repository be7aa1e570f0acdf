"""Writes small_graph: a frozen TensorFlow graph with inputs and expected outputs, as `xla graph` reads them.

Two dense layers and a softmax, then the distinct winners of the batch (Unique, whose output shape depends on values: the
host's work), and a summary of the scores. Needs the tensorflow-cpu wheel; run it as: python examples/make_small_graph.py
"""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FEATURES, HIDDEN, CLASSES = 16, 32, 8
BATCHES = [4, 32]


def make_function():
    rng = np.random.default_rng(7)
    w0 = tf.constant(rng.normal(0, 0.3, (FEATURES, HIDDEN)).astype(np.float32))
    b0 = tf.constant(rng.normal(0, 0.1, HIDDEN).astype(np.float32))
    w1 = tf.constant(rng.normal(0, 0.3, (HIDDEN, CLASSES)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, FEATURES], tf.float32, name="x")])
    def model(x):
        h = tf.nn.relu(tf.matmul(x, w0) + b0)
        scores = tf.nn.softmax(tf.matmul(h, w1))
        winners, _ = tf.unique(tf.argmax(scores, axis=1, output_type=tf.int32))
        summary = tf.tanh(tf.reduce_mean(scores, axis=0) * 2.0 - 1.0)
        return scores, winners, summary

    return model


def main():
    folder = pathlib.Path(__file__).resolve().parent / "small_graph"
    folder.mkdir(exist_ok=True)
    frozen = convert_variables_to_constants_v2(make_function().get_concrete_function())
    graph = frozen.graph.as_graph_def()
    (folder / "graph.pb").write_bytes(graph.SerializeToString(deterministic=True))
    meta = {
        "name": "small_graph",
        "note": "dense layers and a softmax that compile, and a Unique that stays on the host",
        "inputs": [{"tensor": "x:0", "dtype": "float32", "shape": [None, FEATURES]}],
        "outputs": [{"tensor": t.name, "dtype": t.dtype.name} for t in frozen.outputs],
        "cases": [[[batch, FEATURES]] for batch in BATCHES],
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")
    rng = np.random.default_rng(11)
    for number, batch in enumerate(BATCHES):
        case = folder / f"case{number}"
        case.mkdir(exist_ok=True)
        x = rng.normal(size=(batch, FEATURES)).astype(np.float32)
        np.save(case / "input_0.npy", x)
        for index, value in enumerate(frozen(tf.constant(x))):
            np.save(case / f"expected_{index}.npy", value.numpy())


if __name__ == "__main__":
    main()
