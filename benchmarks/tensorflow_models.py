"""Models for TensorFlow that tests/tensorflow_keras.py trains and benchmarks/tensorflow.py times, with random weights.
SMALL ones are quick to trace; LARGE ones have the sizes that people use."""

import dataclasses
from typing import Callable

import numpy as np
import tensorflow as tf

layers = tf.keras.layers


@dataclasses.dataclass(frozen=True)
class Model:
    family: str  # dense, convolution, transformer, recurrent or recommender
    make: Callable[[], tf.keras.Model]
    batch: Callable  # inputs (a tuple of arrays) and labels for one of `shapes`
    shapes: list  # the first dimension is the batch
    loss: str = "sparse_categorical_crossentropy"
    policy: str = "float32"  # or mixed_bfloat16

    def build(self):
        tf.keras.utils.set_random_seed(1)
        tf.keras.mixed_precision.set_global_policy(self.policy)
        try:
            return self.make()
        finally:
            tf.keras.mixed_precision.set_global_policy("float32")

    def loss_function(self):
        if self.loss == "sparse_categorical_crossentropy":
            return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        return tf.keras.losses.get(self.loss)


def _rng(shape):
    return np.random.default_rng(sum(shape))


def _floats(classes, regression=False):
    def batch(*shape):
        rng = _rng(shape)
        x = rng.normal(size=shape).astype(np.float32)
        return (x,), (
            rng.normal(size=(shape[0], classes)).astype(np.float32)
            if regression
            else rng.integers(0, classes, shape[0]).astype(np.int32)
        )

    return batch


def _masks(*shape):
    rng = _rng(shape)
    return (rng.normal(size=shape).astype(np.float32),), rng.integers(0, 2, shape[:3] + (1,)).astype(np.float32)


def _tokens(limit):
    def batch(*shape):
        text = _rng(shape).integers(0, limit, (shape[0], shape[1] + 1)).astype(np.int32)
        return (text[:, :-1],), text[:, 1:]

    return batch


def _clicks(tables, rows):
    def batch(n):
        rng = _rng((n, tables))
        dense = rng.normal(size=(n, 13)).astype(np.float32)
        return (dense, rng.integers(0, rows, (n, tables)).astype(np.int32)), rng.integers(0, 2, (n, 1)).astype(
            np.float32
        )

    return batch


def _mlp(width=256):
    return lambda: tf.keras.Sequential(
        [layers.Dense(width, "relu"), layers.Dropout(0.1), layers.Dense(width, "relu"), layers.Dense(10)]
    )


