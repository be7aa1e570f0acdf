"""Decoders whose state changes its shape from iteration to iteration, with random weights: functions of the first tokens.
tests/tensorflow_loops.py and tests/tf_graphs run them, benchmarks/tensorflow.py times them."""

import numpy as np
import tensorflow as tf

WORDS = 200
HEADS = 4


class Weights:
    """Matrices from one sequence of random numbers."""

    def __init__(self, width):
        self.rng = np.random.default_rng(7)
        self.width = width

    def __call__(self, *shape):
        return tf.constant((self.rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32))

    def block(self):
        w = self.width
        return {k: self(w, w) for k in "qkvo"} | {"up": self(w, 4 * w), "down": self(4 * w, w)}


def norm(x):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)


def split_heads(x):
    n, t, width = tf.shape(x)[0], tf.shape(x)[1], x.shape[-1]
    return tf.transpose(tf.reshape(x, [n, t, HEADS, width // HEADS]), [0, 2, 1, 3])


def attention(q, keys, values):
    scores = tf.nn.softmax(tf.matmul(q, keys, transpose_b=True) / q.shape[-1] ** 0.5)
    mixed = tf.transpose(tf.matmul(scores, values), [0, 2, 1, 3])
    n, t = tf.shape(mixed)[0], tf.shape(mixed)[1]
    return tf.reshape(mixed, [n, t, HEADS * q.shape[-1]])


def feed_forward(x, block):
    return x + tf.nn.gelu(norm(x) @ block["up"]) @ block["down"]


def choice(logits):
    return tf.argmax(logits, -1, output_type=tf.int32)


def cache(width, iterations, depth=2):
    """A transformer that adds a row to its caches of keys and values in each iteration."""
    w = Weights(width)
    table, places, head, blocks = (
        w(WORDS, width),
        w(iterations, width),
        w(width, WORDS),
        [w.block() for _ in range(depth)],
    )

    def generate(first):
        empty = tf.zeros([tf.shape(first)[0], HEADS, 0, width // HEADS])
        grows = tf.TensorShape([None, HEADS, None, width // HEADS])

        def step(i, token, tokens, keys, values):
            x = tf.gather(table, token)[:, None] + places[i]
            keys, values = list(keys), list(values)
            for k, block in enumerate(blocks):
                h = norm(x)
                keys[k] = tf.concat([keys[k], split_heads(h @ block["k"])], 2)
                values[k] = tf.concat([values[k], split_heads(h @ block["v"])], 2)
                x += attention(split_heads(h @ block["q"]), keys[k], values[k]) @ block["o"]
                x = feed_forward(x, block)
            token = choice(norm(x)[:, 0] @ head)
            return i + 1, token, tf.concat([tokens, token[:, None]], 1), keys, values

        shapes = tf.TensorShape([]), tf.TensorShape([None]), tf.TensorShape([None, None])
        start = 0, first, first[:, None], [empty] * depth, [empty] * depth
        invariants = *shapes, [grows] * depth, [grows] * depth
        _, _, tokens, keys, _ = tf.while_loop(lambda i, *_: i < iterations, step, start, shape_invariants=invariants)
        return tokens, tf.reduce_sum(keys[0], [1, 2])

    return generate


def whole_sequence(width, iterations):
    """A transformer that looks at all tokens again in each iteration."""
    w = Weights(width)
    table, places, head, block = w(WORDS, width), w(iterations, width), w(width, WORDS), w.block()

    def generate(first):
        def step(i, tokens):
            x = tf.gather(table, tokens) + places[: tf.shape(tokens)[1]]
            h = norm(x)
            x += attention(*(split_heads(h @ block[k]) for k in "qkv")) @ block["o"]
            token = choice(norm(feed_forward(x, block))[:, -1] @ head)
            return i + 1, tf.concat([tokens, token[:, None]], 1)

        invariants = tf.TensorShape([]), tf.TensorShape([None, None])
        return tf.while_loop(lambda i, _: i < iterations, step, (0, first[:, None]), shape_invariants=invariants)[1]

    return generate


def gru(w, width):
    inner, outer = w(width, 3 * width), w(width, 3 * width)

    def cell(x, h):
        z, r, c = tf.split(x @ outer, 3, -1)
        hz, hr, hc = tf.split(h @ inner, 3, -1)
        z = tf.sigmoid(z + hz)
        return z * h + (1.0 - z) * tf.tanh(c + tf.sigmoid(r + hr) * hc)

    return cell


def until_the_end(width, iterations):
    """A recurrent network that goes on until every row has had the token 7."""
    w = Weights(width)
    table, head, cell = w(WORDS, width), w(width, WORDS), gru(w, width)

    def generate(first):
        h, tokens, token = tf.zeros([tf.shape(first)[0], width]), first[:, None], first
        done = tf.zeros_like(first, tf.bool)
        i = tf.constant(0)
        while i < iterations and not tf.reduce_all(done):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(tokens, tf.TensorShape([None, None]))])
            h = cell(tf.gather(table, token), h)
            token = choice(h @ head)
            done = tf.logical_or(done, token == 7)
            tokens = tf.concat([tokens, token[:, None]], 1)
            i += 1
        return tokens, h

    return generate


def beams(width, iterations, count=4):
    """Beam search of a recurrent network over sequences that grow."""
    w = Weights(width)
    table, head, cell = w(WORDS, width), w(width, WORDS), gru(w, width)

    def generate(first):
        n = tf.shape(first)[0]

        def step(i, tokens, scores, h):
            x = tf.reshape(tf.gather(table, tokens[:, :, -1]), [n * count, width])
            h = tf.reshape(cell(x, tf.reshape(h, [n * count, width])), [n, count, width])
            each = tf.nn.log_softmax(h @ head) + scores[:, :, None]
            scores, at = tf.math.top_k(tf.reshape(each, [n, count * WORDS]), count)
            tokens = tf.concat([tf.gather(tokens, at // WORDS, batch_dims=1), (at % WORDS)[:, :, None]], 2)
            return i + 1, tokens, scores, tf.gather(h, at // WORDS, batch_dims=1)

        tokens = tf.tile(first[:, None, None], [1, count, 1])
        scores = tf.tile([[0.0] + [-1e9] * (count - 1)], [n, 1])
        shapes = [], [None, count, None], [None, count], [None, count, width]
        start = 0, tokens, scores, tf.zeros([n, count, width])
        invariants = tuple(map(tf.TensorShape, shapes))
        return tf.while_loop(lambda i, *_: i < iterations, step, start, shape_invariants=invariants)[1:3]

    return generate


def branches(width, iterations):
    """Branches of different lengths, chosen by what was computed before."""
    w = Weights(width)
    table, block = w(WORDS, width), w.block()

    def generate(first):
        x = feed_forward(tf.gather(table, first), block)
        longer = lambda: tf.concat([x, tf.nn.relu(x @ block["q"])], 0)
        shorter = lambda: tf.tanh(x @ block["k"])[:iterations]
        x = tf.cond(tf.reduce_sum(x[0]) > 0.0, longer, shorter)
        return tf.reduce_sum(feed_forward(x, block), 1)

    return generate


DECODERS = {
    "cache": cache,
    "whole_sequence": whole_sequence,
    "until_the_end": until_the_end,
    "beams": beams,
    "branches": branches,
}
