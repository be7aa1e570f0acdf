"""The programs that tensorflow.py times, by name: the models of tensorflow_models.py and training steps of them, the decoders of
tensorflow_decoders.py, and graphs from folders."""

import json
import pathlib

import numpy as np
import tensorflow as tf
import tensorflow_models as models
from tensorflow_decoders import DECODERS


def _training(model, loss):
    optimizer = tf.keras.optimizers.Adam(1e-4)

    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return value

    return step


def _model_of(name):
    base = name.removesuffix("_train")
    return models.MODELS[base], base != name


def family(name):
    if name == "decode":
        return "transformer"
    if name.startswith("decode_"):
        return "decoder"
    if name.removesuffix("_train") not in models.MODELS:
        return "graph"
    model, train = _model_of(name)
    return "training" if train else model.family


def names(large):
    """The names that load() knows: of inference, and of training steps."""
    decoders = [f"decode_{name}" for name in DECODERS]
    inference = list(models.SMALL) + ["decode", *decoders] + (list(models.LARGE) if large else [])
    training = ["mlp", "residual", "unet", "encoder", "lstm", "dlrm"] + (
        ["mobilenet_v2", "bert", "lstm_128"] if large else []
    )
    return inference + [f"{name}_train" for name in training]


def of_sizes(name, sizes):
    """A model\'s arguments with these first dimensions; the others are those of its last shape."""
    model, _ = _model_of(name)
    return [[tf.constant(a) for a in model.batch(*size, *model.shapes[-1][len(size) :])[0]] for size in sizes]


def load(name):
    """The function of a model (with _train: a training step), or of a folder with graph.pb and meta.json, and its
    lists of arguments."""
    if name == "decode":
        return models.attention_with_cache(), [[tf.constant(range(n))] for n in (1, 4)]
    if name.startswith("decode_"):
        return DECODERS[name.removeprefix("decode_")](256, 32), [[tf.constant(range(n))] for n in (1, 4)]
    if name.removesuffix("_train") in models.MODELS:
        model, train = _model_of(name)
        batches = [model.batch(*shape) for shape in model.shapes]
        if train:
            step = _training(model.build(), model.loss_function())
            return step, [[tuple(map(tf.constant, x)) if len(x) > 1 else tf.constant(x[0]), y] for x, y in batches[-1:]]
        built = model.build()
        return (
            lambda *args: built(list(args) if len(args) > 1 else args[0], training=False),
            [[tf.constant(a) for a in x] for x, _ in batches],
        )
    folder = pathlib.Path(name)
    meta = json.loads((folder / "meta.json").read_text())
    graph = tf.compat.v1.GraphDef.FromString((folder / "graph.pb").read_bytes())
    pruned = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), []).prune(
        [i["tensor"] for i in meta["inputs"]], [o["tensor"] for o in meta["outputs"]]
    )
    cases = [
        [tf.constant(np.load(folder / f"case{case}" / f"input_{i}.npy")) for i in range(len(meta["inputs"]))]
        for case in range(len(meta["cases"]))
    ]
    return (lambda *args: pruned(*args)), cases
