"""The models of benchmarks/tensorflow.py: each gives a function to call and the arguments for each of its shapes."""

import json
import pathlib

import numpy as np
import tensorflow as tf

layers = tf.keras.layers


def _normal(*shape):
    return tf.constant(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def _tokens(limit, *shape):
    return tf.constant(np.random.default_rng(0).integers(0, limit, shape), tf.int32)


def _block(h, heads, causal=False):
    width = h.shape[-1]
    a = layers.MultiHeadAttention(heads, width // heads)(h, h, use_causal_mask=causal)
    h = layers.LayerNormalization()(h + a)
    f = layers.Dense(width)(layers.Dense(4 * width, "gelu")(h))
    return layers.LayerNormalization()(h + f)


def _transformer(width, depth, causal):
    tokens = tf.keras.Input((None,), dtype="int32")
    h = layers.Embedding(1000, width)(tokens)
    for _ in range(depth):
        h = _block(h, 4, causal)
    return tf.keras.Model(tokens, layers.Dense(1000)(h))


def _convnet():
    model = tf.keras.Sequential()
    for filters in (16, 32, 64):
        model.add(layers.Conv2D(filters, 3, padding="same", use_bias=False))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())
        model.add(layers.MaxPool2D())
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(10))
    return model


def _unet():
    image = tf.keras.Input((32, 32, 3))
    a = layers.Conv2D(16, 3, padding="same", activation="relu")(image)
    b = layers.Conv2D(32, 3, padding="same", activation="relu")(layers.MaxPool2D()(a))
    c = layers.Conv2D(64, 3, padding="same", activation="relu")(layers.MaxPool2D()(b))
    u = layers.Concatenate()([layers.UpSampling2D()(c), b])
    u = layers.Conv2D(32, 3, padding="same", activation="relu")(u)
    u = layers.Concatenate()([layers.UpSampling2D()(u), a])
    return tf.keras.Model(image, layers.Conv2D(1, 1)(u))


def _dlrm():
    dense, sparse = tf.keras.Input((13,)), tf.keras.Input((8,), dtype="int32")
    bottom = layers.Dense(16, "relu")(layers.Dense(64, "relu")(dense))
    table = layers.Embedding(1000, 16)(sparse)
    features = layers.Concatenate(axis=1)([layers.Reshape((1, 16))(bottom), table])
    products = layers.Flatten()(layers.Dot(axes=2)([features, features]))
    top = layers.Dense(1, "sigmoid")(layers.Dense(64, "relu")(layers.Concatenate()([bottom, products])))
    return tf.keras.Model([dense, sparse], top)


def _inference(model):
    return lambda *args: model(list(args) if len(args) > 1 else args[0], training=False)


def _training(model, loss):
    optimizer = tf.keras.optimizers.SGD(1e-3, momentum=0.9)

    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return value

    return step


def _mlp():
    return tf.keras.Sequential([layers.Dense(256, "relu"), layers.Dense(256, "relu"), layers.Dense(10)])


def _crossentropy():
    return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


MODELS = {
    "mlp": lambda: (_inference(_mlp()), [[_normal(n, 784)] for n in (1, 32)]),
    "convnet": lambda: (_inference(_convnet()), [[_normal(n, 32, 32, 3)] for n in (1, 8)]),
    "mobilenet_v2": lambda: (
        _inference(tf.keras.applications.MobileNetV2((96, 96, 3), weights=None)),
        [[_normal(n, 96, 96, 3)] for n in (1, 4)],
    ),
    "unet": lambda: (_inference(_unet()), [[_normal(n, 32, 32, 3)] for n in (1, 4)]),
    "encoder": lambda: (_inference(_transformer(64, 2, False)), [[_tokens(1000, n, t)] for n, t in ((1, 7), (2, 16))]),
    "decoder": lambda: (_inference(_transformer(128, 2, True)), [[_tokens(1000, n, t)] for n, t in ((1, 32), (4, 24))]),
    "lstm": lambda: (
        _inference(tf.keras.Sequential([layers.LSTM(32), layers.Dense(4)])),
        [[_normal(n, t, 16)] for n, t in ((2, 5), (3, 20))],
    ),
    "gru": lambda: (
        _inference(tf.keras.Sequential([layers.GRU(32), layers.Dense(4)])),
        [[_normal(n, t, 16)] for n, t in ((2, 5), (3, 20))],
    ),
    "dlrm": lambda: (_inference(_dlrm()), [[_normal(n, 13), _tokens(1000, n, 8)] for n in (1, 64)]),
    "mlp_train": lambda: (
        _training(_mlp(), _crossentropy()),
        [[_normal(n, 784), _tokens(10, n)] for n in (8, 64)],
    ),
    "convnet_train": lambda: (
        _training(_convnet(), _crossentropy()),
        [[_normal(n, 32, 32, 3), _tokens(10, n)] for n in (4, 16)],
    ),
    "encoder_train": lambda: (
        _training(_transformer(64, 2, False), _crossentropy()),
        [[_tokens(1000, n, 16), _tokens(1000, n, 16)] for n in (2, 8)],
    ),
}


def load(name):
    """The function of a model of MODELS, or of a folder with graph.pb and meta.json, and its lists of arguments."""
    if name in MODELS:
        tf.keras.utils.set_random_seed(0)
        return MODELS[name]()
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