def _normed(x, filters, size, stride=1, activation="relu", depthwise=False):
    if depthwise:
        x = layers.DepthwiseConv2D(size, strides=stride, padding="same", use_bias=False)(x)
    else:
        x = layers.Conv2D(filters, size, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def _classifier(image, x):
    return tf.keras.Model(image, layers.Dense(10, dtype="float32")(layers.GlobalAveragePooling2D()(x)))


def _residual():
    """The blocks of a ResNet."""
    image = tf.keras.Input((None, None, 3))
    x = layers.MaxPool2D(3, 2, "same")(_normed(image, 16, 7, 2))
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        y = _normed(x, filters, 1, stride)
        y = _normed(_normed(y, filters, 3), 4 * filters, 1, activation=None)
        x = layers.ReLU()(layers.Add()([_normed(x, 4 * filters, 1, stride, activation=None), y]))
    return _classifier(image, x)


def _inverted(activation, squeeze):
    """The blocks of MobileNetV2, or with `squeeze` those of EfficientNet."""

    def make():
        image = tf.keras.Input((None, None, 3))
        x = _normed(image, 16, 3, 2, activation)
        for filters, stride in ((16, 1), (24, 2), (24, 1)):
            wide = 4 * x.shape[-1]
            y = _normed(_normed(x, wide, 1, 1, activation), wide, 3, stride, activation, depthwise=True)
            if squeeze:
                s = layers.Reshape((1, 1, wide))(layers.GlobalAveragePooling2D()(y))
                s = layers.Conv2D(wide, 1, activation="sigmoid")(layers.Conv2D(4, 1, activation=activation)(s))
                y = layers.Multiply()([y, s])
            y = _normed(y, filters, 1, 1, None)
            x = layers.Add()([x, y]) if x.shape[-1] == filters and stride == 1 else y
        return _classifier(image, x)

    return make


def _unet(width=16, side=None):
    def make():
        image = tf.keras.Input((side, side, 3))

        def block(x, filters):
            return _normed(_normed(x, filters, 3), filters, 3)

        a = block(image, width)
        b = block(layers.MaxPool2D()(a), 2 * width)
        c = block(layers.MaxPool2D()(b), 4 * width)
        u = block(layers.Concatenate()([layers.UpSampling2D()(c), b]), 2 * width)
        u = layers.Conv2DTranspose(width, 2, 2)(u)
        u = block(layers.Concatenate()([u, a]), width)
        return tf.keras.Model(image, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(u))

    return make


def _transformer(width, depth, causal, words=1000, length=None):
    def make():
        tokens = tf.keras.Input((length,), dtype="int32")
        h = layers.Embedding(words, width)(tokens)
        for _ in range(depth):
            a = layers.MultiHeadAttention(4, width // 4)(h, h, use_causal_mask=causal)
            h = layers.LayerNormalization()(h + layers.Dropout(0.1)(a))
            f = layers.Dense(width)(layers.Dense(4 * width, "gelu")(h))
            h = layers.LayerNormalization()(h + layers.Dropout(0.1)(f))
        return tf.keras.Model(tokens, layers.Dense(words, dtype="float32")(h))

    return make


def _recurrent(layer, units, depth=1):
    return lambda: tf.keras.Sequential(
        [layer(units, return_sequences=True) for _ in range(depth - 1)] + [layer(units), layers.Dense(4)]
    )


def _dlrm(tables, rows, width):
    def make():
        dense, sparse = tf.keras.Input((13,)), tf.keras.Input((tables,), dtype="int32")
        bottom = layers.Dense(width, "relu")(layers.Dense(64, "relu")(dense))
        table = layers.Embedding(rows, width)(sparse)
        features = layers.Concatenate(axis=1)([layers.Reshape((1, width))(bottom), table])
        products = layers.Flatten()(layers.Dot(axes=2)([features, features]))
        top = layers.Dense(1, "sigmoid")(layers.Dense(64, "relu")(layers.Concatenate()([bottom, products])))
        return tf.keras.Model([dense, sparse], top)

    return make


SMALL = {
    "mlp": Model("dense", _mlp(), _floats(10), [(1, 784), (32, 784)]),
    "mlp_bf16": Model("dense", _mlp(), _floats(10), [(32, 784)], policy="mixed_bfloat16"),
    "residual": Model("convolution", _residual, _floats(10), [(1, 32, 32, 3), (8, 32, 32, 3)]),
    "residual_bf16": Model("convolution", _residual, _floats(10), [(8, 32, 32, 3)], policy="mixed_bfloat16"),
    "inverted": Model("convolution", _inverted("relu6", False), _floats(10), [(1, 32, 32, 3), (8, 32, 32, 3)]),
    "squeezed": Model("convolution", _inverted("swish", True), _floats(10), [(1, 32, 32, 3), (8, 32, 32, 3)]),
    "unet": Model("convolution", _unet(), _masks, [(1, 32, 32, 3), (4, 32, 32, 3)], loss="binary_crossentropy"),
    "encoder": Model("transformer", _transformer(64, 2, False), _tokens(1000), [(1, 7), (2, 16), (8, 64)]),
    "encoder_bf16": Model(
        "transformer", _transformer(64, 2, False), _tokens(1000), [(2, 16), (8, 64)], policy="mixed_bfloat16"
    ),
    "decoder": Model("transformer", _transformer(128, 2, True), _tokens(1000), [(1, 32), (4, 24)]),
    "lstm": Model("recurrent", _recurrent(layers.LSTM, 32), _floats(4, True), [(2, 5, 16), (3, 20, 16)], loss="mse"),
    "gru": Model("recurrent", _recurrent(layers.GRU, 32), _floats(4, True), [(2, 5, 16), (3, 20, 16)], loss="mse"),
    "dlrm": Model("recommender", _dlrm(8, 1000, 16), _clicks(8, 1000), [(1,), (64,)], loss="binary_crossentropy"),
}

LARGE = {
    "resnet50": Model(
        "convolution",
        lambda: tf.keras.applications.ResNet50(
            weights=None, input_shape=(224, 224, 3), classes=10, classifier_activation=None
        ),
        _floats(10),
        [(1, 224, 224, 3), (4, 224, 224, 3)],
    ),
    "mobilenet_v2": Model(
        "convolution",
        lambda: tf.keras.applications.MobileNetV2(
            weights=None, input_shape=(96, 96, 3), classes=10, classifier_activation=None
        ),
        _floats(10),
        [(1, 96, 96, 3), (4, 96, 96, 3)],
    ),
    "efficientnet_b0": Model(
        "convolution",
        lambda: tf.keras.applications.EfficientNetB0(
            weights=None, input_shape=(128, 128, 3), classes=10, classifier_activation=None
        ),
        _floats(10),
        [(1, 128, 128, 3), (4, 128, 128, 3)],
    ),
    "unet_128": Model("convolution", _unet(16), _masks, [(1, 128, 128, 3), (4, 128, 128, 3)], "binary_crossentropy"),
    "bert": Model("transformer", _transformer(256, 4, False, 8000), _tokens(8000), [(1, 64), (4, 128)]),
    "gpt": Model("transformer", _transformer(256, 4, True, 8000), _tokens(8000), [(1, 64), (4, 128)]),
    "lstm_128": Model(
        "recurrent", _recurrent(layers.LSTM, 128, 2), _floats(4, True), [(1, 50, 64), (16, 50, 64)], "mse"
    ),
    "gru_128": Model("recurrent", _recurrent(layers.GRU, 128, 2), _floats(4, True), [(1, 50, 64), (16, 50, 64)], "mse"),
    "dlrm_26": Model("recommender", _dlrm(26, 10000, 32), _clicks(26, 10000), [(1,), (256,)], "binary_crossentropy"),
}

MODELS = {**SMALL, **LARGE}


def attention_with_cache(width=64, heads=4, depth=2, words=200, length=24):
    """Greedy decoding, token by token, over caches of keys and values: a function of the first tokens."""
    rng = np.random.default_rng(5)

    def weight(*shape):
        return tf.Variable((rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32))

    table, head = weight(words, width), weight(width, words)
    blocks = [
        (weight(width, 3 * width), weight(width, width), weight(width, 4 * width), weight(4 * width, width))
        for _ in range(depth)
    ]

    def norm(h):
        mean, variance = tf.nn.moments(h, -1, keepdims=True)
        return (h - mean) * tf.math.rsqrt(variance + 1e-5)

    def generate(first):
        n = tf.shape(first)[0]
        out = tf.TensorArray(tf.int32, length)
        cache = tf.zeros([depth, 2, n, length, heads, width // heads])
        token = first
        for i in tf.range(length):
            h = tf.gather(table, token)
            layers_of_cache = []
            for k, (qkv, project, up, down) in enumerate(blocks):
                q, key, value = tf.split(tf.reshape(norm(h) @ qkv, [n, 3 * heads, width // heads]), 3, axis=1)
                hot = tf.one_hot(i, length)[None, :, None, None]
                keys = cache[k, 0] * (1 - hot) + key[:, None] * hot
                values = cache[k, 1] * (1 - hot) + value[:, None] * hot
                scores = tf.einsum("nhd,nthd->nht", q, keys) / (width // heads) ** 0.5
                scores = tf.where(tf.range(length)[None, None] <= i, scores, -1e9)
                mixed = tf.einsum("nht,nthd->nhd", tf.nn.softmax(scores), values)
                h += tf.reshape(mixed, [n, width]) @ project
                h += tf.nn.gelu(norm(h) @ up) @ down
                layers_of_cache.append(tf.stack([keys, values]))
            cache = tf.stack(layers_of_cache)
            token = tf.argmax(norm(h) @ head, axis=-1, output_type=tf.int32)
            out = out.write(i, token)
        return tf.transpose(out.stack())

    return generate
